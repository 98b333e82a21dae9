//! The gate in front of a schema: nothing is created, changed or deleted except through a [`Permit`], which only this
//! module makes.
//!
//! A schema is used if it does not exist, is empty, or holds our marker. Databases that the server needs for itself, or
//! that new ones are copied from, and servers that follow another one are refused.

use super::link::{Failed, Link};
use super::schema::{literal, prefix};
use super::settings::Settings;
use crate::guard::{self, Guard};
use crate::seen::Seen;
use crate::trouble::Trouble;
use crate::url::PostgresUrl;
use assay_base::text::one_line;

/// The oldest version that is supported: 12 (its number as the server writes it).
const OLDEST: i64 = 120_000;
/// "Astc": the first half of the advisory lock's key. The second half follows from the schema.
const LOCK: i32 = 0x4173_7463;

/// The content of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
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

    fn take(url: &PostgresUrl) -> Result<Lock, Trouble> {
        // Nobody can connect to some of them.
        if ["postgres", "template0", "template1"].contains(&url.database()) {
            return Err(of_the_server(url));
        }
        let mut link = Link::open(url)?;
        server(&mut link, url)?;
        let mut lock = lock(link, url)?;
        lock.load = load(&mut lock.link, url);
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
        let answers = self.link.simple(&sql).unwrap_or_default();
        let row = answers.first().and_then(|answer| answer.one());
        row.is_some_and(|row| is_true(row, 0))
    }

    fn load(&self) -> Option<&str> {
        self.load.as_deref()
    }

    fn shown(url: &PostgresUrl) -> String {
        shown(url)
    }
}

impl Drop for Lock {
    /// Gives the lock back at once. The server would do so too, but only some time after the connection has ended, and
    /// the next command would find the schema in use.
    fn drop(&mut self) {
        if !self.link.broken {
            let _ = self.link.run("SELECT pg_advisory_unlock_all()");
        }
    }
}

/// The right to change a schema, for as long as it exists. Another Assay gets none meanwhile.
#[derive(Debug)]
pub struct Permit {
    guard: Guard<Lock>,
    seen: Seen<Settings>,
    url: PostgresUrl,
    found: Found,
}

impl Permit {
    /// For a load: the schema may be missing or empty.
    pub fn to_load(url: &PostgresUrl) -> Result<Permit, Trouble> {
        let (lock, found) = found(url)?;
        Ok(Permit { guard: Guard::of_anything(lock), seen: Seen::default(), url: url.clone(), found })
    }

    /// For everything else: the schema must be ours.
    pub fn to_use(url: &PostgresUrl) -> Result<Permit, Trouble> {
        let (lock, found) = found(url)?;
        let lacks = match found {
            Found::Nothing => "does not exist",
            Found::Blank => "is empty",
            Found::Marked => {
                return Ok(Permit { guard: Guard::of_load(lock), seen: Seen::default(), url: url.clone(), found });
            }
        };
        let (at, schema) = (shown(url), &url.schema);
        Err(Trouble::not_ready(format!("{at}: the schema {schema} {lacks}: load it with assay prep")))
    }

    /// Makes sure that the lock is held which keeps another Assay out, and takes it again if its connection was lost.
    pub fn hold(&self) -> Result<(), Trouble> {
        self.guard.hold(&self.url)
    }

    /// Whether the lock was lost at some time. What was loaded when this permit was given is still there.
    pub fn was_lost(&self) -> bool {
        self.guard.was_lost()
    }

    /// The settings that the connections of this permit were found with since [`Permit::begin_run`], each different set
    /// once.
    pub fn settings_seen(&self) -> Vec<Settings> {
        self.seen.all()
    }

    /// Begins a run, whose connections are opened after this.
    pub fn begin_run(&self) {
        self.seen.forget();
    }

    /// Keeps the settings that a connection was found with.
    pub(super) fn has_seen(&self, settings: &Settings) {
        self.seen.add(settings);
    }

    /// See [`Guard::has_held`].
    pub(super) fn has_held(&self) -> Result<(), Trouble> {
        self.guard.has_held(&self.url)
    }

    /// The database, as it may be shown.
    pub(super) fn shown(&self) -> String {
        shown(&self.url)
    }
    /// The prefix of the names of tables.
    pub(super) fn prefix(&self) -> String {
        prefix(&self.url.schema)
    }
    /// The name of the schema.
    pub(super) fn schema(&self) -> &str {
        &self.url.schema
    }
    /// The content that was found.
    pub(super) fn found(&self) -> Found {
        self.found
    }
}

/// A database as it may be shown.
pub(super) fn shown(url: &PostgresUrl) -> String {
    one_line(url)
}

/// Translates the failure of a statement that is not part of a transaction of the load.
pub(super) fn trouble(url: &PostgresUrl, why: &Failed) -> Trouble {
    let at = shown(url);
    let remedy = match why.code() {
        "XX001" | "XX002" => return Trouble::damaged(format!("{at} is damaged: {}", one_line(why))),
        "42501" => format!(": GRANT the role {} what is missing", url.role()),
        "53100" => ": make room where the server keeps its data".to_owned(),
        "25006" => ": the role or the database only allows reading (default_transaction_read_only)".to_owned(),
        "2BP01" => ": something that is not ours depends on it, and is left as it is: remove it first".to_owned(),
        _ => String::new(),
    };
    let text = format!("{at}: {}{remedy}", one_line(why));
    if why.code() == "2BP01" { Trouble::refused(text) } else { Trouble::host(text) }
}

/// Refuses servers and databases in which nothing is to be created.
fn server(link: &mut Link, url: &PostgresUrl) -> Result<(), Trouble> {
    let sql = "SELECT current_setting('server_version_num'), pg_is_in_recovery(), datistemplate, \
               datname IN ('postgres', 'template0', 'template1') FROM pg_database WHERE datname = current_database()";
    let answers = link.simple(sql).map_err(|why| trouble(url, &why))?;
    let row = answers.first().and_then(|answer| answer.one()).ok_or_else(|| Trouble::host("no database is current"))?;
    let at = shown(url);
    if row.written(0).unwrap_or(0) < OLDEST {
        return Err(Trouble::host(format!("{at}: the server is older than PostgreSQL 12, which is not supported")));
    }
    if is_true(row, 1) {
        return Err(Trouble::refused(format!("{at} is on a standby, which follows another server: name that one")));
    }
    if is_true(row, 2) || is_true(row, 3) {
        return Err(of_the_server(url));
    }
    Ok(())
}

fn of_the_server(url: &PostgresUrl) -> Trouble {
    let at = shown(url);
    Trouble::refused(format!(
        "{at} is a database of the server itself: create one for this purpose (CREATE DATABASE shop)"
    ))
}

/// Takes the lock and looks into the schema.
fn found(url: &PostgresUrl) -> Result<(Lock, Found), Trouble> {
    let mut lock: Lock = guard::Lock::take(url)?;
    let found = schema(&mut lock.link, url)?;
    Ok((lock, found))
}

/// The name of the load in the schema, if there is one.
fn load(link: &mut Link, url: &PostgresUrl) -> Option<String> {
    let answers = link.simple(&format!("SELECT run FROM {}assay_tpcc", prefix(&url.schema))).ok()?;
    let [row] = answers.first()?.rows.as_slice() else { return None };
    row.text(0).ok().map(str::to_owned)
}

/// Takes the lock of the schema, which ends with the connection.
fn lock(mut link: Link, url: &PostgresUrl) -> Result<Lock, Trouble> {
    // FNV-1a: any spread will do, and it must be the same in every version of this program.
    let of_schema =
        url.schema.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let key = (LOCK, of_schema as i32);
    let sql = format!("SELECT pg_try_advisory_lock({}, {})", key.0, key.1);
    let answers = link.simple(&sql).map_err(|why| trouble(url, &why))?;
    let taken = answers
        .first()
        .and_then(|answer| answer.one())
        .is_some_and(|row| row.text(0).is_ok_and(|answer| answer == "t"));
    if taken {
        // A server that ends idle sessions would end the lock. Versions before 14 do not know the setting.
        let keep = "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'";
        let mut lock = Lock { link, key, load: None };
        lock.link.run(keep).map_err(|why| trouble(url, &why))?;
        // Sessions that connect again ask for the lock first, and must not wait for ever.
        lock.link.hurry();
        return Ok(lock);
    }
    Err(Trouble::refused(format!(
        "{}: the schema {} is in use by another Assay: wait until it has ended",
        shown(url),
        url.schema
    )))
}

/// Looks into the schema; one that is neither empty nor has a marker is refused.
fn schema(link: &mut Link, url: &PostgresUrl) -> Result<Found, Trouble> {
    // Every object in a schema depends on it.
    let sql = format!(
        "SELECT EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = n.oid AND relname = 'assay_tpcc' AND relkind = 'r'), \
         EXISTS (SELECT 1 FROM pg_depend WHERE refclassid = 'pg_namespace'::regclass AND refobjid = n.oid) \
         FROM pg_namespace AS n WHERE nspname = {}",
        literal(&url.schema)
    );
    let answers = link.simple(&sql).map_err(|why| trouble(url, &why))?;
    let Some(row) = answers.first().and_then(|answer| answer.one()) else { return Ok(Found::Nothing) };
    match (is_true(row, 0), is_true(row, 1)) {
        (true, _) => Ok(Found::Marked),
        (false, false) => Ok(Found::Blank),
        (false, true) => Err(Trouble::refused(format!(
            "{}: the schema {} holds something else, and is left as it is: write another one (schema=…)",
            shown(url),
            url.schema
        ))),
    }
}

/// Whether a column of a row is true.
fn is_true(row: &super::value::Row, column: usize) -> bool {
    row.text(column).is_ok_and(|text| text == "t")
}
