//! `rate` of a stream: operations, or bytes, per second.

use crate::size::Size;
use assay_base::{Bytes, Rate};
use serde::{Deserialize, Deserializer};

/// The value as written in the file.
pub(super) enum RateKeys {
    /// `"2000/s"`.
    Operations(Rate),
    /// `"500MiB/s"`.
    Bytes(Bytes),
}

impl<'de> Deserialize<'de> for RateKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RateKeys, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = RateKeys;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a quoted Rate")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<RateKeys, E> {
                let bytes = text.trim().strip_suffix("/s").filter(|it| it.trim_end().ends_with('B'));
                match bytes {
                    Some(bytes) => bytes.parse().map(RateKeys::Bytes).map_err(E::custom),
                    None => text.parse().map(RateKeys::Operations).map_err(E::custom),
                }
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl RateKeys {
    /// Whether it is one of bytes.
    pub(super) fn is_of_bytes(&self) -> bool {
        matches!(self, RateKeys::Bytes(_))
    }

    /// Operations per second of `size`, before a target rounds that up to its blocks. `None` when it does not fit.
    pub(super) fn rate_for_size(&self, size: &Size) -> Option<Rate> {
        match self {
            RateKeys::Operations(rate) => Some(*rate),
            RateKeys::Bytes(bytes) => size.rate_of(bytes.get()),
        }
    }
}
