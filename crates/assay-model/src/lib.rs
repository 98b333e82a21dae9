//! The load: plans made of streams, each arrival × size × address × direction × content, pure and seeded.
//!
//! A model (ACT, OLTP, mail …) is lowered here to the same streams; the engine knows no model by name. Nothing in this
//! crate performs I/O, reads a clock or remembers what was measured.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

pub mod act;
pub mod address;
pub mod arrival;
pub mod cache;
pub mod closed_loops;
pub mod commit_groups;
pub mod content;
mod extent;
pub mod files;
mod fits;
mod flush;
pub mod generator;
pub mod geometric;
pub mod hosts;
pub mod joint;
pub mod journal;
pub mod life;
pub mod lives;
pub mod mail;
mod merge;
pub mod mix;
pub mod observed;
pub mod oltp;
pub mod page_cache;
pub mod plan;
pub mod profile;
mod rank_plan;
pub mod recording;
pub mod regions;
pub mod seal;
pub mod seek;
pub mod size;
mod skip;
pub mod source;
pub mod tiles;
pub mod tpcc;
pub mod turns;
pub mod workload;

pub use flush::Flush;
pub use life::Life;
pub use merge::merge_plans;
pub use plan::{
    Address, Amount, Arrival, Block, CarriedOver, Extent, Frame, Lane, Phase, PhaseKind, Plan, Stream, WarmUp, Work,
};
pub use size::{Size, Sizes};
