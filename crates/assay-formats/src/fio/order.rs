//! Where the operations of a job go, and in which direction: `rw`, the random map, distributions.

use super::job::Job;
use super::number::Wrong;
use super::text::Value;
use assay_base::{Bytes, Direction, Fault, Share};
use assay_model::Address;
use assay_model::address::{Exponent, Law, RunLength};
use assay_model::size::Size;

/// The meaning of `rw`, as far as it can be driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    pub reads: bool,
    pub writes: bool,
    pub random: bool,
    /// For a random job: how many operations follow each other directly from each random place on.
    run: u64,
    /// For a sequential job: a number of bytes, and whether the job goes backwards. Forwards these bytes lie between
    /// the end of an operation and the next one; backwards the next one begins this far before that end.
    stride: Option<(u64, bool)>,
}

impl Mode {
    /// The mode of a job whose places come from a recording, so that `rw` does not matter.
    pub(super) fn with_directions(reads: bool, writes: bool) -> Mode {
        Mode { reads, writes, random: false, run: 1, stride: None }
    }

    /// The same mode, which reads what it would write.
    pub(super) fn as_reading(self) -> Mode {
        Mode { reads: true, writes: false, ..self }
    }

    pub(super) fn reads_and_writes(self) -> bool {
        self.reads && self.writes
    }

    /// The directions of the job, in the order in which its streams are made.
    pub(super) fn directions(self) -> impl Iterator<Item = Direction> {
        let all = [(self.reads, Direction::Read), (self.writes, Direction::Write)];
        all.into_iter().filter_map(|(is, direction)| is.then_some(direction))
    }
}

/// The index of a direction in a pair of values, for reads and for writes.
pub(super) fn index_of_direction(direction: Direction) -> usize {
    usize::from(direction == Direction::Write)
}

const MODES: &str = "write read, write, rw, randread, randwrite or randrw";

/// Reads `rw`. Without it a job reads sequentially.
pub(super) fn read_mode(job: &Job<'_>) -> Result<Mode, Fault> {
    let Some((entry, value)) = job.value_of_key("rw")? else {
        return Ok(Mode { reads: true, writes: false, random: false, run: 1, stride: None });
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
            return Err(job.fault_at_entry(
                entry,
                "discards are not measured here",
                format!("{MODES}; leave discards to fstrim or blkdiscard"),
            ));
        }
        _ => return Err(job.fault_in_value(value, Wrong::new(word, "no such mode", MODES))),
    };
    let plain = Mode { reads, writes, random, run: 1, stride: None };
    let Some(rest) = rest else { return Ok(plain) };
    if !random {
        let step = rest.strip_prefix('-').unwrap_or(rest);
        return match job.reading_of_key(entry, value).parse_count(step) {
            Ok(0) => Ok(plain),
            Ok(by) => Ok(Mode { stride: Some((by, step.len() < rest.len())), ..plain }),
            Err(wrong) => Err(job.fault_in_value(value, wrong.shifted_by(value.text.len() - step.len()))),
        };
    }
    match job.reading_of_key(entry, value).parse_count(rest) {
        Ok(run @ 1..=1_000_000) => Ok(Mode { run, ..plain }),
        _ => {
            let remedy = format!("write {word}, or {word}:8");
            let wrong = Wrong::new(rest, "not a number of operations; fio ignores it", remedy);
            Err(job.fault_in_value(value, wrong.shifted_by(word.len() + 1)))
        }
    }
}

/// Chooses the address of operations of `size`. `several` says that the job has several sizes, `together` that reads
/// and writes are in one loop and share one order.
pub(super) fn choose_address(
    job: &Job<'_>,
    mode: Mode,
    direction: Direction,
    size: &Size,
    several: bool,
    together: bool,
    unit: Option<Bytes>,
) -> Result<Address, Fault> {
    let align = job.pair_of_key("ba", |reading, text| reading.parse_count(text))?[index_of_direction(direction)];
    if let Some(entry) = job.find_entry("ba").filter(|_| align == Some(0) || align > Some(64 << 20)) {
        return Err(job.fault_at_entry(entry, "not an alignment", "write 1 byte to 64m"));
    }
    let identical = is_identical(job)?;
    let partly = random_percent(job, mode, direction)?;
    let unit = unit.unwrap_or_else(|| align.map_or(size.from, Bytes::new));
    let ranked = distributed_address(job, direction, mode, unit)?;
    let map = !job.is_switched_on("norandommap")?;
    if !mode.random {
        return Ok(match mode.stride {
            Some((by, backwards)) => Address::Strided { by: Bytes::new(by), backwards },
            None => Address::Sequential,
        });
    }
    let otherwise = ranked.is_some() || map || align.is_some();
    if let Some(share) = partly {
        return mostly_sequential(job, mode, share, size, otherwise);
    }
    if mode.run > 1 {
        return address_of_sequential_runs(job, mode, size, otherwise, identical);
    }
    if let Some(address) = ranked {
        return Ok(address);
    }
    if map && align.is_none() && !several {
        if mode.reads_and_writes() && !together {
            job.add_note(format!("{}: reads and writes each go to every block once per pass; fio counts both together (norandommap is absent)", job.name));
        }
        return Ok(Address::Once { unit });
    }
    if map && several {
        job.add_note(format!(
            "{}: places are drawn with repetition, because sizes differ (norandommap is absent)",
            job.name
        ));
        if let Some(entry) = ["bsrange", "bssplit", "bs"].into_iter().find_map(|key| job.find_entry(key)) {
            job.note_difference(
                entry,
                "without norandommap fio cuts an operation short that reaches a block which was used in this pass, so that \
                 its operations are smaller in the mean; here they have the sizes that are written",
            );
        }
    }
    Ok(Address::Uniform { align: unit })
}

/// Whether each operation of a run goes to the same place as the one before, instead of the place directly after it.
fn is_identical(job: &Job<'_>) -> Result<bool, Fault> {
    match (job.text_of_key("rw_sequencer")?, job.find_entry("rw_sequencer")) {
        (None | Some("sequential"), _) | (_, None) => Ok(false),
        (Some("identical"), _) => Ok(true),
        (Some(_), Some(entry)) => Err(job.fault_at_entry(entry, "no such sequencer", "write sequential or identical")),
    }
}

/// The share of a random job's operations, in percent, that go to a random place, if the others follow directly after
/// the operation before them.
fn random_percent(job: &Job<'_>, mode: Mode, direction: Direction) -> Result<Option<u64>, Fault> {
    let share = job.pair_of_key("percentage_random", |_, text| super::number::parse_percent(text))?
        [index_of_direction(direction)];
    Ok(share.filter(|share| mode.random && *share < 100))
}

/// The address of a job in which each operation goes to a random place with a given probability, and otherwise follows
/// directly after the one before: sequential runs with geometrically distributed lengths.
fn mostly_sequential(job: &Job<'_>, mode: Mode, share: u64, size: &Size, otherwise: bool) -> Result<Address, Fault> {
    if share == 0 {
        return Ok(Address::Sequential);
    }
    let entry = job.find_entry("percentage_random");
    if let Some(entry) = entry.filter(|_| otherwise || size.from != size.to || mode.run > 1) {
        return Err(job.not_yet(
            entry,
            "a job that is random in part, from places that are not drawn independently, or of several sizes,",
            "add norandommap, and write one bs= without ba= and random_distribution=",
        ));
    }
    if let Some(entry) = entry {
        job.note_difference(entry, "what would go on beyond the end goes to a random place");
    }
    let mean = u128::from(size.from.get()) * 100 / u128::from(share);
    let mean = u64::try_from(mean).ok().map(|mean| RunLength::Mean(Bytes::new(mean)));
    let length =
        mean.ok_or_else(|| job.file.fault_of_file("a run that is too long", "write a larger percentage_random"))?;
    Ok(Address::Runs { length })
}

/// The address of `randread:8` and the like.
fn address_of_sequential_runs(
    job: &Job<'_>,
    mode: Mode,
    size: &Size,
    otherwise: bool,
    identical: bool,
) -> Result<Address, Fault> {
    let entry = job.find_entry("rw").filter(|_| otherwise || size.from != size.to);
    if let Some(entry) = entry {
        return Err(job.not_yet(
            entry,
            "a run of operations from places that are not drawn independently, or of several sizes,",
            "add norandommap, and write one bs= without ba= and random_distribution=",
        ));
    }
    if identical {
        // `mode` has refused more than a million.
        return Ok(Address::Repeated { times: mode.run as u32 });
    }
    let bytes = size.from.get().checked_mul(mode.run).map(Bytes::new);
    let length = bytes
        .map(RunLength::Fixed)
        .ok_or_else(|| job.file.fault_of_file("a run that is too long", "write a shorter one"))?;
    Ok(Address::Runs { length })
}

const DISTRIBUTIONS: &str = "write random, zipf:1.1, pareto:0.2, normal:10, zoned:60/10:40/90 or zoned_abs:60/1g:40/9g";

/// The address of `random_distribution`; `None` if it is absent, or if it is `random`, or if the job is sequential.
fn distributed_address(job: &Job<'_>, direction: Direction, mode: Mode, unit: Bytes) -> Result<Option<Address>, Fault> {
    let Some((entry, value)) = job.value_of_key("random_distribution")? else { return Ok(None) };
    let (word, rest) = value.text.split_once(':').unwrap_or((&value.text, ""));
    if word == "random" || !mode.random {
        return Ok(None);
    }
    let (parameter, centre) = rest.split_once(':').unwrap_or((rest, ""));
    let wrong = |text: &str, at: usize, what: &str, remedy: &str| {
        job.fault_in_value(value, Wrong::new(text, what, remedy).shifted_by(word.len() + 1 + at))
    };
    let law = match word {
        // The exponent and the skew that fio takes where none is written.
        "zipf" => {
            let exponent = if parameter.is_empty() { "1.2" } else { parameter };
            let exponent = exponent.parse::<f64>().ok().and_then(|theta| Exponent::try_from(theta).ok());
            let exponent = exponent
                .ok_or_else(|| wrong(parameter, 0, "not an exponent of a Zipf law", "write for example zipf:1.1"))?;
            job.note_difference(entry, "the true law of Zipf, whose hot places are the same in every run");
            Law::Zipf { exponent }
        }
        "zoned" => {
            Law::Zones { zones: parse_zones(rest, direction).map_err(|wrong| job.fault_in_value(value, wrong))? }
        }
        "zoned_abs" => Law::Zones { zones: by_share(&absolute_zones(job, direction)?.unwrap_or_default()) },
        "pareto" => {
            let skew = share_between(if parameter.is_empty() { "0.2" } else { parameter }, 1.0);
            let skew =
                skew.ok_or_else(|| wrong(parameter, 0, "not a skew of Pareto's law", "write for example pareto:0.2"))?;
            job.note_difference(entry, "the law of Pareto, whose hot places are the same in every run");
            Law::Pareto { skew }
        }
        "normal" => {
            let deviation = share_between(parameter, 100.0).ok_or_else(|| {
                wrong(parameter, 0, "not a standard deviation in percent", "write for example normal:10")
            })?;
            job.note_difference(entry, "a bell around its centre, whose places fio scatters");
            Law::Normal { deviation }
        }
        _ => return Err(job.fault_in_value(value, Wrong::new(word, "no such distribution here", DISTRIBUTIONS))),
    };
    let centre = match (word, centre) {
        // With -1 fio takes any place.
        ("zoned" | "zoned_abs", _) | (_, "" | "-1") => None,
        (_, text) => Some(centre_of(text).ok_or_else(|| {
            wrong(text, parameter.len() + 1, "not a place in the file", "write 0 for its start to 1 for its end")
        })?),
    };
    let scatter = matches!(law, Law::Zipf { .. } | Law::Pareto { .. });
    Ok(Some(Address::Ranked { law, unit, scatter, centre }))
}

/// A place in a file, from 0 at its start to 1 at its end.
fn centre_of(text: &str) -> Option<Share> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share))?;
    Some(Share::from_ppb((share * 1e9).round() as u64))
}

/// A number above zero and below `whole`, as a share of `whole`.
fn share_between(text: &str, whole: f64) -> Option<Share> {
    let share = text.parse::<f64>().ok()? / whole;
    (share > 0.0 && share < 1.0)
        .then(|| Share::from_ppb((share * 1e9).round() as u64))
        .filter(|share| share.as_ppb() > 0)
}

/// The zones of `zoned_abs`: for each its share of the operations in percent, and its size in bytes. They lie one after
/// the other from the start of the part of the file that the job uses. `None` for any other distribution.
pub(super) fn absolute_zones(job: &Job<'_>, direction: Direction) -> Result<Option<Vec<(u64, u64)>>, Fault> {
    let Some((entry, value)) = job.value_of_key("random_distribution")? else { return Ok(None) };
    let Some(rest) = value.text.strip_prefix("zoned_abs:") else { return Ok(None) };
    let lists: Vec<&str> = rest.split(',').collect();
    let list = lists.get(index_of_direction(direction)).or_else(|| lists.first()).copied().unwrap_or("");
    let reading = job.reading_of_key(entry, value);
    let zones: Option<Vec<(u64, u64)>> = list
        .split(':')
        .map(|zone| {
            let (operations, space) = zone.split_once('/')?;
            Some((operations.parse::<u64>().ok()?, reading.parse_count(space).ok().filter(|space| *space > 0)?))
        })
        .collect();
    let zones = zones.filter(|zones| zones.len() <= 64 && lists.len() <= 3);
    let zones = zones.ok_or_else(|| wrong_zones(job, value, "not a list of zones"))?;
    let space = zones.iter().try_fold(0u64, |sum, (_, space)| sum.checked_add(*space));
    if zones.iter().map(|(operations, _)| *operations).sum::<u64>() != 100 || space.is_none() {
        return Err(wrong_zones(job, value, "the operations of the zones do not make 100 %"));
    }
    Ok(Some(zones))
}

fn wrong_zones(job: &Job<'_>, value: &Value, what: &str) -> Fault {
    let remedy = "write operations in percent, which make 100, and sizes: zoned_abs:60/1g:40/9g";
    job.fault_in_value(value, Wrong { from: 0, to: value.text.len(), what: what.to_owned(), remedy: remedy.to_owned() })
}

/// The same zones with the size of each as a share of the size of all. The shares of sizes add up to exactly 100 %.
fn by_share(zones: &[(u64, u64)]) -> Vec<(Share, Share)> {
    let all: u128 = zones.iter().map(|(_, space)| u128::from(*space)).sum::<u128>().max(1);
    let (mut passed, mut given) = (0u128, 0u64);
    let mut shares = Vec::new();
    for (operations, space) in zones {
        passed += u128::from(*space);
        let upto = (passed * u128::from(Share::WHOLE.as_ppb()) / all) as u64;
        let own = upto - std::mem::replace(&mut given, upto);
        shares.push((Share::from_percent(*operations), Share::from_ppb(own)));
    }
    shares
}

/// The zones of a direction in `operations/space:…`, in percent. A comma separates those of reads from those of writes.
/// Zones without a space divide equally what the others leave.
fn parse_zones(text: &str, direction: Direction) -> Result<Vec<(Share, Share)>, Wrong> {
    // Faults point at the whole value, which begins with `zoned:`.
    let wrong =
        |what: String, remedy: &str| Wrong { from: 0, to: text.len() + "zoned:".len(), what, remedy: remedy.into() };
    let lists: Vec<&str> = text.split(',').collect();
    let list = lists.get(index_of_direction(direction)).or_else(|| lists.first()).copied().unwrap_or("");
    let zones: Option<Vec<Zone>> = list.split(':').map(Zone::parse).collect();
    let zones = zones.filter(|zones| zones.len() <= 64 && lists.len() <= 3);
    let zones = zones.ok_or_else(|| {
        wrong(
            "not a list of zones".into(),
            "write operations/space in percent, for at most 64 zones: zoned:60/10:40/90",
        )
    })?;
    let operations: u64 = zones.iter().map(|zone| zone.operations).sum();
    let space: u64 = zones.iter().filter_map(|zone| zone.space).sum();
    let blanks = zones.iter().filter(|zone| zone.space.is_none()).count() as u64;
    let left = 100u64.saturating_sub(space);
    for (sum, is_whole) in [(operations, operations == 100), (space, space == 100 || blanks > 0 && space < 100)] {
        if !is_whole {
            return Err(wrong(
                format!("the shares make {sum} %"),
                "write zones whose operations and whose space make 100 each",
            ));
        }
    }
    if zones.iter().any(|zone| zone.operations > 0 && zone.space == Some(0)) || blanks > 0 && left == 0 {
        return Err(wrong("a zone without space has operations".into(), "give it a share of the space"));
    }
    let left = Share::from_percent(left).as_ppb();
    let mut given = 0;
    let mut shares = Vec::new();
    for zone in zones {
        let space = if let Some(space) = zone.space {
            Share::from_percent(space)
        } else {
            given += 1;
            Share::from_ppb(left * given / blanks - left * (given - 1) / blanks)
        };
        shares.push((Share::from_percent(zone.operations), space));
    }
    Ok(shares)
}

/// A zone as it is written, in percent.
struct Zone {
    operations: u64,
    /// None if it is blank.
    space: Option<u64>,
}

impl Zone {
    fn parse(text: &str) -> Option<Zone> {
        let (operations, space) = text.split_once('/').unwrap_or((text, ""));
        let space = if space.is_empty() { None } else { Some(part_of_hundred(space)?) };
        Some(Zone { operations: part_of_hundred(operations)?, space })
    }
}

fn part_of_hundred(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|percent| *percent <= 100)
}
