//! Converts the keys of a production profile ("Advanced Flash Device Sizing", 2018) to a profile. No released ACT has
//! these keys: `docs/sizing.md` says what they mean beyond that text.

use super::conf::{Conf, Production};
use super::unrunnable::Unrunnable;
use assay_base::{Bytes, Rate, Share};
use assay_model::act::{Pace, Storage};
use assay_model::profile::{Flow, LargeBlocks, PartKind, Profile, ProfileFault, ProfilePart, Sizes, Sourced};
use assay_model::workload::{self, Workload};

/// The number of sizes that represent a range of records.
const RANGE_PARTS: u64 = 64;

/// The workload of a config with these keys. Its rates are for all devices together.
pub(super) fn workload_from_production(
    name: &str,
    conf: &Conf,
    keys: &Production,
    pace: Pace,
) -> Result<Workload, Unrunnable> {
    counted_already(conf, keys)?;
    let profile = Profile { parts: vec![profile_part(name, conf, keys)?], ..Profile::default() };
    let mut lowered = profile.lower_to_streams().map_err(|unfit| translate_refusal(&unfit))?;
    for stream in &mut lowered.streams {
        if let Some(rate) = stream.arrival.mean_rate() {
            stream.arrival = pace.arrival_at(rate);
        }
    }
    if conf.tomb_raider {
        let walk = Storage {
            read_rate: Rate::ZERO,
            write_rate: Rate::ZERO,
            large_block: conf.large_block,
            tomb_raider: true,
            tomb_raider_pause: conf.tomb_raider_sleep,
            ..Storage::default()
        };
        lowered.streams.extend(walk.lower_to_streams()?);
    }
    let mut workload = workload::profile_workload("profile", lowered);
    workload.name = name.to_owned();
    Ok(workload)
}

/// Refuses keys that storage histograms already account for.
fn counted_already(conf: &Conf, keys: &Production) -> Result<(), Unrunnable> {
    let histograms = !keys.read_over.is_empty() || !keys.write_over.is_empty();
    if histograms && conf.replication_factor > 1 {
        Err(counted_twice(&["replication-factor"], "replicas"))
    } else if histograms && conf.update_pct > 0 {
        Err(counted_twice(&["update-pct"], "the reads of updates"))
    } else {
        Ok(())
    }
}

fn counted_twice(keys: &'static [&'static str], what: &str) -> Unrunnable {
    let message = format!("the storage histograms of a cluster count {what} already");
    Unrunnable { keys, message, advice: "remove this key".to_owned() }
}

fn profile_part(name: &str, conf: &Conf, keys: &Production) -> Result<ProfilePart, Unrunnable> {
    let (reads, writes) = (u64::from(conf.read_reqs_per_sec), u64::from(conf.write_reqs_per_sec));
    let updates = Rate::per_second(writes).scaled_by(u64::from(conf.update_pct), 100);
    let reads = updates.and_then(|updates| updates.checked_plus(Rate::per_second(reads)));
    let writes = Rate::per_second(writes).scaled_by(u64::from(conf.replication_factor), 1);
    let (read_rate, write_rate) = (require_representable(reads)?, require_representable(writes)?);
    Ok(ProfilePart {
        kind: PartKind::Namespace,
        name: name.to_owned(),
        reads: Some(Flow {
            rate: Some(Sourced::new(read_rate, "read-reqs-per-sec")),
            sizes: Some(sourced_sizes(conf, &keys.read_over, "storage-read-histogram")),
            position: size_position(&keys.read_over, keys.read_size_offset),
            ..Flow::default()
        }),
        writes: Some(Flow {
            rate: Some(Sourced::new(write_rate, "write-reqs-per-sec")),
            sizes: Some(sourced_sizes(conf, &keys.write_over, "storage-write-histogram")),
            position: size_position(&keys.write_over, keys.write_size_offset),
            ..Flow::default()
        }),
        large_blocks: LargeBlocks {
            size: conf.large_block,
            writes: per_second(keys.total_lbw_per_sec, "total-lbw-per-sec"),
            direct_frees: per_second(keys.direct_frees, "direct-frees"),
            reads: None,
            defrag_below: Share::from_percent(conf.defrag_lwm_pct.into()),
            write_scale: keys.lbw_req_offset,
            read_scale: if conf.no_defrag_reads { Share::default() } else { keys.lbr_req_offset },
            durable: !conf.disable_odsync,
        },
        commit_to_device: conf.commit_to_device,
        commit_min: conf.commit_min_bytes,
        compress_to: Some(Share::from_percent(conf.compress_pct.into())),
        ..ProfilePart::default()
    })
}

fn require_representable(rate: Option<Rate>) -> Result<Rate, Unrunnable> {
    rate.ok_or_else(|| Unrunnable {
        keys: &["write-reqs-per-sec"],
        message: "the rates are too large to be represented".to_owned(),
        advice: "write smaller ones".to_owned(),
    })
}

fn per_second(number: Option<u32>, key: &str) -> Option<Sourced<Rate>> {
    number.map(|n| Sourced::new(Rate::per_second(n.into()), key))
}

/// The sizes of a histogram; without one, those of the records.
fn sourced_sizes(conf: &Conf, over: &[Share], histogram: &str) -> Sourced<Sizes> {
    if over.is_empty() {
        Sourced::new(record_sizes(conf), "record-bytes")
    } else {
        Sourced::new(Sizes::LargerThan(larger_than(over)), histogram)
    }
}

/// The position of the sizes of a histogram between the bounds of its buckets; without one, sizes are exact.
fn size_position(over: &[Share], position: Share) -> Share {
    if over.is_empty() { Share::WHOLE } else { position }
}

/// Value i of the list is the share of what is larger than 2^i bytes.
fn larger_than(over: &[Share]) -> Vec<(Bytes, Share)> {
    let all = over.iter().zip(0u32..).filter_map(|(share, i)| Some((Bytes::new(1u64.checked_shl(i)?), *share)));
    let all: Vec<(Bytes, Share)> = all.collect();
    let first = all.iter().rposition(|(_, share)| *share >= Share::WHOLE).unwrap_or(0);
    let zero = all.iter().position(|(_, share)| share.as_ppb() == 0).map_or(all.len(), |at| at + 1);
    all.get(first..zero).unwrap_or_default().to_vec()
}

/// Records of one size, or spread evenly between two sizes.
fn record_sizes(conf: &Conf) -> Sizes {
    let from = conf.record_bytes.get();
    let to = conf.record_bytes_range_max.map_or(from, |bytes| bytes.get()).max(from);
    let parts = RANGE_PARTS.min(to - from + 1);
    let share = Share::from_ppb(1_000_000_000 / parts);
    Sizes::Each((0..parts).map(|i| (Bytes::new(from + (to - from) * i / (parts - 1).max(1)), share)).collect())
}

/// Translates a refusal about a key of a profile to the keys of a config.
fn translate_refusal(unfit: &ProfileFault) -> Unrunnable {
    let keys: &[&str] = match (unfit.table, unfit.key) {
        ("reads", "position") => &["read-size-offset"],
        ("writes", "position") => &["write-size-offset"],
        ("reads", "larger_than") => &["storage-read-histogram", "record-bytes"],
        ("writes", "larger_than") => &["storage-write-histogram", "record-bytes"],
        ("reads", _) => &["read-reqs-per-sec"],
        ("writes", _) => &["write-reqs-per-sec"],
        (_, "size") => &["large-block-op-kbytes"],
        (_, "write_scale") => &["lbw-req-offset"],
        (_, "read_scale") => &["lbr-req-offset"],
        (_, "direct_frees") => &["direct-frees"],
        (_, "commit_min") => &["commit-min-bytes"],
        (_, "defrag_below") => &["defrag-lwm-pct"],
        (_, "writes") => &["total-lbw-per-sec"],
        _ => &[],
    };
    Unrunnable { keys, message: unfit.what.clone(), advice: unfit.remedy.clone() }
}
