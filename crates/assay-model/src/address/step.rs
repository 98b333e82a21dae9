//! What the offsets of an address are multiples of. The generators of offsets take their units from here, and so does
//! what verifies data, so that what is declared is what is drawn.

use super::bands::Inside;
use super::meant::Address;
use crate::oltp;
use assay_base::Bytes;

impl Address {
    /// Every offset is a multiple of this plus lengths of operations, on a target with blocks of `block` bytes, if the
    /// largest operation has `largest` bytes; zero where offsets are sums of lengths alone.
    pub(crate) fn offset_step(&self, block: u64, largest: u64) -> u64 {
        match self {
            Address::Uniform { align } | Address::Behind { align } => in_blocks(*align, block).max(block),
            Address::Repeated { .. } | Address::Recorded => block,
            Address::Strided { by, .. } => in_blocks(*by, block),
            // The read-back has the units of the writes.
            Address::Sequential | Address::Appended | Address::Written => 0,
            Address::Ranked { unit, .. }
            | Address::WorkingSet { unit, .. }
            | Address::NeverSeen { unit, .. }
            | Address::Once { unit }
            | Address::Walk { unit, .. } => place_size(*unit, block, largest),
            Address::Heat(map) => in_blocks(map.unit, block).max(block),
            Address::Runs { .. } => place_size(Bytes::default(), block, largest),
            Address::Asu { .. } => oltp::BLOCK,
            Address::Bands { length, gap, inside, .. } => {
                common_power((in_blocks(*length, block) + in_blocks(*gap, block)) | inside.unit_in_band(block, largest))
            }
        }
    }
}

impl Inside {
    /// Offsets within a band are multiples of this, in whole blocks; zero where they are sums of lengths alone.
    pub(super) fn unit_in_band(&self, block: u64, largest: u64) -> u64 {
        match self {
            Inside::Sequential => 0,
            Inside::Uniform { align } => in_blocks(*align, block).max(block),
            Inside::Once { unit } => place_size(*unit, block, largest),
        }
    }
}

/// Bytes rounded up to whole blocks.
fn in_blocks(bytes: Bytes, block: u64) -> u64 {
    bytes.get().next_multiple_of(block)
}

/// The size of a place: `unit` in whole blocks, or the length of the largest operation if the unit is zero.
fn place_size(unit: Bytes, block: u64, largest: u64) -> u64 {
    if unit.get() == 0 { largest.max(block) } else { in_blocks(unit, block).max(block) }
}

/// The largest power of two that divides all numbers that were joined by OR into `bits`.
pub(crate) fn common_power(bits: u64) -> u64 {
    1 << bits.trailing_zeros().min(63)
}
