//! Compares what the namespaces on a drive do, according to the server, with what iostat counted there.

use super::super::findings::DriveSeen;
use super::super::tolerance::{TOLERANCE, are_apart};
use super::assembled::Assembled;
use super::figures::rate_in_words;
use assay_base::{Rate, Share};
use assay_model::profile::{Flow, ProfilePart, Sourced};

/// A drive and the parts on it.
pub(super) struct DriveWithParts<'a> {
    pub drive: &'a DriveSeen,
    pub parts: &'a [ProfilePart],
    pub name: &'a str,
    /// The place of iostat's figures.
    pub place: String,
}

/// The part of a rate that one drive gets.
fn share_of(rate: &Option<Sourced<Rate>>, part: &ProfilePart) -> Option<f64> {
    Some(rate.as_ref()?.value.as_f64() / part.drives.len().max(1) as f64)
}

fn reads_per_second(part: &ProfilePart) -> Option<f64> {
    share_of(&part.reads.as_ref()?.rate, part)
}

fn blocks_read(part: &ProfilePart) -> Option<f64> {
    share_of(&part.large_blocks.reads, part)
}

/// Bytes per second of the records that a part reads, with its sizes at `position`.
fn bytes_per_second(part: &ProfilePart, position: Share) -> Option<f64> {
    let Flow { sizes, .. } = part.reads.as_ref()?;
    let sizes = &sizes.as_ref()?.value;
    sizes.why_invalid().is_none().then_some(reads_per_second(part)? * sizes.points_at(position).mean_bytes())
}

impl DriveWithParts<'_> {
    /// Reports all contradictions.
    pub(super) fn report_contradictions(&self, out: &mut Assembled) {
        self.compare_blocks_written(out);
        self.compare_operations_read(out);
        self.compare_bytes_read(out);
    }

    /// The sum over the parts; `None` where one of them is unknown.
    fn sum_over_parts(&self, of: impl Fn(&ProfilePart) -> Option<f64>) -> Option<f64> {
        self.parts.iter().map(of).sum()
    }

    fn places_of_parts(&self, of: impl Fn(&ProfilePart) -> Option<String>) -> Vec<String> {
        self.parts.iter().filter_map(of).chain([self.place.clone()]).collect()
    }

    fn compare_blocks_written(&self, out: &mut Assembled) {
        let blocks_alone = self.parts.iter().all(|part| !part.commit_to_device);
        let written = self.sum_over_parts(|part| share_of(&part.large_blocks.writes, part)).filter(|_| blocks_alone);
        let (Some(written), Some(seen)) = (written, self.drive.column_mean("w/s")) else { return };
        if are_apart(written, seen) {
            let name = self.name;
            let (written, seen) = (rate_in_words(written), rate_in_words(seen));
            let what = format!(
                "{name}: large blocks are written at {written} according to the server's log, but iostat has {seen} writes"
            );
            out.add_contradiction(
                what,
                self.places_of_parts(|part| Some(part.large_blocks.writes.as_ref()?.source.clone())),
            );
        }
    }

    fn compare_operations_read(&self, out: &mut Assembled) {
        let (records, blocks) = (self.sum_over_parts(reads_per_second), self.sum_over_parts(blocks_read));
        let (Some(records), Some(blocks), Some(seen)) = (records, blocks, self.drive.column_mean("r/s")) else {
            return;
        };
        if are_apart(records + blocks, seen) {
            let (records, blocks, seen, name) =
                (rate_in_words(records), rate_in_words(blocks), rate_in_words(seen), self.name);
            let what = format!(
                "{name}: records are read at {records} and large blocks at {blocks} according to the server, but iostat has {seen} reads"
            );
            out.add_contradiction(
                what,
                self.places_of_parts(|part| Some(part.reads.as_ref()?.rate.as_ref()?.source.clone())),
            );
        }
    }

    /// Wherever the sizes lie in their buckets, iostat's bytes must be between the smallest and the largest sum that
    /// they allow.
    fn compare_bytes_read(&self, out: &mut Assembled) {
        let [least, most] =
            [100, 200].map(|percent| self.sum_over_parts(|part| bytes_per_second(part, Share::from_percent(percent))));
        let blocks = self.sum_over_parts(|part| Some(blocks_read(part)? * part.large_blocks.size.get() as f64));
        let (Some(least), Some(most), Some(blocks)) = (least, most, blocks) else { return };
        let Some(seen) = self.drive.column_mean("rkB/s").map(|kib| kib * 1024.0) else { return };
        let (least, most) = (least + blocks, most + blocks);
        if seen < least * (1.0 - TOLERANCE) || seen > most * (1.0 + TOLERANCE) {
            let name = self.name;
            let [seen, least, most] = [seen, least, most].map(|bytes| format!("{:.1} MiB/s", bytes / 1_048_576.0));
            let what = format!(
                "{name}: iostat has {seen} read, but records of these sizes and large blocks give {least} to {most}"
            );
            out.add_contradiction(
                what,
                self.places_of_parts(|part| Some(part.reads.as_ref()?.sizes.as_ref()?.source.clone())),
            );
        }
    }
}
