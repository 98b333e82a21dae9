//! The slices and the windows of the criteria: passes each to the rules when it ends.

use crate::finding::Finding;
use crate::finding::criterion::{CriterionFinding, What};
use crate::finding::flaw::Flaw;
use crate::finding::load::LoadFinding;
use crate::fold::kept::{BROKEN, CameOut, KeptSlices};
use crate::fold::layout::Layout;
use crate::fold::notes::Notes;
use crate::fold::placement::Placed;
use crate::fold::rests::Rests;
use crate::fold::window::{Window, Windows};
use crate::options::Options;
use crate::rules::criterion::{Excuse, Over, Tracker};
use crate::rules::gauge::Unkept;
use crate::rules::load::{LoadTracker, SliceLoad};
use crate::rules::loops;
use crate::rules::own_lag::OwnLag;
use crate::words::human_time;
use assay_base::{Criterion, MarkedPart, Span};
use assay_record::Header;

/// Windows of one length and the criteria judged on them.
#[derive(Clone, Debug)]
pub(crate) struct JudgedWindows {
    /// The windows.
    pub(crate) windows: Windows,
    /// Each with the index of its criterion.
    pub(crate) trackers: Vec<(usize, Tracker)>,
}

/// The stretch of measured time that is judged by itself, and how.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JudgedStretch {
    /// Where it begins.
    pub(crate) begins_ns: u64,
    /// The kind of the part that it is, judged by the criteria that name it; `None` for the whole step, judged by those that must hold
    /// in every part.
    pub(crate) part: Option<MarkedPart>,
    /// Whether each interval is a window, to find out from when on the criteria hold.
    pub(crate) by_interval: bool,
}

impl JudgedStretch {
    fn is_judged_by(self, criterion: &Criterion) -> bool {
        self.part.map_or(criterion.parts.is_every(), |part| criterion.parts.has_part(part))
    }
}

/// A window that was judged: what the course of a part is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenWindow {
    /// Where it begins and ends in measured time.
    pub(crate) start_ns: u64,
    /// See `start_ns`.
    pub(crate) end_ns: u64,
    /// Whether no criterion is broken in it, and the load was delivered.
    pub(crate) within: bool,
}

/// What the criteria found in a window.
#[derive(Clone, Debug)]
struct Found {
    /// Whether every one of them holds.
    within: bool,
    /// Why one of them is unproven, where one is.
    excuse: Option<Excuse>,
    /// Which streams do not keep which bounds.
    unkept: Vec<Unkept>,
}

/// All windows of a step, or of a part of it.
#[derive(Clone, Debug)]
pub(crate) struct Slices {
    /// Number of the step.
    step: u32,
    /// True where no criterion applies.
    pub(crate) stress: bool,
    /// The slices first, then each other length that a criterion asks for.
    pub(crate) judged: Vec<JudgedWindows>,
    /// Whether the load was delivered.
    pub(crate) load: LoadTracker,
    /// How much of the lag was the generator's own.
    pub(crate) own_lag: OwnLag,
    /// The slices that the result lists.
    pub(crate) kept: KeptSlices,
    /// Where the generator let a target rest.
    pub(crate) rests: Rests,
    /// Number of intervals in slices that are complete and valid.
    pub(crate) valid_intervals: u64,
    /// Up to where there was a part in which nobody asks for the load: a slice with a piece of it is not judged.
    unasked_until_ns: u64,
    /// The windows that were judged since they were taken last, where the stretch is a part.
    seen: Vec<SeenWindow>,
    stretch: JudgedStretch,
}

impl Slices {
    /// The state before the first window.
    pub(crate) fn new(
        step: u32,
        header: &Header,
        criteria: &[Criterion],
        options: &Options,
        layout: &Layout,
    ) -> Slices {
        Slices::of_stretch(step, header, criteria, options, JudgedStretch::default(), layout)
    }

    /// The same for a stretch of the step.
    pub(crate) fn of_stretch(
        step: u32,
        header: &Header,
        criteria: &[Criterion],
        options: &Options,
        stretch: JudgedStretch,
        layout: &Layout,
    ) -> Slices {
        let slice_ns = options.slice.map_or(header.slice_ns, Span::as_ns).max(1);
        let slice_ns = if stretch.by_interval { layout.interval_ns } else { slice_ns };
        let stress = header.step.as_ref().is_some_and(|step| step.stress);
        let judged = windows_of(criteria, slice_ns, options, stretch, layout);
        let threshold = layout.times.counted_threshold().filter(|_| !stress);
        Slices {
            step,
            stress,
            load: LoadTracker::new(step, judged[0].windows.planned_windows(), layout),
            own_lag: OwnLag::new(threshold),
            judged,
            kept: KeptSlices::default(),
            rests: Rests::new(layout),
            valid_intervals: 0,
            unasked_until_ns: 0,
            seen: Vec::new(),
            stretch,
        }
    }

    /// The same, from now on as a part of the step that began with it.
    pub(crate) fn as_part(&self, part: MarkedPart) -> Slices {
        let stretch = JudgedStretch { part: Some(part), ..self.stretch };
        Slices { kept: KeptSlices::default(), stretch, ..self.clone() }
    }

    /// Notes that nobody asks for the load in what was measured up to here.
    pub(crate) fn note_unasked(&mut self, until_ns: u64) {
        self.unasked_until_ns = self.unasked_until_ns.max(until_ns);
    }

    /// The windows of a part that were judged since this was called last.
    pub(crate) fn take_seen(&mut self) -> Vec<SeenWindow> {
        std::mem::take(&mut self.seen)
    }

    /// The slices themselves.
    pub(crate) fn windows(&self) -> &Windows {
        &self.judged[0].windows
    }

    /// Notes that something is missing after what was added last.
    pub(crate) fn note_hole(&mut self) {
        self.judged.iter_mut().for_each(|judged| judged.windows.note_hole());
    }

    /// Marks the open windows as invalid, and says why.
    pub(crate) fn spoil_open_windows(&mut self, why: &Flaw) {
        self.judged.iter_mut().for_each(|judged| judged.windows.spoil_open_window(why));
    }

    /// Adds an interval.
    pub(crate) fn add_interval(&mut self, placed: &Placed<'_>, layout: &Layout, notes: &mut Notes) {
        for index in 0..self.judged.len() {
            for window in self.judged[index].windows.add_interval(placed, layout) {
                self.judge_window(index, window, layout, notes);
            }
        }
    }

    /// Continues at `at`, after an interruption at `from`.
    pub(crate) fn resume_after_gap(&mut self, from: u64, at: u64, layout: &Layout, notes: &mut Notes) {
        self.end_held(layout, notes);
        for index in 0..self.judged.len() {
            // The result of a complete window stays valid, even if the same time is measured again.
            if let Some(window) = self.judged[index].windows.close_whole(layout) {
                self.judge_window(index, window, layout, notes);
            }
            if let Some(window) = self.judged[index].windows.resume_after_gap(from, at, layout) {
                self.look_at_cut(index, &window, layout, notes);
            }
        }
    }

    /// The measured time ended as planned, earlier than it could have.
    pub(crate) fn ends_at(&mut self, at_ns: u64) {
        self.judged.iter_mut().for_each(|judged| judged.windows.ends_at(at_ns));
        self.load.set_planned_slices(self.windows().planned_windows());
    }

    /// Ends the windows that wait for the last operations of a stream.
    fn end_held(&mut self, layout: &Layout, notes: &mut Notes) {
        for index in 0..self.judged.len() {
            if let Some(window) = self.judged[index].windows.take_held(layout) {
                self.judge_window(index, window, layout, notes);
            }
        }
    }

    /// Closes the open windows.
    pub(crate) fn close_open_windows(&mut self, layout: &Layout, notes: &mut Notes) {
        self.end_held(layout, notes);
        for index in 0..self.judged.len() {
            if let Some(window) = self.judged[index].windows.close_open_window(layout) {
                self.judge_window(index, window, layout, notes);
            }
        }
    }

    /// What the criteria found in the windows that have ended. In a stress step they do not count.
    pub(crate) fn of_criteria(&self) -> Vec<Finding> {
        let judged = self.judged.iter().filter(|_| !self.stress);
        let of_one = judged.flat_map(|judged| {
            let planned = judged.windows.planned_windows();
            judged.trackers.iter().flat_map(move |(_, tracker)| tracker.findings(planned, self.step))
        });
        of_one.collect()
    }

    fn judge_window(&mut self, index: usize, mut window: Window, layout: &Layout, notes: &mut Notes) {
        let is_slice = index == 0;
        // Windows shorter than a slice are judged with the operations in `forgiven` only: their percentiles mean
        // little.
        if self.judged[index].windows.length_ns() >= self.windows().length_ns() {
            self.own_lag.check_window(&mut window, is_slice, layout);
        }
        loops::check_window(&mut window, layout);
        if is_slice && window.complete && !self.stress {
            self.rests.observe_window(&window, layout, notes);
        }
        if !window.complete && self.look_at_cut(index, &window, layout, notes) {
            return;
        }
        let found = self.observe_criteria(index, &window, layout);
        let mut within = found.within;
        if is_slice && self.unasked_until_ns > window.start_ns {
            self.load.count_slice(&window);
            self.keep_slice(&window, CameOut { within: true, flaw: Some(UNASKED) }, layout);
        } else if is_slice {
            within = self.add_slice(&window, &found, layout);
        } else if let Some(why) = window.invalid.as_ref().filter(|_| window.complete) {
            notes.find_new(LoadFinding::Window(self.judged[index].windows.length_ns(), why.clone()));
        }
        if self.stretch.part.is_some() {
            self.seen.push(SeenWindow { start_ns: window.start_ns, end_ns: window.end_ns, within });
            return;
        }
        // A criterion over the whole run has windows of its own, of which one may be the only slice as well.
        if self.judged[index].windows.length_ns() == self.windows().length_ns() {
            self.kept.mark(&window, &found.unkept, layout);
        }
    }

    /// What the criteria find in a window.
    fn observe_criteria(&mut self, index: usize, window: &Window, layout: &Layout) -> Found {
        let mut found = Found { within: true, excuse: None, unkept: Vec::new() };
        if index > 0 && layout.plan.half_windows && self.judged[index].windows.is_too_short(window) {
            self.judged[index].trackers.iter_mut().for_each(|(_, tracker)| tracker.count_window(window));
            return found;
        }
        for (_, tracker) in &mut self.judged[index].trackers {
            let observed = tracker.judge_window(window, layout);
            // In a stress step no criterion applies, so no slice is over its bound.
            if !self.stress {
                found.within &= observed.holds;
                found.unkept.extend(observed.unkept);
            }
            // That others were at work stands before all else.
            found.excuse = match observed.excuse {
                Some(Excuse::Others) => Some(Excuse::Others),
                excuse => found.excuse.or(excuse),
            };
        }
        found
    }

    /// Judges whether the load was delivered in a slice, and keeps it; returns whether all is within its bounds.
    fn add_slice(&mut self, window: &Window, found: &Found, layout: &Layout) -> bool {
        let seen: SliceLoad = self.load.judge_slice(window, layout);
        let within = found.within && seen.within;
        let flaw = if within && window.invalid.is_none() { flaw_of_slice(&seen, found.excuse, layout) } else { None };
        if window.complete && window.invalid.is_none() && flaw.is_none() && !window.repeated {
            self.valid_intervals += window.intervals;
        }
        self.keep_slice(window, CameOut { within, flaw }, layout);
        within
    }

    fn keep_slice(&mut self, window: &Window, came_out: CameOut, layout: &Layout) {
        // Only those of the whole step are listed.
        if self.stretch.part.is_some() {
            return;
        }
        let usual_ns = self.windows().length_ns();
        self.kept.keep_slice(window, came_out, usual_ns, layout);
    }

    /// A window that was cut short: what it showed remains true. Returns whether it is already broken.
    fn look_at_cut(&mut self, index: usize, window: &Window, layout: &Layout, notes: &mut Notes) -> bool {
        let broken = self.is_broken_already(index, window, layout, notes);
        if broken && index == 0 {
            self.keep_slice(window, BROKEN, layout);
        }
        broken
    }

    /// Whether a window that was cut short broke a criterion, whatever the rest of it would have been. Where it did so
    /// perhaps only because the generator was late, it proves nothing, like a complete window: the run cannot pass by
    /// measuring its time again.
    fn is_broken_already(&mut self, index: usize, window: &Window, layout: &Layout, notes: &mut Notes) -> bool {
        if self.stress {
            return false;
        }
        let held_back = self.own_lag.is_held_back(window, layout);
        let mut broken = false;
        for (_, tracker) in &mut self.judged[index].trackers {
            let figures = tracker.broken_by(window, layout);
            let (disturbed, figures): (Vec<_>, Vec<_>) = figures.into_iter().partition(|figure| figure.others);
            let (late, own): (Vec<_>, Vec<_>) = figures.into_iter().partition(|figure| held_back || figure.generator);
            if !own.is_empty() {
                broken = true;
                tracker.note_cut_window(own, layout);
            } else if let Some(figure) = disturbed.first() {
                let others = tracker.others_in_window(figure, window, layout).unwrap_or_default();
                let what = What::CutBesideOthers(figure.text.clone(), others);
                notes.add_finding(CriterionFinding { criterion: tracker.criterion().clone(), what });
            } else if let Some(figure) = late.first() {
                let what = What::HeldBack(figure.text.clone());
                notes.add_finding(CriterionFinding { criterion: tracker.criterion().clone(), what });
            }
        }
        broken
    }
}

/// The windows that are needed: the slices first, then each other length that a criterion asks for.
fn windows_of(
    criteria: &[Criterion],
    slice_ns: u64,
    options: &Options,
    stretch: JudgedStretch,
    layout: &Layout,
) -> Vec<JudgedWindows> {
    let mut keys = vec![Some(slice_ns.max(layout.interval_ns))];
    let mut judged = vec![no_trackers(keys[0], stretch, layout)];
    for (order, criterion) in criteria.iter().enumerate().filter(|(_, criterion)| stretch.is_judged_by(criterion)) {
        let asked = if stretch.by_interval { Some(slice_ns) } else { criterion.window.map(Span::as_ns) };
        let key = asked.map(|ns| ns.max(layout.interval_ns));
        let index = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
            keys.push(key);
            judged.push(no_trackers(key, stretch, layout));
            judged.len() - 1
        });
        let length = judged[index].windows.length_ns();
        let over = Over { window_ns: length, own: index > 0, note: length_note(asked, length) };
        let criterion = Criterion { measure: options.judge_on.unwrap_or(criterion.measure), ..criterion.clone() };
        judged[index].trackers.push((order, Tracker::new(criterion, over, layout)));
    }
    judged
}

/// Windows of this length, without criteria yet.
fn no_trackers(length: Option<u64>, stretch: JudgedStretch, layout: &Layout) -> JudgedWindows {
    let windows = Windows::beginning_at(stretch.begins_ns, length, layout.planned_ns);
    JudgedWindows { windows, trackers: Vec::new() }
}

/// A note where a criterion is judged over another length than it asks for.
fn length_note(asked: Option<u64>, length: u64) -> Option<String> {
    match asked {
        Some(asked) if asked > length => Some(format!("judged over {}, the whole measured time", human_time(length))),
        Some(asked) if asked < length => Some(format!("judged per {}, the length of an interval", human_time(length))),
        _ => None,
    }
}

/// What is special about a slice with a piece of a part in which nobody asks for the load.
const UNASKED: &str = "no criterion asks for it";

/// Why a slice in which nothing is broken proves nothing; `None` where it does.
fn flaw_of_slice(seen: &SliceLoad, excuse: Option<Excuse>, layout: &Layout) -> Option<&'static str> {
    if seen.others || excuse == Some(Excuse::Others) {
        Some("others used it at the same time")
    } else if !seen.proves {
        Some("the load was not offered")
    } else {
        match excuse? {
            Excuse::Processors => Some("over a bound while processors were too busy"),
            Excuse::TooFew => Some("too few operations"),
            _ if layout.times.lateness => Some("the test machine was too late to prove anything"),
            _ => Some("over a bound only by the test machine's own lag"),
        }
    }
}
