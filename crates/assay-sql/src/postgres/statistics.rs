//! What the server counts of its own log and checkpoints, for the view of the storage under it.

use super::connection::Connection;
use super::link::Answer;
use crate::trouble::Trouble;

/// From these versions on, counters are elsewhere.
const CHECKPOINTER: i64 = 170_000;
const WAL_IN_IO: i64 = 180_000;
/// `pg_stat_wal` exists from this version on.
const WAL: i64 = 140_000;

/// Counters since some moment of the server's own; what happened in between is the difference of two.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Bytes of the log.
    pub log_bytes: i64,
    /// How often the log was synchronised, where the server counts that: from version 14 on, and not with a
    /// `wal_sync_method` by which each write of the log is durable by itself (open_datasync, open_sync).
    pub log_syncs: Option<i64>,
    /// The time that took, in microseconds: 0 unless `track_wal_io_timing` is on.
    pub log_sync_us: i64,
    /// Checkpoints that were due or asked for.
    pub checkpoints: i64,
    /// Transactions that were committed in this database.
    pub commits: i64,
    /// The size of the database in bytes.
    pub bytes: i64,
}

/// The query for the log's counters, and that for checkpoints, of a version.
fn counter_queries(version: i64) -> [&'static str; 3] {
    let log = match version {
        WAL_IN_IO.. => {
            "SELECT (SELECT wal_bytes::bigint FROM pg_stat_wal), coalesce(sum(fsyncs), 0)::bigint, \
             (coalesce(sum(fsync_time), 0) * 1000)::bigint FROM pg_stat_io WHERE object = 'wal'"
        }
        WAL.. => "SELECT wal_bytes::bigint, wal_sync, (wal_sync_time * 1000)::bigint FROM pg_stat_wal",
        _ => "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint, 0, 0",
    };
    let checkpoints = match version {
        CHECKPOINTER.. => "SELECT num_timed + num_requested FROM pg_stat_checkpointer",
        _ => "SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter",
    };
    let database =
        "SELECT xact_commit, pg_database_size(datid) FROM pg_stat_database WHERE datname = current_database()";
    [log, checkpoints, database]
}

impl Statistics {
    /// Reads the counters. The server publishes those of a session with a delay of up to a second.
    pub fn read_counters(connection: &mut Connection) -> Result<Statistics, Trouble> {
        let sql = counter_queries(connection.session_settings().version_number()).join("; ");
        let answers = connection.ask_server(&sql)?;
        let settings = connection.session_settings();
        let counts =
            settings.version_number() >= WAL && !settings.setting_value("wal_sync_method").starts_with("open_");
        Ok(Statistics {
            log_bytes: number_at(&answers, 0, 0),
            log_syncs: counts.then(|| number_at(&answers, 0, 1)),
            log_sync_us: number_at(&answers, 0, 2),
            checkpoints: number_at(&answers, 1, 0),
            commits: number_at(&answers, 2, 0),
            bytes: number_at(&answers, 2, 1),
        })
    }
}

/// Whether the server counts the time of its syncs of the log. Without that it says 0.
pub fn times_log_syncs(connection: &mut Connection) -> Result<bool, Trouble> {
    let answers = connection.ask_server("SELECT coalesce(current_setting('track_wal_io_timing', true), 'off')")?;
    let row = answers.first().and_then(|answer| answer.only_row());
    Ok(row.and_then(|row| row.text_at(0).ok()).is_some_and(|setting| setting == "on"))
}

/// Since when the server is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    /// The moment at which its first process was started.
    pub started: String,
    /// When its counters began: also whenever it has to recover, because it was not stopped in order
    /// (<https://www.postgresql.org/docs/current/monitoring-stats.html>: "starting from an unclean shutdown").
    pub recovered: String,
}

impl Life {
    /// Asks the server.
    pub fn read_life(connection: &mut Connection) -> Result<Life, Trouble> {
        let sql = "SELECT pg_postmaster_start_time()::text, coalesce(stats_reset::text, '') FROM pg_stat_bgwriter";
        let answers = connection.ask_server(sql)?;
        let row = answers.first().and_then(|answer| answer.only_row());
        let [started, recovered] = [0, 1].map(|column| row.and_then(|row| row.text_at(column).ok()).map(str::to_owned));
        let (started, recovered) = started.zip(recovered).ok_or_else(|| {
            Trouble::host_unable(format!("{} does not say since when it is there", connection.display_name()))
        })?;
        Ok(Life { started, recovered })
    }
}

/// A number of the only row of an answer; zero if it is not there.
fn number_at(answers: &[Answer], answer: usize, column: usize) -> i64 {
    let row = answers.get(answer).and_then(|answer| answer.only_row());
    row.and_then(|row| row.text_number_at(column).ok()).unwrap_or(0)
}
