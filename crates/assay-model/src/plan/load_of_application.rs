//! The load of a plan whose streams are those of one application.

use super::application::PlannedApplication;
use super::load::PlannedLoad;
use super::stream::Stream;
use crate::address::Address;
use crate::files::PlannedFiles;
use crate::mail::Mail;
use crate::oltp::{Oltp, RATE};
use crate::tiles::PlannedTiles;
use crate::tpcc;
use assay_base::{Counted, Multiple, Parts, Span};

/// An OLTP load of a plan, whose streams are drawn together.
#[derive(Clone, Debug)]
pub(crate) struct DrawnOltp<'a> {
    /// The load.
    pub oltp: &'a Oltp,
    /// What the names of its streams begin with in the plan.
    pub prefix: String,
    /// Its number among the workloads of tiles; absent where it is the whole plan.
    pub number: Option<u64>,
}

impl DrawnOltp<'_> {
    /// The name of a stream among those of the load; `None` where it is none of them.
    pub(crate) fn own_name<'b>(&self, stream: &'b Stream) -> Option<&'b str> {
        let block = stream.as_block().filter(|block| matches!(block.address, Address::Asu { .. }));
        block.and_then(|_| stream.name.strip_prefix(self.prefix.as_str()))
    }
}

impl PlannedLoad {
    /// The OLTP load that its streams are.
    pub fn oltp(&self) -> Option<&Oltp> {
        match &self.application {
            Some(PlannedApplication::Oltp(oltp)) => Some(oltp),
            _ => None,
        }
    }

    /// The mail store that its streams are.
    pub fn mail(&self) -> Option<&Mail> {
        match &self.application {
            Some(PlannedApplication::Mail(mail)) => Some(mail),
            _ => None,
        }
    }

    /// The transactions on a database that its streams are.
    pub fn tpcc(&self) -> Option<&tpcc::Load> {
        match &self.application {
            Some(PlannedApplication::Tpcc(load)) => Some(load),
            _ => None,
        }
    }

    /// The same transactions, to be changed.
    pub fn tpcc_mut(&mut self) -> Option<&mut tpcc::Load> {
        match &mut self.application {
            Some(PlannedApplication::Tpcc(load)) => Some(load),
            _ => None,
        }
    }

    /// The clients on a tree of files whose operations its streams are.
    pub fn files(&self) -> Option<&PlannedFiles> {
        match &self.application {
            Some(PlannedApplication::Files(files)) => Some(files),
            _ => None,
        }
    }

    /// The tiles whose workloads its streams are.
    pub fn tiles(&self) -> Option<&PlannedTiles> {
        match &self.application {
            Some(PlannedApplication::Tiles(tiles)) => Some(tiles),
            _ => None,
        }
    }

    /// The OLTP loads that it has: streams that are drawn together.
    pub(crate) fn oltp_loads(&self) -> Vec<DrawnOltp<'_>> {
        if let Some(oltp) = self.oltp() {
            return vec![DrawnOltp { oltp, prefix: String::new(), number: None }];
        }
        let members = self.tiles().map_or(&[][..], |tiles| &tiles.members);
        let drawn = (0..).zip(members).filter_map(|(number, member)| {
            Some(DrawnOltp { oltp: member.oltp.as_ref()?, prefix: member.prefix(), number: Some(number) })
        });
        drawn.collect()
    }

    /// Notes how long the run lasts, from which follows how much the files of a server grow.
    pub(crate) fn note_length(&mut self, length: Span) {
        if let Some(PlannedApplication::Files(files)) = &mut self.application
            && let Some(service) = &mut files.workload.service
        {
            service.lasts = length;
        }
    }

    /// The unit that the load is counted in beside multiples, such as BSUs or mailboxes; `None` if there is none.
    pub fn load_unit(&self) -> Option<Counted> {
        let Some(application) = &self.application else { return self.commits_as_unit() };
        match application {
            PlannedApplication::Oltp(oltp) => Some(Counted {
                name: "BSU".to_owned(),
                at_1x: oltp.rate.as_f64() / RATE as f64 / self.multiple.as_f64(),
                parts: None,
            }),
            PlannedApplication::Mail(mail) => {
                let parts =
                    Some(Parts { name: "database".to_owned(), number: mail.database_count(self.targets).into() });
                Some(Counted { name: "mailboxes".to_owned(), at_1x: mail.mailboxes as f64, parts })
            }
            PlannedApplication::Tpcc(load) => {
                let at_1x = load.new_orders_a_minute()? / self.multiple.as_f64();
                Some(Counted { name: "NOPM".to_owned(), at_1x, parts: None })
            }
            PlannedApplication::Files(files) => files.stands_for.clone(),
            PlannedApplication::Tiles(_) => Some(Counted { name: "tiles".to_owned(), at_1x: 1.0, parts: None }),
        }
    }

    /// The commits of a server's log on a device, of all its targets.
    fn commits_as_unit(&self) -> Option<Counted> {
        let commits = self.streams.iter().find_map(|stream| stream.arrival.grouped_commits())?;
        Some(Counted { name: "commits".to_owned(), at_1x: commits.as_f64() / self.multiple.as_f64(), parts: None })
    }

    /// Where a search for the highest load begins, and how exact its answer is, unless somebody says otherwise.
    pub fn search_start_and_exactness(&self) -> (Multiple, Multiple) {
        match &self.application {
            // What 1x is says the number of mailboxes, which is near what is wanted, and so does a workload on files.
            Some(PlannedApplication::Mail(_) | PlannedApplication::Files(_)) => {
                (Multiple::ONE, Multiple::from_millionths(50_000).unwrap_or(Multiple::ONE))
            }
            // A database carries hundreds of times what the terminals of its warehouses ask for.
            Some(PlannedApplication::Tpcc(_)) => (Multiple::from_whole(100), Multiple::from_whole(10)),
            Some(PlannedApplication::Tiles(_)) => (Multiple::ONE, Multiple::ONE),
            // Of a server's log on a device as of the same log in files.
            None if self.commits_as_unit().is_some() => {
                (Multiple::ONE, Multiple::from_millionths(50_000).unwrap_or(Multiple::ONE))
            }
            Some(PlannedApplication::Oltp(_)) | None => (Multiple::from_whole(10), Multiple::ONE),
        }
    }
}
