//! Judges the log of a rank while its lines go on to the log of all: before the close, the rank says what its own part proves.

use assay_hosts::joint_log::RankLog;
use assay_judge::{Fold, Options, Verdict, details_of_rank};
use assay_record::{Close, Entry, Event, EventKind, StepHead};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The lines of one rank's log on their way.
#[derive(Default)]
pub(super) struct JudgedLines {
    fold: Option<Fold>,
}

impl JudgedLines {
    /// Passes a line on, behind what it shows where it closes a segment.
    pub(super) fn pass_line(&mut self, entry: Entry, rank: usize, log: &mut RankLog) {
        if matches!(entry, Entry::Header(_)) {
            self.fold = Some(Fold::new(Options::default()));
        }
        let close = match &entry {
            Entry::Close(close) => Some(close.clone()),
            _ => None,
        };
        if let Some(fold) = &mut self.fold {
            fold.take_entry(&as_only_step(&entry));
        }
        if let Some(close) = close
            && let Some(fold) = self.fold.take()
        {
            log.hear_line(Entry::Event(verdict_event(fold, rank, &close)));
        }
        log.hear_line(entry);
    }
}

/// The same line of a log that has this step alone: what the rank did in others is judged there.
fn as_only_step(entry: &Entry) -> Cow<'_, Entry> {
    match entry {
        Entry::Header(header) if header.step.is_some() => {
            let mut alone = header.clone();
            alone.step = header.step.clone().map(|step| StepHead { number: 1, of: 1, ..step });
            Cow::Owned(Entry::Header(alone))
        }
        _ => Cow::Borrowed(entry),
    }
}

fn verdict_event(fold: Fold, rank: usize, close: &Close) -> Event {
    let (verdict, why, details) = match fold.finish() {
        Ok(judgement) => (judgement.verdict, judgement.reason.clone(), details_of_rank(&judgement)),
        Err(error) => {
            let verdict = Verdict::Invalid;
            (verdict, error.to_string(), BTreeMap::from([("verdict".to_owned(), verdict.to_string())]))
        }
    };
    let text = format!("rank {rank} alone: {verdict}: {why}");
    Event { at_ns: close.at_ns, what: EventKind::RankJudged, text, details }
}
