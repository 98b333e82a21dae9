//! One capture: reads what the buffers have, puts it in the order of its times, and counts it. What was counted stays; no
//! request is kept longer than a fraction of a second.

use crate::device::CapturedDevice;
use crate::format::{EventFormat, RequestEvent};
use crate::instance::{Instance, remove_stale, tracefs_mount};
use crate::page::Events;
use crate::trouble::Trouble;
use assay_device::clock::Clock;
use assay_device::probe::DiskStat;
use assay_model::observed::{Observed, Request};
use std::path::Path;

/// Room for a page; pages have 4 KiB unless the kernel was told otherwise.
const PAGE_ROOM: usize = 64 << 10;
/// Pages of one processor that are read before the others have their turn.
const PAGES_AT_ONCE: usize = 2048;
/// Events of different processors are in order up to this, in nanoseconds: between the moment of an event and the one at
/// which it can be read lie a few instructions.
const SLACK: u64 = 1_000_000;
/// For how long the buffers are left alone, in milliseconds.
const ROUND: u32 = 50;
const SECOND: u64 = 1_000_000_000;
/// How far counts may be apart: as a share, and a number of requests that were in flight at both ends.
const APART: f64 = 0.01;
const AT_THE_ENDS: f64 = 64.0;

/// What a capture is told.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Size of the buffer of each processor, in bytes.
    pub buffer: Option<u64>,
}

/// An event that waits for its turn.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    at: u64,
    is_issue: bool,
    request: RequestEvent,
}

/// How far a capture is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// For how long it lasts, in seconds.
    pub seconds: f64,
    /// Requests so far.
    pub requests: u64,
    /// Whether the device is still there.
    pub is_gone: bool,
}

/// The kernel's descriptions of the two events of a device.
#[derive(Clone, Debug)]
struct Formats {
    issued: EventFormat,
    completed: EventFormat,
}

/// A capture in progress.
#[derive(Debug)]
pub struct Session {
    device: CapturedDevice,
    instance: Instance,
    formats: Formats,
    clock: Clock,
    began: u64,
    before: Option<DiskStat>,
    observed: Observed,
    waiting: Vec<Waiting>,
    losses: Losses,
    room: Vec<u8>,
    next_look: u64,
    is_gone: bool,
}

/// What was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Events that were counted.
    pub counted: u64,
    /// Events that the kernel had no room for.
    pub lost: u64,
    /// Seconds in which some were lost.
    pub seconds: u64,
}

impl Losses {
    /// The share of the events that was lost.
    pub fn lost_share(&self) -> f64 {
        self.lost as f64 / (self.lost + self.counted).max(1) as f64
    }
}

/// What was captured.
#[derive(Debug)]
pub struct Captured {
    /// The requests.
    pub observed: Observed,
    /// For how long.
    pub seconds: f64,
    /// What was lost.
    pub losses: Losses,
    /// By how much the kernel's counters of the device rose; `None` where there are none, or another device is there.
    pub counters: Option<DiskStat>,
    /// In which figures the counters differ from what was counted, in words.
    pub differences: Vec<String>,
    /// Whether the device went away.
    pub is_gone: bool,
}

impl Session {
    /// Begins to trace a device.
    pub fn start_capture(device: CapturedDevice, settings: &Settings) -> Result<Session, Trouble> {
        let tracefs = tracefs_mount()?;
        remove_stale(&tracefs, Path::new("/proc"));
        let instance = Instance::create(&tracefs, settings.buffer)?;
        let names = device.event_names();
        let format = |event: &str| {
            let text = instance.event_format(event);
            text.as_deref().and_then(EventFormat::parse).ok_or_else(|| {
                Trouble::of_host(
                    format!("this kernel has no tracepoint {event}, or another one than the documented one"),
                    "it needs CONFIG_BLK_DEV_IO_TRACE, or CONFIG_TRACING with block events",
                )
            })
        };
        let formats = Formats { issued: format(names.issued)?, completed: format(names.completed)? };
        for event in [names.issued, names.completed] {
            instance.enable_event(event, &device.event_filter())?;
        }
        let clock = Clock::start();
        let before = device.read_counters();
        instance.change_setting("tracing_on", "1")?;
        let began = monotonic_time(&clock)?;
        Ok(Session {
            device,
            instance,
            formats,
            clock,
            began,
            before,
            observed: Observed::default(),
            waiting: Vec::new(),
            losses: Losses::default(),
            room: vec![0; PAGE_ROOM],
            next_look: began + SECOND,
            is_gone: false,
        })
    }

    /// Waits a little, and counts what came meanwhile.
    pub fn count_next(&mut self) -> Result<Progress, Trouble> {
        self.instance.wait_for_events(ROUND)?;
        let now = monotonic_time(&self.clock)?;
        let until = self.read_buffers(now.saturating_sub(SLACK))?;
        self.count_until(until);
        if now >= self.next_look {
            self.next_look = now + SECOND;
            self.look_at_losses();
            self.is_gone = self.is_gone || self.device.is_gone();
        }
        Ok(Progress {
            seconds: now.saturating_sub(self.began) as f64 / 1e9,
            requests: self.observed.reads.operations + self.observed.writes.operations,
            is_gone: self.is_gone,
        })
    }

    /// Ends the capture.
    pub fn end_capture(mut self) -> Result<Captured, Trouble> {
        self.instance.change_setting("tracing_on", "0")?;
        let ended = monotonic_time(&self.clock)?;
        let after = self.device.read_counters();
        while self.read_buffers(u64::MAX)? < u64::MAX {}
        self.count_until(u64::MAX);
        self.look_at_losses();
        self.is_gone = self.is_gone || self.device.is_gone();
        let counters = after.zip(self.before).and_then(|(after, before)| after.rise_since(&before));
        let counters = counters.filter(|_| !self.is_gone);
        let differences = counters.map(|rise| differing_counters(&self.observed, &rise)).unwrap_or_default();
        Ok(Captured {
            seconds: ended.saturating_sub(self.began) as f64 / 1e9,
            losses: self.losses,
            is_gone: self.is_gone,
            observed: self.observed,
            counters,
            differences,
        })
    }

    /// Reads what is there. Returns up to which time everything was read, at most `until`.
    fn read_buffers(&mut self, until: u64) -> Result<u64, Trouble> {
        let mut read_until = until;
        let Formats { issued, completed } = self.formats.clone();
        for pipe in self.instance.all_pipes() {
            let mut last = 0;
            for page in 0.. {
                let Some(bytes) = pipe.read_page(&mut self.room)? else { break };
                for event in Events::parse(bytes).into_iter().flatten() {
                    last = event.at;
                    let format = [&issued, &completed].into_iter().find(|format| event.id() == Some(format.id));
                    let Some(format) = format else { continue };
                    if let Some(request) = format.read_request(event.data) {
                        self.waiting.push(Waiting { at: event.at, is_issue: format.id == issued.id, request });
                    }
                }
                if page >= PAGES_AT_ONCE {
                    read_until = read_until.min(last);
                    break;
                }
            }
        }
        Ok(read_until)
    }

    /// Counts the events up to a time, in their order.
    fn count_until(&mut self, until: u64) {
        self.waiting.sort_by_key(|event| event.at);
        let ready = self.waiting.partition_point(|event| event.at <= until);
        for event in self.waiting.drain(..ready) {
            self.losses.counted += 1;
            let at = event.at.saturating_sub(self.began);
            let Some(asked) = event.request.asked else { continue };
            self.observed.change_in_flight(at, if event.is_issue { 1 } else { -1 });
            if event.is_issue {
                let place = self.device.place_of(event.request.sector);
                let RequestEvent { bytes, durable, .. } = event.request;
                self.observed.step(&Request { asked, at: Some(at), place, bytes, durable }, Some(0));
            }
        }
    }

    fn look_at_losses(&mut self) {
        let lost = self.instance.lost_so_far().events;
        self.losses.seconds += u64::from(lost > self.losses.lost);
        self.losses.lost = lost;
    }
}

/// The time of the instance's clock.
fn monotonic_time(clock: &Clock) -> Result<u64, Trouble> {
    clock.read_clocks().map(|clocks| clocks.mono_ns).ok_or_else(|| {
        Trouble::of_host(
            "the clocks of this machine cannot be read without interruption",
            "capture with less load on its processors",
        )
    })
}

/// What the kernel counted and what was captured, of one kind.
struct Pair {
    what: &'static str,
    counter: u64,
    captured: u64,
    /// How much of it may be in flight at the ends.
    at_the_ends: f64,
}

/// Which counters are too far from what was captured.
fn differing_counters(observed: &Observed, rise: &DiskStat) -> Vec<String> {
    let (reads, writes) = (&observed.reads, &observed.writes);
    let mean = |bytes: u64, operations: u64| bytes as f64 / operations.max(1) as f64;
    let sector = 512;
    let pairs = [
        Pair { what: "reads", counter: rise.reads, captured: reads.operations, at_the_ends: AT_THE_ENDS },
        // The kernel counts a flush that somebody waits for as a write of nothing, besides.
        Pair {
            what: "writes",
            counter: rise.writes,
            captured: writes.operations,
            at_the_ends: AT_THE_ENDS + observed.flushes as f64,
        },
        Pair {
            what: "bytes read",
            counter: rise.read_sectors * sector,
            captured: reads.bytes,
            at_the_ends: AT_THE_ENDS * mean(reads.bytes, reads.operations),
        },
        Pair {
            what: "bytes written",
            counter: rise.write_sectors * sector,
            captured: writes.bytes,
            at_the_ends: AT_THE_ENDS * mean(writes.bytes, writes.operations),
        },
    ];
    let apart = |pair: &&Pair| {
        let (counter, captured) = (pair.counter as f64, pair.captured as f64);
        (counter - captured).abs() > APART * counter.max(captured) + pair.at_the_ends
    };
    let words =
        |pair: &Pair| format!("{} {} by the device's counter, {} captured", pair.counter, pair.what, pair.captured);
    pairs.iter().filter(apart).map(words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Direction;
    use assay_model::observed::Asked;

    #[test]
    fn a_counter_that_is_far_off_is_named() {
        let mut observed = Observed::default();
        for at in 0..10_000 {
            let asked = Asked::Data(Direction::Read);
            observed.step(&Request { asked, at: Some(at), place: Some(0), bytes: 4096, durable: false }, Some(0));
        }
        let exact = DiskStat { reads: 10_000, read_sectors: 80_000, ..DiskStat::default() };
        assert!(differing_counters(&observed, &exact).is_empty());
        assert!(differing_counters(&observed, &DiskStat { reads: 10_150, ..exact }).is_empty());
        let off = differing_counters(&observed, &DiskStat { reads: 10_200, writes: 70, ..exact });
        assert_eq!(
            off,
            ["10200 reads by the device's counter, 10000 captured", "70 writes by the device's counter, 0 captured"]
        );
    }

    #[test]
    fn losses_are_a_share() {
        let losses = Losses { counted: 990, lost: 10, seconds: 1 };
        assert!((losses.lost_share() - 0.01).abs() < 1e-9 && Losses::default().lost_share() == 0.0);
    }
}
