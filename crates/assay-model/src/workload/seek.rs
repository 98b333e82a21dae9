//! `model = "seek"`: SeekMark's threads, each a closed loop of one operation.

use super::common::workload_file;
use super::definition::Workload;
use super::source::Source;
use super::step::Step;
use super::stream_keys::RangeKeys;
use super::streams::read_range;
use crate::seek::{SEEKS, Seek};
use assay_base::{Bytes, Direction, Fault, Span};
use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;

/// Most steps.
const MOST_STEPS: usize = 64;

workload_file! {
    struct File {
        threads: Option<Spanned<ThreadsKeys>>,
        size: Option<Bytes>,
        align: Option<Bytes>,
        seeks: Option<Spanned<u64>>,
        pause: Option<Span>,
        range: Option<Spanned<RangeKeys>>,
        direction: Option<Direction>,
    }
}

/// `threads`: a number, or a list of them, each of which is a step.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a number of threads, such as 8, or a list, such as [1, 2, 4, 8]")]
enum ThreadsKeys {
    One(u32),
    Steps(Vec<u32>),
}

pub(super) fn read_seek(source: Source<'_>) -> Result<Workload, Fault> {
    let mut file: File = source.parse_file()?;
    if let Some(seeks) = file.seeks.as_ref().filter(|_| file.duration.is_some()) {
        let what = "seeks and duration both say when the threads end";
        return Err(source.fault_at(seeks.span(), what, "remove one of the two"));
    }
    let default = Seek::default();
    let seek = Seek {
        threads: match file.threads.as_ref().map(Spanned::get_ref) {
            Some(ThreadsKeys::One(threads)) => *threads,
            _ => default.threads,
        },
        size: file.size.unwrap_or(default.size),
        align: file.align.unwrap_or(default.align),
        seeks: match (&file.seeks, file.duration) {
            (Some(seeks), _) => Some(*seeks.get_ref()),
            (None, Some(_)) => None,
            (None, None) => Some(SEEKS),
        },
        pause: file.pause.unwrap_or(default.pause),
        range: read_range(source, &file.range)?,
        direction: file.direction.unwrap_or(default.direction),
        filled_with: None,
    };
    if let Some((span, steps)) = file.threads.as_ref().and_then(|keys| match keys.get_ref() {
        ThreadsKeys::Steps(steps) => Some((keys.span(), steps.clone())),
        ThreadsKeys::One(_) => None,
    }) {
        let workload = in_steps(source, &seek, &steps, span)?;
        return workload.with_common_keys(source, file.common());
    }
    let streams = seek.lower_to_streams().map_err(|why| source.fault_of(why.key, why.what))?;
    Workload::new(source.file, "seek", streams, |_| Vec::new()).with_common_keys(source, file.common())
}

/// A step for each number of threads.
fn in_steps(source: Source<'_>, seek: &Seek, threads: &[u32], span: Range<usize>) -> Result<Workload, Fault> {
    let twice = (1..threads.len()).find(|at| threads[..*at].contains(&threads[*at]));
    if threads.is_empty() || threads.len() > MOST_STEPS || twice.is_some() {
        let remedy = format!("write each number once, such as [1, 2, 4, 8], at most {MOST_STEPS}");
        return Err(source.fault_at(span, "not a list of numbers of threads", remedy));
    }
    let mut workload = Workload::new(source.file, "seek", Vec::new(), |_| Vec::new());
    for threads in threads {
        let step = Seek { threads: *threads, ..seek.clone() };
        let (looped, stream, lane) = step.lower_to_loop().map_err(|why| source.fault_of(why.key, why.what))?;
        workload.timing.steps.push(Step { streams: vec![stream.name.clone()], notes: Vec::new() });
        workload.load.streams.push(stream);
        workload.load.loops.push(looped);
        workload.load.lanes.push(lane);
    }
    Ok(workload)
}
