//! A mail store on several targets: a database on each, and the logs beside them or on the last target.

use super::lowered::{LOG_READS, LOG_WRITES, MAINTENANCE, READS};
use super::meant::{Check, LogPlace, Mail};
use crate::plan::{Arrival, MOST_STREAMS, Stream, Work};
use crate::workload::Workload;
use assay_base::Criterion;

impl Mail {
    /// `workload`, whose store this is, for this number of targets. The error says what does not fit.
    pub(crate) fn on_targets(&self, workload: &Workload, targets: u16) -> Result<Workload, String> {
        let mut own = workload.clone();
        if self.storage.log == LogPlace::Last {
            let databases = self.database_count(targets);
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
        let mut all = Vec::new();
        for stream in streams.iter().filter(|stream| !is_of_log(stream)) {
            all.push(Stream { targets: (0..databases).collect(), ..stream.clone() });
        }
        for database in 0..databases {
            let logs = streams.iter().filter(|stream| is_of_log(stream));
            all.extend(logs.map(|stream| self.on_target_of_logs(stream, database, databases)));
        }
        all
    }

    /// A stream of the log of one of the databases, on the target of all logs, which comes after those of the databases.
    fn on_target_of_logs(&self, stream: &Stream, database: u16, databases: u16) -> Stream {
        let mut log = Stream {
            name: log_stream_name(&stream.name, database, databases),
            targets: vec![databases],
            ..stream.clone()
        };
        if let Work::Block(block) = &mut log.work {
            block.extent = Some(self.log_among_others(database));
        }
        if let Arrival::Following { stream: followed, .. } = &mut log.arrival {
            *followed = log_stream_name(LOG_WRITES, database, databases);
        }
        log
    }
}

/// The name of a stream of the log of one database, if there are `databases` databases.
fn log_stream_name(stream: &str, database: u16, databases: u16) -> String {
    if databases == 1 { stream.to_owned() } else { format!("{stream}-{}", database + 1) }
}

/// A criterion about the log becomes one for each of the logs; any other criterion stays as it is.
fn of_each_log(criterion: &Criterion, databases: u16) -> Vec<Criterion> {
    let logs = if [LOG_WRITES, LOG_READS].contains(&criterion.stream.as_str()) { databases } else { 0 };
    match logs {
        0 => vec![criterion.clone()],
        _ => (0..databases)
            .map(|at| Criterion { stream: log_stream_name(&criterion.stream, at, databases), ..criterion.clone() })
            .collect(),
    }
}

/// Whether a stream writes or reads the log.
fn is_of_log(stream: &Stream) -> bool {
    [LOG_WRITES, LOG_READS].contains(&stream.name.as_str())
}
