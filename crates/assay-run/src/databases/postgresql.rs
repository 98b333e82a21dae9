//! A PostgreSQL server as the target of a run.

use super::opened::{Counters, Guarded, ServerStart, Settings};
use super::server::{Protocol, mode_of};
use assay_model::tpcc::checks::Violation;
use assay_model::tpcc::load::Mode;
use assay_model::tpcc::{Population, Scale};
use assay_sql::postgres::{self, Connection, Directories, Session, Statistics, gate::Permit};
use assay_sql::{Execute, KeptCommits, Marker, PostgresUrl, Totals, Trouble};
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

    fn pass_gate(url: &PostgresUrl) -> Result<(Arc<Permit>, Connection, Marker), Trouble> {
        postgres::open_for_run(url, None)
    }

    fn hold_guard(permit: &Permit) -> Result<Guarded, Trouble> {
        permit.ensure_held().map(|()| if permit.was_lost() { Guarded::Again } else { Guarded::Always })
    }

    fn open_connection(permit: &Arc<Permit>, url: &PostgresUrl) -> Result<Connection, Trouble> {
        Connection::open_permitted(permit, url)
    }

    fn make_session(
        connection: Connection,
        scale: Scale,
        mode: Mode,
        numbered: Option<(&str, u32)>,
    ) -> Result<Box<dyn Execute>, Trouble> {
        let mode = mode_of(mode);
        Ok(Box::new(match numbered {
            Some(own) => Session::new_marked(connection, scale, mode, own)?,
            None => Session::new(connection, scale, mode)?,
        }))
    }

    fn read_marker(connection: &mut Connection) -> Result<Marker, Trouble> {
        postgres::read_marker(connection)
    }

    fn display_name(connection: &Connection) -> String {
        connection.display_name()
    }

    fn create_session_rows(connection: &mut Connection, run: &str, sessions: u32) -> Result<(), Trouble> {
        postgres::create_session_rows(connection, run, sessions)
    }

    fn kept_commits(connection: &mut Connection, run: &str, loaded: i32) -> Result<KeptCommits, Trouble> {
        postgres::read_kept(connection, run, loaded)
    }

    fn server_version(connection: &Connection) -> String {
        connection.session_settings().setting_value("server_version").to_owned()
    }

    fn read_settings(connection: &mut Connection) -> Result<Settings, Trouble> {
        connection.settings_now().map(settings_for_log)
    }

    fn begin_run(permit: &Permit) {
        permit.begin_run();
    }

    fn settings_seen(permit: &Permit) -> Vec<Settings> {
        permit.settings_seen().iter().map(settings_for_log).collect()
    }

    fn server_memory(connection: &Connection) -> Option<u64> {
        connection.session_settings().shared_buffers()
    }

    fn read_totals(connection: &mut Connection) -> Result<Totals, Trouble> {
        postgres::read_totals(connection)
    }

    fn check_conditions(connection: &mut Connection, population: Population) -> Result<Vec<Violation>, Trouble> {
        postgres::check_conditions(connection, population)
    }

    fn size_bytes(connection: &mut Connection) -> Result<u64, Trouble> {
        Ok(u64::try_from(Statistics::read_counters(connection)?.bytes).unwrap_or(0))
    }

    fn read_counters(connection: &mut Connection) -> Result<Counters, Trouble> {
        let Statistics { log_bytes, log_syncs, log_sync_us, checkpoints, commits, .. } =
            Statistics::read_counters(connection)?;
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

    fn read_life(connection: &mut Connection) -> Result<ServerStart, Trouble> {
        let assay_sql::postgres::Life { started, recovered } = assay_sql::postgres::Life::read_life(connection)?;
        Ok(ServerStart { started, recovered: Some(recovered) })
    }

    fn storage_places(connection: &Connection) -> Vec<(PathBuf, &'static str)> {
        let mut places = Vec::new();
        if let Some(directories) = &connection.session_settings().directories {
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
