//! The result of judging: plain data, the same for text, JSON and HTML.
//!
//! Its JSON is the result format, `"schema": 1`. All times are nanoseconds; positions are in *measured time*, which
//! begins with the measured phase and does not advance during gaps. A figure that was not counted is absent, never
//! zero. Stream and target names are taken from the log: hostile input for every renderer.

mod answer;
mod cache;
mod course;
mod criteria;
mod database;
mod durability;
mod foreign;
mod gain;
mod generator;
mod glance;
mod history;
mod log;
mod loops;
mod marked;
mod meters;
mod phases;
mod plan;
mod ranks;
mod result;
mod series;
pub(crate) mod skip;
mod slices;
mod stream_figures;
mod streams;
mod targets;
mod throughput;
mod time;

pub use answer::AnswerFigures;
pub(crate) use answer::answer_in_words;
pub use cache::CacheFigures;
pub use course::{Course, Gap};
pub use criteria::{BrokenTarget, CriterionOutcome, Deciding, Figure, Outcome, Requirement};
pub use database::{DatabaseFigures, Extremes, PerMinuteFigures};
pub use durability::DurabilityFigures;
pub use foreign::ForeignFigures;
pub use gain::Gain;
pub use generator::{GeneratorCost, GeneratorFigures};
pub use history::{ClockEvent, Clocks, LogHistory};
pub use log::{Damaged, LogSum};
pub use loops::LoopFigures;
pub(crate) use marked::part_in_words;
pub use marked::{PartFigures, PartStream, RecoveryFigures, RecoveryState};
pub(crate) use meters::Counted;
pub use meters::MeterFigures;
pub use phases::{PhaseFigures, PhaseStream};
pub use plan::PlanAsRun;
pub use ranks::{RankFigures, RankShare};
pub(crate) use ranks::{mark_stragglers, share_of, straggler_warnings};
pub use result::{Judgement, SCHEMA, Step, StepFigures};
pub use series::{Bands, Change, FlowSeries, Heat, Series, Steadiness, SteadyWindow, StreamSeries};
pub use slices::{Slice, SliceList, SliceStream, SliceTimes, UnkeptBound};
pub use stream_figures::StreamFigures;
pub(crate) use streams::percent_of;
pub use streams::{Blocked, Counts, StreamTotals, TimesSummary};
pub use targets::{
    DamagedPlace, DiskCount, DiskTotals, Health, Integrity, LatenessTotals, TargetFigures, TargetTotals, is_too_blank,
};
pub use throughput::Throughput;
pub(crate) use throughput::counts_among_all;
pub use time::{Intervals, MeasuredTime};
