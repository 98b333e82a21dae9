//! Whether the tables of a file are those that a load makes, and a number by which a change of them shows.
//!
//! Anybody can change a file of SQLite: put a view or a table of their own in the place of one of ours, drop a key, or
//! have a trigger write more with each of our rows. SQLite keeps the text of each definition in a table of its own.

use super::schema;
use crate::trouble::Trouble;
use assay_base::text::one_line;
use assay_model::tpcc::Table;
use std::collections::BTreeMap;

/// A definition, as SQLite keeps it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Definition {
    /// `table`, `index`, `view` or `trigger`.
    kind: String,
    name: String,
    /// The table to which it belongs.
    table: String,
    /// Its text; none for an index that SQLite makes for a key.
    text: Option<String>,
}

/// The definitions of our names, and those that hang on our tables.
#[derive(Debug)]
pub(super) struct Definitions(Vec<Definition>);

impl Definitions {
    /// Reads them.
    pub(super) fn read_definitions(sqlite: &rusqlite::Connection) -> rusqlite::Result<Definitions> {
        let ours: Vec<String> = schema::table_names().map(|name| format!("'{name}'")).collect();
        let ours = ours.join(", ");
        let sql = format!(
            "SELECT type, name, tbl_name, sql FROM main.sqlite_schema \
             WHERE lower(tbl_name) IN ({ours}) OR lower(name) IN ({ours}) ORDER BY 1, 2, 3, 4"
        );
        let mut statement = sqlite.prepare_cached(&sql)?;
        Ok(Definitions(
            statement
                .query_map([], |row: &rusqlite::Row<'_>| {
                    Ok(Definition { kind: row.get(0)?, name: row.get(1)?, table: row.get(2)?, text: row.get(3)? })
                })?
                .collect::<rusqlite::Result<_>>()?,
        ))
    }

    /// One number for all of them: FNV-1a of their texts. The sessions' own table, which a run makes, is not in it.
    pub(super) fn definitions_checksum(&self) -> u64 {
        let own = self.0.iter().filter(|definition| definition.table != "assay_session");
        let texts = own.map(|Definition { kind, name, table, text }| {
            [kind, name, table, text.as_deref().unwrap_or_default()].join("\0")
        });
        texts
            .flat_map(|text| text.into_bytes().into_iter().chain([0]))
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    /// What no load has made: other tables and views under our names, and triggers on our tables.
    fn foreign_definitions(&self) -> Vec<&Definition> {
        let made: BTreeMap<&str, String> = table_definitions().collect();
        self.0
            .iter()
            .filter(|definition| match definition.kind.as_str() {
                "table" => made.get(definition.name.as_str()) != normalised_text(definition.text.as_deref()).as_ref(),
                "index" => false,
                _ => true,
            })
            .collect()
    }

    /// The tables that are missing. That of the sessions is made by a run.
    fn missing_tables(&self) -> Vec<&'static str> {
        schema::table_names()
            .filter(|name| *name != "assay_session" && self.find_definition("table", name).is_none())
            .collect()
    }

    /// The indexes that are missing, or not as a load makes them. The keys of a table are in its own definition.
    fn missing_indexes(&self) -> Vec<&'static str> {
        let wrong = index_definitions().filter(|(name, text)| {
            let found = self.find_definition("index", name);
            found.is_none_or(|found| normalised_text(found.text.as_deref()).as_ref() != Some(text))
        });
        wrong.map(|(name, _)| name).collect()
    }

    /// The definition of this kind and name.
    fn find_definition(&self, kind: &str, name: &str) -> Option<&Definition> {
        self.0.iter().find(|definition| definition.kind == kind && definition.name == name)
    }

    /// Refuses what no load has made.
    pub(super) fn refuse_foreign(&self, shown: &str) -> Result<(), Trouble> {
        refuse_definitions(&self.foreign_definitions(), shown)
    }

    /// Refuses what `--clear` would delete although no load has made it. What depends on a table keeps it from that too.
    pub(super) fn refuse_foreign_tables(&self, shown: &str) -> Result<(), Trouble> {
        let mut foreign = self.foreign_definitions();
        foreign.retain(|definition| definition.kind != "trigger");
        refuse_definitions(&foreign, shown)
    }

    /// Refuses a database that lacks what a load needs that has nothing left to do, or that goes on.
    pub(super) fn are_loadable(&self, shown: &str, is_complete: bool) -> Result<(), Trouble> {
        let mut missing = self.missing_tables();
        if is_complete {
            missing.extend(self.missing_indexes());
        }
        if missing.is_empty() {
            return Ok(());
        }
        let what = if is_complete { "a whole load" } else { "a load in part, but is something that no load has made" };
        Err(Trouble::refused_for_safety(format!(
            "{shown} says that it holds {what}: {} missing: load it again with assay prep --clear",
            with_verb(&missing)
        )))
    }

    /// Refuses a database that lacks what a run or a check needs.
    pub(super) fn are_usable(&self, shown: &str) -> Result<(), Trouble> {
        self.refuse_foreign(shown)?;
        let (tables, indexes) = (self.missing_tables(), self.missing_indexes());
        let again = "load it again with assay prep --clear";
        if !tables.is_empty() {
            return Err(Trouble::damaged_database(format!(
                "{shown} is damaged: {} missing: {again}",
                with_verb(&tables)
            )));
        }
        if !indexes.is_empty() {
            let text = format!("{shown} is not as a load makes it: {} missing: {again}", with_verb(&indexes));
            return Err(Trouble::not_ready(text));
        }
        Ok(())
    }
}

fn refuse_definitions(foreign: &[&Definition], shown: &str) -> Result<(), Trouble> {
    if foreign.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = foreign.iter().map(|found| format!("the {} {}", found.kind, found.name)).collect();
    Err(Trouble::refused_for_safety(format!(
        "{shown} holds something that no load has made, and is left as it is: name another file, or remove it first ({})",
        one_line(names.join(", "))
    )))
}

fn with_verb(names: &[&str]) -> String {
    format!("{} {}", names.join(", "), if names.len() == 1 { "is" } else { "are" })
}

/// A definition without what SQLite leaves out when it keeps it, and with single blanks.
fn normalised_text(text: Option<&str>) -> Option<String> {
    let text = text?.replace("IF NOT EXISTS ", "").replace(" main.", " ").replace(';', "");
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// All tables of ours, each with its definition.
fn table_definitions() -> impl Iterator<Item = (&'static str, String)> {
    let workload = Table::ALL.into_iter().map(|table| (table.table_name(), schema::table_definition(table)));
    let ours = [schema::MARKER, schema::PARTS, schema::SESSIONS];
    let ours = ["assay_tpcc", "assay_parts", "assay_session"].into_iter().zip(ours.map(str::to_owned));
    workload.chain(ours).filter_map(|(name, text)| Some((name, normalised_text(Some(&text))?)))
}

/// All indexes of a load, each with its definition.
fn index_definitions() -> impl Iterator<Item = (&'static str, String)> {
    Table::ALL.into_iter().filter_map(|table| {
        Some((table.second_index()?.0, normalised_text(schema::index_definition(table).as_deref())?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marker::Marker;
    use crate::trouble::TroubleKind;
    use assay_model::tpcc::{Population, Scale};

    /// A database as a load leaves it, without rows.
    fn loaded() -> rusqlite::Connection {
        let sqlite = rusqlite::Connection::open_in_memory().unwrap();
        let marker = Marker::new("a", Population::new(Scale::for_tests(100, 30), 1, 1));
        super::super::connection::create_tables(&sqlite, &marker).unwrap();
        for index in Table::ALL.into_iter().filter_map(schema::index_definition) {
            sqlite.execute_batch(&index).unwrap();
        }
        sqlite
    }

    #[test]
    fn what_a_load_makes_is_usable_with_and_without_the_sessions_of_a_run() {
        let sqlite = loaded();
        let before = Definitions::read_definitions(&sqlite).unwrap();
        assert_eq!((before.are_usable("shop.db"), before.are_loadable("shop.db", true)), (Ok(()), Ok(())));
        sqlite.execute_batch(schema::SESSIONS).unwrap();
        let after = Definitions::read_definitions(&sqlite).unwrap();
        assert_eq!(
            (after.are_usable("shop.db"), after.definitions_checksum()),
            (Ok(()), before.definitions_checksum())
        );
        sqlite.execute_batch("CREATE TABLE mine (a); CREATE VIEW of_mine AS SELECT * FROM mine").unwrap();
        let beside = Definitions::read_definitions(&sqlite).unwrap();
        assert_eq!(
            (beside.are_usable("shop.db"), beside.definitions_checksum()),
            (Ok(()), before.definitions_checksum()),
            "somebody else's own"
        );
    }

    #[test]
    fn what_no_load_has_made_or_is_missing_is_named_and_changes_the_number() {
        let trigger = "CREATE TRIGGER more AFTER INSERT ON orders BEGIN DELETE FROM item; END";
        for (change, kind, says) in [
            (trigger, TroubleKind::Refused, "the trigger more"),
            ("DROP TABLE item; CREATE VIEW item AS SELECT 1 AS i_id", TroubleKind::Refused, "the view item"),
            ("ALTER TABLE stock ADD COLUMN more INTEGER", TroubleKind::Refused, "the table stock"),
            ("ALTER TABLE stock RENAME COLUMN s_ytd TO s_y", TroubleKind::Refused, "the table stock"),
            (
                "DROP TABLE assay_parts; CREATE TABLE assay_parts (name TEXT)",
                TroubleKind::Refused,
                "the table assay_parts",
            ),
            ("DROP TABLE item", TroubleKind::Damaged, "item is missing"),
            ("DROP INDEX customer_by_name", TroubleKind::NotReady, "customer_by_name is missing"),
            (
                "DROP INDEX customer_by_name; CREATE INDEX customer_by_name ON customer (c_last)",
                TroubleKind::NotReady,
                "customer_by_name is missing",
            ),
        ] {
            let sqlite = loaded();
            let before = Definitions::read_definitions(&sqlite).unwrap().definitions_checksum();
            sqlite.execute_batch(change).unwrap();
            let found = Definitions::read_definitions(&sqlite).unwrap();
            let trouble = found.are_usable("shop.db").unwrap_err();
            assert!(trouble.kind == kind && trouble.to_string().contains(says), "{change}: {trouble}");
            assert_ne!(found.definitions_checksum(), before, "{change}");
        }
    }
}
