//! What a log says about a database that is its target: facts by name, which nothing here interprets.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A database, as it was when the run began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseHead {
    /// `sqlite`, `postgresql`, `mariadb` …
    pub dialect: String,
    /// Version of the database's program.
    pub version: String,
    /// Its URL, without anything that must stay secret.
    pub url: String,
    /// Warehouses that are loaded.
    pub warehouses: u64,
    /// The seed of what is loaded.
    pub seed: u64,
    /// The name of the load, by which two loads with one seed are told apart.
    pub load: String,
    /// Its size in bytes, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Sums over the database, before the run, of the columns that transactions raise. `None` in logs of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sums: Option<DatabaseSums>,
    /// The constants of the random selection, by name: those of the load and those of this run.
    pub constants: BTreeMap<String, i64>,
    /// How a transaction is sent: `procedures` or `client`.
    pub mode: String,
    /// The isolation level of the transactions, in the database's own words.
    pub isolation: String,
    /// The settings that decide what a commit means, as the sessions read them.
    pub settings: BTreeMap<String, String>,
    /// Why a commit that was acknowledged may be lost; empty where it may not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_durable: Vec<String>,
    /// The names of the points in which the workload deviates from the standard that it is derived from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<String>,
    /// The name of the run in the database, which its ledger of commits has too; absent where it keeps no ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<String>,
    /// Whether the user asked that nothing is checked after the run (`--no-check`). Without that, a run that ended
    /// without a check proves nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchecked: bool,
}

/// Sums over a whole database, which transactions only raise: what is there less has been lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseSums {
    /// The sum of D_NEXT_O_ID, which each accepted new order raises by one.
    pub next_orders: i64,
    /// The sum of C_PAYMENT_CNT, which each payment raises by one.
    pub payments: i64,
    /// The sum of W_YTD in cents.
    pub ytd: i64,
}

/// A figure per minute: the completed operations of some streams, less those that were counted under some names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerMinute {
    /// Its name: `NOPM`.
    pub name: String,
    /// Names of the streams whose completed operations count.
    pub streams: Vec<String>,
    /// Names under which operations were counted that do not (`FlowInterval::counted`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
}
