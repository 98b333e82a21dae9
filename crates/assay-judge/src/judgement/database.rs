//! A database as a target: what it was, and how many operations it completed per minute.

use crate::judgement::SliceList;
use assay_base::text::counted_things;
use assay_record::DatabaseHead;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A database.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DatabaseFigures {
    /// As it was when the run began.
    #[serde(flatten)]
    pub head: DatabaseHead,
    /// Its settings when the run ended; absent where they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings_at_end: Option<BTreeMap<String, String>>,
    /// What was found when it was checked after the run; absent where it was not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<String>,
    /// Commits per minute as its server counts them, whoever made them; absent where there is no server, or it was not
    /// asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_tpm: Option<f64>,
}

impl DatabaseFigures {
    /// `postgresql 15.18, 1 warehouse, 120 MiB; its server counted 57450 commits a minute`
    pub fn in_words(&self) -> String {
        let DatabaseHead { dialect, version, warehouses, bytes, .. } = &self.head;
        let bytes = bytes.map_or_else(String::new, |bytes| format!(", {}", assay_base::Bytes::new(bytes).human_text()));
        let counted = self
            .server_tpm
            .map(|tpm| format!("; its server counted {} commits a minute", PerMinuteFigures::value_text(tpm)));
        let warehouses = counted_things(*warehouses, "warehouse");
        format!("{dialect} {version}, {warehouses}{bytes}{}", counted.unwrap_or_default())
    }

    /// `checked: all 17 conditions hold`
    pub fn in_words_of_check(&self) -> String {
        self.checked.as_ref().map_or_else(|| "not checked".to_owned(), |found| format!("checked: {found}"))
    }

    /// Its facts and settings, each with its name.
    pub fn rows(&self) -> Vec<(String, String)> {
        let head = &self.head;
        let mut rows: Vec<(String, String)> = vec![
            ("database".into(), self.in_words()),
            ("URL".into(), head.url.clone()),
            ("loaded with".into(), format!("seed {}, load {}", head.seed, head.load)),
            ("a transaction is sent as".into(), head.mode.clone()),
            ("isolation".into(), head.isolation.clone()),
        ];
        rows.extend(head.constants.iter().map(|(name, value)| (name.clone(), value.to_string())));
        rows.extend(head.settings.iter().map(|(name, value)| (name.clone(), value.clone())));
        rows.extend(self.checked.iter().map(|found| ("checked after the run".into(), found.clone())));
        if !head.deviations.is_empty() {
            rows.push(("deviations from the standard".into(), head.deviations.join(", ")));
        }
        rows
    }
}

/// The lowest and the highest value of a figure in the slices that count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extremes {
    /// The figure of the slice with the fewest operations.
    pub lowest: f64,
    /// The figure of the slice with the most operations.
    pub peak: f64,
}

impl PerMinuteFigures {
    /// The lowest and the highest value among the complete and valid slices; `None` where there are fewer than two of them, or
    /// where not all slices are listed.
    pub fn extremes_of_slices(&self, slices: &SliceList) -> Option<Extremes> {
        let both = self.slices.iter().zip(&slices.listed);
        let counting: Vec<f64> =
            both.filter(|(_, slice)| slice.complete && slice.valid).map(|(value, _)| *value).collect();
        let lowest = counting.iter().copied().reduce(f64::min)?;
        let peak = counting.iter().copied().reduce(f64::max)?;
        (slices.left_out == 0 && counting.len() > 1).then_some(Extremes { lowest, peak })
    }

    /// `TPM 17790 (slices: 9120 to 28896)`
    pub fn in_words_with_extremes(&self, slices: &SliceList) -> String {
        let extremes = self.extremes_of_slices(slices).map(|extremes| {
            let [lowest, peak] = [extremes.lowest, extremes.peak].map(PerMinuteFigures::value_text);
            format!(" (slices: {lowest} to {peak})")
        });
        self.in_words() + &extremes.unwrap_or_default()
    }

    /// `NOPM 12345`
    pub fn in_words(&self) -> String {
        format!("{} {}", self.name, self.figure_text())
    }

    /// A value as it is shown.
    pub(crate) fn value_text(value: f64) -> String {
        format!("{value:.*}", usize::from(value < 100.0))
    }

    /// The value as it is shown.
    pub fn figure_text(&self) -> String {
        self.value.map_or_else(|| "-".to_owned(), PerMinuteFigures::value_text)
    }

    /// `NOPM 12345`, or nothing where there is one target only.
    pub fn figure_on_target(&self, target: usize) -> Option<String> {
        Some(format!("{} {}", self.name, PerMinuteFigures::value_text(*self.targets.get(target)?)))
    }
}

/// A figure per minute.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PerMinuteFigures {
    /// Its name: `NOPM`.
    pub name: String,
    /// Over all measured time; absent when no time was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The same on each target, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<f64>,
    /// The figure of each listed slice, in their order.
    pub slices: Vec<f64>,
    /// At each point of the charts.
    pub over_time: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::Slice;

    /// Slices whose values are given, with whether they count.
    fn figure(slices: &[(f64, bool)]) -> (PerMinuteFigures, SliceList) {
        let slice = |(at, (_, counts)): (usize, &(f64, bool))| Slice {
            number: at as u64 + 1,
            start_ns: 0,
            end_ns: 1,
            complete: *counts,
            valid: true,
            within: true,
            note: None,
            streams: Vec::new(),
        };
        let values = slices.iter().map(|(value, _)| *value).collect();
        let figure =
            PerMinuteFigures { name: "TPM".into(), value: Some(17_790.0), slices: values, ..Default::default() };
        (figure, SliceList { listed: slices.iter().enumerate().map(slice).collect(), left_out: 0 })
    }

    #[test]
    fn the_lowest_and_the_highest_slice_stand_beside_the_mean_where_there_are_several() {
        for (slices, expected) in [
            (vec![(9120.4, true), (28_896.0, true), (15_000.0, true)], "TPM 17790 (slices: 9120 to 28896)"),
            (vec![(9120.4, true), (28_896.0, true), (1.0, false)], "TPM 17790 (slices: 9120 to 28896)"),
            (vec![(9120.4, true), (1.0, false)], "TPM 17790"),
            (vec![(9120.4, true)], "TPM 17790"),
            (Vec::new(), "TPM 17790"),
        ] {
            let (figure, list) = figure(&slices);
            assert_eq!(figure.in_words_with_extremes(&list), expected, "{slices:?}");
        }
        let (figure, mut list) = figure(&[(1.0, true), (2.0, true)]);
        list.left_out = 1;
        assert_eq!(figure.extremes_of_slices(&list), None, "the highest may be among those that are not listed");
    }
}
