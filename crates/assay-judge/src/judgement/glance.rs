//! What everybody asks first about a result: on which devices, how much per second, when, and what changed.

use crate::fold::layout::is_of_another_tool;
use crate::judgement::database::DatabaseFigures;
use crate::judgement::result::{Judgement, StepFigures};
use crate::judgement::streams::StreamTotals;
use crate::judgement::targets::TargetTotals;
use crate::words::clock_text;
use assay_base::Bytes;
use assay_record::DIRECTORY;

impl StepFigures {
    /// Whether a criterion is about this stream.
    pub(crate) fn judges_stream(&self, stream: &str) -> bool {
        self.criteria.iter().any(|outcome| outcome.asked.stream.as_deref() == Some(stream))
    }

    /// Whether another tool wrote the log, which may not count what ours do: then a zero says nothing.
    fn is_of_another_tool(&self) -> bool {
        is_of_another_tool(&self.generator.engine)
    }

    /// Whether operations completed of which the log does not say how many were in flight.
    pub(crate) fn lacks_in_flight(&self) -> bool {
        self.is_of_another_tool()
            && self.streams.streams_over_all_targets().any(|totals| totals.counts.operations > 0)
            && !self.streams.streams_over_all_targets().any(|totals| totals.in_flight_max > 0)
    }

    /// Whether operations completed of which the log does not say how many bytes they moved.
    pub(crate) fn lacks_bytes(&self) -> bool {
        let moved = self.targets.each.iter().any(|target| target.read_bytes > 0 || target.written_bytes > 0);
        self.is_of_another_tool()
            && !moved
            && self.streams.streams_over_all_targets().any(|totals| totals.counts.operations > 0)
    }

    /// The size of its databases when the run began; nothing where there are none, or one's size is not known.
    pub(crate) fn databases_bytes(&self) -> Option<u64> {
        self.sum_of_databases(|database| database.head.bytes)
    }

    /// The same when the run ended.
    pub(crate) fn databases_bytes_at_end(&self) -> Option<u64> {
        self.sum_of_databases(|database| database.settings_at_end.as_ref()?.get("bytes")?.parse().ok())
    }

    fn sum_of_databases(&self, of: fn(&DatabaseFigures) -> Option<u64>) -> Option<u64> {
        (!self.databases.is_empty()).then(|| {
            self.databases.iter().map(of).try_fold(0, |sum: u64, bytes: Option<u64>| sum.checked_add(bytes?))
        })?
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
    pub(crate) fn device_description(&self) -> String {
        let head = &self.head;
        let unknown =
            if known_fact(head, "serial").is_some() { "model unknown" } else { "model and serial unknown" }.to_owned();
        let mut words: Vec<String> = Vec::new();
        match (head.kind.as_str(), known_fact(head, "model"), known_fact(head, "device")) {
            ("block device", model, _) => words.push(model.map_or(unknown, Clone::clone)),
            (DIRECTORY, ..) => words.push(self.mount_in_words().unwrap_or_else(|| DIRECTORY.to_owned())),
            (kind, Some(model), _) if kind.contains("file") => words.push(format!("{kind} on {model}")),
            (kind, None, Some(disk)) => words.push(format!("{kind} on {disk}")),
            (kind, Some(model), _) => words.push(format!("{kind} {model}")),
            (kind, None, None) => words.push(kind.to_owned()),
        }
        match (known_fact(head, "serial"), known_fact(head, "model")) {
            (Some(serial), _) => words.push(format!("serial {serial}")),
            (None, Some(_)) if head.kind == "block device" => words.push("serial unknown".to_owned()),
            _ => {}
        }
        words.extend((head.size_bytes > 0).then(|| Bytes::new(head.size_bytes).human_text()));
        format!("{}: {}", head.name, words.join(", "))
    }

    /// Of a directory, on what it is, by which options, and how full that is: `ext4 on /dev/sda1 (relatime,rw), 40.2% free`.
    pub(crate) fn mount_in_words(&self) -> Option<String> {
        let fact = |name: &str| known_fact(&self.head, name);
        let (kind, source) = (fact("mount type").filter(|_| self.head.kind == DIRECTORY)?, fact("mount source")?);
        let options = fact("mount options").map_or_else(String::new, |options| format!(" ({options})"));
        let free = fact("free share").map_or_else(String::new, |share| format!(", {share} free"));
        Some(format!("{kind} on {source}{options}{free}"))
    }
}

/// A fact that the target reports.
fn known_fact<'a>(head: &'a assay_record::TargetHead, name: &str) -> Option<&'a String> {
    head.facts.get(name).filter(|value| !value.is_empty() && *value != "absent")
}

impl Judgement {
    /// When the run was: the wall clock, or for a simulated run, which has no date, the length of its own time.
    pub(crate) fn time_of_run(&self) -> String {
        if !self.is_simulated() {
            return self.created.clone();
        }
        let elapsed = if self.steps.is_empty() {
            self.part.time.measured_ns
        } else {
            self.steps.iter().map(|step| step.part.time.measured_ns).sum()
        };
        format!("simulated time, {} elapsed", clock_text(elapsed))
    }

    /// The ways in which the workload deviates from the standard that it is derived from; nothing where it is derived from none.
    pub(crate) fn workload_deviations(&self) -> impl Iterator<Item = &String> {
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
        target.device_description()
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
        let mut facts = vec![("mount type", "ext4"), ("mount source", "/dev/sda1")];
        assert_eq!(named(&target("directory", &facts)), "x: ext4 on /dev/sda1, 1 GiB");
        facts.extend([("mount options", "relatime,rw"), ("free share", "40.2%")]);
        assert_eq!(named(&target("directory", &facts)), "x: ext4 on /dev/sda1 (relatime,rw), 40.2% free, 1 GiB");
        assert_eq!(named(&target("directory", &[])), "x: directory, 1 GiB");
    }
}
