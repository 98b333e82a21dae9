//! What a run shows while it runs, on standard error: a live block on a terminal, otherwise a plain line per minute. No
//! colour is used, so NO_COLOR needs no support.

mod running;

use crate::live_page::{PageBesideRun, ServingProcess};
use crate::screen::{print_to_stderr, without_control_characters};
use crate::terminal;
use assay_base::{Bytes, Instant, Span};
use assay_device::clock::Clock;
use assay_record::{Event, EventKind, Header, Interval, PART};
use assay_run::failure::one_line;
use assay_run::observer::Observer;
use running::{READING_BACK, Running};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Time between two plain lines.
const PLAIN_EVERY: Span = Span::from_secs(60);
/// Time between two drawings of the live block.
const DRAW_EVERY: Span = Span::from_ms(200);
/// Number of problems shown as they happen; further ones are only counted.
const EVENTS_SHOWN: u32 = 5;
/// Columns of the bar at most, and of what stands beside it.
const BAR: usize = 40;
const BESIDE_BAR: usize = 20;

/// The display of one command.
#[derive(Debug)]
pub(crate) struct Progress {
    has_block: bool,
    clock: Clock,
    quiet: bool,
    title: String,
    run: Option<Running>,
    last_line_at: Option<Instant>,
    last_drawn_at: Option<Instant>,
    events: u32,
    /// The text behind the reason when a failure is certain; empty for a run that is one of many.
    failure_note: Option<&'static str>,
    /// Whether the verdict of the run that is shown is certain to be FAIL.
    fails: bool,
    /// Thousandths that are done, for a display elsewhere.
    shared: Option<Arc<AtomicU64>>,
    page: Page,
}

/// The page of the run for browsers.
#[derive(Debug)]
enum Page {
    /// Nobody asked for one.
    None,
    /// It is served as soon as there is a directory.
    Waits(Box<PageBesideRun>),
    /// A process serves it.
    Served(#[allow(dead_code, reason = "kept as long as the run goes on")] ServingProcess),
}

/// The progress of a stage.
struct StageProgress<'a> {
    name: &'a str,
    done: u64,
    total: u64,
    /// Its figures, the most important first: the last is left out if a line has no room.
    figures: Vec<String>,
}

impl Progress {
    /// `quiet`: shows nothing at all.
    pub(crate) fn new(quiet: bool) -> Progress {
        Progress {
            has_block: !quiet && terminal::has_block(),
            clock: Clock::start(),
            quiet,
            title: String::new(),
            run: None,
            last_line_at: None,
            last_drawn_at: None,
            events: 0,
            failure_note: None,
            fails: false,
            shared: None,
            page: Page::None,
        }
    }

    /// The same with a page for browsers, where one is asked for.
    pub(crate) fn with_page(mut self, page: Option<PageBesideRun>) -> Progress {
        self.page = page.map_or(Page::None, |page| Page::Waits(Box::new(page)));
        self
    }

    /// For a single run, whose certain failure is news; `note` is said behind its reason.
    pub(crate) fn for_one_run(note: &'static str) -> Progress {
        let mut progress = Progress::new(false);
        progress.failure_note = Some(note);
        progress
    }

    /// Shows nothing, and stores the progress in `shared`, in thousandths.
    pub(crate) fn into_shared(shared: Arc<AtomicU64>) -> Progress {
        let mut progress = Progress::new(true);
        progress.shared = Some(shared);
        progress
    }

    fn show_stage(&mut self, stage: &StageProgress<'_>) {
        if self.has_block {
            self.draw_stage(stage);
        } else if !self.quiet {
            self.say_each_minute(stage);
        }
    }

    fn draw_stage(&mut self, stage: &StageProgress<'_>) {
        let now = self.clock.now();
        if self.last_drawn_at.is_some_and(|at| now.since(at) < DRAW_EVERY) {
            return;
        }
        self.last_drawn_at = Some(now);
        terminal::draw_block(&block_lines(stage, terminal::columns_of_block()));
    }

    fn say_each_minute(&mut self, stage: &StageProgress<'_>) {
        let now = self.clock.now();
        if now.since(*self.last_line_at.get_or_insert(now)) < PLAIN_EVERY {
            return;
        }
        self.last_line_at = Some(now);
        self.say_line(&format!("{}: {}", stage.name, stage.figures.join(", ")));
    }
}

/// The two lines of the block.
fn block_lines(stage: &StageProgress<'_>, columns: usize) -> [String; 2] {
    let width = columns.saturating_sub(BESIDE_BAR).min(BAR);
    let total = stage.total.max(1);
    let done = part_of(width, stage.done, total);
    let head = if done < width { ">" } else { "" };
    let bar = format!("{}{head}", "=".repeat(done));
    let first = format!("{:12} [{bar:width$}] {:>3}%", stage.name, part_of(100, stage.done, total));
    [first, format!("  {}", as_many_as_fit(&stage.figures, columns.saturating_sub(2)))]
}

/// The part of `whole` that `done` is of `total`.
fn part_of(whole: usize, done: u64, total: u64) -> usize {
    (u128::from(done.min(total)) * whole as u128 / u128::from(total)) as usize
}

/// The first of the figures, as many as stand in one line; the very first always.
fn as_many_as_fit(figures: &[String], columns: usize) -> String {
    let mut line = String::new();
    for figure in figures.iter().map(|figure| without_control_characters(&one_line(figure))) {
        if !line.is_empty() && line.chars().count() + 2 + figure.chars().count() > columns {
            break;
        }
        line = if line.is_empty() { figure } else { format!("{line}  {figure}") };
    }
    line
}

impl Observer for Progress {
    fn say_line(&self, text: &str) {
        if !self.quiet {
            print_to_stderr(text);
        }
    }

    fn begin_directory(&mut self, dir: &Path) {
        self.page = match std::mem::replace(&mut self.page, Page::None) {
            Page::Waits(page) => (*page).serve_directory(dir).map_or(Page::None, Page::Served),
            other => other,
        };
    }

    fn begin_part(&mut self, title: &str) {
        self.title = title.to_owned();
    }

    fn begin_run(&mut self, head: &Header) {
        let run = Running::new(head);
        let what = format!("{}: {} at {} for {}", self.title, head.name, head.load, run.planned_time());
        self.run = Some(run);
        self.last_line_at = Some(self.clock.now());
        self.say_line(&one_line(what.trim_start_matches(": ")));
    }

    fn interval_ended(&mut self, interval: &Interval) {
        let Some(run) = &mut self.run else { return };
        run.observe_interval(interval);
        let name = run.phase_name(interval);
        let stage = if name == READING_BACK {
            let (done, total) = (run.read_back, run.written);
            StageProgress {
                name,
                done,
                total,
                figures: vec![format!("{} of at most {}", human_bytes(done), human_bytes(total))],
            }
        } else {
            let (done, total) = (run.time_done(interval), run.planned_time());
            let left = format!("{} left", in_whole_seconds(total.saturating_sub(done)).human_text());
            let fails = self.fails.then(|| "FAIL is certain".to_owned());
            let figures = fails.into_iter().chain([left]).chain(run.interval_figures(interval)).collect();
            StageProgress { name, done: done.as_ns(), total: total.as_ns(), figures }
        };
        self.show_stage(&stage);
    }

    fn fails_for_certain(&mut self, why: &str) {
        self.fails = true;
        if let Some(note) = self.failure_note {
            self.say_line(&one_line(format_args!("FAIL is certain: {why}{note}")));
        }
    }

    fn show_event(&mut self, event: &Event) {
        // Only recorded, not shown.
        let recorded = [
            EventKind::Health,
            EventKind::StreamBegin,
            EventKind::StreamEnd,
            EventKind::Settings,
            // Who joins the ranks has said it already, at once.
            EventKind::RankSilent,
            EventKind::RankLost,
        ];
        if recorded.contains(&event.what) {
            return;
        }
        if event.what == EventKind::Mark {
            let part = event.details.get(PART).map_or("", String::as_str);
            return self.say_line(&one_line(format_args!("mark: {} (the {part} part begins)", event.text)));
        }
        self.events += 1;
        let always =
            matches!(event.what, EventKind::TargetLost | EventKind::LagStop | EventKind::Steady | EventKind::NotSteady)
                || matches!(
                    event.what,
                    EventKind::Checked | EventKind::Disturbed | EventKind::Unchecked | EventKind::Watermark
                );
        if self.events <= EVENTS_SHOWN || always {
            self.say_line(&one_line(format_args!("{}: {}", event.what, event.text)));
        } else if self.events == EVENTS_SHOWN + 1 {
            self.say_line("more such events are in the run log");
        }
    }

    fn bytes_done(&mut self, what: &str, done: u64, total: u64, took: Span) {
        if let Some(shared) = &self.shared {
            shared.store((u128::from(done) * 1000 / u128::from(total.max(1))) as u64, Ordering::Relaxed);
        }
        let rate = done as f64 / took.as_secs_f64().max(1e-9);
        let left = Span::from_ns(((total - done.min(total)) as f64 / rate.max(1.0) * 1e9) as u64);
        let written = format!("{} of {}", human_bytes(done), human_bytes(total));
        let figures = if done >= total {
            vec![written, "the device writes what it still holds, and samples are read back".to_owned()]
        } else {
            vec![written, format!("{}/s", human_bytes(rate as u64)), format!("{} left", left.human_text())]
        };
        self.show_stage(&StageProgress { name: what, done, total, figures });
    }

    fn rows_done(&mut self, done: u64, total: u64, found: u64, took: Span) {
        let rate = (done - found.min(done)) as f64 / took.as_secs_f64().max(1e-9);
        let left = Span::from_ns(((total - done.min(total)) as f64 / rate.max(1.0) * 1e9) as u64);
        let left = if done >= total {
            Some("indexes are made, and the rows are counted".to_owned())
        } else {
            (done > found).then(|| format!("{} left", left.human_text()))
        };
        let figures = [format!("{done} of {total} rows"), format!("{rate:.0}/s")].into_iter().chain(left).collect();
        self.show_stage(&StageProgress { name: "loading", done, total, figures });
    }

    fn finish_part(&mut self) {
        if self.has_block {
            terminal::remove_block();
        }
        self.last_drawn_at = None;
        (self.run, self.fails) = (None, false);
    }

    fn warn_user(&self, line: &str) {
        print_to_stderr(line);
    }
}

/// A run that ended with an error leaves no block behind.
impl Drop for Progress {
    fn drop(&mut self) {
        self.finish_part();
    }
}

fn human_bytes(bytes: u64) -> String {
    Bytes::new(bytes).human_text()
}

fn in_whole_seconds(span: Span) -> Span {
    Span::from_secs(span.as_ns() / 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(done: u64) -> StageProgress<'static> {
        let figures = ["1min left", "lag p99 <= 64 µs", "20000/s of 20000/s", "reads p99 <= 128 µs"];
        StageProgress { name: "measuring", done, total: 100, figures: figures.map(str::to_owned).to_vec() }
    }

    #[test]
    fn a_narrow_block_leaves_out_whole_figures_from_the_end() {
        for (columns, expected) in [
            (75, "  1min left  lag p99 <= 64 µs  20000/s of 20000/s  reads p99 <= 128 µs"),
            (60, "  1min left  lag p99 <= 64 µs  20000/s of 20000/s"),
            (30, "  1min left  lag p99 <= 64 µs"),
            (3, "  1min left"),
        ] {
            assert_eq!(block_lines(&stage(34), columns)[1], expected, "{columns}");
        }
    }

    #[test]
    fn a_bar_grows_with_what_is_done() {
        for (done, columns, expected) in [
            (0, 30, "measuring    [>         ]   0%"),
            (34, 30, "measuring    [===>      ]  34%"),
            (99, 30, "measuring    [=========>]  99%"),
            (100, 30, "measuring    [==========] 100%"),
            (250, 30, "measuring    [==========] 100%"),
            (50, 10, "measuring    []  50%"),
        ] {
            assert_eq!(block_lines(&stage(done), columns)[0], expected, "{done} of 100 in {columns}");
        }
    }
}
