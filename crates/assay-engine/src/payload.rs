//! What a request carries besides itself: data to be written, to be held against what was written, to be looked at. The engine
//! without it knows no bytes at all.

use assay_base::{Code, Device, Ticket};
use assay_record::FlowCounters;
use std::collections::BTreeMap;

/// The place of a request: whose it is, and its slot.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// Index of its flow.
    pub flow: usize,
    /// Its slot.
    pub ticket: Ticket,
}

/// What a completion in full has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// What it should have.
    Sound,
    /// Damaged data, of this kind: it counts as failed, and [`Payload::damages`] has the particulars.
    Damaged(Code),
}

/// A damage in words and figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Particulars {
    /// The sentence.
    pub text: String,
    /// The figures, by name.
    pub details: BTreeMap<String, String>,
}

/// Everything that looks at bytes. Each method does nothing where it is not written.
pub trait Payload<D: Device> {
    /// A request is about to be handed over: its data are to be made. Returns whether it is to be looked at when it is back.
    #[inline(always)]
    fn before(&mut self, _device: &mut D, _at: At, _request: &D::Request) -> bool {
        false
    }

    /// A request came back in full; `look`: it is to be looked at. What is found is counted in `cell`.
    #[inline(always)]
    fn after(
        &mut self,
        _device: &mut D,
        _at: At,
        _request: &D::Request,
        _look: bool,
        _cell: &mut FlowCounters,
    ) -> Fate {
        Fate::Sound
    }

    /// The damages that were found since this was last asked.
    fn damages(&mut self) -> Vec<Particulars> {
        Vec::new()
    }

    /// A request came back otherwise: what it was to write may have been written or not.
    fn failed(&mut self, _flow: usize, _request: &D::Request) {}

    /// A request moved `moved` of its bytes: what is to be asked for to have the rest. `None`: nothing, and it stays short.
    fn rest(&mut self, _device: &mut D, _ticket: Ticket, _request: &D::Request, _moved: u32) -> Option<D::Request> {
        None
    }

    /// In which of the [`assay_record::PARTS`] equal parts of its target a request is.
    fn part(&self, _device: &D, _request: &D::Request) -> usize {
        0
    }

    /// An interval begins.
    fn begin_interval(&mut self) {}

    /// All that was scheduled is over for this worker, and `whole`: nothing of it was cut short. True when it is the one that goes on
    /// with what comes after.
    fn is_over(&mut self, _whole: bool) -> bool {
        false
    }

    /// Whether a completion in full may turn out to be damaged, so that its effects must wait for [`Payload::after`].
    #[inline(always)]
    fn verifies(&self) -> bool {
        false
    }
}

/// No bytes at all.
impl<D: Device> Payload<D> for () {}
