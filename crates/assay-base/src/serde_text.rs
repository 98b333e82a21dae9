//! Serialises unit types as text, in the grammar that `Display` and `FromStr` already define.

use crate::{Bytes, Criterion, Direction, MarkedPart, Measure, Multiple, Rate, Share, Span};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

macro_rules! as_text {
    ($($type:ty),*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                struct Text;
                impl de::Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("a quoted ", stringify!($type)))
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    )*};
}

as_text!(Bytes, Criterion, Direction, MarkedPart, Measure, Multiple, Rate, Share, Span);
