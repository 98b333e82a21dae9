//! `direction = "flush"`: streams of flushes, and the check that the workload has writes that they flush.

use super::source::Source;
use super::step::Step;
use super::stream_keys::{StreamKeys, own_life};
use crate::flush::Flush;
use crate::mix::Loop;
use crate::plan::{Arrival, Stream, Work};
use assay_base::{Fault, Share};
use toml::Spanned;

/// The largest value of `every`.
const MOST: u32 = 1_000_000_000;

/// A stream of flushes. `arrival` reads its arrival if it is not in a loop.
pub(super) fn flush_stream(
    source: Source<'_>,
    keys: &StreamKeys,
    loops: &[Loop],
    arrival: impl FnOnce() -> Result<Arrival, Fault>,
) -> Result<Stream, Fault> {
    if let Some((key, span)) = keys.of_data() {
        let what = format!("a flush moves no bytes and has no place: {key} does not belong here");
        return Err(source.fault_at(span, what, format!("remove {key}, or write direction = \"read\" or \"write\"")));
    }
    let every = writes_per_flush(source, keys)?;
    let arrival = match &keys.looped {
        None => arrival()?,
        Some(name) if loops.iter().any(|it| it.name == *name.get_ref()) && !keys.has_pace() => {
            Arrival::Looped { looped: name.get_ref().clone(), share: Share::default(), line: None }
        }
        // This loop is wrong, and reading the arrival gives the same fault as for any other stream.
        Some(_) => arrival()?,
    };
    Ok(Stream {
        name: keys.name.get_ref().clone(),
        work: Work::Flush(Flush::new(every)),
        arrival,
        per_target: true,
        targets: Vec::new(),
        life: own_life(source, keys)?,
    })
}

/// After how many writes of its loop a flush comes; `None` for a stream that is not in a loop.
fn writes_per_flush(source: Source<'_>, keys: &StreamKeys) -> Result<Option<u32>, Fault> {
    match (&keys.looped, &keys.every) {
        (None, None) => Ok(None),
        (Some(_), Some(every)) if (1..=MOST).contains(every.get_ref()) => Ok(Some(*every.get_ref())),
        (Some(_), Some(every)) => {
            Err(source.fault_at(every.span(), "not a number of writes", format!("write 1 to {MOST}")))
        }
        (None, Some(every)) => Err(source.fault_at(
            every.span(),
            "only a loop knows which writes it follows",
            "add loop = \"NAME\", the loop of the writes, or write a rate instead",
        )),
        (Some(name), None) => Err(source.fault_at(
            name.span(),
            "nothing says after how many writes of the loop it comes",
            "add every = 8",
        )),
    }
}

/// The step of a stream, by its position; `None` in a workload without steps.
fn step_of(steps: &[Step], stream: &Stream) -> Option<usize> {
    steps.iter().position(|step| step.streams.contains(&stream.name))
}

/// Whether a stream goes to a target.
fn is_on(stream: &Stream, target: u16) -> bool {
    stream.targets.is_empty() || stream.targets.contains(&target)
}

/// Checks that something is written that the flushes can flush: in their loop, or on their targets in the same step.
/// `targets` is the number of targets that the workload names.
pub(super) fn follow_writes(
    source: Source<'_>,
    tables: &[Spanned<StreamKeys>],
    streams: &[Stream],
    steps: &[Step],
    targets: usize,
) -> Result<(), Fault> {
    for (flush, table) in streams.iter().zip(tables).filter(|(stream, _)| stream.as_flush().is_some()) {
        let keys = table.get_ref();
        let span = keys.direction.span();
        let step = step_of(steps, flush);
        let others = streams.iter().filter(|other| other.name != flush.name);
        let mates: Vec<&Stream> = others.filter(|other| step_of(steps, other) == step).collect();
        if let Some(looped) = flush.arrival.loop_name() {
            let mut own = mates.iter().filter(|mate| mate.arrival.loop_name() == Some(looped));
            if own.clone().any(|mate| mate.as_flush().is_some()) {
                return source.refuse_span(span, "another stream of this loop flushes too", "write one of the two");
            }
            if !own.any(|mate| mate.writes_blocks()) {
                return source.refuse_span(
                    span,
                    "the loop of this flush writes nothing",
                    "add a stream that writes to the loop",
                );
            }
        }
        let mut flushed = (0..targets.max(1) as u16).filter(|target| is_on(flush, *target));
        if flushed.any(|target| !mates.iter().any(|mate| mate.writes_blocks() && is_on(mate, target))) {
            return source.refuse_span(
                span,
                "nothing is written where this stream flushes, so that there is nothing to flush",
                "add a stream that writes to the same target, or name another target",
            );
        }
    }
    Ok(())
}
