//! Judges a log that ACT wrote, with the same rules as our own logs. What such a log does not contain is not shown.

use crate::failure::Failure;
use assay_base::{Criterion, Measure, Span};
use assay_formats::act::import;
use assay_judge::judgement::{StepFigures, TimesSummary};
use assay_judge::{Fold, Judgement, Options};
use assay_record::{Entry, Header};
use std::io::{BufReader, Read};

/// ACT's criteria are bounds for every hour.
const SLICE: Span = Span::from_secs(3600);

/// Judges a log of ACT with the name `name`; `hear` also gets each entry.
pub(crate) fn judge_act_log(
    name: &str,
    log: impl Read,
    options: Options,
    hear: &mut dyn FnMut(&Entry) -> Result<(), String>,
) -> Result<Judgement, Failure> {
    let slice = options.slice.unwrap_or(SLICE);
    let measure = options.judge_on;
    // The importer rounds slices up to whole report intervals.
    let mut fold = Fold::new(Options { slice: None, without_distributions: true, ..options });
    let input = BufReader::with_capacity(1 << 20, log);
    let (mut heard, mut head, mut unfit) = (Ok(()), None, None);
    let mut both = |mut entry: Entry| {
        if let Entry::Header(header) = &mut entry {
            unfit = on_what_is_there(header, measure);
            head = Some(header.clone());
        }
        heard = std::mem::replace(&mut heard, Ok(())).and_then(|()| hear(&entry));
        fold.take_entry(&entry);
    };
    import::import_entries(name, input, slice, &mut both).map_err(Failure::bad_workload)?;
    if let Some(why) = unfit {
        return Err(Failure::bad_usage(why));
    }
    heard.map_err(|why| Failure::bad_workload(format!("{name}: {why}")))?;
    let judgement = fold.finish().map_err(|e| Failure::bad_workload(format!("{name}: {e}")))?;
    Ok(without_the_unknown(judgement, head.as_deref()))
}

/// Changes the criteria of a log to a measure that the log contains when they must be judged on another measure;
/// returns the reason where the log does not contain that one at all.
fn on_what_is_there(header: &mut Header, measure: Option<Measure>) -> Option<String> {
    let measure = measure?;
    let criteria = header.criteria.iter();
    let kept: Vec<Criterion> = criteria
        .filter_map(|criterion| {
            let stream = stream_with(header, &criterion.stream, measure)?;
            Some(Criterion { stream, measure, ..criterion.clone() })
        })
        .collect();
    let none = kept.is_empty() && !header.streams.is_empty();
    header.criteria = kept;
    none.then(|| format!("this log of {} knows no {measure} times; judge it without --judge {measure}", header.tool))
}

/// The stream of a log with times of this measure for the operations of `stream`; `None` where it has none.
fn stream_with(header: &Header, stream: &str, measure: Measure) -> Option<String> {
    match (measure, import::counts_waiting(header, stream)) {
        (Measure::Response, false) => None,
        (Measure::Service, true) => {
            let device = device_histogram(stream);
            header.streams.iter().any(|known| known.name == device).then_some(device)
        }
        (Measure::Response, true) | (Measure::Service, false) => Some(stream.to_owned()),
    }
}

/// The histogram of service times for the same operations.
fn device_histogram(stream: &str) -> String {
    format!("device-{}", stream.trim_start_matches("trans-"))
}

/// Removes what the log does not contain: response or service, lag, means, largest values; and the target that is not a
/// device.
fn without_the_unknown(mut judgement: Judgement, head: Option<&Header>) -> Judgement {
    judgement.warnings.push(import::KNOWS_NO_MEANS.to_owned());
    let waits = |stream: &str| head.is_some_and(|head| import::counts_waiting(head, stream));
    clear_unjudged(&mut judgement.part, &waits);
    for step in &mut judgement.steps {
        clear_unjudged(&mut step.part, &waits);
    }
    judgement
}

fn clear_unjudged(part: &mut StepFigures, waits: &dyn Fn(&str) -> bool) {
    part.targets.each.retain(|target| target.head.kind != import::TOGETHER_KIND);
    for stream in &mut part.streams.each {
        let (known, unknown) = if waits(&stream.name) {
            (&mut stream.response, &mut stream.service)
        } else {
            (&mut stream.service, &mut stream.response)
        };
        (known.mean_ns, known.max_ns) = (None, None);
        known.nines.clear();
        for unknown in [unknown, &mut stream.lag, &mut stream.own_lag] {
            *unknown = TimesSummary::default();
        }
    }
    for slice in &mut part.slices.listed {
        for stream in &mut slice.streams {
            let (known, unknown) = if waits(&stream.stream) {
                (&mut stream.response, &mut stream.service)
            } else {
                (&mut stream.service, &mut stream.response)
            };
            (known.mean_ns, known.max_ns) = (None, None);
            *unknown = Default::default();
            stream.own_lag_p99_below_ns = None;
        }
    }
}
