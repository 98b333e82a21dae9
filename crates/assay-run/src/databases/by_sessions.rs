//! Operations per minute against the number of sessions: a run of a closed loop for each number, on one database.
//!
//! The judge computes the figures (`assay_judge::sessions`). The results are stored after each run, and an interrupted
//! curve continues with the next one.

use crate::failure::Failure;
use crate::log::results;
use crate::observer::Observer;
use crate::procedure::curving::make_directory;
use crate::procedure::kept::{read_document, write_document, write_page};
use crate::procedure::runner::{self, FinishedRun, Series};
use crate::procedure::several::{PlannedRun, Several};
use assay_base::Multiple;
use assay_judge::procedure::{AfterFailure, Aside, Attempts, Evidence};
use assay_judge::sessions::{Point, SCHEMA, SessionsCurve, write_html};
use assay_model::workload::Workload;
use std::path::{Path, PathBuf};

/// Name of the curve's file.
pub const FILE: &str = "sessions.json";
/// Name of the page that shows it.
pub const PAGE: &str = "sessions.html";

/// The workload as a closed loop of this many sessions.
pub fn with_sessions(workload: &Workload, sessions: u32) -> Result<Workload, Failure> {
    workload.with_sessions(sessions).ok_or_else(|| {
        Failure::bad_usage("--sessions is for databases, such as assay curve tpcc sqlite:shop.db --sessions 1,2,4")
    })
}

/// Measures the curve in `dir`, or continues the curve that an earlier call began there.
pub fn measure_by_sessions(
    several: &Several<'_>,
    workload: &Workload,
    asked: &[u32],
    dir: &Path,
    resumed: bool,
    observer: &mut dyn Observer,
) -> Result<SessionsCurve, Failure> {
    let mut measuring = BySessions {
        workload,
        curve: begin_curve(several, asked, dir, resumed)?,
        attempts: Attempts::new(AfterFailure::GoOn),
        dir: dir.to_path_buf(),
    };
    results::check_replaceable(dir, &[FILE, PAGE])?;
    runner::add_earlier_runs(several, &mut measuring, dir)?;
    runner::carry_out(several, &mut measuring, dir, observer)?;
    Ok(measuring.curve)
}

/// A curve, and where it is stored.
struct BySessions<'a> {
    workload: &'a Workload,
    curve: SessionsCurve,
    attempts: Attempts<u32>,
    dir: PathBuf,
}

impl BySessions<'_> {
    /// Puts a run among the points if it is the one that decides there.
    fn add_decisive_run(&mut self, sessions: u32, directory: &str, made: &FinishedRun) {
        if self.attempts.deciding_run(&sessions).is_some_and(|run| run.directory == directory) {
            let point = Point::from_judgement(sessions, &made.judgement, directory.to_owned());
            self.curve.set_point(point, &made.judgement.watermarks);
        }
        self.curve.aside = self.attempts.failed_and_repeated_runs();
    }
}

impl Series for BySessions<'_> {
    type Place = u32;

    fn next(&self) -> Option<u32> {
        self.attempts.next_of(&self.curve.asked)
    }

    fn plan_run(&self, several: &Several<'_>, sessions: &u32) -> Result<PlannedRun, Failure> {
        Ok(PlannedRun {
            name: name_of(*sessions),
            title: format!("{sessions} sessions"),
            workload: with_sessions(self.workload, *sessions)?,
            pace: several.run_pace().clone(),
            load: Multiple::ONE,
            seed: self.curve.seed,
        })
    }

    fn known_failures(&self) -> Vec<Evidence> {
        self.curve.aside.failures.clone()
    }

    fn known_runs(&self) -> Vec<(u32, Evidence)> {
        self.curve.known_runs().collect()
    }

    fn place_of(&self, made: &FinishedRun) -> Option<u32> {
        runner::place_named(&self.curve.asked, &made.evidence.directory, |sessions| name_of(*sessions))
    }

    fn add_earlier_run(&mut self, sessions: Option<u32>, evidence: Evidence, made: Option<&FinishedRun>) {
        let directory = evidence.directory.clone();
        self.attempts.add_earlier_run(sessions, evidence);
        if let (Some(sessions), Some(made)) = (sessions, made) {
            self.add_decisive_run(sessions, &directory, made);
        }
        self.curve.aside = self.attempts.failed_and_repeated_runs();
    }

    fn observe_run(&mut self, sessions: u32, evidence: Evidence, made: &FinishedRun, observer: &mut dyn Observer) {
        observer.say_line(&format!("{sessions} sessions: {}", evidence.verdict));
        let directory = evidence.directory.clone();
        self.attempts.add_run(sessions, evidence);
        self.add_decisive_run(sessions, &directory, made);
    }

    fn write_document(&self) -> Result<(), Failure> {
        make_directory(&self.dir)?;
        write_document(&self.dir.join(FILE), &self.curve)?;
        write_page(&self.dir.join(PAGE), |text| write_html(&self.curve, text))
    }
}

/// Name of the directory of a run.
fn name_of(sessions: u32) -> String {
    format!("{sessions}-sessions")
}

fn begin_curve(several: &Several<'_>, asked: &[u32], dir: &Path, resumed: bool) -> Result<SessionsCurve, Failure> {
    let fresh = SessionsCurve {
        schema: SCHEMA,
        workload: several.plan.name.clone(),
        targets: several.names.clone(),
        seed: several.plan.load.seed,
        run_ns: several.plan.timing.measured_length().as_ns(),
        plan_blake3: several.plan_sum.clone(),
        watermarks: Vec::new(),
        asked: asked.to_vec(),
        points: Vec::new(),
        aside: Aside::default(),
    };
    if !resumed {
        return Ok(fresh);
    }
    read_document(&dir.join(FILE), |kept: &SessionsCurve| {
        several.is_of_same_task(&kept.workload, &kept.targets, kept.run_ns, Some(&kept.plan_blake3), kept.seed)
            && kept.asked == fresh.asked
    })
}
