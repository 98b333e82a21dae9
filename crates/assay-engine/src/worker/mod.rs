//! One worker, which issues what is due and takes back what has completed.
//!
//! [`machine`] is the worker and its step. [`agenda`] says what is due, [`queue`] has the slots, [`issue`] hands over,
//! [`reap`] takes back; [`stage`] and [`timeline`] say how far the run is. [`stocks`] and [`restock`] keep requests
//! prepared, and [`issue_ahead`] issues before completions are looked at. [`incidents`] and [`lifetime_reports`] are the
//! events that the log gets. [`for_plan`] makes the worker of a plan for block I/O.

mod agenda;
pub(crate) mod for_plan;
mod incidents;
mod issue;
mod issue_ahead;
mod lifetime_reports;
pub(crate) mod machine;
mod queue;
mod reap;
mod restock;
mod stage;
pub(crate) mod stocks;
mod timeline;
