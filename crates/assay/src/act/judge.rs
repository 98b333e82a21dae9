//! Judging a log that ACT wrote, with the same rules as ours. What such a log cannot tell is not shown.

use crate::failure::Failure;
use crate::logfile;
use assay_base::{Measure, Span};
use assay_formats::act::import;
use assay_formats::act::log::LogError;
use assay_judge::judgement::{Part, TimesSummary};
use assay_judge::{Fold, Judgement, Options};
use assay_record::Entry;
use std::io::{BufReader, Read};
use std::path::Path;

/// A banner stands near the beginning.
const START: u64 = 64 << 10;
/// ACT's criteria are bounds on every hour.
const SLICE: Span = Span::from_secs(3600);

/// Whether the file is a log of ACT.
pub fn is_one(log: &Path) -> bool {
    let mut start = Vec::new();
    let read = logfile::open(log).map(|file| file.take(START).read_to_end(&mut start));
    matches!(read, Ok(Ok(_))) && import::looks_like(&start)
}

/// Judges it.
pub fn judge(log: &Path, options: Options) -> Result<Judgement, Failure> {
    judge_heard(log, options, &mut |_| Ok(()))
}

/// Judges it; `hear` is told of each entry as well.
pub fn judge_heard(
    log: &Path,
    options: Options,
    hear: &mut dyn FnMut(&Entry) -> Result<(), String>,
) -> Result<Judgement, Failure> {
    if options.judge_on == Some(Measure::Response) {
        return Err(Failure::usage("a log of ACT knows no response times; judge it without --judge response"));
    }
    let file = logfile::open(log)?;
    let slice = options.slice.unwrap_or(SLICE);
    let mut fold = Fold::new(options);
    let input = BufReader::with_capacity(1 << 20, file);
    let mut heard = Ok(());
    let mut both = |entry: Entry| {
        heard = std::mem::replace(&mut heard, Ok(())).and_then(|()| hear(&entry));
        fold.entry(&entry);
    };
    import::entries(&log.display().to_string(), input, slice, &mut both).map_err(unreadable)?;
    heard.map_err(|why| Failure::workload(format!("{}: {why}", log.display())))?;
    let judgement = fold.finish().map_err(|e| Failure::workload(format!("{}: {e}", log.display())))?;
    Ok(without_the_unknown(judgement))
}

fn unreadable(error: LogError) -> Failure {
    let text = error.to_string();
    Failure::workload(text.strip_prefix("error: ").unwrap_or(&text))
}

/// Takes out what the log does not know: response and lag, means, largest values.
fn without_the_unknown(mut judgement: Judgement) -> Judgement {
    judgement.warnings.retain(|warning| !warning.starts_with("percentiles of "));
    judgement.warnings.push(import::KNOWS_NO_MEANS.to_owned());
    clear(&mut judgement.part);
    for step in &mut judgement.steps {
        clear(&mut step.part);
    }
    judgement
}

fn clear(part: &mut Part) {
    for stream in &mut part.streams {
        (stream.service.mean_ns, stream.service.max_ns) = (None, None);
        stream.service.nines.clear();
        for unknown in [&mut stream.response, &mut stream.lag, &mut stream.own_lag] {
            *unknown = TimesSummary::default();
        }
    }
    for slice in &mut part.slices {
        for stream in &mut slice.streams {
            (stream.service.mean_ns, stream.service.max_ns) = (None, None);
            stream.response = Default::default();
            stream.own_lag_p99_below_ns = None;
        }
    }
}
