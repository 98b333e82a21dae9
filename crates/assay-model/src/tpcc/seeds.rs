//! The purposes for which random generators are derived from a seed. Each is a first step of a path that no other part
//! of a run uses.

/// The bytes of "tpcc".
const OURS: u64 = 0x7470_6363 << 32;

/// The constants C of the non-uniform distributions.
pub(super) const CONSTANTS: u64 = OURS;
/// The rows of a part of the population.
pub(super) const POPULATION: u64 = OURS + 1;
/// The order of the cards in a deck.
pub(super) const DECK: u64 = OURS + 2;
/// The parameters of a transaction.
pub(super) const PARAMETERS: u64 = OURS + 3;
/// The think time after a transaction.
pub(super) const THINK: u64 = OURS + 4;
