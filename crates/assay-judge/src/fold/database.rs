//! What events told about databases after the run: their settings, and what their checks found.

use crate::judgement::DatabaseFigures;
use assay_record::{DatabaseHead, Event, EventKind};
use std::collections::BTreeMap;

/// The detail of an event that says which target it is about; the first one where it is absent.
const TARGET: &str = "target";

/// What was found of the databases of one step, in the order of the targets.
#[derive(Debug)]
pub(crate) struct Databases(Vec<Found>);

/// What was found of one database.
#[derive(Clone, Debug, Default)]
struct Found {
    settings: Option<BTreeMap<String, String>>,
    checked: Option<String>,
    broken: u64,
    /// Whether the open segment tells how its check went.
    told: bool,
}

impl Databases {
    /// For so many databases.
    pub(crate) fn new(count: usize) -> Databases {
        Databases(vec![Found::default(); count])
    }

    /// Keeps what an event tells.
    pub(crate) fn event(&mut self, event: &Event) {
        let target = event.details.get(TARGET).map_or(Some(0), |target| target.parse().ok());
        if let Some(found) = target.and_then(|target: usize| self.0.get_mut(target)) {
            found.event(event);
        }
    }

    /// Continues with another segment: what was found before says nothing about what is written now. A condition that
    /// was broken once stays so.
    pub(crate) fn resume(&mut self) {
        for found in &mut self.0 {
            *found = Found { broken: found.broken, ..Found::default() };
        }
    }

    /// Whether the segment that was read last tells how the check of a database went.
    pub(crate) fn tells_of_check(&self, target: usize) -> bool {
        self.0.get(target).is_some_and(|found| found.told)
    }

    /// The figures, with what the header says.
    pub(crate) fn finish(&mut self, heads: Vec<DatabaseHead>) -> Vec<DatabaseFigures> {
        heads.into_iter().zip(std::mem::take(&mut self.0)).map(|(head, found)| found.finish(head)).collect()
    }
}

impl Found {
    fn event(&mut self, event: &Event) {
        match event.what {
            EventKind::Settings => {
                let own = event.details.iter().filter(|(name, _)| *name != TARGET);
                self.settings = Some(own.map(|(name, value)| (name.clone(), value.clone())).collect());
            }
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

    fn finish(self, head: DatabaseHead) -> DatabaseFigures {
        let places = |n: u64| format!("conditions are broken in {n} place{}", if n == 1 { "" } else { "s" });
        // It stands beside the name of the database, which an event carries where there are several.
        let named = format!("{}: ", head.url);
        let checked = self.checked.map(|text| text.replace(&named, ""));
        let checked = if self.broken > 0 { Some(places(self.broken)) } else { checked };
        DatabaseFigures { head, settings_at_end: self.settings, checked }
    }
}
