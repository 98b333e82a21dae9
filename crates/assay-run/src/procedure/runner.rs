//! Carries out every procedure of several runs: a search, a curve in either form, a matrix, a fit. One loop for all of them.
//!
//! What may be repeated and what decides is in the judge's room ([`assay_judge::procedure`]); a [`Series`] adds which runs
//! it needs, and keeps its document. What this file adds is where evidence comes from: **the logs**. A continued procedure
//! judges the log of every run in its directory again, also of those that its document does not know, because the call
//! that made them was killed or an earlier version dropped them. Only where a log is gone, the document is believed.

use crate::failure::{Failure, escaped_path};
use crate::log::reading;
use crate::log::remembered::Judged;
use crate::observer::Observer;
use crate::procedure::kept::relative_to;
use crate::procedure::several::{PlannedRun, Several};
use assay_judge::Judgement;
use assay_judge::procedure::Evidence;
use assay_model::Phase;
use assay_record::{Damage, Entry, Header};
use std::path::{Path, PathBuf};

/// A run that was made, by this call or by an earlier one.
#[derive(Debug)]
pub(crate) struct FinishedRun {
    /// Its directory.
    pub(crate) path: PathBuf,
    /// The judgement of its log.
    pub(crate) judgement: Judgement,
    /// The judgements of its phases, where the procedure judges them one by one.
    pub(crate) phases: Vec<Judgement>,
    /// The evidence that it gave.
    pub(crate) evidence: Evidence,
}

/// A procedure of several runs: which runs it needs, and the document that it keeps of them.
pub(crate) trait Series {
    /// The purpose of a run: a load, a point, the number of a round.
    type Place;

    /// The place that is measured next; `None` if nothing is.
    fn next(&self) -> Option<Self::Place>;

    /// The run that measures a place.
    fn plan_run(&self, several: &Several<'_>, place: &Self::Place) -> Result<PlannedRun, Failure>;

    /// Which of the opened sets of targets the run in this directory is on, where it is on one of them. Most procedures have
    /// one set; a suite has one for each of its members.
    fn targets_of_run(&self, _directory: &str) -> Option<usize> {
        Some(0)
    }

    /// The phases of its runs that are judged one by one.
    fn judged_phases(&self) -> &[Phase] {
        &[]
    }

    /// The runs that its document knows, in their order.
    fn known_runs(&self) -> Vec<(Self::Place, Evidence)>;

    /// The runs in which its document says that something failed.
    fn known_failures(&self) -> Vec<Evidence>;

    /// The place that an earlier run measured which its document does not know; `None` where that is not known.
    fn place_of(&self, made: &FinishedRun) -> Option<Self::Place>;

    /// The evidence of a run about its place, if that is more than its log says.
    fn evidence_of(&self, _place: &Self::Place, made: &FinishedRun) -> Evidence {
        made.evidence.clone()
    }

    /// Takes over an earlier run, whose log is there if `made` is given.
    fn add_earlier_run(&mut self, place: Option<Self::Place>, evidence: Evidence, made: Option<&FinishedRun>);

    /// Takes a run that this call made.
    fn observe_run(&mut self, place: Self::Place, evidence: Evidence, made: &FinishedRun, observer: &mut dyn Observer);

    /// Takes that a run could not be made. Most procedures end then, with this failure.
    ///
    /// # Errors
    /// The procedure ends.
    fn observe_unmade_run(&mut self, _: &Self::Place, why: Failure, _: &mut dyn Observer) -> Result<(), Failure> {
        Err(why)
    }

    /// Keeps its document.
    fn write_document(&self) -> Result<(), Failure>;
}

/// Takes over what earlier calls measured in `dir`. The document of the procedure is kept before the first run, so that it can be
/// continued whenever it is killed.
pub(crate) fn add_earlier_runs<S: Series>(several: &Several<'_>, series: &mut S, dir: &Path) -> Result<(), Failure> {
    add_earlier_runs_on(&[several], series, dir)
}

/// The same for a procedure whose runs are on several sets of targets.
pub(crate) fn add_earlier_runs_on<S: Series>(
    opened: &[&Several<'_>],
    series: &mut S,
    dir: &Path,
) -> Result<(), Failure> {
    let mut runs = reading::runs_in(dir);
    let (known, mut failures) = (series.known_runs(), series.known_failures());
    failures.retain(|run| known.iter().all(|(_, other)| other.directory != run.directory));
    failures.retain(|failure| runs.iter().all(|run| relative_to(dir, run) != failure.directory));
    // What failed stays, whoever removes its log.
    failures.into_iter().for_each(|failure| series.add_earlier_run(None, failure, None));
    for (place, evidence) in known {
        let at = runs.iter().position(|run| relative_to(dir, run) == evidence.directory);
        let made = at.map(|at| judge_earlier(opened, series, dir, runs.remove(at))).transpose()?.flatten();
        match made {
            Some(made) => {
                let evidence = series.evidence_of(&place, &made);
                series.add_earlier_run(Some(place), evidence, Some(&made));
            }
            None => series.add_earlier_run(Some(place), evidence, None),
        }
    }
    for run in runs {
        let Some(made) = judge_earlier(opened, series, dir, run)? else { continue };
        let place = series.place_of(&made);
        let evidence = place.as_ref().map_or_else(|| made.evidence.clone(), |place| series.evidence_of(place, &made));
        series.add_earlier_run(place, evidence, Some(&made));
    }
    series.write_document()
}

/// Makes the runs of a procedure until it needs none, or none may follow.
pub(crate) fn carry_out<S: Series>(
    several: &Several<'_>,
    series: &mut S,
    dir: &Path,
    observer: &mut dyn Observer,
) -> Result<(), Failure> {
    carry_out_on(&[several], series, dir, observer)
}

/// The same for a procedure whose runs are on several sets of targets.
pub(crate) fn carry_out_on<S: Series>(
    opened: &[&Several<'_>],
    series: &mut S,
    dir: &Path,
    observer: &mut dyn Observer,
) -> Result<(), Failure> {
    while let Some(place) = series.next() {
        let planned = series.plan_run(opened[0], &place)?;
        let several = targets_of_run(opened, series, &planned.name)
            .ok_or_else(|| Failure::internal_bug("a run on targets that were not opened"))?;
        observer.begin_part(&planned.title);
        let (judged, path) = match several.make_run(dir, &planned, series.judged_phases(), observer) {
            Ok(made) => made,
            Err(why) if several.was_asked_to_stop() => return Err(why),
            Err(why) => {
                series.observe_unmade_run(&place, why, observer)?;
                continue;
            }
        };
        let made = finished_run(several, dir, path, judged)?;
        let evidence = series.evidence_of(&place, &made);
        series.observe_run(place, evidence, &made, observer);
        match series.write_document() {
            // Another run has no place for its log either.
            Err(why) if series.next().is_some() => return Err(why),
            kept => several.tell_if_lost(kept),
        }
    }
    Ok(())
}

/// The targets of the run in this directory, where they are open.
fn targets_of_run<'a, 'b, S: Series>(
    opened: &[&'a Several<'b>],
    series: &S,
    directory: &str,
) -> Option<&'a Several<'b>> {
    series.targets_of_run(directory).and_then(|at| opened.get(at)).copied()
}

/// The one of `places` whose runs have this directory: its name, or the name with a number where the run was repeated.
pub(crate) fn place_named<P: Clone>(places: &[P], directory: &str, name: impl Fn(&P) -> String) -> Option<P> {
    places.iter().find(|place| is_directory_of(directory, &name(place))).cloned()
}

fn is_directory_of(directory: &str, name: &str) -> bool {
    match directory.strip_prefix(name) {
        Some("") => true,
        Some(rest) => rest.strip_prefix('-').is_some_and(|number| number.parse::<u32>().is_ok()),
        None => false,
    }
}

/// Judges a run of an earlier call; `None` if its log shows nothing, because the call was killed before the first line
/// was complete.
fn judge_earlier<S: Series>(
    opened: &[&Several<'_>],
    series: &S,
    dir: &Path,
    path: PathBuf,
) -> Result<Option<FinishedRun>, Failure> {
    let Some(head) = read_header(&path)? else { return Ok(None) };
    let phases = series.judged_phases();
    let own = targets_of_run(opened, series, &relative_to(dir, &path));
    // A log is judged by itself, also where this call has not opened its targets.
    let several = own.unwrap_or(opened[0]);
    own.map_or(Ok(()), |own| own.refuse_other_devices(&head, &path))?;
    let whole = several.judge_earlier_run(&path)?;
    let phases = if phases.is_empty() { Vec::new() } else { several.judged_by_phases(&path, phases)? };
    finished_run(several, dir, path, Judged { whole, phases }).map(Some)
}

/// The header of a run. A log whose beginning is damaged may hold failures that nobody can read: it cannot be passed over.
fn read_header(path: &Path) -> Result<Option<Header>, Failure> {
    let log = path.join("run.jsonl");
    if reading::is_being_written(&reading::open_log_file(&log)?) {
        return Err(Failure::host_unable(format!("the log {} is being written by another run", escaped_path(&log))));
    }
    match reading::open_reader(&log)?.next_entry().map_err(|e| unusable_log(&log, &e))? {
        None | Some(Err(Damage { torn_tail: true, .. })) => Ok(None),
        Some(Ok(Entry::Header(head))) => Ok(Some(*head)),
        Some(Ok(_)) => Err(unusable_log(&log, &"it does not begin with a header")),
        Some(Err(damage)) => Err(unusable_log(&log, &damage)),
    }
}

fn finished_run(several: &Several<'_>, dir: &Path, path: PathBuf, judged: Judged) -> Result<FinishedRun, Failure> {
    let Judged { whole: judgement, phases } = judged;
    let evidence = Evidence::new(&judgement, relative_to(dir, &path)).with_phases(&phases);
    let evidence = with_losses(several, &path, &judgement, evidence)?;
    Ok(FinishedRun { path, judgement, phases, evidence })
}

/// The same with the commits that a database has lost since it acknowledged them to this run. At the end of a whole run they were
/// looked for; a run that was cut short, or that could not be checked, would be forgotten with its ledger.
fn with_losses(
    several: &Several<'_>,
    path: &Path,
    judgement: &Judgement,
    evidence: Evidence,
) -> Result<Evidence, Failure> {
    if evidence.is_proof() {
        return Ok(evidence);
    }
    let losses = match several.lost_commits(path) {
        // The ledger lies beside a log that cannot be read back.
        Err(why) if judgement.log.is_none() => {
            several.tell_if_lost(Err(why));
            Vec::new()
        }
        losses => losses?,
    };
    Ok(if losses.is_empty() { evidence } else { evidence.with_failure(losses.join("; ")) })
}

fn unusable_log(log: &Path, why: &dyn std::fmt::Display) -> Failure {
    let text = format!("the log {} cannot be taken over: {why}", escaped_path(log));
    Failure::bad_workload(text).with_advice("start again with another directory")
}
