//! Options of the search for the highest load that passes.

use assay_base::Multiple;
use assay_run::failure::Failure;
use assay_run::procedure::searching::Bounds;
use std::str::FromStr;

/// How the highest load that passes is searched for.
#[derive(clap::Args, Debug, Clone, Copy)]
pub(crate) struct Search {
    /// Load of the first run, such as 10x; of tiles their number, such as 2 [default: 10x, of a mail store or of files 1x, of tiles 1; --to if that is lower]
    #[arg(long, value_name = "LOAD")]
    pub from: Option<LoadOrNumber>,
    /// Highest load to try, such as 100x; of tiles their number, such as 64 [default: no limit, of tiles 64 or as many as fit]
    #[arg(long, value_name = "LOAD")]
    pub to: Option<LoadOrNumber>,
    /// How exactly to find the limit: the search ends when the loads that pass and fail are this close [default: 1x, of a mail store or of files 0.05x]
    #[arg(long, value_name = "LOAD")]
    pub resolution: Option<Multiple>,
}

/// A load such as `30x`, or a number of tiles such as `30`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadOrNumber {
    /// A multiple.
    Load(Multiple),
    /// A number without a unit.
    Number(u64),
}

impl FromStr for LoadOrNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<LoadOrNumber, String> {
        match text.parse::<u64>() {
            Ok(number) if number > 0 => Ok(LoadOrNumber::Number(number)),
            _ => text.parse().map(LoadOrNumber::Load),
        }
    }
}

impl Search {
    /// The bounds of a search for a load.
    pub(crate) fn search_bounds(self) -> Result<Bounds, Failure> {
        let (from, to) = (multiple_of_load("--from", self.from)?, multiple_of_load("--to", self.to)?);
        Ok(Bounds { from, to, resolution: self.resolution })
    }

    /// The bounds of a search for a number of tiles.
    pub(crate) fn tile_bounds(self) -> Result<Bounds, Failure> {
        if self.resolution.is_some() {
            return Err(Failure::bad_usage("tiles are whole: remove --resolution"));
        }
        let (from, to) = (number_of_tiles("--from", self.from)?, number_of_tiles("--to", self.to)?);
        Ok(Bounds { from, to, resolution: None })
    }
}

/// A load, which has its unit.
fn multiple_of_load(option: &str, given: Option<LoadOrNumber>) -> Result<Option<Multiple>, Failure> {
    match given {
        None => Ok(None),
        Some(LoadOrNumber::Load(load)) => Ok(Some(load)),
        Some(LoadOrNumber::Number(number)) => Err(Failure::bad_usage(format!(
            "{option} {number}: \"{number}\" is not a multiple; write it like 30x or 1.5x"
        ))),
    }
}

/// A number of tiles as a load.
fn number_of_tiles(option: &str, given: Option<LoadOrNumber>) -> Result<Option<Multiple>, Failure> {
    let load = match given {
        None => return Ok(None),
        Some(LoadOrNumber::Number(number)) => Multiple::from_whole(number),
        Some(LoadOrNumber::Load(load)) => load,
    };
    match load.as_ratio() {
        (_, 1) => Ok(Some(load)),
        _ => {
            Err(Failure::bad_usage(format!("{option} {load} is no number of tiles: write a whole number, such as 16")))
        }
    }
}
