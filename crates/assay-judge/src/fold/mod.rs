//! One pass over the log. Memory grows with slices × flows, not with intervals.
//!
//! `step` gives each line to state machines that know little of each other: `placement` (its place in measured time),
//! `segment` with `accounts` (whether it adds up), `warm_up` and `closing`, `slices` with `window`, `kept` and `rests`,
//! `totals`, `distributions`, `series`, `steady`, `targets`, `failures`, `integrity`, `environment`, `events`,
//! `silences`. Where marks divide the step, `marked_parts` judges each part with windows of its own (`part_windows`) and says how long
//! a `recovery` took. What they find goes to `notes`; `finish` makes the result from them, with `lacks`, `streams` and `reason`,
//! and asserts the `laws` that its figures obey.

pub(crate) mod accounts;
pub(crate) mod answer;
pub(crate) mod changes;
pub(crate) mod clocks;
pub(crate) mod closing;
pub(crate) mod counted_times;
pub(crate) mod counters;
pub(crate) mod database;
pub(crate) mod distributions;
pub(crate) mod durability;
pub(crate) mod environment;
pub(crate) mod events;
pub(crate) mod failures;
pub(crate) mod finish;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod foreign;
pub(crate) mod integrity;
pub(crate) mod kept;
pub(crate) mod lacks;
pub(crate) mod late;
mod laws;
pub(crate) mod layout;
mod lives;
pub(crate) mod loop_layout;
pub(crate) mod loop_time;
pub(crate) mod loops;
pub(crate) mod marked_parts;
pub(crate) mod meters;
mod most;
pub(crate) mod notes;
pub(crate) mod others;
pub(crate) mod part_windows;
pub(crate) mod per_minute;
pub(crate) mod phases;
mod placement;
pub(crate) mod rank_verdicts;
pub(crate) mod reason;
mod recovery;
pub(crate) mod reported;
pub(crate) mod rests;
pub(crate) mod segment;
pub(crate) mod series;
pub(crate) mod silences;
pub(crate) mod slices;
pub(crate) mod steady;
pub(crate) mod step;
pub(crate) mod stream_layout;
pub(crate) mod streams;
pub(crate) mod targets;
mod times;
pub(crate) mod totals;
pub(crate) mod warm_up;
pub(crate) mod window;
