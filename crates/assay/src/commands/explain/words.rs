//! A plan as `assay explain` shows it: lines for a person who reads it before the run.

use super::files;
use crate::commands::outline::{PlanLines, byte_totals, in_words, largest_block, refusal_reason};
use crate::commands::transactions;
use assay_base::{Bytes, Direction, Geometry, Rate, Share, Span, more_than_tags};
use assay_device::probe;
use assay_device::safety::Roots;
use assay_judge::for_a_shell;
use assay_model::arrival::{Bursts, Pauses, SharedSchedule};
use assay_model::mix::{Loop, Spread};
use assay_model::oltp::{Oltp, Storage};
use assay_model::tiles::{LIKENESS, PlannedTiles};
use assay_model::{Address, Arrival, Block, PhaseKind, Plan, Stream};
use assay_run::drive::integrity;
use assay_run::open::targets::Named;

/// The first target; one whose size is not known is large enough for all parts.
fn first_target(sizes: &[Option<(u64, u32)>]) -> Geometry {
    let (size, block) = sizes.first().copied().flatten().unwrap_or((UNKNOWN, largest_block(sizes)));
    Geometry { size, block }
}

/// Size and block size of a target, where they are known.
pub(super) type Known = Option<(u64, u32)>;

/// The size of a target that is not known.
const UNKNOWN: u64 = 1 << 40;

pub(super) fn plan_text(plan: &Plan, named: &[(String, Named)], sizes: &[Known], unknown: Option<&str>) -> String {
    let mut out = PlanLines::default();
    let block = largest_block(sizes);
    let targets = if plan.load.targets == 1 { "target" } else { "targets" };
    out.add_line(format_args!(
        "{} ({}), load {} on {} {targets}, seed {}",
        plan.name,
        plan.model,
        plan.load.multiple_in_words(),
        plan.load.targets,
        plan.load.seed
    ));
    add_streams(plan, block, &mut out);
    enlarged_sizes(plan, named, sizes, &mut out);
    if !plan.notes.derivation.is_empty() {
        out.add_heading("how the numbers came about, for one target at 1x, with the place of each in [brackets]");
        plan.notes.derivation.iter().for_each(|step| out.add_line(format_args!("  {step}")));
    }
    out.add_heading("phases");
    for phase in &plan.timing.phases {
        let span = match (phase.kind, phase.steady_round) {
            (PhaseKind::ReadBack, _) => "until all is read".to_owned(),
            _ if phase.until_done => format!("until every stream has done its operations, at most {}", phase.span),
            (_, Some(round)) => format!("until steady over rounds of {round}, at most {}", phase.span),
            (PhaseKind::WarmUp | PhaseKind::Measure, None) => phase.span.to_string(),
        };
        out.add_line(format_args!("  {:10} {span}", phase.name));
    }
    match (plan.load.tpcc(), plan.load.files()) {
        (Some(load), _) => transactions::add_lines(load, plan.load.targets, unknown, &mut out),
        (None, Some(files)) => files::add_lines(files, plan.load.seed, &mut out),
        (None, None) => add_bytes(plan, named, sizes, &mut out),
    }
    loops_beyond_queues(plan, named, &Roots::of_machine()).iter().for_each(|line| out.add_line(line));
    if let Some(how) = integrity::describe_verification(plan, first_target(sizes)) {
        out.add_line(format_args!("verify: {how}"));
    }
    out.add_heading("criteria, each in every slice");
    out.add_line(format_args!("  delivered load at least 99.9% of the schedule per {}", plan.timing.slice));
    plan.criteria.iter().for_each(|criterion| out.add_line(in_words(criterion)));
    let lag = if plan.timing.max_lag.is_zero() {
        "goes on however far it falls behind its schedule".to_owned()
    } else {
        format!("stops when it is {} behind its schedule", plan.timing.max_lag)
    };
    out.add_line(format_args!(
        "  {lag}; at most {} in flight on each target{}",
        plan.load.in_flight_bound,
        plan.load.lanes_in_words()
    ));
    plan.notes.remarks.iter().for_each(|note| out.add_line(format_args!("  note: {note}")));
    if plan.load.tpcc().is_some() {
        out.add_heading("the database is changed by what the transactions do; nothing but the tables that assay prep made is touched");
    } else if plan.load.files().is_some() {
        out.add_heading("everything happens in a directory of the run's own, which is made in the target and removed at the end; nothing else there is touched");
    } else if plan.load.writes_targets() {
        out.add_heading("ALL DATA ON THE TARGETS WILL BE DESTROYED");
        named
            .iter()
            .filter_map(|(_, named)| refusal_reason(named))
            .for_each(|why| out.add_line(format_args!("  but {why}")));
    } else {
        out.add_heading("reads only: nothing is destroyed");
    }
    out.0
}

/// Which workloads run in which tile, and on which range of each target.
fn add_tiles(plan: &Plan, tiles: &PlannedTiles, out: &mut PlanLines) {
    let number = if tiles.number == 1 { "1 tile".to_owned() } else { format!("{} tiles", tiles.number) };
    out.add_heading(format_args!("{number} of {} on each target, each judged by its own criteria", tiles.size));
    let wide = tiles.members.iter().map(|member| member.name.len()).max().unwrap_or(0);
    for member in &tiles.members {
        let (name, prefix) = (&member.name, member.prefix());
        let own = plan.load.streams.iter().filter(|stream| stream.name.starts_with(&prefix));
        let rate: f64 = own.filter_map(|stream| stream.arrival.mean_rate()).map(Rate::as_f64).sum();
        let place = member.range.map_or_else(|| "whole targets".to_owned(), |range| range.to_string());
        out.add_line(format_args!("  {name:wide$}  {:>6}  {rate:>12.3}/s  {place}", member.load.to_string()));
    }
    out.add_line(format_args!("  {LIKENESS}"));
}

/// Describes what the streams of an OLTP load have in common, and where its ASUs lie.
fn oltp_in_words(oltp: &Oltp, out: &mut PlanLines) {
    out.add_line(format_args!(
        "  {} BSU, together {:.0} operations per second, drawn as one sequence",
        oltp.bsu_count(),
        oltp.rate.as_f64()
    ));
    for (asu, (name, storage)) in (1..).zip(["data store", "user store", "log"].iter().zip(&oltp.asus)) {
        let pieces: Vec<String> = storage.iter().map(piece_in_words).collect();
        out.add_line(format_args!("  ASU {asu}, the {name}: {}", pieces.join(", ")));
    }
}

fn piece_in_words(piece: &Storage) -> String {
    let part = piece.extent.map_or_else(String::new, |extent| format!(" ({extent})"));
    format!("target {}{part}", piece.target + 1)
}

fn add_streams(plan: &Plan, block: u32, out: &mut PlanLines) {
    out.add_heading("streams, over all targets together");
    let wide = plan.load.streams.iter().map(|stream| stream.name.chars().count()).max().unwrap_or(0).max(20);
    let sizes = plan.load.streams.iter().filter_map(|stream| Some(stream.as_block()?.size.to_string().len()));
    let long = sizes.max().unwrap_or(0).max(18);
    out.add_line(format_args!(
        "  {:wide$} {:9} {:>14} {:>long$} {:>12}  address",
        "name", "", "rate", "size", "bytes/s"
    ));
    for stream in &plan.load.streams {
        let rate = stream.arrival.mean_rate().map(|rate| format!("{:.3}/s", rate.as_f64()));
        let rate = rate
            .or_else(|| transactions::transaction_share(plan, stream))
            .unwrap_or_else(|| closed_loop_in_words(stream));
        let bytes =
            stream.bytes_per_second(block).map_or_else(|| "-".into(), |bytes| Bytes::new(bytes as u64).human_text());
        let name = &stream.name;
        let Some(block) = stream.as_block() else {
            let does = stream.operation_name().unwrap_or_default();
            let when = stream
                .as_flush()
                .and_then(|flush| flush.every)
                .map(|every| format!("  after {every} writes of a copy"));
            let when = when.unwrap_or_default();
            out.add_line(format_args!("  {name:wide$} {does:9} {rate:>14} {:>long$} {bytes:>12}{when}", "-"));
            continue;
        };
        let direction = if block.durable { "write (D)" } else { &block.direction.to_string() };
        let size = block.size.to_string();
        let address = address_text(block);
        out.add_line(format_args!("  {name:wide$} {direction:9} {rate:>14} {size:>long$} {bytes:>12}  {address}"));
    }
    let arrivals: std::collections::BTreeSet<&str> =
        plan.load.streams.iter().map(|stream| stream.arrival.arrival_name()).collect();
    let arrivals = arrivals.into_iter().collect::<Vec<_>>().join(", ");
    out.add_line(format_args!("  arrival: {arrivals}; (D) durable, on stable media when complete"));
    plan.load.loops.iter().for_each(|closed_loop| out.add_line(format_args!("  {}", loop_in_words(plan, closed_loop))));
    if let Some(oltp) = plan.load.oltp() {
        oltp_in_words(oltp, out);
    }
    if let Some(tiles) = plan.load.tiles() {
        add_tiles(plan, tiles, out);
    }
    add_lifetimes(plan, out);
    for stream in &plan.load.streams {
        if let Some(how) = changes_in_words(&stream.arrival) {
            out.add_line(format_args!("  {}: {how}", stream.name));
        }
    }
}

/// Which sizes become others, because a target takes whole blocks only.
fn enlarged_sizes(plan: &Plan, named: &[(String, Named)], sizes: &[Known], out: &mut PlanLines) {
    for (index, stream) in plan.load.streams.iter().enumerate() {
        let Some(size) = stream.as_block().map(|block| &block.size) else { continue };
        let own = plan.load.stream_targets().filter(|(stream, _)| usize::from(*stream) == index);
        let known = own.filter_map(|(_, target)| Some((usize::from(target), (*sizes.get(usize::from(target))?)?.1)));
        let done: Vec<(usize, u32, String)> = known
            .filter_map(|(target, block)| Some((target, block, size.size_on_target(block)?.to_string())))
            .collect();
        let alike = done.len()
            == plan.load.stream_targets().filter(|(stream, _)| usize::from(*stream) == index).count()
            && done.iter().all(|(_, block, _)| *block == done[0].1);
        for (target, block, done) in done.iter().take(if alike { 1 } else { done.len() }) {
            let name = named.get(*target).map_or("", |(name, _)| name.as_str());
            let on = if alike || name.is_empty() { String::new() } else { format!(" on {name}") };
            out.add_line(format_args!("  {}: {size} is done as {done}{on}, in whole blocks of {block} B", stream.name));
        }
    }
}

/// When streams and loops begin and end, where that differs from the run.
fn add_lifetimes(plan: &Plan, out: &mut PlanLines) {
    let streams = plan.load.streams.iter().map(|stream| (&stream.name, &stream.life));
    for (name, life) in streams.chain(plan.load.loops.iter().map(|closed_loop| (&closed_loop.name, &closed_loop.life)))
    {
        // The number of operations of a closed loop stands beside its number in flight.
        let is_closed = plan.load.streams.iter().any(|stream| {
            stream.name == *name && matches!(stream.arrival, Arrival::Closed { .. } | Arrival::Paced { .. })
        });
        if !(life.is_whole() || is_closed && life.is_by_operations()) {
            out.add_line(format_args!("  {name}: {life}"));
        }
    }
}

/// The streams of a loop that draw in this line of it, each with its share.
fn members_in_words(streams: &[&Stream], line: Option<&str>) -> String {
    let mut members = Vec::new();
    for stream in streams {
        if matches!(&stream.arrival, Arrival::Looped { line: own, .. } if own.as_deref() == line) {
            members.push((&stream.name, stream.arrival.share_of_loop().map_or(0, Share::as_ppb) as f64));
        }
    }
    let all: f64 = members.iter().map(|(_, share)| share).sum();
    let members = members.iter().map(|(name, share)| format!("{name} {:.1}%", share / all.max(1.0) * 100.0));
    members.collect::<Vec<_>>().join(", ")
}

/// A closed loop over several streams: what is in flight, who draws how often, and its pauses.
fn loop_in_words(plan: &Plan, closed_loop: &Loop) -> String {
    let copies =
        if closed_loop.copies > 1 { format!(" in each of {} copies", closed_loop.copies) } else { String::new() };
    let think = closed_loop.think.as_ref().map(|think| {
        let spread = if think.spread == Spread::Exponential { ", exponential" } else { "" };
        if think.together {
            format!(
                "; all its slots pause {}{spread} after every {} operations, when all are back",
                think.time, think.every
            )
        } else {
            format!("; a slot pauses {}{spread} after every {} of its operations", think.time, think.every)
        }
    });
    let own = plan.load.streams.iter().filter(|stream| stream.arrival.loop_name() == Some(&closed_loop.name));
    let own = own.filter(|stream| stream.as_flush().is_none());
    let own: Vec<&Stream> = own.collect();
    let mut lines =
        if closed_loop.lines.is_empty() { format!(": {}", members_in_words(&own, None)) } else { String::new() };
    for line in &closed_loop.lines {
        let delay = if line.delay.is_zero() { String::new() } else { format!(" after {}", line.delay) };
        let (weight, members) = (Share::from_ppb(line.weight), members_in_words(&own, Some(&line.name)));
        lines += &format!("; {weight} of the bursts of {}{delay}: {members}", line.burst);
    }
    let over = closed_loop
        .turns
        .map_or_else(|| "on each target".to_owned(), |turns| format!("on all its targets together, {turns}"));
    format!(
        "loop {}: {} in flight {over}{copies}{}{lines}",
        closed_loop.name,
        closed_loop.in_flight,
        think.unwrap_or_default()
    )
}

/// Describes how a rate changes, if it does.
fn changes_in_words(arrival: &Arrival) -> Option<String> {
    match arrival {
        Arrival::Varying { rate, curve, even } => {
            let spaced = if *even { "evenly spaced" } else { "independent" };
            Some(format!("arrivals {spaced}, 100% are {:.3}/s: {curve}", rate.as_f64()))
        }
        Arrival::Recorded { rate, recording } => {
            let last =
                recording.recorded_lines().last().map_or(Span::ZERO, |line| recording.wanted_after(line)).human_text();
            let reaches = recording.reaches.human_text();
            let fit = if recording.scaled { ", scaled to smaller ones" } else { "" };
            let (file, operations, speed) = (&recording.file, recording.operations, recording.speed);
            let rate = rate.as_f64();
            Some(format!(
                "plays {file} at {speed}: {operations} operations on each target in {last}, {rate:.3}/s in the mean over all; up to {reaches} of a target{fit}"
            ))
        }
        Arrival::Shared { rate, even, schedule } => Some(shared_schedule_text(*rate, *even, schedule)),
        Arrival::Bursty { rate, bursts: Bursts { on, off, quiet } } => {
            let peak = arrival.peak_rate().unwrap_or_default();
            let off = format!("{off} with {quiet} of that between them");
            Some(format!("bursts of {peak:.3}/s for {on}, {off}, in the mean; all together {:.3}/s", rate.as_f64()))
        }
        _ => None,
    }
}

/// A schedule that streams and targets share, in words.
fn shared_schedule_text(rate: Rate, even: bool, schedule: &SharedSchedule) -> String {
    let spaced = if even { "evenly spaced" } else { "independent" };
    let pauses = schedule.pauses.map(|Pauses { every, time, stand_still }| {
        let then =
            if stand_still { "and the rate goes on from there" } else { "and what was due then comes at its end" };
        let often = if every == 1 { "each operation".to_owned() } else { format!("every {every} operations") };
        format!(", paused for {time} after {often} of {}, {then}", schedule.name)
    });
    let turns = schedule.turns.map(|turns| format!(", {turns}"));
    format!(
        "arrivals {spaced}, {:.3}/s without pauses{}{}",
        rate.as_f64(),
        pauses.unwrap_or_default(),
        turns.unwrap_or_default()
    )
}

/// The addresses of a stream's operations, in words.
fn address_text(block: &Block) -> String {
    let address = block.address.to_string();
    let within = block.extent.map(|extent| format!(", {extent}"));
    let places = block.places.as_ref().map(|name| format!(", places {name}"));
    let repeats =
        (block.duplicates > Share::default()).then(|| format!(", {} of the blocks repeat others", block.duplicates));
    [Some(address), within, places, repeats].into_iter().flatten().collect()
}

fn add_bytes(plan: &Plan, named: &[(String, Named)], sizes: &[Option<(u64, u32)>], out: &mut PlanLines) {
    let (read, written, total) = byte_totals(plan, largest_block(sizes));
    let bounded = plan.load.unbounded_streams(Direction::Write).next().is_none();
    out.add_heading(format_args!(
        "read {}, written {}, {} written in {}",
        per_second(plan, Direction::Read, read),
        per_second(plan, Direction::Write, written),
        if bounded { Bytes::new(total as u64).human_text() } else { "no bound on what is".to_owned() },
        plan.timing.total_length()
    ));
    let reads = plan.load.streams.iter().any(|stream| stream.data_direction() == Some(Direction::Read));
    for ((name, named), size) in named.iter().zip(sizes) {
        let Some((size, block)) = size else {
            if matches!(named, Named::Path(_)) {
                out.add_line(format_args!("target {name}: is not here, so that its size and its blocks are not known"));
            }
            continue;
        };
        let mut day = String::new();
        if plan.load.writes_targets() && bounded && *size > 0 {
            let writes = written / f64::from(plan.load.targets) * 86_400.0 / *size as f64;
            day = format!(", {writes:.1} drive writes a day");
        }
        out.add_line(format_args!("target {name}: {}, blocks of {block} B{day}", Bytes::new(*size).human_text()));
        if reads && named.holds_nothing() {
            let typed = for_a_shell(name);
            out.add_line(format_args!(
                "  nothing was ever written to it, and reads of it prove nothing: fill it with assay prep {typed}, or with run --prep"
            ));
        }
        plan.load
            .streams
            .iter()
            .filter_map(|stream| time_until_all_seen(plan, stream, *size, *block))
            .for_each(|line| out.add_line(line));
    }
}

/// For each target: that its closed loops ask for more in flight than its disk takes at a time.
fn loops_beyond_queues(plan: &Plan, named: &[(String, Named)], roots: &Roots) -> Vec<String> {
    let flows: Vec<(u16, u16)> = plan.load.stream_targets().collect();
    let loops = plan.closed_loops();
    let mut lines = Vec::new();
    for (target, (name, named)) in named.iter().enumerate() {
        let Named::Path(path) = named else { continue };
        let here = loops
            .iter()
            .filter(|closed_loop| closed_loop.flows.iter().all(|flow| usize::from(flows[*flow].1) == target));
        let in_flight = here.map(|closed_loop| u64::from(closed_loop.slots)).sum();
        let Some(tags) = probe::read_target(roots, path).nr_requests else { continue };
        lines.extend(more_than_tags(name, tags, in_flight));
    }
    lines
}

/// Says how long there are blocks which a stream has never seen, if it goes to such.
fn time_until_all_seen(plan: &Plan, stream: &Stream, size: u64, block: u32) -> Option<String> {
    let Address::NeverSeen { unit, reread } = &stream.as_block()?.address else { return None };
    let length = stream.as_block()?.extent.map_or(size, |extent| extent.range_within(size, block).1);
    let new = 1.0 - reread.map_or(0.0, |reread| reread.share.as_f64());
    let targets = if stream.targets.is_empty() { usize::from(plan.load.targets) } else { stream.targets.len() };
    let a_second = stream.arrival.mean_rate()?.as_f64() / targets as f64 * new * unit.get() as f64;
    let (length, lasts) = (length as f64, length as f64 / a_second);
    let lasts = Span::from_ns((lasts * 1e9) as u64).human_text();
    Some(format!("  {}: {} never seen, which lasts {lasts}", stream.name, Bytes::new(length as u64).human_text()))
}

/// `12 MiB/s`; for closed loops only the names of the streams can be given.
fn per_second(plan: &Plan, direction: Direction, rate: f64) -> String {
    let own: Vec<&str> = plan.load.unbounded_streams(direction).map(|stream| stream.name.as_str()).collect();
    let scheduled = format!("{}/s", Bytes::new(rate as u64).human_text());
    let endless = format!("as fast as the targets allow ({})", own.join(", "));
    match (own.is_empty(), rate > 0.0) {
        (true, _) => scheduled,
        (false, true) => format!("{scheduled} and {endless}"),
        (false, false) => endless,
    }
}

fn closed_loop_in_words(stream: &Stream) -> String {
    let times = stream.life.operations.map_or_else(String::new, |operations| format!(", {operations} times"));
    match &stream.arrival {
        Arrival::Closed { in_flight } => format!("{in_flight} in flight{times}"),
        Arrival::Paced { pause } => format!("1, pause {pause}{times}"),
        Arrival::Looped { looped, .. } => format!("loop {looped}"),
        Arrival::Grouped(groups) => format!("{:.3} commits/s in groups", groups.commits.as_f64()),
        _ => "-".into(),
    }
}
