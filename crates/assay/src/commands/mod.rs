//! The verbs, one file each with its arguments, and what several of them share.

pub(crate) mod behind;
pub(crate) mod cache_curve;
pub(crate) mod capture;
pub(crate) mod certify;
pub(crate) mod check;
pub(crate) mod clean;
pub(crate) mod compare;
pub(crate) mod consent;
pub(crate) mod curve;
pub(crate) mod devices;
pub(crate) mod doctor;
mod doctor_hosts;
pub(crate) mod drop_in;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod fit;
pub(crate) mod follow;
mod follow_procedure;
#[cfg(feature = "live")]
mod follow_terminal;
mod following;
pub(crate) mod import;
pub(crate) mod job;
pub(crate) mod judge;
pub(crate) mod limit;
pub(crate) mod links;
pub(crate) mod live;
pub(crate) mod manual;
pub(crate) mod mark;
pub(crate) mod matrix;
pub(crate) mod merge;
pub(crate) mod new;
pub(crate) mod outline;
pub(crate) mod prep;
#[cfg(feature = "live")]
mod published_logs;
pub(crate) mod report;
pub(crate) mod result;
pub(crate) mod run;
pub(crate) mod run_ranks;
pub(crate) mod size;
pub(crate) mod steps;
pub(crate) mod suite;
pub(crate) mod transactions;
pub(crate) mod verify;
pub(crate) mod workloads;
