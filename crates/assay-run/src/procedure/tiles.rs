//! How many tiles there may be: on the targets, and in one run.

use crate::failure::Failure;
use crate::open::targets::refuse_tiles_beyond;
use crate::procedure::searching::Bounds;
use crate::procedure::settings::Settings;
use crate::procedure::several::Several;
use assay_base::Multiple;
use assay_model::Plan;
use assay_model::plan::PlannedApplication;
use assay_model::workload::Workload;

/// Most tiles that a search tries unless it is asked for more.
pub const USUAL_MOST: u64 = 64;

/// The targets opened for a search of the number of tiles, and the numbers between which it searches.
#[derive(Debug)]
pub struct TilesToSearch<'a> {
    /// The targets.
    pub several: Several<'a>,
    /// The smallest and the largest number; there always is a largest one.
    pub bounds: Bounds,
    /// Why it is the largest one.
    pub most_sentence: String,
}

impl<'a> TilesToSearch<'a> {
    /// Opens the targets of a file of tiles. A number of tiles that is asked for must fit; otherwise the search goes up to
    /// [`USUAL_MOST`], or as many as fit.
    pub fn open_targets(
        workload: Workload,
        targets: &[String],
        settings: Settings<'a>,
        bounds: Bounds,
    ) -> Result<TilesToSearch<'a>, Failure> {
        let asked = bounds.to.or(bounds.from);
        let several = Several::open_checked("limit", workload, targets, settings, &|plan, named| {
            refuse_tiles_beyond(&plan_of_tiles(plan, asked), named)
        })?;
        let fit = several.count_tiles_that_fit();
        let (most, why) = match bounds.to {
            Some(to) => {
                several.check_number_of_tiles(to)?;
                (to, "as asked by --to")
            }
            None => most_tiles(&several, fit, bounds.from.unwrap_or(Multiple::ONE))?,
        };
        let number = most.to_string();
        let most_sentence = format!("up to {} tiles ({why})", number.trim_end_matches('x'));
        Ok(TilesToSearch { several, bounds: Bounds { to: Some(most), ..bounds }, most_sentence })
    }
}

/// The plan with this number of tiles as far as their room is concerned.
fn plan_of_tiles(plan: &Plan, number: Option<Multiple>) -> Plan {
    let mut plan = plan.clone();
    if let (Some(PlannedApplication::Tiles(tiles)), Some(number)) = (&mut plan.load.application, number) {
        tiles.number = number.as_ratio().0;
    }
    plan
}

/// The largest number of tiles, at least `from`, that fits and that one run can carry.
fn most_tiles(several: &Several<'_>, fit: u64, from: Multiple) -> Result<(Multiple, &'static str), Failure> {
    let least = from.as_ratio().0;
    let most = USUAL_MOST.max(least).min(fit.max(least));
    let carried =
        (least..=most).rev().map(Multiple::from_whole).find(|number| several.check_number_of_tiles(*number).is_ok());
    let Some(carried) = carried else {
        return Err(several
            .check_number_of_tiles(from)
            .err()
            .unwrap_or_else(|| Failure::internal_bug("no number of tiles")));
    };
    let why = match carried.as_ratio().0 {
        number if number < most => "as many as one run can carry",
        number if number == fit => "as many as fit",
        _ => "--to asks for another number",
    };
    Ok((carried, why))
}
