//! The outcome of a warm-up that was to last until the load is steady.

use assay_record::{Event, EventKind, Header};

/// Observes one segment.
#[derive(Clone, Debug)]
pub(crate) struct WarmUp {
    /// `None` where no phase waits, or after the outcome was taken.
    waited: Option<Waited>,
}

#[derive(Clone, Debug)]
enum Waited {
    Untold,
    Steady,
    Not(String),
}

impl WarmUp {
    /// Begins a segment.
    pub(crate) fn new(header: &Header) -> WarmUp {
        let waits = header.phases.iter().any(|phase| phase.steady_round_ns.is_some());
        WarmUp { waited: waits.then_some(Waited::Untold) }
    }

    /// Takes an event; other kinds of events change nothing.
    pub(crate) fn take_event(&mut self, event: &Event) {
        let Some(waited) = &mut self.waited else { return };
        match event.what {
            EventKind::Steady => *waited = Waited::Steady,
            EventKind::NotSteady => *waited = Waited::Not(event.text.clone()),
            _ => {}
        }
    }

    /// Why the following phase was measured without a steady load, where it was; returned only once.
    pub(crate) fn take_failure(&mut self) -> Option<String> {
        match self.waited.take()? {
            Waited::Steady => None,
            Waited::Not(why) => Some(why),
            Waited::Untold => Some("the log does not say that it was".to_owned()),
        }
    }
}
