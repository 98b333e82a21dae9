//! A database server of any kind as the target of a run. What differs between servers is in [`Protocol`].

use super::opened::{Counters, Facts, Guarded, Opened, ServerStart, Settings, is_the_load};
use crate::host::meter::Reading;
use crate::host::threads::thread_builder;
use assay_model::tpcc::checks::Violation;
use assay_model::tpcc::load::Mode;
use assay_model::tpcc::{Population, Scale};
use assay_record::MeterHead;
use assay_sql::{Execute, KeptCommits, Marker, Totals, Trouble, TroubleKind};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// A database that may be used: the permit to change it, a connection, and the marker of its load.
type Ready<P> = (Arc<<P as Protocol>::Permit>, <P as Protocol>::Connection, Marker);

/// The differences between the kinds of servers.
pub(super) trait Protocol: Sized + Send + 'static {
    type Url: Clone + Debug + Send;
    type Permit: Debug + Send + Sync;
    type Connection: Debug + Send + 'static;
    /// Its name in a log.
    const DIALECT: &'static str;
    /// The isolation of transactions from each other, as the log describes it.
    const ISOLATION: &'static str;

    /// Passes the gate, and opens a connection for everything but the load.
    fn pass_gate(url: &Self::Url) -> Result<Ready<Self>, Trouble>;
    /// Makes sure that another Assay is kept out, as [`Opened::hold_guard`].
    fn hold_guard(permit: &Self::Permit) -> Result<Guarded, Trouble>;
    fn open_connection(permit: &Arc<Self::Permit>, url: &Self::Url) -> Result<Self::Connection, Trouble>;
    /// Makes a session of the load. With the name of a run and its index there, it numbers its commits.
    fn make_session(
        connection: Self::Connection,
        scale: Scale,
        mode: Mode,
        numbered: Option<(&str, u32)>,
    ) -> Result<Box<dyn Execute>, Trouble>;
    /// The marker of what is loaded now.
    fn read_marker(connection: &mut Self::Connection) -> Result<Marker, Trouble>;
    /// The database, as it may be shown.
    fn display_name(connection: &Self::Connection) -> String;
    fn create_session_rows(connection: &mut Self::Connection, run: &str, sessions: u32) -> Result<(), Trouble>;
    fn kept_commits(connection: &mut Self::Connection, run: &str, loaded: i32) -> Result<KeptCommits, Trouble>;
    fn server_version(connection: &Self::Connection) -> String;
    fn read_settings(connection: &mut Self::Connection) -> Result<Settings, Trouble>;
    /// Begins a run, whose connections are opened after this.
    fn begin_run(permit: &Self::Permit);
    /// As [`Opened::settings_seen`].
    fn settings_seen(permit: &Self::Permit) -> Vec<Settings>;
    /// The amount of data that the server keeps in memory, in bytes.
    fn server_memory(connection: &Self::Connection) -> Option<u64>;
    fn read_totals(connection: &mut Self::Connection) -> Result<Totals, Trouble>;
    fn check_conditions(connection: &mut Self::Connection, population: Population) -> Result<Vec<Violation>, Trouble>;
    fn size_bytes(connection: &mut Self::Connection) -> Result<u64, Trouble>;
    /// The counters of the server by name. The names are the same in each call.
    fn read_counters(connection: &mut Self::Connection) -> Result<Counters, Trouble>;
    /// Counters that stay zero because the server does not measure them, each with the reason.
    fn not_measured(_: &mut Self::Connection) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
    /// The start of the server.
    fn read_life(connection: &mut Self::Connection) -> Result<ServerStart, Trouble>;
    fn storage_places(connection: &Self::Connection) -> Vec<(PathBuf, &'static str)>;
}

/// A database of a server that the gate has accepted. The fields are dropped in this order.
#[derive(Debug)]
pub(super) struct Server<P: Protocol> {
    url: P::Url,
    /// For everything but the load, whose sessions have connections of their own.
    connection: P::Connection,
    permit: Arc<P::Permit>,
    marker: Marker,
}

impl<P: Protocol> Server<P> {
    pub(super) fn open_through_gate(url: &P::Url) -> Result<(Box<dyn Opened>, Marker), Trouble>
    where
        Server<P>: Debug,
    {
        let (permit, connection, marker) = P::pass_gate(url)?;
        Ok((Box::new(Server::<P> { url: url.clone(), connection, permit, marker: marker.clone() }), marker))
    }

    /// Asks the server. If that fails, asks once more over a new connection: the server may have been restarted.
    fn with_connection<T>(&mut self, ask: impl Fn(&mut P::Connection) -> Result<T, Trouble>) -> Result<T, Trouble> {
        ask(&mut self.connection).or_else(|first| {
            let again = P::open_connection(&self.permit, &self.url);
            // That somebody else has the database now is the reason to report.
            self.connection = again.map_err(|why| if why.kind == TroubleKind::Refused { why } else { first })?;
            ask(&mut self.connection)
        })
    }

    fn loaded_scale(&self) -> Scale {
        self.marker.population.row_scale()
    }
}

impl<P: Protocol> Opened for Server<P>
where
    Server<P>: Debug,
{
    fn start_sessions(&mut self, count: u32, mode: Mode) -> Result<Vec<Box<dyn Execute>>, Trouble> {
        P::begin_run(&self.permit);
        (0..count)
            .map(|_| P::make_session(P::open_connection(&self.permit, &self.url)?, self.loaded_scale(), mode, None))
            .collect()
    }

    fn hold_guard(&mut self) -> Result<Guarded, Trouble> {
        P::hold_guard(&self.permit)
    }

    fn create_session_rows(&mut self, run: &str, sessions: u32) -> Result<(), Trouble> {
        self.hold_guard()?;
        P::create_session_rows(&mut self.connection, run, sessions)
    }

    fn marked_sessions(&mut self, count: u32, mode: Mode, run: &str) -> Result<Vec<Box<dyn Execute>>, Trouble> {
        P::begin_run(&self.permit);
        (0..count)
            .map(|at| {
                P::make_session(
                    P::open_connection(&self.permit, &self.url)?,
                    self.loaded_scale(),
                    mode,
                    Some((run, at)),
                )
            })
            .collect()
    }

    fn kept_commits(&mut self, run: &str) -> Result<KeptCommits, Trouble> {
        let loaded = self.loaded_scale().order_count();
        self.with_connection(|connection| P::kept_commits(connection, run, loaded))
    }

    fn database_facts(&self, mode: Mode) -> Facts {
        Facts {
            dialect: P::DIALECT,
            version: P::server_version(&self.connection),
            mode: match mode {
                Mode::Procedures => "procedures",
                Mode::Client => "client",
            },
            isolation: P::ISOLATION,
        }
    }

    fn read_settings(&mut self) -> Result<Settings, Trouble> {
        self.with_connection(P::read_settings)
    }

    fn settings_seen(&self) -> Vec<Settings> {
        P::settings_seen(&self.permit)
    }

    fn read_totals(&mut self) -> Result<Totals, Trouble> {
        self.with_connection(P::read_totals)
    }

    fn check_conditions(&mut self) -> Result<Vec<Violation>, Trouble> {
        let population = self.marker.population;
        self.with_connection(|connection| P::check_conditions(connection, population))
    }

    /// The sessions may be connected to another server than the one that has the address now.
    fn find_again(&mut self) -> Result<(), Trouble> {
        let mut connection = P::open_connection(&self.permit, &self.url)?;
        let marker = P::read_marker(&mut connection).map_err(|trouble| match trouble.kind {
            TroubleKind::Refused => {
                Trouble::damaged_database(format!("what was committed during the run is not there: {trouble}"))
            }
            _ => trouble,
        })?;
        is_the_load(&self.marker, &marker, &P::display_name(&connection))?;
        self.connection = connection;
        Ok(())
    }

    fn size_bytes(&mut self) -> Option<u64> {
        self.with_connection(P::size_bytes).ok()
    }

    fn server_life(&mut self) -> Result<Option<ServerStart>, Trouble> {
        self.with_connection(P::read_life).map(Some)
    }

    fn server_memory(&self) -> Option<u64> {
        P::server_memory(&self.connection)
    }

    fn server_counters(&mut self) -> Result<Counters, Trouble> {
        self.with_connection(P::read_counters)
    }

    fn server_meter(&mut self) -> Result<Option<Box<dyn Reading>>, Trouble> {
        let connection = P::open_connection(&self.permit, &self.url)?;
        Ok(Account::start_counting::<P>(connection).map(|account| Box::new(account) as Box<dyn Reading>))
    }

    fn storage_places(&self) -> Vec<(PathBuf, &'static str)> {
        P::storage_places(&self.connection)
    }
}

/// The mode as a session understands it.
pub(super) fn mode_of(mode: Mode) -> assay_sql::Mode {
    match mode {
        Mode::Procedures => assay_sql::Mode::Procedures,
        Mode::Client => assay_sql::Mode::Client,
    }
}

/// Time between two readings of a server's counters.
const EVERY: Duration = Duration::from_millis(250);
/// So many readings of the counters come to one of the settings, which costs the server more.
const SETTINGS: u32 = 4;

/// The counters of a server. They are read by a thread of their own, because the server may answer slowly.
struct Account {
    dialect: &'static str,
    counters: Vec<String>,
    not_measured: BTreeMap<String, String>,
    /// The last values, until they are taken.
    answer: Arc<Mutex<Option<Vec<u64>>>>,
}

impl Account {
    fn start_counting<P: Protocol>(mut connection: P::Connection) -> Option<Account> {
        let (names, first): (Vec<_>, Vec<_>) = P::read_counters(&mut connection).ok()?.into_iter().unzip();
        let not_measured = P::not_measured(&mut connection);
        let answer = Arc::new(Mutex::new(Some(first)));
        let weak = Arc::downgrade(&answer);
        thread_builder("server-counters")
            .spawn(move || read_counters_until_dropped::<P>(&mut connection, &weak))
            .ok()?;
        let counters = names.into_iter().map(str::to_owned).collect();
        Some(Account { dialect: P::DIALECT, counters, not_measured, answer })
    }
}

/// Reads the counters until nobody uses them any more, or the server does not answer. The settings are read now and then,
/// so that a change shows that is taken back before the end.
fn read_counters_until_dropped<P: Protocol>(connection: &mut P::Connection, answers: &Weak<Mutex<Option<Vec<u64>>>>) {
    for reading in 0_u32.. {
        let Some(answer) = answers.upgrade() else { return };
        let Ok(counted) = P::read_counters(connection) else { return };
        let values = counted.into_iter().map(|(_, value)| value).collect();
        *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(values);
        drop(answer);
        if reading.is_multiple_of(SETTINGS) && P::read_settings(connection).is_err() {
            return;
        }
        pause_between_reads();
    }
}

#[expect(clippy::disallowed_methods, reason = "a thread of its own waits between two questions to a server")]
fn pause_between_reads() {
    std::thread::sleep(EVERY);
}

impl Reading for Account {
    fn meter_head(&self) -> MeterHead {
        MeterHead {
            name: self.dialect.to_owned(),
            kind: "server".to_owned(),
            holds: String::new(),
            counters: self.counters.clone(),
            not_measured: self.not_measured.clone(),
            ..MeterHead::default()
        }
    }

    fn read_totals(&mut self) -> Option<Vec<u64>> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
