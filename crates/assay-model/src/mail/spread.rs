//! A mail store on several targets: a database on each, and the logs beside them or on the last target.

use super::lowered::{LOG_READS, LOG_WRITES, MAINTENANCE, READS};
use super::meant::{Check, LogPlace, Mail};
use crate::plan::{Arrival, MOST_STREAMS, Stream, Work};
use crate::workload::Workload;
use assay_base::Criterion;

impl Mail {
    /// `workload`, whose store this is, for this number of targets. The error says what does not fit.
    pub(crate) fn on(&self, workload: &Workload, targets: u16) -> Result<Workload, String> {
        let mut own = workload.clone();
        if self.storage.log == LogPlace::Last {
            let databases = self.databases(targets);
            if databases == 0 {
                return Err("log = \"last\" keeps all logs on the last target, and one target was given: give a target for each database and \
                            one more for the logs, or write log = \"same\""
                    .to_owned());
            }
            own.load.streams = self.with_logs_on_the_last(&workload.load.streams, databases);
            if own.load.streams.len() >= MOST_STREAMS {
                return Err(format!(
                    "{databases} databases with logs of their own are more than {MOST_STREAMS} streams: give fewer targets"
                ));
            }
            own.criteria = workload.criteria.iter().flat_map(|criterion| of_each_log(criterion, databases)).collect();
        }
        own.load.unscaled = vec![MAINTENANCE.to_owned()];
        own.verification.check_all = if self.storage.check == Check::All { vec![READS.to_owned()] } else { Vec::new() };
        Ok(own)
    }

    /// The streams of the databases on the first targets, and those of their logs on the last one.
    fn with_logs_on_the_last(&self, streams: &[Stream], databases: u16) -> Vec<Stream> {
        let of_log = |stream: &&Stream| [LOG_WRITES, LOG_READS].contains(&stream.name.as_str());
        let on_databases = |stream: &Stream| Stream { targets: (0..databases).collect(), ..stream.clone() };
        let mut all: Vec<Stream> = streams.iter().filter(|stream| !of_log(stream)).map(on_databases).collect();
        for database in 0..databases {
            let own = |stream: &Stream| {
                let mut log = Stream {
                    name: name(&stream.name, database, databases),
                    targets: vec![databases],
                    ..stream.clone()
                };
                if let Work::Block(block) = &mut log.work {
                    block.extent = Some(self.log_among_others(database));
                }
                if let Arrival::Following { stream: followed, .. } = &mut log.arrival {
                    *followed = name(LOG_WRITES, database, databases);
                }
                log
            };
            all.extend(streams.iter().filter(of_log).map(own));
        }
        all
    }
}

/// The name of a stream of the log of one database, if there are `databases` databases.
fn name(stream: &str, database: u16, databases: u16) -> String {
    if databases == 1 { stream.to_owned() } else { format!("{stream}-{}", database + 1) }
}

/// A criterion about the log becomes one for each of the logs; any other criterion stays as it is.
fn of_each_log(criterion: &Criterion, databases: u16) -> Vec<Criterion> {
    let logs = if [LOG_WRITES, LOG_READS].contains(&criterion.stream.as_str()) { databases } else { 0 };
    match logs {
        0 => vec![criterion.clone()],
        _ => (0..databases)
            .map(|at| Criterion { stream: name(&criterion.stream, at, databases), ..criterion.clone() })
            .collect(),
    }
}
