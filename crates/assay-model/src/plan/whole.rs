//! A whole plan: its parts, and what concerns several of them.

use super::application::PlannedApplication;
use super::caches::Caches;
use super::carried_over::CarriedOver;
use super::format::PlanFormat;
use super::load::PlannedLoad;
use super::notes::Notes;
use super::stream::Stream;
use super::timing::PlannedTiming;
use super::verification::PlannedVerification;
use crate::hosts::HostTargets;
use assay_base::{Bytes, Criterion, Span};
use serde::{Deserialize, Serialize};

/// What will be done, in its parts. A plan that was written, to a log or for another host, is read back unchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "PlanFormat", into = "PlanFormat")]
pub struct Plan {
    /// The workload's name.
    pub name: String,
    /// The name of the model that its streams were made from, such as `act-storage`.
    pub model: String,
    /// What is asked of the targets.
    pub load: PlannedLoad,
    /// How the time of the run is divided.
    pub timing: PlannedTiming,
    /// What decides the verdict.
    pub criteria: Vec<Criterion>,
    /// Which data is compared with what was written.
    pub verification: PlannedVerification,
    /// The caches between the load and its targets.
    pub caches: Caches,
    /// What the hosts of a run with several ranks have of its targets.
    pub hosts: HostTargets,
    /// What earlier segments and runs have already done of the patterns that continue from one to the next. Set when a
    /// run is opened: from the log that it continues, or from the preparation records of its targets.
    pub carried_over: CarriedOver,
    /// What the reader of a report must know about it.
    pub notes: Notes,
}

impl Plan {
    /// Which tool or benchmark the load resembles, in the words that every text about it must have because results are
    /// not comparable. Empty if it resembles none.
    pub fn resembled_tools(&self) -> Vec<String> {
        let of_application = self.load.application.as_ref().and_then(PlannedApplication::resembled_tools);
        let mut all: Vec<String> = of_application.into_iter().map(str::to_owned).collect();
        // A merged plan has what its parts are like among its watermarks.
        all.extend(self.notes.watermarks.iter().filter(|mark| of_application != Some(mark.as_str())).cloned());
        all
    }

    /// The name of how the operations of a stream arrive at the target, as the log has it.
    pub fn arrival_of(&self, stream: &Stream) -> &'static str {
        if self.caches.simulated.is_some() { "behind a cache" } else { stream.arrival.arrival_name() }
    }

    /// The same plan for a worker that carries one operation at a time: it has only one slot.
    pub fn in_one_lane(&self) -> Plan {
        Plan { load: PlannedLoad { lanes: Vec::new(), ..self.load.clone() }, ..self.clone() }
    }

    /// The same plan after a run of it that used up `seen` and measured `time`: patterns that continue from run to run
    /// begin where that run ended.
    #[must_use]
    pub fn continued_after(&self, seen: Bytes, time: Span) -> Plan {
        let seen = if self.load.streams.iter().any(Stream::goes_once) { seen } else { self.carried_over.seen };
        let moves = self.load.has_lives() || self.load.streams.iter().any(Stream::changes_with_time);
        let time = if moves { self.carried_over.time + time } else { self.carried_over.time };
        Plan { carried_over: CarriedOver { time, seen }, ..self.clone() }
    }
}
