//! The result of judging: plain data, the same for text, JSON and HTML.
//!
//! Its JSON is the result format, `"schema": 1`. All times are nanoseconds; positions are in *measured time*, which
//! begins with the measured phase and does not advance during gaps. A figure that was not counted is absent, never
//! zero. Stream and target names are taken from the log: hostile input for every renderer.

mod cache;
mod conditions;
mod criteria;
mod database;
mod gain;
mod glance;
mod log;
mod meters;
mod phases;
mod result;
mod series;
mod skip;
mod streams;
mod targets;

pub use cache::CacheFigures;
pub use conditions::{ClockEvent, Clocks, Gap, GeneratorCost, Intervals};
pub use criteria::{Asked, BrokenTarget, CriterionOutcome, Deciding, Figure, Outcome};
pub use database::{DatabaseFigures, PerMinuteFigures};
pub use gain::Gain;
pub use log::{Damaged, LogSum};
pub(crate) use meters::Counted;
pub use meters::MeterFigures;
pub use phases::{PhaseFigures, PhaseStream};
pub use result::{Judgement, SCHEMA, Step, StepFigures};
pub use series::{Bands, Change, FlowSeries, Heat, Series, Steadiness, SteadyWindow, StreamSeries};
pub(crate) use streams::percent_of;
pub use streams::{Blocked, Counts, Slice, SliceStream, SliceTimes, StreamTotals, TimesSummary};
pub use targets::{DamagedPlace, DiskCount, DiskTotals, Health, Integrity, LatenessTotals, TargetTotals};
