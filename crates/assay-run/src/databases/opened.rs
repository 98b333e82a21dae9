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
    /// Makes sure that no other Assay can work with it, and says whether one could at some time. An error that refuses
    /// says that one has.
    fn guard(&mut self) -> Result<Guarded, Trouble> {
        Ok(Guarded::Always)
    }
    /// Where a condition does not hold.
    fn check(&mut self) -> Result<Vec<Violation>, Trouble>;
    /// Its size in bytes, where it is known.
    fn bytes(&mut self) -> Option<u64>;
    /// What its server counts by itself; nothing where there is no server.
    fn meter(&mut self) -> Result<Option<Box<dyn Reading>>, Trouble> {
        Ok(None)
    }
    /// Its files or directories on this machine, each with what is in it: `data`, `log`.
    fn places(&self) -> Vec<(PathBuf, &'static str)>;
}

/// Since when another Assay is kept out of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarded {
    /// Since it was opened.
    Always,
    /// Again, after the connection that keeps others out was lost. What is loaded is the same as before.
    Again,
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
