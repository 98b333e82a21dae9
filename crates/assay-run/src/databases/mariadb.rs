//! A MariaDB server as the target of a run.

use super::opened::{Counters, Guarded, ServerStart, Settings};
use super::server::{Protocol, mode_of};
use assay_model::tpcc::checks::Violation;
use assay_model::tpcc::load::Mode;
use assay_model::tpcc::{Population, Scale};
use assay_sql::mysql::{self, Connection, Session, Statistics, gate::Permit};
use assay_sql::{Execute, KeptCommits, Marker, MysqlUrl, Totals, Trouble};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Mysql;

impl Protocol for Mysql {
    type Url = MysqlUrl;
    type Permit = Permit;
    type Connection = Connection;
    const DIALECT: &'static str = "mariadb";
    const ISOLATION: &'static str =
        "read committed, with what is written read under lock; order-status in one snapshot of repeatable read";

    fn pass_gate(url: &MysqlUrl) -> Result<(Arc<Permit>, Connection, Marker), Trouble> {
        mysql::open_for_run(url, None)
    }

    fn hold_guard(permit: &Permit) -> Result<Guarded, Trouble> {
        permit.ensure_held().map(|()| if permit.was_lost() { Guarded::Again } else { Guarded::Always })
    }

    fn open_connection(permit: &Arc<Permit>, url: &MysqlUrl) -> Result<Connection, Trouble> {
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
        mysql::read_marker(connection)
    }

    fn display_name(connection: &Connection) -> String {
        connection.display_name()
    }

    fn create_session_rows(connection: &mut Connection, run: &str, sessions: u32) -> Result<(), Trouble> {
        mysql::create_session_rows(connection, run, sessions)
    }

    fn kept_commits(connection: &mut Connection, run: &str, loaded: i32) -> Result<KeptCommits, Trouble> {
        mysql::read_kept(connection, run, loaded)
    }

    fn server_version(connection: &Connection) -> String {
        connection.session_settings().setting_value("version").to_owned()
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
        connection.session_settings().setting_value("innodb_buffer_pool_size").parse().ok()
    }

    fn read_totals(connection: &mut Connection) -> Result<Totals, Trouble> {
        mysql::read_totals(connection)
    }

    fn check_conditions(connection: &mut Connection, population: Population) -> Result<Vec<Violation>, Trouble> {
        mysql::check_conditions(connection, population)
    }

    fn size_bytes(connection: &mut Connection) -> Result<u64, Trouble> {
        Statistics::database_bytes(connection)
    }

    fn read_counters(connection: &mut Connection) -> Result<Counters, Trouble> {
        let Statistics { log_bytes, log_writes, log_syncs, checkpoint_bytes, commits } =
            Statistics::read_counters(connection)?;
        let all = [
            ("log_bytes", Some(log_bytes)),
            ("log_writes", Some(log_writes)),
            ("log_syncs", log_syncs),
            ("checkpoint_bytes", checkpoint_bytes),
            ("commits", Some(commits)),
        ];
        Ok(all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
    }

    /// The server does not say how it ended before.
    fn read_life(connection: &mut Connection) -> Result<ServerStart, Trouble> {
        Ok(ServerStart { started: mysql::server_start(connection)?, recovered: None })
    }

    fn storage_places(connection: &Connection) -> Vec<(PathBuf, &'static str)> {
        let mut places = Vec::new();
        if let Some(directories) = &connection.session_settings().directories {
            let mysql::Directories { data, log, binary_log, .. } = directories;
            places.extend([(data.clone(), "data"), (log.clone(), "log")]);
            places.extend(binary_log.clone().map(|path| (path, "log")));
        }
        places
    }
}

/// The settings of a server as the log has them.
fn settings_for_log(settings: &mysql::Settings) -> Settings {
    let engines = (!settings.other_engines.is_empty())
        .then(|| ("tables of other engines".to_owned(), settings.other_engines.join(", ")));
    let named = settings.values.clone().into_iter().chain(engines).collect();
    Settings { named, not_durable: settings.not_durable() }
}
