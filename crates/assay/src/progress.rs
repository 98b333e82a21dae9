//! What a run shows while it runs, on standard error: a live block on a terminal, otherwise a plain line per minute. No
//! colour is used, so NO_COLOR needs no support.

use crate::screen::tell;
use assay_base::{Bytes, Direction, Instant, Span};
use assay_device::clock::Clock;
use assay_model::plan::READ_BACK;
use assay_record::{Event, EventKind, FlowInterval, Header, Interval, PhaseKind, Thresholds, Timing};
use assay_run::failure::one_line;
use assay_run::observer::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Name of the phase after the measured ones.
const READING_BACK: &str = "reading back";
/// Time between two plain lines.
const PLAIN_EVERY: Span = Span::from_secs(60);
/// Number of problems shown as they happen; further ones are only counted.
const EVENTS_SHOWN: u32 = 5;

/// The display of one command.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    clock: Clock,
    quiet: bool,
    title: String,
    run: Option<Running>,
    last_line_at: Option<Instant>,
    events: u32,
    /// Thousandths that are done, for a display elsewhere.
    shared: Option<Arc<AtomicU64>>,
}

/// What is known about the run that is shown.
#[derive(Debug)]
struct Running {
    head: Header,
    thresholds: Thresholds,
    total: Span,
    phases: Vec<(Span, String)>,
    /// Bytes written, and read back, so far.
    written: u64,
    read_back: u64,
}

impl Progress {
    /// `quiet`: shows nothing at all.
    pub(crate) fn new(quiet: bool) -> Progress {
        let live = !quiet && std::io::stderr().is_terminal();
        let bar = live.then(|| {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(4));
            bar.set_style(style());
            bar
        });
        Progress {
            bar,
            clock: Clock::start(),
            quiet,
            title: String::new(),
            run: None,
            last_line_at: None,
            events: 0,
            shared: None,
        }
    }

    /// Shows nothing, and stores the progress in `shared`, in thousandths.
    pub(crate) fn shared(shared: Arc<AtomicU64>) -> Progress {
        Progress { shared: Some(shared), ..Progress::new(true) }
    }

    /// Shows progress that is not counted in time.
    fn stretch(&mut self, what: &str, done: u64, total: u64, text: &str) {
        let now = self.clock.now();
        if let Some(bar) = &self.bar {
            bar.set_length(total.max(1));
            bar.set_position(done.min(total));
            bar.set_prefix(what.to_owned());
            bar.set_message(text.to_owned());
        } else if !self.quiet && now.since(*self.last_line_at.get_or_insert(now)) >= PLAIN_EVERY {
            self.last_line_at = Some(now);
            self.say(&format!("{what}: {text}"));
        }
    }
}

impl Observer for Progress {
    fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell(text)),
            None if !self.quiet => tell(text),
            None => {}
        }
    }

    fn title(&mut self, title: &str) {
        self.title = title.to_owned();
    }

    fn start(&mut self, head: &Header) {
        let mut end = Span::ZERO;
        let phases = head.phases.iter().map(|phase| {
            end = end + Span::from_ns(phase.span_ns);
            let what = match phase.kind {
                _ if phase.name == READ_BACK => READING_BACK,
                PhaseKind::WarmUp => "warming up",
                PhaseKind::Measure => "measuring",
            };
            (end, what.to_owned())
        });
        let phases: Vec<_> = phases.collect();
        let total = end;
        let thresholds = Thresholds::from_bounds(head.thresholds_ns.clone());
        self.run = Some(Running { head: head.clone(), thresholds, total, phases, written: 0, read_back: 0 });
        self.last_line_at = Some(self.clock.now());
        let what = format!("{}: {} at {} for {total}", self.title, head.name, head.load);
        self.say(&one_line(what.trim_start_matches(": ")));
    }

    fn interval(&mut self, interval: &Interval) {
        let Some(run) = &mut self.run else { return };
        run.count(interval);
        run.catch_up(interval);
        if run.phase(interval) == READING_BACK {
            let (done, most) = (run.read_back, run.written);
            return self.stretch(READING_BACK, done, most, &format!("{} of at most {}", human(done), human(most)));
        }
        let text = run.line(interval);
        if let Some(bar) = &self.bar {
            let done = run.done(interval).as_ns().min(run.total.as_ns());
            bar.set_length(run.total.as_ns().max(1));
            bar.set_position(done);
            bar.set_prefix(run.phase(interval));
            let left = Span::from_secs(run.total.as_ns().saturating_sub(done) / 1_000_000_000);
            bar.set_message(format!("{} left  {text}", left.human()));
            return;
        }
        let now = self.clock.now();
        if !self.quiet && self.last_line_at.is_none_or(|at| now.since(at) >= PLAIN_EVERY) {
            self.last_line_at = Some(now);
            let left = run.total.saturating_sub(run.done(interval));
            let line = format!("{}, {} left; {text}", run.phase(interval), left.human());
            self.say(&line);
        }
    }

    fn tick(&self) {
        if let Some(bar) = &self.bar {
            bar.tick();
        }
    }

    fn event(&mut self, event: &Event) {
        // Only recorded, not shown.
        let recorded = [EventKind::Health, EventKind::StreamBegin, EventKind::StreamEnd, EventKind::Settings];
        if recorded.contains(&event.what) {
            return;
        }
        self.events += 1;
        let always =
            matches!(event.what, EventKind::TargetLost | EventKind::LagStop | EventKind::Steady | EventKind::NotSteady)
                || matches!(
                    event.what,
                    EventKind::Checked | EventKind::Disturbed | EventKind::Unchecked | EventKind::Watermark
                );
        if self.events <= EVENTS_SHOWN || always {
            self.say(&one_line(format_args!("{}: {}", event.what, event.text)));
        } else if self.events == EVENTS_SHOWN + 1 {
            self.say("more such events are in the run log");
        }
    }

    fn bytes(&mut self, what: &str, done: u64, total: u64, took: Span) {
        if let Some(shared) = &self.shared {
            shared.store((u128::from(done) * 1000 / u128::from(total.max(1))) as u64, Ordering::Relaxed);
        }
        let rate = done as f64 / took.as_secs_f64().max(1e-9);
        let left = Span::from_ns(((total - done.min(total)) as f64 / rate.max(1.0) * 1e9) as u64);
        let text = format!("{} of {}, {}/s, {} left", human(done), human(total), human(rate as u64), left.human());
        self.stretch(what, done, total, &text);
    }

    fn rows(&mut self, done: u64, total: u64, found: u64, took: Span) {
        let rate = (done - found.min(done)) as f64 / took.as_secs_f64().max(1e-9);
        let left = Span::from_ns(((total - done.min(total)) as f64 / rate.max(1.0) * 1e9) as u64);
        let left = if done > found { format!(", {} left", left.human()) } else { String::new() };
        self.stretch("loading", done, total, &format!("{done} of {total} rows, {rate:.0}/s{left}"));
    }

    fn finish(&mut self) {
        if let Some(bar) = &self.bar {
            bar.set_message("");
            bar.finish_and_clear();
            bar.reset();
        }
        self.run = None;
    }

    fn warn(&self, line: &str) {
        tell(line);
    }
}

fn sum(interval: &Interval, of: impl Fn(&FlowInterval) -> u64) -> u64 {
    interval.flows.iter().map(of).fold(0, u64::saturating_add)
}

fn total(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, n| sum.saturating_add(*n))
}

fn human(bytes: u64) -> String {
    Bytes::new(bytes).human()
}

fn style() -> ProgressStyle {
    let template = "{prefix:12} [{bar:40}] {percent:>3}%\n  {wide_msg}";
    ProgressStyle::with_template(template)
        .map_or_else(|_| ProgressStyle::default_bar(), |style| style.progress_chars("=> "))
}

impl Running {
    /// A phase that waited may have ended before its limit: then less remains.
    fn catch_up(&mut self, interval: &Interval) {
        let before = usize::from(interval.phase).checked_sub(1).and_then(|index| self.phases.get(index));
        let begun = self.done(interval).saturating_sub(Span::from_ns(self.head.interval_ns));
        let early = before.map_or(Span::ZERO, |(planned, _)| planned.saturating_sub(begun));
        if !early.is_zero() {
            self.total = self.total.saturating_sub(early);
            self.phases.iter_mut().for_each(|(end, _)| *end = end.saturating_sub(early));
        }
    }

    /// Planned time that has passed with this interval.
    fn done(&self, interval: &Interval) -> Span {
        let intervals = interval.index + 1;
        Span::from_ns(self.head.interval_ns.saturating_mul(intervals))
    }

    fn count(&mut self, interval: &Interval) {
        let reads_back = self.phases.get(usize::from(interval.phase)).is_some_and(|(_, what)| what == READING_BACK);
        for (head, flow) in self.head.flows.iter().zip(&interval.flows) {
            match self.head.streams.get(usize::from(head.stream)).and_then(|stream| stream.direction) {
                Some(Direction::Write) => self.written = self.written.saturating_add(flow.bytes),
                Some(Direction::Read) if reads_back => self.read_back = self.read_back.saturating_add(flow.bytes),
                _ => {}
            }
        }
    }

    fn phase(&self, interval: &Interval) -> String {
        if let Some((_, what)) = self.phases.get(usize::from(interval.phase)).filter(|(_, what)| what == READING_BACK) {
            return what.clone();
        }
        if self.done(interval) > self.total {
            return "draining".into();
        }
        self.phases.get(usize::from(interval.phase)).map_or_else(String::new, |(_, what)| what.clone())
    }

    /// Text that must not be cut on a narrow terminal comes first: failures and lag; then the asked and the achieved
    /// rate, and the first stream's share over its smallest threshold and its 99th percentile.
    fn line(&self, interval: &Interval) -> String {
        let parts = [self.failed(interval), self.lag(interval), Some(self.rate(interval)), self.over(interval)];
        parts.into_iter().flatten().chain(self.response(interval)).collect::<Vec<_>>().join("  ")
    }

    fn failed(&self, interval: &Interval) -> Option<String> {
        let each = |flow: &FlowInterval| flow.errors.values().fold(flow.short, |sum, n| sum.saturating_add(*n));
        let failed = sum(interval, each);
        (failed > 0).then(|| format!("FAILED {failed}"))
    }

    fn lag(&self, interval: &Interval) -> Option<String> {
        Some(format!("lag p99 <= {}", self.p99(&self.counts(interval, |flow| &flow.lag))?.human()))
    }

    fn rate(&self, interval: &Interval) -> String {
        let seconds = Span::from_ns(interval.end_ns.saturating_sub(interval.start_ns)).as_secs_f64().max(1e-9);
        let rate = |of: fn(&FlowInterval) -> u64| sum(interval, of) as f64 / seconds;
        format!("{:.0}/s of {:.0}/s", rate(|flow| flow.ok), rate(|flow| flow.scheduled))
    }

    fn over(&self, interval: &Interval) -> Option<String> {
        let name = self.first();
        let mine = self.head.criteria.iter().filter(|criterion| criterion.stream == name);
        let threshold = mine.filter_map(assay_base::Criterion::threshold).min()?;
        let response = self.counts(interval, |flow| &flow.response);
        let (over, all) = (self.thresholds.over(&response, threshold)?, total(&response));
        (all > 0).then(|| format!("over {threshold}: {:.2} %", over as f64 * 100.0 / all as f64))
    }

    fn response(&self, interval: &Interval) -> Option<String> {
        let p99 = self.p99(&self.counts(interval, |flow| &flow.response))?;
        Some(format!("{} p99 <= {}", self.first(), p99.human()))
    }

    /// Name of the stream that is shown: that of the first criterion, or the first stream.
    fn first(&self) -> String {
        let first = self.head.streams.first().map(|stream| &stream.name);
        self.head.criteria.first().map(|criterion| &criterion.stream).or(first).cloned().unwrap_or_default()
    }

    /// Counts of the shown stream over all targets.
    fn counts(&self, interval: &Interval, of: fn(&FlowInterval) -> &Timing) -> Vec<u64> {
        let name = self.first();
        let stream = self.head.streams.iter().position(|stream| stream.name == name).unwrap_or(0);
        let mut dense = vec![0; self.thresholds.buckets()];
        let flows = self.head.flows.iter().zip(&interval.flows);
        for (_, flow) in flows.filter(|(head, _)| usize::from(head.stream) == stream) {
            // A log that is followed may contain anything; the judge reports that.
            let _ = Timing::add_to(&of(flow).counts, &mut dense);
        }
        dense
    }

    /// The boundary below which 99 % of the operations lie.
    fn p99(&self, counts: &[u64]) -> Option<Span> {
        let all = total(counts);
        let rank = all - all / 100;
        let mut below = 0u64;
        let bucket = counts.iter().position(|n| {
            below = below.saturating_add(*n);
            below >= rank
        })?;
        (all > 0).then(|| Span::from_ns(self.thresholds.bounds().get(bucket).copied().unwrap_or(u64::MAX)))
    }
}
