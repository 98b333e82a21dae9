//! Logs as ACT 6.6 would write them on a machine where nothing is ever late: with its threads, its divisions and its
//! random numbers, but without its I/O. How ACT behaves was read from its sources; see docs/act.md.

use std::fmt::Write;

/// A test of `act_storage` or `act_index` that is ideal except for what these fields say.
#[derive(Clone)]
pub struct Ideal {
    pub index: bool,
    pub devices: u64,
    pub service_threads: u64,
    pub cache_threads: u64,
    pub reads: u64,
    pub writes: u64,
    pub commit: bool,
    pub seconds: u64,
    pub interval: u64,
    pub seed: u64,
    /// The shares of the due operations that are done: of reads, and of all other operations.
    pub done: (f64, f64),
    /// From this second on, every operation takes more than 64 ms.
    pub slow_from: u64,
}

impl Default for Ideal {
    fn default() -> Ideal {
        Ideal {
            index: false,
            devices: 1,
            service_threads: 40,
            cache_threads: 8,
            reads: 2000,
            writes: 1000,
            commit: false,
            seconds: 24 * 3600,
            interval: 60,
            seed: 1,
            done: (1.0, 1.0),
            slow_from: u64::MAX,
        }
    }
}

/// One histogram as it grows: operations below 1 ms, from 1 to 2 ms, and from 64 ms.
#[derive(Clone, Default)]
struct Histogram {
    name: String,
    counts: [u64; 3],
}

impl Histogram {
    fn named(name: impl Into<String>) -> Histogram {
        Histogram { name: name.into(), counts: [0; 3] }
    }

    fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Adds operations up to `total`: of those that are not slow, one in a hundred takes 1 to 2 ms.
    fn grow(&mut self, total: u64, slow: bool) {
        let more = total.saturating_sub(self.total());
        if slow {
            self.counts[2] += more;
        } else {
            self.counts[1] += more / 100;
            self.counts[0] += more - more / 100;
        }
    }
}

/// A random generator (xorshift64*) that needs no crate.
struct Chance(u64);

impl Chance {
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// How many of `n` draws succeed, each with probability `p`: by the normal approximation, which is good for
    /// thousands.
    fn binomial(&mut self, n: u64, p: f64) -> u64 {
        let normal = (-2.0 * self.unit().max(1e-300).ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos();
        let mean = n as f64 * p;
        (mean + normal * (mean * (1.0 - p)).sqrt()).round().clamp(0.0, n as f64) as u64
    }
}

impl Ideal {
    fn name(&self, device: u64) -> String {
        format!("/dev/nvme{device}n1")
    }

    /// Large-block reads and writes per second: a block of 128 KiB holds 85 records of 1536 bytes, and defragmentation
    /// at 50 % doubles the number of blocks. Committed writes leave only the blocks that defragmentation writes.
    fn large_blocks(&self) -> (f64, f64) {
        let all = self.writes as f64 / 85.0 * 2.0;
        (all, if self.commit { all / 2.0 } else { all })
    }

    fn head(&self) -> String {
        let yes = |flag| if flag { "yes" } else { "no" };
        let kind = if self.index { "INDEX" } else { "STORAGE" };
        let word = if self.index { "Index" } else { "Storage" };
        let names: Vec<String> = (0..self.devices).map(|device| self.name(device)).collect();
        let mut text = format!(
            "\nACT version 6.6\n{word} device IO test\nCopyright 2020 by Aerospike. All rights reserved.\n\n\
             ACT-{kind} CONFIGURATION\ndevice-names: {}\nnum-devices: {}\nservice-threads: {}\n",
            names.join(" "),
            self.devices,
            self.service_threads
        );
        if self.index {
            writeln!(text, "cache-threads: {}", self.cache_threads).unwrap();
        }
        write!(
            text,
            "test-duration-sec: {}\nreport-interval-sec: {}\nmicrosecond-histograms: no\nread-reqs-per-sec: {}\n\
             write-reqs-per-sec: {}\n",
            self.seconds, self.interval, self.reads, self.writes
        )
        .unwrap();
        if self.index {
            write!(
                text,
                "replication-factor: 1\ndefrag-lwm-pct: 50\ndisable-odsync: no\nmax-lag-sec: 10\n\nDERIVED CONFIGURATION\n\
                 service-thread-reads-per-sec: {}\ncache-thread-reads-and-writes-per-sec: {}\n\n",
                self.reads + self.writes,
                self.writes * 2
            )
            .unwrap();
        } else {
            let (read, written) = self.large_blocks();
            write!(
                text,
                "record-bytes: 1536\nrecord-bytes-range-max: 0\nlarge-block-op-kbytes: 128\nreplication-factor: 1\n\
                 update-pct: 0\ndefrag-lwm-pct: 50\nno-defrag-reads: no\ncompress-pct: 100\ndisable-odsync: no\n\
                 commit-to-device: {}\ntomb-raider: no\ntomb-raider-sleep-usec: 0\nmax-lag-sec: 10\n\n\
                 DERIVED CONFIGURATION\nrecord-stored-bytes: 1536 ... 1536\ninternal-read-reqs-per-sec: {}\n\
                 internal-write-reqs-per-sec: {}\nlarge-block-reads-per-sec: {read:.2}\n\
                 large-block-writes-per-sec: {written:.2}\n\n",
                yes(self.commit),
                self.reads,
                if self.commit { self.writes } else { 0 }
            )
            .unwrap();
        }
        for name in &names {
            let more = if self.index { "" } else { ", 8192 large blocks, minimum IO size = 512 bytes" };
            writeln!(text, "{name} size = 1073741824 bytes{more}").unwrap();
        }
        text + "\nHISTOGRAM NAMES\n"
    }

    /// Operations that threads have begun by `second` if each does `per_second` of them, the first one immediately.
    fn begun(threads: u64, per_second: u64, second: u64) -> u64 {
        threads * (per_second * second + 1)
    }

    /// The log.
    pub fn text(&self) -> String {
        let mut histograms = self.histograms();
        let mut chance = Chance(self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut text = self.head();
        histograms.iter().for_each(|histogram| writeln!(text, "{}", histogram.name).unwrap());
        text.push('\n');
        let mut before = [0u64; 2];
        for second in (1..=self.seconds.div_ceil(self.interval)).map(|report| report * self.interval) {
            let slow = second > self.slow_from;
            let due = if self.index { self.of_index(second) } else { self.of_storage(second) };
            // Service threads draw the kind of operation at random; the other threads have fixed ones.
            let drawn = due.drawn - before[0];
            before[0] = due.drawn;
            let share = self.reads as f64 / (self.reads + self.writes) as f64;
            let hits = if self.commit && !self.index { chance.binomial(drawn, share) } else { drawn };
            before[1] += hits;
            let part = |n: u64, share: f64| (n as f64 * share) as u64;
            let reads = part(before[1] + due.cache, self.done.0);
            let writes = if self.index { due.cache } else { before[0] - before[1] };
            let writes = part(writes, self.done.1);
            for histogram in &mut histograms {
                let all = |name: &str| histogram.name == name;
                let total = match () {
                    () if all("reads") => reads,
                    () if all("writes") => writes,
                    () if all("large-block-reads") => part(due.large.0, self.done.1),
                    () if all("large-block-writes") => part(due.large.1, self.done.1),
                    // Each device has an equal share; a remainder of the division does not matter here.
                    () if histogram.name.ends_with("-reads") => reads / self.devices,
                    () => writes / self.devices,
                };
                histogram.grow(total, slow);
            }
            block(&mut text, second, &histograms);
        }
        text
    }

    fn histograms(&self) -> Vec<Histogram> {
        let each = |kind: &str| {
            let names = (0..self.devices).map(|device| Histogram::named(format!("{}-{kind}", self.name(device))));
            std::iter::once(Histogram::named(kind)).chain(names).collect::<Vec<_>>()
        };
        let mut all = each("reads");
        if !self.index {
            all.extend([Histogram::named("large-block-reads"), Histogram::named("large-block-writes")]);
        }
        if self.index || self.commit {
            all.extend(each("writes"));
        }
        all
    }

    fn of_storage(&self, second: u64) -> Due {
        let total = self.reads + if self.commit { self.writes } else { 0 };
        let own = |rate: f64| {
            let each = (rate / self.devices as f64 * second as f64) as u64 + 1;
            each * self.devices
        };
        let (read, written) = self.large_blocks();
        let drawn = Ideal::begun(self.service_threads, total / self.service_threads, second);
        Due { drawn, cache: 0, large: (own(read), own(written)) }
    }

    fn of_index(&self, second: u64) -> Due {
        let drawn = Ideal::begun(self.service_threads, (self.reads + self.writes) / self.service_threads, second);
        // A cache thread issues bundles of a hundred operations, and each thread waits as if it had to serve all the
        // devices.
        let (rate, slowed) = (self.writes * 2, self.devices * self.cache_threads);
        let bundles = rate * second / (slowed * 100) + 1;
        Due { drawn, cache: bundles * 100 * self.cache_threads, large: (0, 0) }
    }
}

/// The operations begun by a given second.
struct Due {
    drawn: u64,
    cache: u64,
    large: (u64, u64),
}

fn block(text: &mut String, second: u64, histograms: &[Histogram]) {
    writeln!(text, "after {second} sec:").unwrap();
    for Histogram { name, counts } in histograms {
        writeln!(text, "{name} ({} total)", counts.iter().sum::<u64>()).unwrap();
        let cells = [0, 1, 7].into_iter().zip(counts).filter(|(_, n)| **n > 0);
        let cells: String = cells.map(|(bucket, n)| format!(" ({bucket:02}: {n:010})")).collect();
        if !cells.is_empty() {
            writeln!(text, "{cells}").unwrap();
        }
    }
    text.push('\n');
}
