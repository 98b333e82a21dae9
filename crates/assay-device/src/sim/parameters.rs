//! The named parameters of each model: one table per model, used for parsing, listing and suggestions.

use super::{disk, flash};
use assay_base::{Bytes, Share, Span};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The model of a target, with its parameters.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Model {
    Flash(flash::Parameters),
    Disk(disk::Parameters),
}

/// Names a user may write for a model.
pub(super) const MODELS: [&str; 3] = ["flash", "flash-worn", "disk"];

/// Parameter values as text, by name, in the order in which they are listed.
pub(super) type Listed = Vec<(&'static str, String)>;

impl Model {
    /// The model of this name with its defaults.
    pub(super) fn from_name(name: &str) -> Option<Model> {
        match name {
            "flash" => Some(Model::Flash(flash::Parameters::fresh_drive())),
            "flash-worn" => Some(Model::Flash(flash::Parameters::worn_drive())),
            "disk" => Some(Model::Disk(disk::Parameters::sata_disk())),
            _ => None,
        }
    }

    /// The name of the model.
    pub(super) fn model_name(&self) -> &'static str {
        match self {
            Model::Flash(flash) if flash.wear.is_some() => "flash-worn",
            Model::Flash(_) => "flash",
            Model::Disk(_) => "disk",
        }
    }

    /// The size at which such a drive is sold (960 GB, 2 TB), in whole GiB and therefore in whole large blocks of 128
    /// KiB.
    pub(super) fn sold_size(&self) -> Bytes {
        match self {
            Model::Flash(_) => Bytes::new(894 << 30),
            Model::Disk(_) => Bytes::new(1863 << 30),
        }
    }

    /// Sets one parameter; `Ok(false)` if the model has none of this name.
    pub(super) fn set_parameter(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match self {
            Model::Flash(flash) => set_flash(flash, name, value),
            Model::Disk(disk) => set_disk(disk, name, value),
        }
    }

    /// All parameters as text that `set` takes.
    pub(super) fn list_parameters(&self) -> Listed {
        match self {
            Model::Flash(flash) => list_flash(flash),
            Model::Disk(disk) => list_disk(disk),
        }
    }
}

/// Service times: an hour or more would be a fault, not a service time, and sums of them must stay far from the end of
/// the time line.
const LATENCY: RangeInclusive<Span> = Span::from_ns(1)..=Span::from_secs(60);
const PAUSE: RangeInclusive<Span> = Span::ZERO..=Span::from_secs(3600);
const ANY_TIME: RangeInclusive<Span> = Span::ZERO..=Span::from_secs(100 * 365 * 86_400);
const BANDWIDTH: RangeInclusive<Bytes> = Bytes::new(1000)..=Bytes::new(1_000_000_000_000_000);

fn set_flash(flash: &mut flash::Parameters, name: &str, value: &str) -> Result<bool, String> {
    match (name, &mut flash.wear) {
        ("channels", _) => flash.channels = parse_count(value, 1..=1024)?,
        ("read", _) => flash.read = parse_within(value, LATENCY)?,
        ("write", _) => flash.write = parse_within(value, LATENCY)?,
        ("iops", _) => flash.iops = parse_count(value, 1..=1_000_000_000)?,
        ("read_bandwidth", _) => flash.read_bandwidth = parse_bandwidth(value)?,
        ("write_bandwidth", _) => flash.write_bandwidth = parse_bandwidth(value)?,
        ("spread", _) => flash.spread = parse_within(value, Share::from_ppb(0)..=Share::from_percent(200))?,
        ("cache", _) => flash.cache = parse_within(value, Span::ZERO..=Span::from_secs(60))?,
        ("program", _) => flash.program = parse_within(value, Span::ZERO..=Span::from_secs(1))?,
        ("gc", _) => {
            let (pause, every) = split_pair(value, '/', "a pause and the bytes written between two, such as 2ms/1GiB")?;
            flash.gc_pause = parse_within(pause, PAUSE)?;
            flash.gc_every = parse_within(every, Bytes::from_kib(1)..=Bytes::new(1 << 60))?;
        }
        ("fresh", _) => {
            let (less, lasts) =
                split_pair(value, '/', "how much less an operation takes and how long that lasts, such as 60%/10min")?;
            let less = parse_within(less, Share::from_ppb(0)..=Share::from_percent(99))?;
            flash.fresh = Some(flash::Fresh { less, lasts: parse_within(lasts, Span::from_ms(1)..=*ANY_TIME.end())? });
        }
        ("after", Some(wear)) => wear.after = parse_within(value, ANY_TIME)?,
        ("slow", Some(wear)) => wear.slow = parse_within(value, Share::from_ppb(0)..=Share::WHOLE)?,
        ("slow_read", Some(wear)) => wear.slow_read = parse_within(value, LATENCY)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn list_flash(flash: &flash::Parameters) -> Listed {
    let mut listed = vec![
        ("channels", flash.channels.to_string()),
        ("read", flash.read.to_string()),
        ("write", flash.write.to_string()),
        ("iops", flash.iops.to_string()),
        ("read_bandwidth", format!("{}/s", flash.read_bandwidth)),
        ("write_bandwidth", format!("{}/s", flash.write_bandwidth)),
        ("spread", flash.spread.to_string()),
        ("cache", flash.cache.to_string()),
        ("program", flash.program.to_string()),
        ("gc", format!("{}/{}", flash.gc_pause, flash.gc_every)),
    ];
    listed.extend(flash.fresh.as_ref().map(|fresh| ("fresh", format!("{}/{}", fresh.less, fresh.lasts))));
    if let Some(wear) = &flash.wear {
        listed.push(("after", wear.after.to_string()));
        listed.push(("slow", wear.slow.to_string()));
        listed.push(("slow_read", wear.slow_read.to_string()));
    }
    listed
}

fn set_disk(disk: &mut disk::Parameters, name: &str, value: &str) -> Result<bool, String> {
    match name {
        "settle" => disk.settle = parse_within(value, PAUSE)?,
        "stroke" => disk.stroke = parse_within(value, PAUSE)?,
        "rpm" => disk.rpm = parse_count(value, 1..=1_000_000)?,
        "bandwidth" => disk.bandwidth = parse_bandwidth(value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn list_disk(disk: &disk::Parameters) -> Listed {
    vec![
        ("settle", disk.settle.to_string()),
        ("stroke", disk.stroke.to_string()),
        ("rpm", disk.rpm.to_string()),
        ("bandwidth", format!("{}/s", disk.bandwidth)),
    ]
}

/// A whole number without a unit.
pub(super) fn parse_count(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let example = if range.contains(&400_000) { 400_000 } else { *range.start() };
    let number = text.parse::<u64>().map_err(|_| format!("not a whole number; write for example {example}"))?;
    in_range(number, range)
}

/// A quantity with its unit.
pub(super) fn parse_within<T>(text: &str, range: RangeInclusive<T>) -> Result<T, String>
where
    T: FromStr<Err: fmt::Display> + PartialOrd + fmt::Display,
{
    in_range(text.parse::<T>().map_err(|error| error.to_string())?, range)
}

fn in_range<T: PartialOrd + fmt::Display>(value: T, range: RangeInclusive<T>) -> Result<T, String> {
    if range.contains(&value) {
        Ok(value)
    } else {
        Err(format!("{value} is out of range; write {} to {}", range.start(), range.end()))
    }
}

fn parse_bandwidth(text: &str) -> Result<Bytes, String> {
    let bytes = text.strip_suffix("/s").ok_or("the unit is missing; write bytes per second, such as 3GiB/s")?;
    parse_within(bytes, BANDWIDTH)
}

/// Two values with a sign between them.
pub(super) fn split_pair<'a>(text: &'a str, sign: char, shape: &str) -> Result<(&'a str, &'a str), String> {
    text.split_once(sign).ok_or_else(|| format!("write {shape}"))
}
