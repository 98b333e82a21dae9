//! A matrix: small and large operations at every depth that is asked for, a run for each point.
//!
//! The judge knows what a point is worth (`assay_judge::matrix`); this file says what runs at a point, and stores the points
//! in `matrix.json` after each one, from which an interrupted matrix continues.

use crate::failure::Failure;
use crate::log::results;
use crate::observer::Observer;
use crate::procedure::kept::{read_document, write_document};
use crate::procedure::runner::{self, FinishedRun, Series};
use crate::procedure::several::{PlannedRun, Several};
use assay_base::{Multiple, Share, Span};
use assay_judge::matrix::{Figures, Matrix, Place, Point, SCHEMA};
use assay_judge::procedure::{AfterFailure, Aside, Attempts, Evidence};
use assay_model::workload::{self, Workload};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Orion's usual time of a point.
const POINT: Span = Span::from_secs(60);
/// The watermark of every result.
const LIKENESS: &str = "watermark = \"ORION-LIKE: not comparable with results of Oracle's tool\"";
/// Name of the matrix's file.
pub const FILE: &str = "matrix.json";
/// Name of the page that shows it.
pub const PAGE: &str = "matrix.html";

/// The choices that all points of a matrix like Orion's have in common.
#[derive(Clone, Copy, Debug)]
pub struct Orion {
    /// Number of disks behind each target.
    pub disks: u32,
    /// Share of the operations that write.
    pub writes: Share,
    /// Large operations are sequential streams of 128 MiB from random places on, in place of random ones.
    pub sequential: bool,
}

impl Orion {
    /// The workload of a point.
    pub fn workload_at(&self, place: Place) -> Result<Workload, Failure> {
        let mut text =
            format!("name = \"orion\"\nmodel = \"streams\"\nduration = \"{POINT}\"\nslice = \"{POINT}\"\n{LIKENESS}\n");
        let address = if self.sequential { "\naddress = { runs = \"128MiB\" }" } else { "" };
        for (kind, in_flight, keys) in [
            ("small", place.small, "size = \"8KiB\"".to_owned()),
            ("large", place.large, format!("size = \"1MiB\"{address}")),
        ] {
            if in_flight > 0 {
                text += &stream_group(kind, in_flight, &keys, self.writes);
            }
        }
        workload::read_workload("orion", &text)
            .map_err(|fault| Failure::internal_bug(format!("a matrix that is not a workload: {fault}")))
    }
}

/// The streams of one kind. Sequential ones in flight are copies of their own, so that each has a place of its own.
fn stream_group(kind: &str, in_flight: u32, keys: &str, write: Share) -> String {
    let is_sequential = keys.contains("runs");
    let number = if is_sequential { "copies" } else { "in_flight" };
    let mut text = format!("\n[[loop]]\nname = \"{kind}\"\n{number} = {in_flight}\n");
    let read = Share::from_ppb(Share::WHOLE.as_ppb() - write.as_ppb());
    for (direction, share) in [("read", read), ("write", write)] {
        if share.as_ppb() > 0 {
            let _ = write!(
                text,
                "\n[[stream]]\nname = \"{kind}-{direction}s\"\ndirection = \"{direction}\"\nloop = \"{kind}\"\nshare = \"{share}\"\n{keys}\n"
            );
            if is_sequential {
                let _ = writeln!(text, "places = \"{kind}\"");
            }
        }
    }
    text
}

/// A matrix, and where it is stored.
#[derive(Debug)]
pub struct Measuring<'a> {
    several: &'a Several<'a>,
    orion: Orion,
    matrix: Matrix,
    attempts: Attempts<Place>,
    dir: PathBuf,
}

impl<'a> Measuring<'a> {
    /// Begins in `dir`, or continues the matrix that an earlier call left there. `places` are what is run, in this order.
    pub fn begin_or_resume(
        several: &'a Several<'a>,
        orion: Orion,
        places: Vec<Place>,
        dir: &Path,
        resumed: bool,
    ) -> Result<Measuring<'a>, Failure> {
        let fresh = Matrix {
            schema: SCHEMA,
            workload: several.plan.name.clone(),
            targets: several.names.clone(),
            devices: Vec::new(),
            disks: orion.disks,
            writes: orion.writes,
            sequential: orion.sequential,
            seed: several.plan.load.seed,
            plan_blake3: several.plan_sum.clone(),
            run_ns: several.plan.timing.measured_length().as_ns(),
            watermarks: Vec::new(),
            asked: places,
            points: Vec::new(),
            aside: Aside::default(),
        };
        results::check_replaceable(dir, &[FILE, PAGE])?;
        let matrix = if resumed { read_earlier(dir, &fresh, several)? } else { fresh };
        let attempts = Attempts::new(AfterFailure::GoOn);
        let mut measuring = Measuring { several, orion, matrix, attempts, dir: dir.to_path_buf() };
        runner::add_earlier_runs(several, &mut measuring, dir)?;
        Ok(measuring)
    }

    /// The number of points that are left to measure.
    pub fn points_left(&self) -> usize {
        self.attempts.count_open_places(&self.matrix.asked)
    }

    /// Measures the points that are left, or until no further run is made.
    pub fn run_matrix(mut self, observer: &mut dyn Observer) -> Result<Matrix, Failure> {
        let (several, dir) = (self.several, self.dir.clone());
        runner::carry_out(several, &mut self, &dir, observer)?;
        Ok(self.matrix)
    }

    /// Puts a run among the points if it is the one that decides there.
    fn add_decisive_run(&mut self, place: Place, directory: &str, made: &FinishedRun) {
        if self.attempts.deciding_run(&place).is_some_and(|run| run.directory == directory) {
            self.matrix.add_run(place, &made.judgement, directory.to_owned());
        }
        self.matrix.aside = self.attempts.failed_and_repeated_runs();
    }
}

impl Series for Measuring<'_> {
    type Place = Place;

    fn next(&self) -> Option<Place> {
        self.attempts.next_of(&self.matrix.asked)
    }

    fn plan_run(&self, several: &Several<'_>, place: &Place) -> Result<PlannedRun, Failure> {
        Ok(PlannedRun {
            name: name_of(*place),
            title: format!("{} small, {} large", place.small, place.large),
            workload: self.orion.workload_at(*place)?,
            pace: several.run_pace().clone(),
            load: Multiple::ONE,
            seed: self.matrix.seed,
        })
    }

    fn known_runs(&self) -> Vec<(Place, Evidence)> {
        self.matrix.known_runs().collect()
    }

    fn known_failures(&self) -> Vec<Evidence> {
        self.matrix.aside.failures.clone()
    }

    fn place_of(&self, made: &FinishedRun) -> Option<Place> {
        runner::place_named(&self.matrix.asked, &made.evidence.directory, |place| name_of(*place))
    }

    /// A point that the generator distorted proves nothing, though its run passed.
    fn evidence_of(&self, place: &Place, made: &FinishedRun) -> Evidence {
        let Point { verdict, reason, .. } = Point::from_judgement(*place, &made.judgement, String::new());
        if made.evidence.shows_not_held() {
            made.evidence.clone()
        } else {
            Evidence { verdict, reason, ..made.evidence.clone() }
        }
    }

    fn add_earlier_run(&mut self, place: Option<Place>, evidence: Evidence, made: Option<&FinishedRun>) {
        let directory = evidence.directory.clone();
        self.attempts.add_earlier_run(place, evidence);
        if let (Some(place), Some(made)) = (place, made) {
            self.add_decisive_run(place, &directory, made);
        }
        self.matrix.aside = self.attempts.failed_and_repeated_runs();
    }

    fn observe_run(&mut self, place: Place, evidence: Evidence, made: &FinishedRun, observer: &mut dyn Observer) {
        observer.say_line(&in_words(&Point::from_judgement(place, &made.judgement, String::new())));
        let directory = evidence.directory.clone();
        self.attempts.add_run(place, evidence);
        self.add_decisive_run(place, &directory, made);
    }

    fn write_document(&self) -> Result<(), Failure> {
        write_document(&self.dir.join(FILE), &self.matrix)
    }
}

/// The matrix that an earlier call left, which must belong to the same task.
fn read_earlier(dir: &Path, ours: &Matrix, several: &Several<'_>) -> Result<Matrix, Failure> {
    read_document(&dir.join(FILE), |kept: &Matrix| {
        several.is_of_same_task(&kept.workload, &kept.targets, kept.run_ns, Some(&kept.plan_blake3), kept.seed)
            && kept.asked == ours.asked
    })
}

/// Name of the directory of a point.
fn name_of(place: Place) -> String {
    format!("small-{:03}-large-{:03}", place.small, place.large)
}

/// A point in one line.
fn in_words(point: &Point) -> String {
    let Place { small, large } = point.place;
    let figures = [
        point.small.map(|figures| figure_for_kind("small", figures)),
        point.large.map(|figures| figure_for_kind("large", figures)),
    ];
    let figures: Vec<String> = figures.into_iter().flatten().collect();
    format!("{small} small, {large} large in flight: {} {}", point.verdict, figures.join(", "))
}

fn figure_for_kind(kind: &str, figures: Figures) -> String {
    format!("{kind} {:.1}/s at {}", figures.rate, Span::from_ns(figures.mean_ns).human_text())
}
