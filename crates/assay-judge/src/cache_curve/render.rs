//! A cache curve as text. Names are hostile input: the page cleans them.

use super::{CacheCurve, Point};
use crate::render::Page;
use assay_base::Bytes;
use std::fmt;

/// Length of the longest bar, in characters.
const BAR: usize = 40;

/// A row with a bar for each size that is a power of two, for the knee, and for the last.
pub fn write_text(curve: &CacheCurve, out: &mut dyn fmt::Write) -> fmt::Result {
    let mut page = Page::default();
    page.add_words("", &format!("{} on {}", curve.workload, curve.targets.join(", ")), 2);
    page.add_words("", &simulated_load_in_words(curve), 2);
    page.add_blank_line();
    page.add_line("     cache  reads answered");
    let last = curve.points.len().saturating_sub(1);
    for (at, point) in curve.points.iter().enumerate() {
        let is_knee = curve.knee == Some(at);
        if is_knee || at == last || point.bytes.is_power_of_two() {
            page.add_line(point_row(point, is_knee));
        }
    }
    page.add_blank_line();
    page.add_words("", &summary_sentences(curve), 4);
    page.write_lines(out)
}

/// A sentence about what was followed.
pub(super) fn simulated_load_in_words(curve: &CacheCurve) -> String {
    let followed = match curve.one_of {
        1 => String::new(),
        n => format!(", of which one block in {n} was followed"),
    };
    let writes = if curve.writes == "around" { "writes go around the cache" } else { "writes go into the cache" };
    let bypass = match curve.bypassed {
        0 => String::new(),
        n => format!(" ({n} of them bypass the cache)"),
    };
    format!(
        "{} operations with seed {}{bypass}, {} different blocks of {}{followed}; {} cache, {writes}",
        curve.operations,
        curve.seed,
        curve.different_blocks,
        Bytes::new(curve.block_bytes).human_text(),
        curve.policy
    )
}

fn point_row(point: &Point, is_knee: bool) -> String {
    let bar = "#".repeat((point.hits * BAR as f64).round() as usize);
    let mark = if is_knee { " <- knee" } else { "" };
    format!(
        "{:>10}  {:>8}{:>7} {bar}{mark}",
        Bytes::new(point.bytes).human_text(),
        share_text(point.hits),
        error_text(point)
    )
}

fn error_text(point: &Point) -> String {
    point.error.map_or(String::new(), |error| format!("±{:.1}", error * 100.0))
}

pub(super) fn share_text(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// Sentences about the knee, and about the reads that no cache answers.
pub(super) fn summary_sentences(curve: &CacheCurve) -> String {
    let knee = match curve.knee.and_then(|at| curve.points.get(at)) {
        Some(point) => format!(
            "Knee at {}, which answers {} of the reads: beyond it more cache brings less than it did on average.",
            Bytes::new(point.bytes).human_text(),
            share_text(point.hits)
        ),
        None => "No knee: no size stands out.".to_owned(),
    };
    let cold = share_text(curve.cold);
    let error = if curve.one_of > 1 { " ± is one standard error, in points." } else { "" };
    format!("{knee} {cold} of the reads are the first access to their block, which no cache answers.{error}")
}
