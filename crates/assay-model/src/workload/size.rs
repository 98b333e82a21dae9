//! `size` of a stream: one, uniform between two, in steps between two, or shares of several.

use super::address::text_or_table;
use crate::size::{Size, Sizes};
use assay_base::{Bytes, Share};
use serde::Deserialize;

/// Upper bound on different sizes that are listed or made by steps.
const MOST: u64 = 1024;

/// The value as written in the file.
pub(super) enum SizeKeys {
    /// One size.
    Fixed(Bytes),
    /// Several.
    Table(Table),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    from: Option<Bytes>,
    to: Option<Bytes>,
    step: Option<Bytes>,
    shares: Option<Vec<(Bytes, Share)>>,
}

text_or_table!(
    SizeKeys,
    "a quoted Bytes",
    |text, E| text.parse().map(SizeKeys::Fixed).map_err(E::custom),
    |table: Table| SizeKeys::Table(table)
);

impl SizeKeys {
    /// The sizes; the error is what is wrong and what to write.
    pub(super) fn meant_size(&self) -> Result<Size, (String, String)> {
        let table = match self {
            SizeKeys::Fixed(bytes) => return Ok(Size::from_fixed(*bytes)),
            SizeKeys::Table(table) => table,
        };
        match (table.from, table.to, table.step, &table.shares) {
            (Some(from), Some(to), None, None) => Ok(Size::from_range(from, to)),
            (Some(from), Some(to), Some(step), None) => stepped_sizes(from, to, step),
            (None, None, None, Some(shares)) => sizes_with_shares(shares),
            (None, Some(_), _, None) => Err(("the key from is missing".into(), "add from = …".into())),
            (Some(_), None, _, None) => Err(("the key to is missing".into(), "add to = …".into())),
            _ => Err((
                "give sizes in exactly one way".into(),
                "write { from = \"512B\", to = \"64KiB\" }, with a step or without, or { shares = [[\"4KiB\", \"60%\"], [\"64KiB\", \"40%\"]] }".into(),
            )),
        }
    }
}

/// `from`, `from + step`, … up to `to`, all equally likely.
fn stepped_sizes(from: Bytes, to: Bytes, step: Bytes) -> Result<Size, (String, String)> {
    sizes_in_steps(from, to, step).ok_or_else(|| {
        (
            "these steps give no sizes, or too many".into(),
            format!("write a step that makes 1 to {MOST} sizes, with `from` not above `to`"),
        )
    })
}

/// The sizes from `from` to `to` in steps, all of the same weight; `None` if there is none, or if there are too many.
fn sizes_in_steps(from: Bytes, to: Bytes, step: Bytes) -> Option<Size> {
    let range = to.get().checked_sub(from.get())?;
    let more = range.checked_div(step.get()).filter(|more| *more < MOST)?;
    let mut bars = Vec::new();
    for n in 0..=more {
        let bytes = Bytes::new(from.get() + n * step.get());
        bars.push(Sizes { from: bytes, to: bytes, weight: 1 });
    }
    Size::from_histogram(bars)
}

fn sizes_with_shares(shares: &[(Bytes, Share)]) -> Result<Size, (String, String)> {
    let sum: u128 = shares.iter().map(|(_, share)| u128::from(share.as_ppb())).sum();
    let bars = shares.iter().map(|(bytes, share)| Sizes { from: *bytes, to: *bytes, weight: share.as_ppb() });
    let size = Size::from_histogram(bars.collect());
    let whole = sum == u128::from(Share::WHOLE.as_ppb())
        && shares.len() as u64 <= MOST
        && shares.iter().all(|(bytes, _)| bytes.get() > 0);
    size.filter(|_| whole).ok_or_else(|| {
        let sum = Share::from_ppb(u64::try_from(sum).unwrap_or(u64::MAX));
        (format!("the shares of sizes make {sum}"), format!("write up to {MOST} sizes above 0 whose shares make 100%"))
    })
}
