//! When the operations of a stream are intended.

use crate::arrival::{Bursts, Curve, SharedSchedule};
use crate::commit_groups::CommitGroups;
use crate::recording::Recording;
use assay_base::{Bytes, Multiple, Rate, Share, Span};
use serde::{Deserialize, Serialize};

/// When the operations of a stream are intended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// Evenly spaced.
    Steady {
        /// Rate over all targets.
        rate: Rate,
    },
    /// Independent clients.
    Poisson {
        /// Rate over all targets.
        rate: Rate,
    },
    /// A rate that changes over the run.
    Varying {
        /// Rate at 100 % of the curve, over all targets.
        rate: Rate,
        /// The share of that rate at each time.
        curve: Curve,
        /// Whether operations are evenly spaced; otherwise their clients are independent.
        even: bool,
    },
    /// Independent clients, each of which asks for several operations at one moment, in ascending order of their
    /// places.
    Batches {
        /// Rate of operations, over all targets.
        rate: Rate,
        /// Number of operations that a client asks for at one moment.
        batch: u32,
    },
    /// One operation each time that another stream, whose operations are appended, has advanced by the size of an
    /// operation.
    Following {
        /// Rate that follows from the rate of that stream, over all targets.
        rate: Rate,
        /// Name of the stream that it follows.
        stream: String,
        /// Distance in bytes by which it stays behind the other stream.
        distance: Bytes,
        /// How many times it reads everything that the other stream has written.
        copies: u32,
    },
    /// Bursts of independent clients, between times with a lower rate.
    Bursty {
        /// Mean rate over all targets.
        rate: Rate,
        /// Mean lengths of bursts and of the times between them, and the share of the rate in the latter.
        bursts: Bursts,
    },
    /// The schedule of an application that pauses after some of its operations, or takes turns over its targets; see
    /// [`crate::arrival::Shared`].
    Shared {
        /// Rate without the pauses, over all targets.
        rate: Rate,
        /// Evenly spaced; otherwise independent clients.
        even: bool,
        /// The schedule that its streams share.
        schedule: SharedSchedule,
    },
    /// The times, places and sizes of a recording.
    Recorded {
        /// Mean rate over all targets.
        rate: Rate,
        /// The recording that is played.
        recording: Recording,
    },
    /// Closed loop with a number of operations in flight on each target: the next one is issued when one completes.
    Closed {
        /// Number in flight on each target.
        in_flight: u32,
    },
    /// Closed loop of one operation on each target, with a pause before the next.
    Paced {
        /// Time between a completion and the next operation.
        pause: Span,
    },
    /// One of the streams of a closed loop that the plan names.
    Looped {
        /// The name of the loop.
        looped: String,
        /// Weight of this stream among those of its loop, or of its line: the share of their operations that are its
        /// own.
        share: Share,
        /// The name of its line, if the loop has lines.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<String>,
    },
    /// One at a time, each with all commits that came during the one before it. The commits have a rate, the operations
    /// none.
    Grouped(Box<CommitGroups>),
    /// Part of a sequence of operations: intended when the one before it is completed. The sequence has a stream of its
    /// own, which says when it is wanted.
    InSequence,
}

impl Arrival {
    /// The planned rate over all targets, in the mean; `None` for a closed loop.
    pub fn mean_rate(&self) -> Option<Rate> {
        match self {
            Arrival::Steady { rate }
            | Arrival::Poisson { rate }
            | Arrival::Batches { rate, .. }
            | Arrival::Following { rate, .. }
            | Arrival::Bursty { rate, .. }
            | Arrival::Recorded { rate, .. } => Some(*rate),
            Arrival::Varying { rate, curve, .. } => Some(scaled_rate(*rate, curve.mean_share(None))),
            Arrival::Shared { rate, schedule, .. } => Some(schedule.mean_rate(*rate)),
            Arrival::Closed { .. }
            | Arrival::Paced { .. }
            | Arrival::Looped { .. }
            | Arrival::Grouped(_)
            | Arrival::InSequence => None,
        }
    }

    /// The rate that a multiple of the load multiplies: that of operations, or of the commits that are in them.
    pub fn offered_rate(&self) -> Option<Rate> {
        self.grouped_commits().or_else(|| self.mean_rate())
    }

    /// The rate of the commits that come in groups, over all targets.
    pub fn grouped_commits(&self) -> Option<Rate> {
        match self {
            Arrival::Grouped(groups) => Some(groups.commits),
            _ => None,
        }
    }

    /// The operations that a closed loop of a single stream has in flight on each target; `None` for others.
    pub fn slots_per_target(&self) -> Option<u32> {
        match self {
            Arrival::Closed { in_flight } => Some(*in_flight),
            Arrival::Paced { .. } => Some(1),
            _ => None,
        }
    }

    /// The loop that a stream belongs to.
    pub fn loop_name(&self) -> Option<&String> {
        match self {
            Arrival::Looped { looped, .. } => Some(looped),
            _ => None,
        }
    }

    /// The weight of a stream among those of its loop; `None` for a stream without a loop.
    pub fn share_of_loop(&self) -> Option<Share> {
        match self {
            Arrival::Looped { share, .. } => Some(*share),
            _ => None,
        }
    }

    /// The highest rate over all targets, in operations per second; `None` for a closed loop.
    pub fn peak_rate(&self) -> Option<f64> {
        match self {
            Arrival::Varying { rate, curve, .. } => Some(rate.as_f64() * curve.largest_share().as_f64()),
            Arrival::Bursty { rate, bursts } => Some(rate.as_f64() * bursts.peak_to_mean()),
            other => other.mean_rate().map(Rate::as_f64),
        }
    }

    /// How many operations come in `span` at most, over all targets: six standard deviations above the mean. `None` for a closed loop.
    pub fn most_in(&self, span: Span) -> Option<f64> {
        let seconds = span.as_secs_f64();
        let mean = self.mean_rate()?.as_f64() * seconds;
        let variance = match self {
            Arrival::Steady { .. } => return Some(mean + 2.0),
            // Whichever part of the curve it is.
            Arrival::Varying { .. } => {
                let most = self.peak_rate()? * seconds;
                return Some(most + 6.0 * most.sqrt() + 16.0);
            }
            Arrival::Batches { batch, .. } => mean * f64::from(*batch),
            // What was due in a pause comes when the pause is over.
            Arrival::Shared { rate, schedule: SharedSchedule { pauses, .. }, .. } => {
                let caught_up = pauses.map_or(0.0, |pauses| rate.as_f64() * pauses.time.as_secs_f64());
                return Some(mean + caught_up + 6.0 * mean.sqrt() + 16.0);
            }
            Arrival::Bursty { rate, bursts } if seconds > 0.0 => mean * bursts.dispersion_index(rate.as_f64(), seconds),
            _ => mean,
        };
        Some(mean + 6.0 * variance.sqrt() + 16.0)
    }

    /// The name of the arrival in the log and in reports.
    pub fn arrival_name(&self) -> &'static str {
        match self {
            Arrival::Steady { .. } => "steady",
            Arrival::Poisson { .. } => "poisson",
            Arrival::Varying { .. } => "varying",
            Arrival::Batches { .. } => "batches",
            Arrival::Following { .. } => "following",
            Arrival::Bursty { .. } => "bursty",
            Arrival::Shared { .. } => "shared",
            Arrival::Recorded { .. } => "recorded",
            Arrival::Closed { .. } | Arrival::Looped { .. } => "closed",
            Arrival::Paced { .. } => "paced",
            Arrival::Grouped(_) => "in groups",
            Arrival::InSequence => "in sequence",
        }
    }

    /// The same arrival at a multiple of its rate, if it has one; `None` if that rate cannot be represented.
    pub fn scaled_by(&self, load: Multiple) -> Option<Arrival> {
        let mut scaled = self.clone();
        match &mut scaled {
            Arrival::Steady { rate }
            | Arrival::Poisson { rate }
            | Arrival::Varying { rate, .. }
            | Arrival::Batches { rate, .. }
            | Arrival::Following { rate, .. }
            | Arrival::Bursty { rate, .. } => *rate = load.scaled_rate(*rate)?,
            Arrival::Shared { rate, schedule, .. } => {
                (*rate, *schedule) = (load.scaled_rate(*rate)?, schedule.scaled_by(load)?);
            }
            Arrival::Recorded { rate, recording } => {
                *rate = load.scaled_rate(*rate)?;
                recording.speed = recording.speed.multiplied_by(load)?;
            }
            Arrival::Grouped(groups) => groups.commits = load.scaled_rate(groups.commits)?,
            Arrival::Closed { .. } | Arrival::Paced { .. } | Arrival::Looped { .. } | Arrival::InSequence => {}
        }
        Some(scaled)
    }

    /// The same arrival on several targets, each of which has its rate; `None` if the sum cannot be represented.
    pub fn on_each_of(&self, targets: u64) -> Option<Arrival> {
        let spread = Multiple::from_ratio(targets, 1)?;
        match self {
            // It is played on each of them, at its speed.
            Arrival::Recorded { rate, recording } => {
                Some(Arrival::Recorded { rate: spread.scaled_rate(*rate)?, recording: recording.clone() })
            }
            other => other.scaled_by(spread),
        }
    }

    /// The name of the stream that it follows; `None` for an arrival of its own.
    pub fn followed_stream(&self) -> Option<&String> {
        match self {
            Arrival::Following { stream, .. } => Some(stream),
            _ => None,
        }
    }

    /// The recording that is played, if one is.
    pub fn played_recording(&self) -> Option<&Recording> {
        match self {
            Arrival::Recorded { recording, .. } => Some(recording),
            _ => None,
        }
    }

    /// The same arrival with a rate that follows a curve; `None` if its rate follows a curve already.
    pub fn along_curve(&self, curve: &Curve) -> Option<Arrival> {
        match self {
            Arrival::Steady { rate } => Some(Arrival::Varying { rate: *rate, curve: curve.clone(), even: true }),
            Arrival::Poisson { rate } => Some(Arrival::Varying { rate: *rate, curve: curve.clone(), even: false }),
            Arrival::Varying { .. }
            | Arrival::Batches { .. }
            | Arrival::Following { .. }
            | Arrival::Bursty { .. }
            | Arrival::Shared { .. }
            | Arrival::Grouped(_)
            | Arrival::Recorded { .. } => None,
            Arrival::Closed { .. } | Arrival::Paced { .. } | Arrival::Looped { .. } | Arrival::InSequence => {
                Some(self.clone())
            }
        }
    }
}

/// `rate` times a factor, to parts per billion.
fn scaled_rate(rate: Rate, factor: f64) -> Rate {
    rate.scaled_by((factor * 1e9).round() as u64, 1_000_000_000).unwrap_or(rate)
}
