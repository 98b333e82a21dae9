//! What everybody asks first about a result: on which devices, how much per second, when, and what changed.

use crate::judgement::database::DatabaseFigures;
use crate::judgement::result::{Judgement, StepFigures};
use crate::judgement::series::{Change, Steadiness};
use crate::judgement::streams::StreamTotals;
use crate::judgement::targets::TargetTotals;
use crate::words::clock;
use assay_base::Bytes;
use std::ops::Range;

/// What a stream of flushes does, in a log.
const FLUSH: &str = "flush";

impl StepFigures {
    /// The size of its databases when the run began; nothing where there are none, or one's size is not known.
    pub(crate) fn databases_bytes(&self) -> Option<u64> {
        self.sum_of_databases(|it| it.head.bytes)
    }

    /// The same when the run ended.
    pub(crate) fn databases_bytes_at_end(&self) -> Option<u64> {
        self.sum_of_databases(|it| it.settings_at_end.as_ref()?.get("bytes")?.parse().ok())
    }

    fn sum_of_databases(&self, of: fn(&DatabaseFigures) -> Option<u64>) -> Option<u64> {
        let sum = |sum: u64, bytes: Option<u64>| sum.checked_add(bytes?);
        (!self.databases.is_empty()).then(|| self.databases.iter().map(of).try_fold(0, sum))?
    }

    /// The streams over all their targets: for each the entry of all targets together, or its only entry.
    pub(crate) fn whole_streams(&self) -> impl Iterator<Item = &StreamTotals> {
        let only = |stream: &StreamTotals| self.streams.iter().filter(|other| other.name == stream.name).count() == 1;
        let whole =
            move |stream: &&StreamTotals| stream.target.is_none() || only(stream) && !self.is_counted_twice(stream);
        self.streams.iter().filter(whole)
    }

    /// Whether its operations are reads or writes, so that they have bytes.
    pub(crate) fn moves_bytes(&self) -> bool {
        self.streams.iter().any(|stream| stream.direction.parse::<assay_base::Direction>().is_ok())
    }

    /// Whether a stream is the part of another one on one device, as a log of ACT names it: `/dev/sdb-reads` beside
    /// `reads`.
    fn is_counted_twice(&self, stream: &StreamTotals) -> bool {
        let of = stream.target.as_ref().and_then(|target| stream.name.strip_prefix(target.as_str())?.strip_prefix('-'));
        of.is_some_and(|whole| self.streams.iter().any(|other| other.name == whole))
    }

    /// Operations and bytes per second of all streams together, while the load was offered; `None` where no time was measured.
    /// Flushes, which move nothing, are not counted among them.
    pub(crate) fn throughput(&self) -> Option<(f64, f64)> {
        let counted = || self.whole_streams().filter(|totals| totals.direction != FLUSH);
        let rate = counted().filter_map(|totals| totals.rate_achieved).reduce(|a, b| a + b)?;
        Some((rate, counted().filter_map(StreamTotals::bytes_per_second).sum()))
    }

    /// The largest change of level within a period of measured time, and the stream it belongs to.
    pub(crate) fn largest_change(&self, within: Range<u64>) -> Option<(&Steadiness, &Change)> {
        let changes = self.steadiness.iter().flat_map(|it| it.changes.iter().map(move |at| (it, at)));
        changes.filter(|(_, at)| within.contains(&at.at_ns)).max_by(|a, b| a.1.size().total_cmp(&b.1.size()))
    }
}

impl StreamTotals {
    /// Its operations per second at their mean size.
    pub(crate) fn bytes_per_second(&self) -> Option<f64> {
        Some(self.rate_achieved? * self.counts.bytes as f64 / self.counts.operations.max(1) as f64)
    }
}

impl TargetTotals {
    /// `/dev/sdb: SAMSUNG MZ7L3, serial S5YJ, 894 GiB`.
    pub(crate) fn device(&self) -> String {
        let head = &self.head;
        let fact = |name: &str| head.facts.get(name).filter(|value| !value.is_empty() && *value != "absent");
        let unknown = if fact("serial").is_some() { "model unknown" } else { "model and serial unknown" }.to_owned();
        let mut words: Vec<String> = Vec::new();
        match (head.kind.as_str(), fact("model"), fact("device")) {
            ("block device", model, _) => words.push(model.map_or(unknown, Clone::clone)),
            (kind, Some(model), _) if kind.contains("file") => words.push(format!("{kind} on {model}")),
            (kind, None, Some(disk)) => words.push(format!("{kind} on {disk}")),
            (kind, Some(model), _) => words.push(format!("{kind} {model}")),
            (kind, None, None) => words.push(kind.to_owned()),
        }
        match (fact("serial"), fact("model")) {
            (Some(serial), _) => words.push(format!("serial {serial}")),
            (None, Some(_)) if head.kind == "block device" => words.push("serial unknown".to_owned()),
            _ => {}
        }
        words.extend((head.size_bytes > 0).then(|| Bytes::new(head.size_bytes).human()));
        format!("{}: {}", head.name, words.join(", "))
    }
}

impl Judgement {
    /// When the run was: the wall clock, or for a simulated run, which has no date, the length of its own time.
    pub(crate) fn when(&self) -> String {
        if !self.is_simulated() {
            return self.created.clone();
        }
        let steps = || self.steps.iter().map(|step| step.part.measured_ns);
        let elapsed = if self.steps.is_empty() { self.part.measured_ns } else { steps().sum() };
        format!("simulated time, {} elapsed", clock(elapsed))
    }

    /// In what the workload is not as the standard requires from which it is derived; nothing where it is derived from none.
    pub(crate) fn deviations(&self) -> impl Iterator<Item = &String> {
        self.part.databases.iter().flat_map(|database| &database.head.deviations)
    }

    /// Whether time was simulated, as it is with simulated devices.
    pub(crate) fn is_simulated(&self) -> bool {
        self.watermarks.iter().any(|mark| mark.split(':').next() == Some("SIMULATED"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_record::TargetHead;

    fn named(target: &TargetTotals) -> String {
        target.device()
    }

    fn target(kind: &str, facts: &[(&str, &str)]) -> TargetTotals {
        let facts = facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let head =
            TargetHead { name: "x".into(), kind: kind.into(), size_bytes: 1 << 30, facts, ..TargetHead::default() };
        TargetTotals { head, ..TargetTotals::default() }
    }

    #[test]
    fn a_device_is_named_by_what_it_says_of_itself() {
        let disk = [("model", "SAMSUNG MZ7L3"), ("serial", "S5YJ"), ("device", "sdb")];
        assert_eq!(named(&target("block device", &disk)), "x: SAMSUNG MZ7L3, serial S5YJ, 1 GiB");
        let silent = [("model", "absent"), ("serial", "absent"), ("device", "vda")];
        assert_eq!(named(&target("block device", &silent)), "x: model and serial unknown, 1 GiB");
        assert_eq!(named(&target("scratch file", &silent)), "x: scratch file on vda, 1 GiB");
        assert_eq!(named(&target("scratch file", &disk)), "x: scratch file on SAMSUNG MZ7L3, serial S5YJ, 1 GiB");
        assert_eq!(named(&target("simulated", &[("model", "flash")])), "x: simulated flash, 1 GiB");
        assert_eq!(named(&target("null", &[])), "x: null, 1 GiB");
    }

    #[test]
    fn what_each_device_did_of_a_stream_is_not_added_to_it() {
        let stream = |name: &str, target: Option<&str>, rate: f64| StreamTotals {
            name: name.to_owned(),
            target: target.map(str::to_owned),
            rate_achieved: Some(rate),
            ..StreamTotals::default()
        };
        let part = |streams| StepFigures { streams, ..StepFigures::default() };
        // As this program and ACT's logs record several targets, with a stream that exists on only one of them.
        let ours = vec![stream("r", None, 40.0), stream("r", Some("a"), 15.0), stream("r", Some("b"), 25.0)];
        let acts = vec![stream("r", Some("all"), 40.0), stream("a-r", Some("a"), 15.0), stream("b-r", Some("b"), 25.0)];
        let one = vec![stream("r", None, 30.0), stream("r", Some("a"), 15.0), stream("log", Some("b"), 10.0)];
        let rate = |streams| part(streams).throughput().map(|(rate, _)| rate);
        assert_eq!([rate(ours), rate(acts), rate(one), rate(Vec::new())], [Some(40.0), Some(40.0), Some(40.0), None]);
        // A stream of its own whose name only looks like a part.
        assert_eq!(rate(vec![stream("w", None, 1.0), stream("a-r", Some("a"), 2.0)]), Some(3.0));
        let flushes = StreamTotals { direction: "flush".to_owned(), ..stream("f", None, 7.0) };
        assert_eq!(rate(vec![stream("w", None, 1.0), flushes]), Some(1.0), "a flush is no operation on data");
    }
}
