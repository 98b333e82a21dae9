//! Any application, described by what reaches its drives: rates and sizes from traces, means from iostat.

use super::super::findings::{DriveSeen, Findings, Trace};
use super::super::tolerance::are_apart;
use super::assembled::Assembled;
use super::figures::{drive_from_iostat, drive_of, place_names, rate_in_words, rounded_rate};
use super::nodes::Nodes;
use assay_base::{Bytes, Share};
use assay_model::observed::Side as Counted;
use assay_model::profile::{Counting, Flow, PartKind, ProfilePart, Sizes, Sourced};
use std::collections::{BTreeMap, BTreeSet};

/// blktrace's events, in the order of how well they show what the drive was asked to do: issued, queued, completed.
const ACTIONS: [(&str, &str); 4] = [("D", "issued to the drive"), ("Q", "queued"), ("C", "completed"), ("", "")];

/// The findings about one drive.
#[derive(Default)]
struct Known<'a> {
    trace: Option<(&'a Trace, &'static str)>,
    iostat: Option<&'a DriveSeen>,
}

/// Makes an application of each drive.
pub(super) fn assemble_applications(found: &Findings, nodes: &Nodes, out: &mut Assembled) {
    let mut all = BTreeMap::<(String, String), Known<'_>>::new();
    for (action, words) in ACTIONS {
        for trace in &found.traces {
            if trace.action == action && trace.seen.reads.operations + trace.seen.writes.operations > 0 {
                let known = all.entry((nodes.node_of_file(trace.file).to_owned(), trace.device.clone())).or_default();
                known.trace.get_or_insert((trace, words));
            }
        }
    }
    let names: BTreeSet<(u16, &str)> = found.drives.keys().map(|(file, name)| (*file, name.as_str())).collect();
    for ((file, device), seen) in &found.drives {
        let moved = seen.column_mean("r/s").unwrap_or(0.0) + seen.column_mean("w/s").unwrap_or(0.0);
        // The disk of a partition counts the operations of its partitions too.
        let within = drive_of(device) != *device && names.contains(&(*file, drive_of(device).as_str()));
        if seen.reports > 0 && moved > 0.0 && !within {
            let known = all.entry((nodes.node_of_file(*file).to_owned(), device.clone())).or_default();
            known.iostat.get_or_insert(seen);
        }
    }
    for ((node, name), known) in &all {
        let part = application_part(found, node, name, known, out);
        out.profile.parts.push(part);
        if let Some(seen) = known.iostat {
            out.profile.drives.push(drive_from_iostat(found, node, name, seen));
        } else {
            out.add_missing(
                format!("iostat of {name}: the figures that the load is compared with"),
                format!("iostat -x -t {name} 10 60"),
            );
        }
    }
    if all.is_empty() {
        out.add_missing("the figures of the drives that are in use", "iostat -x -t 10 60, under load");
    }
}

/// The places where the figures of a direction stand.
struct Side {
    /// The direction in words.
    what: &'static str,
    /// The column of iostat with the operations per second.
    rate: &'static str,
    /// The column of iostat with the amount of data per second.
    bytes: &'static str,
    /// The part of a trace.
    of_trace: fn(&Trace) -> &Counted,
}

const READS: Side = Side { what: "reads", rate: "r/s", bytes: "rkB/s", of_trace: |trace| &trace.seen.reads };
const WRITES: Side = Side { what: "writes", rate: "w/s", bytes: "wkB/s", of_trace: |trace| &trace.seen.writes };

fn application_part(found: &Findings, node: &str, name: &str, known: &Known<'_>, out: &mut Assembled) -> ProfilePart {
    let traced = known.trace.map(|(trace, words)| traced_part(found, trace, words)).unwrap_or_default();
    let reads = drive_flow(found, name, known, &READS, traced.reads, out);
    let writes = drive_flow(found, name, known, &WRITES, traced.writes, out);
    if known.iostat.is_none_or(|seen| hourly_rates(found, seen).is_none()) {
        out.add_missing(format!("{name}: the mix over the hours of the day"), format!("iostat -x -t {name} 60 1440"));
    }
    ProfilePart {
        kind: PartKind::Application,
        name: name.to_owned(),
        node: node.to_owned(),
        drives: vec![name.to_owned()],
        in_flight: traced.in_flight,
        flushes: traced.flushes,
        reads,
        writes,
        ..ProfilePart::default()
    }
}

/// The operations of a drive in one direction; `None` where nothing was found about them.
fn drive_flow(
    found: &Findings,
    name: &str,
    known: &Known<'_>,
    side: &Side,
    counted: Option<Flow>,
    out: &mut Assembled,
) -> Option<Flow> {
    let what = side.what;
    let hours = known.iostat.and_then(|seen| hourly_rates(found, seen));
    let traced = known.trace.filter(|(trace, _)| (side.of_trace)(trace).operations > 0);
    let mut flow = match traced {
        Some(_) => counted,
        None => known.iostat.and_then(|seen| of_iostat(found, seen, side.rate, side.bytes)),
    }?;
    if let (Some((trace, _)), Some(seen)) = (traced, known.iostat) {
        compare_with_iostat(found, name, side, trace, seen, &mut flow, out);
    }
    if flow.rate.is_none() {
        name_missing_rate(name, what, out);
    }
    flow.habits.hours = if what == "reads" { hours } else { None };
    if traced.is_none() {
        out.add_missing(
            format!("{name}: sizes, addresses and bursts of its {what}; iostat has only the mean size"),
            format!("blktrace -d /dev/{name} -w 60 -o - | blkparse -i - > trace.txt"),
        );
    }
    Some(flow)
}

/// The rows of a trace without times give sizes and addresses, and no rate.
fn name_missing_rate(name: &str, what: &str, out: &mut Assembled) {
    let command =
        "iosnoop -ts, which prints the times, or a rate = … in the profile: operations by the seconds of the trace";
    out.add_missing(format!("{name}: a rate of its {what}; the rows of the trace have no times"), command);
}

/// Compares the rate of a trace with iostat's; a trace without times gets iostat's rate.
fn compare_with_iostat(
    found: &Findings,
    name: &str,
    side: &Side,
    trace: &Trace,
    seen: &DriveSeen,
    flow: &mut Flow,
    out: &mut Assembled,
) {
    let Some(mean) = seen.column_mean(side.rate) else { return };
    let what = side.what;
    match &flow.rate {
        None => {
            let source = format!("{}, iostat, mean of {} reports", found.place_name(seen.first), seen.reports);
            flow.rate = rounded_rate(mean).map(|rate| Sourced::new(rate, source));
        }
        Some(rate) if are_apart(rate.value.as_f64(), mean) => {
            let what = format!(
                "{name}: {} {what} by the trace, {} by iostat; the trace is used",
                rate_in_words(rate.value.as_f64()),
                rate_in_words(mean)
            );
            out.add_contradiction(what, place_names(found, &[trace.first, seen.first]));
        }
        Some(_) => {}
    }
}

fn of_iostat(found: &Findings, seen: &DriveSeen, column: &'static str, bytes: &'static str) -> Option<Flow> {
    let (rate, kib) = (seen.column_mean(column)?, seen.column_mean(bytes)?);
    if rate <= 0.0 {
        return None;
    }
    let source = format!("{}, iostat, mean of {} reports", found.place_name(seen.first), seen.reports);
    let mean = kib * 1024.0 / rate;
    let sizes = sizes_with_mean(mean);
    let how = if sizes.len() > 1 { format!("two sizes with the mean {mean:.0} B") } else { "the mean size".to_owned() };
    Some(Flow {
        rate: rounded_rate(rate).map(|rate| Sourced::new(rate, source.clone())),
        sizes: Some(Sourced::new(Sizes::Each(sizes), format!("{source}, {how}"))),
        ..Flow::default()
    })
}

/// The unit of the addresses of drives.
const SECTOR: f64 = 512.0;
/// The largest size, in sectors: 64 MiB.
const SECTORS_MAX: f64 = 131_072.0;
/// A mean that is so near to a size, as a share of it, is that size: the digits of iostat say no more.
const NEAR: f64 = 0.001;

/// Sizes in whole sectors whose mean this is: one, or the two around it.
fn sizes_with_mean(mean: f64) -> Vec<(Bytes, Share)> {
    let sectors = (mean / SECTOR).clamp(1.0, SECTORS_MAX);
    let nearest = sectors.round();
    if (sectors / nearest - 1.0).abs() <= NEAR {
        return vec![(in_bytes(nearest), Share::WHOLE)];
    }
    let larger = Share::from_ppb(((sectors - sectors.floor()) * 1e9).round() as u64);
    let smaller = Share::from_ppb(Share::WHOLE.as_ppb() - larger.as_ppb());
    vec![(in_bytes(sectors.floor()), smaller), (in_bytes(sectors.ceil()), larger)]
}

fn in_bytes(sectors: f64) -> Bytes {
    Bytes::new((sectors * SECTOR) as u64)
}

/// The load of a trace; both directions are looked at together.
fn traced_part(found: &Findings, trace: &Trace, words: &str) -> ProfilePart {
    let covered = found.covered_time(trace);
    let counting = Counting {
        seconds: covered as f64 / 1e9,
        end: found.clocks.get(&trace.file).map_or(0, |clock| clock.now),
        source: found.place_name(trace.first),
        words: words.to_owned(),
        copies: 1,
        least_count: 1,
    };
    ProfilePart::from_counts(&trace.seen, &counting)
}

/// Operations per second in the hours of the day.
fn hourly_rates(found: &Findings, seen: &DriveSeen) -> Option<Sourced<Vec<f64>>> {
    let known = seen.hours.iter().filter(|hour| hour.count > 0).count();
    if known == 0 {
        return None;
    }
    let hours = seen.hours.iter().map(|hour| hour.mean().map_or(-1.0, |mean| (mean * 10.0).round() / 10.0)).collect();
    let source = format!(
        "{}, iostat, reads and writes per second in {known} hours of the day, -1 where unknown",
        found.place_name(seen.first)
    );
    Some(Sourced::new(hours, source))
}
