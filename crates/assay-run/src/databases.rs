//! Loads databases and examines them: the workload derived from TPC-C on the embedded database.

mod calls;

pub use calls::Calls;

use crate::failure::{Failure, one_line};
use crate::observer::Observer;
use crate::signals::StopCell;
use assay_device::clock::Clock;
use assay_model::tpcc::checks::Violation;
use assay_model::tpcc::{DERIVED, DEVIATIONS, Population, Scale};
use assay_sql::sqlite::{self, Loading, Progress};
use assay_sql::{Marker, Url};
use serde::Serialize;
use std::ops::ControlFlow;

/// The most loaders that are useful: one of them writes, and four keep it busy.
const LOADERS: usize = 4;

/// What is to be loaded.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The number of warehouses, at least 1.
    pub warehouses: i32,
    /// The seed, from which all rows follow.
    pub seed: u64,
    /// The number of threads that make rows.
    pub loaders: Option<usize>,
    /// Whether what an earlier load left is deleted first.
    pub clear: bool,
}

/// A database that holds the whole population of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loaded {
    /// Its URL.
    pub database: String,
    /// The number of warehouses.
    pub warehouses: i32,
    /// The seed of its rows.
    pub seed: u64,
    /// The constant of its last names.
    pub c_load: i32,
    /// The name of the load, by which two loads with one seed are told apart.
    pub load: String,
    /// The sentence that says what this is not.
    pub derived: &'static str,
    /// What is not as the standard requires it.
    pub deviations: [&'static str; 6],
}

impl Loaded {
    fn of(url: &Url, marker: &Marker) -> Loaded {
        let population = marker.population;
        Loaded {
            database: one_line(url),
            warehouses: population.warehouses(),
            seed: population.seed(),
            c_load: population.c_load(),
            load: one_line(&marker.run),
            derived: DERIVED,
            deviations: DEVIATIONS,
        }
    }
}

/// Reads the name of a database.
pub fn named(name: &str) -> Result<Url, Failure> {
    Url::read(name).map_err(|trouble| Failure::database(&trouble))
}

/// Loads a database, or goes on with a load that was interrupted.
pub fn load(url: &Url, asked: Asked, observer: &mut dyn Observer, stop: &StopCell) -> Result<Loaded, Failure> {
    let Url::Sqlite(file) = url;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let loading = Loading {
        url: file.clone(),
        population: Population::new(Scale::STANDARD, asked.warehouses, asked.seed),
        run: name_of_a_load(),
        loaders: asked.loaders.unwrap_or(processors.min(LOADERS)),
        clear: asked.clear,
    };
    let clock = Clock::start();
    let since = clock.now();
    let mut watch = |Progress { done, of, found }: Progress| {
        observer.rows(done, of, found, clock.now().since(since));
        if stop.is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let marker = sqlite::load(&loading, &mut watch);
    observer.finish();
    let marker = marker.map_err(|trouble| Failure::database(&trouble))?;
    if !marker.complete {
        let url = one_line(url);
        return Err(Failure::incomplete(format!("loading {url} was interrupted; repeat the command to continue")));
    }
    Ok(Loaded::of(url, &marker))
}

/// A name that no other load has.
fn name_of_a_load() -> String {
    let now = assay_device::clock::wall().duration_since(std::time::UNIX_EPOCH);
    format!("{:016x}", now.map_or(0, |since| since.as_nanos() as u64))
}

/// What an examination found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// What the database was loaded with.
    pub loaded: Loaded,
    /// Where a condition does not hold; of each condition the first ones.
    pub violations: Vec<Violation>,
}

/// Examines a database that is loaded in full.
pub fn check(url: &Url) -> Result<Checked, Failure> {
    let Url::Sqlite(file) = url;
    let checked = || {
        let (_, connection, marker) = sqlite::ready(file, None)?;
        let violations = sqlite::check(&connection, marker.population.scale())?;
        Ok(Checked { loaded: Loaded::of(url, &marker), violations })
    };
    checked().map_err(|trouble| Failure::database(&trouble))
}
