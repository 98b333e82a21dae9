//! Sums of operations: those of one kind, those of a database, and those of each sample of a stream.

use super::layout::Role;

/// Operations of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many operations succeeded.
    pub operations: u64,
    /// How many bytes they moved.
    pub bytes: u64,
    /// The sum of their response times, in nanoseconds.
    pub response_ns: u64,
    /// The sum of their service times, in nanoseconds.
    pub service_ns: u64,
}

impl Count {
    /// Adds other operations.
    pub fn add(&mut self, other: Count) {
        self.operations = self.operations.saturating_add(other.operations);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.response_ns = self.response_ns.saturating_add(other.response_ns);
        self.service_ns = self.service_ns.saturating_add(other.service_ns);
    }

    /// The sum of both counts.
    #[must_use]
    pub fn sum_with(mut self, other: Count) -> Count {
        self.add(other);
        self
    }

    /// Operations per second, if they took this many seconds.
    pub fn rate_per_second(&self, seconds: f64) -> f64 {
        if seconds > 0.0 { self.operations as f64 / seconds } else { 0.0 }
    }

    /// The mean size of an operation in bytes; zero if there is none, as in Jetstress's report.
    pub fn mean_bytes(&self) -> f64 {
        self.bytes as f64 / self.operations.max(1) as f64
    }

    /// The mean response in milliseconds.
    pub fn response_ms(&self) -> f64 {
        self.response_ns as f64 / self.operations.max(1) as f64 / 1e6
    }

    /// The mean service time in milliseconds.
    pub fn service_ms(&self) -> f64 {
        self.service_ns as f64 / self.operations.max(1) as f64 / 1e6
    }
}

/// The I/O of a database and its log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Io {
    /// Reads of pages, without the reads of the maintenance.
    pub reads: Count,
    /// Writes of pages, including those by which the database grows.
    pub writes: Count,
    /// Reads of the log.
    pub log_reads: Count,
    /// Writes of the log.
    pub log_writes: Count,
    /// Reads of the maintenance.
    pub maintenance: Count,
}

impl Io {
    /// The count to which a stream belongs.
    pub(super) fn count_mut(&mut self, part: Role) -> &mut Count {
        match part {
            Role::Reads | Role::ReadBack => &mut self.reads,
            Role::Writes | Role::Extends => &mut self.writes,
            Role::LogReads => &mut self.log_reads,
            Role::LogWrites => &mut self.log_writes,
            Role::Maintenance => &mut self.maintenance,
        }
    }

    /// The sum of the I/O of both.
    #[must_use]
    pub fn sum_with(self, other: Io) -> Io {
        Io {
            reads: self.reads.sum_with(other.reads),
            writes: self.writes.sum_with(other.writes),
            log_reads: self.log_reads.sum_with(other.log_reads),
            log_writes: self.log_writes.sum_with(other.log_writes),
            maintenance: self.maintenance.sum_with(other.maintenance),
        }
    }

    /// Reads and writes of the database, which Jetstress calls transactional I/O.
    pub fn transactional_io(&self) -> Count {
        self.reads.sum_with(self.writes)
    }

    /// All reads of the database, including those of the maintenance.
    pub fn all_reads(&self) -> Count {
        self.reads.sum_with(self.maintenance)
    }
}

/// The samples of a stream, of which only the largest mean response is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Samples {
    length_ns: u64,
    begin_ns: u64,
    reached_ns: u64,
    open: Count,
    pub worst_ms: Option<f64>,
}

impl Samples {
    /// Samples of this length, in nanoseconds.
    pub(super) fn new(length_ns: u64) -> Samples {
        Samples { length_ns, begin_ns: 0, reached_ns: 0, open: Count::default(), worst_ms: None }
    }

    /// Adds the operations of an interval that begins at `at_ns` of the measured time.
    pub(super) fn add_operations(&mut self, at_ns: u64, count: Count) {
        if at_ns >= self.begin_ns.saturating_add(self.length_ns) {
            self.close_sample();
            self.begin_ns = at_ns / self.length_ns * self.length_ns;
        }
        self.open.add(count);
    }

    /// Takes note that the measured time has reached `at_ns`.
    pub(super) fn reach_time(&mut self, at_ns: u64) {
        self.reached_ns = at_ns;
    }

    /// Ends the last sample. If the end of the run has cut it, it counts only if it has at least half of its length or
    /// if there is no other sample.
    pub(super) fn end_sample(&mut self) {
        if self.worst_ms.is_none() || self.reached_ns.saturating_sub(self.begin_ns) * 2 >= self.length_ns {
            self.close_sample();
        }
    }

    fn close_sample(&mut self) {
        let own = std::mem::take(&mut self.open);
        if own.operations > 0 {
            let mean = own.response_ms();
            self.worst_ms = Some(self.worst_ms.map_or(mean, |worst| worst.max(mean)));
        }
    }
}
