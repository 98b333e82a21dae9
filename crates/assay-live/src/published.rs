//! What was published last: everything that an answer to a reader needs, made once for all of them.

use crate::view::View;
use crate::view::counted::Counted;
use crate::view::head::RunHead;
use crate::view::judged::Judged;
use crate::view::moment::Moment;
use crate::view::standing::{Standing, StandingText};
use crate::view::{SeenEvent, standing};
use assay_base::Span;
use assay_judge::Verdict;
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::Instant;

/// A run of those in the directory, in the order in which they began.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FollowedRun {
    /// Its directory, below the one that is followed; empty for the only run.
    pub name: String,
    /// Its load.
    pub load: String,
    /// How it ended; absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// A threshold of those that a head lists.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ShownThreshold {
    /// Its place among them.
    pub(crate) index: usize,
    /// It.
    pub(crate) span: Span,
}

/// The state of a log at its newest line.
#[derive(Clone, Debug)]
pub struct Published {
    /// The number of the newest line; 0 before the first.
    pub seq: u64,
    /// How many lines there are: 0 before the first.
    pub lines: u64,
    /// The runs so far; the newest is the one that is shown.
    pub runs: Vec<FollowedRun>,
    /// What its newest header says.
    pub head: Option<Arc<RunHead>>,
    /// How it stands.
    pub standing: Standing,
    /// Whether nothing more will come, from this run or from another one.
    pub over: bool,
    /// The newest intervals.
    pub recent: VecDeque<Arc<Moment>>,
    /// The newest events.
    pub events: VecDeque<Arc<SeenEvent>>,
    /// What the judge says.
    pub judged: Option<Arc<Judged>>,
    /// The sums over all phases.
    pub counted: Counted,
    freshness: Freshness,
    snapshot: OnceLock<Arc<str>>,
}

/// How old a log is.
#[derive(Clone, Copy, Debug)]
struct Freshness {
    /// How long ago it had been written to at a moment.
    age: Duration,
    /// The moment.
    at: Instant,
}

impl Freshness {
    fn of_age(age: Duration) -> Freshness {
        Freshness { age, at: Instant::now() }
    }

    fn age_by_now(self) -> Duration {
        self.age.saturating_add(self.at.elapsed())
    }
}

/// The members of a snapshot that are not texts already.
#[derive(Serialize)]
struct SnapshotHead<'a> {
    seq: u64,
    lines: u64,
    over: bool,
    runs: &'a [FollowedRun],
    standing: StandingText,
    run: Option<&'a RunHead>,
    events: Vec<&'a SeenEvent>,
}

impl Published {
    /// The state before a log has begun.
    pub(crate) fn before_anything(runs: Vec<FollowedRun>) -> Published {
        Published {
            seq: 0,
            lines: 0,
            runs,
            head: None,
            standing: Standing::Begins,
            over: false,
            recent: VecDeque::new(),
            events: VecDeque::new(),
            judged: None,
            counted: Counted::default(),
            freshness: Freshness::of_age(Duration::ZERO),
            snapshot: OnceLock::new(),
        }
    }

    /// What `view` comes to; `age` is how long ago the log was written to, `over` whether nothing more will come.
    pub(crate) fn from_view(
        view: &View,
        standing: Standing,
        runs: Vec<FollowedRun>,
        age: Duration,
        over: bool,
    ) -> Published {
        Published {
            seq: view.seq(),
            lines: view.lines(),
            head: view.head().cloned(),
            standing,
            over,
            recent: view.recent().clone(),
            events: view.events().clone(),
            judged: view.judged().cloned(),
            counted: view.counted().clone(),
            freshness: Freshness::of_age(age),
            ..Published::before_anything(runs)
        }
    }

    /// The same, after which nothing more will come.
    pub(crate) fn with_the_end(&self) -> Published {
        Published { over: true, snapshot: OnceLock::new(), ..self.clone() }
    }

    /// How long ago the log was written to.
    pub fn log_age(&self) -> Duration {
        self.freshness.age_by_now()
    }

    /// The newest interval.
    pub fn newest_moment(&self) -> Option<&Arc<Moment>> {
        self.recent.back()
    }

    /// The threshold whose share is drawn: the one that the judge draws, or the smallest.
    pub(crate) fn shown_threshold(&self) -> Option<ShownThreshold> {
        let thresholds = &self.head.as_ref()?.thresholds;
        let drawn = self.judged.as_ref().map(|judged| judged.part.course.series.threshold);
        let index = drawn.and_then(|drawn| thresholds.iter().position(|one| *one == drawn)).unwrap_or(0);
        thresholds.get(index).map(|span| ShownThreshold { index, span: *span })
    }

    /// How the run stands, in words.
    pub(crate) fn standing_in_words(&self) -> StandingText {
        self.standing.in_words()
    }

    /// Everything, as one JSON object. What does not depend on the moment of the question is made once.
    pub(crate) fn snapshot_text(&self) -> String {
        let members = self.snapshot.get_or_init(|| self.make_members().into());
        format!("{{\"age_ms\":{},{members}}}", self.log_age().as_millis())
    }

    /// All members of a snapshot but its age, without braces.
    fn make_members(&self) -> String {
        let head = SnapshotHead {
            seq: self.seq,
            lines: self.lines,
            over: self.over,
            runs: &self.runs,
            standing: self.standing_in_words(),
            run: self.head.as_deref(),
            events: self.events.iter().map(AsRef::as_ref).collect(),
        };
        let head = serde_json::to_string(&head).unwrap_or_else(|_| "{}".to_owned());
        let mut text = head[1..head.len() - 1].to_owned();
        text.push_str(",\"recent\":[");
        for (index, moment) in self.recent.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            text.push_str(moment.json_text());
        }
        text.push_str("],\"judged\":");
        text.push_str(self.judged.as_ref().map_or("null", |judged| judged.figures_text()));
        text.push_str(",\"lines_along_time\":");
        text.push_str(self.judged.as_ref().map_or("null", |judged| judged.lines_text()));
        text
    }
}

impl FollowedRun {
    /// A run that begins.
    pub(crate) fn that_begins(name: &str) -> FollowedRun {
        FollowedRun { name: name.to_owned(), load: String::new(), verdict: None }
    }

    /// Notes what is known of it by now.
    pub(crate) fn note_state(&mut self, view: &View, standing: &standing::Standing) {
        if let Some(head) = view.head() {
            self.load.clone_from(&head.run.load);
        }
        self.verdict = standing.verdict();
    }
}
