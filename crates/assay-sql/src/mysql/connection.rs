//! One connection to a database that the gate has let through, with its settings read back.

use super::failed::Failed;
use super::flight::Answer;
use super::gate::{Permit, to_trouble};
use super::link::Link;
use super::schema::with_prefix;
use super::settings::Settings;
use crate::marker::Marker;
use crate::servers::{READ_MARKER, marker_in_rows};
use crate::trouble::Trouble;
use crate::url::MysqlUrl;
use std::sync::Arc;

/// The server may have other values for everybody, and a connection that waits for work must not be ended: what a
/// transaction sees is set for each session.
const SESSION: &str = "SET NAMES ascii COLLATE ascii_bin; \
     SET SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', \
     autocommit = 1, wait_timeout = 31536000, sql_select_limit = DEFAULT, sql_safe_updates = 0, \
     unique_checks = 1, foreign_key_checks = 1, completion_type = 'NO_CHAIN', group_concat_max_len = 1048576; \
     SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE";

/// A connection.
#[derive(Debug)]
pub struct Connection {
    pub(super) link: Link,
    permit: Arc<Permit>,
    url: MysqlUrl,
    settings: Settings,
}

impl Connection {
    /// Connects to the database of a permit, whose lock is taken again if it was lost.
    pub fn open_permitted(permit: &Arc<Permit>, url: &MysqlUrl) -> Result<Connection, Trouble> {
        let mut link = Link::open_connection(url)?;
        // Only then: where there is no server, the sessions of a run would wait for each other's attempt to reach it.
        permit.ensure_held()?;
        let settings = start_session(&mut link, &url.database).map_err(|why| to_trouble(url, &why))?;
        permit.has_seen(&settings);
        settings.are_as_needed(&permit.display_name())?;
        Ok(Connection { link, permit: Arc::clone(permit), url: url.clone(), settings })
    }

    /// Connects again, as at first.
    pub(super) fn connect_again(&mut self) -> Result<(), Trouble> {
        let fresh = Connection::open_permitted(&self.permit, &self.url)?;
        (self.link, self.settings) = (fresh.link, fresh.settings);
        Ok(())
    }

    /// The settings as they are in this session.
    pub fn session_settings(&self) -> &Settings {
        &self.settings
    }

    /// The settings as they are now.
    pub fn settings_now(&mut self) -> Result<&Settings, Trouble> {
        let read = Settings::read_settings(&mut self.link, &self.url.database);
        self.settings = read.map_err(|why| to_trouble(&self.url, &why))?;
        self.permit.has_seen(&self.settings);
        Ok(&self.settings)
    }

    /// The number by which the server knows this connection.
    pub fn server_thread(&self) -> u32 {
        self.link.thread
    }

    /// The database, as it may be shown.
    pub fn display_name(&self) -> String {
        self.permit.display_name()
    }

    /// See [`Permit::has_held`].
    pub(super) fn has_held(&self) -> Result<(), Trouble> {
        self.permit.has_held()
    }

    /// The prefix of the names of tables.
    pub(super) fn table_prefix(&self) -> String {
        self.permit.table_prefix()
    }

    /// The name of the database.
    pub(super) fn database_name(&self) -> &str {
        &self.url.database
    }

    /// A statement in which an at sign stands before each name of ours.
    pub(super) fn expand_names(&self, sql: &str) -> String {
        with_prefix(&self.table_prefix(), sql)
    }

    /// Translates the failure of a statement that is not part of a transaction of the load.
    pub(super) fn to_trouble(&self, why: &Failed) -> Trouble {
        to_trouble(&self.url, why)
    }

    /// Asks for statements with at signs.
    pub(super) fn ask_server(&mut self, sql: &str) -> Result<Vec<Answer>, Trouble> {
        let sql = self.expand_names(sql);
        self.link.query_text(&sql).map_err(|why| self.to_trouble(&why))
    }

    /// Carries out statements in one transaction, or leaves no trace.
    pub(super) fn in_transaction<T>(
        &mut self,
        body: impl FnOnce(&mut Link) -> Result<T, Failed>,
    ) -> Result<T, Trouble> {
        let begun = self.link.run_statements("START TRANSACTION");
        let done = begun
            .and_then(|()| body(&mut self.link))
            .and_then(|done| self.link.run_statements("COMMIT").map(|()| done));
        if done.is_err() && !self.link.broken {
            // A failure here shows again at the next statement; the first reason is the one to report.
            let _ = self.link.run_statements("ROLLBACK");
        }
        done.map_err(|why| self.to_trouble(&why))
    }
}

fn start_session(link: &mut Link, database: &str) -> Result<Settings, Failed> {
    link.run_statements(SESSION)?;
    Settings::read_settings(link, database)
}

/// The marker of a database that the gate let through.
pub fn read_marker(connection: &mut Connection) -> Result<Marker, Trouble> {
    let at = connection.display_name();
    let sql = connection.expand_names(READ_MARKER);
    let answers = connection.link.query_text(&sql).map_err(|why| match why.error_code() {
        NO_TABLE | NO_COLUMN => unusable_marker(&at, "has no marker of a load"),
        _ => connection.to_trouble(&why),
    })?;
    let rows = answers.first().map(|answer| answer.rows.as_slice()).unwrap_or_default();
    marker_in_rows(rows, |what| unusable_marker(&at, what))
}

/// Why a database without a usable marker is refused.
fn unusable_marker(at: &str, what: &str) -> Trouble {
    Trouble::refused_for_safety(format!("{at} {what}: name another database"))
}

/// Errors of a statement whose table or column is not there.
pub(super) const NO_TABLE: u16 = 1146;
pub(super) const NO_COLUMN: u16 = 1054;
