//! What PostgreSQL and MariaDB have alike, so that it stands once: the statements of the same text, how the answers to
//! them are read, and what follows when a session cannot be connected again. Statements that differ in a single word are with
//! their server.

use crate::fault::Fault;
use crate::marker::{Columns, Marker};
use crate::trouble::Trouble;
use assay_base::text::one_line;
use std::io;
use std::time::Duration;

/// Reads the marker of a load. As in all statements, `@` stands for the prefix of the names of tables.
pub(crate) const READ_MARKER: &str =
    "SELECT version, run, warehouses, seed, c_load, items, customers, complete FROM @assay_tpcc";

/// After a failure to connect again, how long the next attempt is kept back: a server that is down is not asked without
/// a pause.
const PAUSE: Duration = Duration::from_millis(100);

/// Reads the numbers in the rows of the sessions of a run, whose name is written as a value.
pub(crate) fn read_sessions(run: &str) -> String {
    format!("SELECT session, seq FROM @assay_session WHERE run = {run}")
}

/// A row in the answer to a statement that is not prepared.
pub(crate) trait WrittenRow {
    /// The text in a column.
    fn text(&self, column: usize) -> io::Result<&str>;
    /// The whole number in a column.
    fn number(&self, column: usize) -> io::Result<i64>;
}

/// The marker in the rows that [`READ_MARKER`] finds, of which there must be one. `lacking` makes the refusal of a database
/// from what is wrong with its marker.
pub(crate) fn marker_in_rows<R: WrittenRow>(rows: &[R], lacking: impl Fn(&str) -> Trouble) -> Result<Marker, Trouble> {
    let [row] = rows else { return Err(lacking("has not exactly one marker of a load")) };
    let columns =
        columns(row).map_err(|why| lacking(&format!("has a marker that no load wrote ({})", one_line(why))))?;
    Marker::from_columns(columns).ok_or_else(|| lacking("has a marker that no load wrote"))
}

/// The columns of the marker's row.
fn columns(row: &impl WrittenRow) -> io::Result<Columns> {
    Ok(Columns {
        version: row.number(0)?,
        run: row.text(1)?.to_owned(),
        warehouses: row.number(2)?,
        seed: row.text(3)?.to_owned(),
        c_load: row.number(4)?,
        items: row.number(5)?,
        customers: row.number(6)?,
        complete: row.number(7)?,
    })
}

/// Why a transaction was not executed whose session could not be connected again. Pauses, so that the next attempt does not
/// follow at once.
#[expect(clippy::disallowed_methods, reason = "a session pauses in its own thread, before it connects again")]
pub(crate) fn not_connected_again(trouble: &Trouble) -> Fault {
    std::thread::sleep(PAUSE);
    Fault { code: Fault::LOST.to_owned(), text: trouble.to_string(), again: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::tpcc::{Population, Scale};

    impl WrittenRow for Vec<String> {
        fn text(&self, column: usize) -> io::Result<&str> {
            self.get(column).map(String::as_str).ok_or_else(|| io::Error::other("no column"))
        }
        fn number(&self, column: usize) -> io::Result<i64> {
            self.text(column)?.parse().map_err(io::Error::other)
        }
    }

    /// The columns in the order in which [`READ_MARKER`] names them.
    fn written(marker: &Marker) -> Vec<String> {
        let Columns { version, run, warehouses, seed, c_load, items, customers, complete } = marker.to_columns();
        let [version, warehouses, c_load] = [version, warehouses, c_load].map(|number| number.to_string());
        let [items, customers, complete] = [items, customers, complete].map(|number| number.to_string());
        vec![version, run, warehouses, seed, c_load, items, customers, complete]
    }

    #[test]
    fn one_row_that_a_load_wrote_is_a_marker_and_anything_else_is_refused() {
        let marker = Marker::new("a", Population::new(Scale::for_tests(100, 30), 2, 5));
        let read = |rows: &[Vec<String>]| marker_in_rows(rows, |what| Trouble::refused_for_safety(what));
        let good = written(&marker);
        assert_eq!(read(std::slice::from_ref(&good)), Ok(marker));
        let mut no_number = good.clone();
        no_number[2] = "two".into();
        let mut impossible = good.clone();
        impossible[7] = "2".into();
        for (rows, says) in [
            (vec![], "has not exactly one marker of a load"),
            (vec![good.clone(), good], "has not exactly one marker of a load"),
            (vec![no_number], "has a marker that no load wrote (invalid digit found in string)"),
            (vec![impossible], "has a marker that no load wrote"),
        ] {
            assert_eq!(read(&rows), Err(Trouble::refused_for_safety(says)), "{rows:?}");
        }
    }
}
