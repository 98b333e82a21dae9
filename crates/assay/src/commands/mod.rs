//! The verbs, one file each with its arguments, and what several of them have in common.

pub mod certify;
pub mod compare;
pub mod consent;
pub mod curve;
pub mod devices;
pub mod doctor;
pub mod drop_in;
pub mod explain;
pub mod export;
pub mod follow;
pub mod judge;
pub mod limit;
pub mod links;
pub mod manual;
pub mod outline;
pub mod prep;
pub mod report;
pub mod result;
pub mod run;
pub mod several;
pub mod steps;
pub mod verify;
pub mod workloads;
