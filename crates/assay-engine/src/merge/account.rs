//! What the log of a run contains so far, and what its closing line says about it. It gets every interval and event on
//! the way to the log.

use crate::merge::settle::{Settled, Settling};
use crate::merge::stream_events::StreamEvents;
use crate::rules::Totals;
use assay_base::Instant;
use assay_model::Plan;
use assay_record::{Close, CloseReason, Event, FlowHead, FlowInterval, Header, Interval};

/// The account of one run.
#[derive(Debug)]
pub struct Account {
    intervals: u64,
    written: Totals,
    /// Decides when the warm-up ends, where it waits for a steady state.
    settling: Option<Settling>,
    phase_end: Option<Instant>,
    /// The names of each flow, and the flow whose schedule fell behind, if one did.
    flows: Vec<String>,
    lagged: Option<String>,
    stream_events: StreamEvents,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// The reason, as one word.
    pub reason: CloseReason,
    /// The panic message of a worker that died, or the reason why an early end was requested.
    pub why: Option<String>,
    /// The time of the end, on the run's time line.
    pub at: Instant,
    /// The sums that the workers reported; `None` if one of them could not report any: then only the intervals are
    /// known.
    pub totals: Option<Totals>,
}

/// The name of a flow: its stream and its target.
fn flow_name(header: &Header, flow: &FlowHead) -> String {
    let (stream, target) = (usize::from(flow.stream), usize::from(flow.target));
    format!("{} on {}", header.streams[stream].name, header.targets[target].name)
}

impl Account {
    /// The account of a run of `plan` whose log begins with `header`.
    pub fn new(plan: &Plan, header: &Header) -> Account {
        Account {
            intervals: 0,
            written: Totals::default(),
            settling: Settling::new(plan),
            phase_end: None,
            flows: header.flows.iter().map(|flow| flow_name(header, flow)).collect(),
            lagged: None,
            stream_events: StreamEvents::default(),
        }
    }

    /// Takes an interval; returns the event that follows it, if it decides a warm-up that waits.
    pub fn receive_interval(&mut self, interval: &Interval) -> Option<Event> {
        self.intervals += 1;
        self.written.issued += interval.flows.iter().map(|flow| flow.issued).sum::<u64>();
        self.written.completed += interval.flows.iter().map(FlowInterval::ended_operations).sum::<u64>();
        self.written.stuck = interval.flows.iter().map(|flow| flow.stuck).sum::<u64>();
        let Settled { end, event } = self.settling.as_mut()?.receive_interval(interval)?;
        self.phase_end = end;
        Some(event)
    }

    /// Takes an event; returns what goes to the log. Reports of several workers about the beginning or the end of a stream become one event.
    pub fn receive_event(&mut self, event: Event) -> Option<Event> {
        if event.what == "lag-stop" && self.lagged.is_none() {
            let flow = event.details.get("flow").and_then(|flow| flow.parse::<usize>().ok());
            self.lagged = flow.and_then(|flow| self.flows.get(flow).cloned());
        }
        self.stream_events.merge_event(event)
    }

    /// When the phase that waits ends, once that is decided.
    pub fn phase_end(&self) -> Option<Instant> {
        self.phase_end
    }

    /// The closing line of a run that ended this way.
    pub fn closing_line(&self, ending: &Ending) -> Close {
        let why = ending.why.as_deref();
        let text = match ending.reason {
            CloseReason::Completed => "all phases ran to their end",
            CloseReason::Interrupted => why.unwrap_or("a signal asked for the end"),
            CloseReason::DeviceLag => &self.describe_backlog("the device"),
            CloseReason::GeneratorLag => &self.describe_backlog("the test machine"),
            CloseReason::TargetLost => "a target was lost",
            CloseReason::LogFailed => "the log could not be kept",
            CloseReason::EngineFailed => why.unwrap_or("the engine could not submit"),
        };
        let Totals { issued, completed, stuck } = ending.totals.unwrap_or(self.written);
        Close {
            reason: ending.reason,
            at_ns: ending.at.as_ns(),
            text: text.to_owned(),
            intervals: self.intervals,
            issued,
            completed,
            stuck,
        }
    }

    /// Which flow fell behind, and who caused it.
    fn describe_backlog(&self, who: &str) -> String {
        let what = self.lagged.as_deref().unwrap_or("the load");
        format!("{who} did not keep up with {what} within the time that the workload allows (max_lag)")
    }
}
