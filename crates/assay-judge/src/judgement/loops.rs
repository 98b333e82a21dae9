//! The closed loops of a step: where their operations were, on average, over all measured time.

use crate::words::{loop_streams_text, percent_text};
use serde::{Deserialize, Serialize};

/// One closed loop. Its parts are averages over the measured time, in operations: together they are what was asked for in
/// flight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoopFigures {
    /// Its streams.
    pub streams: Vec<String>,
    /// Its target; absent where it goes to several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// What was asked for in flight.
    pub in_flight_asked: u64,
    /// Rate × mean response.
    pub in_flight: f64,
    /// Rate × mean service: handed over and not yet completed.
    pub on_target: f64,
    /// Held back by the kernel, which took no more, before they could be handed over.
    pub held_back: f64,
    /// Slots that the generator left without an operation, between a completion and the next hand-over.
    pub left_idle: f64,
    /// Slots that paused, as the workload says.
    pub paused: f64,
    /// The share of the slots' time for which the generator left one without an operation for a millisecond or more: the
    /// largest of any slice.
    pub idle_share_max: f64,
}

impl LoopFigures {
    /// The figures in one line.
    pub(crate) fn in_words(&self) -> String {
        let mut parts = vec![format!("{} on the target", number_text(self.on_target))];
        for (operations, words) in [
            (self.held_back, "held back by the kernel"),
            (self.left_idle, "left idle by the test machine"),
            (self.paused, "paused"),
        ] {
            // A thousandth of what was asked for is nothing to speak of.
            if operations * 1000.0 >= self.in_flight_asked as f64 {
                parts.push(format!("{} {words}", number_text(operations)));
            }
        }
        let names: Vec<&str> = self.streams.iter().map(String::as_str).collect();
        let streams = loop_streams_text(&names);
        let on = self.target.as_ref().map(|target| format!(" on {target}")).unwrap_or_default();
        let idle = match self.idle_share_max {
            share if share >= 0.0001 => {
                format!("; up to {} of a slice idle for 1 ms or more at once", percent_text(share))
            }
            _ => String::new(),
        };
        format!("closed loop {streams}{on}, {} in flight: {}{idle}", self.in_flight_asked, parts.join(", "))
    }
}

fn number_text(operations: f64) -> String {
    if operations < 10.0 { format!("{operations:.2}") } else { format!("{operations:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_nothing_to_speak_of_are_left_out() {
        let deep = LoopFigures {
            streams: vec!["reads".into()],
            target: None,
            in_flight_asked: 512,
            in_flight: 511.9,
            on_target: 255.26,
            held_back: 256.2,
            left_idle: 0.44,
            paused: 0.0,
            idle_share_max: 0.0,
        };
        let words = "closed loop reads, 512 in flight: 255.3 on the target, 256.2 held back by the kernel";
        assert_eq!(deep.in_words(), words);
        let users = LoopFigures {
            streams: vec!["a".into(), "b".into()],
            target: Some("disk".into()),
            in_flight_asked: 50,
            on_target: 5.0,
            held_back: 0.0,
            left_idle: 0.06,
            paused: 44.94,
            idle_share_max: 0.0123,
            ..deep
        };
        let words = "closed loop a and b on disk, 50 in flight: 5.00 on the target, 0.06 left idle by the test machine, 44.9 \
                     paused; up to 1.23% of a slice idle for 1 ms or more at once";
        assert_eq!(users.in_words(), words);
        let many = LoopFigures { streams: ["a", "b", "c", "d", "e"].map(String::from).into(), ..users };
        assert!(
            many.in_words().starts_with("closed loop a, b, c and 2 more on disk, 50 in flight"),
            "{}",
            many.in_words()
        );
    }
}
