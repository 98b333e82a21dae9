//! What stands beside the verdict: what was tested, and the few figures everybody asks for first.

use super::figures::{ABSENT, count, per_second, time};
use crate::Judgement;
use crate::judgement::{Part, StreamTotals, TargetTotals};
use crate::words::clock;
use assay_base::{Bytes, Span};

/// Devices that are named on the first screen; of more the rest is counted.
const MOST_DEVICES: usize = 4;
/// Bytes of the megabyte that throughput is told in: disks are sold by powers of ten.
const MEGABYTE: f64 = 1e6;

/// The first screen beside the verdict.
pub(crate) struct Headline {
    /// Of which step the figures are, where there are several.
    pub step: Option<String>,
    pub devices: Vec<String>,
    /// Devices that are not named.
    pub more: usize,
    pub figures: Vec<HeadFigure>,
}

/// One large number.
pub(crate) struct HeadFigure {
    pub label: String,
    pub value: String,
    /// What it is made of.
    pub note: String,
}

impl Headline {
    pub fn of(judgement: &Judgement) -> Headline {
        let part = &judgement.part;
        let shown = judgement.deciding.as_ref().map_or(1, |deciding| deciding.step);
        let step = judgement.steps.iter().find(|step| step.number == shown);
        let devices: Vec<String> = part.targets.iter().map(device).collect();
        Headline {
            step: step.map(|step| format!("step {} of {}, {}", step.number, step.of, step.title)),
            more: devices.len().saturating_sub(MOST_DEVICES),
            devices: devices.into_iter().take(MOST_DEVICES).collect(),
            figures: figures(part),
        }
    }
}

/// `/dev/sdb: SAMSUNG MZ7L3, serial S5YJ, 894 GiB`.
pub(crate) fn device(target: &TargetTotals) -> String {
    let head = &target.head;
    let told = |name: &str| head.facts.get(name).filter(|value| !value.is_empty() && *value != "absent");
    let unknown = if told("serial").is_some() { "model not told" } else { "model and serial not told" }.to_owned();
    let mut words: Vec<String> = Vec::new();
    match (head.kind.as_str(), told("model"), told("device")) {
        ("block device", model, _) => words.push(model.map_or(unknown, Clone::clone)),
        (kind, Some(model), _) if kind.contains("file") => words.push(format!("{kind} on {model}")),
        (kind, None, Some(disk)) => words.push(format!("{kind} on {disk}")),
        (kind, Some(model), _) => words.push(format!("{kind} {model}")),
        (kind, None, None) => words.push(kind.to_owned()),
    }
    match (told("serial"), told("model")) {
        (Some(serial), _) => words.push(format!("serial {serial}")),
        (None, Some(_)) if head.kind == "block device" => words.push("serial not told".to_owned()),
        _ => {}
    }
    words.push(Bytes::new(head.size_bytes).human());
    format!("{}: {}", head.name, words.join(", "))
}

/// The totals over all targets.
pub(crate) fn together(part: &Part) -> impl Iterator<Item = &StreamTotals> {
    let several = part.targets.len() > 1;
    part.streams.iter().filter(move |totals| !several || totals.target.is_none())
}

/// Operations and bytes per second of all streams together, while the load was offered; `None` where no time was measured.
pub(crate) fn throughput(part: &Part) -> Option<(f64, f64)> {
    let rate = together(part).filter_map(|totals| totals.rate_achieved).reduce(|a, b| a + b)?;
    Some((rate, together(part).filter_map(bytes_per_second).sum()))
}

/// Of one stream: its operations per second at their mean size.
pub(crate) fn bytes_per_second(totals: &StreamTotals) -> Option<f64> {
    let counts = &totals.counts;
    Some(totals.rate_achieved? * counts.bytes as f64 / counts.operations.max(1) as f64)
}

/// `12.3`, with as many decimals as the size of the number needs.
pub(crate) fn megabytes(bytes_per_second: f64) -> String {
    match bytes_per_second / MEGABYTE {
        large if large >= 999.5 => count(large.round() as u64),
        middle if middle >= 99.95 => format!("{middle:.0}"),
        small if small >= 9.995 => format!("{small:.1}"),
        tiny => format!("{tiny:.2}"),
    }
}

fn figures(part: &Part) -> Vec<HeadFigure> {
    let figure = |label: &str, value, note| HeadFigure { label: label.to_owned(), value, note };
    let (rate, bytes) = throughput(part).unzip();
    let mut figures = vec![
        figure("IOPS", rate.map_or(ABSENT.into(), iops), directions(part, |totals| totals.rate_achieved.map(iops))),
        figure(
            "MB/s",
            bytes.map_or(ABSENT.into(), megabytes),
            directions(part, |totals| bytes_per_second(totals).map(megabytes)),
        ),
    ];
    if let Some(totals) = judged(part) {
        let p99 = totals.response.p99_ns.map_or(ABSENT.to_owned(), time);
        figures.push(figure("p99 response", p99, format!("of {}", totals.name)));
    }
    let planned = format!("of {} planned", Span::from_ns(part.planned_ns).human());
    figures.push(figure("Measured", clock(part.measured_ns), planned));
    figures
}

/// The stream of the first criterion, otherwise the first.
fn judged(part: &Part) -> Option<&StreamTotals> {
    let named = part.criteria.iter().find_map(|outcome| outcome.asked.stream.as_deref());
    let mine = || together(part).find(|totals| Some(totals.name.as_str()) == named);
    mine().or_else(|| together(part).next())
}

fn iops(rate: f64) -> String {
    if rate >= 100.0 { count(rate.round() as u64) } else { per_second(rate).replace("/s", "") }
}

/// What each stream adds, where there are several: `reads 4,000 · writes 47`; of many, only how many there are.
fn directions(part: &Part, figure: impl Fn(&StreamTotals) -> Option<String>) -> String {
    let each: Vec<String> =
        together(part).filter_map(|totals| Some(format!("{} {}", totals.name, figure(totals)?))).collect();
    match each.len() {
        0 | 1 => String::new(),
        2 | 3 => each.join(" · "),
        many => format!("{many} streams together"),
    }
}

/// When it was: the wall clock, or for a simulated run how long its own clock ran, which begins with no date.
pub(crate) fn when(judgement: &Judgement) -> String {
    if !is_simulated(judgement) {
        return judgement.created.clone();
    }
    let steps = || judgement.steps.iter().map(|step| step.part.measured_ns);
    let elapsed = if judgement.steps.is_empty() { judgement.part.measured_ns } else { steps().sum() };
    format!("simulated time, {} elapsed", clock(elapsed))
}

/// Whether time was simulated with the devices.
pub(crate) fn is_simulated(judgement: &Judgement) -> bool {
    judgement.watermarks.iter().any(|mark| mark.split(':').next() == Some("SIMULATED"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_record::TargetHead;

    fn target(kind: &str, facts: &[(&str, &str)]) -> TargetTotals {
        let facts = facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let head =
            TargetHead { name: "x".into(), kind: kind.into(), size_bytes: 1 << 30, facts, ..TargetHead::default() };
        TargetTotals { head, ..TargetTotals::default() }
    }

    #[test]
    fn a_device_is_named_by_what_it_says_of_itself() {
        let disk = [("model", "SAMSUNG MZ7L3"), ("serial", "S5YJ"), ("device", "sdb")];
        assert_eq!(device(&target("block device", &disk)), "x: SAMSUNG MZ7L3, serial S5YJ, 1 GiB");
        let silent = [("model", "absent"), ("serial", "absent"), ("device", "vda")];
        assert_eq!(device(&target("block device", &silent)), "x: model and serial not told, 1 GiB");
        assert_eq!(device(&target("scratch file", &silent)), "x: scratch file on vda, 1 GiB");
        assert_eq!(device(&target("scratch file", &disk)), "x: scratch file on SAMSUNG MZ7L3, serial S5YJ, 1 GiB");
        assert_eq!(device(&target("simulated", &[("model", "flash")])), "x: simulated flash, 1 GiB");
        assert_eq!(device(&target("null", &[])), "x: null, 1 GiB");
    }

    #[test]
    fn throughput_has_the_digits_it_needs() {
        let shown = [4_000_000.0, 23_400_000.0, 512_300_000.0, 6_400_000_000.0].map(megabytes);
        assert_eq!(shown, ["4.00", "23.4", "512", "6,400"]);
    }
}
