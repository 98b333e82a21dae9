//! The application whose load the streams of a plan are, such as a mail store.

use crate::files::PlannedFiles;
use crate::mail::{self, Mail};
use crate::oltp::{self, Oltp};
use crate::tiles::{self, PlannedTiles};
use crate::tpcc;

/// An application whose load the streams of a plan are, with its figures at the load of the plan and on its targets.
#[derive(Clone, Debug, PartialEq)]
pub enum PlannedApplication {
    /// An OLTP database on an array. All streams are drawn together.
    Oltp(Oltp),
    /// A mail store.
    Mail(Mail),
    /// Transactions on a database.
    Tpcc(tpcc::Load),
    /// Clients on a tree of files.
    Files(PlannedFiles),
    /// Several workloads in each of several tiles.
    Tiles(PlannedTiles),
}

impl PlannedApplication {
    /// Which tool or benchmark its load resembles, in the words that every text about it must have; `None` if it resembles
    /// none.
    pub(super) fn resembled_tools(&self) -> Option<&'static str> {
        match self {
            PlannedApplication::Oltp(_) => Some(oltp::LIKENESS),
            PlannedApplication::Mail(_) => Some(mail::LIKENESS),
            PlannedApplication::Tpcc(_) => Some(tpcc::WATERMARK),
            PlannedApplication::Files(_) => None,
            PlannedApplication::Tiles(_) => Some(tiles::LIKENESS),
        }
    }
}
