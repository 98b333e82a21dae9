//! The kinds of databases: each is one implementation of [`Opened`], and one arm of [`open_through_gate`], [`read_marker`] and
//! [`usual_sessions`].

use super::mariadb::Mysql;
use super::opened::{Facts, Opened, Settings, is_the_load};
use super::postgresql::Postgres;
use super::server::Server;
use assay_model::tpcc::checks::Violation;
use assay_model::tpcc::load::Mode;
use assay_sql::sqlite::gate::{FileId, Permit};
use assay_sql::sqlite::{self, Connection, Session};
use assay_sql::{Execute, Journal, KeptCommits, Marker, SqliteUrl, Totals, Trouble, TroubleKind, Url, mysql, postgres};
use std::path::PathBuf;
use std::sync::Arc;

/// Sessions of SQLite: only one of them can write at a time, and more sessions would only wait for each other.
const OF_SQLITE: u32 = 4;
/// Sessions of a server: an upper bound, like the number of operations in flight on a device.
const OF_A_SERVER: u32 = 32;

/// The number of sessions on this kind of database, if the workload names none.
pub(super) fn usual_sessions(url: &Url) -> u32 {
    match url {
        Url::Sqlite(_) => OF_SQLITE,
        Url::Postgres(_) | Url::Mysql(_) => OF_A_SERVER,
    }
}

/// Reads the marker of a database that is loaded completely, and changes nothing.
pub(super) fn read_marker(url: &Url) -> Result<Marker, Trouble> {
    match url {
        Url::Sqlite(file) => sqlite::peek_marker(file).or_else(|trouble| match trouble.kind {
            // After a crash SQLite must recover the file before it can read it, for which it must be able to write.
            TroubleKind::Host => sqlite::ready_to_check(file).map(|(_, _, marker)| marker),
            _ => Err(trouble),
        }),
        Url::Postgres(server) => postgres::open_for_run(server, None).map(|(_, _, marker)| marker),
        Url::Mysql(server) => mysql::open_for_run(server, None).map(|(_, _, marker)| marker),
    }
}

/// The purpose for which a database is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenPurpose {
    /// Transactions, with the settings that make a commit durable unless the URL names others.
    Run,
    /// Questions: settings that the URL does not name stay as they are.
    Check,
}

/// Opens a database through its gate.
pub(super) fn open_through_gate(url: &Url, what: OpenPurpose) -> Result<(Box<dyn Opened>, Marker), Trouble> {
    match url {
        Url::Sqlite(file) => {
            let (permit, connection, marker) = match what {
                OpenPurpose::Run => sqlite::open_for_run(file, None)?,
                OpenPurpose::Check => sqlite::ready_to_check(file)?,
            };
            let opened = Sqlite { url: file.clone(), connection, permit, marker: marker.clone(), log: None };
            Ok((Box::new(opened), marker))
        }
        Url::Postgres(server) => Server::<Postgres>::open_through_gate(server),
        Url::Mysql(server) => Server::<Mysql>::open_through_gate(server),
    }
}

/// A database of SQLite. The fields are dropped in this order.
#[derive(Debug)]
struct Sqlite {
    url: SqliteUrl,
    connection: Connection,
    permit: Arc<Permit>,
    marker: Marker,
    /// The log beside the file, into which the sessions of a run write.
    log: Option<FileId>,
}

impl Sqlite {
    /// Opens so many sessions. `make` makes each of them, by its number.
    fn open_sessions(
        &mut self,
        count: u32,
        make: impl Fn(Session, u32) -> Session,
    ) -> Result<Vec<Box<dyn Execute>>, Trouble> {
        let mut sessions: Vec<Box<dyn Execute>> = Vec::new();
        for number in 0..count {
            let session =
                Session::new(Connection::open_permitted(&self.permit, &self.url)?, self.marker.population.row_scale());
            sessions.push(Box::new(make(session, number)));
        }
        self.log = if self.url.journal_mode() == Journal::Wal { self.permit.log_identity() } else { None };
        Ok(sessions)
    }
}

impl Opened for Sqlite {
    fn start_sessions(&mut self, count: u32, _: Mode) -> Result<Vec<Box<dyn Execute>>, Trouble> {
        self.open_sessions(count, |session, _| session)
    }

    fn create_session_rows(&mut self, run: &str, sessions: u32) -> Result<(), Trouble> {
        sqlite::create_session_rows(&self.connection, run, sessions)
    }

    fn marked_sessions(&mut self, count: u32, _: Mode, run: &str) -> Result<Vec<Box<dyn Execute>>, Trouble> {
        self.open_sessions(count, |session, number| session.with_mark(run, number))
    }

    fn kept_commits(&mut self, run: &str) -> Result<KeptCommits, Trouble> {
        sqlite::read_kept(&self.connection, run, self.marker.population.row_scale().order_count())
    }

    fn database_facts(&self, _: Mode) -> Facts {
        Facts {
            dialect: "sqlite",
            version: self.connection.current_settings().version.clone(),
            mode: "client",
            isolation: "serializable: BEGIN IMMEDIATE for transactions that write, one snapshot for those that read",
        }
    }

    fn read_settings(&mut self) -> Result<Settings, Trouble> {
        let settings = self.connection.settings_now()?;
        Ok(Settings { named: settings.values_by_name(), not_durable: settings.not_durable() })
    }

    fn read_totals(&mut self) -> Result<Totals, Trouble> {
        sqlite::read_totals(&self.connection)
    }

    fn find_again(&mut self) -> Result<(), Trouble> {
        self.permit.leads_to_what_was_written(self.log)?;
        let connection = Connection::open_to_read(&self.permit, &self.url).map_err(replaced_database)?;
        is_the_load(
            &self.marker,
            &sqlite::read_marker(&connection).map_err(replaced_database)?,
            &connection.display_name(),
        )?;
        self.connection = connection;
        Ok(())
    }

    fn file_identity(&self) -> Option<String> {
        self.permit.file_identity()
    }

    fn check_conditions(&mut self) -> Result<Vec<Violation>, Trouble> {
        sqlite::check_conditions(&self.connection, self.marker.population)
    }

    fn size_bytes(&mut self) -> Option<u64> {
        self.connection.file_bytes()
    }

    /// The log or journal is in the directory of the file.
    fn storage_places(&self) -> Vec<(PathBuf, &'static str)> {
        vec![(self.url.path.clone(), "data"), (self.url.path.clone(), "log")]
    }
}

/// The trouble with a file at the name of a database during a run. What is there now may be anything: that it is no database
/// of ours says that ours is not there.
fn replaced_database(trouble: Trouble) -> Trouble {
    match trouble.kind {
        TroubleKind::Refused => {
            Trouble::damaged_database(format!("what was committed during the run is not there: {trouble}"))
        }
        _ => trouble,
    }
}
