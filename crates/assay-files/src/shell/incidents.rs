//! The first failures of a phase as events, which say what failed on which file. All failures are counted.

use super::tree::OpenTree;
use crate::script::Call;
use assay_base::{Code, Instant};
use assay_record::{Event, EventKind};
use std::collections::BTreeMap;

/// So many failures of a phase become events.
const MOST: usize = 50;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Incidents {
    told: usize,
    waiting: Vec<Event>,
}

impl Incidents {
    /// A call has failed.
    pub(super) fn note_failure(&mut self, tree: &OpenTree, call: &Call, code: Code, at: Instant) {
        if self.told >= MOST {
            return;
        }
        self.told += 1;
        let (operation, name) = (call.operation, tree.shown(call.target, call.kind));
        let mut details = BTreeMap::from([("target".to_owned(), "0".to_owned()), ("file".to_owned(), name.clone())]);
        details.insert("operation".to_owned(), operation.to_string());
        if call.operation.moves_bytes() {
            details.insert("offset".to_owned(), call.offset.to_string());
        }
        let is_damage = Code::DAMAGE.contains(&code);
        let what = if is_damage { EventKind::Damage } else { EventKind::IoError };
        if !is_damage {
            details.insert("errno".to_owned(), code.0.to_string());
        }
        let text = match code {
            Code::LOST => format!("{operation} of {name}: what must be there is lost"),
            Code::FOREIGN => format!("{operation} of {name}: something that this run did not make is there"),
            code => format!("{operation} of {name} failed: {code}"),
        };
        self.waiting.push(Event { at_ns: at.as_ns(), what, text, details });
    }

    /// A call of a thread of a server on the file of this name has failed.
    pub(super) fn note_failed_call(&mut self, call: &'static str, name: &str, offset: u64, code: Code, at: Instant) {
        if self.told >= MOST {
            return;
        }
        self.told += 1;
        let facts = [("target", "0".to_owned()), ("file", name.to_owned()), ("operation", call.to_owned())];
        let mut details: BTreeMap<String, String> =
            facts.into_iter().map(|(key, fact)| (key.to_owned(), fact)).collect();
        details.insert("offset".to_owned(), offset.to_string());
        details.insert("errno".to_owned(), code.0.to_string());
        let text = format!("{call} of {name} failed: {code}");
        self.waiting.push(Event { at_ns: at.as_ns(), what: EventKind::IoError, text, details });
    }

    /// Events since the last call.
    pub(super) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.waiting)
    }
}
