//! The settings of a server that decide what a commit means, read in the session itself.

use super::catalogue;
use super::failed::Failed;
use super::link::Link;
use super::local::Directories;
use super::schema::text_literal;
use crate::trouble::Trouble;
use std::collections::BTreeMap;

/// The names of the settings that are read, as far as the version knows them.
const NAMES: [&str; 32] = [
    "autocommit",
    "binlog_format",
    "binlog_row_image",
    "datadir",
    "debug_no_sync",
    "innodb_buffer_pool_size",
    "innodb_data_file_path",
    "innodb_doublewrite",
    "innodb_flush_log_at_timeout",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_lock_wait_timeout",
    "innodb_log_buffer_size",
    "innodb_log_file_size",
    "innodb_log_group_home_dir",
    "innodb_page_size",
    "innodb_rollback_on_timeout",
    "innodb_snapshot_isolation",
    "innodb_use_native_aio",
    "local_infile",
    "log_bin",
    "log_bin_basename",
    "max_allowed_packet",
    "max_statement_time",
    "sync_binlog",
    "transaction_isolation",
    "tx_isolation",
    "version",
    "version_comment",
    "wsrep_on",
];

/// The settings that a session works with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The settings of the server, as it writes them.
    pub values: BTreeMap<String, String>,
    /// Tables of the workload that are not InnoDB's, each with its engine: a crash may take their rows.
    pub other_engines: Vec<String>,
    /// The server's directories, if it is on this host and was reached by its socket.
    pub directories: Option<Directories>,
    /// The directory of them that is in memory.
    pub in_memory: Option<String>,
}

impl Settings {
    pub(super) fn read_settings(link: &mut Link, database: &str) -> Result<Settings, Failed> {
        let names: Vec<String> = NAMES.map(text_literal).into();
        let sql = format!(
            "SHOW SESSION VARIABLES WHERE Variable_name IN ({}); \
             SELECT table_name, coalesce(engine, 'none') FROM information_schema.tables \
             WHERE table_schema = BINARY {} AND table_name IN ({}) AND coalesce(engine, 'none') <> 'InnoDB' ORDER BY 1; {}",
            names.join(", "),
            text_literal(database),
            super::schema::table_names().map(text_literal).collect::<Vec<_>>().join(", "),
            catalogue::catalogue_checksum_query(database)
        );
        let answers = link.query_text(&sql)?;
        let [values, engines, definitions] = answers.as_slice() else { return Ok(Settings::default()) };
        let mut settings = Settings::default();
        for row in &values.rows {
            settings.values.insert(row.text_at(0)?.to_owned(), row.text_at(1)?.to_owned());
        }
        for row in &engines.rows {
            settings.other_engines.push(format!("{} ({})", row.text_at(0)?, row.text_at(1)?));
        }
        // A database in which nothing is yet has no number.
        if let Some(number) = definitions.only_row().and_then(|row| row.text_at(0).ok()) {
            settings.values.insert("definitions".to_owned(), number.to_owned());
        }
        let [data, log, binary_log] = ["datadir", "innodb_log_group_home_dir", "log_bin_basename"]
            .map(|name| settings.values.get(name).map_or("", String::as_str));
        settings.directories =
            link.peer_process().and_then(|peer| Directories::find_directories(peer, database, data, log, binary_log));
        let in_memory = settings.directories.as_ref().and_then(Directories::in_memory);
        settings.in_memory = in_memory.map(|path| path.display().to_string());
        Ok(settings)
    }

    /// A setting, or nothing where the version does not have it.
    pub fn setting_value(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    /// Refuses a session that does not see what the transactions need.
    pub(super) fn are_as_needed(&self, at: &str) -> Result<(), Trouble> {
        let isolation = [self.setting_value("transaction_isolation"), self.setting_value("tx_isolation")];
        match isolation.into_iter().find(|level| !level.is_empty()) {
            Some("READ-COMMITTED") if self.setting_value("autocommit") == "ON" => Ok(()),
            other => Err(Trouble::host_unable(format!(
                "{at}: the isolation of transactions stays {:?} with autocommit {:?}, not READ-COMMITTED with ON",
                other.unwrap_or_default(),
                self.setting_value("autocommit")
            ))),
        }
    }

    /// Why a commit that was acknowledged may be lost when the server's host loses power; empty if it may not.
    pub fn not_durable(&self) -> Vec<String> {
        let weak = |name: &str, values: &[&str]| {
            values.contains(&self.setting_value(name)).then(|| format!("{name}={}", self.setting_value(name)))
        };
        let mut reasons: Vec<String> = [
            weak("innodb_flush_log_at_trx_commit", &["0", "2"]),
            weak("innodb_doublewrite", &["OFF", "0"]),
            weak("innodb_flush_method", &["nosync", "littlesync"]),
            weak("debug_no_sync", &["ON"]),
        ]
        .into_iter()
        .flatten()
        .collect();
        // After a crash a transaction is kept if the binary log has it, so that this log counts.
        if self.setting_value("log_bin") == "ON" && self.setting_value("sync_binlog") != "1" {
            reasons.push(format!("sync_binlog={} with a binary log", self.setting_value("sync_binlog")));
        }
        if !self.other_engines.is_empty() {
            reasons.push(format!("tables that are not InnoDB's: {}", self.other_engines.join(", ")));
        }
        if let Some(path) = &self.in_memory {
            reasons.push(format!("{path} is on a file system in memory"));
        }
        reasons
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(values: &[(&str, &str)]) -> Settings {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Settings { values, ..Settings::default() }
    }

    const STRONG: [(&str, &str); 4] = [
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_doublewrite", "ON"),
        ("log_bin", "OFF"),
        ("sync_binlog", "0"),
    ];

    #[test]
    fn weak_settings_are_named() {
        assert_eq!(settings(&STRONG).not_durable(), Vec::<String>::new());
        for (name, value, says) in [
            ("innodb_flush_log_at_trx_commit", "0", "innodb_flush_log_at_trx_commit=0"),
            ("innodb_flush_log_at_trx_commit", "2", "innodb_flush_log_at_trx_commit=2"),
            ("innodb_doublewrite", "OFF", "innodb_doublewrite=OFF"),
            ("innodb_flush_method", "nosync", "innodb_flush_method=nosync"),
            ("debug_no_sync", "ON", "debug_no_sync=ON"),
            ("log_bin", "ON", "sync_binlog=0 with a binary log"),
        ] {
            let weak: Vec<_> = STRONG.into_iter().filter(|(of, _)| *of != name).chain([(name, value)]).collect();
            assert_eq!(settings(&weak).not_durable(), [says]);
        }
        let synced = [("log_bin", "ON"), ("sync_binlog", "1"), ("innodb_flush_log_at_trx_commit", "3")];
        assert_eq!(settings(&synced).not_durable(), Vec::<String>::new());
        let other = Settings { other_engines: vec!["stock (Aria)".into()], ..settings(&STRONG) };
        assert_eq!(other.not_durable(), ["tables that are not InnoDB's: stock (Aria)"]);
        let in_memory = Settings { in_memory: Some("/dev/shm/db".into()), ..settings(&STRONG) };
        assert_eq!(in_memory.not_durable(), ["/dev/shm/db is on a file system in memory"]);
    }

    #[test]
    fn another_isolation_is_an_error() {
        for (name, value, is_right) in [
            ("tx_isolation", "READ-COMMITTED", true),
            ("transaction_isolation", "READ-COMMITTED", true),
            ("tx_isolation", "REPEATABLE-READ", false),
        ] {
            assert_eq!(settings(&[(name, value), ("autocommit", "ON")]).are_as_needed("x").is_ok(), is_right);
        }
        assert!(settings(&[("tx_isolation", "READ-COMMITTED"), ("autocommit", "OFF")]).are_as_needed("x").is_err());
    }
}
