//! Several workers report the beginning or the end of a stream, each for its part: this merges their reports into one
//! event.

use assay_record::{Event, EventKind};
use std::collections::BTreeMap;

/// The reports so far.
#[derive(Debug, Default)]
pub(crate) struct Together {
    /// For each flow: how many workers have reported its end, and their merged report.
    ends: BTreeMap<String, (u64, Event)>,
    /// The flows whose beginning was reported.
    begun: Vec<String>,
}

impl Together {
    /// Takes an event. Returns it, or the event that several reports were merged into, or nothing while reports are
    /// missing.
    pub(crate) fn event(&mut self, mut event: Event) -> Option<Event> {
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
        let (told, all) = match self.ends.remove(&flow) {
            None => (1, event),
            Some((told, before)) => (told + 1, joined(before, &event)),
        };
        if told >= workers {
            return Some(all);
        }
        self.ends.insert(flow, (told, all));
        None
    }
}

/// Merges the ends of two parts of a stream.
fn joined(one: Event, other: &Event) -> Event {
    let number = |event: &Event, name: &str| event.details.get(name).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    let operations = number(&one, "operations") + number(other, "operations");
    let completed = number(&one, "completed_ns").max(number(other, "completed_ns"));
    let by_time = |event: &Event| event.text.contains("at its time");
    let text = match by_time(&one) && by_time(other) {
        true => format!("a stream has ended at its time, after {operations} operations"),
        false => format!("a stream has done its {operations} operations"),
    };
    let mut details = one.details;
    details.insert("operations".to_owned(), operations.to_string());
    details.insert("completed_ns".to_owned(), completed.to_string());
    Event { at_ns: one.at_ns.max(other.at_ns), text, details, ..one }
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
        let mut together = Together::default();
        let part = |at: u64, operations: &str, completed: &str| {
            let details = [("flow", "1"), ("workers", "2"), ("operations", operations), ("completed_ns", completed)];
            event(EventKind::StreamEnd, at, &details)
        };
        assert_eq!(together.event(part(9, "3", "8")), None);
        let all = together.event(part(7, "4", "6")).unwrap();
        assert_eq!((all.at_ns, all.text.as_str()), (9, "a stream has done its 7 operations"));
        assert_eq!((all.details["completed_ns"].as_str(), all.details.get("workers")), ("8", None));
        let begin = event(EventKind::StreamBegin, 5, &[("flow", "1"), ("workers", "2")]);
        assert!(together.event(begin.clone()).is_some() && together.event(begin).is_none(), "it begins once");
        let single = event(EventKind::StreamEnd, 5, &[("flow", "0")]);
        assert_eq!(together.event(single.clone()), Some(single));
    }
}
