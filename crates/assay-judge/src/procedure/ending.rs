//! Whether another run may follow one that ended.

use assay_record::CloseReason;

/// How a run ended, as far as it decides about the runs after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// It is over, and another run may follow.
    #[default]
    Over,
    /// A signal, a kill or a log that could not be written cut it short: it is continued, or made again.
    CutShort,
    /// It is over, and what ended it would end the next one too: a target was lost, operations never came back, or the engine
    /// cannot submit.
    Last,
}

impl Ending {
    /// The ending of a run whose log was closed for this reason, if it was closed. `stuck`: operations of it never came
    /// back, and may still reach the target.
    pub fn new(closed: Option<CloseReason>, stuck: bool) -> Ending {
        match closed {
            None | Some(CloseReason::Interrupted | CloseReason::LogFailed) => Ending::CutShort,
            Some(CloseReason::TargetLost | CloseReason::EngineFailed) => Ending::Last,
            Some(CloseReason::Completed | CloseReason::DeviceLag | CloseReason::GeneratorLag) if stuck => Ending::Last,
            Some(CloseReason::Completed | CloseReason::DeviceLag | CloseReason::GeneratorLag) => Ending::Over,
        }
    }
}
