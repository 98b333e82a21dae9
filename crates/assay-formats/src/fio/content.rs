//! What the streams of a job write, and whether it is durable.

use super::job::Job;
use assay_base::{Bytes, Direction, Fault, Share};
use assay_model::plan::{Block, Work};
use assay_model::size::Size;
use assay_model::{Address, Extent};

/// The properties that all streams of a job have in common.
pub(super) struct Own {
    /// The share that written data compress to, and the share of them that repeats.
    pub content: (Share, Share),
    pub durable: bool,
    pub copies: u64,
}

impl Own {
    /// The work of a stream whose sizes and places come from a recording.
    pub(super) fn recorded_work(&self, direction: Direction) -> Work {
        let whole = Extent::new(assay_model::Amount::ZERO, None);
        self.block_work(direction, Size::from_fixed(Bytes::new(1)), Address::Recorded, whole, None)
    }

    /// The work of a stream of blocks.
    pub(super) fn block_work(
        &self,
        direction: Direction,
        size: assay_model::Size,
        address: assay_model::Address,
        extent: assay_model::Extent,
        places: Option<String>,
    ) -> Work {
        let writes = direction == Direction::Write;
        let plain = (Share::WHOLE, Share::default());
        let (compress_to, duplicates) = if writes { self.content } else { plain };
        let whole = assay_model::Extent::new(assay_model::Amount::ZERO, None);
        let durable = writes && self.durable;
        let extent = Some(extent).filter(|extent| *extent != whole);
        Work::Block(Block {
            direction,
            durable,
            size,
            address,
            extent,
            places,
            compress_to,
            duplicates,
            filled_with: None,
        })
    }
}

/// Whether writes are on stable media when they complete.
pub(super) fn are_writes_durable(job: &Job<'_>) -> Result<bool, Fault> {
    let Some((entry, value)) = job.value_of_key("sync")? else { return Ok(false) };
    match value.text.as_str() {
        "0" | "none" => Ok(false),
        "1" | "sync" | "dsync" => {
            job.note_difference(entry, "O_DSYNC");
            Ok(true)
        }
        _ => Err(job.fault_at_entry(entry, "no such way to write", "write none, sync or dsync")),
    }
}

/// The share that written data compress to, and the share of them that repeats.
pub(super) fn compressed_and_repeated_shares(job: &Job<'_>) -> Result<(Share, Share), Fault> {
    let compressible = job.percent_of_key("buffer_compress_percentage")?.unwrap_or(0);
    let duplicates = job.percent_of_key("dedupe_percentage")?.unwrap_or(0);
    if let Some(entry) = job.find_entry("dedupe_percentage").filter(|_| duplicates == 100) {
        return Err(job.fault_at_entry(entry, "the first of equal blocks repeats none", "write 99 or less"));
    }
    if let Some(entry) =
        job.find_entry("dedupe_mode").filter(|entry| entry.value.as_ref().is_none_or(|value| value.text != "repeat"))
    {
        return Err(job.fault_at_entry(entry, "not driven here", "write repeat"));
    }
    let zeros = job.is_switched_on("zero_buffers")?;
    if let Some(entry) = job.find_entry("zero_buffers").filter(|_| zeros) {
        job.note_difference(entry, entry.key.told);
    }
    let compress_to = if zeros { 0 } else { 100 - compressible };
    Ok((Share::from_percent(compress_to), Share::from_percent(duplicates)))
}
