//! What a run left in its directory, as events of the log.

use super::protocol::{Compared, RunEnd};
use assay_base::{Bytes, Instant};
use assay_record::{Event, EventKind};
use std::collections::BTreeMap;

/// So many faults become events of their own; the others are counted.
const MOST_NAMED: usize = 50;

/// The events that say what the comparison and the cleaning found.
pub(super) fn events_of_end(end: &RunEnd, now: Instant) -> Vec<Event> {
    let mut events = Vec::new();
    if let Some(compared) = &end.compared {
        events.extend(events_of_comparison(compared, now));
    }
    if let Some(left) = &end.left {
        events.push(event(EventKind::Warning, left.clone(), now));
    }
    events
}

fn events_of_comparison(compared: &Compared, now: Instant) -> Vec<Event> {
    let Compared { names, bytes, unsure, counts, faults } = compared;
    let bytes = Bytes::new(*bytes).human_text();
    if counts.is_empty() {
        let text =
            format!("{names} names and {bytes} were compared with what was written: all is there and as it must be");
        let mut events = vec![event(EventKind::Checked, text, now)];
        if *unsure > 0 {
            let text =
                format!("{unsure} names were not compared: calls on them failed, and what they are is not known");
            events.push(event(EventKind::Warning, text, now));
        }
        return events;
    }
    let found: Vec<String> = counts.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    let text = format!("of {names} names and {bytes} that were compared with what was written, {}", found.join(", "));
    let mut events = vec![event(EventKind::ConditionBroken, text, now)];
    for fault in faults.iter().take(MOST_NAMED) {
        events.push(event(EventKind::ConditionBroken, fault.clone(), now));
    }
    events
}

/// An event about the directory of the run.
pub(super) fn event(what: EventKind, text: String, now: Instant) -> Event {
    Event { at_ns: now.as_ns(), what, text, details: BTreeMap::from([("target".to_owned(), "0".to_owned())]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(end: &RunEnd) -> Vec<EventKind> {
        events_of_end(end, Instant::ZERO).into_iter().map(|event| event.what).collect()
    }

    #[test]
    fn a_fault_breaks_a_condition_and_a_sound_tree_is_checked() {
        let sound = Compared { names: 10, bytes: 4096, ..Compared::default() };
        let end = |compared| RunEnd { compared, left: None };
        assert!(kinds(&end(None)).is_empty());
        assert_eq!(kinds(&end(Some(sound.clone()))), [EventKind::Checked]);
        let unsure = Compared { unsure: 2, ..sound.clone() };
        assert_eq!(kinds(&end(Some(unsure))), [EventKind::Checked, EventKind::Warning]);
        let counts = BTreeMap::from([("lost".to_owned(), 70)]);
        let faults = (0..70).map(|number| format!("f{number} is lost")).collect();
        let lost = events_of_end(&end(Some(Compared { counts, faults, ..sound })), Instant::ZERO);
        assert_eq!(lost.len(), 1 + MOST_NAMED);
        assert!(lost.iter().all(|event| event.what == EventKind::ConditionBroken));
        assert!(lost[0].text.ends_with("70 lost"), "{}", lost[0].text);
    }
}
