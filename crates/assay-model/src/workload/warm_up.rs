//! `warm_up = "30s"`, or a table that waits until the load is steady.

use crate::plan::WarmUp;
use assay_base::Span;
use assay_base::steady::ROUNDS;
use serde::de::{Error, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// The key as written in the file.
pub(super) enum WarmUpKeys {
    /// A length.
    For(Span),
    /// What to wait for.
    Until(UntilKeys),
}

/// The table's keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UntilKeys {
    #[allow(dead_code, reason = "the only thing there is to wait for; its name is checked")]
    until: Awaited,
    limit: Span,
    round: Option<Span>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Awaited {
    Steady,
}

impl WarmUpKeys {
    /// The meaning of the key.
    pub(super) fn meant_warm_up(&self) -> WarmUp {
        match self {
            WarmUpKeys::For(span) => WarmUp::For(*span),
            WarmUpKeys::Until(keys) => {
                WarmUp::UntilSteady { limit: keys.limit, round: keys.round.unwrap_or(WarmUp::ROUND) }
            }
        }
    }
}

/// Whether rounds consist of whole intervals and five of them fit; the error says what does not.
pub(super) fn check_rounds(warm_up: WarmUp, interval: Span) -> Result<(), String> {
    let WarmUp::UntilSteady { limit, round } = warm_up else { return Ok(()) };
    if round < interval || !round.as_ns().is_multiple_of(interval.as_ns().max(1)) {
        return Err(format!("rounds of {round} cannot be cut from intervals of {interval}; write a multiple of it"));
    }
    if limit.as_ns() < round.as_ns().saturating_mul(ROUNDS as u64) {
        return Err(format!("a limit of {limit} ends before {ROUNDS} rounds of {round}, which the rule needs"));
    }
    Ok(())
}

impl<'de> Deserialize<'de> for WarmUpKeys {
    /// Written by hand, because an untagged enum would lose the message about what is wrong.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WarmUpKeys, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = WarmUpKeys;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quoted Span")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<WarmUpKeys, E> {
                text.parse().map(WarmUpKeys::For).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WarmUpKeys, A::Error> {
                UntilKeys::deserialize(MapAccessDeserializer::new(map)).map(WarmUpKeys::Until)
            }
        }
        deserializer.deserialize_any(Either)
    }
}
