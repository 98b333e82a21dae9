//! The keys of a `[[stream]]`, as the workload file has them.

use super::address::AddressKeys;
use super::arrival::ArrivalKeys;
use super::life::{AfterKeys, LifeKeys, read_life};
use super::pace::RateKeys;
use super::size::SizeKeys;
use super::source::Source;
use crate::flush::Flush;
use crate::life::Life;
use crate::plan::Amount;
use assay_base::{Bytes, Direction, Fault, Share, Span};
use serde::{Deserialize, Deserializer};
use std::ops::Range;
use toml::Spanned;

/// `direction` of a stream, as the workload file has it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DirectionKey {
    /// A read or a write.
    Data(Direction),
    /// A flush, which moves no data.
    Flush,
}

impl<'de> Deserialize<'de> for DirectionKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DirectionKey, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = DirectionKey;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<DirectionKey, E> {
                match (text, text.parse()) {
                    (Flush::WORD, _) => Ok(DirectionKey::Flush),
                    (_, Ok(direction)) => Ok(DirectionKey::Data(direction)),
                    (_, Err(_)) => Err(E::custom(format!(
                        "\"{}\" is not a direction; write read, write or flush",
                        text.escape_debug()
                    ))),
                }
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// The keys of one stream.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StreamKeys {
    pub name: Spanned<String>,
    pub direction: Spanned<DirectionKey>,
    pub size: Option<Spanned<SizeKeys>>,
    pub every: Option<Spanned<u32>>,
    pub rate: Option<Spanned<RateKeys>>,
    pub in_flight: Option<Spanned<u32>>,
    pub pause: Option<Span>,
    pub arrival: Option<Spanned<ArrivalKeys>>,
    pub address: Option<Spanned<AddressKeys>>,
    pub content: Option<Spanned<ContentKeys>>,
    pub durable: Option<Spanned<bool>>,
    #[serde(alias = "at_most_in_flight")]
    pub in_flight_bound: Option<Spanned<u32>>,
    pub target: Option<Spanned<TargetKeys>>,
    pub range: Option<Spanned<RangeKeys>>,
    pub places: Option<Spanned<String>>,
    #[serde(rename = "loop")]
    pub looped: Option<Spanned<String>>,
    pub share: Option<Spanned<Share>>,
    pub line: Option<Spanned<String>>,
    pub start: Option<Spanned<Span>>,
    #[serde(rename = "for")]
    pub lasts: Option<Spanned<Span>>,
    pub operations: Option<Spanned<u64>>,
    pub bytes: Option<Spanned<Bytes>>,
    pub after: Option<Spanned<AfterKeys>>,
    pub step: Option<Spanned<u32>>,
}

impl StreamKeys {
    /// When the stream begins and ends.
    pub(super) fn life_keys(&self) -> LifeKeys<'_> {
        LifeKeys {
            start: self.start.as_ref(),
            lasts: self.lasts.as_ref(),
            operations: self.operations.as_ref(),
            bytes: self.bytes.as_ref(),
            after: self.after.as_ref(),
        }
    }

    /// The first of the keys that only reads and writes can have.
    pub(super) fn of_data(&self) -> Option<(&'static str, Range<usize>)> {
        fn key_place<T>(key: &Option<Spanned<T>>) -> Option<Range<usize>> {
            key.as_ref().map(Spanned::span)
        }
        let bytes = self.rate.as_ref().filter(|rate| rate.get_ref().is_of_bytes()).map(Spanned::span);
        let keys = [
            ("size", key_place(&self.size)),
            ("address", key_place(&self.address)),
            ("content", key_place(&self.content)),
            ("durable", key_place(&self.durable)),
            ("range", key_place(&self.range)),
            ("places", key_place(&self.places)),
            ("share", key_place(&self.share)),
            ("line", key_place(&self.line)),
            ("bytes", key_place(&self.bytes)),
            ("a rate of bytes", bytes),
        ];
        keys.into_iter().find_map(|(key, span)| Some((key, span?)))
    }

    /// The first of the keys `rate`, `in_flight` and `every` that stands in the file, with its place.
    pub(super) fn first_pace_key(&self) -> Option<(&'static str, Range<usize>)> {
        let rate = self.rate.as_ref().map(|key| ("rate", key.span()));
        let in_flight = self.in_flight.as_ref().map(|key| ("in_flight", key.span()));
        rate.or(in_flight).or_else(|| self.every.as_ref().map(|key| ("every", key.span())))
    }

    /// Whether one of the keys `rate`, `in_flight`, `pause` and `arrival` stands in the file.
    pub(super) fn has_pace(&self) -> bool {
        self.rate.is_some() || self.in_flight.is_some() || self.pause.is_some() || self.arrival.is_some()
    }
}

/// `target = "data"`, or `["data", "log"]`.
pub(super) struct TargetKeys(pub Vec<String>);

impl<'de> Deserialize<'de> for TargetKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TargetKeys, D::Error> {
        struct OneOrMore;
        impl<'de> serde::de::Visitor<'de> for OneOrMore {
            type Value = TargetKeys;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string, or a list of strings")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<TargetKeys, E> {
                Ok(TargetKeys(vec![text.to_owned()]))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut names: A) -> Result<TargetKeys, A::Error> {
                let mut all = Vec::new();
                while let Some(name) = names.next_element()? {
                    all.push(name);
                }
                Ok(TargetKeys(all))
            }
        }
        deserializer.deserialize_any(OneOrMore)
    }
}

/// `range = { from = "50%", size = "10GiB" }`.
#[derive(Deserialize, Clone, Copy)]
#[serde(deny_unknown_fields)]
pub(super) struct RangeKeys {
    pub from: Option<Amount>,
    pub size: Option<Amount>,
}

/// `content = { compress_to = "50%", duplicates = "10%" }`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContentKeys {
    pub compress_to: Option<Share>,
    pub duplicates: Option<Share>,
}

/// When a stream begins and ends.
pub(super) fn own_life(source: Source<'_>, keys: &StreamKeys) -> Result<Life, Fault> {
    let own = keys.life_keys();
    match own.first_place().filter(|_| keys.looped.is_some()) {
        Some(place) => Err(source.fault_at(
            place,
            "a stream of a loop begins and ends with its loop",
            "write start, for, operations, bytes and after into the [[loop]]",
        )),
        None => read_life(source, own, "stream"),
    }
}
