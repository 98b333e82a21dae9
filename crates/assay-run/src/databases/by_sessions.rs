//! Operations per minute against the number of sessions: a run of a closed loop for each number, on one database.
//!
//! The judge computes the figures (`assay_judge::sessions`). The results are stored after each run, and an interrupted
//! curve continues with the next one.

use crate::curving::directory;
use crate::failure::Failure;
use crate::kept::{below, keep, kept, page};
use crate::observer::Observer;
use crate::results;
use crate::several::Several;
use assay_base::Multiple;
use assay_judge::Verdict;
use assay_judge::sessions::{Point, SCHEMA, SessionsCurve, html};
use assay_model::workload::Workload;
use std::path::Path;

/// Name of the curve's file.
pub const FILE: &str = "sessions.json";
/// Name of the page that shows it.
pub const PAGE: &str = "sessions.html";

/// The workload as a closed loop of this many sessions.
pub fn with_sessions(workload: &Workload, sessions: u32) -> Result<Workload, Failure> {
    workload.with_sessions(sessions).ok_or_else(|| {
        Failure::usage("--sessions is for databases, such as assay curve tpcc sqlite:shop.db --sessions 1,2,4")
    })
}

/// Measures the curve in `dir`, or continues the curve that an earlier call began there.
pub fn measure(
    several: &mut Several<'_>,
    workload: &Workload,
    asked: &[u32],
    (dir, resumed): (&Path, bool),
    observer: &mut dyn Observer,
) -> Result<SessionsCurve, Failure> {
    let mut curve = begin(several, asked, (dir, resumed))?;
    results::replaceable(dir, &[FILE, PAGE])?;
    leave(&curve, dir)?;
    for sessions in curve.left() {
        let pace = several.pace().clone();
        several.now_runs(with_sessions(workload, sessions)?, pace)?;
        observer.title(&format!("{sessions} sessions"));
        let (judgement, run) =
            several.run(dir, &format!("{sessions}-sessions"), (Multiple::ONE, curve.seed), observer)?;
        observer.say(&format!("{sessions} sessions: {}", judgement.verdict));
        if judgement.verdict == Verdict::Incomplete {
            break;
        }
        curve.add(Point::of(sessions, &judgement, below(dir, &run)), &judgement.watermarks);
        leave(&curve, dir)?;
    }
    Ok(curve)
}

fn begin(several: &Several<'_>, asked: &[u32], (dir, resumed): (&Path, bool)) -> Result<SessionsCurve, Failure> {
    let fresh = SessionsCurve {
        schema: SCHEMA,
        workload: several.plan.name.clone(),
        targets: several.names.clone(),
        seed: several.plan.seed,
        run_ns: several.plan.measured().as_ns(),
        plan_blake3: several.plan_sum.clone(),
        watermarks: Vec::new(),
        asked: asked.to_vec(),
        points: Vec::new(),
    };
    if !resumed {
        return Ok(fresh);
    }
    let earlier = kept(&dir.join(FILE), |kept: &SessionsCurve| {
        let task = (kept.workload.as_str(), kept.targets.as_slice());
        several.goes_on(task, kept.run_ns, Some(&kept.plan_blake3), kept.seed) && kept.asked == fresh.asked
    })?;
    several.same_targets(dir)?;
    Ok(earlier)
}

/// Stores a curve with the page that shows it.
fn leave(curve: &SessionsCurve, dir: &Path) -> Result<(), Failure> {
    directory(dir)?;
    keep(&dir.join(FILE), curve)?;
    page(&dir.join(PAGE), |text| html(curve, text))
}
