//! The reasons against PASS that the closing line of a segment gives.

use crate::finding::course::{CourseFinding, Ending};
use crate::finding::others::OthersUse;
use assay_record::{Close, CloseReason};

/// What is known of a segment when its closing line is judged.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    /// Number of operations that were issued.
    pub(crate) issued: u64,
    /// The time by which the generator may have delayed a schedule; 0 where that is not counted.
    pub(crate) generator_behind_ns: u64,
    /// The lag at which the run was to stop.
    pub(crate) max_lag_ns: u64,
    /// What others did on a disk of the run until then, where that disturbed it to the end.
    pub(crate) others: Option<OthersUse>,
    /// Whether everything that failed met a lock of somebody else.
    pub(crate) locked: bool,
}

/// Why the segment ended, where that is a reason against PASS.
pub(crate) fn judge_closing(close: &Close, ended: Ended) -> Option<CourseFinding> {
    let ending = match close.reason {
        CloseReason::TargetLost if ended.locked => Ending::Locked,
        CloseReason::TargetLost => Ending::TargetLost,
        CloseReason::DeviceLag if ended.issued == 0 => Ending::NothingIssued,
        CloseReason::DeviceLag if ended.generator_behind_ns.saturating_mul(2) > ended.max_lag_ns => {
            Ending::GeneratorBehind(ended.generator_behind_ns)
        }
        CloseReason::DeviceLag => ended.others.map_or(Ending::DeviceTooSlow, Ending::BesideOthers),
        CloseReason::GeneratorLag => Ending::GeneratorTooSlow,
        CloseReason::EngineFailed => Ending::EngineFailed,
        CloseReason::Completed | CloseReason::Interrupted | CloseReason::LogFailed => return None,
    };
    Some(CourseFinding::Ended(ending, Some(close.text.clone()).filter(|text| !text.is_empty())))
}

/// How a segment ended, in words.
pub(crate) fn ending_in_words(reason: CloseReason) -> &'static str {
    match reason {
        CloseReason::Completed => "completed",
        CloseReason::Interrupted => "interrupted",
        CloseReason::DeviceLag => "stopped, the device fell behind",
        CloseReason::GeneratorLag => "stopped, the generator fell behind",
        CloseReason::TargetLost => "stopped, the target was lost",
        CloseReason::LogFailed => "stopped, the log could not be kept",
        CloseReason::EngineFailed => "stopped, the engine failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Class;

    #[test]
    fn the_text_of_a_closing_line_is_quoted_where_there_is_one() {
        let ended = Ended { issued: 1, generator_behind_ns: 0, max_lag_ns: 100, others: None, locked: false };
        for (text, quoted) in [("", None), ("it did not answer", Some("it did not answer".to_owned()))] {
            let (reason, text) = (CloseReason::TargetLost, text.to_owned());
            let close = Close { reason, at_ns: 0, text, intervals: 0, issued: 0, completed: 0, stuck: 0 };
            assert_eq!(judge_closing(&close, ended.clone()), Some(CourseFinding::Ended(Ending::TargetLost, quoted)));
        }
    }

    #[test]
    fn a_schedule_that_fell_behind_is_the_devices_unless_the_generator_did_half_of_it() {
        let close =
            |reason| Close { reason, at_ns: 0, text: String::new(), intervals: 0, issued: 0, completed: 0, stuck: 0 };
        for (reason, issued, generator_behind_ns, class) in [
            (CloseReason::DeviceLag, 1, 0, Some(Class::Broken)),
            (CloseReason::DeviceLag, 1, 50, Some(Class::Broken)),
            (CloseReason::DeviceLag, 1, 51, Some(Class::Unproven)),
            (CloseReason::DeviceLag, 0, 0, Some(Class::Unproven)),
            (CloseReason::GeneratorLag, 1, 0, Some(Class::Unproven)),
            (CloseReason::EngineFailed, 1, 0, Some(Class::Unproven)),
            (CloseReason::TargetLost, 0, 99, Some(Class::Errors)),
            (CloseReason::Completed, 0, 99, None),
            (CloseReason::Interrupted, 0, 99, None),
            (CloseReason::LogFailed, 0, 99, None),
        ] {
            let found = judge_closing(
                &close(reason),
                Ended { issued, generator_behind_ns, max_lag_ns: 100, others: None, locked: false },
            );
            assert_eq!(found.map(|it| it.severity_class()), class, "{reason:?} {issued} {generator_behind_ns}");
            let others = Some(OthersUse { name: "vda".into(), ..OthersUse::default() });
            let found = judge_closing(
                &close(reason),
                Ended { issued, generator_behind_ns, max_lag_ns: 100, others, locked: false },
            );
            let excused = class.map(|class| if class == Class::Broken { Class::Unproven } else { class });
            assert_eq!(found.map(|it| it.severity_class()), excused, "beside others: {reason:?}");
            let ended = Ended { issued, generator_behind_ns, max_lag_ns: 100, others: None, locked: true };
            let excused = class.map(|class| if class == Class::Errors { Class::Unproven } else { class });
            assert_eq!(
                judge_closing(&close(reason), ended).map(|it| it.severity_class()),
                excused,
                "on a lock: {reason:?}"
            );
        }
    }
}
