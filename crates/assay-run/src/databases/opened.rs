//! What a run asks of a database, whatever its kind.

use crate::meter::Reading;
use assay_model::tpcc::checks::Violation;
use assay_model::tpcc::load::Mode;
use assay_sql::{Execute, Kept, Totals, Trouble};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;

/// A database that the gate has let through, and that is loaded in full.
pub trait Opened: Debug + Send {
    /// Opens so many sessions, each with the settings of the URL made and read back.
    fn sessions(&mut self, count: u32, mode: Mode) -> Result<Vec<Box<dyn Execute>>, Trouble>;
    /// Makes a row for each session of a run, whose name no other run has, and waits until the rows are durable.
    fn mark(&mut self, run: &str, sessions: u32) -> Result<(), Trouble>;
    /// The same as [`Opened::sessions`], as the sessions of a run that set their rows.
    fn marked_sessions(&mut self, count: u32, mode: Mode, run: &str) -> Result<Vec<Box<dyn Execute>>, Trouble>;
    /// What it has kept of the commits of a run.
    fn kept(&mut self, run: &str) -> Result<Kept, Trouble>;
    /// What it is, and how it is used in this mode.
    fn facts(&self, mode: Mode) -> Facts;
    /// Its settings, as they are now.
    fn settings(&mut self) -> Result<Settings, Trouble>;
    /// The sums that transactions raise.
    fn totals(&mut self) -> Result<Totals, Trouble>;
    /// Where a condition does not hold.
    fn check(&mut self) -> Result<Vec<Violation>, Trouble>;
    /// Its size in bytes, where it is known.
    fn bytes(&mut self) -> Option<u64>;
    /// When its server began; nothing where there is no server.
    fn life(&mut self) -> Result<Option<Life>, Trouble> {
        Ok(None)
    }
    /// What its server has counted so far; nothing where there is no server.
    fn counters(&mut self) -> Result<Counters, Trouble> {
        Ok(Counters::new())
    }
    /// How much of the data its server keeps in memory by itself, where there is a server.
    fn memory(&self) -> Option<u64> {
        None
    }
    /// What its server counts by itself, read again and again; nothing where there is no server.
    fn meter(&mut self) -> Result<Option<Box<dyn Reading>>, Trouble> {
        Ok(None)
    }
    /// Its files or directories on this machine, each with what is in it: `data`, `log`.
    fn places(&self) -> Vec<(PathBuf, &'static str)>;
}

/// What a database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// `sqlite` …
    pub dialect: &'static str,
    /// Version of its program.
    pub version: String,
    /// How a transaction is sent to it.
    pub mode: &'static str,
    /// How its transactions are kept apart.
    pub isolation: &'static str,
}

/// Settings that decide what a commit means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// All of them by name.
    pub named: BTreeMap<String, String>,
    /// Why a commit that was acknowledged may be lost; empty if it may not.
    pub not_durable: Vec<String>,
}

/// What a server has counted, by name.
pub(super) type Counters = Vec<(&'static str, u64)>;

/// Since when a server is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    /// Another one after each start of the server.
    pub started: String,
    /// Another one whenever the server begins again without having been stopped in order. None if it does not say.
    pub recovered: Option<String>,
}
