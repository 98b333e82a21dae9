//! The verbs, one file each with its arguments, and what several of them have in common.

pub(crate) mod certify;
pub(crate) mod compare;
pub(crate) mod consent;
pub(crate) mod curve;
pub(crate) mod devices;
pub(crate) mod doctor;
pub(crate) mod drop_in;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod fit;
pub(crate) mod follow;
pub(crate) mod import;
pub(crate) mod judge;
pub(crate) mod limit;
pub(crate) mod links;
pub(crate) mod manual;
pub(crate) mod outline;
pub(crate) mod prep;
pub(crate) mod report;
pub(crate) mod result;
pub(crate) mod run;
pub(crate) mod several;
pub(crate) mod size;
pub(crate) mod steps;
pub(crate) mod verify;
pub(crate) mod workloads;
