//! `model = "streams"`: the streams themselves. Rates and in-flight numbers are for each target.

use super::Source;
use super::common::{LARGEST_BOUND, MOST_STREAMS, Workload, workload_file};
use crate::plan::{Address, Arrival, Block, Lane, Stream, Work};
use crate::size::Size;
use assay_base::{Bytes, Direction, Fault, Rate, Share, Span};
use serde::Deserialize;
use toml::Spanned;

workload_file! {
    struct File {
        #[serde(default)]
        stream: Vec<Spanned<StreamKeys>>,
    }
}

/// The keys of one stream.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamKeys {
    name: Spanned<String>,
    direction: Spanned<Direction>,
    size: Spanned<SizeKeys>,
    rate: Option<Spanned<Rate>>,
    in_flight: Option<Spanned<u32>>,
    pause: Option<Span>,
    arrival: Option<Spanned<ArrivalName>>,
    address: Option<Spanned<AddressKeys>>,
    content: Option<ContentKeys>,
    durable: Option<bool>,
    in_flight_bound: Option<Spanned<u32>>,
}

/// `size = "8KiB"` or `{ from = …, to = … }`.
pub(super) enum SizeKeys {
    /// One size.
    Fixed(Bytes),
    /// Uniform between two.
    Range(Range),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Range {
    from: Bytes,
    to: Bytes,
}

impl<'de> Deserialize<'de> for SizeKeys {
    /// By hand, because an untagged enum would swallow what is wrong with the size.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<SizeKeys, D::Error> {
        struct Either;
        impl<'de> serde::de::Visitor<'de> for Either {
            type Value = SizeKeys;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a quoted Bytes")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<SizeKeys, E> {
                text.parse().map(SizeKeys::Fixed).map_err(E::custom)
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<SizeKeys, A::Error> {
                Range::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(SizeKeys::Range)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl SizeKeys {
    pub(super) fn size(&self) -> Size {
        match self {
            SizeKeys::Fixed(bytes) => Size::fixed(*bytes),
            SizeKeys::Range(range) => Size::between(range.from, range.to),
        }
    }
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum ArrivalName {
    Steady,
    Poisson,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "\"uniform\", \"sequential\" or { uniform = \"4KiB\" } (the alignment)")]
enum AddressKeys {
    Name(AddressName),
    Aligned { uniform: Bytes },
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum AddressName {
    Uniform,
    Sequential,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ContentKeys {
    compress_to: Share,
}

/// Largest operation of a stream.
const LARGEST: Bytes = Bytes::new(64 << 20);

pub(super) fn read(source: Source<'_>) -> Result<Workload, Fault> {
    let mut file: File = source.parse()?;
    if file.stream.is_empty() {
        return Err(Fault::whole(source.file, "the workload has no stream", "add a [[stream]] table"));
    }
    if file.stream.len() > MOST_STREAMS {
        return Err(Fault::whole(source.file, "too many streams", format!("write at most {MOST_STREAMS}")));
    }
    let (mut streams, mut lanes): (Vec<Stream>, Vec<Lane>) = Default::default();
    for table in &file.stream {
        let name = &table.get_ref().name;
        if streams.iter().any(|stream| stream.name == *name.get_ref()) {
            return Err(source.fault(name.span(), "two streams have this name", "give each its own"));
        }
        streams.push(stream(source, table)?);
        lanes.extend(lane(source, table.get_ref())?);
    }
    let workload = Workload::new(source.file, "streams", streams, |_| Vec::new());
    Workload { lanes, ..workload }.with(source, file.common())
}

/// The lane of a stream with a bound of its own.
fn lane(source: Source<'_>, keys: &StreamKeys) -> Result<Option<Lane>, Fault> {
    let Some(bound) = &keys.in_flight_bound else { return Ok(None) };
    let fault = |what, remedy: String| Err(source.fault(bound.span(), what, remedy));
    if keys.rate.is_none() {
        return fault("a closed loop (in_flight) has no other bound", "remove in_flight_bound".to_owned());
    }
    if !(1..=LARGEST_BOUND).contains(bound.get_ref()) {
        return fault("the in-flight bound is out of range", format!("write 1 to {LARGEST_BOUND}"));
    }
    Ok(Some(Lane::of(keys.name.get_ref(), *bound.get_ref())))
}

fn stream(source: Source<'_>, table: &Spanned<StreamKeys>) -> Result<Stream, Fault> {
    let keys = table.get_ref();
    let name = keys.name.get_ref();
    let usable = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(usable) {
        return Err(source.fault(keys.name.span(), "not a stream name", "write 1 to 64 letters, digits, - _ or ."));
    }
    let size = keys.size.get_ref().size();
    if size.from.get() == 0 || size.to < size.from || size.to > LARGEST {
        return Err(source.fault(
            keys.size.span(),
            "not a size an operation can have",
            format!("write 1B to {LARGEST}, from not above to"),
        ));
    }
    let direction = *keys.direction.get_ref();
    let reads_only = direction == Direction::Read && (keys.content.is_some() || keys.durable.is_some());
    if reads_only {
        return Err(source.fault(
            keys.direction.span(),
            "content and durable belong to writes",
            "remove them, or write direction = \"write\"",
        ));
    }
    Ok(Stream {
        name: name.clone(),
        work: Work::Block(Block {
            direction,
            durable: keys.durable.unwrap_or(false),
            size,
            address: address(source, keys)?,
            extent: None,
            compress_to: content(source, table)?,
        }),
        arrival: arrival(source, table)?,
        per_target: true,
        targets: Vec::new(),
    })
}

fn address(source: Source<'_>, keys: &StreamKeys) -> Result<Address, Fault> {
    let Some(address) = &keys.address else { return Ok(Address::Uniform { align: Bytes::default() }) };
    Ok(match address.get_ref() {
        AddressKeys::Name(AddressName::Uniform) => Address::Uniform { align: Bytes::default() },
        AddressKeys::Name(AddressName::Sequential) => Address::Sequential,
        AddressKeys::Aligned { uniform } if uniform.get() == 0 || *uniform > LARGEST => {
            return Err(source.fault(address.span(), "not an alignment", format!("write 1B to {LARGEST}")));
        }
        AddressKeys::Aligned { uniform } => Address::Uniform { align: *uniform },
    })
}

fn content(source: Source<'_>, table: &Spanned<StreamKeys>) -> Result<Share, Fault> {
    match &table.get_ref().content {
        Some(content) if content.compress_to > Share::WHOLE => {
            Err(source.fault(table.span(), "data can compress to at most 100%", "write compress_to = \"100%\" or less"))
        }
        Some(content) => Ok(content.compress_to),
        None => Ok(Share::WHOLE),
    }
}

fn arrival(source: Source<'_>, table: &Spanned<StreamKeys>) -> Result<Arrival, Fault> {
    let keys = table.get_ref();
    match (&keys.rate, &keys.in_flight, keys.pause) {
        (Some(rate), None, None) if rate.get_ref().is_zero() => Err(source.fault(
            rate.span(),
            "a rate of zero schedules nothing",
            "write a rate above 0/s, or remove the stream",
        )),
        (Some(rate), None, None) => Ok(match keys.arrival.as_ref().map(|name| *name.get_ref()) {
            Some(ArrivalName::Steady) => Arrival::Steady { rate: *rate.get_ref() },
            Some(ArrivalName::Poisson) | None => Arrival::Poisson { rate: *rate.get_ref() },
        }),
        (None, Some(_), _) if keys.arrival.is_some() => {
            let span = keys.arrival.as_ref().map_or(table.span(), Spanned::span);
            Err(source.fault(
                span,
                "a closed loop (in_flight) has no arrival of its own",
                "remove arrival, or write rate instead",
            ))
        }
        (None, Some(in_flight), None) if (1..=LARGEST_BOUND).contains(in_flight.get_ref()) => {
            Ok(Arrival::Closed { in_flight: *in_flight.get_ref() })
        }
        (None, Some(in_flight), Some(pause)) if *in_flight.get_ref() == 1 => Ok(Arrival::Paced { pause }),
        (None, Some(in_flight), _) => {
            let remedy = format!("write 1 to {}; a pause goes with in_flight = 1", LARGEST_BOUND);
            Err(source.fault(in_flight.span(), "not a number of operations in flight", remedy))
        }
        _ => Err(source.fault(
            table.span(),
            "a stream needs a rate (open loop) or in_flight (closed loop), not both",
            "write rate = \"2000/s\" or in_flight = 32",
        )),
    }
}
