//! The phases of `model = "files"` as steps of a workload: each has streams, slices and a verdict of its own.

use super::definition::{Application, Load, Timing, Workload};
use super::step::Step;
use crate::files::{FilesPhase, PlannedFiles};
use crate::plan::Stream;
use assay_base::Criterion;

/// The load of clients on files: all streams of all phases, each once.
pub(super) fn load_of_clients(files: PlannedFiles) -> Option<Load> {
    let mut streams: Vec<Stream> = Vec::new();
    for phase in 0..files.workload.all_phases().len() as u32 {
        for stream in (PlannedFiles { phase, ..files.clone() }).phase_streams()? {
            if !streams.iter().any(|known| known.name == stream.name) {
                streams.push(stream);
            }
        }
    }
    let in_flight_bound = files.workload.clients;
    Some(Load { in_flight_bound, application: Some(Application::Files(files)), ..Load::from_streams(streams) })
}

/// A step for each phase that the file names.
pub(super) fn steps_of_phases(files: &PlannedFiles) -> Vec<Step> {
    if files.workload.phases.is_empty() {
        return Vec::new();
    }
    let names = |phase: &FilesPhase| phase.sequences.iter().map(|sequence| sequence.name.clone()).collect();
    files.workload.all_phases().iter().map(|phase| Step { streams: names(phase), notes: Vec::new() }).collect()
}

impl Workload {
    /// Its phases, each a workload of its own; itself where it has none.
    pub(super) fn in_file_phases(&self, files: &PlannedFiles) -> Vec<Workload> {
        if self.timing.steps.is_empty() {
            return vec![self.clone()];
        }
        let phases = files.workload.all_phases();
        (0..).zip(&phases).map(|(number, described)| self.in_file_phase(files, number, described)).collect()
    }

    fn in_file_phase(&self, files: &PlannedFiles, phase: u32, described: &FilesPhase) -> Workload {
        let files = PlannedFiles { phase, ..files.clone() };
        // They fitted when the file was read.
        let streams = files.phase_streams().unwrap_or_default();
        let duration = described.span.unwrap_or(self.timing.duration);
        let timing =
            Timing { steps: Vec::new(), duration, slice: self.timing.slice.min(duration), ..self.timing.clone() };
        let is_there = |criterion: &Criterion| streams.iter().any(|stream| stream.name == criterion.stream);
        let criteria = self.criteria.iter().filter(|criterion| is_there(criterion)).cloned().collect();
        let load = Load { streams, application: Some(Application::Files(files)), ..self.load.clone() };
        Workload { load, timing, criteria, ..self.clone() }
    }
}
