//! A simulated target as text: `sim:flash?size=200GiB&iops=100000&stall=2s@10s`.

use super::faults::Faults;
use super::parameters::{Listed, MODELS, Model, parse_count, parse_within, split_pair};
use assay_base::fault::nearest_known_name;
use assay_base::{Bytes, Direction, Geometry, Rate, Span};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A simulated target: the model, its parameters and its faults. It is parsed from text, and written as the shortest
/// text that parses to the same target (parameters at their defaults are left out).
#[derive(Clone, PartialEq, Debug)]
pub struct Spec {
    pub(super) size: Bytes,
    block: Bytes,
    pub(super) seed: Option<u64>,
    pub(super) model: Model,
    pub(super) faults: Faults,
}

/// A text that is not a simulated target: where it is wrong, and what to write instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpecError(String);

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpecError {}

/// Parameters that every model has.
const COMMON: [&str; 7] = ["size", "block", "seed", "stall", "errors", "hang", "gone"];
/// Parameters that may be written more than once.
const REPEATED: [&str; 2] = ["stall", "hang"];
/// The bounds of the beginning of a fault and of the length of a stall: far from the end of the time line.
const FAULT_TIME: RangeInclusive<Span> = Span::ZERO..=Span::from_secs(100 * 365 * 86_400);
const STALL: RangeInclusive<Span> = Span::from_ns(1)..=Span::from_secs(30 * 86_400);

impl Spec {
    fn with_model(model: Model) -> Spec {
        Spec { size: model.sold_size(), block: Bytes::new(512), seed: None, model, faults: Faults::default() }
    }

    /// Size and block of the target.
    pub fn geometry(&self) -> Geometry {
        Geometry { size: self.size.get(), block: self.block.get() as u32 }
    }

    /// The mean part of the device's time that one operation of `len` bytes takes, at a random address on a disk, in
    /// seconds. A mix of operations can be carried for any time if the sum of rate × cost stays below 1.
    pub fn mean_cost(&self, direction: Direction, len: u32) -> f64 {
        match &self.model {
            Model::Flash(flash) => flash.mean_cost(direction, len),
            Model::Disk(disk) => disk.mean_cost(len),
        }
    }

    /// The known capacity: how many times the `mix` of (rate, direction, length) the device can carry.
    pub fn known_capacity(&self, mix: &[(Rate, Direction, u32)]) -> f64 {
        1.0 / mix.iter().map(|(rate, direction, len)| rate.as_f64() * self.mean_cost(*direction, *len)).sum::<f64>()
    }

    fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "size" => self.size = parse_within(value, Bytes::new(512)..=Bytes::new(1 << 60))?,
            "block" => self.block = parse_block(value)?,
            "seed" => self.seed = Some(parse_count(value, 0..=u64::MAX)?),
            "stall" => self.faults.stalls.push(parse_stall(value)?),
            "errors" => self.faults.errors = Some(parse_errors(value)?),
            "hang" => self.faults.hangs.push(parse_hang(value)?),
            "gone" => self.faults.gone = Some(parse_within(value, FAULT_TIME)?),
            _ if self.model.set_parameter(name, value)? => {}
            _ => return Err(self.unknown_parameter(name)),
        }
        Ok(())
    }

    fn unknown_parameter(&self, name: &str) -> String {
        let own = self.model.list_parameters();
        let names: Vec<&str> = COMMON.into_iter().chain(own.iter().map(|(name, _)| *name)).collect();
        let elsewhere = MODELS.into_iter().filter(|model| {
            Model::from_name(model).is_some_and(|model| model.list_parameters().iter().any(|(known, _)| *known == name))
        });
        let elsewhere: Vec<String> = elsewhere.map(|model| format!("sim:{model}")).collect();
        let model = self.model.model_name();
        if !elsewhere.is_empty() {
            return format!("sim:{model} has no such parameter; only {} has it", elsewhere.join(" and "));
        }
        match nearest_known_name(name, &names) {
            Some(near) => format!("no such parameter; did you mean {near}?"),
            None => format!("no such parameter; sim:{model} has {}", names.join(", ")),
        }
    }

    /// Checks relations between parameters.
    fn check_relations(mut self) -> Result<Spec, String> {
        if !self.size.get().is_multiple_of(self.block.get()) {
            return Err(format!("size {} is not a multiple of block {}; write a size that is", self.size, self.block));
        }
        self.faults.stalls.sort();
        let mut pairs = self.faults.stalls.windows(2);
        if let Some(two) = pairs.find(|pair| pair[0].0 + pair[0].1 > pair[1].0) {
            let (first, second) = (stall_in_words(two[0]), stall_in_words(two[1]));
            return Err(format!("stalls {first} and {second} overlap; write one that covers both"));
        }
        Ok(self)
    }

    /// All parameters as text; those of faults only where there are any.
    fn list_parameters(&self) -> Listed {
        let mut listed = vec![("size", self.size.to_string()), ("block", self.block.to_string())];
        listed.extend(self.model.list_parameters());
        listed.extend(self.seed.map(|seed| ("seed", seed.to_string())));
        listed.extend(self.faults.stalls.iter().map(|stall| ("stall", stall_in_words(*stall))));
        listed.extend(self.faults.errors.map(|(part, whole)| ("errors", format!("{part}/{whole}"))));
        listed.extend(self.faults.hangs.iter().map(|(from, count)| ("hang", format!("{count}@{from}"))));
        listed.extend(self.faults.gone.map(|from| ("gone", from.to_string())));
        listed
    }
}

/// A stall, its start and its length, as it is written.
fn stall_in_words(stall: (Span, Span)) -> String {
    let (start, len) = stall;
    format!("{len}@{start}")
}

fn parse_block(value: &str) -> Result<Bytes, String> {
    let block = parse_within(value, Bytes::new(512)..=Bytes::from_kib(64))?;
    if block.get().is_power_of_two() {
        Ok(block)
    } else {
        Err(format!("{block} is not a power of two; write for example 512B or 4KiB"))
    }
}

fn parse_stall(value: &str) -> Result<(Span, Span), String> {
    let (len, start) = split_pair(value, '@', "a length and a start, such as 2s@10s")?;
    Ok((parse_within(start, FAULT_TIME)?, parse_within(len, STALL)?))
}

fn parse_errors(value: &str) -> Result<(u64, u64), String> {
    let (part, whole) = split_pair(value, '/', "a fraction of the operations, such as 1/100000")?;
    let whole = parse_count(whole, 1..=1_000_000_000_000)?;
    Ok((parse_count(part, 1..=whole)?, whole))
}

fn parse_hang(value: &str) -> Result<(Span, u64), String> {
    let (operations, from) = split_pair(value, '@', "a number of operations and a start, such as 1@30s")?;
    Ok((parse_within(from, FAULT_TIME)?, parse_count(operations, 1..=1_000_000_000)?))
}

impl FromStr for Spec {
    type Err = SpecError;
    fn from_str(text: &str) -> Result<Spec, SpecError> {
        let fault = |what: String| SpecError(format!("\"{}\": {what}", clip_text(text)));
        let (name, parameters) = text.split_once('?').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let model = name.strip_prefix("sim:").and_then(Model::from_name);
        let mut spec = Spec::with_model(model.ok_or_else(|| {
            let models = MODELS.map(|model| format!("sim:{model}")).join(", ");
            fault(format!("no such simulated device; write {models}"))
        })?);
        let mut seen: Vec<&str> = Vec::new();
        for parameter in parameters.into_iter().flat_map(|all| all.split('&')) {
            let (name, value) = name_and_value(parameter).map_err(fault)?;
            if seen.contains(&name) && !REPEATED.contains(&name) {
                return Err(fault(format!("{name} is written twice; write it once")));
            }
            seen.push(name);
            spec.set_parameter(name, value).map_err(|what| fault(format!("{}: {what}", clip_text(name))))?;
        }
        spec.check_relations().map_err(fault)
    }
}

/// `name=value`, or `gone@60s`.
fn name_and_value(parameter: &str) -> Result<(&str, &str), String> {
    if let Some(from) = parameter.strip_prefix("gone@") {
        return Ok(("gone", from));
    }
    parameter.split_once('=').ok_or_else(|| {
        format!("\"{}\" is not a parameter; write name=value, several with & between", clip_text(parameter))
    })
}

/// The text, cut to the space in an error message.
fn clip_text(text: &str) -> String {
    text.chars().take(120).collect::<String>().escape_debug().to_string()
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.model.model_name();
        let defaults =
            Model::from_name(name).map(|model| Spec::with_model(model).list_parameters()).unwrap_or_default();
        let mut text = format!("sim:{name}");
        let mut sign = '?';
        for entry in self.list_parameters().iter().filter(|entry| !defaults.contains(entry)) {
            let equals = if entry.0 == "gone" { '@' } else { '=' };
            text.extend([sign.to_string(), format!("{}{equals}{}", entry.0, entry.1)]);
            sign = '&';
        }
        f.pad(&text)
    }
}
