//! A log at its newest line: a state machine that takes the lines one by one.
//!
//! `moment` has the figures of one interval, `counted` what the intervals of all phases add up to, `judged` what the judge's fold says
//! of the log so far, `standing` how the run stands, in words.

pub mod counted;
pub mod head;
pub mod judged;
pub mod moment;
pub mod standing;

use assay_judge::{Fold, Options};
use assay_record::{Damage, Entry, Event, Interval};
use counted::Counted;
use head::RunHead;
use judged::Judged;
use moment::Moment;
use serde::Serialize;
use standing::Standing;
use std::collections::VecDeque;
use std::sync::Arc;

/// How many of the newest intervals are kept: ten minutes of a run with intervals of a second.
pub const RECENT: usize = 600;
/// How many of the newest events are kept.
const EVENTS: usize = 50;

/// An event, and the line of the log that has it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeenEvent {
    /// The number of its line.
    pub seq: u64,
    /// When, on the time line of the run.
    pub at_ns: u64,
    /// Its kind.
    pub what: String,
    /// Its sentence.
    pub text: String,
}

/// What the lines of a log come to so far.
#[derive(Debug)]
pub struct View {
    fold: Fold,
    /// The number of the newest line, and how many were read.
    seq: u64,
    lines: u64,
    head: Option<Arc<RunHead>>,
    recent: VecDeque<Arc<Moment>>,
    counted: Counted,
    events: VecDeque<Arc<SeenEvent>>,
    judged: Option<Arc<Judged>>,
    /// Whether something was read since `judged` was made that changes more than the figures of an interval.
    judging_is_due: bool,
}

impl View {
    /// The state before the first line; the log is judged with these options.
    pub fn new(options: Options) -> View {
        View {
            fold: Fold::new(options),
            seq: 0,
            lines: 0,
            head: None,
            recent: VecDeque::new(),
            counted: Counted::default(),
            events: VecDeque::new(),
            judged: None,
            judging_is_due: true,
        }
    }

    /// Takes the next line, which has this number, or a place where the log is damaged.
    pub fn take_item(&mut self, item: &Result<Entry, Damage>, seq: u64) {
        self.seq = seq;
        self.lines += 1;
        self.fold.take_item(item);
        match item {
            Ok(Entry::Header(head)) => {
                let head = RunHead::new(seq, head, self.fold.shown_thresholds());
                // The time line of a segment begins anew, and its streams may be others.
                self.recent.clear();
                self.counted.begin_segment(&head);
                self.head = Some(Arc::new(head));
                self.judging_is_due = true;
            }
            Ok(Entry::Interval(interval)) => self.take_interval(interval),
            Ok(Entry::Event(event)) => self.take_event(event),
            Ok(Entry::Histograms(_) | Entry::Close(_)) | Err(_) => self.judging_is_due = true,
        }
    }

    fn take_interval(&mut self, interval: &Interval) {
        let Some(head) = self.head.clone() else { return };
        self.counted.add_interval(interval);
        let moment = Moment::new(self.seq, interval, &head, self.fold.so_far());
        if self.recent.len() >= RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(Arc::new(moment));
    }

    fn take_event(&mut self, event: &Event) {
        let Event { at_ns, what, text, .. } = event;
        if self.events.len() >= EVENTS {
            self.events.pop_front();
        }
        let seen = SeenEvent { seq: self.seq, at_ns: *at_ns, what: what.to_string(), text: text.clone() };
        self.events.push_back(Arc::new(seen));
    }

    /// The number of the newest line.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// How many lines were read.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// What the newest header says.
    pub fn head(&self) -> Option<&Arc<RunHead>> {
        self.head.as_ref()
    }

    /// The newest intervals, in their order.
    pub fn recent(&self) -> &VecDeque<Arc<Moment>> {
        &self.recent
    }

    /// The newest events, in their order.
    pub fn events(&self) -> &VecDeque<Arc<SeenEvent>> {
        &self.events
    }

    /// The sums of all intervals.
    pub fn counted(&self) -> &Counted {
        &self.counted
    }

    /// What the judge said last.
    pub fn judged(&self) -> Option<&Arc<Judged>> {
        self.judged.as_ref()
    }

    /// Asks the judge what the log comes to so far, if a line came that changes more than the figures of an interval. Such lines come
    /// about every ten seconds; to ask costs more than to read an interval.
    pub fn judge_if_due(&mut self) {
        if self.judging_is_due {
            self.judging_is_due = false;
            let judgement = self.fold.judgement_so_far().ok();
            self.judged = judgement.map(|judgement| Arc::new(Judged::new(self.seq, judgement)));
        }
    }

    /// Ends the log, which nobody writes any more: asks the judge once more, and returns how the run stands.
    pub fn end_log(&mut self) -> Standing {
        match self.fold.judgement_so_far() {
            Ok(judgement) => {
                let standing = Standing::Ended(judgement.verdict, judgement.reason.clone());
                self.judged = Some(Arc::new(Judged::new(self.seq, judgement)));
                standing
            }
            Err(why) => Standing::Unreadable(why.to_string()),
        }
    }

    /// How a run stands whose log is still being written.
    pub fn standing(&self) -> Standing {
        if let Some(why) = self.fold.certain_failure() {
            return Standing::Fails(why);
        }
        match &self.judged {
            Some(judged) => judged.standing(),
            None => Standing::before_anything(self.lines),
        }
    }
}
