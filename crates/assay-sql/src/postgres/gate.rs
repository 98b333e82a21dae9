//! The gate in front of a schema: nothing is created, changed or deleted except through a [`Permit`], which only this
//! module makes.
//!
//! A schema is used if it does not exist, is empty, or holds our marker. Databases that the server needs for itself, or
//! that new ones are copied from, and servers that follow another one are refused.

use super::link::{Failed, Link};
use super::schema::{table_prefix, text_literal};
use super::settings::Settings;
use crate::guard::{self, Guard};
use crate::seen::SeenSettings;
use crate::trouble::Trouble;
use crate::url::PostgresUrl;
use assay_base::text::one_line;

/// The oldest version that is supported: 12 (its number as the server writes it).
const OLDEST: i64 = 120_000;
/// "Astc": the first half of the advisory lock's key. The second half follows from the schema.
const LOCK: i32 = 0x4173_7463;

/// The content of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchemaContent {
    /// It does not exist.
    Nothing,
    /// It is empty.
    Blank,
    /// It has a table of the marker's name.
    Marked,
}

/// A connection that holds the advisory lock, and the name of the load that the schema held when it was taken.
#[derive(Debug)]
struct Lock {
    link: Link,
    key: (i32, i32),
    load: Option<String>,
}

impl guard::Lock for Lock {
    type Url = PostgresUrl;

    fn take_lock(url: &PostgresUrl) -> Result<Lock, Trouble> {
        // Nobody can connect to some of them.
        if ["postgres", "template0", "template1"].contains(&url.database_name()) {
            return Err(of_the_server(url));
        }
        let mut link = Link::open_connection(url)?;
        check_server(&mut link, url)?;
        let mut lock = take_lock(link, url)?;
        lock.load = find_load(&mut lock.link, url);
        Ok(lock)
    }

    fn is_held(&mut self) -> bool {
        let (first, second) = (self.key.0 as u32, self.key.1 as u32);
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid() \
             AND classid::bigint = {first} AND objid::bigint = {second} AND objsubid = 2)"
        );
        if self.link.broken {
            return false;
        }
        let answers = self.link.query_text(&sql).unwrap_or_default();
        let row = answers.first().and_then(|answer| answer.only_row());
        row.is_some_and(|row| is_true(row, 0))
    }

    fn loaded_name(&self) -> Option<&str> {
        self.load.as_deref()
    }

    fn display_name(url: &PostgresUrl) -> String {
        displayed_database(url)
    }
}

impl Drop for Lock {
    /// Gives the lock back at once. The server would do so too, but only some time after the connection has ended, and
    /// the next command would find the schema in use.
    fn drop(&mut self) {
        if !self.link.broken {
            let _ = self.link.run_statements("SELECT pg_advisory_unlock_all()");
        }
    }
}

/// The right to change a schema, for as long as it exists. Another Assay gets none meanwhile.
#[derive(Debug)]
pub struct Permit {
    guard: Guard<Lock>,
    seen: SeenSettings<Settings>,
    url: PostgresUrl,
    found: SchemaContent,
}

impl Permit {
    /// For a load: the schema may be missing or empty.
    pub fn to_load(url: &PostgresUrl) -> Result<Permit, Trouble> {
        let (lock, found) = lock_and_look(url)?;
        Ok(Permit { guard: Guard::of_anything(lock), seen: SeenSettings::default(), url: url.clone(), found })
    }

    /// For everything else: the schema must be ours.
    pub fn to_use(url: &PostgresUrl) -> Result<Permit, Trouble> {
        let (lock, found) = lock_and_look(url)?;
        let lacks = match found {
            SchemaContent::Nothing => "does not exist",
            SchemaContent::Blank => "is empty",
            SchemaContent::Marked => {
                return Ok(Permit {
                    guard: Guard::of_load(lock),
                    seen: SeenSettings::default(),
                    url: url.clone(),
                    found,
                });
            }
        };
        let (at, schema) = (displayed_database(url), &url.schema);
        Err(Trouble::not_ready(format!("{at}: the schema {schema} {lacks}: load it with assay prep")))
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
        table_prefix(&self.url.schema)
    }
    /// The name of the schema.
    pub(super) fn schema_name(&self) -> &str {
        &self.url.schema
    }
    /// The content that was found.
    pub(super) fn found_content(&self) -> SchemaContent {
        self.found
    }
}

/// A database as it may be shown.
pub(super) fn displayed_database(url: &PostgresUrl) -> String {
    one_line(url)
}

/// Translates the failure of a statement that is not part of a transaction of the load.
pub(super) fn to_trouble(url: &PostgresUrl, why: &Failed) -> Trouble {
    let at = displayed_database(url);
    let remedy = match why.error_code() {
        "XX001" | "XX002" => return Trouble::damaged_database(format!("{at} is damaged: {}", one_line(why))),
        "42501" => format!(": GRANT the role {} what is missing", url.role_name()),
        "53100" => ": make room where the server keeps its data".to_owned(),
        "25006" => ": the role or the database only allows reading (default_transaction_read_only)".to_owned(),
        "2BP01" => ": something that is not ours depends on it, and is left as it is: remove it first".to_owned(),
        _ => String::new(),
    };
    let text = format!("{at}: {}{remedy}", one_line(why));
    if why.error_code() == "2BP01" { Trouble::refused_for_safety(text) } else { Trouble::host_unable(text) }
}

/// Refuses servers and databases in which nothing is to be created.
fn check_server(link: &mut Link, url: &PostgresUrl) -> Result<(), Trouble> {
    let sql = "SELECT current_setting('server_version_num'), pg_is_in_recovery(), datistemplate, \
               datname IN ('postgres', 'template0', 'template1') FROM pg_database WHERE datname = current_database()";
    let answers = link.query_text(sql).map_err(|why| to_trouble(url, &why))?;
    let row = answers
        .first()
        .and_then(|answer| answer.only_row())
        .ok_or_else(|| Trouble::host_unable("no database is current"))?;
    let at = displayed_database(url);
    if row.text_number_at(0).unwrap_or(0) < OLDEST {
        return Err(Trouble::host_unable(format!(
            "{at}: the server is older than PostgreSQL 12, which is not supported"
        )));
    }
    if is_true(row, 1) {
        return Err(Trouble::refused_for_safety(format!(
            "{at} is on a standby, which follows another server: name that one"
        )));
    }
    if is_true(row, 2) || is_true(row, 3) {
        return Err(of_the_server(url));
    }
    Ok(())
}

fn of_the_server(url: &PostgresUrl) -> Trouble {
    let at = displayed_database(url);
    Trouble::refused_for_safety(format!(
        "{at} is a database of the server itself: create one for this purpose (CREATE DATABASE shop)"
    ))
}

/// Takes the lock and looks into the schema.
fn lock_and_look(url: &PostgresUrl) -> Result<(Lock, SchemaContent), Trouble> {
    let mut lock: Lock = guard::Lock::take_lock(url)?;
    let found = look_into_schema(&mut lock.link, url)?;
    Ok((lock, found))
}

/// The name of the load in the schema, if there is one.
fn find_load(link: &mut Link, url: &PostgresUrl) -> Option<String> {
    let answers = link.query_text(&format!("SELECT run FROM {}assay_tpcc", table_prefix(&url.schema))).ok()?;
    let [row] = answers.first()?.rows.as_slice() else { return None };
    row.text_at(0).ok().map(str::to_owned)
}

/// Takes the lock of the schema, which ends with the connection.
fn take_lock(mut link: Link, url: &PostgresUrl) -> Result<Lock, Trouble> {
    // FNV-1a: any spread will do, and it must be the same in every version of this program.
    let of_schema =
        url.schema.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let key = (LOCK, of_schema as i32);
    let sql = format!("SELECT pg_try_advisory_lock({}, {})", key.0, key.1);
    let answers = link.query_text(&sql).map_err(|why| to_trouble(url, &why))?;
    let taken = answers
        .first()
        .and_then(|answer| answer.only_row())
        .is_some_and(|row| row.text_at(0).is_ok_and(|answer| answer == "t"));
    if taken {
        // A server that ends idle sessions would end the lock. Versions before 14 do not know the setting.
        let keep = "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'";
        let mut lock = Lock { link, key, load: None };
        lock.link.run_statements(keep).map_err(|why| to_trouble(url, &why))?;
        // Sessions that connect again ask for the lock first, and must not wait for ever.
        lock.link.restore_time_limit();
        return Ok(lock);
    }
    Err(Trouble::refused_for_safety(format!(
        "{}: the schema {} is in use by another Assay: wait until it has ended",
        displayed_database(url),
        url.schema
    )))
}

/// Looks into the schema; one that is neither empty nor has a marker is refused.
fn look_into_schema(link: &mut Link, url: &PostgresUrl) -> Result<SchemaContent, Trouble> {
    // Every object in a schema depends on it.
    let sql = format!(
        "SELECT EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = n.oid AND relname = 'assay_tpcc' AND relkind = 'r'), \
         EXISTS (SELECT 1 FROM pg_depend WHERE refclassid = 'pg_namespace'::regclass AND refobjid = n.oid) \
         FROM pg_namespace AS n WHERE nspname = {}",
        text_literal(&url.schema)
    );
    let answers = link.query_text(&sql).map_err(|why| to_trouble(url, &why))?;
    let Some(row) = answers.first().and_then(|answer| answer.only_row()) else { return Ok(SchemaContent::Nothing) };
    match (is_true(row, 0), is_true(row, 1)) {
        (true, _) => Ok(SchemaContent::Marked),
        (false, false) => Ok(SchemaContent::Blank),
        (false, true) => Err(Trouble::refused_for_safety(format!(
            "{}: the schema {} holds something else, and is left as it is: write another one (schema=…)",
            displayed_database(url),
            url.schema
        ))),
    }
}

/// Whether a column of a row is true.
fn is_true(row: &super::value::Row, column: usize) -> bool {
    row.text_at(column).is_ok_and(|text| text == "t")
}
