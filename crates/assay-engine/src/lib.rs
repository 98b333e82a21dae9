//! The engine: issues what is due, reaps what has completed, applies the rules of the run. Its caller passes the time
//! and the sources of requests; it reads no clock and knows no workload by name.
//!
//! One [`Worker`] serves one thread with one [`assay_base::Device`] of any kind; an [`assay_base::Source`] decides where
//! its requests come from, and a [`Payload`] what data they carry. [`Blocks`] and [`Data`] are those for block I/O.
//!
//! `worker/` is the machine; `lateness/` finds out who delayed an operation; `verify/` has the data; [`shell`] drives a
//! worker in real or in virtual time; `merge/` adds up what several workers recorded.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

mod lateness;
mod merge;
mod payload;
mod rules;
pub mod shell;
mod verify;
mod worker;

pub use assay_base::source::{FreeSlotTimes, Lifetime, NextRequest, Source};
pub use assay_model::source::Gates;
pub use lateness::peers::Peers;
pub use merge::account::{Account, Ending};
pub use merge::coordinator::{Coordinator, Report};
pub use merge::merger::Merged;
pub use merge::settle::{Settled, Settling};
pub use payload::{DamageReport, ExaminationResult, Payload, RequestId};
pub use rules::{Limits, Setup, Step, Totals};
pub use shell::{Host, run_real, run_virtual};
pub use verify::data::Data;
pub use verify::ledger::{Ledger, Verified};
pub use verify::read_check::BLANK_CHECK;
pub use worker::for_plan::{Blocks, in_flight_bound, slots_upper_bound};
pub use worker::machine::{Parts, Worker};
pub use worker::stocks::spare_tickets;
