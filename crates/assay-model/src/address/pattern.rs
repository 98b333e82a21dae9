//! The address patterns that need parameters: creates the generator of an address on one target.

use super::bands::{Bands, Layout};
use super::behind::BehindLastOperation;
use super::fresh::Fresh;
use super::grid::Grid;
use super::heat::{Heat, HeatSpace};
use super::law::Ranks;
use super::meant::Address;
use super::once::Once;
use super::order::Order;
use super::ranked::Ranked;
use super::repeated::Repeated;
use super::runs::Runs;
use super::strided::Strided;
use super::uniform::Uniform;
use super::walk::Walk;
use super::working_set::WorkingSet;
use crate::arrival::Part;
use assay_base::{Bytes, Instant, Prng, Span};

/// The space in which a pattern draws its offsets, and what else they depend on.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    /// Its length in bytes.
    pub length: u64,
    /// Block size of the target.
    pub block: u64,
    /// The largest operation.
    pub largest: u64,
    /// The largest power of two that divides the lengths of all operations and what their offsets are multiples of.
    pub common: u64,
    /// Which of the stream's operations are drawn here, among several workers.
    pub part: Part,
    /// The key of keyed orders. It is the same in each run, so that hot places stay where they are.
    pub key: u64,
    /// When the run begins; `before`: for how long the pattern has run before that; `seen`: how many bytes it has used,
    /// if each byte is used only once.
    pub zero: Instant,
    /// See `zero`.
    pub before: Span,
    /// See `zero`.
    pub seen: Bytes,
}

impl Space {
    /// The places of `unit` bytes.
    fn grid_of_places(&self, unit: u64) -> Grid {
        Grid::new(self.length, unit, self.largest)
    }
}

/// The offsets of one flow.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// See [`Ranked`].
    Ranked(Ranked),
    /// See [`WorkingSet`].
    WorkingSet(WorkingSet),
    /// See [`Fresh`].
    Fresh(Fresh),
    /// See [`Once`].
    Once(Once),
    /// See [`Runs`].
    Runs(Runs),
    /// See [`Walk`].
    Walk(Walk),
    /// See [`BehindLastOperation`].
    Behind(BehindLastOperation),
    /// See [`Strided`].
    Strided(Strided),
    /// See [`Repeated`].
    Repeated(Repeated),
    /// See [`Bands`].
    Bands(Bands),
    /// See [`Heat`].
    Heat(Heat),
}

impl Pattern {
    /// The pattern of an address in a space. `None` if the address is not a pattern: uniform, sequential, written, and
    /// addresses that are drawn together with those of other streams.
    pub fn new(address: &Address, space: Space) -> Option<Pattern> {
        let step = address.offset_step(space.block, space.largest);
        Some(match address {
            Address::Ranked { law, scatter, centre, .. } => {
                let grid = space.grid_of_places(step);
                let order = scatter.then(|| Order::new(grid.places, space.key));
                Pattern::Ranked(Ranked::new(grid, law, order, *centre))
            }
            Address::WorkingSet { size, turnover, inside, .. } => {
                let grid = space.grid_of_places(step);
                let (places, order) = (grid.places_within(size.get()), Order::new(grid.places, space.key));
                let ranks = Ranks::new(inside, places);
                Pattern::WorkingSet(WorkingSet::new(grid, order, ranks, places, *turnover, space.zero, space.before))
            }
            Address::NeverSeen { reread, .. } => {
                let (grid, from) = (space.grid_of_places(step), space.seen.get() / step);
                Pattern::Fresh(Fresh::new(grid, Order::new(grid.places, space.key), space.part, from, *reread))
            }
            Address::Once { .. } => Pattern::Once(Once::new(space.grid_of_places(step), space.part, space.key)),
            Address::Runs { length } => Pattern::Runs(Runs::new(space.grid_of_places(step), space.length, *length)),
            Address::Walk { reach, .. } => Pattern::Walk(Walk::new(space.grid_of_places(step), reach.get())),
            Address::Behind { .. } => Pattern::Behind(BehindLastOperation::new(space.length, step, space.part)),
            Address::Strided { backwards, .. } => {
                let by = if *backwards { -i128::from(step) } else { step.into() };
                Pattern::Strided(Strided::new(space.length, by, space.common, space.part))
            }
            Address::Repeated { times } => {
                Pattern::Repeated(Repeated::new(Uniform::new(space.length, step), space.largest as u32, *times))
            }
            Address::Bands { length, gap, moved, inside } => {
                let [length, gap] = [length, gap].map(|it| it.get().next_multiple_of(space.block));
                let (moved, largest) = (moved.get(), space.largest);
                let unit = inside.unit_in_band(space.block, largest);
                let layout = Layout { space: space.length, length, gap, moved, largest };
                Pattern::Bands(Bands::new(layout, *inside, unit, space.part, space.key))
            }
            Address::Heat(map) => {
                let area = map.area.get().max(step).next_multiple_of(step);
                let Space { length, largest, key, .. } = space;
                Pattern::Heat(Heat::new(map, HeatSpace { length, area, unit: step, largest, key }))
            }
            Address::Uniform { .. }
            | Address::Sequential
            | Address::Appended
            | Address::Written
            | Address::Recorded
            | Address::Asu { .. } => return None,
        })
    }

    /// The offset of an operation of `len` bytes with the intended time `wanted`.
    #[inline(never)]
    pub fn next(&mut self, len: u32, wanted: Instant, prng: &mut Prng) -> u64 {
        match self {
            Pattern::Ranked(ranked) => ranked.next(prng),
            Pattern::WorkingSet(set) => set.next(wanted, prng),
            Pattern::Fresh(fresh) => fresh.next(prng),
            Pattern::Once(once) => once.next(),
            Pattern::Runs(runs) => runs.next(len, prng),
            Pattern::Walk(walk) => walk.next(prng),
            Pattern::Behind(behind) => behind.next(len),
            Pattern::Strided(strided) => strided.next(len),
            Pattern::Repeated(repeated) => repeated.next(prng),
            Pattern::Bands(bands) => bands.next(len, prng),
            Pattern::Heat(heat) => heat.next(len, prng),
        }
    }
}
