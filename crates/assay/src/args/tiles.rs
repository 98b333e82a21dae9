//! How many tiles run.

use assay_base::Multiple;
use assay_model::workload::Workload;
use assay_run::failure::{Failure, one_line};

/// How many tiles of a file of tiles run.
#[derive(clap::Args, Debug, Clone, Copy, Default)]
pub(crate) struct TileCount {
    /// Run so many tiles of a file of tiles (docs/tiles.md)
    #[arg(long = "tiles", value_name = "N", conflicts_with = "load", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub number: Option<u64>,
}

impl TileCount {
    /// The load that is asked for: of a file of tiles their number, or `unless` where none is said.
    pub(crate) fn load_of_workload(
        self,
        workload: &Workload,
        load: Option<Multiple>,
        unless: Option<u64>,
    ) -> Result<Option<Multiple>, Failure> {
        let name = one_line(&workload.name);
        match (workload.tiles(), self.number.or(unless)) {
            (None, _) if self.number.is_some() => Err(without_tiles(workload)),
            (None, _) => Ok(load),
            (Some(_), _) if load.is_some() => Err(Failure::bad_usage(format!(
                "the load of {name} is its number of tiles: write --tiles N in place of --load"
            ))),
            (Some(_), Some(number)) => Ok(Some(Multiple::from_whole(number))),
            (Some(_), None) => {
                Err(Failure::bad_usage(format!("{name} is a file of tiles: say how many run, such as --tiles 3")))
            }
        }
    }
}

/// The refusal of a number of tiles for a workload that has none.
pub(crate) fn without_tiles(workload: &Workload) -> Failure {
    Failure::bad_usage(format!(
        "--tiles is for a file of tiles, and {} is none\n  = write [[tile]] with the workloads that run together into a file of its own (docs/tiles.md)",
        one_line(&workload.name)
    ))
}
