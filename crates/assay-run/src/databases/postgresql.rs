//! A PostgreSQL server as the target of a run.

use super::opened::{Counters, Guarded, Life, Settings};
use super::server::{Protocol, mode_of};
use assay_model::tpcc::checks::Violation;
use assay_model::tpcc::load::Mode;
use assay_model::tpcc::{Population, Scale};
use assay_sql::postgres::{self, Connection, Directories, Session, Statistics, gate::Permit};
use assay_sql::{Execute, Kept, Marker, PostgresUrl, Totals, Trouble};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Postgres;

impl Protocol for Postgres {
    type Url = PostgresUrl;
    type Permit = Permit;
    type Connection = Connection;
    const DIALECT: &'static str = "postgresql";
    const ISOLATION: &'static str =
        "read committed, with what is written read under lock; order-status and stock-level in one snapshot";

    fn ready(url: &PostgresUrl) -> Result<(Arc<Permit>, Connection, Marker), Trouble> {
        postgres::ready(url, None)
    }

    fn guard(permit: &Permit) -> Result<Guarded, Trouble> {
        permit.hold().map(|()| if permit.was_lost() { Guarded::Again } else { Guarded::Always })
    }

    fn connect(permit: &Arc<Permit>, url: &PostgresUrl) -> Result<Connection, Trouble> {
        Connection::open(permit, url)
    }

    fn session(
        connection: Connection,
        scale: Scale,
        mode: Mode,
        numbered: Option<(&str, u32)>,
    ) -> Result<Box<dyn Execute>, Trouble> {
        let mode = mode_of(mode);
        Ok(Box::new(match numbered {
            Some(own) => Session::marked(connection, scale, mode, own)?,
            None => Session::new(connection, scale, mode)?,
        }))
    }

    fn marker(connection: &mut Connection) -> Result<Marker, Trouble> {
        postgres::marker(connection)
    }

    fn shown(connection: &Connection) -> String {
        connection.shown()
    }

    fn mark(connection: &mut Connection, run: &str, sessions: u32) -> Result<(), Trouble> {
        postgres::mark(connection, run, sessions)
    }

    fn kept_commits(connection: &mut Connection, run: &str, loaded: i32) -> Result<Kept, Trouble> {
        postgres::kept(connection, run, loaded)
    }

    fn version(connection: &Connection) -> String {
        connection.settings().value("server_version").to_owned()
    }

    fn settings(connection: &mut Connection) -> Result<Settings, Trouble> {
        connection.settings_now().map(settings_for_log)
    }

    fn begin_run(permit: &Permit) {
        permit.begin_run();
    }

    fn settings_seen(permit: &Permit) -> Vec<Settings> {
        permit.settings_seen().iter().map(settings_for_log).collect()
    }

    fn memory(connection: &Connection) -> Option<u64> {
        connection.settings().shared_buffers()
    }

    fn totals(connection: &mut Connection) -> Result<Totals, Trouble> {
        postgres::totals(connection)
    }

    fn check(connection: &mut Connection, population: Population) -> Result<Vec<Violation>, Trouble> {
        postgres::check(connection, population)
    }

    fn bytes(connection: &mut Connection) -> Result<u64, Trouble> {
        Ok(u64::try_from(Statistics::read(connection)?.bytes).unwrap_or(0))
    }

    fn counters(connection: &mut Connection) -> Result<Counters, Trouble> {
        let Statistics { log_bytes, log_syncs, log_sync_us, checkpoints, commits, .. } = Statistics::read(connection)?;
        let all = [
            ("log_bytes", Some(log_bytes)),
            ("log_syncs", log_syncs),
            ("log_sync_ns", log_syncs.map(|_| log_sync_us.saturating_mul(1_000))),
            ("checkpoints", Some(checkpoints)),
            ("commits", Some(commits)),
        ];
        Ok(all.into_iter().filter_map(|(name, counter)| Some((name, u64::try_from(counter?).unwrap_or(0)))).collect())
    }

    fn not_measured(connection: &mut Connection) -> BTreeMap<String, String> {
        let timed = postgres::times_log_syncs(connection).unwrap_or(true);
        let off = ("log_sync_ns".to_owned(), "track_wal_io_timing is off".to_owned());
        (!timed).then_some(off).into_iter().collect()
    }

    fn life(connection: &mut Connection) -> Result<Life, Trouble> {
        let assay_sql::postgres::Life { started, recovered } = assay_sql::postgres::Life::read(connection)?;
        Ok(Life { started, recovered: Some(recovered) })
    }

    fn places(connection: &Connection) -> Vec<(PathBuf, &'static str)> {
        let mut places = Vec::new();
        if let Some(directories) = &connection.settings().directories {
            let Directories { data, log, tablespaces, .. } = directories;
            places.extend([(data.clone(), "data"), (log.clone(), "log")]);
            places.extend(tablespaces.iter().map(|path| (path.clone(), "data")));
        }
        places
    }
}

/// The settings of a server as the log has them.
fn settings_for_log(settings: &postgres::Settings) -> Settings {
    let unlogged =
        (!settings.unlogged.is_empty()).then(|| ("unlogged tables".to_owned(), settings.unlogged.join(", ")));
    let named = settings.values.clone().into_iter().chain(unlogged).collect();
    Settings { named, not_durable: settings.not_durable() }
}
