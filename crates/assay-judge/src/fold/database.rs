//! What events tell about databases after the run: their settings, and what their checks found.

use crate::judgement::{DatabaseFigures, MeterFigures};
use assay_base::text::counted_things;
use assay_record::{DatabaseHead, Event, EventKind};
use std::collections::{BTreeMap, BTreeSet};

/// The detail of an event that says which target it is about; the first one where it is absent.
const TARGET: &str = "target";
/// The kind of a meter that reads what a server counts, and its counter of commits.
const SERVER: &str = "server";
const COMMITS: &str = "commits";

/// What was found of the databases of one step, in the order of the targets.
#[derive(Clone, Debug)]
pub(crate) struct Databases(Vec<DatabaseState>);

/// What was found of one database.
#[derive(Clone, Debug, Default)]
struct DatabaseState {
    settings: Option<BTreeMap<String, String>>,
    checked: Option<String>,
    broken: u64,
    /// Whether the open segment was cut short, and nobody else had written until then.
    undisturbed: bool,
    /// Whether the open segment tells how its check went.
    tells_of_check: bool,
}

impl Databases {
    /// For so many databases.
    pub(crate) fn new(count: usize) -> Databases {
        Databases(vec![DatabaseState::default(); count])
    }

    /// Keeps what an event tells.
    pub(crate) fn take_event(&mut self, event: &Event) {
        let target = event.details.get(TARGET).map_or(Some(0), |target| target.parse().ok());
        if let Some(found) = target.and_then(|target: usize| self.0.get_mut(target)) {
            found.take_event(event);
        }
    }

    /// Continues with another segment: what was found before says nothing about what is written now. A condition that
    /// was broken once stays so.
    pub(crate) fn continue_with_segment(&mut self) {
        for found in &mut self.0 {
            *found = DatabaseState { broken: found.broken, ..DatabaseState::default() };
        }
    }

    /// Whether the segment that was read last tells how the check of a database went.
    pub(crate) fn tells_of_check(&self, target: usize) -> bool {
        self.0.get(target).is_some_and(|found| found.tells_of_check)
    }

    /// Whether the segment that was read last says what was found when a database was looked at after it.
    pub(crate) fn was_compared(&self, target: usize) -> bool {
        self.0.get(target).is_some_and(|found| found.undisturbed || found.checked.is_some() || found.broken > 0)
    }

    /// The figures, with what the header says, and what the servers counted.
    pub(crate) fn finish(&mut self, heads: Vec<DatabaseHead>, meters: &[MeterFigures]) -> Vec<DatabaseFigures> {
        let found = std::mem::take(&mut self.0);
        let mut all: Vec<DatabaseFigures> =
            heads.into_iter().zip(found).map(|(head, found)| found.finish(head)).collect();
        let dialects: BTreeSet<String> = all.iter().map(|figures| figures.head.dialect.clone()).collect();
        for dialect in dialects {
            let servers: Vec<&MeterFigures> =
                meters.iter().filter(|meter| meter.head.kind == SERVER && meter.head.name == dialect).collect();
            let own: Vec<&mut DatabaseFigures> =
                all.iter_mut().filter(|figures| figures.head.dialect == dialect).collect();
            // A server that could not be asked has no meter: then nobody knows which is whose.
            if servers.len() == own.len() {
                own.into_iter().zip(servers).for_each(|(own, server)| own.server_tpm = per_minute(server));
            }
        }
        all
    }
}

/// Commits per minute.
fn per_minute(server: &MeterFigures) -> Option<f64> {
    let at = server.head.counters.iter().position(|name| name == COMMITS)?;
    server.mean_figure(at).map(|per_second| per_second * 60.0)
}

impl DatabaseState {
    fn take_event(&mut self, event: &Event) {
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
            EventKind::Undisturbed => {
                self.undisturbed = true;
                return;
            }
            EventKind::Unchecked => {}
            _ => return,
        }
        self.tells_of_check |= event.what != EventKind::Settings;
    }

    fn finish(self, head: DatabaseHead) -> DatabaseFigures {
        // It stands beside the name of the database, which an event carries where there are several.
        let named = format!("{}: ", head.url);
        let checked = self.checked.map(|text| text.replace(&named, ""));
        let checked = if self.broken > 0 { Some(broken_in_places(self.broken)) } else { checked };
        DatabaseFigures { head, settings_at_end: self.settings, checked, server_tpm: None }
    }
}

/// The number of places in which conditions are broken, in words.
fn broken_in_places(n: u64) -> String {
    format!("conditions are broken in {}", counted_things(n, "place"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_record::MeterHead;

    fn head(dialect: &str) -> DatabaseHead {
        DatabaseHead { dialect: dialect.into(), ..DatabaseHead::default() }
    }

    fn meter(name: &str, kind: &str, commits: u64) -> MeterFigures {
        let counters = vec!["log_bytes".into(), "commits".into()];
        let head = MeterHead { name: name.into(), kind: kind.into(), counters, ..MeterHead::default() };
        MeterFigures { head, counted: vec![7, commits], read_ns: 2_000_000_000, ..MeterFigures::default() }
    }

    #[test]
    fn what_a_server_counted_goes_to_its_own_database() {
        let meters = [meter("pg", "server", 10), meter("vda", "disk", 99), meter("pg", "server", 20)];
        let counted = |dialects: &[&str], meters: &[MeterFigures]| {
            let heads = dialects.iter().map(|it| head(it)).collect();
            let all = Databases::new(dialects.len()).finish(heads, meters);
            all.iter().map(|it| it.server_tpm).collect::<Vec<_>>()
        };
        assert_eq!(counted(&["pg", "file", "pg"], &meters), [Some(300.0), None, Some(600.0)]);
        assert_eq!(counted(&["pg", "pg"], &meters[..1]), [None, None], "which of them is not known");
        let unread = MeterFigures { read_ns: 0, ..meter("pg", "server", 0) };
        assert_eq!(counted(&["pg"], &[unread]), [None]);
    }
}
