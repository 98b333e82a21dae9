//! What the server's catalogue says about the tables of our names and what hangs on them, as SQL.

use super::schema::{self, text_literal};

/// One number for all of it, and for the bodies of the procedures; nothing where there are none of our tables. The
/// sessions' own table, which a run makes, is not in it.
///
/// What the user may not see, such as the body of somebody else's procedure, is empty at each reading.
pub(super) fn catalogue_checksum_query(database: &str) -> String {
    let names: Vec<String> = schema::table_names().filter(|name| *name != "assay_session").map(text_literal).collect();
    let (names, here) = (names.join(", "), format!("= BINARY {}", text_literal(database)));
    let all = [
        of_tables(
            &here,
            &names,
            "table",
            "table_name, table_type, engine, row_format, create_options",
            "tables",
            "table",
        ),
        of_tables(
            &here,
            &names,
            "column",
            "table_name, ordinal_position, column_name, column_type, collation_name, is_nullable, column_default, extra",
            "columns",
            "table",
        ),
        of_tables(
            &here,
            &names,
            "index",
            "table_name, index_name, non_unique, seq_in_index, column_name, sub_part",
            "statistics",
            "table",
        ),
        of_tables(
            &here,
            &names,
            "constraint",
            "table_name, constraint_name, constraint_type",
            "table_constraints",
            "table",
        ),
        of_tables(
            &here,
            &names,
            "trigger",
            "event_object_table, trigger_name, action_timing, event_manipulation, action_statement",
            "triggers",
            "event_object",
        ),
        format!(
            "SELECT concat_ws(' ', 'routine', routine_name, routine_type, security_type, sql_mode, routine_definition) \
             FROM information_schema.routines WHERE routine_schema {here}"
        ),
    ];
    format!(
        "SELECT md5(group_concat(made ORDER BY BINARY made SEPARATOR '\\n')) FROM ({}) AS it WHERE EXISTS \
         (SELECT 1 FROM information_schema.tables WHERE table_schema {here} AND table_name IN ({names}))",
        all.join(" UNION ALL ")
    )
}

/// What `information_schema.{from}` says about the tables of these names; its columns of schema and table begin with
/// `table`.
fn of_tables(here: &str, names: &str, what: &str, members: &str, from: &str, table: &str) -> String {
    format!(
        "SELECT concat_ws(' ', '{what}', {members}) AS made FROM information_schema.{from} \
         WHERE {table}_schema {here} AND {table}_{} IN ({names})",
        if table == "table" { "name" } else { "table" }
    )
}
