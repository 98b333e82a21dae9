//! Records what went wrong: events for the log, up to a limit, and consecutive failures.

use crate::payload::DamageReport;
use crate::rules::Limits;
use assay_base::{Code, Instant, Request};
use assay_record::{Event, EventKind};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A request that an event is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventRequest<R> {
    pub flow: u16,
    pub target: u16,
    pub request: R,
}

/// The events that wait to be written to the log, and the failures of each target.
#[derive(Debug)]
pub(crate) struct Incidents {
    events: Vec<Event>,
    limits: Limits,
    /// Number of events written for single failures.
    reported: u32,
    /// Number of consecutive failures on each target.
    failures: Vec<u32>,
}

impl Incidents {
    pub(crate) fn new(limits: Limits, targets: u16) -> Incidents {
        Incidents { events: Vec::new(), limits, reported: 0, failures: vec![0; usize::from(targets)] }
    }

    /// A request of this target succeeded.
    #[inline(always)]
    pub(crate) fn note_success(&mut self, target: u16) {
        self.failures[usize::from(target)] = 0;
    }

    /// A request failed: returns the number of consecutive failures when it reaches the limit, and only then.
    pub(crate) fn note_failure(&mut self, target: u16) -> Option<u32> {
        let failures = &mut self.failures[usize::from(target)];
        *failures = failures.saturating_add(1);
        (*failures == self.limits.failures_in_a_row).then_some(*failures)
    }

    /// Writes an event.
    pub(crate) fn write_event(
        &mut self,
        now: Instant,
        what: EventKind,
        text: String,
        details: BTreeMap<String, String>,
    ) {
        self.events.push(Event { at_ns: now.as_ns(), what, text, details });
    }

    /// Writes an event about one request, up to the limit; the event that a target is lost is always written. `code`
    /// comes with the name that its device gives it.
    pub(crate) fn write_request_event<R: Request>(
        &mut self,
        now: Instant,
        what: EventKind,
        text: String,
        about: EventRequest<R>,
        code: Option<(Code, Cow<'static, str>)>,
    ) {
        if what != EventKind::TargetLost && self.are_enough() {
            return;
        }
        self.reported += 1;
        let mut details = BTreeMap::from(place_details(about.flow, about.target));
        details.extend(about.request.event_facts().into_iter().map(|(name, fact)| (name.to_owned(), fact)));
        details.extend(code.map(|(code, name)| {
            if code.is_of_the_system() {
                ("errno".to_owned(), code.0.to_string())
            } else {
                ("code".to_owned(), name.into_owned())
            }
        }));
        self.write_event(now, what, text, details);
    }

    /// Writes an event about damaged data, up to the limit.
    pub(crate) fn write_damage_event(
        &mut self,
        now: Instant,
        flow: u16,
        target: u16,
        DamageReport { text, mut details }: DamageReport,
    ) {
        if !self.are_enough() {
            self.reported += 1;
            details.extend(place_details(flow, target));
            self.write_event(now, EventKind::Damage, text, details);
        }
    }

    fn are_enough(&self) -> bool {
        self.reported >= self.limits.failure_events
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Events since the last call.
    pub(crate) fn drain_events(&mut self) -> std::vec::Drain<'_, Event> {
        self.events.drain(..)
    }
}

fn place_details(flow: u16, target: u16) -> [(String, String); 2] {
    [("flow".to_owned(), flow.to_string()), ("target".to_owned(), target.to_string())]
}
