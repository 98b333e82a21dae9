//! What something else counted while the load ran: a disk below a file or a database, the database's server.
//!
//! The names of its counters say what they are: `x_bytes` are bytes, `x_ns` is the time that the `xs` (or `xes`) took
//! together, everything else is a number of events. Nothing here decides a verdict.

use assay_base::{Bytes, Span};
use assay_record::MeterHead;
use serde::{Deserialize, Serialize};

/// What a meter counted in the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeterFigures {
    /// What it is, with the names of its counters.
    #[serde(flatten)]
    pub head: MeterHead,
    /// The increase of each counter in the measured time.
    pub counted: Vec<u64>,
    /// For how much of the measured time they were read.
    pub read_ns: u64,
    /// The increase of each counter at each point of `Series::at_ns`; `None` where it could not be read. One list for
    /// each counter.
    pub series: Vec<Vec<Option<u64>>>,
}

/// What a counter's name says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Events.
    Events,
    /// Bytes.
    Bytes,
    /// Nanoseconds, of the events that the counter with this index counts.
    TimeOf(usize),
}

impl MeterFigures {
    /// What the counter with this index counts; none for a time whose events are not counted.
    pub(crate) fn counted_kind(&self, index: usize) -> Option<Counted> {
        let name = self.head.counters.get(index)?;
        if name.ends_with("_bytes") {
            return Some(Counted::Bytes);
        }
        let Some(one) = name.strip_suffix("_ns") else { return Some(Counted::Events) };
        self.head
            .counters
            .iter()
            .position(|of| of.strip_prefix(one).is_some_and(|plural| plural == "s" || plural == "es"))
            .map(Counted::TimeOf)
    }

    /// Why nothing measures the counter with this index, where that is so: its zeros say nothing.
    pub(crate) fn not_measured(&self, index: usize) -> Option<&str> {
        self.head.not_measured.get(self.head.counters.get(index)?).map(String::as_str)
    }

    /// The counter's name as a reader knows it, without its unit.
    pub(crate) fn counter_label(&self, index: usize) -> String {
        let name = self.head.counters.get(index).map_or("", String::as_str);
        let stem = name.strip_suffix("_bytes").or_else(|| name.strip_suffix("_ns")).unwrap_or(name);
        stem.replace('_', " ")
    }

    /// The figure of a counter: events or bytes per second, or the mean time of one event in nanoseconds; from what the
    /// counters rose by in a time.
    pub(crate) fn counter_figure(&self, index: usize, rose: impl Fn(usize) -> Option<u64>, ns: u64) -> Option<f64> {
        if self.not_measured(index).is_some() {
            return None;
        }
        let value = rose(index)? as f64;
        let over = match self.counted_kind(index)? {
            Counted::Events | Counted::Bytes => ns as f64 / 1e9,
            Counted::TimeOf(events) => rose(events)? as f64,
        };
        (over > 0.0).then(|| value / over)
    }

    /// The figure over the measured time.
    pub(crate) fn mean_figure(&self, index: usize) -> Option<f64> {
        self.counter_figure(index, |index| self.counted.get(index).copied(), self.read_ns)
    }

    /// The time of all flushes as a share of the time in which they were counted, where that is measured. One flush takes its
    /// whole time from those who wait for it; where several go on at the same time, the share may be more than 1.
    pub(crate) fn share_in_flush(&self) -> Option<f64> {
        let index = self.head.counters.iter().position(|name| name == "flush_ns")?;
        if self.not_measured(index).is_some() || self.read_ns == 0 {
            return None;
        }
        Some(*self.counted.get(index)? as f64 / self.read_ns as f64)
    }

    /// `disk vda (below data)`.
    pub(crate) fn meter_name(&self) -> String {
        let MeterHead { name, kind, holds, .. } = &self.head;
        let holds = if holds.is_empty() { String::new() } else { format!(" (below {holds})") };
        format!("{kind} {name}{holds}")
    }

    /// A figure with its name and unit.
    pub(crate) fn figure_in_words(&self, index: usize, figure: f64) -> String {
        let label = self.counter_label(index);
        match self.counted_kind(index) {
            Some(Counted::Bytes) => format!("{label} {}/s", Bytes::new(figure as u64).human_text()),
            Some(Counted::TimeOf(_)) => format!("a {label} {}", Span::from_ns(figure as u64).human_text()),
            _ => format!("{figure:.1} {label}/s"),
        }
    }

    /// The counters in one sentence. What never happened is left out, and what nothing measures is named with its reason.
    pub fn in_words(&self) -> String {
        let said: Vec<String> = (0..self.head.counters.len())
            .filter_map(|index| match self.not_measured(index) {
                Some(why) => Some(format!("time of a {} not measured: {why}", self.counter_label(index))),
                None => self
                    .mean_figure(index)
                    .filter(|figure| *figure > 0.0)
                    .map(|figure| self.figure_in_words(index, figure)),
            })
            .collect();
        let said = match (self.read_ns, said.is_empty()) {
            (0, _) => "its counters could not be read".to_owned(),
            (_, true) => "nothing reached it".to_owned(),
            _ => said.join(", "),
        };
        format!("{}: {said}", self.meter_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(counted: [u64; 5], read_ns: u64) -> MeterFigures {
        let counters = ["reads", "read_bytes", "read_ns", "flushes", "flush_ns"].map(str::to_owned).to_vec();
        MeterFigures {
            head: MeterHead {
                name: "vda".into(),
                kind: "disk".into(),
                holds: "data".into(),
                counters,
                ..MeterHead::default()
            },
            counted: counted.to_vec(),
            read_ns,
            series: Vec::new(),
        }
    }

    #[test]
    fn names_say_what_is_counted() {
        let disk = disk([30, 30 << 20, 60_000_000, 0, 0], 10_000_000_000);
        let kinds: Vec<_> = (0..6).map(|index| disk.counted_kind(index)).collect();
        use Counted::{Bytes, Events, TimeOf};
        assert_eq!(kinds, [Some(Events), Some(Bytes), Some(TimeOf(0)), Some(Events), Some(TimeOf(3)), None]);
        assert_eq!(disk.in_words(), "disk vda (below data): 3.0 reads/s, read 3 MiB/s, a read 2 ms");
        let server = MeterHead { counters: vec!["log_sync_ns".into()], ..MeterHead::default() };
        let server = MeterFigures { head: server, counted: vec![5], read_ns: 1, ..MeterFigures::default() };
        assert_eq!((server.counted_kind(0), server.mean_figure(0)), (None, None), "nobody counted its events");
    }

    #[test]
    fn the_share_in_flushes_is_of_the_time_in_which_they_were_counted() {
        let half = disk([0, 0, 0, 40, 5_000_000_000], 10_000_000_000);
        assert_eq!((half.share_in_flush(), disk([0; 5], 0).share_in_flush()), (Some(0.5), None));
        let not_measured = [("flush_ns".to_owned(), "the kernel is too old".to_owned())].into();
        let head = MeterHead { not_measured, ..half.head.clone() };
        assert_eq!(MeterFigures { head, ..half }.share_in_flush(), None);
    }

    /// PostgreSQL counts the time of its syncs only where it is told to.
    #[test]
    fn what_nothing_measures_is_said_with_its_reason() {
        let not_measured = [("log_sync_ns".to_owned(), "track_wal_io_timing is off".to_owned())].into();
        let counters = ["log_syncs", "log_sync_ns"].map(str::to_owned).to_vec();
        let head = MeterHead {
            name: "postgresql".into(),
            kind: "server".into(),
            counters,
            not_measured,
            ..MeterHead::default()
        };
        let server = MeterFigures { head, counted: vec![50, 0], read_ns: 10_000_000_000, series: Vec::new() };
        assert_eq!(server.mean_figure(1), None);
        let said = "server postgresql: 5.0 log syncs/s, time of a log sync not measured: track_wal_io_timing is off";
        assert_eq!(server.in_words(), said);
    }

    #[test]
    fn what_was_not_read_is_not_zero() {
        assert_eq!(disk([0; 5], 0).in_words(), "disk vda (below data): its counters could not be read");
        assert_eq!(disk([0; 5], 1).in_words(), "disk vda (below data): nothing reached it");
        let short = MeterFigures { counted: vec![1], ..disk([0; 5], 1) };
        assert_eq!(short.mean_figure(4), None, "a log may lack counters");
    }
}
