//! What a reader sees first: the verdict as a colour, a sign and words, and the watermarks.

use crate::{Judgement, Verdict};

/// A verdict as a colour, a sign and words.
#[derive(Clone, Copy)]
pub(crate) struct Badge {
    pub class: &'static str,
    pub sign: &'static str,
    pub word: &'static str,
    pub meaning: &'static str,
}

impl Badge {
    /// The verdict of a run, which may be about some of its parts only.
    pub(crate) fn for_judgement(judgement: &Judgement) -> Badge {
        let badge = Badge::for_verdict(judgement.verdict);
        if judgement.verdict == Verdict::Pass && judgement.part.course.has_unasked_part() {
            return Badge { meaning: "every criterion held in the parts of the run that the criteria name", ..badge };
        }
        badge
    }

    pub(crate) fn for_verdict(verdict: Verdict) -> Badge {
        let (class, sign, word, meaning) = match verdict {
            Verdict::Pass => {
                ("pass", "✓", "PASS", "every criterion held in every slice, and the load asked for was delivered")
            }
            Verdict::Fail => ("fail", "✗", "FAIL", "the target did not hold"),
            Verdict::Invalid => ("invalid", "⚠", "INVALID", "the test proves nothing about the target"),
            Verdict::Incomplete => ("incomplete", "◌", "INCOMPLETE", "the run was cut short"),
        };
        Badge { class, sign, word, meaning }
    }
}

/// A fact that limits what the result proves.
pub(crate) struct Watermark<'a> {
    pub mark: &'a str,
    pub meaning: &'a str,
}

impl Watermark<'_> {
    /// All watermarks of a result.
    pub(crate) fn all_from_marks(marks: &[String]) -> Vec<Watermark<'_>> {
        marks.iter().map(|mark| Watermark::new(mark)).collect()
    }

    /// Most watermarks explain themselves (`SHORT: 3h measured`); the plain ones are explained here.
    pub(crate) fn new(text: &str) -> Watermark<'_> {
        let (mark, meaning) = text.split_once(": ").unwrap_or((text, ""));
        let meaning = match (mark, meaning) {
            ("QUICK", "") => "quick look, not a certification",
            ("SIMULATED", "") => "no device was tested: this proves nothing about any hardware",
            ("SHORT", "") => "shorter than the procedure asks for, not a certification",
            (_, said) => said,
        };
        Watermark { mark, meaning }
    }
}
