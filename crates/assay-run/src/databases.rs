//! Loads databases, examines them, and drives transactions on them: the workload derived from TPC-C, in the embedded
//! database or on a server.

mod after;
pub mod by_sessions;
mod calls;
pub(crate) mod carrying;
mod differences;
mod kinds;
mod ledger;
mod logged;
mod mariadb;
mod opened;
mod postgresql;
mod server;
mod target;

pub(crate) use after::lost_commits;
pub use after::{After, Lacking, check_after};
pub use calls::Calls;
pub(crate) use ledger::LedgerFile;
pub use logged::LoggedCommits;
pub use opened::{Facts, Opened, Settings};
pub use target::{Database, NamedDatabase, per_minute};
pub(crate) use target::{durability_watermarks, fit_in_memory};

use crate::failure::{Failure, one_line};
use crate::host::signals::StopCell;
use crate::observer::Observer;
use assay_device::clock::Clock;
use assay_model::tpcc::checks::Violation;
use assay_model::tpcc::{DERIVED, DEVIATIONS, Population, Scale};
use assay_sql::{Marker, Progress, Trouble, Url, mysql, postgres, sqlite};
use serde::Serialize;
use std::ops::ControlFlow;

/// The most loaders that are useful unless more are asked for: four keep a writer busy.
const LOADERS: usize = 4;

/// What is to be loaded.
#[derive(Clone, Copy, Debug)]
pub struct LoadRequest {
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
    /// The deviations from the standard.
    pub deviations: [&'static str; 6],
}

impl Loaded {
    fn new(url: &Url, marker: &Marker) -> Loaded {
        let population = marker.population;
        Loaded {
            database: one_line(url),
            warehouses: population.warehouse_count(),
            seed: population.run_seed(),
            c_load: population.c_load(),
            load: one_line(&marker.run),
            derived: DERIVED,
            deviations: DEVIATIONS,
        }
    }
}

/// Reads the name of a database, with what the environment adds to it: the role and the password.
pub fn parse_url(name: &str) -> Result<Url, Failure> {
    let completed = Url::parse_url(name).and_then(|mut url| {
        match &mut url {
            Url::Sqlite(_) => {}
            Url::Postgres(server) => server.complete_from_environment(&environment_variable)?,
            Url::Mysql(server) => server.complete_from_environment(&environment_variable)?,
        }
        Ok(url)
    });
    completed.map_err(|trouble| Failure::from_database_trouble(&trouble))
}

#[expect(clippy::disallowed_methods, reason = "a password is in the environment, where no command line shows it")]
fn environment_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Loads a database, or goes on with a load that was interrupted.
pub fn load_database(
    url: &Url,
    request: LoadRequest,
    observer: &mut dyn Observer,
    stop: &StopCell,
) -> Result<Loaded, Failure> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let population = Population::new(Scale::STANDARD, request.warehouses, request.seed);
    let loaders = request.loaders.unwrap_or(processors.min(LOADERS));
    let (run, clear) = (name_of_a_load(), request.clear);
    let clock = Clock::start();
    let since = clock.now();
    let mut watch = |Progress { done, of, found }: Progress| {
        observer.rows_done(done, of, found, clock.now().since(since));
        if stop.is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let marker = match url {
        Url::Sqlite(file) => {
            sqlite::load_missing(&sqlite::Loading { url: file.clone(), population, run, loaders, clear }, &mut watch)
        }
        Url::Postgres(server) => postgres::load_missing(
            &postgres::Loading { url: server.clone(), population, run, loaders, clear },
            &mut watch,
        ),
        Url::Mysql(server) => {
            mysql::load_missing(&mysql::Loading { url: server.clone(), population, run, loaders, clear }, &mut watch)
        }
    };
    observer.finish_part();
    let marker = marker.map_err(|trouble| Failure::from_database_trouble(&trouble))?;
    if !marker.complete {
        let url = one_line(url);
        return Err(Failure::cut_short(format!("loading {url} was interrupted; repeat the command to continue")));
    }
    Ok(Loaded::new(url, &marker))
}

/// A name that no other load has.
fn name_of_a_load() -> String {
    let now = assay_device::clock::wall_time().duration_since(std::time::UNIX_EPOCH);
    format!("{:016x}", now.map_or(0, |since| since.as_nanos() as u64))
}

/// The result of an examination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The load that the database holds.
    pub loaded: Loaded,
    /// The violations of conditions; of each condition the first ones.
    pub violations: Vec<Violation>,
}

/// Examines a database that is loaded in full.
pub fn check_database(url: &Url) -> Result<Checked, Failure> {
    let (marker, violations) = find_violations(url).map_err(Failure::from_trouble)?;
    Ok(Checked { loaded: Loaded::new(url, &marker), violations })
}

fn find_violations(url: &Url) -> Result<(Marker, Vec<Violation>), Trouble> {
    match url {
        Url::Sqlite(file) => {
            let (_, connection, marker) = sqlite::ready_to_check(file)?;
            let violations = sqlite::check_conditions(&connection, marker.population)?;
            Ok((marker, violations))
        }
        Url::Postgres(server) => {
            let (_permit, mut connection, marker) = postgres::open_for_run(server, None)?;
            let violations = postgres::check_conditions(&mut connection, marker.population)?;
            Ok((marker, violations))
        }
        Url::Mysql(server) => {
            let (_permit, mut connection, marker) = mysql::open_for_run(server, None)?;
            let violations = mysql::check_conditions(&mut connection, marker.population)?;
            Ok((marker, violations))
        }
    }
}
