//! The streams of an OLTP load as a plan lists them.

use super::stream::{BLOCK, LENGTHS, NAMES, ReadShares, STREAMS};
use crate::arrival::Curve;
use crate::life::Life;
use crate::plan::{Address, Arrival, Block, Group, Stream, Work};
use crate::size::{Size, Sizes};
use assay_base::{Bytes, Criterion, Direction, Rate, Share};

/// The streams of a load of `rate` operations per second, with reads and writes as separate streams. Their targets are
/// filled in later. `None` if a rate cannot be represented.
pub(crate) fn streams(mix: ReadShares, rate: Rate, curve: Option<&Curve>) -> Option<Vec<Stream>> {
    let mut all = Vec::new();
    let mut before = 0;
    for (at, stream) in STREAMS.iter().enumerate() {
        let (share, reads) = (stream.below - before, stream.reads[mix as usize]);
        before = stream.below;
        for (direction, percent) in [(Direction::Read, reads), (Direction::Write, 100 - reads)] {
            if percent > 0 {
                let rate = rate.scaled(share * percent, 100_000)?;
                let arrival = match curve {
                    Some(curve) => Arrival::Varying { rate, curve: curve.clone(), even: false },
                    None => Arrival::Poisson { rate },
                };
                all.push(self::stream(at, direction, arrival));
            }
        }
    }
    Some(all)
}

/// What of these streams is also shown together, as the published tool draws it: everything first, then its reads and its
/// writes, then each ASU.
pub(crate) fn groups(streams: &[Stream]) -> Vec<Group> {
    let group = |name: &str, is_in: &dyn Fn(&Stream) -> bool| Group {
        name: name.to_owned(),
        streams: streams.iter().filter(|stream| is_in(stream)).map(|stream| stream.name.clone()).collect(),
    };
    let of = |direction| move |stream: &Stream| stream.direction() == Some(direction);
    let on = |begin: &'static str| move |stream: &Stream| stream.name.starts_with(begin);
    vec![
        group(Criterion::ALL, &|_| true),
        group("all reads", &of(Direction::Read)),
        group("all writes", &of(Direction::Write)),
        group("ASU 1, data store", &on("asu1-")),
        group("ASU 2, user store", &on("asu2-")),
        group("ASU 3, log", &on("asu3-")),
    ]
}

fn stream(at: usize, direction: Direction, arrival: Arrival) -> Stream {
    let it = &STREAMS[at];
    let bytes = |blocks: u64| Bytes::new(blocks * BLOCK);
    let bar = |(length, weight): (u64, u64)| Sizes { from: bytes(length), to: bytes(length), weight };
    let mixed = Size::histogram(LENGTHS.map(bar).to_vec()).filter(|_| it.place.is_sequential());
    Stream {
        name: format!("{}-{direction}s", NAMES[at]),
        work: Work::Block(Block {
            direction,
            durable: false,
            filled_with: None,
            size: mixed.unwrap_or(Size::fixed(bytes(1))),
            address: Address::Asu { asu: it.asu as u8 + 1, place: it.place },
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
