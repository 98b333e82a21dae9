//! The path of a search, as `limit.json` stores it: every run it made, in order, and how it ended.

use super::Outcome;
use super::tile_figures::{TilesFound, WorkloadRate, broken_in_words, workload_rates};
use crate::judgement::{Judgement, StreamTotals, TargetTotals};
use crate::procedure::{Aside, Evidence};
use crate::verdict::Verdict;
use crate::words::add_new;
use assay_base::{Counted, Multiple};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The version of the JSON shape.
pub const SCHEMA: u32 = 1;

/// A search, ended or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trail {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The workload's name.
    pub workload: String,
    /// The targets, as the user named them.
    pub targets: Vec<String>,
    /// The targets with what they report about themselves; absent until a run has ended, and in paths of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// Measured time of each run.
    pub run_ns: u64,
    /// The seed of every run.
    pub seed: u64,
    /// Checksum of what distinguishes its workload from others; absent in paths of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_blake3: Option<String>,
    /// What limits the result (`SIMULATED`, `SHORT` …), over all runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watermarks: Vec<String>,
    /// The ways in which the workload deviates from the standard that it is derived from; absent where it is derived from none,
    /// and in files of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<String>,
    /// What loads are counted in beside multiples, where that is something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
    /// What a search for a number of tiles found; absent in every other search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<TilesFound>,
    /// How it ended; `None` while it continues.
    pub outcome: Option<Outcome>,
    /// The runs, in their order.
    pub runs: Vec<Run>,
    /// What failed, and which runs were repeated.
    #[serde(flatten)]
    pub aside: Aside,
}

/// One run of the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The load.
    pub load: Multiple,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason.
    pub reason: String,
    /// The measured value of the criterion that decided, or of a PASS the one that came nearest to its bound; absent where a FAIL
    /// was decided by none.
    pub measured: Option<String>,
    /// For the stream of that criterion, like the distribution below.
    pub response_p99_ns: Option<u64>,
    /// Operations per second of all streams together; absent in paths of earlier versions, like the members below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Bytes per second of these operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<f64>,
    /// The stream of that criterion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// Its response: `[share not above, nanoseconds]`, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nines: Vec<(f64, u64)>,
    /// What each workload of the tiles did, where it has tiles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadRate>,
    /// Which tile broke what, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_tile: Option<String>,
    /// The directory of its log.
    pub directory: PathBuf,
}

impl Trail {
    /// Adds a run at `load` whose log is in `directory`, in the place of what was known of that run.
    pub fn add_run(&mut self, load: Multiple, judgement: &Judgement, directory: PathBuf) {
        add_new(&mut self.watermarks, &judgement.watermarks);
        add_new(&mut self.deviations, judgement.workload_deviations());
        if !judgement.part.targets.each.is_empty() {
            self.devices = judgement.part.targets.each.iter().map(TargetTotals::device_description).collect();
        }
        let known = self.runs.iter().position(|run| run.directory.file_name() == directory.file_name());
        let run = Run::new(load, judgement, directory);
        match known {
            Some(at) => self.runs[at] = run,
            None => self.runs.push(run),
        }
    }

    /// The runs that it has, each with its load. Their directories are given relative to that of the search.
    pub fn known_runs(&self) -> impl Iterator<Item = (Multiple, Evidence)> {
        self.runs
            .iter()
            .map(|run| (run.load, self.aside.evidence_of_run(&run.directory_name(), run.verdict, &run.reason)))
    }

    /// The streams whose responses the runs show, each once: that of a run is the stream of the criterion that decided it.
    pub fn shown_streams(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.runs.iter().filter_map(|run| run.stream.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The stream whose response a run shows, where not all runs show the same one.
    pub fn stream_of<'a>(&self, run: &'a Run) -> Option<&'a str> {
        run.stream.as_deref().filter(|_| self.shown_streams().len() > 1)
    }

    /// Whether it has the run in this directory, given relative to that of the search.
    pub fn has_run(&self, directory: &str) -> bool {
        self.runs.iter().any(|run| run.directory_name() == directory)
    }

    /// How it ended, in words; also by what loads are counted in.
    pub fn outcome_in_words(&self, outcome: Outcome) -> String {
        if self.tiles.is_some() {
            return self.tiles_in_words(outcome);
        }
        let counted = self
            .counted
            .as_ref()
            .zip(outcome.highest_passing())
            .map(|(counted, load)| format!("; {load} is {}", counted.at_load(load)));
        let failed = self.aside.failures.first().and_then(|run| run.failure.as_ref());
        let failed = failed.map(|what| format!("; {what}")).unwrap_or_default();
        format!("{outcome}{}{}{failed}", counted.unwrap_or_default(), self.broken_by(outcome).unwrap_or_default())
    }

    /// The criterion that the lowest load above the limit broke, where loads are counted in parts: who counts those asks for it.
    fn broken_by(&self, outcome: Outcome) -> Option<String> {
        self.counted.as_ref()?.parts.as_ref()?;
        let fails = outcome.lowest_failing()?;
        let run = self.runs.iter().find(|run| run.load == fails && run.verdict == Verdict::Fail)?;
        Some(format!("; {fails} broke {}", run.measured.as_ref().unwrap_or(&run.reason)))
    }
}

impl Run {
    fn new(load: Multiple, judgement: &Judgement, directory: PathBuf) -> Run {
        let decisive = judgement.decisive_criterion();
        let measured = decisive.and_then(|criterion| {
            let figure = criterion.measured.as_ref()?;
            Some(format!("{} {} (bound {})", criterion.asked.title, figure.text, criterion.asked.bound))
        });
        let totals = decided_totals(judgement);
        let (rate, bytes_per_second) = judgement.part.streams.total_throughput().unzip();
        Run {
            load,
            verdict: judgement.verdict,
            reason: judgement.reason.clone(),
            measured,
            response_p99_ns: totals.and_then(|totals| totals.response.p99_ns),
            rate,
            bytes_per_second,
            stream: totals.map(|totals| totals.name.clone()),
            nines: totals.map_or_else(Vec::new, |totals| totals.response.nines.clone()),
            workloads: workload_rates(judgement),
            broken_tile: broken_in_words(judgement),
            directory,
        }
    }

    /// The name of its directory.
    fn directory_name(&self) -> String {
        self.directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Whether it proves that the load holds, or that it does not.
    pub fn is_proof(&self) -> bool {
        matches!(self.verdict, Verdict::Pass | Verdict::Fail)
    }
}

/// The totals, over all targets, of the stream whose criterion decided; without one, of the first criterion's stream.
fn decided_totals(judgement: &Judgement) -> Option<&StreamTotals> {
    let part = &judgement.part;
    let named = judgement.decisive_criterion().and_then(|criterion| criterion.asked.stream.as_deref());
    let name = named.or_else(|| part.criteria.iter().find_map(|criterion| criterion.asked.stream.as_deref()));
    let all = part.streams.together.iter().chain(&part.streams.each).chain(&part.streams.groups);
    let about: Vec<_> = all.filter(|totals| name.is_none_or(|name| name == totals.name)).collect();
    about.iter().find(|totals| totals.target.is_none()).or(about.first()).copied()
}
