//! The streams of an OLTP load as a plan lists them.

use super::stream::{BLOCK, LENGTHS, NAMES, ReadShares, STREAMS};
use crate::arrival::Curve;
use crate::life::Life;
use crate::plan::{Address, Arrival, Block, Group, Stream, Work};
use crate::size::{Size, Sizes};
use assay_base::{Bytes, Criterion, Direction, Rate, Share};

/// The streams of a load of `rate` operations per second, with reads and writes as separate streams. Their targets are
/// filled in later. `None` if a rate cannot be represented.
pub(crate) fn lowered_streams(mix: ReadShares, rate: Rate, curve: Option<&Curve>) -> Option<Vec<Stream>> {
    let mut all = Vec::new();
    let mut before = 0;
    for (at, stream) in STREAMS.iter().enumerate() {
        let (share, reads) = (stream.below - before, stream.reads[mix as usize]);
        before = stream.below;
        for (direction, percent) in [(Direction::Read, reads), (Direction::Write, 100 - reads)] {
            if percent > 0 {
                let rate = rate.scaled_by(share * percent, 100_000)?;
                let arrival = match curve {
                    Some(curve) => Arrival::Varying { rate, curve: curve.clone(), even: false },
                    None => Arrival::Poisson { rate },
                };
                all.push(self::stream_in_direction(at, direction, arrival));
            }
        }
    }
    Some(all)
}

/// What of these streams is also shown together, as the published tool draws it: everything first, then its reads and its
/// writes, then each ASU.
pub(crate) fn shown_groups(streams: &[Stream]) -> Vec<Group> {
    vec![
        chosen_group(streams, Criterion::ALL, |_| true),
        chosen_group(streams, "all reads", |stream| stream.data_direction() == Some(Direction::Read)),
        chosen_group(streams, "all writes", |stream| stream.data_direction() == Some(Direction::Write)),
        chosen_group(streams, "ASU 1, data store", |stream| stream.name.starts_with("asu1-")),
        chosen_group(streams, "ASU 2, user store", |stream| stream.name.starts_with("asu2-")),
        chosen_group(streams, "ASU 3, log", |stream| stream.name.starts_with("asu3-")),
    ]
}

/// The group of the streams that are chosen.
fn chosen_group(streams: &[Stream], name: &str, is_in: impl Fn(&Stream) -> bool) -> Group {
    let chosen = streams.iter().filter(|stream| is_in(stream));
    Group { name: name.to_owned(), streams: chosen.map(|stream| stream.name.clone()).collect() }
}

fn stream_in_direction(at: usize, direction: Direction, arrival: Arrival) -> Stream {
    let published = &STREAMS[at];
    let bars = LENGTHS.map(|(length, weight)| {
        let size = Bytes::new(length * BLOCK);
        Sizes { from: size, to: size, weight }
    });
    let mixed = Size::from_histogram(bars.to_vec()).filter(|_| published.place.is_sequential());
    Stream {
        name: format!("{}-{direction}s", NAMES[at]),
        work: Work::Block(Block {
            direction,
            durable: false,
            filled_with: None,
            size: mixed.unwrap_or(Size::from_fixed(Bytes::new(BLOCK))),
            address: Address::Asu { asu: published.asu as u8 + 1, place: published.place },
            extent: None,
            places: None,
            compress_to: Share::WHOLE,
            duplicates: Share::default(),
        }),
        arrival,
        per_target: false,
        targets: Vec::new(),
        life: Life::default(),
    }
}
