//! `[[loop]]`: closed loops over several streams, which name them by `loop`, `share` and `line`.

use super::common::LARGEST_BOUND;
use super::life::{AfterKeys, LifeKeys, read_life};
use super::names::{NAMES, is_name};
use super::source::Source;
use super::turns::{TurnKeys, check_fits};
use crate::mix::{Line, Loop, Think};
use crate::plan::{Arrival, Lane, Stream};
use assay_base::{Bytes, Fault, Share, Span};
use serde::Deserialize;
use toml::Spanned;

/// Upper bound on the number of loops, of lines and of copies.
const MOST: usize = 256;
/// Upper bound on the operations in a burst.
const LONGEST_BURST: u32 = 1_000_000_000;

/// A `[[loop]]`, as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoopKeys {
    name: Spanned<String>,
    in_flight: Option<Spanned<u32>>,
    copies: Option<Spanned<u32>>,
    targets: Option<Spanned<TurnKeys>>,
    think: Option<Spanned<Think>>,
    #[serde(default)]
    line: Vec<Spanned<LineKeys>>,
    start: Option<Spanned<Span>>,
    #[serde(rename = "for")]
    lasts: Option<Spanned<Span>>,
    operations: Option<Spanned<u64>>,
    bytes: Option<Spanned<Bytes>>,
    after: Option<Spanned<AfterKeys>>,
    step: Option<Spanned<u32>>,
}

impl LoopKeys {
    pub(super) fn loop_name(&self) -> &String {
        self.name.get_ref()
    }

    pub(super) fn step_key(&self) -> Option<&Spanned<u32>> {
        self.step.as_ref()
    }

    pub(super) fn life_keys(&self) -> LifeKeys<'_> {
        LifeKeys {
            start: self.start.as_ref(),
            lasts: self.lasts.as_ref(),
            operations: self.operations.as_ref(),
            bytes: self.bytes.as_ref(),
            after: self.after.as_ref(),
        }
    }
}

/// A `[[loop.line]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LineKeys {
    name: Spanned<String>,
    share: Share,
    burst: Option<Spanned<u32>>,
    delay: Option<Span>,
}

/// The keys of a stream about its loop.
pub(super) struct Membership<'a> {
    pub name: &'a Spanned<String>,
    pub share: Option<&'a Spanned<Share>>,
    pub line: Option<&'a Spanned<String>>,
}

/// The loops of a workload.
pub(super) fn read_loops(source: Source<'_>, tables: &[Spanned<LoopKeys>]) -> Result<Vec<Loop>, Fault> {
    let mut loops: Vec<Loop> = Vec::new();
    for table in tables {
        let read = read_loop(source, table)?;
        if loops.iter().any(|other| other.name == read.name) || loops.len() == MOST {
            let remedy = format!("give each its own, and write at most {MOST}");
            return Err(source.fault_at(
                table.get_ref().name.span(),
                "two loops have this name, or there are too many",
                remedy,
            ));
        }
        loops.push(read);
    }
    Ok(loops)
}

fn read_loop(source: Source<'_>, table: &Spanned<LoopKeys>) -> Result<Loop, Fault> {
    let LoopKeys { name, in_flight, copies, targets, think, line, .. } = table.get_ref();
    if !is_name(name.get_ref()) {
        return Err(source.fault_at(name.span(), "not a name of a loop", NAMES));
    }
    let depth = in_flight.as_ref().map_or(1, |key| *key.get_ref());
    let times = copies.as_ref().map_or(1, |key| *key.get_ref());
    if depth == 0 || times == 0 || depth.checked_mul(times).is_none_or(|all| all > LARGEST_BOUND) {
        let span = copies.as_ref().or(in_flight.as_ref()).map_or(table.span(), Spanned::span);
        return Err(source.fault_at(
            span,
            "not a number of operations in flight",
            format!("write 1 to {LARGEST_BOUND} in flight, in all copies together"),
        ));
    }
    if let Some(think) = think.as_ref().filter(|think| think.get_ref().every == 0 || think.get_ref().time.is_zero()) {
        let remedy =
            "write think = { time = \"5ms\" }, with every = 10 for a pause after each tenth operation of a slot";
        return Err(source.fault_at(think.span(), "this is not a pause", remedy));
    }
    let lines = read_lines(source, table, line)?;
    Ok(Loop {
        name: name.get_ref().clone(),
        in_flight: depth,
        copies: times,
        think: think.as_ref().map(|think| *think.get_ref()),
        lines,
        turns: targets.as_ref().map(|keys| keys.get_ref().meant_turns(source, keys.span())).transpose()?.flatten(),
        life: read_life(source, table.get_ref().life_keys(), "loop")?,
    })
}

fn read_lines(source: Source<'_>, table: &Spanned<LoopKeys>, keys: &[Spanned<LineKeys>]) -> Result<Vec<Line>, Fault> {
    let mut lines: Vec<Line> = Vec::new();
    for key in keys {
        let LineKeys { name, share, burst, delay } = key.get_ref();
        if !is_name(name.get_ref()) || lines.iter().any(|line| line.name == *name.get_ref()) {
            return Err(source.fault_at(name.span(), "not a name of a line, or another has it", NAMES));
        }
        let burst = burst.as_ref().map_or(Ok(1), |burst| match *burst.get_ref() {
            n @ 1..=LONGEST_BURST => Ok(n),
            _ => Err(source.fault_at(
                burst.span(),
                "not a number of operations of a burst",
                format!("write 1 to {LONGEST_BURST}"),
            )),
        })?;
        lines.push(Line {
            name: name.get_ref().clone(),
            weight: share.as_ppb(),
            burst,
            delay: delay.unwrap_or(Span::ZERO),
        });
    }
    let sum: u128 = lines.iter().map(|line| u128::from(line.weight)).sum();
    if lines.len() > MOST
        || !lines.is_empty() && sum != u128::from(Share::WHOLE.as_ppb())
        || lines.iter().any(|line| line.weight == 0)
    {
        let remedy = format!("write shares above 0% that make 100%, of at most {MOST} lines");
        return Err(source.fault_at(table.span(), "the lines of this loop do not share out its bursts", remedy));
    }
    Ok(lines)
}

/// The arrival of a stream in a loop.
pub(super) fn arrival_in_loop(
    source: Source<'_>,
    loops: &[Loop],
    membership: &Membership<'_>,
) -> Result<Arrival, Fault> {
    let Some(own) = loops.iter().find(|known| known.name == *membership.name.get_ref()) else {
        let remedy = if loops.is_empty() {
            "add a [[loop]] table with this name".to_owned()
        } else {
            let names: Vec<&str> = loops.iter().map(|known| known.name.as_str()).collect();
            format!("write one of {}", names.join(", "))
        };
        return Err(source.fault_at(
            membership.name.span(),
            format!("there is no loop \"{}\"", membership.name.get_ref().escape_debug()),
            remedy,
        ));
    };
    let line = match membership.line {
        None if own.lines.is_empty() => None,
        None => {
            return Err(source.fault_at(
                membership.name.span(),
                "this loop has lines, and the stream is in none",
                "add line = … with the name of one",
            ));
        }
        Some(line) if own.lines.iter().any(|known| known.name == *line.get_ref()) => Some(line.get_ref().clone()),
        Some(line) => {
            let known: Vec<&str> = own.lines.iter().map(|line| line.name.as_str()).collect();
            let remedy = if known.is_empty() {
                "remove it: the loop has no [[loop.line]]".to_owned()
            } else {
                format!("write one of {}", known.join(", "))
            };
            return Err(source.fault_at(line.span(), "the loop has no such line", remedy));
        }
    };
    let share = membership.share.map(|share| *share.get_ref());
    if let Some(at) = membership.share.filter(|share| share.get_ref().as_ppb() == 0 || *share.get_ref() > Share::WHOLE)
    {
        return Err(source.fault_at(at.span(), "not a share of a loop", "write more than 0%, at most 100%"));
    }
    Ok(Arrival::Looped { looped: own.name.clone(), share: share.unwrap_or_default(), line })
}

/// Whether a stream is in a line of a loop, or in a loop without lines.
fn is_in_group(stream: &Stream, loop_name: &str, group: Option<&String>) -> bool {
    matches!(&stream.arrival, Arrival::Looped { looped, line, .. } if looped == loop_name && line.as_ref() == group)
}

/// Completes the loops: gives equal shares to streams without `share`, checks that shares add up to 100 %, and gives
/// each loop the slots that it needs.
pub(super) fn complete_loops(
    source: Source<'_>,
    tables: &[Spanned<LoopKeys>],
    loops: &[Loop],
    streams: &mut [Stream],
) -> Result<Vec<Lane>, Fault> {
    let mut lanes = Vec::new();
    for (table, own) in tables.iter().zip(loops) {
        let groups =
            if own.lines.is_empty() { vec![None] } else { own.lines.iter().map(|line| Some(&line.name)).collect() };
        for group in groups {
            let all = streams.iter_mut();
            let mut members: Vec<&mut Stream> =
                all.filter(|stream| is_in_group(stream, &own.name, group) && stream.as_flush().is_none()).collect();
            let shares: Vec<u64> =
                members.iter().filter_map(|stream| stream.arrival.share_of_loop()).map(Share::as_ppb).collect();
            let (sum, said) = (
                shares.iter().map(|share| u128::from(*share)).sum::<u128>(),
                shares.iter().filter(|share| **share > 0).count(),
            );
            let equal = said == 0 && !shares.is_empty();
            if !equal && (said < shares.len() || sum != u128::from(Share::WHOLE.as_ppb())) {
                let of = group.map_or_else(|| format!("the loop {}", own.name), |line| format!("the line {line}"));
                return source.refuse_span(
                    table.span(),
                    format!("the streams of {of} do not share it out"),
                    "write share for each of them, or for none; shares make 100%",
                );
            }
            for stream in members.iter_mut().filter(|_| equal) {
                if let Arrival::Looped { share, .. } = &mut stream.arrival {
                    *share = Share::from_ppb(1);
                }
            }
        }
        let members: Vec<&Stream> =
            streams.iter().filter(|stream| stream.arrival.loop_name() == Some(&own.name)).collect();
        if members.windows(2).any(|pair| pair[0].targets != pair[1].targets) {
            return source.refuse_span(
                table.span(),
                format!("the streams of the loop {} are on different targets", own.name),
                "write the same target for all of them, or the same list of targets",
            );
        }
        check_fits(source, table.get_ref().targets.as_ref().map(Spanned::span), own.turns, &members)?;
        lanes.push(Lane {
            streams: members.iter().map(|stream| stream.name.clone()).collect(),
            in_flight_bound: own.slot_count(),
        });
    }
    Ok(lanes)
}
