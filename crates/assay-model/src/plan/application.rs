//! The application whose load the streams of a plan are, such as a mail store.

use crate::mail::{self, Mail};
use crate::oltp::{self, Oltp};
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
}

impl PlannedApplication {
    /// Which tool or benchmark its load resembles, in the words that every text about it must have.
    pub(super) fn resembled_tools(&self) -> &'static str {
        match self {
            PlannedApplication::Oltp(_) => oltp::LIKENESS,
            PlannedApplication::Mail(_) => mail::LIKENESS,
            PlannedApplication::Tpcc(_) => tpcc::WATERMARK,
        }
    }
}
