//! What happened at a moment: events in the order of the log, and interruptions after which the run continued.

use crate::fold::placement::Placement;
use crate::judgement::Gap;
use assay_record::Event;

/// Number of events kept.
const EVENTS: usize = 1000;

/// The events of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    /// The first ones.
    pub(crate) kept: Vec<Event>,
    /// How many more there were.
    pub(crate) left_out: u64,
    /// Interruptions after which the run continued.
    pub(crate) gaps: Vec<Gap>,
    /// Events from this index on still have times on the run's time line, not in measured time.
    unplaced: usize,
}

impl Events {
    /// Keeps an event.
    pub(crate) fn keep_event(&mut self, event: Event) {
        if self.kept.len() < EVENTS {
            self.kept.push(event);
        } else {
            self.left_out += 1;
        }
    }

    /// Converts the times of events from the run's time line to measured time. The line of an interval follows its
    /// events, so that interval gives their place.
    pub(crate) fn place_events(&mut self, placement: &Placement) {
        for event in &mut self.kept[self.unplaced..] {
            event.at_ns = placement.place_event(event);
        }
        self.unplaced = self.kept.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_events_are_kept_and_the_others_are_counted() {
        let mut events = Events::default();
        for at_ns in 0..1003 {
            events.keep_event(Event { at_ns, what: "stuck".into(), text: String::new(), details: Default::default() });
        }
        assert_eq!((events.kept.len(), events.kept[999].at_ns, events.left_out), (1000, 999, 3));
    }
}
