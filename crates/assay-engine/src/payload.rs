//! The data of a request: data to be written, to be compared with what was written, to be checked. Without a payload
//! the engine handles no bytes at all.

use assay_base::{Code, Device, Ticket};
use assay_record::FlowCounters;
use std::collections::BTreeMap;

/// Identifies a request: its flow and its slot.
#[derive(Clone, Copy, Debug)]
pub struct RequestId {
    /// Index of its flow.
    pub flow: usize,
    /// The ticket of the request, which is the index of its slot.
    pub ticket: Ticket,
}

/// The result of examining a full completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExaminationResult {
    /// The data are those that were expected.
    Sound,
    /// Damaged data of this kind: the request counts as failed, and [`Payload::take_damages`] has the details.
    Damaged(Code),
}

/// A damage as text and figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamageReport {
    /// The sentence.
    pub text: String,
    /// The figures, by name.
    pub details: BTreeMap<String, String>,
}

/// Everything that handles bytes. The default of each method does nothing.
pub trait Payload<D: Device> {
    /// A request is about to be handed over: prepares its data. Returns whether it must be examined when it completes.
    #[inline(always)]
    fn before_issue(&mut self, _device: &mut D, _at: RequestId, _request: &D::Request) -> bool {
        false
    }

    /// A request completed in full; `look`: it must be examined. Results are counted in `cell`.
    #[inline(always)]
    fn after_completion(
        &mut self,
        _device: &mut D,
        _at: RequestId,
        _request: &D::Request,
        _look: bool,
        _cell: &mut FlowCounters,
    ) -> ExaminationResult {
        ExaminationResult::Sound
    }

    /// Damages found since the last call.
    fn take_damages(&mut self) -> Vec<DamageReport> {
        Vec::new()
    }

    /// A request completed otherwise: the data that it should write may have been written or not.
    fn note_failed(&mut self, _flow: usize, _request: &D::Request) {}

    /// A request moved `moved` of its bytes: returns the request for the rest. `None`: there is none, and it stays
    /// short.
    fn request_for_rest(
        &mut self,
        _device: &mut D,
        _ticket: Ticket,
        _request: &D::Request,
        _moved: u32,
    ) -> Option<D::Request> {
        None
    }

    /// In which of the [`assay_record::PARTS`] equal parts of its target a request begins.
    fn target_part(&self, _device: &D, _request: &D::Request) -> usize {
        0
    }

    /// Begins an interval.
    fn begin_interval(&mut self) {}

    /// This worker's part of the schedule is over; `whole`: nothing of it was cut short. True when this worker must
    /// continue with what comes after.
    fn is_over(&mut self, _whole: bool) -> bool {
        false
    }

    /// Whether a full completion may turn out to be damaged, so that its effects must wait for [`Payload::after_completion`].
    #[inline(always)]
    fn may_find_damage(&self) -> bool {
        false
    }
}

/// No data at all.
impl<D: Device> Payload<D> for () {}
