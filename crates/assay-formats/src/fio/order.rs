//! Where the operations of a job go, and which way: `rw`, the random map, distributions.

use super::job::Job;
use super::number::Wrong;
use assay_base::{Bytes, Direction, Fault, Share};
use assay_model::Address;
use assay_model::address::{Exponent, Law, RunLength};
use assay_model::size::Size;

/// `rw`, as far as it can be driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    pub reads: bool,
    pub writes: bool,
    pub random: bool,
    /// Of a random job: so many operations behind each other from each place on.
    run: u64,
}

impl Mode {
    pub(super) fn both(self) -> bool {
        self.reads && self.writes
    }

    /// The directions, the order in which streams are made.
    pub(super) fn directions(self) -> impl Iterator<Item = Direction> {
        let all = [(self.reads, Direction::Read), (self.writes, Direction::Write)];
        all.into_iter().filter_map(|(is, direction)| is.then_some(direction))
    }
}

/// The index of a direction in pairs of values.
pub(super) fn index(direction: Direction) -> usize {
    usize::from(direction == Direction::Write)
}

const MODES: &str = "write read, write, rw, randread, randwrite or randrw";

/// What `rw` says. Without it a job reads sequentially.
pub(super) fn mode(job: &Job<'_>) -> Result<Mode, Fault> {
    let Some((entry, value)) = job.value("rw")? else {
        return Ok(Mode { reads: true, writes: false, random: false, run: 1 });
    };
    let (word, rest) =
        value.text.split_once(':').map_or((value.text.as_str(), None), |(word, rest)| (word, Some(rest)));
    let (plain, random) = word.strip_prefix("rand").map_or((word, false), |plain| (plain, true));
    let (reads, writes) = match plain {
        "read" => (true, false),
        "write" => (false, true),
        "rw" => (true, true),
        "readwrite" if !random => (true, true),
        "trim" | "trimwrite" => {
            return Err(job.fault(
                entry,
                "discards are not measured here",
                format!("{MODES}; leave discards to fstrim or blkdiscard"),
            ));
        }
        _ => return Err(job.wrong(value, Wrong::new(word, "no such mode", MODES))),
    };
    let Some(rest) = rest else { return Ok(Mode { reads, writes, random, run: 1 }) };
    let misread = |what: &str, remedy: String| Err(job.wrong(value, Wrong::new(rest, what, remedy).at(word.len() + 1)));
    if !random {
        let step = rest.strip_prefix('-').unwrap_or(rest);
        return match job.reading(entry, value).count(step) {
            Ok(0) => Ok(Mode { reads, writes, random, run: 1 }),
            Ok(_) => Err(job.not_yet(entry, "a sequence with holes, or backwards,", "write rw=read without the step")),
            Err(wrong) => Err(job.wrong(value, wrong.at(value.text.len() - step.len()))),
        };
    }
    match job.reading(entry, value).count(rest) {
        Ok(run @ 1..=1_000_000) => Ok(Mode { reads, writes, random, run }),
        _ => misread("not a number of operations; fio ignores it", format!("write {word}, or {word}:8")),
    }
}

/// Where operations of `size` go. `several`: the job draws several sizes; `together`: reads and
/// writes are in one loop, with one order.
pub(super) fn address(
    job: &Job<'_>,
    mode: Mode,
    direction: Direction,
    size: &Size,
    several: bool,
    together: bool,
) -> Result<Address, Fault> {
    let align = job.pair("ba", |reading, text| reading.count(text))?[index(direction)];
    if let Some(entry) = job.entry("ba").filter(|_| align == Some(0) || align > Some(64 << 20)) {
        return Err(job.fault(entry, "not an alignment", "write 1 byte to 64m"));
    }
    let stays = job.text("rw_sequencer")?;
    if let (Some(word), Some(entry)) = (stays.filter(|word| *word != "sequential"), job.entry("rw_sequencer")) {
        return Err(match word {
            "identical" => job.not_yet(entry, "the same place several times", "write rw_sequencer=sequential"),
            _ => job.fault(entry, "no such sequencer", "write sequential"),
        });
    }
    partly(job, mode)?;
    let unit = align.map_or(size.from, Bytes::new);
    let ranked = distribution(job, direction, mode, unit)?;
    let map = !job.flag("norandommap")?;
    if !mode.random {
        return Ok(Address::Sequential);
    }
    if mode.run > 1 {
        return runs(job, mode, size, ranked.is_some() || map || align.is_some());
    }
    if let Some(address) = ranked {
        return Ok(address);
    }
    if map && align.is_none() && !several {
        if mode.both() && !together {
            job.note(format!("{}: reads and writes each go to every block once per pass; fio counts both together (norandommap is absent)", job.name));
        }
        return Ok(Address::Once { unit });
    }
    if map && several {
        job.note(format!(
            "{}: places are drawn with repetition, because sizes differ (norandommap is absent)",
            job.name
        ));
    }
    Ok(Address::Uniform { align: unit })
}

/// Jobs whose places are random in part only.
fn partly(job: &Job<'_>, mode: Mode) -> Result<(), Fault> {
    let shares = job.pair("percentage_random", |_, text| super::number::percent(text))?;
    let Some(entry) = job.entry("percentage_random") else { return Ok(()) };
    match mode.random && shares.iter().any(|share| share.is_some_and(|share| share != 100)) {
        true => Err(job.not_yet(
            entry,
            "a job that is random in part",
            "write it as two jobs, one random and one sequential",
        )),
        false => Ok(()),
    }
}

/// `randread:8` and the like.
fn runs(job: &Job<'_>, mode: Mode, size: &Size, otherwise: bool) -> Result<Address, Fault> {
    let entry = job.entry("rw").filter(|_| otherwise || size.from != size.to);
    if let Some(entry) = entry {
        return Err(job.not_yet(
            entry,
            "a run of operations from places that are not drawn independently, or of several sizes,",
            "add norandommap, and write one bs= without ba= and random_distribution=",
        ));
    }
    let bytes = size.from.get().checked_mul(mode.run).map(Bytes::new);
    let length =
        bytes.map(RunLength::Fixed).ok_or_else(|| job.file.whole("a run that is too long", "write a shorter one"))?;
    Ok(Address::Runs { length })
}

const DISTRIBUTIONS: &str = "write random, zipf:1.1 or zoned:60/10:40/90";

/// The places that come more often, where some do.
fn distribution(job: &Job<'_>, direction: Direction, mode: Mode, unit: Bytes) -> Result<Option<Address>, Fault> {
    let Some((entry, value)) = job.value("random_distribution")? else { return Ok(None) };
    let (word, rest) = value.text.split_once(':').unwrap_or((&value.text, ""));
    let law = match word {
        "random" => return Ok(None),
        _ if !mode.random => return Ok(None),
        "zipf" => {
            let exponent = rest.parse::<f64>().ok().and_then(|theta| Exponent::try_from(theta).ok());
            let exponent = exponent.ok_or_else(|| {
                job.wrong(value, Wrong::new(rest, "not an exponent of a Zipf law", "write for example zipf:1.1").at(5))
            })?;
            job.differs(entry, "the true law of Zipf, whose hot places are the same in every run");
            Law::Zipf { exponent }
        }
        "zoned" => Law::Zones { zones: zones(rest, direction).map_err(|wrong| job.wrong(value, wrong))? },
        "zoned_abs" | "pareto" | "normal" => {
            return Err(job.not_yet(
                entry,
                &format!("the distribution {word}"),
                "write zones of shares instead: zoned:60/10:40/90",
            ));
        }
        _ => return Err(job.wrong(value, Wrong::new(word, "no such distribution here", DISTRIBUTIONS))),
    };
    let scatter = matches!(law, Law::Zipf { .. });
    Ok(Some(Address::Ranked { law, unit, scatter }))
}

/// `operations/space:…` in percent, of reads and of writes.
fn zones(text: &str, direction: Direction) -> Result<Vec<(Share, Share)>, Wrong> {
    // Faults are about the whole value, which the five letters of the word stand before.
    let wrong =
        |what: String, remedy: &str| Wrong { from: 0, to: text.len() + "zoned:".len(), what, remedy: remedy.into() };
    let lists: Vec<&str> = text.split(',').collect();
    let list = lists.get(index(direction)).or_else(|| lists.first()).copied().unwrap_or("");
    let part = |text: &str| text.parse::<u64>().ok().filter(|percent| *percent <= 100);
    let zone = |zone: &str| zone.split_once('/').and_then(|(operations, space)| part(operations).zip(part(space)));
    let zones: Option<Vec<(u64, u64)>> = list.split(':').map(zone).collect();
    let zones = zones.filter(|zones| zones.len() <= 64 && lists.len() <= 2);
    let zones = zones.ok_or_else(|| {
        wrong(
            "not a list of zones".into(),
            "write operations/space in percent, for at most 64 zones: zoned:60/10:40/90",
        )
    })?;
    for sum in [zones.iter().map(|zone| zone.0).sum::<u64>(), zones.iter().map(|zone| zone.1).sum()] {
        if sum != 100 {
            return Err(wrong(
                format!("the shares make {sum} %"),
                "write zones whose operations and whose space make 100 each",
            ));
        }
    }
    if zones.iter().any(|(operations, space)| *operations > 0 && *space == 0) {
        return Err(wrong("a zone without space has operations".into(), "give it a share of the space"));
    }
    Ok(zones
        .iter()
        .map(|(operations, space)| (Share::from_percent(*operations), Share::from_percent(*space)))
        .collect())
}
