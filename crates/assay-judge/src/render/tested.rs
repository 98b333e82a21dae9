//! What was tested and what it did, in a line of the summary.

use crate::judgement::{StepFigures, StreamFigures, TargetTotals};
use assay_base::Bytes;

/// Number of models that are named where there are several targets.
const MODELS: usize = 3;

/// What was tested, and its throughput: `Samsung PM9A3 S64FNE0R600123, 1.75 TiB; 61400 IOPS, 372.4 MB/s`; with several
/// targets `2 × Samsung PM9A3, 1 × Kioxia CM7, 5.24 TiB; …`.
pub(crate) fn device(part: &StepFigures) -> Option<String> {
    let fact =
        |target: &TargetTotals, name: &str| target.head.facts.get(name).filter(|fact| *fact != "absent").cloned();
    let known = match part.targets.each.as_slice() {
        [only] => ["model", "serial"].iter().filter_map(|name| fact(only, name)).collect::<Vec<_>>().join(" "),
        several => {
            let mut models: Vec<(String, u64)> = Vec::new();
            for model in several.iter().filter_map(|target| fact(target, "model")) {
                match models.iter_mut().find(|(known, _)| *known == model) {
                    Some((_, count)) => *count += 1,
                    None => models.push((model, 1)),
                }
            }
            // "1 more" takes as much space as the name.
            let more = if models.len() > MODELS { models.len() - (MODELS - 1) } else { 0 };
            let listed = models.iter().take(models.len() - more).map(|(model, count)| format!("{count} × {model}"));
            listed.chain((more > 0).then(|| format!("{more} more models"))).collect::<Vec<_>>().join(", ")
        }
    };
    let size = part.targets.each.iter().fold(0u64, |sum, target| sum.saturating_add(target.head.size_bytes));
    let size = (size > 0).then(|| Bytes::new(size).human());
    let what = Some(known).filter(|known| !known.is_empty()).into_iter().chain(size).collect::<Vec<_>>().join(", ");
    Some(what)
        .into_iter()
        .chain(throughput(&part.streams))
        .filter(|text| !text.is_empty())
        .reduce(|a, b| format!("{a}; {b}"))
}

/// Operations and bytes per second over all streams and targets, while the load was offered.
fn throughput(streams: &StreamFigures) -> Option<String> {
    let (iops, bytes) = streams.throughput().filter(|(iops, _)| *iops > 0.0)?;
    // People at terminals do less than one operation a second.
    let iops = format!("{iops:.*}", usize::from(iops < 10.0));
    Some(match streams.moves_bytes() {
        true => format!("{iops} IOPS, {:.1} MB/s", bytes / 1e6),
        false => format!("{iops} operations/s"),
    })
}
