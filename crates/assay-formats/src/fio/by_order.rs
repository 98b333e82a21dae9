//! `bs_is_seq_rand`: the two values of `bs` are for sequential and for random operations, instead of reads and writes.
//!
//! In a job that is random in part, each operation is one or the other, and its size follows. fio draws random places
//! from multiples of the size of the *direction* (`ba`, by default the smallest `bs` of reads or of writes), whatever
//! the size of the operation: 4 KiB at multiples of 64 KiB in `randread` with `bs=64k,4k`.

use super::job::Job;
use super::order::{Mode, index_of_direction};
use super::sizes::fixed_sizes;
use assay_base::{Bytes, Fault, Share};
use assay_model::Address;
use assay_model::size::{Size, Sizes};

/// The operations of one direction of such a job.
#[derive(Clone, Debug)]
pub(super) struct ByOrder {
    sequential: Size,
    random: Size,
    /// How many percent of the operations are random.
    share: u64,
    /// The places of random operations are multiples of it.
    unit: Bytes,
}

/// One of the streams that a job of both kinds of operations has.
pub(super) struct StreamOfOrder {
    /// The end of its name.
    pub behind: &'static str,
    pub size: Size,
    pub address: Address,
    pub share: Share,
}

/// The sizes by order of a job with `bs_is_seq_rand`; `None` without it.
pub(super) fn by_order(job: &Job<'_>, mode: Mode) -> Result<Option<ByOrder>, Fault> {
    let is_asked = job.is_switched_on("bs_is_seq_rand")?;
    let Some(entry) = job.find_entry("bs_is_seq_rand").filter(|_| is_asked) else { return Ok(None) };
    if let Some(entry) = ["bsrange", "bssplit"].into_iter().find_map(|key| job.find_entry(key)) {
        return Err(job.not_yet(entry, "several sizes for each order", "write bs=64k,4k, or remove bs_is_seq_rand"));
    }
    let [sequential, random] = fixed_sizes(job)?;
    let percent = job.pair_of_key("percentage_random", |_, text| super::number::parse_percent(text))?;
    let first = mode.directions().map(index_of_direction).next().unwrap_or(0);
    let share = if mode.random { percent[first].unwrap_or(100) } else { 0 };
    let align = job.pair_of_key("ba", |reading, text| reading.parse_count(text))?[first];
    let unit = align.map_or(if first == 1 { random.from } else { sequential.from }, Bytes::new);
    let order = ByOrder { sequential, random, share, unit };
    if order.sequential == order.random || share == 0 {
        return Ok(Some(order));
    }
    let differs = percent[0].unwrap_or(100) != percent[1].unwrap_or(100);
    if mode.reads_and_writes() && (order.is_mixed() || differs) {
        let what = "a job of reads and writes that is random in part, with a size for each order,";
        return Err(job.not_yet(entry, what, "write a job for the reads and one for the writes"));
    }
    let has_map = !job.is_switched_on("norandommap")?;
    if has_map && (order.is_mixed() || mode.reads) {
        let what = "a random map whose blocks have another size than the operations";
        return Err(job.not_yet(entry, what, "add norandommap"));
    }
    Ok(Some(order))
}

impl ByOrder {
    /// Whether it has operations of both kinds, with different sizes.
    pub(super) fn is_mixed(&self) -> bool {
        (1..100).contains(&self.share) && self.sequential != self.random
    }

    /// The places of random operations are multiples of this.
    pub(super) fn place_unit(&self) -> Bytes {
        self.unit
    }

    /// The sizes of all operations together.
    pub(super) fn overall_size(&self) -> Size {
        let bars = vec![size_bar(&self.random, self.share), size_bar(&self.sequential, 100 - self.share)];
        match self.share {
            0 => self.sequential.clone(),
            _ => Size::from_histogram(bars).unwrap_or_else(|| self.random.clone()),
        }
    }

    /// The streams of a job of both kinds: each of its operations is drawn to be random or directly behind the one before.
    pub(super) fn both_streams(&self) -> [StreamOfOrder; 2] {
        let sequential = Share::from_percent(100 - self.share);
        [
            StreamOfOrder {
                behind: ".random",
                size: self.random.clone(),
                address: Address::Uniform { align: self.unit },
                share: Share::from_percent(self.share),
            },
            StreamOfOrder {
                behind: ".sequential",
                size: self.sequential.clone(),
                address: Address::Behind { align: Bytes::default() },
                share: sequential,
            },
        ]
    }
}

/// The sizes of a size that is not a histogram, as a part of a histogram.
fn size_bar(size: &Size, weight: u64) -> Sizes {
    Sizes { from: size.from, to: size.to, weight }
}

/// Refuses what cannot be driven beside operations of both kinds: what belongs to the job as a whole, and not to one of
/// its two streams.
pub(super) fn refuse_beside(job: &Job<'_>, several_files: bool) -> Result<(), Fault> {
    let keys = ["rate", "rate_iops", "rate_min", "rate_iops_min", "thinktime", "fsync", "fdatasync", "zonemode"];
    if let Some(entry) = keys.into_iter().find_map(|key| job.find_entry(key)) {
        let what = "beside operations whose size depends on their order, this key";
        return Err(job.not_yet(entry, what, "write one bs without bs_is_seq_rand"));
    }
    match job.find_entry("bs_is_seq_rand").filter(|_| several_files) {
        Some(entry) => Err(job.not_yet(entry, "a size for each order on several files", "write a job for each file")),
        None => Ok(()),
    }
}
