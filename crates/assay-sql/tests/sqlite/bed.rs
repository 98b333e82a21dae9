//! Databases for tests, and the sums of all their rows.

use assay_model::tpcc::interpreter::Database;
use assay_model::tpcc::{Population, Scale, Table, Value};
use assay_sql::sqlite::gate::Permit;
use assay_sql::sqlite::{Connection, Loading, Session, load_missing};
use assay_sql::{Marker, SqliteUrl, Trouble};
use rusqlite::types::ValueRef;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

pub fn small() -> Population {
    Population::new(Scale::for_tests(100, 30), 2, 5)
}

/// A database in a directory of its own.
pub struct Bed {
    _dir: tempfile::TempDir,
    pub path: PathBuf,
}

impl Bed {
    pub fn new() -> Bed {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("shop.db");
        Bed { _dir: dir, path }
    }

    /// With the small population.
    pub fn loaded() -> Bed {
        let bed = Bed::new();
        assert!(bed.load(small(), 1).unwrap().complete);
        bed
    }

    pub fn url(&self) -> SqliteUrl {
        SqliteUrl::new(&self.path)
    }

    pub fn loading(&self, population: Population, loaders: usize) -> Loading {
        Loading { url: self.url(), population, run: "test".into(), loaders, clear: false }
    }

    pub fn load(&self, population: Population, loaders: usize) -> Result<Marker, Trouble> {
        load_missing(&self.loading(population, loaders), &mut |_| ControlFlow::Continue(()))
    }

    pub fn permit(&self) -> Arc<Permit> {
        Arc::new(Permit::to_use(&self.path).unwrap())
    }

    pub fn connection(&self) -> Connection {
        Connection::open_permitted(&self.permit(), &self.url()).unwrap()
    }

    pub fn session(&self) -> Session {
        Session::new(self.connection(), small().row_scale())
    }

    /// Changes the database behind the back of this program.
    pub fn change(&self, sql: &str) -> usize {
        rusqlite::Connection::open(&self.path).unwrap().execute(sql, []).unwrap()
    }

    /// The same with several statements.
    pub fn change_all(&self, sql: &str) {
        rusqlite::Connection::open(&self.path).unwrap().execute_batch(sql).unwrap();
    }

    /// All definitions, and how many rows each table has.
    pub fn dump(&self) -> Vec<(String, i64)> {
        let sqlite = rusqlite::Connection::open(&self.path).unwrap();
        let mut statement = sqlite.prepare("SELECT name, sql, type FROM sqlite_schema ORDER BY 1").unwrap();
        let read = |row: &rusqlite::Row<'_>| {
            let (name, kind): (String, String) = (row.get(0)?, row.get(2)?);
            let rows = if kind == "table" {
                sqlite.query_row(&format!("SELECT count(*) FROM {name}"), [], |row| row.get(0))?
            } else {
                0
            };
            Ok((format!("{name}: {:?}", row.get::<_, Option<String>>(1)?), rows))
        };
        statement.query_map([], read).unwrap().collect::<rusqlite::Result<_>>().unwrap()
    }

    /// The BLAKE3 of all rows of each table, in the order of the key, those of the history in that of all columns.
    pub fn sums(&self) -> BTreeMap<&'static str, String> {
        let sqlite = rusqlite::Connection::open(&self.path).unwrap();
        Table::ALL.iter().map(|table| (table.table_name(), sum_of(&sqlite, *table))).collect()
    }
}

fn sum_of(sqlite: &rusqlite::Connection, table: Table) -> String {
    let columns: Vec<&str> = table.all_columns().iter().map(|column| column.name).collect();
    let order = if table.key_columns().is_empty() { columns.len() } else { table.key_columns().len() };
    let sql =
        format!("SELECT {} FROM {} ORDER BY {}", columns.join(", "), table.table_name(), columns[..order].join(", "));
    let mut statement = sqlite.prepare(&sql).unwrap();
    let mut rows = statement.query([]).unwrap();
    let (mut hasher, mut bytes) = (blake3::Hasher::new(), Vec::new());
    while let Some(row) = rows.next().unwrap() {
        bytes.clear();
        for column in 0..columns.len() {
            value(row.get_ref(column).unwrap()).encode_value(&mut bytes);
        }
        hasher.update(&bytes);
    }
    hasher.finalize().to_hex().to_string()
}

fn value(value: ValueRef<'_>) -> Value<'_> {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Text(text) => Value::Text(std::str::from_utf8(text).unwrap()),
        other => panic!("no column holds {other:?}"),
    }
}

/// The same sums of the interpreter's rows.
pub fn sums_of(database: &Database) -> BTreeMap<&'static str, String> {
    let sum = |table: Table| {
        let mut bytes = Vec::new();
        database.rows_by_key(table).iter().for_each(|row| row.encode_values(&mut bytes));
        blake3::hash(&bytes).to_hex().to_string()
    };
    Table::ALL.iter().map(|table| (table.table_name(), sum(*table))).collect()
}
