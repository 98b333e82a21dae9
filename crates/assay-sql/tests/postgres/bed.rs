//! Databases in a cluster of PostgreSQL, and the sums of all their rows.

pub use super::cluster::Cluster;
pub use super::shared::{small, sums_of};
pub use assay_sql::PostgresUrl as Address;
pub use assay_sql::postgres as dialect;

use super::cluster::succeeds;
use assay_model::tpcc::{ColumnKind, Population, Table, Value};
use assay_sql::postgres::gate::Permit;
use assay_sql::postgres::{Connection, Loading, Mode, Session, load_missing};
use assay_sql::{Host, Marker, PostgresUrl, Trouble, Url};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A database of its own.
pub struct Bed {
    pub cluster: &'static Cluster,
    pub database: String,
}

impl Bed {
    pub fn new() -> Option<Bed> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let cluster = Cluster::shared()?;
        let database = format!("shop{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        succeeds(&mut cluster.psql("template1", &["-c", &format!("CREATE DATABASE {database} TEMPLATE template0")]));
        Some(Bed { cluster, database })
    }

    /// In a cluster that lives as long as the test program.
    pub fn of(cluster: &'static Cluster) -> Bed {
        let database = "shop".to_owned();
        succeeds(&mut cluster.psql("template1", &["-c", &format!("CREATE DATABASE {database} TEMPLATE template0")]));
        Bed { cluster, database }
    }

    /// With the small population.
    pub fn loaded() -> Option<Bed> {
        let bed = Bed::new()?;
        assert!(bed.load(small(), 2).unwrap().complete);
        Some(bed)
    }

    pub fn text(&self) -> String {
        format!("postgres://postgres@/{}?host={}", self.database, self.cluster.dir.display())
    }

    pub fn url(&self) -> PostgresUrl {
        url(&self.text())
    }

    /// Where the server listens.
    pub fn socket(&self) -> PathBuf {
        self.cluster.dir.join(format!(".s.PGSQL.{}", self.url().port))
    }

    /// By another socket of this name.
    pub fn url_by(&self, socket: &Path) -> PostgresUrl {
        PostgresUrl { host: Host::Socket(socket.parent().unwrap().to_owned()), ..self.url() }
    }

    /// As another role.
    pub fn url_as(&self, role: &str) -> PostgresUrl {
        PostgresUrl { user: Some(role.to_owned()), ..self.url() }
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

    /// Asks or changes the database behind the back of this program.
    pub fn ask(&self, sql: &str) -> String {
        let sql = format!("SET search_path = assay_tpcc, public; {sql}");
        succeeds(&mut self.cluster.psql(&self.database, &["-c", &sql])).trim_end().to_owned()
    }

    /// As [`Bed::ask`], for a statement that must be alone.
    pub fn ask_alone(&self, sql: &str) {
        succeeds(&mut self.cluster.psql(&self.database, &["-c", sql]));
    }

    /// Ends the connection that keeps another Assay out.
    pub fn end_the_lock(&self) {
        let here = "database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        let sql = format!("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND {here}");
        assert_eq!(self.ask(&sql), "t", "there is one");
    }

    /// Ends the connection of a session.
    pub fn end(&self, session: &mut Session) {
        assert_eq!(
            self.ask(&format!("SELECT pg_terminate_backend({})", session.connection_mut().server_process())),
            "t"
        );
    }

    /// A session of somebody else, whose standard input takes statements.
    pub fn other(&self) -> Child {
        let mut psql = self.cluster.psql(&self.database, &[]);
        psql.env("PGOPTIONS", "-c search_path=assay_tpcc");
        psql.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    /// The BLAKE3 of all rows of each table, in the order of the key, those of the history in that of all columns.
    pub fn sums(&self) -> BTreeMap<&'static str, String> {
        Table::ALL.iter().map(|table| (table.table_name(), self.sum_of(*table))).collect()
    }

    fn sum_of(&self, table: Table) -> String {
        let column = |it: &assay_model::tpcc::Column| match it.kind {
            ColumnKind::Money(_) => format!("({} * 100)::bigint", it.name),
            ColumnKind::Rate => format!("({} * 10000)::bigint", it.name),
            ColumnKind::Time => format!("(extract(epoch FROM {}) * 1000000)::bigint", it.name),
            _ => it.name.to_owned(),
        };
        let columns: Vec<String> = table.all_columns().iter().map(column).collect();
        let keys = if table.key_columns().is_empty() { table.all_columns() } else { table.key_columns() };
        let order: Vec<String> = keys
            .iter()
            .map(|it| match it.kind {
                ColumnKind::Varchar(_) | ColumnKind::Char(_) => format!("{} COLLATE \"C\"", it.name),
                _ => it.name.to_owned(),
            })
            .collect();
        let rows = format!("SELECT {} FROM {} ORDER BY {}", columns.join(", "), table.table_name(), order.join(", "));
        let text = self.ask(&format!("COPY ({rows}) TO STDOUT"));
        let mut bytes = Vec::new();
        for (column, text) in text.lines().flat_map(|line| table.all_columns().iter().zip(line.split('\t'))) {
            match (text, column.kind) {
                ("\\N", _) => Value::Null,
                (text, ColumnKind::Varchar(_) | ColumnKind::Char(_)) => Value::Text(text),
                (number, _) => Value::Integer(number.parse().unwrap()),
            }
            .encode_value(&mut bytes);
        }
        blake3::hash(&bytes).to_hex().to_string()
    }
}

pub fn url(text: &str) -> PostgresUrl {
    match Url::parse_url(text) {
        Ok(Url::Postgres(url)) => url,
        other => panic!("{text}: {other:?}"),
    }
}
