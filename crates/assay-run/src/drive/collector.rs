//! Passes complete intervals to the log, together with what was measured beside them.

use crate::log::logfile::LogFile;
use crate::log::marks::Mail;
use crate::observer::Observer;
use assay_base::Instant;
use assay_engine::{Account, Ending};
use assay_model::Plan;
use assay_record::{
    CacheCounters, ClockSample, DiskCounters, Entry, Event, ForeignLoad, Header, Histograms, HostSample, Interval,
};
use std::collections::BTreeMap;

/// The measurements beside the operations of an interval; empty in a simulation.
#[derive(Default)]
pub(crate) struct Sample {
    pub(crate) disks: Vec<DiskCounters>,
    /// The same of devices that other ranks use too.
    pub(crate) shared_disks: Vec<DiskCounters>,
    /// The load of others on the disks that serve the targets.
    pub(crate) foreign: Vec<ForeignLoad>,
    pub(crate) cache: Option<CacheCounters>,
    pub(crate) meters: Vec<Vec<u64>>,
    pub(crate) host: Option<HostSample>,
    pub(crate) clocks: Option<ClockSample>,
    /// Further figures that completed operations report, by flow.
    pub(crate) counted: BTreeMap<usize, BTreeMap<String, u64>>,
}

/// Writes a segment of the log, and shows it to the observer.
pub(crate) struct Collector<'a> {
    pub(crate) log: &'a mut LogFile,
    pub(crate) observer: &'a mut dyn Observer,
    account: Account,
    takes_marks: bool,
}

impl<'a> Collector<'a> {
    /// Opens a segment with its header.
    pub(crate) fn open_segment(
        plan: &Plan,
        header: Header,
        log: &'a mut LogFile,
        observer: &'a mut dyn Observer,
    ) -> Collector<'a> {
        observer.begin_run(&header);
        let (account, takes_marks) = (Account::new(plan, &header), header.takes_marks);
        log.write_entry(&Entry::Header(Box::new(header)));
        Collector { log, observer, account, takes_marks }
    }

    /// Writes an interval, whose figures of the flows are `interval`, and the distributions of a group that it closes.
    pub(crate) fn write_interval(&mut self, interval: Interval, histograms: Option<Histograms>, sample: Sample) {
        let Sample { disks, shared_disks, foreign, cache, meters, host, clocks, counted } = sample;
        let cache = cache.map(Box::new);
        let mut interval = Interval { disks, shared_disks, foreign, cache, meters, host, clocks, ..interval };
        for (flow, counted) in counted {
            interval.flows[flow].counted = counted;
        }
        self.observer.interval_ended(&interval);
        let (event, end_ns) = (self.account.receive_interval(&interval), interval.end_ns);
        self.log.write_entry(&Entry::Interval(interval));
        if let Some(why) = self.log.newly_certain_failure() {
            self.observer.fails_for_certain(&why);
        }
        if let Some(histograms) = histograms {
            self.log.write_entry(&Entry::Histograms(histograms));
        }
        if let Some(event) = event {
            self.write_event(event);
        }
        if self.takes_marks {
            self.take_mark(end_ns);
        }
    }

    /// Writes the mark that somebody asks for behind an interval that ended at `at_ns`: the part of the run that it begins has whole
    /// intervals.
    fn take_mark(&mut self, at_ns: u64) {
        match self.log.take_mark(at_ns) {
            Mail::Nothing => {}
            Mail::Mark(event) => self.write_event(event),
            Mail::Obstacle(text) => self.observer.warn_user(&format!("warning: {text}")),
        }
    }

    pub(crate) fn write_event(&mut self, event: Event) {
        // A part of what several workers tell together is kept until the last of them has told it.
        let Some(event) = self.account.receive_event(event) else { return };
        self.observer.show_event(&event);
        self.log.write_entry(&Entry::Event(event));
    }

    /// When the phase that waits ends, once that is decided.
    pub(crate) fn phase_end(&self) -> Option<Instant> {
        self.account.phase_end()
    }

    /// Closes the segment.
    pub(crate) fn close_segment(&mut self, ending: &Ending) {
        self.log.write_close(self.account.closing_line(ending));
        self.observer.finish_part();
    }
}
