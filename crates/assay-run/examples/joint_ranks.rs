//! What it costs to join the logs of many ranks: members of one process, each of which tells the same recorded intervals, in turn, and
//! rank 0, which adds them up and writes the log of all. Prints names and numbers. `bench/hosts` runs it.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a measurement reads a clock, files and prints"
)]

use assay_base::{Instant, Span};
use assay_hosts::exchange::{Exchange, ExchangeLink};
use assay_hosts::joint_log::{JointNews, Patience, RankLog};
use assay_hosts::{Collective, Link, LinkError, Message};
use assay_record::{Entry, Header, Histograms, Interval, Reader, Writer};
use rustix::time::{ClockId, clock_gettime};
use std::io::BufReader;

/// Recorded intervals that the members share.
const FRAMES: usize = 32;
/// Intervals from one line of distributions to the next.
const DISTRIBUTIONS_EVERY: u64 = 10;

/// What a rank has to say, one after another.
struct Recorded {
    header: Box<Header>,
    intervals: Vec<Interval>,
    distributions: Vec<Histograms>,
}

fn read_recorded(path: &str) -> Recorded {
    let file = std::fs::File::open(path).expect("the log is there");
    let mut reader = Reader::new(BufReader::new(file));
    let (mut header, mut intervals, mut distributions) = (None, Vec::new(), Vec::new());
    while let Some(entry) = reader.next_entry().expect("the log can be read") {
        match entry.expect("the log is whole") {
            Entry::Header(found) => header = Some(found),
            Entry::Interval(interval) if intervals.len() < FRAMES => intervals.push(interval),
            Entry::Histograms(line) if distributions.len() < FRAMES => distributions.push(line),
            _ => {}
        }
    }
    Recorded { header: header.expect("a log begins with a header"), intervals, distributions }
}

impl Recorded {
    /// The interval of this number, as member `rank` tells it.
    fn interval(&self, rank: usize, index: u64) -> Interval {
        let length = self.header.interval_ns;
        let frame = &self.intervals[(index as usize + rank) % self.intervals.len()];
        Interval { index, start_ns: index * length, end_ns: (index + 1) * length, phase: 0, ..frame.clone() }
    }

    /// The distributions of the intervals up to this one.
    fn distributions(&self, rank: usize, last: u64) -> Histograms {
        let frame = &self.distributions[(last as usize + rank) % self.distributions.len()];
        Histograms { first: last + 1 - DISTRIBUTIONS_EVERY, last, phase: 0, ..frame.clone() }
    }
}

/// A link that counts the bytes that its rank gives.
struct Counting {
    link: ExchangeLink,
    bytes: u64,
}

impl Link for Counting {
    fn own_rank(&self) -> usize {
        self.link.own_rank()
    }
    fn world_size(&self) -> usize {
        self.link.world_size()
    }
    fn send_message(&mut self, to: usize, bytes: Vec<u8>) -> Result<(), LinkError> {
        self.bytes += bytes.len() as u64;
        self.link.send_message(to, bytes)
    }
    fn next_message(&mut self) -> Result<Option<Message>, LinkError> {
        self.link.next_message()
    }
    fn begin_collective(&mut self, operation: Collective) -> Result<(), LinkError> {
        self.bytes += match &operation {
            Collective::Barrier => 0,
            Collective::Broadcast(bytes) | Collective::Gather(bytes) => bytes.len() as u64,
            Collective::Sum(numbers) | Collective::Maximum(numbers) | Collective::MaximumForAll(numbers) => {
                8 * numbers.len() as u64
            }
        };
        self.link.begin_collective(operation)
    }
    fn collective_result(&mut self) -> Result<Option<Collective>, LinkError> {
        self.link.collective_result()
    }
    fn all_has_left(&mut self) -> Result<bool, LinkError> {
        self.link.all_has_left()
    }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Kilobytes that are resident at most so far.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0)
}

/// The ranks, and what each has used.
struct Ranks {
    logs: Vec<RankLog>,
    links: Vec<Counting>,
    /// Seconds of processor time of rank 0, and of all others.
    of_first: f64,
    of_others: f64,
    joint: Writer<std::fs::File>,
    joined: u64,
}

impl Ranks {
    /// Steps all ranks until none of them goes on.
    fn step_to_rest(&mut self, now: Instant) {
        loop {
            let mut has_moved = false;
            // Asking for the processor time is a system call: once for rank 0, and once for all others.
            let began = cpu_seconds();
            has_moved |= self.step_rank(0, now);
            let between = cpu_seconds();
            for rank in 1..self.logs.len() {
                has_moved |= self.step_rank(rank, now);
            }
            self.of_first += between - began;
            self.of_others += cpu_seconds() - between;
            if !has_moved {
                return;
            }
        }
    }

    /// Whether anything went on.
    fn step_rank(&mut self, rank: usize, now: Instant) -> bool {
        let stepped = self.logs[rank].step(&mut self.links[rank], &|| now).expect("ranks of one process go on");
        stepped.news.into_iter().for_each(|news| self.write_news(news));
        stepped.has_moved
    }

    fn write_news(&mut self, news: JointNews) {
        let entry = match news {
            JointNews::Interval(interval) => Entry::Interval(*interval),
            JointNews::Distributions(line) => Entry::Histograms(line),
            _ => return,
        };
        self.joined += u64::from(matches!(entry, Entry::Interval(_)));
        self.joint.write_entry(&entry).expect("the log of all can be written");
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, log, joint, ranks, intervals] = &words[..] else { panic!("joint_ranks LOG JOINT RANKS INTERVALS") };
    let (ranks, intervals): (usize, u64) = (ranks.parse().expect("a number"), intervals.parse().expect("a number"));
    let recorded = read_recorded(log);
    let links = Exchange::within_process(ranks).links();
    let file = std::fs::File::create(joint).expect("the log of all can be made");
    let mut all = Ranks {
        logs: (0..ranks).map(|_| RankLog::begin_listening(Patience::default(), ranks, Instant::ZERO)).collect(),
        links: links.into_iter().map(|link| Counting { link, bytes: 0 }).collect(),
        of_first: 0.0,
        of_others: 0.0,
        joint: Writer::new(file, 0),
        joined: 0,
    };
    all.logs.iter_mut().for_each(|log| log.hear_line(Entry::Header(recorded.header.clone())));
    all.step_to_rest(Instant::ZERO);
    let begun: u64 = all.links.iter().skip(1).map(|link| link.bytes).sum();
    for index in 0..intervals {
        let now = Instant::ZERO + Span::from_ns((index + 1) * recorded.header.interval_ns);
        for rank in 0..ranks {
            all.logs[rank].hear_line(Entry::Interval(recorded.interval(rank, index)));
            if (index + 1) % DISTRIBUTIONS_EVERY == 0 && !recorded.distributions.is_empty() {
                all.logs[rank].hear_line(Entry::Histograms(recorded.distributions(rank, index)));
            }
        }
        all.step_to_rest(now);
    }
    let sent: u64 = all.links.iter().skip(1).map(|link| link.bytes).sum::<u64>() - begun;
    let seconds = intervals as f64 * recorded.header.interval_ns as f64 / 1e9;
    println!("flows\t{}", recorded.header.flows.len());
    println!("joined\t{}", all.joined);
    println!("cpu_seconds\t{:.3}", all.of_first + all.of_others);
    println!("first_share\t{:.6}", all.of_first / seconds);
    println!("other_share\t{:.6}", all.of_others / seconds / (ranks - 1) as f64);
    println!("bytes_per_second\t{:.0}", sent as f64 / seconds / (ranks - 1) as f64);
    println!("memory_mib\t{:.1}", peak_memory() / 1024.0);
}
