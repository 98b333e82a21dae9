//! What the workers on the same targets know about each other's lateness.

use assay_base::Span;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What workers with the same targets must know about each other: for each target, how many of them have operations in
/// flight there, and the largest shift of any operation since none had.
#[derive(Debug)]
pub struct Peers(Box<[AtomicU64]>);

/// One worker in the count of a [`Peers`] word; the bits below hold the shift in nanoseconds, up to three days.
pub(super) const ONE: u64 = 1 << 48;

impl Peers {
    /// Nothing in flight on any of `targets` targets.
    pub fn new(targets: u16) -> Arc<Peers> {
        Arc::new(Peers((0..targets).map(|_| AtomicU64::new(0)).collect()))
    }

    /// A worker begins to have operations in flight; returns the largest shift of the others.
    pub(crate) fn enter_target(&self, target: usize) -> Span {
        let before = self.0[target]
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| Some(if word < ONE { ONE } else { word + ONE }))
            .unwrap_or(0);
        // A shift left over from a time before everybody left does not count.
        if before / ONE == 0 { Span::ZERO } else { Span::from_ns(before % ONE) }
    }

    /// A worker has nothing in flight any more.
    pub(crate) fn leave_target(&self, target: usize) {
        self.0[target].fetch_sub(ONE, Ordering::AcqRel);
    }

    /// An operation of a worker that has entered is shifted by `shift`.
    pub(crate) fn report_shift(&self, target: usize, shift: Span) {
        let shift = shift.as_ns().min(ONE - 1);
        let _ = self.0[target].fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
            (shift > word % ONE).then_some(word / ONE * ONE + shift)
        });
    }

    /// The largest shift of any worker.
    #[inline]
    pub(crate) fn worst_shift(&self, target: usize) -> Span {
        Span::from_ns(self.0[target].load(Ordering::Acquire) % ONE)
    }
}
