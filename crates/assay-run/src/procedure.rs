//! The procedure of a certification: load and stress, on one target and on all, for any workload that has criteria.
//!
//! Source: ACT's README, "Process for Certifying Device(s)". That text is about `act-storage` at 30x; nothing in the
//! procedure depends on that workload, so `act-index`, an ACT configuration or a workload file can replace it.

pub mod carrier;
pub mod certainty;
pub mod certifying;
pub mod curving;
pub mod fitting;
pub mod kept;
pub mod matrix;
pub mod mounts;
pub mod pace;
pub(crate) mod runner;
pub mod searching;
pub mod settings;
pub mod several;
pub mod sizing;
pub mod steps;
pub mod tiles;

use crate::directories::NamedDirectory;
use crate::failure::Failure;
use crate::open::targets::{self, Named};
use crate::workloads::{self, Reading};
use assay_base::{Multiple, Span};
use assay_formats::act::conf::Kind;
use assay_model::Plan;
use assay_model::workload::{Adjust, Certificate, CertifiedTime, Load, Workload};

/// ACT's usual load (README, "Process for Certifying Device(s) for 30x Performance").
const FULL_LOAD: Multiple = Multiple::from_whole(30);
/// The stress step runs at twice the load (README, Test 2: 60x after 30x).
const STRESS: u64 = 2;
/// Length of the stress step of a quick look, shorter than its load step.
const QUICK_STRESS: Span = Span::from_secs(10);
/// Length of a step for ACT's models (README, "Run ACT for 24 hrs").
const DAY: Span = Span::from_secs(24 * 3600);
/// ACT's workloads, whose 1x is the unit of ACT's multiples.
pub(crate) const PROFILES: [&str; 2] = ["act-storage", "act-index"];

/// What a certificate of a directory does not say.
pub(crate) const WARM_METADATA: &str =
    "METADATA WARM: names and attributes of files may come from this host's memory; only data are dropped from it";

/// What a command line says about a procedure, besides its words.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcedureOptions<'a> {
    /// A quick look is asked for.
    pub quick: bool,
    /// The load, where it is not the usual one.
    pub at: Option<Multiple>,
    /// The test that an ACT configuration is for, where its keys do not say.
    pub model: Option<Kind>,
    /// Whether a step beside a neighbour that writes is asked for.
    pub beside: bool,
    /// The name of other bounds.
    pub limits: Option<&'a str>,
}

/// The workload that is certified, and its load.
#[derive(Clone, Debug)]
pub struct Procedure {
    /// The workload; its rates are for each target.
    pub workload: Workload,
    /// Load of the load step; the stress step has twice this load.
    load: Multiple,
    /// It is a quick look, not a certification.
    pub(crate) quick: bool,
    /// Whether it has a step beside a neighbour that writes.
    beside: bool,
    /// The name of the bounds by which it is judged, where these are not its own.
    limits: Option<String>,
}

/// One step of the procedure.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its title.
    pub title: String,
    /// Whether only completion counts.
    pub stress: bool,
    /// Multiple of the workload.
    pub load: Multiple,
    /// It runs on this many of the targets, the first ones.
    pub targets: u16,
    /// Measured time, where it differs from the workload's own.
    pub measure: Option<Span>,
    /// Judging window, where it differs from the workload's own.
    pub slice: Option<Span>,
    /// Measured time unless it is shortened, where the workload says how it is certified.
    pub whole: Option<Span>,
    /// What it is for.
    pub kind: StepKind,
}

/// What a step of a procedure is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepKind {
    /// The load, judged by the workload's criteria.
    Load,
    /// The load for a short time, with criteria of its own where it has some.
    QuickLook,
    /// A higher load, of which only completion counts.
    Completion,
    /// A higher load with criteria of its own.
    Stress,
    /// The load beside a neighbour that writes.
    Beside,
}

impl Procedure {
    /// From the words of a command line: an optional workload, and targets, which an ACT configuration may name too.
    pub fn from_words(words: &[String], options: ProcedureOptions<'_>) -> Result<(Procedure, Vec<String>), Failure> {
        let ProcedureOptions { quick, at, model, beside, limits } = options;
        let named = words.first().filter(|word| workloads::is_workload(word));
        let targets = &words[usize::from(named.is_some())..];
        let profile = if quick { "act-storage-quick" } else { "act-storage" };
        if named.is_none() && !quick {
            needs_workload_for_directory(targets)?;
        }
        let name = named.map_or(profile, String::as_str);
        let reading = Reading { model, verb: "certify", ..Reading::default() };
        let found = workloads::read_all(&[name], &reading)?;
        let workload = found.into_iter().map(|found| found.workload).next().expect("each name is one workload");
        let certificate = workload.certificate.as_ref();
        if named.is_some() && quick && certificate.is_none_or(|certificate| certificate.quick.is_none()) {
            return Err(Failure::bad_usage(format!(
                "a quick look has a workload of its own: leave out {}, or test it with assay run {} --for 1min",
                crate::failure::one_line(name),
                assay_judge::for_a_shell(name)
            )));
        }
        if beside && (quick || certificate.is_none_or(|certificate| certificate.beside.is_none())) {
            return Err(without_beside(name, quick));
        }
        let workload = match limits {
            Some(limits) => {
                let with = workload.with_limits(limits).map_err(Failure::bad_usage)?;
                if quick && !workload.limits_concern_quick_look(limits) {
                    return Err(without_these_limits(name, limits));
                }
                with
            }
            None => workload,
        };
        let targets = if targets.is_empty() { workload.targets.paths.clone() } else { targets.to_vec() };
        let workload = for_each(workload, targets.len())?;
        // A configuration itself determines which multiple of ACT's 1x it is.
        let usual = if PROFILES.contains(&name) { FULL_LOAD } else { workload.load.load_as_written(1) };
        if workload.criteria.is_empty() && is_on_files(&workload) {
            return Err(without_criteria_on_files(name));
        }
        if workload.criteria.is_empty() {
            let name = crate::failure::one_line(name);
            let why =
                format!("{name} has no criteria, so that nothing could be certified; write a [[criterion]], or reads");
            return Err(Failure::bad_workload(why));
        }
        let limits = limits.map(str::to_owned);
        Ok((Procedure { workload, load: at.unwrap_or(usual), quick, beside, limits }, targets))
    }

    /// What its result answers in one line; `None` where the workload does not say how it is certified.
    pub fn question(&self) -> Option<String> {
        self.workload.certificate.as_ref()?;
        let (load, usual) = (self.load, self.workload.load.load_as_written(1));
        let mut question = self.workload.name.clone();
        if load != usual {
            question += &format!(" at {load}");
        }
        if let Some(limits) = &self.limits {
            question += &format!(" (limits {limits})");
        }
        Some(question)
    }

    /// The meaning of the targets that are named: those with blocks, or one directory, where its workload is of clients on
    /// files. The workload of a server becomes streams where they have blocks.
    pub fn parse_targets(&mut self, names: &[String]) -> Result<Vec<(String, Named)>, Failure> {
        let named = match names {
            [_] if is_on_files(&self.workload) => targets::parse_targets(names)?,
            _ => targets::parse_block_targets(names)?,
        };
        if let Some(as_streams) = pace::fit_to_blocks(&self.workload, &named)? {
            if self.beside {
                return Err(Failure::bad_usage(format!(
                    "--beside appends to another file of the same file system, and {} has none: leave it out",
                    crate::failure::one_line(&names[0])
                )));
            }
            self.workload = as_streams;
        }
        pace::fits_directories(&self.workload, &named)?;
        Ok(named)
    }

    /// The same for a server's log on devices, which have no file system.
    pub(crate) fn on_devices(self) -> Result<Procedure, Failure> {
        let workload = self.workload.on_device().map_err(Failure::bad_usage)?;
        Ok(Procedure { workload, ..self })
    }

    /// Its steps on `all` targets. `measure` is the length that the user asked for.
    pub fn steps_on_targets(&self, all: u16, measure: Option<Span>) -> Result<Vec<Step>, Failure> {
        let load = self.load;
        let (numerator, denominator) = load.as_ratio();
        let stress = numerator.checked_mul(STRESS).and_then(|n| Multiple::from_ratio(n, denominator));
        let stress = stress.ok_or_else(|| Failure::bad_usage(format!("twice {load} is too large")))?;
        if let Some(certificate) = &self.workload.certificate {
            return self.steps_of_certificate(certificate, all, measure);
        }
        let stress_time = measure.or(self.quick.then_some(QUICK_STRESS));
        // A closed loop has no rate that could be doubled.
        let has_stress = self.workload.load.streams.iter().any(|stream| stream.arrival.mean_rate().is_some());
        let one = if is_on_files(&self.workload) { "one directory" } else { "one device" };
        let mut parts = vec![(1, one.to_owned())];
        if all > 1 {
            parts.push((all, format!("all {all} devices")));
        }
        let mut steps = Vec::new();
        for (targets, devices) in parts {
            let title = format!("load test at {load}, {devices}");
            let (slice, whole, kind) = (None, None, StepKind::Load);
            steps.push(Step { title, stress: false, load, targets, measure, slice, whole, kind });
            if has_stress {
                let title = format!("stress test at {stress}, {devices}");
                let (load, measure, kind) = (stress, stress_time, StepKind::Completion);
                steps.push(Step { title, stress: true, load, targets, measure, slice, whole, kind });
            }
        }
        Ok(steps)
    }

    /// The steps of a workload that says how it is certified; `measure` is the length that the user asked for.
    fn steps_of_certificate(
        &self,
        certificate: &Certificate,
        targets: u16,
        measure: Option<Span>,
    ) -> Result<Vec<Step>, Failure> {
        let on = match (is_on_files(&self.workload), targets) {
            (true, _) => "one directory".to_owned(),
            (false, 1) => "one device".to_owned(),
            (false, all) => format!("all {all} devices"),
        };
        let step = |kind: StepKind, title: String, load: Multiple, time: CertifiedTime| Step {
            title: format!("{title} at {load}, {on}"),
            stress: false,
            load,
            targets,
            measure: Some(measure.unwrap_or(time.length)),
            slice: Some(time.slice),
            whole: Some(time.length),
            kind,
        };
        let mut steps = Vec::new();
        if let Some(quick) = certificate.quick.as_ref().filter(|_| self.quick) {
            return Ok(vec![step(StepKind::QuickLook, "quick look".to_owned(), self.load, quick.time)]);
        }
        steps.push(step(StepKind::Load, "load test".to_owned(), self.load, certificate.load));
        if let Some(stress) = &certificate.stress {
            let load = stress.times.multiplied_by(self.load);
            let load =
                load.ok_or_else(|| Failure::bad_usage(format!("{} times {} is too large", stress.times, self.load)))?;
            steps.push(step(StepKind::Stress, "stress test".to_owned(), load, stress.time));
        }
        if let Some(beside) = certificate.beside.filter(|_| self.beside) {
            let title = format!("load test beside {}/s of appends that nobody syncs", beside.append.human_text());
            steps.push(step(StepKind::Beside, title, self.load, beside.time));
        }
        Ok(steps)
    }

    /// The plan of one of its steps: load, length, windows and targets are those of the step, everything else as asked for.
    pub fn plan_step(&self, step: &Step, asked: Adjust) -> Result<Plan, Failure> {
        let slice = asked.slice.or(step.slice);
        let adjust = Adjust { load: Some(step.load), measure: step.measure, targets: step.targets, slice, ..asked };
        let certificate = self.workload.certificate.as_ref();
        let stress = certificate.and_then(|certificate| certificate.stress.as_ref());
        let quick = certificate.and_then(|certificate| certificate.quick.as_ref());
        let beside = certificate.and_then(|certificate| certificate.beside);
        let changed = match step.kind {
            StepKind::Load | StepKind::Completion => None,
            StepKind::QuickLook => quick.map(|quick| self.workload.in_quick_look(quick)),
            StepKind::Stress => stress.map(|stress| self.workload.in_stress(stress)),
            StepKind::Beside => beside
                .map(|beside| self.workload.beside_appends(beside.append))
                .transpose()
                .map_err(Failure::bad_workload)?,
        };
        changed.as_ref().unwrap_or(&self.workload).make_plan(&adjust).map_err(Failure::bad_workload)
    }

    /// The measured time of one of its steps unless it is shortened.
    pub fn full_length(&self) -> Span {
        let act = self.workload.model.starts_with("act-");
        if act && !self.quick { self.workload.timing.duration.max(DAY) } else { self.workload.timing.duration }
    }
}

/// Whether a workload is carried out on files.
fn is_on_files(workload: &Workload) -> bool {
    workload.load.as_files().is_some()
}

/// Why there is no step beside a neighbour.
fn without_beside(name: &str, quick: bool) -> Failure {
    let shown = crate::failure::one_line(name);
    Failure::bad_usage(if quick {
        "--beside is a step of a certification, and a quick look has one step only: leave out one of the two".to_owned()
    } else {
        format!(
            "{shown} does not say what writes beside it: leave out --beside, or write [certify.beside] into a copy of it"
        )
    })
}

/// Why a quick look is not judged by these limits.
fn without_these_limits(name: &str, limits: &str) -> Failure {
    let (name, limits) = (crate::failure::one_line(name), crate::failure::one_line(limits));
    Failure::bad_usage(format!(
        "a quick look of {name} has none of the bounds that the limits {limits} replace: leave out --quick or --limits"
    ))
}

/// A directory has no usual workload: a person knows what works on it.
fn needs_workload_for_directory(targets: &[String]) -> Result<(), Failure> {
    let Some(name) = targets.iter().find(|name| NamedDirectory::from_name(name).is_some()) else { return Ok(()) };
    let shown = crate::failure::one_line(name);
    Err(Failure::refused_for_safety(format!(
        "{shown} is a directory, and certify does not know what works on it: name a workload for directories that has criteria, such as assay certify media {}; a workload for blocks needs a device or a file; nothing was written",
        assay_judge::for_a_shell(name)
    )))
}

/// Most workloads for directories measure what a file system gives, and ask for nothing.
fn without_criteria_on_files(name: &str) -> Failure {
    let shown = crate::failure::one_line(name);
    let copy = if workloads::shipped_text(name).is_some() {
        format!("copy it, assay workloads {name} > mine.toml, and write into mine.toml")
    } else {
        format!("write into {shown}")
    };
    Failure::bad_workload(format!(
        "{shown} has no criteria, so that nothing could be certified\n  = {copy} what its users need: rate = \"200/s\" in place of closed = true, and a [[criterion]]"
    ))
}

/// The same workload with rates for each target. Those of an ACT configuration are for all devices that it names
/// together or, where it names none, for all given targets.
fn for_each(workload: Workload, targets: usize) -> Result<Workload, Failure> {
    if workload.load.per_target || is_on_files(&workload) {
        return Ok(workload);
    }
    let among = if workload.targets.paths.is_empty() { targets } else { workload.targets.paths.len() }.max(1) as u64;
    let standard = workload.load.standard.and_then(|all| all.divided_by(Multiple::from_whole(among)));
    let part = Multiple::from_ratio(1, among).ok_or_else(|| Failure::internal_bug("a part that is not a number"))?;
    let mut streams = workload.load.streams.clone();
    for stream in &mut streams {
        let arrival = stream.arrival.scaled_by(part);
        stream.arrival = arrival.ok_or_else(|| Failure::bad_workload("its rates are too large to be divided"))?;
    }
    let mut notes = workload.notes.clone();
    if among > 1 {
        notes.push(format!(
            "each device gets one part in {among} of the configuration's rates, which are for {among} devices"
        ));
    }
    Ok(Workload { load: Load { per_target: true, standard, streams, ..workload.load }, notes, ..workload })
}
