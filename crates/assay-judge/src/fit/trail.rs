//! The rounds of a fit, as in `fit.json`: the knobs, the counts, and how the fit ended.

use super::figures::{Compared, Figures, Measured};
use super::outcome::Outcome;
use crate::judgement::{DiskCount, Judgement, Outcome as Met, TargetTotals};
use crate::procedure::{Aside, Evidence};
use crate::verdict::Verdict;
use crate::words::add_new;
use assay_base::{Direction, Knobs};
use assay_record::PlanHead;
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
    /// Checksum of the fitted profile, so that a fit is continued with the same one only.
    pub profile_blake3: String,
    /// The drive of production that the target stands for; empty where the profile names none.
    pub drive: String,
    /// The target as given on the command line.
    pub target: String,
    /// The target with what the device reports about itself; absent until a round has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The size of the target; absent until then as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Measured time of each round.
    pub round_ns: u64,
    /// The seed from which those of the rounds are derived.
    pub seed: u64,
    /// The largest difference that counts as agreement, as a share of production's; counting noise is allowed in
    /// addition.
    pub tolerance: f64,
    /// Upper bound on the rounds.
    pub rounds_max: usize,
    /// Limits on the validity of the result (`SIMULATED`, `SHORT` …), of all rounds.
    pub watermarks: Vec<String>,
    /// What a reader should know about the fit.
    pub notes: Vec<String>,
    /// How it ended; `None` while it is running.
    pub outcome: Option<Outcome>,
    /// The rounds, in order.
    pub rounds: Vec<Round>,
    /// What failed, and which rounds were repeated.
    #[serde(flatten)]
    pub aside: Aside,
}

/// One round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The knobs that it ran with.
    pub knobs: Knobs,
    /// The verdict on its log.
    pub verdict: Verdict,
    /// The reason for the verdict.
    pub reason: String,
    /// Whether the device carried the load.
    pub delivered: bool,
    /// Measured time.
    pub seconds: f64,
    /// What was issued and completed per second: operations, then bytes, each of reads and of writes.
    pub handed_over: Figures,
    /// What the device counted of it; absent where it has no counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Figures>,
    /// Flushes per second that the device counted as empty writes, and that were subtracted in `counted`.
    #[serde(default, skip_serializing_if = "is_none_at_all")]
    pub flushes: f64,
    /// Each figure with production's.
    pub figures: Vec<Compared>,
    /// The response of reads: `[share not above, nanoseconds]`, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nines: Vec<(f64, u64)>,
    /// The directory of its log, relative to that of the fit.
    pub directory: String,
}

const FLUSHES: &str = "the kernel follows each durable write with a flush of the device's cache, because the device knows no FUA, and counts it as an empty write: these are subtracted from w/s";

/// Whether the kernel sends a separate flush for each durable write, which its counters include as an empty write.
fn counts_flushes(facts: &BTreeMap<String, String>) -> bool {
    has_fact(facts, "fua", "no") && has_fact(facts, "write cache", "write back")
}

/// Whether a fact has this value.
fn has_fact(facts: &BTreeMap<String, String>, name: &str, value: &str) -> bool {
    facts.get(name).is_some_and(|fact| fact == value)
}

/// Whether a stream of the plan writes durably.
fn is_durable(plan: &PlanHead, stream: &str) -> bool {
    plan.streams.iter().any(|planned| planned.name.as_deref() == Some(stream) && planned.durable)
}

fn is_none_at_all(flushes: &f64) -> bool {
    *flushes == 0.0
}

impl Measured {
    /// What the judged run did to its only target. The device's own counters, where it has any, are scaled by the
    /// operations of the run, because they cover the whole run and the figures only the measured time.
    pub fn from_judgement(judgement: &Judgement) -> Measured {
        let part = &judgement.part;
        let [reads, writes] = [Direction::Read, Direction::Write].map(|direction| {
            let word = direction.to_string();
            part.streams.total_rates(|totals| totals.direction == word).unwrap_or_default()
        });
        let own = [reads.0, writes.0, reads.1, writes.1];
        let plan = PlanHead::parse(&part.plan.json);
        let durable = part.streams.total_rates(|totals| is_durable(&plan, &totals.name));
        let (durable, _) = durable.unwrap_or_default();
        let disk = part.targets.each.first().and_then(|target| target.disk);
        let device = disk.map(|disk| {
            let (reads, writes) =
                (device_to_own_ratios(disk.reads, disk.own_reads), device_to_own_ratios(disk.writes, disk.own_writes));
            [own[0] * reads[0], own[1] * writes[0], own[2] * reads[1], own[3] * writes[1]]
        });
        let flushed = part.targets.each.first().is_some_and(|target| counts_flushes(&target.head.facts));
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
            seconds: part.time.measured_ns as f64 / 1e9,
            verdict: judgement.verdict,
            delivered: built_in.is_some_and(|criterion| criterion.outcome == Met::Pass),
        }
    }
}

/// The ratio of what the device did to what the run asked for, in operations and in bytes.
fn device_to_own_ratios(device: DiskCount, own: DiskCount) -> [f64; 2] {
    [ratio_of(device.operations, own.operations), ratio_of(device.bytes, own.bytes)]
}

impl Trail {
    /// Adds a round whose log lies in `directory`, in the place of what was known of it.
    pub fn add_round(&mut self, knobs: Knobs, judgement: &Judgement, figures: Vec<Compared>, directory: String) {
        // Rounds are short on purpose.
        add_new(&mut self.watermarks, judgement.watermarks.iter().filter(|mark| !mark.starts_with("SHORT")));
        if let Some(target) = judgement.part.targets.each.first() {
            self.device = Some(TargetTotals::device_description(target));
            self.size_bytes = Some(target.head.size_bytes);
        }
        let measured = Measured::from_judgement(judgement);
        if measured.flushes > 0.0 && !self.notes.iter().any(|note| note == FLUSHES) {
            self.notes.push(FLUSHES.to_owned());
        }
        let reads = judgement.part.streams.each.iter().find(|totals| totals.direction == Direction::Read.to_string());
        let known = self.rounds.iter().position(|round| round.directory == directory);
        let round = Round {
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
        };
        match known {
            Some(at) => self.rounds[at] = round,
            None => self.rounds.push(round),
        }
    }

    /// The rounds that it has: each with its knobs, what was counted, and what it showed.
    pub fn known_rounds(&self) -> impl Iterator<Item = (Knobs, Measured, Evidence)> {
        self.rounds.iter().map(|round| {
            let measured = Measured {
                own: round.handed_over,
                device: round.counted,
                flushes: round.flushes,
                seconds: round.seconds,
                verdict: round.verdict,
                delivered: round.delivered,
            };
            let evidence = self.aside.evidence_of_run(&round.directory, round.verdict, &round.reason);
            (round.knobs, measured, evidence)
        })
    }

    /// The round with the resulting knobs.
    pub fn resulting_round(&self) -> Option<&Round> {
        self.rounds.get(self.outcome.as_ref()?.resulting_round()?.checked_sub(1)?)
    }
}

/// What the device did, as a multiple of what was asked of it; 1 where nothing was.
fn ratio_of(device: u64, own: u64) -> f64 {
    if own == 0 { 1.0 } else { device as f64 / own as f64 }
}
