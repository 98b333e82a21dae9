//! How a run stands, in words. Nothing here says PASS before the log is written to its end.

use assay_judge::Verdict;
use serde::Serialize;

/// How a run stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// There is no log yet, or nothing in it.
    Begins,
    /// Nothing speaks against it so far.
    Holds,
    /// Whatever follows, it will be judged FAIL, for this reason.
    Fails(String),
    /// If it ended now, it would be judged so, for this reason; what follows may change that.
    Doubtful(Verdict, String),
    /// Its log is complete, or nobody writes it any more: the verdict, and its reason.
    Ended(Verdict, String),
    /// It is not a log that can be judged, for this reason.
    Unreadable(String),
}

/// The same for a reader: a word, a sentence, and the class of its colour.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StandingText {
    /// One word.
    pub word: String,
    /// A sentence.
    pub text: String,
    /// `pass`, `fail`, `invalid` or `incomplete`.
    pub class: &'static str,
    /// Whether the log of this run is written to its end.
    pub ended: bool,
}

impl Standing {
    /// The standing when nothing was judged yet.
    pub(crate) fn before_anything(lines: u64) -> Standing {
        if lines == 0 { Standing::Begins } else { Standing::Holds }
    }

    /// What a log that ends here would come to, as the standing of a run that goes on.
    pub(crate) fn from_verdict_so_far(verdict: Verdict, reason: &str) -> Standing {
        match verdict {
            // A log that is written on is incomplete, and that says nothing.
            Verdict::Pass | Verdict::Incomplete => Standing::Holds,
            Verdict::Fail | Verdict::Invalid => Standing::Doubtful(verdict, reason.to_owned()),
        }
    }

    /// For a reader.
    pub fn in_words(&self) -> StandingText {
        let (word, text, class) = match self {
            Standing::Begins => ("STARTING".to_owned(), "the log has not begun".to_owned(), "incomplete"),
            Standing::Holds => ("RUNNING".to_owned(), "no bound broken so far".to_owned(), "incomplete"),
            Standing::Fails(why) => ("FAIL".to_owned(), format!("{why} (certain, whatever follows)"), "fail"),
            Standing::Doubtful(verdict, why) => {
                ("RUNNING".to_owned(), format!("{verdict} if it ended now: {why}"), class_of(*verdict))
            }
            Standing::Ended(verdict, why) => (verdict.to_string(), why.clone(), class_of(*verdict)),
            Standing::Unreadable(why) => ("UNREADABLE".to_owned(), why.clone(), "invalid"),
        };
        let ended = matches!(self, Standing::Ended(..) | Standing::Unreadable(_));
        StandingText { word, text, class, ended }
    }

    /// The verdict that is certain.
    pub fn verdict(&self) -> Option<Verdict> {
        match self {
            Standing::Fails(_) => Some(Verdict::Fail),
            Standing::Ended(verdict, _) => Some(*verdict),
            Standing::Begins | Standing::Holds | Standing::Doubtful(..) | Standing::Unreadable(_) => None,
        }
    }
}

fn class_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::Invalid => "invalid",
        Verdict::Incomplete => "incomplete",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_an_ended_log_says_pass() {
        for (standing, word, class, ended) in [
            (Standing::before_anything(0), "STARTING", "incomplete", false),
            (Standing::before_anything(1), "RUNNING", "incomplete", false),
            (Standing::from_verdict_so_far(Verdict::Pass, "x"), "RUNNING", "incomplete", false),
            (Standing::from_verdict_so_far(Verdict::Incomplete, "x"), "RUNNING", "incomplete", false),
            (Standing::from_verdict_so_far(Verdict::Invalid, "x"), "RUNNING", "invalid", false),
            (Standing::from_verdict_so_far(Verdict::Fail, "x"), "RUNNING", "fail", false),
            (Standing::Fails("x".into()), "FAIL", "fail", false),
            (Standing::Ended(Verdict::Pass, "x".into()), "PASS", "pass", true),
            (Standing::Ended(Verdict::Incomplete, "x".into()), "INCOMPLETE", "incomplete", true),
            (Standing::Unreadable("x".into()), "UNREADABLE", "invalid", true),
        ] {
            let said = standing.in_words();
            assert_eq!((said.word.as_str(), said.class, said.ended), (word, class, ended), "{standing:?}");
            assert!(ended || !said.text.contains("PASS"), "{standing:?}");
        }
    }
}
