//! The offsets of one flow: the usual forms in a few instructions, the patterns behind a pointer.

use super::meant::Address;
use super::pattern::{Pattern, Space};
use super::sequential::Sequential;
use super::uniform::Uniform;
use assay_base::{Instant, Prng};

/// The offsets of one flow.
#[derive(Clone, Debug)]
pub enum Offsets {
    /// Every position equally likely.
    Uniform(Uniform),
    /// One after the other, from the start again at the end.
    Sequential(Sequential),
    /// All other forms, boxed so that the usual ones stay small.
    Pattern(Box<Pattern>),
}

impl Offsets {
    /// The offsets of `address` in `space`.
    pub fn new(address: &Address, space: Space) -> Offsets {
        match (address, Pattern::new(address, space)) {
            (_, Some(pattern)) => Offsets::Pattern(Box::new(pattern)),
            (Address::Uniform { .. }, None) => {
                Offsets::Uniform(Uniform::new(space.length, address.offset_step(space.block, space.largest)))
            }
            (_, None) => Offsets::Sequential(Sequential::new(space.length, space.block, space.part)),
        }
    }

    /// The offset of an operation of `len` bytes with the intended time `wanted`.
    #[inline(always)]
    pub fn next(&mut self, len: u32, wanted: Instant, prng: &mut Prng) -> u64 {
        match self {
            Offsets::Uniform(uniform) => uniform.next(len, prng),
            Offsets::Sequential(sequential) => sequential.next(len),
            Offsets::Pattern(pattern) => pattern.next(len, wanted, prng),
        }
    }

    /// Whether offsets depend on when operations are wanted.
    pub fn moves_with_time(&self) -> bool {
        matches!(self, Offsets::Pattern(pattern) if matches!(**pattern, Pattern::WorkingSet(_)))
    }

    /// Tells an address of the form [`Address::Behind`] where the last operation of its loop ended.
    #[inline]
    pub fn note_last_end(&mut self, end: u64) {
        if let Offsets::Pattern(pattern) = self
            && let Pattern::Behind(behind) = &mut **pattern
        {
            behind.note_last_end(end);
        }
    }
}
