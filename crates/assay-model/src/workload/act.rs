//! `model = "act-storage"` and `model = "act-index"`. Rates are for each target, at 1x.

use super::address::text_or_table;
use super::common::workload_file;
use super::definition::Workload;
use super::source::Source;
use crate::act::{Impossible, Index, Pace, Rates, Storage, standard_criteria, storage};
use crate::plan::Stream;
use crate::size::Size;
use assay_base::{Bytes, Fault, Rate, Share, Span};

workload_file! {
    struct StorageFile {
        read_rate: Option<Rate>,
        write_rate: Option<Rate>,
        record: Option<Record>,
        large_block: Option<Bytes>,
        replication_factor: Option<u32>,
        update: Option<Share>,
        defrag_below: Option<Share>,
        defrag_reads: Option<bool>,
        commit_to_device: Option<bool>,
        commit_min: Option<Bytes>,
        tomb_raider: Option<bool>,
        tomb_raider_pause: Option<Span>,
        compress_to: Option<Share>,
        durable: Option<bool>,
        rates: Option<Rates>,
        arrival: Option<Pace>,
    }
}

workload_file! {
    struct IndexFile {
        read_rate: Option<Rate>,
        write_rate: Option<Rate>,
        replication_factor: Option<u32>,
        defrag_below: Option<Share>,
        durable: Option<bool>,
        arrival: Option<Pace>,
    }
}

/// `record = "1536B"` or `{ from = …, to = … }`.
struct Record(Size);

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    from: Bytes,
    to: Bytes,
}

text_or_table!(
    Record,
    "a quoted Bytes",
    |text, E| text.parse().map(|bytes| Record(Size::from_fixed(bytes))).map_err(E::custom),
    |range: Range| Record(Size::from_range(range.from, range.to))
);

/// Overwrites the default of each key that is in the file.
macro_rules! take {
    ($file:ident => $inputs:ident: $($key:ident),*) => { $(if let Some(value) = $file.$key { $inputs.$key = value; })* };
}

pub(super) fn read_storage(source: Source<'_>) -> Result<Workload, Fault> {
    let mut file: StorageFile = source.parse_file()?;
    let common = file.common();
    let mut inputs = Storage::default();
    take!(file => inputs: read_rate, write_rate, large_block, replication_factor, update, defrag_below, defrag_reads,
        commit_to_device, commit_min, tomb_raider, tomb_raider_pause, compress_to, durable, rates);
    inputs.pace = file.arrival.unwrap_or(inputs.pace);
    inputs.record = file.record.map_or(inputs.record, |Record(size)| size);
    let mut workload =
        act_workload(source, "act-storage", inputs.lower_to_streams())?.with_common_keys(source, common)?;
    workload.load.lanes = Storage::large_block_lanes(storage::LARGE_IN_FLIGHT.min(workload.load.in_flight_bound));
    let how = if inputs.rates == Rates::Exact { "exact arithmetic" } else { "ACT 6.6's whole records per block" };
    workload.notes.push(format!("derived rates use {how}"));
    Ok(workload)
}

pub(super) fn read_index(source: Source<'_>) -> Result<Workload, Fault> {
    let mut file: IndexFile = source.parse_file()?;
    let common = file.common();
    let mut inputs = Index::default();
    take!(file => inputs: read_rate, write_rate, replication_factor, defrag_below, durable);
    inputs.pace = file.arrival.unwrap_or(inputs.pace);
    let mut workload =
        act_workload(source, "act-index", inputs.lower_to_streams())?.with_common_keys(source, common)?;
    workload.load.lanes = Index::cache_lanes(workload.load.in_flight_bound);
    Ok(workload)
}

/// The standard criteria are about reads; a load without reads is judged only on being delivered.
fn act_workload(
    source: Source<'_>,
    model: &'static str,
    streams: Result<Vec<Stream>, Impossible>,
) -> Result<Workload, Fault> {
    let streams = streams.map_err(|why| source.fault_of(why.key, why.what))?;
    let reads = streams.iter().any(|stream| stream.name == "reads");
    Ok(Workload::new(model, model, streams, |window| if reads { standard_criteria(window) } else { Vec::new() }))
}
