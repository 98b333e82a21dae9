//! What events told about a database after the run: its settings, and what its checks found.

use crate::judgement::DatabaseFigures;
use assay_record::{DatabaseHead, Event, EventKind};
use std::collections::BTreeMap;

/// Collects over one step.
#[derive(Debug, Default)]
pub(crate) struct DatabaseFold {
    settings: Option<BTreeMap<String, String>>,
    checked: Option<String>,
    broken: u64,
    /// Whether the open segment tells how its check went.
    told: bool,
}

impl DatabaseFold {
    /// Keeps what an event tells.
    pub(crate) fn event(&mut self, event: &Event) {
        match event.what {
            EventKind::Settings => self.settings = Some(event.details.clone()),
            EventKind::Checked => {
                let before = self.checked.take().map(|text| text + "; ").unwrap_or_default();
                self.checked = Some(before + &event.text);
            }
            EventKind::ConditionBroken => self.broken += 1,
            EventKind::Unchecked => {}
            _ => return,
        }
        self.told |= event.what != EventKind::Settings;
    }

    /// Continues with another segment: what was found before says nothing about what is written now.
    pub(crate) fn resume(&mut self) {
        let broken = self.broken;
        *self = DatabaseFold { broken, ..DatabaseFold::default() };
    }

    /// Whether the segment that was read last tells how its check went.
    pub(crate) fn tells_of_check(&self) -> bool {
        self.told
    }

    /// The figures; `None` where the target was no database. A condition that was broken once stays so.
    pub(crate) fn finish(&mut self, head: Option<Box<DatabaseHead>>) -> Option<DatabaseFigures> {
        let places = |n: u64| format!("conditions are broken in {n} place{}", if n == 1 { "" } else { "s" });
        let checked = if self.broken > 0 { Some(places(self.broken)) } else { self.checked.take() };
        Some(DatabaseFigures { head: *head?, settings_at_end: self.settings.take(), checked })
    }
}
