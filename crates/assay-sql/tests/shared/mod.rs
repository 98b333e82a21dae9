//! What the tests of every server share: a small population, the sums of its rows, and what sessions do together.

mod disk;

pub use disk::Small;

use assay_base::Span;
use assay_model::tpcc::interpreter::Database;
use assay_model::tpcc::{Outcome, Parameters, Population, Scale, Table, Transaction};
use assay_sql::{Execute, Fault, Retry};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

pub fn small() -> Population {
    Population::new(Scale::for_tests(100, 30), 2, 5)
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

pub fn parameters(seed: u64, warehouses: i32) -> Parameters {
    Parameters::new(seed, small().c_load(), warehouses, small().row_scale())
}

/// What sessions did together; the last numbers are of those whose outcome is unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    pub orders: i64,
    pub payments: i64,
    pub paid: i64,
    pub unknown: i64,
    pub unknown_paid: i64,
}

impl Done {
    pub fn count(&mut self, transaction: &Transaction, outcome: &Outcome) {
        match (transaction, outcome) {
            (_, Outcome::Ordered(_)) => self.orders += 1,
            (Transaction::Payment(asked), Outcome::Paid(_)) => {
                self.payments += 1;
                self.paid += asked.amount;
            }
            _ => {}
        }
    }

    pub fn plus(self, other: Done) -> Done {
        Done {
            orders: self.orders + other.orders,
            payments: self.payments + other.payments,
            paid: self.paid + other.paid,
            unknown: self.unknown + other.unknown,
            unknown_paid: self.unknown_paid + other.unknown_paid,
        }
    }
}

/// Executes a transaction until it is done, however long other tests keep this machine from it.
pub fn persistent(session: &mut impl Execute, transaction: &Transaction, number: u64) -> Result<Outcome, Fault> {
    let mut retry = Retry::new(1, number);
    loop {
        match session.execute_transaction(transaction) {
            Err(Fault { again: true, .. }) => {
                let pause = retry.next_pause().unwrap_or(Span::from_ms(50));
                std::thread::sleep(std::time::Duration::from_nanos(pause.as_ns()));
            }
            done => return done,
        }
    }
}

/// A key and a certificate with an extension, signed by itself or by another one.
pub fn certificate(dir: &Path, file: &str, extension: &str, signer: Option<&str>) {
    std::fs::write(dir.join("openssl.cnf"), "[req]\ndistinguished_name = dn\n[dn]\n").unwrap();
    let mut openssl = Command::new("openssl");
    openssl.current_dir(dir).args(["req", "-x509", "-config", "openssl.cnf", "-newkey", "ec", "-pkeyopt"]);
    openssl.args(["ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", &format!("/CN={file}")]);
    openssl.args(["-addext", extension, "-keyout", &format!("{file}.key"), "-out", &format!("{file}.crt")]);
    if let Some(signer) = signer {
        openssl.args(["-CA", &format!("{signer}.crt"), "-CAkey", &format!("{signer}.key")]);
    }
    let made = openssl.output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// A port that nobody listens on at this moment.
pub fn port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
