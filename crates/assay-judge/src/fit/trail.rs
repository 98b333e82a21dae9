//! The rounds of a fit, as `fit.json` keeps them: what was moved, what was counted, and how it ended.

use super::{Figure, Figures, Measured, Outcome};
use crate::judgement::{DiskCount, Judgement, Outcome as Met, StreamTotals, TargetTotals};
use crate::verdict::Verdict;
use assay_base::{Direction, Knobs};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the JSON shape.
pub const SCHEMA: u32 = 1;

/// A fit, ended or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trail {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The profile's name.
    pub workload: String,
    /// Sum of the profile that is fitted, so that it is gone on with the same one.
    pub profile_blake3: String,
    /// The drive of production that the target stands for; empty where the profile names none.
    pub drive: String,
    /// As it was named.
    pub target: String,
    /// The same with what it says of itself; absent until a round has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Its size; absent as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Measured time of each round.
    pub round_ns: u64,
    /// The seed that those of the rounds are made of.
    pub seed: u64,
    /// Difference that is small enough, as a share of production's; what counting varies by is allowed beside it.
    pub tolerance: f64,
    /// Rounds at most.
    pub rounds_max: usize,
    /// What limits what it shows (`SIMULATED`, `SHORT` …), over all rounds.
    pub watermarks: Vec<String>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// How it ended; `None` while it goes on.
    pub outcome: Option<Outcome>,
    /// In their order.
    pub rounds: Vec<Round>,
}

/// One round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// What was run.
    pub knobs: Knobs,
    /// What its log proves.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// Whether the load was carried.
    pub delivered: bool,
    /// Measured time.
    pub seconds: f64,
    /// What was handed over and came back in a second: operations, then bytes, of reads and writes each.
    pub handed_over: Figures,
    /// What the device counted of it; absent where nothing counts for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Figures>,
    /// Flushes a second that the device counted as writes of nothing, and that are taken off `counted`.
    #[serde(default, skip_serializing_if = "is_none_at_all")]
    pub flushes: f64,
    /// Each figure beside production's.
    pub figures: Vec<Compared>,
    /// The response of reads: `[share not above, nanoseconds]`, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nines: Vec<(f64, u64)>,
    /// Where its log lies, below the directory of the fit.
    pub directory: String,
}

/// A figure beside production's, both in a second; bytes are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// Which.
    pub figure: Figure,
    /// What production's drive did.
    pub production: f64,
    /// What this one did.
    pub measured: f64,
    /// How far that is off, as a share of production's.
    pub difference: f64,
    /// What counting alone varies by: two standard deviations of a round, as a share.
    pub counting: f64,
    /// What is allowed: the tolerance and `counting`.
    pub allowed: f64,
}

impl Compared {
    /// Whether it is near enough.
    pub fn agrees(&self) -> bool {
        self.difference.abs() <= self.allowed
    }
}

const FLUSHES: &str = "the kernel follows each durable write with a flush of the device's cache, because the device knows no FUA, and counts it as a write of nothing: these are taken off w/s";

/// Whether the kernel makes a flush of its own of each durable write, which its counters hold as a write of nothing.
fn counts_flushes(facts: &BTreeMap<String, String>) -> bool {
    let is = |name: &str, value: &str| facts.get(name).is_some_and(|fact| fact == value);
    is("fua", "no") && is("write cache", "write back")
}

/// Whether a stream of the plan writes durably.
fn is_durable(plan: &serde_json::Value, stream: &str) -> bool {
    let streams = plan.get("streams").and_then(|streams| streams.as_array());
    let mut mine = streams.into_iter().flatten().filter(|it| it.get("name").is_some_and(|name| name == stream));
    mine.any(|it| it.get("durable").is_some_and(|durable| durable == true))
}

fn is_none_at_all(flushes: &f64) -> bool {
    *flushes == 0.0
}

impl Measured {
    /// What the run that was judged did to its only target. The device's own counters, where it has some, are taken for each
    /// operation of the run, because they are read for whole runs and the figures are of the measured time.
    pub fn of(judgement: &Judgement) -> Measured {
        let part = &judgement.part;
        let sum = |direction: Direction, of: fn(&StreamTotals) -> Option<f64>| {
            let word = direction.to_string();
            part.streams.iter().filter(|totals| totals.direction == word).filter_map(of).sum::<f64>()
        };
        let [reads, writes] = [Direction::Read, Direction::Write]
            .map(|direction| [sum(direction, |it| it.rate_achieved), sum(direction, StreamTotals::bytes_per_second)]);
        let own = [reads[0], writes[0], reads[1], writes[1]];
        let durable = part.streams.iter().filter(|totals| is_durable(&part.plan, &totals.name));
        let durable: f64 = durable.filter_map(|totals| totals.rate_achieved).sum();
        let disk = part.targets.first().and_then(|target| target.disk);
        let device = disk.map(|disk| {
            let times = |device: DiskCount, own: DiskCount| {
                let of = |device: u64, own: u64| if own == 0 { 1.0 } else { device as f64 / own as f64 };
                [of(device.operations, own.operations), of(device.bytes, own.bytes)]
            };
            let (reads, writes) = (times(disk.reads, disk.own_reads), times(disk.writes, disk.own_writes));
            [own[0] * reads[0], own[1] * writes[0], own[2] * reads[1], own[3] * writes[1]]
        });
        let flushed = part.targets.first().is_some_and(|target| counts_flushes(&target.head.facts));
        let (device, flushes) = match device {
            Some([r, w, rb, wb]) if flushed => {
                let flushes = durable.min(w - own[1]).max(0.0);
                (Some([r, w - flushes, rb, wb]), flushes)
            }
            device => (device, 0.0),
        };
        let built_in = part.criteria.iter().find(|criterion| criterion.asked.stream.is_none());
        Measured {
            own,
            device,
            flushes,
            seconds: part.measured_ns as f64 / 1e9,
            verdict: judgement.verdict,
            delivered: built_in.is_some_and(|criterion| criterion.outcome == Met::Pass),
        }
    }
}

impl Trail {
    /// Adds a round whose log lies in `directory`.
    pub fn add(&mut self, knobs: Knobs, judgement: &Judgement, figures: Vec<Compared>, directory: String) {
        // Rounds are as short as they are meant to be.
        let marks = judgement.watermarks.iter().filter(|mark| !mark.starts_with("SHORT"));
        for mark in marks {
            if !self.watermarks.contains(mark) {
                self.watermarks.push(mark.clone());
            }
        }
        if let Some(target) = judgement.part.targets.first() {
            self.device = Some(TargetTotals::device(target));
            self.size_bytes = Some(target.head.size_bytes);
        }
        let measured = Measured::of(judgement);
        if measured.flushes > 0.0 && !self.notes.iter().any(|note| note == FLUSHES) {
            self.notes.push(FLUSHES.to_owned());
        }
        let reads = judgement.part.streams.iter().find(|totals| totals.direction == Direction::Read.to_string());
        self.rounds.push(Round {
            knobs,
            verdict: judgement.verdict,
            reason: judgement.reason.clone(),
            delivered: measured.delivered,
            seconds: measured.seconds,
            handed_over: measured.own,
            counted: measured.device,
            flushes: measured.flushes,
            figures,
            nines: reads.map_or_else(Vec::new, |reads| reads.response.nines.clone()),
            directory,
        });
    }

    /// What the machine was told.
    pub fn observations(&self) -> impl Iterator<Item = (Knobs, Measured)> {
        self.rounds.iter().map(|round| {
            let measured = Measured {
                own: round.handed_over,
                device: round.counted,
                flushes: round.flushes,
                seconds: round.seconds,
                verdict: round.verdict,
                delivered: round.delivered,
            };
            (round.knobs, measured)
        })
    }

    /// The knobs that the fit came to.
    pub fn result(&self) -> Option<&Round> {
        self.rounds.get(self.outcome.as_ref()?.result()?.checked_sub(1)?)
    }
}
