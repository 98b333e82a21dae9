//! An OLTP load as a part of a plan, and the storage that each ASU has.

use super::sequence::trimmed_sizes;
use super::stream::{BLOCK, LONGEST, RATE, ReadShares};
use crate::arrival::Curve;
use crate::extent::{Amount, Extent};
use assay_base::cached::Range;
use assay_base::{Bytes, Geometry, Multiple, Rate, Share};
use serde::{Deserialize, Serialize};

/// The streams of a plan that are drawn together, as one OLTP load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Oltp {
    /// Operations per second of all streams together; with a curve, the rate at 100 % of the curve.
    pub rate: Rate,
    /// How the rate changes over the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<Curve>,
    /// Which share of its operations each stream reads.
    pub mix: ReadShares,
    /// Number of groups of BSUs; the BSUs of a group share the state of reuse.
    pub contexts: u32,
    /// The pieces of storage that the three ASUs consist of, in the order of their blocks.
    pub asus: [Vec<Storage>; 3],
}

/// A piece of storage of an ASU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// The target.
    pub target: u16,
    /// The part of the target; `None` for the whole target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extent: Option<Extent>,
}

/// A piece of storage on a target of known size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub target: u16,
    /// The first byte of the piece on the target.
    pub begin: u64,
    /// Number of blocks of the piece.
    pub blocks: u64,
}

impl Piece {
    fn byte_range(self) -> Range {
        Range { target: self.target, start: self.begin, end: self.begin + self.blocks * BLOCK }
    }
}

/// An OLTP load at 1x, before the number of targets is known.
#[derive(Clone, Debug)]
pub struct OltpLoad {
    /// Operations per second of all streams together.
    pub rate: Rate,
    /// How the rate changes over the run.
    pub curve: Option<Curve>,
    /// Which share of its operations each stream reads.
    pub mix: ReadShares,
    /// Number of groups of BSUs; the BSUs of a group share the state of reuse.
    pub contexts: u32,
    /// How many of the targets each ASU has, if the file says so.
    pub asu_targets: Option<[u16; 3]>,
}

impl OltpLoad {
    /// The load on this many targets, multiplied by `times`. The error says what does not fit.
    pub(crate) fn on_targets(&self, targets: u16, times: Multiple) -> Result<Oltp, String> {
        let asus = asu_storage(targets, self.asu_targets)?;
        let rate = times.scaled_rate(self.rate).ok_or_else(|| format!("at {times} the rate is too large"))?;
        Ok(Oltp { rate, curve: self.curve.clone(), mix: self.mix, contexts: self.contexts, asus })
    }
}

/// How many hundredths of a single target each ASU has.
const SHARES: [u64; 3] = [45, 45, 10];

/// The pieces of an ASU on targets of these geometries.
fn pieces_of(asu: &[Storage], geometries: &[Geometry]) -> Result<Vec<Piece>, String> {
    asu.iter().map(|storage| piece_on(storage, geometries)).collect()
}

/// The piece of an ASU on one target.
fn piece_on(storage: &Storage, geometries: &[Geometry]) -> Result<Piece, String> {
    let geometry = geometries.get(usize::from(storage.target)).ok_or("a target has no size")?;
    if u64::from(geometry.block) > BLOCK {
        return Err(format!(
            "a target has blocks of {}, and the operations of an OLTP load are multiples of {BLOCK} bytes: give one with blocks of \
                     at most so many",
            geometry.block
        ));
    }
    let whole = (0, geometry.size);
    let (begin, length) = storage.extent.map_or(whole, |extent| extent.range_within(geometry.size, BLOCK as u32));
    let blocks = length / BLOCK;
    if blocks < LONGEST {
        return Err(format!(
            "a target of {} is too small for a part of an ASU, which has at least {}: give a larger one",
            Bytes::new(geometry.size).human_text(),
            Bytes::new(LONGEST * BLOCK).human_text()
        ));
    }
    Ok(Piece { target: storage.target, begin, blocks })
}

/// The part of an ASU on the single target that all of them share.
fn part_of_one_target(asu: usize) -> Storage {
    let begin = Amount::Share(Share::from_percent(SHARES[..asu].iter().sum()));
    let length = Amount::Share(Share::from_percent(SHARES[asu]));
    Storage { target: 0, extent: Some(Extent::new(begin, Some(length))) }
}

/// The storage of the ASUs on `targets` targets: as many targets in order as `of_each` gives each of them, or one
/// target each of three, or a share each of a single target.
fn asu_storage(targets: u16, of_each: Option<[u16; 3]>) -> Result<[Vec<Storage>; 3], String> {
    let of_each = match (targets, of_each) {
        (1, None) => return Ok([0, 1, 2].map(|asu| vec![part_of_one_target(asu)])),
        (3, None) => [1; 3],
        (_, Some(of_each)) => of_each,
        (_, None) => {
            return Err(format!(
                "an OLTP load has three application storage units, and {targets} targets were given: give one, which they share, or three, \
                 or write how many each of them has, such as asu_targets = [2, 2, 1]"
            ));
        }
    };
    let all: u32 = of_each.iter().map(|own| u32::from(*own)).sum();
    if all != u32::from(targets) || of_each.contains(&0) {
        let [a, b, c] = of_each;
        return Err(format!(
            "asu_targets = [{a}, {b}, {c}] is for {all} targets, at least one each, and {targets} were given"
        ));
    }
    let mut from = 0;
    Ok(of_each.map(|own| {
        from += own;
        (from - own..from).map(|target| Storage { target, extent: None }).collect()
    }))
}

impl Oltp {
    /// The load as a number of BSUs, rounded up. Each BSU has a set of streams with positions of their own.
    pub fn bsu_count(&self) -> u32 {
        (self.rate.as_f64() / RATE as f64).ceil().max(1.0) as u32
    }

    /// The targets of an ASU, 1 to 3, in ascending order.
    pub(crate) fn targets_of(&self, asu: u8) -> Vec<u16> {
        let mut own: Vec<u16> = self.asus[usize::from(asu) - 1].iter().map(|it| it.target).collect();
        own.sort_unstable();
        own.dedup();
        own
    }

    /// The parts of the targets that data store and user store lie on.
    pub(crate) fn store_ranges(&self, geometries: &[Geometry]) -> Result<Vec<Range>, String> {
        let ([data, user, _], _) = self.asu_pieces(geometries)?;
        Ok(data.into_iter().chain(user).map(Piece::byte_range).collect())
    }

    /// The pieces of each ASU, and how many of its blocks are used. The error says what is too small.
    pub(super) fn asu_pieces(&self, geometries: &[Geometry]) -> Result<([Vec<Piece>; 3], [u64; 3]), String> {
        let [data, user, log] = self.asus.each_ref();
        let pieces = [pieces_of(data, geometries)?, pieces_of(user, geometries)?, pieces_of(log, geometries)?];
        let storage = pieces.each_ref().map(|own| own.iter().map(|piece| piece.blocks).sum::<u64>());
        let used = trimmed_sizes(storage, pieces[2].len() as u64).ok_or_else(|| {
            let [a, b, c] = storage.map(|blocks| Bytes::new(blocks * BLOCK).human_text());
            format!(
                "the log, ASU 3, has {c}, and needs a ninth of the two stores together, twice the smaller of {a} and {b}: give it more, \
                 or the stores less"
            )
        })?;
        Ok((pieces, used))
    }

    /// How many bytes of each ASU are used on targets of these geometries.
    pub fn used_bytes(&self, geometries: &[Geometry]) -> Result<[u64; 3], String> {
        self.asu_pieces(geometries).map(|(_, blocks)| blocks.map(|blocks| blocks * BLOCK))
    }

    /// Whether the ASUs fit on targets of these geometries; the error says what is too small.
    pub fn check_fits(&self, geometries: &[Geometry]) -> Result<(), String> {
        self.asu_pieces(geometries).map(|_| ())
    }
}
