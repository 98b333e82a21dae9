//! What a run left in its directory, as events of the log.

use super::protocol::{CacheLook, Compared, RunEnd};
use assay_base::{Bytes, Instant};
use assay_model::files::{CachePolicy, FilesPhase, Operation, Sequence};
use assay_record::{CACHED_SHARE, Event, EventKind};
use std::collections::BTreeMap;

/// So many faults become events of their own; the others are counted.
const MOST_NAMED: usize = 50;

/// At most this share of the pages of files may be in the page cache before reads that should not come from there.
const MOST_CACHED: f64 = 0.1;

/// The event that says where the reads of a phase come from. Reads that the workload wants from the storage, of files that
/// lie in memory, prove nothing about the storage; where nobody knows it, or nothing is read, it is a warning.
pub(super) fn event_of_cache(policy: CachePolicy, reads_files: bool, look: CacheLook, now: Instant) -> Event {
    let is_as_wanted = policy == CachePolicy::Warm || look.share.is_some_and(|share| share <= MOST_CACHED);
    let comes_from_memory = reads_files && policy == CachePolicy::Drop && look.share.is_some();
    let kind = match (is_as_wanted, comes_from_memory) {
        (true, _) => EventKind::Settings,
        (false, true) => EventKind::Disturbed,
        (false, false) => EventKind::Warning,
    };
    let share = look.share.map_or("an unknown share".to_owned(), |share| format!("{:.1}%", share * 100.0));
    let files = look.files;
    let mut text =
        format!("cache = \"{policy}\": before the phase, {share} of the pages of {files} files were in the page cache");
    if kind == EventKind::Disturbed {
        text += ", and its reads are said to come from the storage (at most 10% may be there): somebody else reads these files, or the file system keeps what was dropped";
    }
    let mut event = event(kind, text, now);
    event.details.extend(look.share.map(|share| (CACHED_SHARE.to_owned(), format!("{share:.6}"))));
    event
}

/// Whether a phase reads the bytes of files.
pub(super) fn reads_files(phase: &FilesPhase) -> bool {
    let mut operations = phase.sequences.iter().flat_map(Sequence::operations);
    operations.any(|operation| matches!(operation, Operation::Read | Operation::MmapRead | Operation::CopyRange))
}

/// The events that say what the comparison, where one was asked for, and the cleaning found.
pub(super) fn events_of_end(end: &RunEnd, verify: bool, now: Instant) -> Vec<Event> {
    let mut events = Vec::new();
    match &end.compared {
        Some(compared) => events.extend(events_of_comparison(compared, now)),
        None if verify => {
            let text = "what the run left was not compared with what was written".to_owned();
            events.push(event(EventKind::Unchecked, text, now));
        }
        None => {}
    }
    if let Some(kept) = &end.kept {
        events.push(event(EventKind::Settings, format!("{kept} stays, as --keep says"), now));
    }
    for changed in end.source_changed.iter().take(MOST_NAMED) {
        events.push(event(EventKind::Disturbed, changed.clone(), now));
    }
    if let Some(left) = &end.left {
        events.push(event(EventKind::Warning, left.clone(), now));
    }
    events
}

fn events_of_comparison(compared: &Compared, now: Instant) -> Vec<Event> {
    let Compared { names, bytes, unsure, counts, faults } = compared;
    let bytes = Bytes::new(*bytes).human_text();
    if counts.is_empty() && *names == 0 && *unsure > 0 {
        let text = format!("none of {unsure} names could be compared: calls on all of them failed");
        return vec![event(EventKind::Unchecked, text, now)];
    }
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
        events_of_end(end, true, Instant::ZERO).into_iter().map(|event| event.what).collect()
    }

    #[test]
    fn a_fault_breaks_a_condition_and_a_sound_tree_is_checked() {
        let sound = Compared { names: 10, bytes: 4096, ..Compared::default() };
        let end = |compared| RunEnd { compared, ..RunEnd::default() };
        assert_eq!(kinds(&end(None)), [EventKind::Unchecked]);
        assert!(events_of_end(&end(None), false, Instant::ZERO).is_empty());
        assert_eq!(kinds(&end(Some(sound.clone()))), [EventKind::Checked]);
        let unsure = Compared { unsure: 2, ..sound.clone() };
        assert_eq!(kinds(&end(Some(unsure))), [EventKind::Checked, EventKind::Warning]);
        let nothing = Compared { names: 0, bytes: 0, unsure: 3, ..sound.clone() };
        assert_eq!(kinds(&end(Some(nothing))), [EventKind::Unchecked], "nothing was shown");
        let counts = BTreeMap::from([("lost".to_owned(), 70)]);
        let faults = (0..70).map(|number| format!("f{number} is lost")).collect();
        let lost = events_of_end(&end(Some(Compared { counts, faults, ..sound })), true, Instant::ZERO);
        assert_eq!(lost.len(), 1 + MOST_NAMED);
        assert!(lost.iter().all(|event| event.what == EventKind::ConditionBroken));
        assert!(lost[0].text.ends_with("70 lost"), "{}", lost[0].text);
    }

    #[test]
    fn reads_from_memory_that_should_come_from_the_storage_prove_nothing() {
        let kind =
            |policy, reads, share| event_of_cache(policy, reads, CacheLook { files: 3, share }, Instant::ZERO).what;
        assert_eq!(kind(CachePolicy::Drop, true, Some(0.1)), EventKind::Settings);
        assert_eq!(kind(CachePolicy::Drop, true, Some(0.11)), EventKind::Disturbed);
        assert_eq!(kind(CachePolicy::Drop, false, Some(0.11)), EventKind::Warning, "nothing is read");
        assert_eq!(kind(CachePolicy::Drop, true, None), EventKind::Warning, "nobody knows");
        assert_eq!(kind(CachePolicy::Direct, true, Some(0.5)), EventKind::Warning, "direct reads do not ask the cache");
        assert_eq!(kind(CachePolicy::Warm, true, Some(1.0)), EventKind::Settings);
    }
}
