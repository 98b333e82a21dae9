//! A workload that is carried out in steps, one after another: each step is a workload of its own.
//!
//! A job file may have thousands of steps, so what belongs to a step is looked up by name and never searched for.

use super::definition::{Load, Sealing, Timing, Verification, Workload};
use super::step::Step;
use crate::lives;
use crate::mix::Loop;
use crate::plan::{Lane, Stream, WarmUp};
use assay_base::{Criterion, Span};
use std::collections::{BTreeMap, BTreeSet};

/// What of a workload belongs to single streams, by their names.
struct Parts<'a> {
    streams: BTreeMap<&'a str, &'a Stream>,
    loops: BTreeMap<&'a str, &'a Loop>,
    /// The index of the lane that a stream is in.
    lane_of: BTreeMap<&'a str, usize>,
    lanes: &'a [Lane],
    /// The criteria of each stream, each with its place among all criteria.
    criteria: BTreeMap<&'a str, Vec<(usize, &'a Criterion)>>,
    sealed: BTreeMap<&'a str, Sealing>,
}

impl<'a> Parts<'a> {
    fn new(workload: &'a Workload) -> Parts<'a> {
        let Load { streams, loops, lanes, .. } = &workload.load;
        let mut criteria: BTreeMap<&str, Vec<(usize, &Criterion)>> = BTreeMap::new();
        for (at, criterion) in workload.criteria.iter().enumerate() {
            criteria.entry(criterion.stream.as_str()).or_default().push((at, criterion));
        }
        let mut lane_of = BTreeMap::new();
        for (at, lane) in lanes.iter().enumerate() {
            lane_of.extend(lane.streams.iter().map(|name| (name.as_str(), at)));
        }
        Parts {
            streams: streams.iter().map(|stream| (stream.name.as_str(), stream)).collect(),
            loops: loops.iter().map(|looped| (looped.name.as_str(), looped)).collect(),
            lane_of,
            lanes,
            criteria,
            sealed: workload.verification.sealed.iter().map(|(name, how)| (name.as_str(), *how)).collect(),
        }
    }

    fn streams_of(&self, step: &Step) -> Vec<Stream> {
        step.streams.iter().filter_map(|name| self.streams.get(name.as_str())).map(|stream| (*stream).clone()).collect()
    }

    /// The loops of these streams, each once, in the order of the streams.
    fn loops_of(&self, streams: &[Stream]) -> Vec<Loop> {
        let mut known = BTreeSet::new();
        let names = streams.iter().filter_map(|stream| stream.arrival.loop_name());
        let first_time = names.filter(|name| known.insert(name.as_str()));
        first_time.filter_map(|name| self.loops.get(name.as_str())).map(|looped| (*looped).clone()).collect()
    }

    /// The lanes of these streams, in the order of the workload.
    fn lanes_of(&self, streams: &[Stream]) -> Vec<Lane> {
        let own: BTreeSet<usize> =
            streams.iter().filter_map(|stream| self.lane_of.get(stream.name.as_str()).copied()).collect();
        own.into_iter().map(|at| self.lanes[at].clone()).collect()
    }

    /// The criteria of these streams, in the order of the workload.
    fn criteria_of(&self, streams: &[Stream]) -> Vec<Criterion> {
        let mut own: BTreeMap<usize, &Criterion> = BTreeMap::new();
        for criteria in streams.iter().filter_map(|stream| self.criteria.get(stream.name.as_str())) {
            own.extend(criteria.iter().copied());
        }
        own.into_values().cloned().collect()
    }

    fn sealed_of(&self, streams: &[Stream]) -> Vec<(String, Sealing)> {
        let mut sealed = Vec::new();
        for stream in streams {
            if let Some(how) = self.sealed.get(stream.name.as_str()) {
                sealed.push((stream.name.clone(), *how));
            }
        }
        sealed
    }
}

impl Workload {
    /// Its steps, each a workload of its own; itself where it has none.
    pub fn in_steps(&self) -> Vec<Workload> {
        if let Some(files) = self.load.as_files() {
            return self.in_file_phases(files);
        }
        if self.timing.steps.is_empty() {
            return vec![self.clone()];
        }
        let (common, parts) = (self.without_streams(), Parts::new(self));
        self.timing.steps.iter().map(|step| common.with_step(step, &parts)).collect()
    }

    /// What all its steps have in common.
    fn without_streams(&self) -> Workload {
        let Load { per_target, standard, in_flight_bound, ref unscaled, ref application, .. } = self.load;
        let (unscaled, application) = (unscaled.clone(), application.clone());
        let (streams, lanes, loops) = (Vec::new(), Vec::new(), Vec::new());
        let groups = self.load.groups.clone();
        let Verification { verify, if_possible, ref sealed, ref check_all } = self.verification;
        // Where single streams say what is done with their data, a step without such streams does not verify.
        let verify = verify && sealed.is_empty();
        Workload {
            name: self.name.clone(),
            description: self.description.clone(),
            model: self.model,
            load: Load { streams, per_target, standard, unscaled, lanes, groups, loops, in_flight_bound, application },
            targets: self.targets.clone(),
            timing: Timing { steps: Vec::new(), phases: self.timing.phases.clone(), ..self.timing },
            verification: Verification { verify, if_possible, sealed: Vec::new(), check_all: check_all.clone() },
            caches: self.caches.clone(),
            hosts: self.hosts,
            seed: self.seed,
            criteria: Vec::new(),
            certificate: None,
            limits: Vec::new(),
            derivation: self.derivation.clone(),
            notes: self.notes.clone(),
            watermarks: self.watermarks.clone(),
        }
    }

    /// The same with the streams of a step. Where none of them takes part in a warm-up, there is none.
    fn with_step(&self, step: &Step, parts: &Parts<'_>) -> Workload {
        let streams = parts.streams_of(step);
        let mut whole = self.clone();
        whole.load.loops = parts.loops_of(&streams);
        whole.load.lanes = parts.lanes_of(&streams);
        whole.criteria = parts.criteria_of(&streams);
        whole.verification.sealed = parts.sealed_of(&streams);
        if !streams.iter().any(|stream| lives::life_of(stream, &whole.load.loops).warms_up()) {
            whole.timing.warm_up = WarmUp::For(Span::ZERO);
        }
        whole.notes.extend(step.notes.iter().cloned());
        whole.load.streams = streams;
        whole
    }
}
