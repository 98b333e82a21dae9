//! The addresses of operations as configured: in a plan and in a log.

use super::bands::Inside;
use super::fresh::Reread;
use super::heat::HeatMap;
use super::law::Law;
use super::runs::RunLength;
use super::working_set::Turnover;
use crate::oltp::{self, Place};
use crate::skip::is_zero_bytes;
use assay_base::{Bytes, Share};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where operations go on a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Address {
    /// Uniform over the multiples of `align`, or of the target's blocks when that is zero.
    Uniform {
        /// Alignment.
        align: Bytes,
    },
    /// From the start to the end, then again from the start.
    Sequential,
    /// Each directly after the one before, in the order of their intended times, whichever worker issues them and
    /// whatever their sizes; from the start again when the next one does not fit.
    Appended,
    /// Directly after the last operation of the stream's loop, whichever stream of the loop that was; from the start
    /// again at the end.
    Behind {
        /// Alignment, or the target's blocks when that is zero.
        #[serde(default, skip_serializing_if = "is_zero_bytes")]
        align: Bytes,
    },
    /// The read-back: every place that the run has written, once, after everything else.
    Written,
    /// Some places more often than others.
    Ranked {
        /// How often each rank is used.
        law: Law,
        /// Size of a place; the size of the largest operation when zero.
        #[serde(default, skip_serializing_if = "is_zero_bytes")]
        unit: Bytes,
        /// Whether ranks are scattered; otherwise they are in order, the most frequent at the start.
        scatter: bool,
        /// Where the most frequent place lies, as a share of all places; wherever the law and the order put it if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        centre: Option<Share>,
    },
    /// A moving part of all places; see [`super::WorkingSet`].
    WorkingSet {
        /// Size of the part.
        size: Bytes,
        /// Which share of it is replaced in which time.
        turnover: Turnover,
        /// As for `ranked`.
        #[serde(default, skip_serializing_if = "is_zero_bytes")]
        unit: Bytes,
        /// How often each place in the part is used.
        inside: Law,
    },
    /// Every place once, and some recent ones again; see [`super::Fresh`].
    NeverSeen {
        /// Size of a place.
        unit: Bytes,
        /// The operations that return to recent places.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reread: Option<Reread>,
    },
    /// The places of the operations of a recording.
    Recorded,
    /// One after the other, each a fixed number of bytes after the end of the one before, or before that end.
    Strided {
        /// The number of bytes.
        by: Bytes,
        /// Whether operations go backwards.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        backwards: bool,
    },
    /// A uniform place several times, then another one.
    Repeated {
        /// The number of operations on a place.
        times: u32,
    },
    /// Every place once in a pass, each pass in another order.
    Once {
        /// Size of a place.
        unit: Bytes,
    },
    /// Sequential runs from uniformly chosen starts.
    Runs {
        /// Length of the runs.
        length: RunLength,
    },
    /// The last place plus a random step.
    Walk {
        /// The longest step, in bytes.
        reach: Bytes,
        /// As for `ranked`.
        #[serde(default, skip_serializing_if = "is_zero_bytes")]
        unit: Bytes,
    },
    /// Bands with gaps between them, one after the other; see [`super::Bands`].
    Bands {
        /// Length of a band.
        length: Bytes,
        /// From the end of a band to the next one.
        gap: Bytes,
        /// Bytes that are moved in a band before the next one is used.
        moved: Bytes,
        /// Where operations go within a band.
        inside: Inside,
    },
    /// What was seen of an application's places, drawn again; see [`super::Heat`].
    Heat(Box<HeatMap>),
    /// A place in an application storage unit of an OLTP load, whose streams are drawn together.
    Asu {
        /// 1 to 3.
        asu: u8,
        /// Where in the unit.
        place: Place,
    },
}

impl Address {
    /// The law of its ranks, if it has ranks.
    pub fn rank_law(&self) -> Option<&Law> {
        match self {
            Address::Ranked { law, .. } | Address::WorkingSet { inside: law, .. } => Some(law),
            _ => None,
        }
    }

    /// Whether it follows the operations of all streams of its loop.
    pub fn is_behind(&self) -> bool {
        matches!(self, Address::Behind { .. })
    }

    /// Whether each place follows from the one before, so that several streams can share a cursor.
    pub fn has_cursor(&self) -> bool {
        matches!(
            self,
            Address::Sequential
                | Address::Strided { .. }
                | Address::Once { .. }
                | Address::Runs { .. }
                | Address::Walk { .. }
                | Address::Bands { .. }
                | Address::Heat(_)
        )
    }

    /// The unit that offsets are multiples of; zero if they are only multiples of the target's blocks or of operations'
    /// lengths.
    pub fn offset_unit(&self) -> Bytes {
        match self {
            Address::Uniform { align: unit }
            | Address::Behind { align: unit }
            | Address::Ranked { unit, .. }
            | Address::WorkingSet { unit, .. }
            | Address::NeverSeen { unit, .. }
            | Address::Once { unit }
            | Address::Strided { by: unit, .. }
            | Address::Walk { unit, .. }
            | Address::Bands { inside: Inside::Uniform { align: unit } | Inside::Once { unit }, .. } => *unit,
            Address::Sequential
            | Address::Appended
            | Address::Written
            | Address::Recorded
            | Address::Runs { .. }
            | Address::Repeated { .. }
            | Address::Bands { inside: Inside::Sequential, .. } => Bytes::default(),
            Address::Heat(map) => map.unit,
            Address::Asu { .. } => Bytes::new(oltp::BLOCK),
        }
    }
}

/// The unit of places in words; nothing where there is none.
fn of_unit(unit: &Bytes) -> String {
    if is_zero_bytes(unit) { String::new() } else { format!(" of {unit}") }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Uniform { align } if is_zero_bytes(align) => f.write_str("uniform over blocks"),
            Address::Uniform { align } => write!(f, "uniform over multiples of {align}"),
            Address::Sequential => f.write_str("sequential, wraps"),
            Address::Appended => f.write_str("appended, wraps"),
            Address::Behind { align } if is_zero_bytes(align) => f.write_str("behind the loop's last operation"),
            Address::Behind { align } => write!(f, "behind the loop's last operation, at multiples of {align}"),
            Address::Written => f.write_str("all that was written, once"),
            Address::Strided { by, backwards: false } => {
                write!(f, "sequential, {by} behind the end of the last one, wraps")
            }
            Address::Strided { by, backwards: true } => {
                write!(f, "sequential, {by} back from the end of the last one, wraps")
            }
            Address::Repeated { times } => write!(f, "uniform over blocks, each place {times} times"),
            Address::Recorded => f.write_str("as recorded"),
            Address::Ranked { law, unit, scatter, centre } => {
                let lie = if *scatter { "scattered" } else { "in order from the start" };
                write!(f, "{law} over places{}, {lie}", of_unit(unit))?;
                centre.map_or(Ok(()), |centre| write!(f, ", the most frequent at {centre}"))
            }
            Address::WorkingSet { size, turnover, unit, inside } => {
                write!(f, "a working set of {size}, {turnover} of it replaced, {inside} over places{}", of_unit(unit))
            }
            Address::NeverSeen { unit, reread } => {
                write!(f, "never seen before, in units of {unit}")?;
                match reread {
                    Some(Reread { share, of_last }) => write!(f, ", {share} again of the last {of_last}"),
                    None => Ok(()),
                }
            }
            Address::Once { unit } => write!(f, "each {unit} once a pass, in random order"),
            Address::Runs { length } => write!(f, "sequential runs of {length} from uniform starts"),
            Address::Bands { length, gap, moved, inside } => {
                write!(f, "bands of {length} with {gap} between them, {moved} in each and then the next, {inside}")
            }
            Address::Heat(map) => map.fmt(f),
            Address::Asu { asu, place } => write!(f, "{place} of ASU {asu}"),
            Address::Walk { reach, unit } => write!(f, "a walk in steps up to {reach} over places{}", of_unit(unit)),
        }
    }
}
