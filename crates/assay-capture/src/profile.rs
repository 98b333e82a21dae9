//! What was captured, as a profile that one may share: counts, shares and fitted laws. It has no name of a machine, a
//! device, a file or a process, no place on the device, and no time of day; a size that occurred a few times is counted as
//! the next larger one.

use crate::session::{Captured, Losses};
use crate::trouble::Trouble;
use assay_base::{Bytes, Span};
use assay_device::probe::DiskStat;
use assay_model::observed::Side;
use assay_model::profile::{
    Counting, Drive, Profile, ProfilePart, Sourced, measured_rate, rounded_rate, share_from_percent,
};

/// Shares of lost events from which the profile says so, and from which there is none.
const LOST_SAID: f64 = 0.001;
const LOST_MAX: f64 = 0.01;
/// A shorter capture says nothing of rates.
const SHORTEST: f64 = 1.0;
/// A size that occurred less often is not listed.
const LEAST_COUNT: u64 = 10;
/// Where the figures of the profile come from.
const SOURCE: &str = "captured";

/// A profile, and what a reader must know of it.
#[derive(Clone, PartialEq, Debug)]
pub struct CapturedProfile {
    /// The profile.
    pub profile: Profile,
    /// Sentences.
    pub remarks: Vec<String>,
}

impl Captured {
    /// The profile.
    pub fn make_profile(&self) -> Result<CapturedProfile, Trouble> {
        self.refuse_too_little()?;
        let counting = Counting {
            seconds: self.seconds,
            end: (self.seconds * 1e9) as u64,
            source: SOURCE.to_owned(),
            words: String::new(),
            copies: 1,
            least_count: LEAST_COUNT,
        };
        let part =
            ProfilePart { name: "application".to_owned(), ..ProfilePart::from_counts(&self.observed, &counting) };
        let drives = self.counters.iter().map(|rise| self.counted_drive(rise)).collect();
        Ok(CapturedProfile {
            profile: Profile { drive: None, parts: vec![part], drives },
            remarks: self.list_remarks(),
        })
    }

    fn refuse_too_little(&self) -> Result<(), Trouble> {
        let requests = self.observed.reads.operations + self.observed.writes.operations;
        if self.losses.lost_share() > LOST_MAX {
            let Losses { counted, lost, .. } = self.losses;
            let what = format!("{lost} of {} events were lost, more than 1%", lost + counted);
            return Err(Trouble::of_host(what, "give each processor more room for them, such as --buffer 16MiB"));
        }
        if self.seconds < SHORTEST {
            let what = format!("a capture of {:.1} s says nothing of rates", self.seconds);
            return Err(Trouble::of_usage(what, "capture for a second at least, better for minutes: --for 10min"));
        }
        if requests == 0 {
            let what = format!("the device had no request in {:.1} s", self.seconds);
            let remedy = "capture while the application runs, and the device that it uses; `iostat -x 1` shows which";
            return Err(Trouble::of_usage(what, remedy));
        }
        Ok(())
    }

    fn list_remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let Losses { counted, lost, seconds } = self.losses;
        if self.losses.lost_share() > LOST_SAID {
            remarks.push(format!("{lost} of {} events were lost, in {seconds} of its seconds", lost + counted));
        }
        if self.is_gone {
            remarks.push(
                "the device went away, or another one has its number: this is what was seen until then".to_owned(),
            );
        } else if self.counters.is_none() {
            remarks.push("the kernel has no counters of the device: nothing confirms what was captured".to_owned());
        }
        remarks.extend(self.differences.iter().cloned());
        if self.observed.discards > 0 {
            remarks.push(format!("{} discards are not driven", self.observed.discards));
        }
        remarks
    }

    /// What the device's own counters say: what `assay fit` compares a load with.
    fn counted_drive(&self, rise: &DiskStat) -> Drive {
        let rate = |operations: u64| {
            let rate = rounded_rate(operations as f64 / self.seconds).or_else(|| measured_rate(0.0))?;
            Some(from_counters(rate))
        };
        let bytes =
            |sectors: u64| Some(from_counters(Bytes::new((sectors as f64 * 512.0 / self.seconds).round() as u64)));
        Drive {
            node: String::new(),
            name: "drive".to_owned(),
            reads: rate(rise.reads),
            writes: rate(rise.writes),
            read_bytes: bytes(rise.read_sectors),
            write_bytes: bytes(rise.write_sectors),
            read_await: mean_wait(rise.read_ms, rise.reads),
            write_await: mean_wait(rise.write_ms, rise.writes),
            reads_deviation: rate_deviation(&self.observed.reads, self.seconds),
            writes_deviation: rate_deviation(&self.observed.writes, self.seconds),
            reports: self.seconds as u64,
        }
    }
}

fn from_counters<T>(value: T) -> Sourced<T> {
    Sourced::new(value, "the device's own counters")
}

fn mean_wait(milliseconds: u64, operations: u64) -> Option<Sourced<Span>> {
    (operations > 0)
        .then(|| from_counters(Span::from_us((milliseconds as f64 * 1000.0 / operations as f64).round() as u64)))
}

/// The standard deviation of the requests in a second, as a share of their mean.
fn rate_deviation(side: &Side, seconds: f64) -> Option<Sourced<assay_base::Share>> {
    let counts = side.windows.counts_until((seconds * 1e9) as u64)[3];
    let deviation = counts.relative_deviation()?;
    Some(Sourced::new(share_from_percent((deviation * 1000.0).round() / 10.0), SOURCE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Direction;
    use assay_model::observed::{Asked, Observed, Request};
    use assay_model::profile::write_profile;

    fn captured(observed: Observed, seconds: f64) -> Captured {
        Captured {
            observed,
            seconds,
            losses: Losses::default(),
            counters: None,
            differences: Vec::new(),
            is_gone: false,
        }
    }

    #[test]
    fn too_little_and_too_much_lost_is_refused_with_what_to_do() {
        let read =
            Request { asked: Asked::Data(Direction::Read), at: Some(5), place: Some(0), bytes: 512, durable: false };
        let mut one = Observed::default();
        one.step(&read, Some(0));
        let lossy =
            |lost| Captured { losses: Losses { counted: 980, lost, seconds: 2 }, ..captured(one.clone(), 10.0) };
        for (captured, what) in [
            (captured(Observed::default(), 10.0), "no request in 10.0 s"),
            (captured(one.clone(), 0.4), "0.4 s says nothing"),
            (lossy(20), "20 of 1000 events were lost"),
        ] {
            let trouble = captured.make_profile().unwrap_err();
            assert!(trouble.what.contains(what), "{trouble}");
        }
        assert!(lossy(20).make_profile().unwrap_err().remedy.contains("--buffer"));
        assert!(lossy(2).make_profile().unwrap().remarks[0].contains("2 of 982 events were lost, in 2"));
    }

    /// Every number of the device is a secret: where it begins, how long its places are apart, when it was.
    #[test]
    fn a_profile_has_none_of_the_secrets_of_its_device() {
        const TIME: u64 = 7_234_567_891_234;
        const SECTOR: u64 = 9_173_551;
        const RARE: u64 = 23_552;
        let mut observed = Observed::default();
        let mut prng = assay_base::Prng::from_seed(3);
        for at in 0..5000u64 {
            let place = (SECTOR + 8 * prng.uniform_below(40_000)) * 512;
            let bytes = if at % 1000 == 0 { RARE } else { 4096 };
            let direction = if at % 3 == 0 { Direction::Write } else { Direction::Read };
            let time = Some(TIME + at * 1_000_003);
            observed.step(
                &Request { asked: Asked::Data(direction), at: time, place: Some(place), bytes, durable: false },
                Some(TIME),
            );
        }
        let made = captured(observed, 5.0).make_profile().unwrap();
        let text = write_profile(&made.profile, "captured", &made.remarks);
        for secret in [
            TIME,
            TIME / 1000,
            TIME / 1_000_000,
            TIME / 1_000_000_000,
            SECTOR,
            SECTOR * 512,
            SECTOR / 8,
            RARE,
            RARE / 1024,
        ] {
            let secret = secret.to_string();
            let numbers = text.split(|c: char| !c.is_ascii_digit());
            assert!(numbers.clone().all(|number| number != secret), "{secret}\n{text}");
        }
        let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        assert!(!text.contains(own.trim()) || own.trim().len() < 4, "{text}");
        assert!(text.contains("address") && text.contains("4KiB"), "{text}");
    }
}
