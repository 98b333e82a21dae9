//! `model = "seek"`: SeekMark's threads, each a closed loop of one operation.

use super::Source;
use super::common::{Workload, workload_file};
use super::streams::{RangeKeys, range};
use crate::seek::{SEEKS, Seek};
use assay_base::{Bytes, Direction, Fault, Span};
use toml::Spanned;

workload_file! {
    struct File {
        threads: Option<u32>,
        size: Option<Bytes>,
        align: Option<Bytes>,
        seeks: Option<Spanned<u64>>,
        pause: Option<Span>,
        range: Option<Spanned<RangeKeys>>,
        direction: Option<Direction>,
    }
}

pub(super) fn read(source: Source<'_>) -> Result<Workload, Fault> {
    let mut file: File = source.parse()?;
    if let Some(seeks) = file.seeks.as_ref().filter(|_| file.duration.is_some()) {
        let what = "seeks and duration both say when the threads end";
        return Err(source.fault(seeks.span(), what, "remove one of the two"));
    }
    let default = Seek::default();
    let seek = Seek {
        threads: file.threads.unwrap_or(default.threads),
        size: file.size.unwrap_or(default.size),
        align: file.align.unwrap_or(default.align),
        seeks: match (&file.seeks, file.duration) {
            (Some(seeks), _) => Some(*seeks.get_ref()),
            (None, Some(_)) => None,
            (None, None) => Some(SEEKS),
        },
        pause: file.pause.unwrap_or(default.pause),
        range: range(source, &file.range)?,
        direction: file.direction.unwrap_or(default.direction),
        filled_with: None,
    };
    let streams = seek.streams().map_err(|why| source.fault_of(why.key, why.what))?;
    Workload::new(source.file, "seek", streams, |_| Vec::new()).with(source, file.common())
}
