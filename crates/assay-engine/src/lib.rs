//! The engine: issues what is due, reaps what has come back, keeps the rules of the run. It is told the time and is given
//! streams; it reads no clock and knows no workload by name.
//!
//! One [`Worker`] serves one thread with one [`assay_base::Device`]. [`shell`] drives it in real or in virtual time, and
//! [`merge`] adds what several workers recorded, [`coordinator`] decides what follows from what they report; [`settle`] decides
//! when a warm-up that waits may end.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

mod account;
mod blame;
pub mod coordinator;
mod flow;
mod ledger;
mod look;
pub mod merge;
pub mod settle;
pub mod shell;
mod timeline;
mod unit;
mod verify;
mod worker;

pub use account::{Account, Ending};
pub use blame::Peers;
pub use coordinator::{Coordinator, Report};
pub use ledger::{Ledger, Verified};
pub use look::BLANK_CHECK;
pub use merge::Merger;
pub use settle::{Settled, Settling};
pub use shell::{Host, run_real, run_virtual};
pub use timeline::Timeline;
pub use worker::{Limits, Setup, Step, Totals, Worker};
