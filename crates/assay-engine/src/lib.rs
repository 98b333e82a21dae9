//! The engine: issues what is due, reaps what has completed, applies the rules of the run. Its caller passes the time
//! and the sources of requests; it reads no clock and knows no workload by name.
//!
//! One [`Worker`] serves one thread with one [`assay_base::Device`] of any kind; a [`Source`] decides where its
//! requests come from, and a [`Payload`] what data they carry. [`Blocks`] and [`Data`] are those for block I/O.
//! [`shell`] drives a worker in real or in virtual time. [`merge`] adds up what several workers recorded,
//! [`coordinator`] decides what follows from their reports; [`settle`] decides when a warm-up that waits may end.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

mod account;
mod agenda;
mod ahead;
mod blame;
mod blocks;
mod carrying;
mod closed;
pub mod coordinator;
mod data;
mod flushing;
mod gate;
mod incidents;
mod issue;
mod joint;
mod lateness;
mod ledger;
mod lives;
mod living;
mod look;
mod looped;
mod making;
pub mod merge;
mod payload;
mod queue;
mod reap;
mod recorded;
mod restock;
mod rules;
mod scheduled;
pub mod settle;
pub mod shell;
mod slots;
mod source;
mod stage;
mod stocks;
mod stretches;
mod timeline;
mod together;
mod unit;
mod verify;
mod worker;

pub use account::{Account, Ending};
pub use blame::Peers;
pub use blocks::Blocks;
pub use carrying::{bound, slots};
pub use coordinator::{Coordinator, Report};
pub use data::Data;
pub use gate::Gates;
pub use ledger::{Ledger, Verified};
pub use look::BLANK_CHECK;
pub use payload::{At, Fate, Particulars, Payload};
pub use rules::{Limits, Setup, Step, Totals};
pub use settle::{Settled, Settling};
pub use shell::{Host, run_real, run_virtual};
pub use source::{Lived, Next, Slots, Source};
pub use stocks::spare;
pub use worker::{Parts, Worker};
