//! Several workers report the beginning or the end of a stream, each for its part: this merges their reports into one
//! event.

use assay_record::{Event, EventKind};
use std::collections::BTreeMap;

/// The reports so far.
#[derive(Debug, Default)]
pub(crate) struct StreamEvents {
    /// For each flow: how many workers have reported its end, and their merged report.
    ends: BTreeMap<String, (u64, Event)>,
    /// The flows whose beginning was reported.
    begun: Vec<String>,
}

impl StreamEvents {
    /// Takes an event. Returns it, or the event that several reports were merged into, or nothing while reports are
    /// missing.
    pub(crate) fn merge_event(&mut self, mut event: Event) -> Option<Event> {
        if !matches!(event.what, EventKind::StreamBegin | EventKind::StreamEnd) {
            return Some(event);
        }
        // The report of a single worker is complete.
        let Some(workers) = event.details.remove("workers").and_then(|n| n.parse::<u64>().ok()) else {
            return Some(event);
        };
        let flow = event.details.get("flow").cloned().unwrap_or_default();
        if event.what == EventKind::StreamBegin {
            let first = !self.begun.contains(&flow);
            self.begun.extend(first.then_some(flow));
            return first.then_some(event);
        }
        let (reports, all) = match self.ends.remove(&flow) {
            None => (1, event),
            Some((reports, before)) => (reports + 1, merge_ends(before, &event)),
        };
        if reports >= workers {
            return Some(all);
        }
        self.ends.insert(flow, (reports, all));
        None
    }
}

/// Merges the ends of two parts of a stream.
fn merge_ends(one: Event, other: &Event) -> Event {
    let operations = detail_number(&one, "operations") + detail_number(other, "operations");
    let completed = detail_number(&one, "completed_ns").max(detail_number(other, "completed_ns"));
    let text = if is_by_time(&one) && is_by_time(other) {
        format!("a stream has ended at its time, after {operations} operations")
    } else {
        format!("a stream has done its {operations} operations")
    };
    let mut details = one.details;
    details.insert("operations".to_owned(), operations.to_string());
    details.insert("completed_ns".to_owned(), completed.to_string());
    Event { at_ns: one.at_ns.max(other.at_ns), text, details, ..one }
}

/// A number among the details of an event; 0 if it has none of this name.
fn detail_number(event: &Event, name: &str) -> u64 {
    event.details.get(name).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0)
}

/// Whether a stream ended because its time was over.
fn is_by_time(event: &Event) -> bool {
    event.text.contains("at its time")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(what: EventKind, at_ns: u64, details: &[(&str, &str)]) -> Event {
        let details = details.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Event { at_ns, what, text: "a stream has done its 3 operations".to_owned(), details }
    }

    #[test]
    fn the_parts_of_all_workers_are_one_event() {
        let mut events = StreamEvents::default();
        let part = |at: u64, operations: &str, completed: &str| {
            let details = [("flow", "1"), ("workers", "2"), ("operations", operations), ("completed_ns", completed)];
            event(EventKind::StreamEnd, at, &details)
        };
        assert_eq!(events.merge_event(part(9, "3", "8")), None);
        let all = events.merge_event(part(7, "4", "6")).unwrap();
        assert_eq!((all.at_ns, all.text.as_str()), (9, "a stream has done its 7 operations"));
        assert_eq!((all.details["completed_ns"].as_str(), all.details.get("workers")), ("8", None));
        let begin = event(EventKind::StreamBegin, 5, &[("flow", "1"), ("workers", "2")]);
        assert!(events.merge_event(begin.clone()).is_some() && events.merge_event(begin).is_none(), "it begins once");
        let single = event(EventKind::StreamEnd, 5, &[("flow", "0")]);
        assert_eq!(events.merge_event(single.clone()), Some(single));
    }
}
