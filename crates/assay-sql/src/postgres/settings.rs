//! The settings of a server that decide what a commit means, read in the session itself: a role can carry others than the
//! server has.

use super::catalogue;
use super::link::{Failed, Link};
use super::local::Directories;
use super::schema::text_literal;
use crate::trouble::Trouble;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The names of the settings that are read, as far as the version knows them.
const NAMES: [&str; 22] = [
    "autovacuum",
    "checkpoint_completion_target",
    "checkpoint_timeout",
    "commit_delay",
    "data_directory",
    "default_transaction_isolation",
    "default_transaction_read_only",
    "effective_io_concurrency",
    "fsync",
    "full_page_writes",
    "io_method",
    "lock_timeout",
    "max_wal_size",
    "server_version",
    "server_version_num",
    "shared_buffers",
    "statement_timeout",
    "synchronous_commit",
    "synchronous_standby_names",
    "wal_level",
    "wal_sync_method",
    "wal_writer_delay",
];

/// The settings that a session works with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The settings of the server, as it writes them.
    pub values: BTreeMap<String, String>,
    /// Tables of the workload that are not in the log, so that a crash empties them.
    pub unlogged: Vec<String>,
    /// The server's directories, if it is on this host.
    pub directories: Option<Directories>,
    /// The directory of them that is in memory.
    pub in_memory: Option<String>,
}

impl Settings {
    pub(super) fn read_settings(link: &mut Link, schema: &str) -> Result<Settings, Failed> {
        let names: Vec<String> = NAMES.map(text_literal).into();
        let sql = format!(
            "SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({}); \
             SELECT relname FROM pg_class WHERE relpersistence = 'u' AND relkind = 'r' \
             AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = {schema}) ORDER BY 1; \
             SELECT system_identifier FROM pg_control_system() \
             WHERE has_function_privilege('pg_control_system()', 'EXECUTE'); \
             SELECT pg_tablespace_location(oid) FROM pg_tablespace WHERE pg_tablespace_location(oid) <> '' \
             AND (oid IN (SELECT reltablespace FROM pg_class WHERE relnamespace = \
             (SELECT oid FROM pg_namespace WHERE nspname = {schema})) \
             OR oid = (SELECT dattablespace FROM pg_database WHERE datname = current_database())) ORDER BY 1; {}",
            names.join(", "),
            catalogue::catalogue_checksum_query(schema),
            schema = text_literal(schema)
        );
        let answers = link.query_text(&sql)?;
        let [values, unlogged, cluster, tablespaces, definitions] = answers.as_slice() else {
            return Ok(Settings::default());
        };
        let mut settings = Settings::default();
        for row in &values.rows {
            settings.values.insert(row.text_at(0)?.to_owned(), row.text_at(1)?.to_owned());
        }
        // A schema in which nothing is yet has no number.
        if let Some(number) = definitions.only_row().and_then(|row| row.text_at(0).ok()) {
            settings.values.insert("definitions".to_owned(), number.to_owned());
        }
        for row in &unlogged.rows {
            settings.unlogged.push(row.text_at(0)?.to_owned());
        }
        // The number is written with a sign.
        let cluster = cluster.only_row().and_then(|row| row.text_number_at(0).ok()).map(|number| number as u64);
        let mut elsewhere = Vec::new();
        for row in &tablespaces.rows {
            elsewhere.push(PathBuf::from(row.text_at(0)?));
        }
        let data = settings.values.get("data_directory").zip(cluster);
        settings.directories =
            data.and_then(|(data, cluster)| Directories::find_directories(Path::new(data), cluster, elsewhere));
        let in_memory = settings.directories.as_ref().and_then(Directories::in_memory);
        settings.in_memory = in_memory.map(|path| path.display().to_string());
        Ok(settings)
    }

    /// A setting, or nothing where the version does not have it or the role may not see it.
    pub fn setting_value(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    /// The version of the server as a number: 150018 is 15.18.
    pub fn version_number(&self) -> i64 {
        self.setting_value("server_version_num").parse().unwrap_or(0)
    }

    /// The memory in which the server keeps pages of tables, in bytes: the server writes `128MB`.
    pub fn shared_buffers(&self) -> Option<u64> {
        let text = self.setting_value("shared_buffers");
        let (number, unit) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit())?);
        let shift = match unit {
            "kB" => 10,
            "MB" => 20,
            "GB" => 30,
            "TB" => 40,
            _ => return None,
        };
        number.parse::<u64>().ok()?.checked_mul(1 << shift)
    }

    /// Refuses a session that does not see what the transactions need.
    pub(super) fn are_as_needed(&self, at: &str) -> Result<(), Trouble> {
        match self.setting_value("default_transaction_isolation") {
            "read committed" => Ok(()),
            other => Err(Trouble::host_unable(format!(
                "{at}: the isolation of transactions stays {other:?}, not read committed"
            ))),
        }
    }

    /// Why a commit that was acknowledged may be lost when the server's host loses power; empty if it may not.
    pub fn not_durable(&self) -> Vec<String> {
        let off = ["fsync", "synchronous_commit", "full_page_writes"].into_iter();
        let mut reasons: Vec<String> =
            off.filter(|name| self.setting_value(name) == "off").map(|name| format!("{name}=off")).collect();
        if !self.unlogged.is_empty() {
            reasons.push(format!("unlogged tables: {}", self.unlogged.join(", ")));
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

    #[test]
    fn weak_settings_are_named() {
        let strong = [("fsync", "on"), ("synchronous_commit", "on"), ("full_page_writes", "on")];
        assert_eq!(settings(&strong).not_durable(), Vec::<String>::new());
        assert_eq!(settings(&[("synchronous_commit", "local")]).not_durable(), Vec::<String>::new());
        for (name, _) in strong {
            assert_eq!(settings(&[(name, "off")]).not_durable(), [format!("{name}=off")]);
        }
        let unlogged = Settings { unlogged: vec!["stock".into()], ..settings(&strong) };
        assert_eq!(unlogged.not_durable(), ["unlogged tables: stock"]);
        let in_memory = Settings { in_memory: Some("/dev/shm/pg".into()), ..settings(&strong) };
        assert_eq!(in_memory.not_durable(), ["/dev/shm/pg is on a file system in memory"]);
    }

    #[test]
    fn the_servers_own_memory_is_read_with_its_unit() {
        for (text, bytes) in [
            ("128MB", Some(128 << 20)),
            ("16kB", Some(16 << 10)),
            ("2GB", Some(2 << 30)),
            ("1TB", Some(1 << 40)),
            ("99999999999999999999TB", None),
            ("99999999999TB", None),
            ("128", None),
            ("MB", None),
            ("", None),
        ] {
            assert_eq!(settings(&[("shared_buffers", text)]).shared_buffers(), bytes, "{text}");
        }
    }

    #[test]
    fn another_isolation_is_an_error() {
        assert_eq!(settings(&[("default_transaction_isolation", "read committed")]).are_as_needed("x"), Ok(()));
        let trouble = settings(&[("default_transaction_isolation", "serializable")]).are_as_needed("x").unwrap_err();
        assert!(trouble.to_string().contains("stays \"serializable\""), "{trouble}");
    }
}
