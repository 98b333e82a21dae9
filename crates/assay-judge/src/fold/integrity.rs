//! What was read, compared with what was written: counts over all phases, and the first damaged places.

use crate::judgement::{DamagedPlace, Integrity};
use assay_record::{Event, EventKind, FlowInterval, PlanHead};
use std::collections::BTreeMap;

/// Number of places listed for each target.
const LISTED: usize = 16;
/// Number of places kept, to find out where lost writes went.
const KEPT: usize = 4096;

/// Collects over one step.
#[derive(Clone, Debug, Default)]
pub(crate) struct IntegrityFold {
    verified: u64,
    unverified: u64,
    damaged: u64,
    places: Vec<DamagedPlace>,
}

impl IntegrityFold {
    /// Adds a flow's interval.
    pub(crate) fn add_flow_interval(&mut self, flow: &FlowInterval) {
        self.verified = self.verified.saturating_add(flow.verified);
        self.unverified = self.unverified.saturating_add(flow.unverified);
        self.damaged = self.damaged.saturating_add(flow.damaged);
    }

    /// Keeps a damaged place; ignores other events, and those whose figures are not numbers.
    pub(crate) fn take_event(&mut self, event: &Event, targets: &[String]) {
        if event.what != EventKind::Damage || self.places.len() >= KEPT {
            return;
        }
        self.places.extend(damaged_place(event, targets));
    }

    /// The result; `None` when the plan does not verify.
    pub(crate) fn finish(&self, plan: &PlanHead) -> Option<Integrity> {
        if !plan.verify {
            return None;
        }
        // A run that only seals has nothing to say about the data, unless it has read some.
        let read = self.verified + self.unverified + self.damaged > 0;
        if !read && plan.sealed_only {
            return None;
        }
        // A misdirected write damages two places: where it went, and where it is missing.
        let misdirected = self.places.iter().filter(|place| place.damage == "misdirected");
        let went: BTreeMap<(&str, u64, u64), u64> = misdirected
            .filter_map(|place| {
                Some(((place.target.as_str(), place.found_offset?, place.found_generation?), place.offset))
            })
            .collect();
        let mut listed: BTreeMap<&str, usize> = BTreeMap::new();
        let mut places = Vec::new();
        for place in &self.places {
            let count = listed.entry(&place.target).or_default();
            *count += 1;
            if *count <= LISTED {
                let missed = (place.target.as_str(), place.offset, place.generation);
                let went_to = if place.damage == "misdirected" { None } else { went.get(&missed).copied() };
                places.push(DamagedPlace { went_to, ..place.clone() });
            }
        }
        let (verified_reads, unverified_reads) = (self.verified, self.unverified);
        Some(Integrity { verified_reads, unverified_reads, damaged: self.damaged, places })
    }
}

/// The place that an event of damage reports; `None` where one of its figures is no number.
fn damaged_place(event: &Event, targets: &[String]) -> Option<DamagedPlace> {
    let target = targets.get(usize::try_from(number_in(event, "target")?).ok()?)?;
    Some(DamagedPlace {
        target: target.clone(),
        damage: event.details.get("damage")?.clone(),
        offset: number_in(event, "offset")?,
        bytes: number_in(event, "bytes")?,
        generation: number_in(event, "generation")?,
        found_generation: number_in(event, "found_generation"),
        found_offset: number_in(event, "found_offset"),
        went_to: None,
    })
}

/// A figure of an event.
fn number_in(event: &Event, name: &str) -> Option<u64> {
    event.details.get(name)?.parse::<u64>().ok()
}

impl DamagedPlace {
    /// `lost: 4096 B at 8192 of /dev/sdb, generation 3, found 2; it is at 12288`
    pub fn in_words(&self) -> String {
        let DamagedPlace { target, damage, offset, bytes, generation, .. } = self;
        let mut text = format!("{damage}: {bytes} B at {offset} of {target}, generation {generation}");
        match (self.found_generation, self.found_offset) {
            (Some(found), Some(place)) if place != *offset => text += &format!(", found {found} of {place}"),
            (Some(found), _) => text += &format!(", found {found}"),
            (None, _) => {}
        }
        text + &self.went_to.map_or_else(String::new, |place| format!("; it is at {place}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(damage: &str, offset: &str, generation: &str, found: Option<(&str, &str)>) -> Event {
        let mut details = BTreeMap::from([("damage", damage), ("offset", offset), ("generation", generation)]);
        details.extend([("bytes", "4096"), ("target", "0")]);
        if let Some((generation, offset)) = found {
            details.extend([("found_generation", generation), ("found_offset", offset)]);
        }
        let details = details.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Event { at_ns: 0, what: "damage".into(), text: String::new(), details }
    }

    #[test]
    fn a_lost_write_is_told_where_it_went_and_hostile_events_are_none() {
        let mut fold = IntegrityFold::default();
        let targets = ["disk".to_owned()];
        for event in [
            event("lost", "4096", "2", Some(("1", "4096"))),
            event("misdirected", "8192", "0", Some(("2", "4096"))),
            event("lost", "12288", "1", None),
            event("lost", "-1", "1", None),
            event("lost", "99999999999999999999999", "1", None),
            Event { details: BTreeMap::new(), ..event("lost", "0", "1", None) },
            Event { what: "io-error".into(), ..event("lost", "0", "1", None) },
        ] {
            fold.take_event(&event, &targets);
        }
        assert_eq!(fold.finish(&PlanHead::default()), None, "it was not asked for");
        let verifies = PlanHead { verify: true, ..PlanHead::default() };
        let places = fold.finish(&verifies).unwrap().places;
        let texts: Vec<String> = places.iter().map(DamagedPlace::in_words).collect();
        assert_eq!(
            texts,
            [
                "lost: 4096 B at 4096 of disk, generation 2, found 1; it is at 8192",
                "misdirected: 4096 B at 8192 of disk, generation 0, found 2 of 4096",
                "lost: 4096 B at 12288 of disk, generation 1",
            ]
        );
        (0..100).for_each(|i| fold.take_event(&event("torn", &(i * 4096).to_string(), "1", None), &targets));
        assert_eq!(fold.finish(&verifies).unwrap().places.len(), LISTED);
    }
}
