//! What was made durable: the operations that waited for that, and how often their device was flushed meanwhile.

use crate::judgement::skip::is_zero;
use assay_base::Span;
use assay_record::DurabilityHead;
use serde::{Deserialize, Serialize};

/// The operations of a step that end when data are durable, on one target, and the flushes that its device counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DurabilityFigures {
    /// The target.
    pub target: String,
    /// The streams of these operations.
    pub streams: Vec<String>,
    /// How many of them ended without error while flushes were counted, warm-up included.
    pub syncs: u64,
    /// The device that is flushed; empty where there is none, or where it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub device: String,
    /// What it says of its cache: `write back` or `write through`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<String>,
    /// The flushes that it counted, by everybody; absent where they could not be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes: Option<u64>,
    /// Flushes for each sync; absent where either is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes_per_sync: Option<f64>,
    /// Why nothing there becomes durable, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never: Option<String>,
    /// Why flushes cannot be counted, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncounted: Option<String>,
    /// The most syncs that one flush can serve; 0 where that is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at_once: u64,
    /// Whether data are durable only after a flush that is counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_flushes: bool,
    /// The smallest median of the service of one of these streams, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
}

impl DurabilityFigures {
    /// Whether the device says that it has no cache whose content a loss of power takes.
    pub(crate) fn is_write_through(&self) -> bool {
        self.write_cache.as_deref() == Some(DurabilityHead::WRITE_THROUGH)
    }

    /// `1204 syncs, 1.28 flushes of sda for each (write back)`
    pub(crate) fn in_words(&self) -> String {
        let syncs = format!("{} ({})", self.syncs_in_words(), self.streams.join(", "));
        if let Some(why) = &self.never {
            return format!("{syncs} made nothing durable: {why}");
        }
        if let Some(why) = &self.uncounted {
            return format!("{syncs}; whether they made something durable is not seen: {why}");
        }
        let device = &self.device;
        let cache = match self.write_cache.as_deref() {
            Some(DurabilityHead::WRITE_THROUGH) => {
                format!("{device} says that it has no write cache, so that it needs none")
            }
            Some(cache) => format!("its cache is {cache}"),
            None => "it says nothing of its cache".to_owned(),
        };
        match (self.flushes_per_sync, self.flushes) {
            (Some(each), _) => format!("{syncs}, {each:.2} flushes of {device} for each; {cache}"),
            (None, Some(flushes)) => format!("{syncs}, {flushes} flushes of {device}; {cache}"),
            (None, None) => format!("{syncs}; the flushes of {device} could not be read; {cache}"),
        }
    }

    /// `1204 syncs`
    pub(crate) fn syncs_in_words(&self) -> String {
        if self.syncs == 1 { "1 sync".to_owned() } else { format!("{} syncs", self.syncs) }
    }

    /// The smallest median in words.
    pub(crate) fn median_in_words(&self) -> Option<String> {
        Some(Span::from_ns(self.p50_ns?).human_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_has_its_sentence() {
        let figures = DurabilityFigures {
            streams: vec!["fdatasync".into()],
            syncs: 100,
            device: "loop3".into(),
            write_cache: Some("write back".into()),
            flushes: Some(128),
            flushes_per_sync: Some(1.28),
            ..DurabilityFigures::default()
        };
        assert_eq!(
            figures.in_words(),
            "100 syncs (fdatasync), 1.28 flushes of loop3 for each; its cache is write back"
        );
        let through = DurabilityFigures { write_cache: Some("write through".into()), ..figures.clone() };
        assert!(through.in_words().contains("loop3 says that it has no write cache"), "{}", through.in_words());
        let never = DurabilityFigures { never: Some("tmpfs is memory".into()), syncs: 1, ..figures.clone() };
        assert_eq!(never.in_words(), "1 sync (fdatasync) made nothing durable: tmpfs is memory");
        let unseen = DurabilityFigures { uncounted: Some("it is on nfs".into()), ..figures.clone() };
        assert!(unseen.in_words().ends_with("is not seen: it is on nfs"), "{}", unseen.in_words());
        let unread = DurabilityFigures { flushes: None, flushes_per_sync: None, ..figures };
        assert!(unread.in_words().contains("could not be read"), "{}", unread.in_words());
    }
}
