//! What the server counts of its own log, for the view of the storage under it.

use super::connection::Connection;
use super::schema::text_literal;
use crate::trouble::Trouble;
use std::collections::BTreeMap;

/// The names of the server's counters. That of the log's syncs is missing from version 10.8 on.
const NAMES: [&str; 5] =
    ["Innodb_os_log_written", "Innodb_os_log_fsyncs", "Innodb_log_writes", "Com_commit", "Innodb_lsn_last_checkpoint"];

/// Counters since the start of the server; what happened in between is the difference of two.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Bytes of InnoDB's log.
    pub log_bytes: u64,
    /// How often the log was written to.
    pub log_writes: u64,
    /// How often the log was synchronised, where the version counts that.
    pub log_syncs: Option<u64>,
    /// Up to which byte of the log a checkpoint has written everything to the tables. Checkpoints themselves are not
    /// counted by the server, nor is the time that a sync takes.
    pub checkpoint_bytes: Option<u64>,
    /// COMMIT statements, also those of procedures, of all databases.
    pub commits: u64,
}

impl Statistics {
    /// Reads the counters.
    pub fn read_counters(connection: &mut Connection) -> Result<Statistics, Trouble> {
        let names: Vec<String> = NAMES.map(text_literal).into();
        let sql = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", names.join(", "));
        let answers = connection.ask_server(&sql)?;
        let rows = answers.iter().flat_map(|answer| &answer.rows);
        let values: BTreeMap<&str, u64> =
            rows.filter_map(|row| Some((row.text_at(0).ok()?, row.text_at(1).ok()?.parse().ok()?))).collect();
        Ok(Statistics {
            log_bytes: values.get("Innodb_os_log_written").copied().unwrap_or(0),
            log_writes: values.get("Innodb_log_writes").copied().unwrap_or(0),
            log_syncs: values.get("Innodb_os_log_fsyncs").copied(),
            checkpoint_bytes: values.get("Innodb_lsn_last_checkpoint").copied(),
            commits: values.get("Com_commit").copied().unwrap_or(0),
        })
    }

    /// The size of the database in bytes: that of its files, where the user may see it.
    pub fn database_bytes(connection: &mut Connection) -> Result<u64, Trouble> {
        let database = text_literal(connection.database_name());
        let sql = format!(
            "SELECT CAST(coalesce(sum(data_length + index_length + data_free), 0) AS signed) \
             FROM information_schema.tables WHERE table_schema = BINARY {database}"
        );
        let answers = connection.ask_server(&sql)?;
        let row = answers.first().and_then(|answer| answer.only_row());
        Ok(row.and_then(|row| row.bigint_at(0).ok()).and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0))
    }
}

/// The moment at which the server was started, by its own clock, in seconds.
pub fn server_start(connection: &mut Connection) -> Result<String, Trouble> {
    // The server computes its uptime from the time at which the question began.
    let sql = "SELECT CAST(unix_timestamp() - variable_value AS signed) FROM information_schema.global_status \
               WHERE variable_name = 'UPTIME'";
    let answers = connection.ask_server(sql)?;
    let row = answers.first().and_then(|answer| answer.only_row());
    let started = row.and_then(|row| row.text_at(0).ok().map(str::to_owned));
    started.ok_or_else(|| {
        Trouble::host_unable(format!("{} does not say since when it is there", connection.display_name()))
    })
}
