//! What was tested, in a line of the summary.

use crate::judgement::{StepFigures, TargetTotals};
use assay_base::Bytes;

/// Number of models that are named where there are several targets.
const MODELS: usize = 3;

/// What was tested: `Samsung PM9A3 S64FNE0R600123, 1.75 TiB`; with several targets
/// `2 × Samsung PM9A3, 1 × Kioxia CM7, 5.24 TiB`; of a directory on what it is. Empty where nothing is known about it.
pub(crate) fn devices_in_words(part: &StepFigures) -> String {
    let known = match part.targets.each.as_slice() {
        [only] if only.mount_in_words().is_some() => only.mount_in_words().unwrap_or_default(),
        [only] => ["model", "serial"].iter().filter_map(|name| fact_of(only, name)).collect::<Vec<_>>().join(" "),
        several => {
            let mut models: Vec<(String, u64)> = Vec::new();
            for model in several.iter().filter_map(|target| fact_of(target, "model")) {
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
    let size = (size > 0).then(|| Bytes::new(size).human_text());
    Some(known).filter(|known| !known.is_empty()).into_iter().chain(size).collect::<Vec<_>>().join(", ")
}

/// A fact that a target reports.
fn fact_of(target: &TargetTotals, name: &str) -> Option<String> {
    target.head.facts.get(name).filter(|fact| *fact != "absent").cloned()
}
