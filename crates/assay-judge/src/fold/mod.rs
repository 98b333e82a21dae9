//! One pass over the log. Memory grows with slices × flows, not with intervals.
//!
//! `step` gives each line to machines that know little of each other: `placement` (where it stands in measured time), `segment`
//! with `accounts` (does it add up), `warm_up` and `closing`, `slices` with `window`, `kept` and `rests`, `totals`, `distributions`, `series`, `steady`, `targets`,
//! `failures`, `integrity`, `environment`, `events`. What they find goes to `notes`; `finish` makes plain data of them, with
//! `lacks`, `streams` and `reason`.

pub mod accounts;
pub mod changes;
pub mod clocks;
pub mod closing;
pub mod counters;
pub mod distributions;
pub mod environment;
pub mod events;
pub mod failures;
pub mod finish;
#[cfg(test)]
mod fixture;
pub mod integrity;
pub mod kept;
pub mod lacks;
pub mod late;
pub mod layout;
pub mod notes;
pub mod placement;
pub mod reason;
pub mod reported;
pub mod rests;
pub mod segment;
pub mod series;
pub mod slices;
pub mod steady;
pub mod step;
pub mod streams;
pub mod targets;
pub mod totals;
pub mod warm_up;
pub mod window;
