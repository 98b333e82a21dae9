//! What a run shows while it goes on, on standard error: a live block on a terminal, a plain line a minute elsewhere.
//! No colour is used, so NO_COLOR has nothing to switch off.

use crate::failure::tell;
use crate::header;
use assay_base::{Instant, Span};
use assay_device::clock::Clock;
use assay_model::{PhaseKind, Plan};
use assay_record::{Event, Interval, Thresholds, Timing};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Between plain lines.
const PLAIN_EVERY: Span = Span::from_secs(60);
/// Problems shown as they happen; more are only counted.
const EVENTS_SHOWN: u32 = 5;

/// The display of one command.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    clock: Clock,
    quiet: bool,
    title: String,
    run: Option<Running>,
    told: Option<Instant>,
    events: u32,
    /// Thousandths of a stretch that are done, for someone else's display.
    shared: Option<Arc<AtomicU64>>,
}

/// What is known of the run that is shown.
#[derive(Debug)]
struct Running {
    thresholds: Thresholds,
    total: Span,
    phases: Vec<(Span, String)>,
}

impl Progress {
    /// `quiet`: nothing is shown at all.
    pub fn new(quiet: bool) -> Progress {
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
            told: None,
            events: 0,
            shared: None,
        }
    }

    /// Shows nothing, and leaves the thousandths that are done in `shared`.
    pub fn shared(shared: Arc<AtomicU64>) -> Progress {
        Progress { shared: Some(shared), ..Progress::new(true) }
    }

    /// A line that stays.
    pub fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell(text)),
            None if !self.quiet => tell(text),
            None => {}
        }
    }

    /// What the next run is called.
    pub fn title(&mut self, title: &str) {
        self.title = title.to_owned();
    }

    /// A run begins.
    pub fn start(&mut self, plan: &Plan) {
        let mut end = Span::ZERO;
        let phases = plan.phases.iter().map(|phase| {
            end = end + phase.span;
            let what = if phase.kind == PhaseKind::WarmUp { "warming up" } else { "measuring" };
            (end, what.to_owned())
        });
        let phases = phases.collect();
        let thresholds = header::thresholds(plan);
        self.run = Some(Running { thresholds, total: plan.length(), phases });
        self.told = Some(self.clock.now());
        let what = format!("{}: {} at {} for {}", self.title, plan.name, plan.load, plan.length());
        self.say(what.trim_start_matches(": "));
    }

    /// An interval has ended.
    pub fn interval(&mut self, plan: &Plan, interval: &Interval) {
        let Some(run) = &self.run else { return };
        let text = run.line(plan, interval);
        if let Some(bar) = &self.bar {
            let done = run.done(plan, interval).as_ns().min(run.total.as_ns());
            bar.set_length(run.total.as_ns().max(1));
            bar.set_position(done);
            bar.set_prefix(run.phase(plan, interval));
            let left = Span::from_secs(run.total.as_ns().saturating_sub(done) / 1_000_000_000);
            bar.set_message(format!("{} left  {text}", left.human()));
            return;
        }
        let now = self.clock.now();
        if !self.quiet && self.told.is_none_or(|told| now.since(told) >= PLAIN_EVERY) {
            self.told = Some(now);
            let left = run.total.saturating_sub(run.done(plan, interval));
            self.say(&format!("{}, {} left; {text}", run.phase(plan, interval), left.human()));
        }
    }

    /// Moves the display between intervals.
    pub fn tick(&self) {
        if let Some(bar) = &self.bar {
            bar.tick();
        }
    }

    /// Something happened that the user should see at once.
    pub fn event(&mut self, event: &Event) {
        self.events += 1;
        if self.events <= EVENTS_SHOWN || event.what == "target-lost" || event.what == "lag-stop" {
            self.say(&format!("{}: {}", event.what, event.text));
        } else if self.events == EVENTS_SHOWN + 1 {
            self.say("more such events are in the run log");
        }
    }

    /// A stretch of writing or reading that is counted in bytes.
    pub fn bytes(&mut self, what: &str, done: u64, total: u64, since: Instant) {
        if let Some(shared) = &self.shared {
            shared.store((u128::from(done) * 1000 / u128::from(total.max(1))) as u64, Ordering::Relaxed);
        }
        let now = self.clock.now();
        let rate = done as f64 / now.since(since).as_secs_f64().max(1e-9);
        let left = Span::from_ns(((total - done.min(total)) as f64 / rate.max(1.0) * 1e9) as u64);
        let size = |n: u64| assay_base::Bytes::new(n).human();
        let text = format!("{} of {}, {}/s, {} left", size(done), size(total), size(rate as u64), left.human());
        if let Some(bar) = &self.bar {
            bar.set_length(total.max(1));
            bar.set_position(done.min(total));
            bar.set_prefix(what.to_owned());
            bar.set_message(text);
        } else if !self.quiet && now.since(*self.told.get_or_insert(now)) >= PLAIN_EVERY {
            self.told = Some(now);
            self.say(&format!("{what}: {text}"));
        }
    }

    /// The present on the display's own time line.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// The run is over; the display goes away.
    pub fn finish(&mut self) {
        if let Some(bar) = &self.bar {
            bar.set_message("");
            bar.finish_and_clear();
            bar.reset();
        }
        self.run = None;
    }
}

fn style() -> ProgressStyle {
    let template = "{prefix:12} [{bar:40}] {percent:>3}%\n  {wide_msg}";
    ProgressStyle::with_template(template)
        .map_or_else(|_| ProgressStyle::default_bar(), |style| style.progress_chars("=> "))
}

impl Running {
    /// Planned time that has passed with the interval.
    fn done(&self, plan: &Plan, interval: &Interval) -> Span {
        let intervals = interval.index + 1;
        Span::from_ns(plan.interval.as_ns().saturating_mul(intervals))
    }

    fn phase(&self, plan: &Plan, interval: &Interval) -> String {
        if self.done(plan, interval) > self.total {
            return "draining".into();
        }
        self.phases.get(usize::from(interval.phase)).map_or_else(String::new, |(_, what)| what.clone())
    }

    /// Asked and achieved rate, the first stream's 99th percentile and share over its smallest threshold, lag.
    fn line(&self, plan: &Plan, interval: &Interval) -> String {
        let seconds = Span::from_ns(interval.end_ns.saturating_sub(interval.start_ns)).as_secs_f64().max(1e-9);
        let sum = |of: fn(&assay_record::FlowInterval) -> u64| interval.flows.iter().map(of).sum::<u64>();
        let mut text =
            format!("{:.0}/s of {:.0}/s", sum(|f| f.ok) as f64 / seconds, sum(|f| f.scheduled) as f64 / seconds);
        let name =
            plan.criteria.first().map_or_else(|| plan.streams[0].name.clone(), |criterion| criterion.stream.clone());
        let stream = plan.streams.iter().position(|stream| stream.name == name).unwrap_or(0);
        let targets = usize::from(plan.targets);
        let flows = &interval.flows
            [(stream * targets).min(interval.flows.len())..((stream + 1) * targets).min(interval.flows.len())];
        let counts = |of: fn(&assay_record::FlowInterval) -> &Timing| {
            let mut dense = vec![0; self.thresholds.buckets()];
            for flow in flows {
                Timing::add_to(&of(flow).counts, &mut dense).expect("our own counts are within our own buckets");
            }
            dense
        };
        let (response, lag) = (counts(|f| &f.response), counts(|f| &f.lag));
        if let Some(p99) = self.p99(&response) {
            text += &format!("  {name} p99 <= {}", p99.human());
        }
        let threshold =
            plan.criteria.iter().filter(|c| c.stream == name).filter_map(assay_base::Criterion::threshold).min();
        if let Some((threshold, over)) = threshold.and_then(|t| Some((t, self.thresholds.over(&response, t)?))) {
            let all: u64 = response.iter().sum();
            if all > 0 {
                text += &format!("  over {threshold}: {:.2} %", over as f64 * 100.0 / all as f64);
            }
        }
        if let Some(p99) = self.p99(&lag) {
            text += &format!("  lag p99 <= {}", p99.human());
        }
        let failed: u64 = interval.flows.iter().map(|flow| flow.failed() + flow.short).sum();
        if failed > 0 {
            text += &format!("  FAILED {failed}");
        }
        text
    }

    /// The boundary below which 99 % lie.
    fn p99(&self, counts: &[u64]) -> Option<Span> {
        let all: u64 = counts.iter().sum();
        let rank = all - all / 100;
        let mut below = 0;
        let bucket = counts.iter().position(|n| {
            below += n;
            below >= rank
        })?;
        (all > 0).then(|| Span::from_ns(self.thresholds.bounds().get(bucket).copied().unwrap_or(u64::MAX)))
    }
}
