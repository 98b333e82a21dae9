//! The interface of a database that runs use, the same for every kind of database.

use crate::host::meter::Reading;
use assay_model::tpcc::checks::Violation;
use assay_model::tpcc::load::Mode;
use assay_sql::{Execute, KeptCommits, Marker, Totals, Trouble};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;

/// A database that the gate has accepted, and that is loaded completely.
pub trait Opened: Debug + Send {
    /// Opens so many sessions. In each, the settings of the URL are set and read back.
    fn start_sessions(&mut self, count: u32, mode: Mode) -> Result<Vec<Box<dyn Execute>>, Trouble>;
    /// Creates a row for each session of a run, and waits until the rows are durable. No other run has the name `run`.
    fn create_session_rows(&mut self, run: &str, sessions: u32) -> Result<(), Trouble>;
    /// As [`Opened::start_sessions`], for sessions that store their numbers in the rows of a run.
    fn marked_sessions(&mut self, count: u32, mode: Mode, run: &str) -> Result<Vec<Box<dyn Execute>>, Trouble>;
    /// Reads what the database still has of the commits of a run.
    fn kept_commits(&mut self, run: &str) -> Result<KeptCommits, Trouble>;
    /// Facts about the database, and about its use in this mode.
    fn database_facts(&self, mode: Mode) -> Facts;
    /// Its settings, as they are now.
    fn read_settings(&mut self) -> Result<Settings, Trouble>;
    /// The settings that its connections were found with since the sessions of the run were opened, each different set
    /// once; empty if nobody else can change them.
    fn settings_seen(&self) -> Vec<Settings> {
        Vec::new()
    }
    /// The sums that transactions raise.
    fn read_totals(&mut self) -> Result<Totals, Trouble>;
    /// Makes sure that no other Assay can work with it, and says whether one could at some time. An error that refuses
    /// says that one has.
    fn hold_guard(&mut self) -> Result<Guarded, Trouble> {
        Ok(Guarded::Always)
    }
    /// Opens the database anew by its name, for everything that is asked after a run, and makes sure that what the
    /// sessions have written is what the name leads to. An error of the kind `Damaged` says that it is not there.
    fn find_again(&mut self) -> Result<(), Trouble>;
    /// The identity of a file, which differs from that of another one that gets its name; `None` if the database is not a file.
    fn file_identity(&self) -> Option<String> {
        None
    }
    /// Checks all conditions, and returns where one does not hold.
    fn check_conditions(&mut self) -> Result<Vec<Violation>, Trouble>;
    /// Its size in bytes, if it is known.
    fn size_bytes(&mut self) -> Option<u64>;
    /// The start of its server; `None` if there is no server.
    fn server_life(&mut self) -> Result<Option<ServerStart>, Trouble> {
        Ok(None)
    }
    /// The present values of its server's counters; empty if there is no server.
    fn server_counters(&mut self) -> Result<Counters, Trouble> {
        Ok(Counters::new())
    }
    /// Bytes of data that its server can keep in its own memory; `None` if there is no server.
    fn server_memory(&self) -> Option<u64> {
        None
    }
    /// A reader of its server's counters during the run; `None` if there is no server.
    fn server_meter(&mut self) -> Result<Option<Box<dyn Reading>>, Trouble> {
        Ok(None)
    }
    /// Its files or directories on this machine, each with its content: `data` or `log`.
    fn storage_places(&self) -> Vec<(PathBuf, &'static str)>;
}

/// Since when another Assay is kept out of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarded {
    /// Since it was opened.
    Always,
    /// Again, after the connection that keeps others out was lost. What is loaded is the same as before.
    Again,
}

/// Facts about a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// `sqlite` …
    pub dialect: &'static str,
    /// Version of its program.
    pub version: String,
    /// The way in which a transaction is sent to it.
    pub mode: &'static str,
    /// The isolation of its transactions from each other.
    pub isolation: &'static str,
}

/// Settings that determine what a commit guarantees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// All settings by name.
    pub named: BTreeMap<String, String>,
    /// The reasons why an acknowledged commit may be lost; empty if it cannot be.
    pub not_durable: Vec<String>,
}

/// Values of a server's counters, by name.
pub(super) type Counters = Vec<(&'static str, u64)>;

/// The start of a server, to be compared before and after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerStart {
    /// A text that differs after each start of the server.
    pub started: String,
    /// A text that differs after each start that was not preceded by an orderly stop. `None` if the server does not
    /// report that.
    pub recovered: Option<String>,
}

/// Makes sure that a database holds the same load as before a run.
pub(super) fn is_the_load(before: &Marker, now: &Marker, shown: &str) -> Result<(), Trouble> {
    if before.run == now.run {
        return Ok(());
    }
    Err(Trouble::damaged_database(format!(
        "{shown} holds another load than when the run began: what it committed is not there"
    )))
}
