//! Which calls do not return: a warning after a second, stuck after half a minute, given up after two minutes.

use super::desk::OpenCall;
use assay_base::{Instant, Span};

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Then a reader of the log is told.
    pub warning: Span,
    /// Then it counts as stuck.
    pub stuck: Span,
    /// Then nobody waits any longer, and the run ends.
    pub given_up: Span,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { warning: Span::from_secs(1), stuck: Span::from_secs(30), given_up: Span::from_secs(120) }
    }
}

/// How late a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lateness {
    /// It takes less long than that.
    Patient,
    /// A reader of the log is told.
    Warning,
    /// It counts as stuck.
    Stuck,
    /// Nobody waits any longer.
    GivenUp,
}

impl Patience {
    /// How late a call is that was issued then.
    pub(super) fn lateness(&self, issued: Instant, now: Instant) -> Lateness {
        let open = now.since(issued);
        if open >= self.given_up {
            Lateness::GivenUp
        } else if open >= self.stuck {
            Lateness::Stuck
        } else if open >= self.warning {
            Lateness::Warning
        } else {
            Lateness::Patient
        }
    }
}

/// What is new about the call of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// It has become this late.
    Late(OpenCall, Lateness),
    /// A call that was stuck has returned.
    Returned(OpenCall),
}

/// The late call of each client, as far as it was told.
#[derive(Debug)]
pub(super) struct OverdueCalls {
    patience: Patience,
    told: Vec<Option<(OpenCall, Lateness)>>,
}

impl OverdueCalls {
    pub(super) fn new(patience: Patience, clients: usize) -> OverdueCalls {
        OverdueCalls { patience, told: vec![None; clients] }
    }

    /// Takes the call in which a client is, and says what is new about it.
    pub(super) fn observe(&mut self, client: usize, call: Option<OpenCall>, now: Instant) -> Option<News> {
        let told = self.told[client];
        if let Some((before, lateness)) = told
            && call.is_none_or(|call| call.number != before.number)
        {
            self.told[client] = None;
            return (lateness >= Lateness::Stuck).then_some(News::Returned(before));
        }
        let call = call?;
        let lateness = self.patience.lateness(call.issued, now);
        if lateness <= told.map_or(Lateness::Patient, |(_, lateness)| lateness) {
            return None;
        }
        self.told[client] = Some((call, lateness));
        Some(News::Late(call, lateness))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::files::Operation;

    #[test]
    fn each_step_is_told_once_and_a_return_only_after_stuck() {
        let mut overdue = OverdueCalls::new(Patience::default(), 2);
        let call =
            |number| Some(OpenCall { operation: Operation::Stat.name(), flow: None, number, issued: Instant::ZERO });
        let seconds = |s| Instant::ZERO + Span::from_secs(s);
        let late = |number, lateness| Some(News::Late(call(number).unwrap(), lateness));
        for (client, call, at, expected) in [
            (0, None, 0, None),
            (0, call(1), 0, None),
            (0, call(1), 1, late(1, Lateness::Warning)),
            (0, call(1), 29, None),
            (1, call(7), 2, late(7, Lateness::Warning)),
            (1, None, 3, None),
            (0, call(1), 30, late(1, Lateness::Stuck)),
            (0, call(1), 119, None),
            (0, call(1), 121, late(1, Lateness::GivenUp)),
            (0, call(2), 122, Some(News::Returned(call(1).unwrap()))),
            (0, call(2), 130, late(2, Lateness::GivenUp)),
        ] {
            assert_eq!(overdue.observe(client, call, seconds(at)), expected, "{client} at {at} s");
        }
    }
}
