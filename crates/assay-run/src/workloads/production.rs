//! A profile for a fit: what production's drive did, what is expected of a drive under test at each setting of the
//! knobs, and the workload and the text for each setting.

use crate::failure::{Failure, escaped_path, one_line};
use crate::files;
use assay_base::Knobs;
use assay_judge::fit::{Expected, Figures, Load};
use assay_model::profile::{AskedLoad, Drive, Profile};
use assay_model::workload::{self, Workload};
use std::path::Path;

/// A profile with the drive that a target stands for.
#[derive(Debug)]
pub struct Production {
    file: String,
    text: String,
    profile: Profile,
    /// The workload as in the file.
    pub workload: Workload,
    /// `node/drive`; empty where the profile names none.
    pub drive: String,
    /// The figures of that drive, from its iostat.
    iostat: Drive,
    /// The drives of all its nodes that have parts.
    pub drives: Vec<String>,
}

impl Production {
    /// Reads a profile that contains the iostat of its drive.
    ///
    /// # Errors
    /// The file cannot be read, is not a profile, or has no figures to compare with.
    pub fn read_profile(file: &str) -> Result<Production, Failure> {
        let path = Path::new(file);
        let text = files::read_text(path, workload::LONGEST as u64).map_err(|e| unreadable_profile(path, &e))?;
        let name = one_line(file);
        let profile = workload::read_profile(&name, &text).map_err(Failure::bad_workload)?;
        let workload = workload::read_workload(&name, &text).map_err(Failure::bad_workload)?;
        let lowered =
            profile.lower_to_streams().map_err(|unfit| Failure::bad_workload(format!("{}: {}", name, unfit.what)))?;
        let drive = lowered.meant;
        let Some(iostat) = lowered.drive.filter(|seen| figures_from_drive(seen).iter().any(Option::is_some)) else {
            let whose =
                if drive.is_empty() { "its drive".to_owned() } else { format!("the drive {}", one_line(&drive)) };
            return Err(Failure::bad_workload(format!(
                "{name} has no iostat of {whose}, so there is nothing to compare with\n  = import it together with `iostat -x -k 1` of the same minutes, or add [[iostat]] with drive, reads, writes, read_bytes and write_bytes"
            )));
        };
        let drives = profile.drives_used();
        Ok(Production { file: name, text, profile, workload, drive, iostat, drives })
    }

    /// BLAKE3 of the profile's text.
    pub fn profile_checksum(&self) -> String {
        blake3::hash(self.text.as_bytes()).to_hex().to_string()
    }

    /// The figures of production's drive, as far as known.
    pub fn drive_figures(&self) -> [Option<f64>; 4] {
        figures_from_drive(&self.iostat)
    }

    /// The knobs as in the profile.
    pub fn profile_knobs(&self) -> Knobs {
        self.profile.first_knobs().unwrap_or_default()
    }

    /// Notes for the reader of a fit of it.
    pub fn reader_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let figures = assay_judge::fit::Figure::ALL.iter().zip(self.drive_figures());
        let absent: Vec<&str> =
            figures.filter(|(_, value)| value.is_none()).map(|(figure, _)| figure.iostat_name()).collect();
        if !absent.is_empty() {
            notes.push(format!("the profile's iostat has no {}, which is not fitted", absent.join(", ")));
        }
        if self.profile.with_knobs(&self.profile_knobs()).is_ok_and(|alike| alike != self.profile) {
            notes.push(
                "the parts on the drive have different positions or scales in the profile; the fit gives all of them the same".into(),
            );
        }
        notes
    }

    /// The load on a drive with blocks of `block` bytes, at every setting of the knobs.
    pub fn load_for_block_size(&self, block: u32) -> ProductionLoad<'_> {
        let counted = self.profile.counts_large_blocks().unwrap_or_default();
        ProductionLoad { profile: &self.profile, block, counted }
    }

    /// What production's drive did beyond everything that the profile counts, as these knobs offer it; `None` where they offer
    /// nothing.
    pub fn describe_uncounted(&self, knobs: &Knobs) -> Option<String> {
        let sides = [("reads", knobs.other_reads), ("writes", knobs.other_writes)];
        let named: Vec<String> = sides
            .into_iter()
            .filter(|(_, rate)| !rate.is_zero())
            .map(|(what, rate)| format!("{:.1} {what} a second", rate.as_f64()))
            .collect();
        if named.is_empty() {
            return None;
        }
        Some(format!(
            "large blocks were counted in production, and these counts stay as they are: {} are in no count of the profile and are offered as [namespace.others], of one size, anywhere on the drive",
            named.join(" and ")
        ))
    }

    /// The text with these knobs.
    ///
    /// # Errors
    /// The text cannot be written in the form of the file.
    pub fn fitted_text(&self, knobs: &Knobs, head: &[String]) -> Result<String, Failure> {
        workload::fitted_text(&self.file, &self.text, knobs, head).map_err(Failure::bad_workload)
    }

    /// The workload with these knobs, parsed from that text.
    ///
    /// # Errors
    /// As for [`text`](Production::text).
    pub fn workload_at(&self, knobs: &Knobs) -> Result<Workload, Failure> {
        workload::read_workload(&self.file, &self.fitted_text(knobs, &[])?).map_err(Failure::bad_workload)
    }
}

/// The load that a profile asks of a drive, for a fit.
#[derive(Clone, Copy, Debug)]
pub struct ProductionLoad<'a> {
    profile: &'a Profile,
    block: u32,
    counted: [bool; 2],
}

impl Load for ProductionLoad<'_> {
    fn expected_counts(&self, knobs: &Knobs) -> Expected {
        let lowered = self.profile.with_knobs(knobs).and_then(|moved| moved.lower_to_streams());
        lowered.map_or_else(|_| Expected::default(), |lowered| expected_counts(&lowered.asked_load(self.block)))
    }

    fn counts_large_blocks(&self) -> [bool; 2] {
        self.counted
    }
}

fn figures_from_drive(drive: &Drive) -> [Option<f64>; 4] {
    let [reads, writes] = [&drive.reads, &drive.writes].map(|rate| rate.as_ref().map(|rate| rate.value.as_f64()));
    let [read, written] =
        [&drive.read_bytes, &drive.write_bytes].map(|bytes| bytes.as_ref().map(|bytes| bytes.value.get() as f64));
    [reads, writes, read, written]
}

/// Arrivals are independent, so counts vary like those of a Poisson process, and bytes like those of a compound one.
fn expected_counts(asked: &AskedLoad) -> Expected {
    let AskedLoad { operations, bytes, unrounded, squares } = *asked;
    let figures: Figures = [operations[0], operations[1], bytes[0], bytes[1]];
    let variances = [operations[0], operations[1], squares[0], squares[1]];
    Expected {
        figures,
        spread: std::array::from_fn(|at| relative_deviation(variances[at], figures[at])),
        rounding: [0, 1].map(|at| if unrounded[at] > 0.0 { bytes[at] / unrounded[at] } else { 1.0 }),
    }
}

fn unreadable_profile(profile: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::bad_workload(format!(
        "the profile {} cannot be read: {why}\n  = make one of what was collected in production with assay import",
        escaped_path(profile)
    ))
}

/// The standard deviation as a share of the mean; 0 where the mean is.
fn relative_deviation(variance: f64, mean: f64) -> f64 {
    if mean > 0.0 { variance.sqrt() / mean } else { 0.0 }
}
