//! The settings of a database that decide what a commit means, as SQLite itself reports them.

use super::definitions::Definitions;
use crate::trouble::Trouble;
use crate::url::{Journal, SqliteUrl, Synchronous};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// File systems in memory (linux/magic.h).
const TMPFS: i64 = 0x0102_1994;
const RAMFS: i64 = 0x8584_58f6;

/// How long a connection that is being opened waits for a file that others use.
pub(super) const BUSY: Duration = Duration::from_secs(5);

/// The settings that a connection makes; the others stay as they are in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct WantedSettings {
    journal_mode: Option<Journal>,
    synchronous: Option<Synchronous>,
}

impl WantedSettings {
    /// The settings of a load or a run: the ones of the URL, and what makes a commit durable where it names none.
    pub(super) fn to_write(url: &SqliteUrl) -> WantedSettings {
        WantedSettings { journal_mode: Some(url.journal_mode()), synchronous: Some(url.synchronous_mode()) }
    }

    /// Those of a connection like the ones of a run, for which nothing is written: the journal is a property of the file.
    pub(super) fn without_journal(url: &SqliteUrl) -> WantedSettings {
        WantedSettings { journal_mode: None, synchronous: Some(url.synchronous_mode()) }
    }

    /// The settings of a check: only the ones that the URL names. The journal is a property of the file, which stays as
    /// its owner keeps it.
    pub(super) fn to_read(url: &SqliteUrl) -> WantedSettings {
        WantedSettings { journal_mode: url.journal_mode, synchronous: url.synchronous }
    }
}

/// The settings that a connection works with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How transactions are made whole.
    pub journal_mode: String,
    /// The setting for waiting for writes.
    pub synchronous: String,
    /// The size of a page in bytes.
    pub page_size: i64,
    /// The cache of a connection: pages, or KiB where negative.
    pub cache_size: i64,
    /// After how many pages the log is copied into the file.
    pub wal_autocheckpoint: i64,
    /// The version of SQLite.
    pub version: String,
    /// Whether the file is in memory.
    pub in_memory: bool,
    /// One number for the definitions of our tables, their indexes, and what others have put on them.
    pub definitions: u64,
    /// How often any definition in the file was changed: it shows also what was changed back.
    pub schema_version: i64,
}

impl Settings {
    /// Makes settings and reads all of them back.
    pub(super) fn apply_settings(
        sqlite: &rusqlite::Connection,
        wanted: WantedSettings,
        descriptor: &OwnedFd,
    ) -> rusqlite::Result<Settings> {
        // Turning on the log needs the file for itself, while other connections of this run may be opening it.
        sqlite.busy_timeout(BUSY)?;
        if let Some(journal) = wanted.journal_mode {
            sqlite.pragma_update_and_check(None, "journal_mode", journal.word(), |_| Ok(()))?;
        }
        if let Some(synchronous) = wanted.synchronous {
            sqlite.pragma_update(None, "synchronous", synchronous.word())?;
        }
        // From here on a transaction that finds the database in use is tried again by us, so that it is counted.
        sqlite.busy_timeout(Duration::ZERO)?;
        Settings::read_settings(sqlite, descriptor)
    }

    /// Reads all settings as they are.
    pub(super) fn read_settings(sqlite: &rusqlite::Connection, descriptor: &OwnedFd) -> rusqlite::Result<Settings> {
        let number = |name: &str| sqlite.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        Ok(Settings {
            journal_mode: sqlite.pragma_query_value(None, "journal_mode", |row| row.get(0))?,
            synchronous: synchronous_word(number("synchronous")?),
            page_size: number("page_size")?,
            cache_size: number("cache_size")?,
            wal_autocheckpoint: number("wal_autocheckpoint")?,
            version: rusqlite::version().to_owned(),
            in_memory: in_memory(descriptor),
            definitions: Definitions::read_definitions(sqlite)?.definitions_checksum(),
            schema_version: number("schema_version")?,
        })
    }

    /// Refuses a connection whose settings are not those that are wanted.
    pub(super) fn are_as_asked(&self, wanted: WantedSettings, at: &str) -> Result<(), Trouble> {
        let pairs = [
            ("journal_mode", wanted.journal_mode.map(Journal::word), &self.journal_mode),
            ("synchronous", wanted.synchronous.map(Synchronous::word), &self.synchronous),
        ];
        for (name, asked, is) in pairs {
            if let Some(asked) = asked.filter(|asked| asked != is) {
                return Err(Trouble::host_unable(format!(
                    "{at}: {name} stays {is}, and {asked} is asked for: write ?{name}={is}"
                )));
            }
        }
        Ok(())
    }

    /// All of them by name.
    pub fn values_by_name(&self) -> BTreeMap<String, String> {
        let Settings { journal_mode, synchronous, page_size, cache_size, wal_autocheckpoint, in_memory, .. } = self;
        let Settings { definitions, schema_version, .. } = self;
        let named = [
            ("journal_mode", journal_mode.clone()),
            ("synchronous", synchronous.clone()),
            ("page_size", page_size.to_string()),
            ("cache_size", cache_size.to_string()),
            ("wal_autocheckpoint", wal_autocheckpoint.to_string()),
            ("file system in memory", if *in_memory { "yes" } else { "no" }.to_owned()),
            ("definitions", definitions.to_string()),
            ("schema_version", schema_version.to_string()),
        ];
        named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Why a commit that was acknowledged may be lost when the machine loses power; empty if it may not.
    pub fn not_durable(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        let waits = [Synchronous::Full.word(), Synchronous::Extra.word()].contains(&self.synchronous.as_str());
        if !waits {
            reasons.push(format!("synchronous={}", self.synchronous));
        }
        if [Journal::Memory.word(), Journal::Off.word()].contains(&self.journal_mode.as_str()) {
            reasons.push(format!("journal_mode={}", self.journal_mode));
        }
        // SQLite removes this journal to commit, and makes that durable only with `extra` (sqlite.org/pragma.html).
        let pair = [Journal::Delete.word(), Synchronous::Full.word()];
        if pair == [self.journal_mode.as_str(), self.synchronous.as_str()] {
            reasons.push("journal_mode=delete with synchronous=full instead of extra".to_owned());
        }
        if self.in_memory {
            reasons.push("the file is on a file system in memory".to_owned());
        }
        reasons
    }
}

fn synchronous_word(number: i64) -> String {
    let word = usize::try_from(number).ok().and_then(|at| Synchronous::WORDS.get(at));
    word.map_or_else(|| number.to_string(), |word| (*word).to_owned())
}

fn in_memory(descriptor: &OwnedFd) -> bool {
    rustix::fs::fstatfs(descriptor).is_ok_and(|facts| [TMPFS, RAMFS].contains(&facts.f_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(journal_mode: &str, synchronous: &str, in_memory: bool) -> Settings {
        Settings {
            journal_mode: journal_mode.into(),
            synchronous: synchronous.into(),
            page_size: 4096,
            cache_size: -2000,
            wal_autocheckpoint: 1000,
            version: String::new(),
            in_memory,
            definitions: 0,
            schema_version: 0,
        }
    }

    #[test]
    fn weak_settings_are_named() {
        for (journal_mode, synchronous, in_memory, reasons) in [
            ("wal", "full", false, vec![]),
            ("delete", "extra", false, vec![]),
            ("truncate", "full", false, vec![]),
            ("delete", "full", false, vec!["journal_mode=delete with synchronous=full instead of extra"]),
            ("wal", "normal", false, vec!["synchronous=normal"]),
            ("off", "off", false, vec!["synchronous=off", "journal_mode=off"]),
            ("memory", "full", false, vec!["journal_mode=memory"]),
            ("wal", "full", true, vec!["the file is on a file system in memory"]),
        ] {
            assert_eq!(settings(journal_mode, synchronous, in_memory).not_durable(), reasons);
        }
    }

    #[test]
    fn a_setting_that_the_database_did_not_take_is_an_error() {
        let url = SqliteUrl::new(std::path::Path::new("x"));
        assert_eq!(settings("wal", "full", false).are_as_asked(WantedSettings::to_write(&url), "x"), Ok(()));
        assert_eq!(settings("delete", "normal", false).are_as_asked(WantedSettings::to_read(&url), "x"), Ok(()));
        let trouble =
            settings("delete", "full", false).are_as_asked(WantedSettings::to_write(&url), "shop.db").unwrap_err();
        assert_eq!(
            trouble.to_string(),
            "shop.db: journal_mode stays delete, and wal is asked for: write ?journal_mode=delete"
        );
        assert_eq!([0, 1, 2, 3, 4].map(synchronous_word), ["off", "normal", "full", "extra", "4"]);
    }
}
