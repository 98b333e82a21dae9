//! Whether there is room on the targets for all tiles of a plan.

use super::named::Named;
use crate::failure::{Failure, one_line};
use assay_base::Bytes;
use assay_model::Plan;
use assay_model::tiles::PlannedTiles;

/// Refuses a plan with more tiles than fit on the targets, as far as their sizes are known before they are opened.
pub fn refuse_tiles_beyond(plan: &Plan, named: &[(String, Named)]) -> Result<(), Failure> {
    let Some(tiles) = plan.load.tiles() else { return Ok(()) };
    for (name, target) in named {
        if let Some((size, _)) = target.known_geometry() {
            refuse_number_on(tiles, name, size)?;
        }
    }
    Ok(())
}

/// Refuses more tiles than fit on a target of this size.
pub(crate) fn refuse_number_on(tiles: &PlannedTiles, target: &str, size: u64) -> Result<(), Failure> {
    if tiles.needed_bytes() <= size {
        return Ok(());
    }
    let fit = match tiles.count_on(size) {
        0 => "not one fits".to_owned(),
        1 => "1 fits".to_owned(),
        fit => format!("{fit} fit"),
    };
    Err(Failure::bad_workload(format!(
        "{} {} of {} {} {} of each target, and {} has {}: {fit}; ask for fewer, or choose a larger target",
        tiles.number,
        if tiles.number == 1 { "tile" } else { "tiles" },
        tiles.size,
        if tiles.number == 1 { "needs" } else { "need" },
        Bytes::new(tiles.needed_bytes()),
        one_line(target),
        Bytes::new(size)
    )))
}
