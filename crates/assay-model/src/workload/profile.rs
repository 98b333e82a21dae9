//! `model = "profile"`: what production does, as `assay import` writes it and a person edits it. The source of a number
//! is the comment behind it, otherwise its place in this file.

use super::address::AddressKeys;
use super::arrival::ArrivalKeys;
use super::common::workload_file;
use super::definition::Workload;
use super::source::Source;
use super::stream_keys::RangeKeys;
use super::streams::read_range;
use crate::act::standard_criteria;
use crate::address::Address;
use crate::profile::{
    Drive, Flow, Habits, LargeBlocks, Lowered, Others, PartKind, Profile, ProfileFault, ProfilePart, Seen, Sizes,
    Sourced,
};
use crate::size::Size;
use assay_base::{Bytes, Criterion, Fault, Rate, Share, Span};
use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;

/// Upper bound on the parts, and on the drives.
const TABLES_MAX: usize = 1024;

workload_file! {
    struct File {
        drive: Option<Spanned<String>>,
        #[serde(default)]
        namespace: Vec<Spanned<PartKeys>>,
        #[serde(default)]
        application: Vec<Spanned<PartKeys>>,
        #[serde(default)]
        iostat: Vec<Spanned<DriveKeys>>,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartKeys {
    name: Spanned<String>,
    node: Option<String>,
    #[serde(default)]
    drives: Vec<String>,
    in_flight: Option<Spanned<u32>>,
    flushes: Option<Spanned<Rate>>,
    commit_to_device: Option<bool>,
    commit_min: Option<Spanned<Bytes>>,
    compress_to: Option<Spanned<Share>>,
    reads: Option<Spanned<FlowKeys>>,
    writes: Option<Spanned<FlowKeys>>,
    large_blocks: Option<Spanned<BlockKeys>>,
    others: Option<Spanned<OtherKeys>>,
    clients: Option<ClientKeys>,
}

/// Texts with their values, such as `["4KiB", "62%"]`.
type Pairs<A, B> = Spanned<Vec<(A, B)>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowKeys {
    rate: Option<Spanned<Rate>>,
    larger_than: Option<Pairs<Bytes, Share>>,
    sizes: Option<Pairs<Bytes, Share>>,
    position: Option<Spanned<Share>>,
    durable: Option<bool>,
    address: Option<Spanned<AddressKeys>>,
    range: Option<Spanned<RangeKeys>>,
    places: Option<Spanned<String>>,
    arrival: Option<Spanned<ArrivalKeys>>,
    misses: Option<Pairs<Bytes, Share>>,
    rewritten: Option<Spanned<Share>>,
    sequential: Option<Spanned<Share>>,
    zipf: Option<Spanned<f64>>,
    zipf_error: Option<Share>,
    hot_zones: Option<Pairs<Share, Share>>,
    dispersion: Option<Pairs<Span, f64>>,
    hours: Option<Spanned<Vec<f64>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockKeys {
    size: Option<Spanned<Bytes>>,
    writes: Option<Spanned<Rate>>,
    direct_frees: Option<Spanned<Rate>>,
    reads: Option<Spanned<Rate>>,
    defrag_below: Option<Spanned<Share>>,
    write_scale: Option<Spanned<Share>>,
    read_scale: Option<Spanned<Share>>,
    durable: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OtherKeys {
    reads: Option<Spanned<Rate>>,
    writes: Option<Spanned<Rate>>,
    size: Option<Spanned<Bytes>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientKeys {
    reads_over: Option<Pairs<Span, Share>>,
    writes_over: Option<Pairs<Span, Share>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DriveKeys {
    drive: Spanned<String>,
    node: Option<String>,
    reads: Option<Spanned<Rate>>,
    writes: Option<Spanned<Rate>>,
    read_bytes: Option<Spanned<Bytes>>,
    write_bytes: Option<Spanned<Bytes>>,
    read_await: Option<Spanned<Span>>,
    write_await: Option<Spanned<Span>>,
    reads_deviation: Option<Spanned<Share>>,
    writes_deviation: Option<Spanned<Share>>,
    reports: Option<u64>,
}

/// The workload of a profile.
pub(super) fn read_profile_workload(source: Source<'_>) -> Result<Workload, Fault> {
    let mut file: File = source.parse_file()?;
    let common = file.common();
    let profile = meant_profile(source, &file)?;
    let lowered = profile.lower_to_streams().map_err(|unfit| fault_at_key(source, &file, &unfit))?;
    profile_workload("profile", lowered).with_common_keys(source, common)
}

/// The profile of a file alone, without its load: what `assay fit` and `assay size` compare with.
pub fn read_profile(file: &str, text: &str) -> Result<Profile, Fault> {
    let source = Source { file, text };
    let parsed = source.parse_file::<File>()?;
    if parsed.model != "profile" {
        let what = format!("a workload of the model \"{}\", not a profile", parsed.model.escape_debug());
        return Err(Fault::for_file(
            file,
            what,
            "make a profile of what was collected in production with assay import",
        ));
    }
    meant_profile(source, &parsed)
}

/// The standard criteria for each of these streams.
fn criteria_of_reads(reads: &[String], window: Span) -> Vec<Criterion> {
    let mut criteria = Vec::new();
    for stream in reads {
        let standard = standard_criteria(window).into_iter();
        criteria.extend(standard.map(|criterion| Criterion { stream: stream.clone(), ..criterion }));
    }
    criteria
}

/// A workload with the streams of a profile. The standard criteria apply to the operations that clients wait for.
pub fn profile_workload(name: &str, lowered: Lowered) -> Workload {
    let reads = lowered.reads.clone();
    let mut workload = Workload::new(name, "profile", lowered.streams, |window| criteria_of_reads(&reads, window));
    workload.load.lanes = lowered.lanes;
    workload.load.loops = lowered.loops;
    workload.derivation = lowered.derivation;
    workload.notes = lowered.notes;
    workload
}

fn meant_profile(source: Source<'_>, file: &File) -> Result<Profile, Fault> {
    let many = file.namespace.len() + file.application.len() > TABLES_MAX || file.iostat.len() > TABLES_MAX;
    if many {
        return Err(Fault::for_file(source.file, "too many tables", format!("write at most {TABLES_MAX} of a kind")));
    }
    let namespaces = file.namespace.iter().map(|keys| read_part(source, PartKind::Namespace, keys.get_ref()));
    let applications = file.application.iter().map(|keys| read_part(source, PartKind::Application, keys.get_ref()));
    Ok(Profile {
        drive: file.drive.as_ref().map(|name| name.get_ref().clone()),
        parts: namespaces.chain(applications).collect::<Result<_, Fault>>()?,
        drives: file.iostat.iter().map(|keys| read_drive(source, keys.get_ref())).collect(),
    })
}

/// The comment behind a value, or its place.
fn origin_of_value(source: Source<'_>, span: &Range<usize>) -> String {
    let rest = source.text.get(span.end..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let comment = rest.trim_start_matches([',', ' ', '\t', ']']);
    match comment.strip_prefix('#') {
        Some(comment) => assay_base::text::one_line(comment.trim()),
        None => {
            let line = source.text.get(..span.start).unwrap_or_default().matches('\n').count() + 1;
            format!("{}:{line}", source.file)
        }
    }
}

fn sourced_with<T: Clone, U>(
    source: Source<'_>,
    value: &Option<Spanned<T>>,
    with: impl FnOnce(T) -> U,
) -> Option<Sourced<U>> {
    let value = value.as_ref()?;
    Some(Sourced::new(with(value.get_ref().clone()), origin_of_value(source, &value.span())))
}

fn sourced_plain<T: Clone>(source: Source<'_>, value: &Option<Spanned<T>>) -> Option<Sourced<T>> {
    sourced_with(source, value, |value| value)
}

fn read_part(source: Source<'_>, kind: PartKind, keys: &PartKeys) -> Result<ProfilePart, Fault> {
    let name = keys.name.get_ref().clone();
    if name.is_empty() || name.len() > 64 {
        return Err(source.fault_at(keys.name.span(), "not a name", "write 1 to 64 characters"));
    }
    if let Some(blocks) = keys.large_blocks.as_ref().filter(|_| kind == PartKind::Application) {
        let remedy = "write [[namespace]], or give the application its writes as they are";
        return Err(source.fault_at(blocks.span(), "an application has no large blocks", remedy));
    }
    if let Some(others) = keys.others.as_ref().filter(|_| kind == PartKind::Application) {
        let remedy = "add them to its reads and writes, or write another [[application]]";
        return Err(source.fault_at(others.span(), "an application has no other operations", remedy));
    }
    if let Some(share) = keys.compress_to.as_ref().filter(|share| *share.get_ref() > Share::WHOLE) {
        return Err(source.fault_at(share.span(), "data can compress to at most 100%", "write 100% or less"));
    }
    let clients = keys.clients.as_ref();
    Ok(ProfilePart {
        kind,
        name,
        node: keys.node.clone().unwrap_or_default(),
        drives: keys.drives.clone(),
        in_flight: read_in_flight(source, kind, keys)?,
        flushes: sourced_plain(source, &keys.flushes),
        reads: keys.reads.as_ref().map(|keys| read_flow(source, keys)).transpose()?,
        writes: keys.writes.as_ref().map(|keys| read_flow(source, keys)).transpose()?,
        large_blocks: keys
            .large_blocks
            .as_ref()
            .map(|keys| read_large_blocks(source, keys.get_ref()))
            .unwrap_or_default(),
        others: keys.others.as_ref().map(|keys| read_others(keys.get_ref())).unwrap_or_default(),
        commit_to_device: keys.commit_to_device.unwrap_or(false),
        commit_min: keys.commit_min.as_ref().map(|least| *least.get_ref()),
        compress_to: keys.compress_to.as_ref().map(|share| *share.get_ref()),
        reads_over: clients.and_then(|clients| sourced_plain(source, &clients.reads_over)),
        writes_over: clients.and_then(|clients| sourced_plain(source, &clients.writes_over)),
    })
}

fn read_flow(source: Source<'_>, table: &Spanned<FlowKeys>) -> Result<Flow, Fault> {
    let keys = table.get_ref();
    if let (Some(_), Some(sizes)) = (&keys.larger_than, &keys.sizes) {
        let remedy = "keep larger_than (shares over growing sizes) or sizes (shares of each size)";
        // At the key, not at its value: the key is what must be removed.
        let key = source.text.get(..sizes.span().start).and_then(|before| before.rfind("sizes"));
        let span = key.map_or_else(|| sizes.span(), |at| at..at + "sizes".len());
        return Err(source.fault_at(span, "sizes are given twice", remedy));
    }
    if let Some(position) = keys.position.as_ref().filter(|_| keys.larger_than.is_none()) {
        let remedy = "remove it: a position says where in the buckets of larger_than sizes lie";
        return Err(source.fault_at(position.span(), "a position without larger_than", remedy));
    }
    if let Some(zipf) = keys.zipf.as_ref().filter(|zipf| !(zipf.get_ref().is_finite() && *zipf.get_ref() >= 0.0)) {
        return Err(source.fault_at(zipf.span(), "not an exponent", "write a number from 0, such as 1.1"));
    }
    let larger = sourced_with(source, &keys.larger_than, Sizes::LargerThan);
    let sizes = larger.or_else(|| sourced_with(source, &keys.sizes, Sizes::Each));
    if let Some((at, what, remedy)) = sizes.as_ref().and_then(|sizes| sizes.value.why_invalid()) {
        let span = [&keys.larger_than, &keys.sizes].into_iter().flatten().next().map_or(table.span(), Spanned::span);
        return Err(source.fault_at(line_of(source, span, at), what, remedy));
    }
    let error = keys.zipf_error.unwrap_or_default();
    Ok(Flow {
        rate: sourced_plain(source, &keys.rate),
        sizes,
        position: keys.position.as_ref().map_or(Share::WHOLE, |position| *position.get_ref()),
        durable: keys.durable.unwrap_or(false),
        seen: read_seen(source, keys)?,
        habits: Habits {
            sequential: sourced_plain(source, &keys.sequential),
            zipf: sourced_with(source, &keys.zipf, |zipf| (zipf, error)),
            hot_zones: sourced_plain(source, &keys.hot_zones),
            dispersion: sourced_plain(source, &keys.dispersion),
            misses: sourced_plain(source, &keys.misses),
            rewritten: sourced_plain(source, &keys.rewritten),
            hours: sourced_plain(source, &keys.hours),
        },
    })
}

/// Where the operations of a flow go and when they come.
fn read_seen(source: Source<'_>, keys: &FlowKeys) -> Result<Seen, Fault> {
    let largest = keys.sizes.as_ref().or(keys.larger_than.as_ref());
    let largest = largest.and_then(|sizes| sizes.get_ref().iter().map(|(size, _)| *size).max());
    let size = Size::from_fixed(largest.unwrap_or(Bytes::new(512)));
    let wrong = |span: Range<usize>, what: String, remedy: String| source.fault_at(span, what, remedy);
    let mut seen = Seen::default();
    if let Some(address) = &keys.address {
        let meant = address.get_ref().meant_address(&size);
        let meant = meant.map_err(|(what, remedy)| wrong(address.span(), what, remedy))?;
        if matches!(meant, Address::NeverSeen { .. } | Address::Behind { .. }) {
            let remedy = "write a heat map, a law such as { zipf = 1.1 }, \"sequential\" or \"uniform\"".to_owned();
            return Err(wrong(address.span(), "not an address of a profile".to_owned(), remedy));
        }
        seen.address = Some(Sourced::new(meant, origin_of_value(source, &address.span())));
    }
    if let Some(range) = &keys.range {
        let extent = read_range(source, &keys.range)?;
        seen.range = extent.map(|extent| Sourced::new(extent, origin_of_value(source, &range.span())));
    }
    if let Some(places) = &keys.places {
        if places.get_ref().is_empty() || places.get_ref().len() > 64 {
            return Err(source.fault_at(places.span(), "not a name", "write 1 to 64 characters"));
        }
        seen.places = Some(places.get_ref().clone());
    }
    if let Some(arrival) = &keys.arrival {
        let meant = arrival.get_ref().meant_arrival(Rate::per_second(1));
        let meant = meant.map_err(|(what, remedy)| wrong(arrival.span(), what.to_owned(), remedy.to_owned()))?;
        seen.arrival = Some(Sourced::new(meant, origin_of_value(source, &arrival.span())));
    }
    Ok(seen)
}

/// How many operations an application keeps in flight.
fn read_in_flight(source: Source<'_>, kind: PartKind, keys: &PartKeys) -> Result<Option<Sourced<u32>>, Fault> {
    let Some(in_flight) = &keys.in_flight else { return Ok(None) };
    if kind == PartKind::Namespace {
        let remedy = "write [[application]], or remove it: a namespace has rates";
        return Err(source.fault_at(in_flight.span(), "a namespace is not a closed loop", remedy));
    }
    if !(1..=16_384).contains(in_flight.get_ref()) {
        return Err(source.fault_at(in_flight.span(), "not a number of operations in flight", "write 1 to 16384"));
    }
    Ok(sourced_plain(source, &keys.in_flight))
}

/// The position of pair `at` in a list, counted from 0.
fn line_of(source: Source<'_>, span: Range<usize>, at: usize) -> Range<usize> {
    let text = source.text.get(span.clone()).unwrap_or_default();
    let inner = text.char_indices().skip(1).filter(|(_, c)| *c == '[').nth(at);
    match inner.and_then(|(from, _)| Some((from, from + text[from..].find(']')? + 1))) {
        Some((from, to)) => span.start + from..span.start + to,
        None => span,
    }
}

/// The share that a key says, or the usual one.
fn share_or(share: &Option<Spanned<Share>>, usual: Share) -> Share {
    share.as_ref().map_or(usual, |share| *share.get_ref())
}

fn read_others(keys: &OtherKeys) -> Others {
    let size = keys.size.as_ref().map_or(Others::default().size, |size| *size.get_ref());
    let reads = keys.reads.as_ref().map_or(Rate::ZERO, |rate| *rate.get_ref());
    let writes = keys.writes.as_ref().map_or(Rate::ZERO, |rate| *rate.get_ref());
    Others { reads, writes, size }
}

fn read_large_blocks(source: Source<'_>, keys: &BlockKeys) -> LargeBlocks {
    let usual = LargeBlocks::default();
    LargeBlocks {
        size: keys.size.as_ref().map_or(usual.size, |size| *size.get_ref()),
        writes: sourced_plain(source, &keys.writes),
        direct_frees: sourced_plain(source, &keys.direct_frees),
        reads: sourced_plain(source, &keys.reads),
        defrag_below: share_or(&keys.defrag_below, usual.defrag_below),
        write_scale: share_or(&keys.write_scale, usual.write_scale),
        read_scale: share_or(&keys.read_scale, usual.read_scale),
        durable: keys.durable.unwrap_or(usual.durable),
    }
}

fn read_drive(source: Source<'_>, keys: &DriveKeys) -> Drive {
    Drive {
        node: keys.node.clone().unwrap_or_default(),
        name: keys.drive.get_ref().clone(),
        reads: sourced_plain(source, &keys.reads),
        writes: sourced_plain(source, &keys.writes),
        read_bytes: sourced_plain(source, &keys.read_bytes),
        write_bytes: sourced_plain(source, &keys.write_bytes),
        read_await: sourced_plain(source, &keys.read_await),
        write_await: sourced_plain(source, &keys.write_await),
        reads_deviation: sourced_plain(source, &keys.reads_deviation),
        writes_deviation: sourced_plain(source, &keys.writes_deviation),
        reports: keys.reports.unwrap_or(0),
    }
}

/// The fault at the key that is wrong, or at the table where it is missing.
fn fault_at_key(source: Source<'_>, file: &File, unfit: &ProfileFault) -> Fault {
    let part = unfit.part.and_then(|index| file.namespace.iter().chain(&file.application).nth(index));
    let place = part.map(|part| key_of(part, unfit.table, unfit.key).unwrap_or_else(|| part.span()));
    let place = place.or_else(|| file.drive.as_ref().filter(|_| unfit.key == "drive").map(Spanned::span));
    match place {
        Some(span) => source.fault_at(span, unfit.what.clone(), unfit.remedy.clone()),
        None => Fault::for_file(source.file, unfit.what.clone(), unfit.remedy.clone()),
    }
}

/// The place of a key of a flow, or of its table if the key is not written.
fn key_of_flow(table: &Spanned<FlowKeys>, key: &str) -> Option<Range<usize>> {
    let keys = table.get_ref();
    let own = match key {
        "rate" => keys.rate.as_ref().map(Spanned::span),
        "larger_than" => keys.larger_than.as_ref().or(keys.sizes.as_ref()).map(Spanned::span),
        "position" => keys.position.as_ref().map(Spanned::span),
        _ => None,
    };
    own.or_else(|| Some(table.span()))
}

/// The place of a key of large blocks, or of their table if the key is not written.
fn key_of_blocks(table: &Spanned<BlockKeys>, key: &str) -> Option<Range<usize>> {
    let keys = table.get_ref();
    let own = match key {
        "size" => keys.size.as_ref().map(Spanned::span),
        "writes" => keys.writes.as_ref().map(Spanned::span),
        "direct_frees" => keys.direct_frees.as_ref().map(Spanned::span),
        "reads" => keys.reads.as_ref().map(Spanned::span),
        "defrag_below" => keys.defrag_below.as_ref().map(Spanned::span),
        "write_scale" => keys.write_scale.as_ref().map(Spanned::span),
        "read_scale" => keys.read_scale.as_ref().map(Spanned::span),
        _ => None,
    };
    own.or_else(|| Some(table.span()))
}

fn key_of(part: &Spanned<PartKeys>, table: &str, key: &str) -> Option<Range<usize>> {
    let keys = part.get_ref();
    match table {
        "reads" => key_of_flow(keys.reads.as_ref()?, key),
        "writes" => key_of_flow(keys.writes.as_ref()?, key),
        "large_blocks" => key_of_blocks(keys.large_blocks.as_ref()?, key),
        _ if key == "commit_min" => keys.commit_min.as_ref().map(Spanned::span),
        _ => None,
    }
}
