//! The server's log: its lines about each device's large blocks, and its dumps of histograms.
//!
//! ```text
//! Apr 10 2018 07:28:02 GMT: INFO (drv_ssd): (drv_ssd.c:2135) {ycsb} /dev/nvme0n1: used-bytes 1 free-wblocks 2 write-q 0
//!   write (65885408,1543.0) defrag-q 36 defrag-read (53996089,1172.8) defrag-write (17909611,406.8)
//! Apr 10 2018 07:28:02 GMT: DETAIL (drv_ssd): (drv_ssd.c:2140) {ycsb} /dev/nvme0n1: defrag-io-skips (3650,0.2) direct-frees (11873218,369)
//! Apr 10 2018 07:28:02 GMT: INFO (info): (hist.c:240) histogram dump: {ycsb}-device-read-size (365 total) bytes
//! Apr 10 2018 07:28:02 GMT: INFO (info): (hist.c:257)  (10: 0000000300) (11: 0000000065)
//! ```
//!
//! Counters and dumps count from the start of the server: rates come from the difference of two lines. Bucket n of a
//! dump contains values from 2^(n−1) to 2^n.

use super::findings::{Blocks, Counter, Findings, Histogram, NAMES_MAX, Place, Source, Unit};
use super::text::{histogram_name, log_time, parse_number};
use super::tolerance::are_apart;
use memchr::memchr;
use memchr::memmem::find;
use std::collections::BTreeMap;

/// Number of buckets of a histogram: values have 64 bits.
const BUCKETS: usize = 65;
/// A pause between two lines that is this many times the previous one may be a jump of the clock.
const JUMP: i64 = 5;

/// Counters that are used, with their present names and those of older versions.
const COUNTERS: [(&str, &str); 7] = [
    ("write", "w-tot"),
    ("defrag-read", "defrag-tot"),
    ("defrag-write", "defrag-w-tot"),
    ("direct-frees", ""),
    ("defrag-io-skips", ""),
    ("partial-writes", ""),
    ("tomb-raider-read", ""),
];

#[derive(Default)]
pub(super) struct Reader {
    dumps: BTreeMap<String, Dumps>,
    open: Option<Dump>,
    /// The latest time in any line.
    now: Option<i64>,
}

/// One dump.
struct Dump {
    name: String,
    unit: &'static str,
    total: u64,
    time: i64,
    place: Place,
    buckets: Box<[u64; BUCKETS]>,
}

/// All dumps of one histogram.
struct Dumps {
    unit: &'static str,
    before: Dump,
    counted: Box<[u64; BUCKETS]>,
    seconds: u64,
    dumps: u64,
}

impl Reader {
    /// Takes a line of the server's log; false for any other line.
    pub(super) fn take_line(&mut self, place: Place, line: &str, found: &mut Findings) -> bool {
        let Some(time) = log_time(line) else { return false };
        let Some((context, rest)) = split_context(line) else { return false };
        if self.now.is_some_and(|now| time < now - 1) {
            let back = self.now.unwrap_or(time) - time;
            found.add_remark(place, format!("the clock goes back by {back} s; no rate is taken across it"));
        }
        self.now = Some(time);
        match context {
            "drv_ssd" => take_drive(place, time, rest, found),
            "info" | "hist" => self.take_histogram(place, time, rest, found),
            _ => {}
        }
        found.current_file_seen().kinds.entry("lines of the server's log").and_modify(|n| *n += 1).or_insert(1);
        true
    }

    fn take_histogram(&mut self, place: Place, time: i64, rest: &str, found: &mut Findings) {
        if let Some(head) = rest.strip_prefix("histogram dump: ") {
            self.close_dump(found);
            self.open = dump_head(head).map(|(name, total, unit)| {
                let buckets = Box::new([0; BUCKETS]);
                Dump { name: name.to_owned(), unit, total, time, place, buckets }
            });
        } else if rest.starts_with('(')
            && let Some(dump) = &mut self.open
        {
            for (bucket, count) in parse_buckets(rest) {
                dump.buckets[bucket] = count;
                dump.place = place;
            }
        }
    }

    /// A dump is complete: adds what it counts beyond the previous one.
    fn close_dump(&mut self, found: &mut Findings) {
        let Some(dump) = self.open.take() else { return };
        let sum: u128 = dump.buckets.iter().map(|&count| u128::from(count)).sum();
        if sum != u128::from(dump.total) {
            let text =
                format!("the dump of {} holds {sum} of its {} values; it is cut and left out", dump.name, dump.total);
            return found.add_remark(dump.place, text);
        }
        found.count_line("dumps of histograms");
        if !self.dumps.contains_key(&dump.name) {
            if self.dumps.len() < NAMES_MAX {
                let (name, unit) = (dump.name.clone(), dump.unit);
                let counted = Box::new([0; BUCKETS]);
                self.dumps.insert(name, Dumps { unit, before: dump, counted, seconds: 0, dumps: 1 });
            }
            return;
        }
        let Some(dumps) = self.dumps.get_mut(&dump.name) else { return };
        let grown = dump.buckets.iter().zip(dumps.before.buckets.iter()).all(|(now, before)| now >= before);
        let passed = dump.time - dumps.before.time;
        if !grown {
            let text =
                format!("{} counts fewer than before: the server restarted; no rate is taken across it", dump.name);
            found.add_remark(dump.place, text);
        } else if passed > 0 {
            dumps.seconds += passed.unsigned_abs();
            let pairs = dump.buckets.iter().zip(dumps.before.buckets.iter());
            dumps
                .counted
                .iter_mut()
                .zip(pairs)
                .for_each(|(sum, (now, before))| *sum = sum.saturating_add(now - before));
        }
        dumps.dumps += 1;
        dumps.before = dump;
    }

    /// The file has ended.
    pub(super) fn end_file(&mut self, found: &mut Findings) {
        self.close_dump(found);
        for (name, dumps) in std::mem::take(&mut self.dumps) {
            let Some((namespace, rest)) = histogram_name(&name) else { continue };
            let counted = dumps.counted.iter().any(|&count| count > 0);
            let (buckets, how) = if counted {
                (&dumps.counted, format!("{} dumps in the server's log, {} s", dumps.dumps, dumps.seconds))
            } else {
                (&dumps.before.buckets, "a dump in the server's log, since the server started".to_owned())
            };
            let total: f64 = buckets.iter().map(|&count| count as f64).sum();
            if total == 0.0 {
                continue;
            }
            let (unit, scale) = match dumps.unit {
                "bytes" => (Unit::Bytes, 1),
                "msec" => (Unit::Microseconds, 1000),
                _ => (Unit::Microseconds, 1),
            };
            let last = buckets.iter().rposition(|&count| count > 0).unwrap_or(0).min(40);
            let over = (0..=last).map(|i| {
                let above: f64 = buckets[i + 1..].iter().map(|&count| count as f64).sum();
                (scale << i, 100.0 * above / total)
            });
            found.histograms.push(Histogram {
                namespace,
                name: rest.to_owned(),
                unit,
                over: over.collect(),
                rate: counted.then(|| total / dumps.seconds.max(1) as f64),
                place: dumps.before.place,
                source: Source::Log,
                how,
            });
        }
    }
}

/// The module that wrote the line, and its text after the place in the source.
fn split_context(line: &str) -> Option<(&str, &str)> {
    let rest = line.get(20..)?;
    let open = memchr(b'(', &rest.as_bytes()[..rest.len().min(48)])?;
    let close = open + memchr(b')', &rest.as_bytes()[open..])?;
    let context = &rest[open + 1..close];
    // `(file.c:123) ` follows.
    let rest = rest.get(close + 1..)?.trim_start_matches(':').trim_start();
    let rest = match rest.strip_prefix('(') {
        Some(source) if !source.starts_with(|c: char| c.is_ascii_digit()) => source.split_once(')')?.1,
        _ => rest,
    };
    Some((context, rest.trim_start()))
}

/// `{ycsb}-read (36453689581 total) msec`.
fn dump_head(head: &str) -> Option<(&str, u64, &'static str)> {
    let (name, rest) = head.split_once(" (")?;
    histogram_name(name)?;
    let (total, unit) = rest.split_once(" total)")?;
    let unit = ["bytes", "msec", "usec"].into_iter().find(|known| unit.trim() == *known)?;
    Some((name, total.parse().ok()?, unit))
}

/// `(00: 0287105840) (01: 0001695888)`.
fn parse_buckets(text: &str) -> impl Iterator<Item = (usize, u64)> + '_ {
    text.split(')').filter_map(|item| {
        let (bucket, count) = item.trim().strip_prefix('(')?.split_once(':')?;
        let bucket: usize = bucket.parse().ok().filter(|&bucket| bucket < BUCKETS)?;
        Some((bucket, count.trim().parse().ok()?))
    })
}

/// `{ycsb} /dev/nvme0n1: …`, or before version 3.9 `device /dev/nvme0n1: …`.
fn take_drive(place: Place, time: i64, rest: &str, found: &mut Findings) {
    let counts = find(rest.as_bytes(), b"defrag").is_some() || find(rest.as_bytes(), b"write (").is_some();
    let Some((head, body)) = rest.split_once(": ").filter(|_| counts) else { return };
    let (namespace, device) = match head.strip_prefix('{') {
        Some(open) => match open.split_once("} ") {
            Some((namespace, device)) => (namespace, device),
            None => return,
        },
        None => match head.strip_prefix("device ") {
            Some(device) => ("", device),
            None => return,
        },
    };
    if device.contains(' ') || found.blocks.len() >= NAMES_MAX {
        return;
    }
    found.count_line("lines of drv_ssd");
    let key = (place.file, namespace.to_owned(), device.to_owned());
    let mut blocks = std::mem::take(found.blocks.entry(key.clone()).or_default());
    for (name, count, rate) in parse_counters(body) {
        add_counter(&mut blocks, name, time, count, rate, place, found);
    }
    found.blocks.insert(key, blocks);
}

/// Every `name (count,rate)`, or in older versions every `name count (rate/s)`.
fn parse_counters(body: &str) -> Vec<(&'static str, u64, f64)> {
    let words: Vec<&str> = body.split_whitespace().take(64).collect();
    let mut all = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(&(name, old)) = COUNTERS.iter().find(|(name, old)| word == name || (!old.is_empty() && word == old))
        else {
            continue;
        };
        let next = words.get(at + 1).copied().unwrap_or_default().trim_end_matches(',');
        let pair = if *word == old {
            let rate = words.get(at + 2).map(|rate| rate.trim_matches(|c| "(),".contains(c)));
            rate.and_then(|rate| rate.strip_suffix("/s")).map(|rate| (next, rate))
        } else {
            next.strip_prefix('(').and_then(|next| next.strip_suffix(')')).and_then(|next| next.split_once(','))
        };
        let pair = pair.and_then(|(count, rate)| Some((count.parse().ok()?, parse_number(rate)?)));
        if let Some((count, rate)) = pair {
            all.push((name, count, rate));
        }
    }
    all
}

fn add_counter(
    blocks: &mut Blocks,
    name: &'static str,
    time: i64,
    count: u64,
    rate: f64,
    place: Place,
    found: &mut Findings,
) {
    let counter = blocks.entry(name).or_insert_with(|| Counter { first: place, ..Counter::default() });
    counter.last = place;
    if rate < 0.0 {
        return found.add_remark(place, format!("{name} has a rate of {rate}; it is left out"));
    }
    counter.printed.add_value(rate);
    if let Some((then, before)) = counter.before.replace((time, count)) {
        let passed = time - then;
        let usual = std::mem::replace(&mut counter.step, passed);
        let grown = count.checked_sub(before);
        match grown {
            // The clock went back, which is reported for the line as a whole.
            _ if passed < 0 => counter.step = usual,
            None => {
                let text = format!(
                    "{name} counts {count} where it was at {before}: it wrapped or the server restarted; no rate is taken across it"
                );
                found.add_remark(place, text);
            }
            Some(grown) => {
                let jumped = usual > 0 && passed > usual.saturating_mul(JUMP);
                if jumped && are_apart(grown as f64 / passed as f64, rate) {
                    let text = format!(
                        "{passed} s pass between two lines of {name}, and its rate does not fit the {rate}/s beside it: the clock jumped; no rate is taken across it"
                    );
                    counter.step = usual;
                    return found.add_remark(place, text);
                }
                counter.counted = counter.counted.saturating_add(grown);
                counter.seconds += passed.unsigned_abs();
            }
        }
    }
}
