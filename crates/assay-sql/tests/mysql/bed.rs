//! Databases of a MariaDB server, and the sums of all their rows.

pub use super::server::Server;
pub use super::shared::{small, sums_of};
pub use assay_sql::MysqlUrl as Address;
pub use assay_sql::mysql as dialect;

use super::server::succeeds;
use assay_model::tpcc::{ColumnKind, Population, Table, Value};
use assay_sql::mysql::gate::Permit;
use assay_sql::mysql::{Connection, Loading, Mode, Session, load_missing};
use assay_sql::{Host, Marker, MysqlUrl, Trouble, Url};
use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A database of its own, which the load makes.
pub struct Bed {
    pub server: &'static Server,
    pub database: String,
}

impl Bed {
    pub fn new() -> Option<Bed> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let server = Server::shared()?;
        Some(Bed { server, database: format!("shop{}", NUMBER.fetch_add(1, Ordering::Relaxed)) })
    }

    /// On a server that lives as long as the test program.
    pub fn of(server: Server) -> Bed {
        Bed { server: Box::leak(Box::new(server)), database: "shop".to_owned() }
    }

    /// With the small population.
    pub fn loaded() -> Option<Bed> {
        let bed = Bed::new()?;
        assert!(bed.load(small(), 2).unwrap().complete);
        Some(bed)
    }

    pub fn text(&self) -> String {
        format!("mysql://root@/{}?socket={}", self.database, self.server.socket().display())
    }

    pub fn url(&self) -> MysqlUrl {
        url(&self.text())
    }

    /// Where the server listens.
    pub fn socket(&self) -> PathBuf {
        self.server.socket()
    }

    /// By another socket.
    pub fn url_by(&self, socket: &Path) -> MysqlUrl {
        MysqlUrl { host: Host::Socket(socket.to_owned()), ..self.url() }
    }

    /// As another user.
    pub fn url_as(&self, user: &str) -> MysqlUrl {
        MysqlUrl { user: Some(user.to_owned()), ..self.url() }
    }

    pub fn loading(&self, population: Population, loaders: usize) -> Loading {
        Loading { url: self.url(), population, run: "test".into(), loaders, clear: false }
    }

    pub fn load(&self, population: Population, loaders: usize) -> Result<Marker, Trouble> {
        load_missing(&self.loading(population, loaders), &mut |_| ControlFlow::Continue(()))
    }

    pub fn permit(&self) -> Arc<Permit> {
        Arc::new(Permit::to_use(&self.url()).unwrap())
    }

    pub fn connection(&self) -> Connection {
        self.connection_with(&self.permit())
    }

    pub fn connection_with(&self, permit: &Arc<Permit>) -> Connection {
        Connection::open_permitted(permit, &self.url()).unwrap()
    }

    pub fn session(&self, permit: &Arc<Permit>, mode: Mode) -> Session {
        Session::new(self.connection_with(permit), small().row_scale(), mode).unwrap()
    }

    /// Asks or changes the server behind the back of this program.
    pub fn ask_server(&self, sql: &str) -> String {
        succeeds(&mut self.server.client(&["-e", sql])).trim_end().to_owned()
    }

    /// As [`Bed::ask_server`], in the database.
    pub fn ask(&self, sql: &str) -> String {
        self.ask_server(&format!("USE {}; {sql}", self.database))
    }

    /// Ends the connection that keeps another Assay out.
    pub fn end_the_lock(&self) {
        let holder = self.ask_server(&format!("SELECT IS_USED_LOCK('assay_tpcc {}')", self.database));
        self.ask_server(&format!("KILL {holder}"));
    }

    /// Ends the connection of a session.
    pub fn end(&self, session: &mut Session) {
        self.ask_server(&format!("KILL {}", session.connection_mut().server_thread()));
    }

    /// A session of somebody else, which has carried out these statements when this returns, and takes more.
    pub fn other(&self, sql: &str) -> (Child, ChildStdin) {
        let mut client = self.server.client(&[&self.database]);
        let mut child = client.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let lock = format!("done {}", child.id());
        input.write_all(format!("{sql}; DO GET_LOCK('{lock}', 0);\n").as_bytes()).unwrap();
        while self.ask(&format!("SELECT IS_USED_LOCK('{lock}') IS NOT NULL")) == "0" {
            assert_eq!(child.try_wait().unwrap(), None, "{sql}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        (child, input)
    }

    /// The state and the isolation level of a connection's transaction, if it has one.
    ///
    /// The server renews the table only if nobody has read it for 100 ms. Whoever reads it more often, or several who take
    /// turns, see the same old content for ever.
    pub fn transaction(&self, thread: u32) -> Option<(String, String)> {
        static ALONE: Mutex<()> = Mutex::new(());
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::sleep(Duration::from_millis(150));
        let columns = "SELECT trx_state, trx_isolation_level FROM information_schema.innodb_trx";
        let found = self.ask(&format!("{columns} WHERE trx_mysql_thread_id = {thread}"));
        let (state, level) = found.trim_end().split_once('\t')?;
        Some((state.to_owned(), level.to_owned()))
    }

    /// Waits until `is` holds for a connection's transaction, and returns it.
    pub fn until(&self, thread: u32, is: impl Fn(&str) -> bool) -> (String, String) {
        let begin = Instant::now();
        loop {
            let found = self.transaction(thread);
            if let Some(found) = found.clone().filter(|(state, _)| is(state)) {
                return found;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "the transaction of {thread} is {found:?}");
        }
    }

    /// Waits until a connection waits for a lock.
    pub fn until_waits(&self, thread: u32) {
        self.until(thread, |state| state == "LOCK WAIT");
    }

    /// The BLAKE3 of all rows of each table, in the order of the key, those of the history in that of all columns.
    pub fn sums(&self) -> BTreeMap<&'static str, String> {
        Table::ALL.iter().map(|table| (table.table_name(), self.sum_of(*table))).collect()
    }

    fn sum_of(&self, table: Table) -> String {
        let column = |it: &assay_model::tpcc::Column| match it.kind {
            ColumnKind::Money(_) => format!("CAST({} * 100 AS signed)", it.name),
            ColumnKind::Rate => format!("CAST({} * 10000 AS signed)", it.name),
            ColumnKind::Time => format!("timestampdiff(MICROSECOND, '1970-01-01', {})", it.name),
            _ => it.name.to_owned(),
        };
        let columns: Vec<String> = table.all_columns().iter().map(column).collect();
        let keys = if table.key_columns().is_empty() { table.all_columns() } else { table.key_columns() };
        let order: Vec<&str> = keys.iter().map(|it| it.name).collect();
        let text = self.ask(&format!(
            "SELECT {} FROM {} ORDER BY {}",
            columns.join(", "),
            table.table_name(),
            order.join(", ")
        ));
        let mut bytes = Vec::new();
        for (column, text) in text.lines().flat_map(|line| table.all_columns().iter().zip(line.split('\t'))) {
            match (text, column.kind) {
                (text, ColumnKind::Varchar(_) | ColumnKind::Char(_)) => Value::Text(text),
                ("NULL", _) => Value::Null,
                (number, _) => Value::Integer(number.parse().unwrap()),
            }
            .encode_value(&mut bytes);
        }
        blake3::hash(&bytes).to_hex().to_string()
    }
}

pub fn url(text: &str) -> MysqlUrl {
    match Url::parse_url(text) {
        Ok(Url::Mysql(url)) => url,
        other => panic!("{text}: {other:?}"),
    }
}
