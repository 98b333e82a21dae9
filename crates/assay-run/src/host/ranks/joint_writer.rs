//! Writes the log of all ranks from what rank 0 learns.

use super::wording::name_on_host;
use crate::failure::Failure;
use crate::log::logfile::LogFile;
use crate::observer::Observer;
use assay_base::{Instant, Rate, Span};
use assay_engine::{Account, Ending, Totals};
use assay_hosts::joint_log::JointNews;
use assay_model::Plan;
use assay_record::{Close, CloseReason, DurabilityHead, Entry, Event, EventKind, Header, Histograms, Interval};
use std::collections::BTreeMap;

/// The log of all ranks while it is written.
pub(super) struct JointWriter<'a> {
    log: &'a mut LogFile,
    observer: &'a mut dyn Observer,
    segment: Option<Segment>,
    /// What ranks have told before all had begun.
    early: Vec<(usize, Event)>,
    /// The end of the last interval.
    reached_ns: u64,
    last_interval: Option<u64>,
}

/// The segment that is open.
struct Segment {
    account: Account,
    /// Names of the hosts, by rank.
    hosts: Vec<String>,
}

impl<'a> JointWriter<'a> {
    pub(super) fn begin_log(log: &'a mut LogFile, observer: &'a mut dyn Observer) -> JointWriter<'a> {
        JointWriter { log, observer, segment: None, early: Vec::new(), reached_ns: 0, last_interval: None }
    }

    /// Whether nothing more can be written.
    pub(super) fn has_failed(&self) -> bool {
        self.log.write_failure().is_some()
    }

    /// Writes what is a line of the joint log.
    pub(super) fn receive_news(&mut self, news: JointNews) -> Result<(), Failure> {
        match news {
            JointNews::SegmentBegins(headers) => self.begin_segment(&headers)?,
            JointNews::Interval(interval) => self.write_interval(*interval),
            JointNews::Distributions(line) => self.write_distributions(line),
            JointNews::Event { rank, event } => self.write_event(rank, event),
            JointNews::SegmentEnds(closes) => self.end_segment(&closes),
            JointNews::Silent { rank, quiet_for } => self.write_silence(EventKind::RankSilent, rank, quiet_for),
            JointNews::Lost { rank, quiet_for } => self.write_silence(EventKind::RankLost, rank, quiet_for),
            JointNews::Start { .. } | JointNews::EndsEarly | JointNews::ClockStrayed(_) | JointNews::Failed { .. } => {}
        }
        Ok(())
    }

    /// Closes the segment that is open, because the ranks do not go on together: what all have measured so far stays.
    pub(super) fn close_cut_off(&mut self, why: &str) {
        if self.log.is_empty() {
            self.log.forget_unbegun();
        }
        let Some(segment) = self.segment.take() else { return };
        let at = Instant::from_ns(self.reached_ns);
        let ending = Ending { reason: CloseReason::Interrupted, why: Some(why.to_owned()), at, totals: None };
        self.log.write_close(segment.account.closing_line(&ending));
        self.observer.finish_part();
    }

    pub(super) fn time_passes(&self) {
        self.observer.time_passes();
    }

    fn begin_segment(&mut self, headers: &[Header]) -> Result<(), Failure> {
        let header = joint_header(headers);
        let plan: Plan = serde_json::from_value(header.plan.clone())
            .map_err(|error| Failure::internal_bug(format!("a plan that was sent cannot be read: {error}")))?;
        self.observer.begin_run(&header);
        let account = Account::new(&plan, &header);
        let hosts = header.hosts.iter().map(|host| host.name.clone()).collect();
        self.log.write_entry(&Entry::Header(Box::new(header)));
        self.segment = Some(Segment { account, hosts });
        for (rank, event) in std::mem::take(&mut self.early) {
            self.write_event(rank, event);
        }
        Ok(())
    }

    fn write_interval(&mut self, interval: Interval) {
        let Some(segment) = &mut self.segment else { return };
        (self.reached_ns, self.last_interval) = (interval.end_ns, Some(interval.index));
        self.observer.interval_ended(&interval);
        segment.account.receive_interval(&interval);
        self.log.write_entry(&Entry::Interval(interval));
        if let Some(why) = self.log.newly_certain_failure() {
            self.observer.fails_for_certain(&why);
        }
    }

    fn write_distributions(&mut self, line: Histograms) {
        self.log.write_entry(&Entry::Histograms(line));
    }

    fn write_event(&mut self, rank: usize, mut event: Event) {
        let Some(segment) = &self.segment else { return self.early.push((rank, event)) };
        event.details.insert("rank".to_owned(), rank.to_string());
        event.details.insert("host".to_owned(), segment.hosts.get(rank).cloned().unwrap_or_default());
        let is_good_news =
            event.what == EventKind::RankJudged && event.details.get("verdict").is_some_and(|word| word == "PASS");
        if !is_good_news {
            self.observer.show_event(&event);
        }
        self.log.write_entry(&Entry::Event(event));
    }

    fn write_silence(&mut self, what: EventKind, rank: usize, quiet_for: Span) {
        let host = self.segment.as_ref().and_then(|segment| segment.hosts.get(rank));
        let whom = name_on_host(rank, host.map_or("", String::as_str));
        let last = match self.last_interval {
            Some(last) => format!("interval {last} is the last of all"),
            None => "no interval of all had ended".to_owned(),
        };
        let text = format!("nothing was heard of {whom} for {}: {last}", quiet_for.human_text());
        self.write_event(rank, Event { at_ns: self.reached_ns, what, text, details: BTreeMap::new() });
    }

    fn end_segment(&mut self, closes: &[Close]) {
        let Some(segment) = self.segment.take() else { return };
        let ending = joint_ending(closes, &segment.hosts, self.reached_ns);
        let mut close = segment.account.closing_line(&ending);
        // Which rank ended it is said whatever the reason was.
        if let Some(why) = ending.why {
            close.text = why;
        }
        self.log.write_close(close);
        self.observer.finish_part();
    }
}

/// The header of all ranks: that of rank 0, with all hosts and all that limits the result. What is counted on each host alone is in
/// its own log.
fn joint_header(headers: &[Header]) -> Header {
    let mut joint = headers[0].clone();
    joint.hosts = headers.iter().flat_map(|header| header.hosts.iter().cloned()).collect();
    for mark in headers.iter().flat_map(|header| &header.watermarks) {
        if !joint.watermarks.contains(mark) {
            joint.watermarks.push(mark.clone());
        }
    }
    for (place, stream) in joint.streams.iter_mut().enumerate() {
        let mut rates = headers.iter().map(|header| header.streams.get(place).and_then(|own| own.rate));
        stream.rate = rates.try_fold(Rate::ZERO, |sum, rate| sum.checked_plus(rate?));
    }
    for (place, closed_loop) in joint.loops.iter_mut().enumerate() {
        closed_loop.slots = headers.iter().filter_map(|header| header.loops.get(place)).map(|own| own.slots).sum();
    }
    let parts: u64 = joint.hosts.iter().map(|host| host.parts).sum();
    joint.engine.insert("workers".to_owned(), parts.to_string());
    (joint.meters, joint.watched) = (Vec::new(), Vec::new());
    joint.unwatched = headers.iter().flat_map(unwatched_by_rank).collect();
    joint.durability = joint_durability(headers);
    joint.clocks = None;
    joint
}

/// Where a rank cannot tell whether others use its disks.
fn unwatched_by_rank(header: &Header) -> impl Iterator<Item = String> {
    let rank = header.hosts.first().map_or(0, |host| host.rank);
    header.unwatched.iter().map(move |why| format!("rank {rank}: {why}"))
}

/// What makes data durable for all ranks. The flushes of a block device that is the target are counted in the log of all, for all ranks
/// of its hosts; those of disks beneath a file are judged by the rank that has them for itself, and known to nobody where several ranks
/// share them.
fn joint_durability(headers: &[Header]) -> Vec<DurabilityHead> {
    let mut joint: Vec<DurabilityHead> = Vec::new();
    for head in headers.iter().flat_map(|header| &header.durability) {
        let counts_itself = !head.device.is_empty() && head.meters.is_empty();
        let is_judged_there = head.uncounted.is_none() && head.never.is_none();
        if joint.iter().any(|known| known.target == head.target) || (is_judged_there && !counts_itself) {
            continue;
        }
        let uncounted = head.uncounted.clone().filter(|_| !counts_itself);
        joint.push(DurabilityHead { uncounted, meters: Vec::new(), ..head.clone() });
    }
    joint
}

/// How the run of all has ended: as the first rank that has not come to the end of the plan, if there is one. Then the joint log ends
/// where that rank did, and only its intervals are known.
fn joint_ending(closes: &[Close], hosts: &[String], reached_ns: u64) -> Ending {
    let mut early: Vec<(usize, &Close)> =
        closes.iter().enumerate().filter(|(_, close)| close.reason != CloseReason::Completed).collect();
    // The one that ended first is the cause for the others.
    early.sort_by_key(|(_, close)| close.intervals);
    let early = early.first().copied();
    let why = early.map(|(rank, close)| {
        let host = hosts.get(rank).map(String::as_str).unwrap_or_default();
        format!("rank {rank} on {host}: {}", close.text)
    });
    if let Some((_, close)) = early {
        return Ending { reason: close.reason, why, at: Instant::from_ns(reached_ns), totals: None };
    }
    let sum = |count: fn(&Close) -> u64| closes.iter().map(count).fold(0, u64::saturating_add);
    Ending {
        reason: CloseReason::Completed,
        why,
        at: Instant::from_ns(closes.iter().map(|close| close.at_ns).max().unwrap_or(0)),
        totals: Some(Totals {
            issued: sum(|close| close.issued),
            completed: sum(|close| close.completed),
            stuck: sum(|close| close.stuck),
        }),
    }
}
