//! The gate in front of a database: nothing is created, changed or deleted except through a [`Permit`], which only this
//! module makes.
//!
//! A database is used if it does not exist, is empty, or holds our marker. Databases of the server itself have no URL (see
//! `url`); servers that follow another one, or that only allow reading, are refused.

use super::failed::Failed;
use super::link::Link;
use super::schema::{table_prefix, text_literal};
use super::settings::Settings;
use crate::guard::{self, Guard};
use crate::seen::SeenSettings;
use crate::trouble::Trouble;
use crate::url::MysqlUrl;
use assay_base::text::one_line;

/// The oldest version that is supported.
const OLDEST: (u32, u32) = (10, 6);

/// The content of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatabaseContent {
    /// It does not exist.
    Nothing,
    /// It is empty, but perhaps for a marker that nothing was written into yet.
    Blank,
    /// It has a table of the marker's name.
    Marked,
}

/// A connection that holds the server's lock, and the name of the load that the database held when it was taken.
#[derive(Debug)]
struct Lock {
    link: Link,
    name: String,
    load: Option<String>,
}

impl guard::Lock for Lock {
    type Url = MysqlUrl;

    fn take_lock(url: &MysqlUrl) -> Result<Lock, Trouble> {
        let mut link = Link::open_connection(url)?;
        check_server(&mut link, url)?;
        let mut lock = take_lock(link, url)?;
        lock.load = find_load(&mut lock.link, url);
        Ok(lock)
    }

    fn is_held(&mut self) -> bool {
        let sql = format!("SELECT IS_USED_LOCK({}) = CONNECTION_ID()", self.name);
        if self.link.broken {
            return false;
        }
        let answers = self.link.query_text(&sql).unwrap_or_default();
        let row = answers.first().and_then(|answer| answer.only_row());
        row.is_some_and(|row| row.bigint_at(0).is_ok_and(|answer| answer == 1))
    }

    fn loaded_name(&self) -> Option<&str> {
        self.load.as_deref()
    }

    fn display_name(url: &MysqlUrl) -> String {
        displayed_database(url)
    }
}

impl Drop for Lock {
    /// Gives the lock back at once. The server would do so too, but only some time after the connection has ended, and
    /// the next command would find the database in use.
    fn drop(&mut self) {
        if !self.link.broken {
            let _ = self.link.run_statements("DO RELEASE_ALL_LOCKS()");
        }
    }
}

/// The right to change a database, for as long as it exists. Another Assay gets none meanwhile.
#[derive(Debug)]
pub struct Permit {
    guard: Guard<Lock>,
    seen: SeenSettings<Settings>,
    url: MysqlUrl,
    found: DatabaseContent,
}

impl Permit {
    /// For a load: the database may be missing or empty.
    pub fn to_load(url: &MysqlUrl) -> Result<Permit, Trouble> {
        let (lock, found) = lock_and_look(url)?;
        Ok(Permit { guard: Guard::of_anything(lock), seen: SeenSettings::default(), url: url.clone(), found })
    }

    /// For everything else: the database must be ours.
    pub fn to_use(url: &MysqlUrl) -> Result<Permit, Trouble> {
        let (lock, found) = lock_and_look(url)?;
        let lacks = match found {
            DatabaseContent::Nothing => "does not exist",
            DatabaseContent::Blank => "is empty",
            DatabaseContent::Marked => {
                return Ok(Permit {
                    guard: Guard::of_load(lock),
                    seen: SeenSettings::default(),
                    url: url.clone(),
                    found,
                });
            }
        };
        Err(Trouble::not_ready(format!("{} {lacks}: load it with assay prep", displayed_database(url))))
    }

    /// Makes sure that the lock is held which keeps another Assay out, and takes it again if its connection was lost.
    pub fn ensure_held(&self) -> Result<(), Trouble> {
        self.guard.ensure_held(&self.url)
    }

    /// Whether the lock was lost at some time. What was loaded when this permit was given is still there.
    pub fn was_lost(&self) -> bool {
        self.guard.was_lost()
    }

    /// The settings that the connections of this permit were found with since [`Permit::begin_run`], each different set
    /// once.
    pub fn settings_seen(&self) -> Vec<Settings> {
        self.seen.all_seen()
    }

    /// Begins a run, whose connections are opened after this.
    pub fn begin_run(&self) {
        self.seen.forget_all();
    }

    /// Keeps the settings that a connection was found with.
    pub(super) fn has_seen(&self, settings: &Settings) {
        self.seen.add_settings(settings);
    }

    /// See [`Guard::has_held`].
    pub(super) fn has_held(&self) -> Result<(), Trouble> {
        self.guard.has_held(&self.url)
    }

    /// The database, as it may be shown.
    pub(super) fn display_name(&self) -> String {
        displayed_database(&self.url)
    }
    /// The prefix of the names of tables.
    pub(super) fn table_prefix(&self) -> String {
        table_prefix(&self.url.database)
    }
    /// The content that was found.
    pub(super) fn found_content(&self) -> DatabaseContent {
        self.found
    }
}

/// A database as it may be shown.
pub(super) fn displayed_database(url: &MysqlUrl) -> String {
    one_line(url)
}

/// Translates the failure of a statement that is not part of a transaction of the load.
pub(super) fn to_trouble(url: &MysqlUrl, why: &Failed) -> Trouble {
    let at = displayed_database(url);
    let remedy = match why.error_code() {
        // A page or an index makes no sense.
        126 | 127 | 144 | 145 | 1034 | 1712 | 1877 | 1932 => {
            return Trouble::damaged_database(format!("{at} is damaged: {}", one_line(why)));
        }
        1044 | 1142 | 1143 | 1227 | 1370 => format!(": GRANT the user {} what is missing", url.user_name()),
        1021 | 1114 => ": make room where the server keeps its data".to_owned(),
        1290 | 1792 | 1836 => ": the server or the session only allows reading".to_owned(),
        _ => String::new(),
    };
    Trouble::host_unable(format!("{at}: {}{remedy}", one_line(why)))
}

/// The numbers that a version begins with.
fn leading_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|letter: char| !letter.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Refuses servers on which nothing is to be created.
fn check_server(link: &mut Link, url: &MysqlUrl) -> Result<(), Trouble> {
    let failed = |why: Failed| to_trouble(url, &why);
    let at = displayed_database(url);
    let answers = link.query_text("SELECT VERSION(), @@GLOBAL.read_only, @@GLOBAL.binlog_format, @@GLOBAL.log_bin");
    let answers = answers.map_err(failed)?;
    let row = answers
        .first()
        .and_then(|answer| answer.only_row())
        .ok_or_else(|| Trouble::host_unable("no version is known"))?;
    let text = |column| row.text_at(column).unwrap_or_default();
    if !text(0).contains("MariaDB") {
        let text =
            format!("{at}: the server is not MariaDB ({}), and this program has not been tested with it", text(0));
        return Err(Trouble::host_unable(text));
    }
    if leading_version(text(0)).is_none_or(|version| version < OLDEST) {
        return Err(Trouble::host_unable(format!(
            "{at}: the server is older than MariaDB 10.6, which is not supported"
        )));
    }
    if text(1) != "0" {
        return Err(Trouble::refused_for_safety(format!(
            "{at} is on a server that only allows reading (read_only): name another"
        )));
    }
    if (text(2), text(3)) == ("STATEMENT", "1") {
        return Err(Trouble::host_unable(format!(
            "{at}: a binary log of statements cannot hold these transactions: set binlog_format to MIXED or ROW"
        )));
    }
    if follows_another(link).map_err(failed)? {
        return Err(Trouble::refused_for_safety(format!(
            "{at} is on a replica, which follows another server: name that one"
        )));
    }
    Ok(())
}

/// Whether the server follows another one, also if it has paused: as far as the user may see that.
fn follows_another(link: &mut Link) -> Result<bool, Failed> {
    let runs = link.query_text("SHOW GLOBAL STATUS LIKE 'Slaves_running'")?;
    let runs = runs
        .first()
        .and_then(|answer| answer.only_row())
        .is_some_and(|row| row.bigint_at(1).is_ok_and(|count| count > 0));
    match link.query_text("SHOW ALL SLAVES STATUS") {
        Ok(answers) => Ok(runs || answers.iter().any(|answer| !answer.rows.is_empty())),
        Err(Failed::Server(_)) => Ok(runs),
        Err(lost) => Err(lost),
    }
}

/// Takes the lock and looks into the database.
fn lock_and_look(url: &MysqlUrl) -> Result<(Lock, DatabaseContent), Trouble> {
    let mut lock: Lock = guard::Lock::take_lock(url)?;
    let found = look_into_database(&mut lock.link, url)?;
    Ok((lock, found))
}

/// The name of the load in the database, if there is one.
fn find_load(link: &mut Link, url: &MysqlUrl) -> Option<String> {
    let answers = link.query_text(&format!("SELECT run FROM {}assay_tpcc", table_prefix(&url.database))).ok()?;
    let [row] = answers.first()?.rows.as_slice() else { return None };
    row.text_at(0).ok().map(str::to_owned)
}

/// Takes the lock of the database, which ends with the connection.
fn take_lock(mut link: Link, url: &MysqlUrl) -> Result<Lock, Trouble> {
    let failed = |why: Failed| to_trouble(url, &why);
    // A server ends connections that are idle for long.
    link.run_statements("SET SESSION wait_timeout = 31536000").map_err(failed)?;
    let name = lock_name(&url.database);
    let answers = link.query_text(&format!("SELECT GET_LOCK({name}, 0)")).map_err(failed)?;
    let taken = answers
        .first()
        .and_then(|answer| answer.only_row())
        .is_some_and(|row| row.bigint_at(0).is_ok_and(|answer| answer == 1));
    if taken {
        // Sessions that connect again ask for the lock first, and must not wait for ever.
        link.restore_time_limit();
        return Ok(Lock { link, name, load: None });
    }
    Err(Trouble::refused_for_safety(format!(
        "{} is in use by another Assay: wait until it has ended",
        displayed_database(url)
    )))
}

/// The longest name of a lock.
const NAME_MOST: usize = 64;

/// The name of the lock of a database as a value, for all names that a database can have.
fn lock_name(database: &str) -> String {
    let name = format!("assay_tpcc {database}");
    if name.chars().count() <= NAME_MOST {
        text_literal(&name)
    } else {
        format!("concat('assay_tpcc ', md5({}))", text_literal(database))
    }
}

/// Looks into the database; one that is neither empty nor has a marker is refused.
fn look_into_database(link: &mut Link, url: &MysqlUrl) -> Result<DatabaseContent, Trouble> {
    let failed = |why: Failed| to_trouble(url, &why);
    // Names are compared as they are written, because they may be names of files.
    let here = format!("= BINARY {}", text_literal(&url.database));
    let objects = [("tables", "table_schema"), ("routines", "routine_schema"), ("events", "event_schema")];
    let objects: Vec<String> = objects.iter().map(|(table, column)| count_query(table, column, &here)).collect();
    let marker = format!(
        "(SELECT count(*) FROM information_schema.tables WHERE table_schema {here} AND table_name = 'assay_tpcc' \
         AND table_type = 'BASE TABLE')"
    );
    let exists = count_query("schemata", "schema_name", &here);
    let answers = link.query_text(&format!("SELECT {exists}, {marker}, {}", objects.join(" + "))).map_err(failed)?;
    let row = answers.first().and_then(|answer| answer.only_row());
    let number = |column| row.and_then(|row| row.bigint_at(column).ok()).unwrap_or(0);
    match (number(0), number(1), number(2)) {
        (0, ..) => Ok(DatabaseContent::Nothing),
        (_, 0, 0) => Ok(DatabaseContent::Blank),
        (_, 0, _) => Err(Trouble::refused_for_safety(format!(
            "{} holds something else, and is left as it is: name a database of its own for this purpose",
            displayed_database(url)
        ))),
        (_, _, 1) => {
            // The table of the marker is there before its row, because each definition commits itself.
            let sql = format!("SELECT EXISTS (SELECT 1 FROM {}assay_tpcc)", table_prefix(&url.database));
            let answers = link.query_text(&sql).map_err(failed)?;
            let row = answers.first().and_then(|answer| answer.only_row());
            let is_blank = row.is_some_and(|row| row.bigint_at(0).is_ok_and(|count| count == 0));
            Ok(if is_blank { DatabaseContent::Blank } else { DatabaseContent::Marked })
        }
        _ => Ok(DatabaseContent::Marked),
    }
}

/// The query for the number of rows of a table of the catalogue whose column is as `here` says.
fn count_query(table: &str, column: &str, here: &str) -> String {
    format!("(SELECT count(*) FROM information_schema.{table} WHERE {column} {here})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (text, wanted) in
            [("10.11.19-MariaDB-0+deb12u1", Some((10, 11))), ("11.4.2-MariaDB", Some((11, 4))), ("x", None)]
        {
            assert_eq!(leading_version(text), wanted);
        }
        assert!(leading_version("10.5.1-MariaDB") < Some(OLDEST) && leading_version("11.0.1-MariaDB") > Some(OLDEST));
    }
}
