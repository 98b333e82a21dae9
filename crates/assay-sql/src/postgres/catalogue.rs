//! What the server's catalogue says about the tables of our names and what hangs on them, as SQL.

use super::schema::{self, text_literal};

/// One query for all relations of our names: what they are, their unique indexes, and what others hang on them.
///
/// A table is described by its columns; what only looks like one, or shares rows with others, by the letter of its kind.
pub(super) fn catalogue_query(schema: &str) -> String {
    let names: Vec<String> = schema::table_names().map(text_literal).collect();
    format!(
        "WITH ours AS (SELECT oid, relname, relkind, relispartition, relrowsecurity FROM pg_class \
         WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = {schema}) AND relname IN ({names})) \
         SELECT 'table' AS what, relname::text AS name, CASE WHEN relkind <> 'r' OR relispartition \
         OR EXISTS (SELECT 1 FROM pg_inherits WHERE ours.oid IN (inhrelid, inhparent)) THEN 'of kind ' || relkind::text \
         ELSE coalesce((SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod) \
         || CASE WHEN collname IS NULL OR collname = 'default' THEN '' ELSE ' ' || collname END \
         || CASE WHEN attnotnull THEN ' not null' ELSE '' END || CASE WHEN atthasdef OR attidentity <> '' THEN ' by default' \
         ELSE '' END, ', ' ORDER BY attnum) FROM pg_attribute LEFT JOIN pg_collation AS l ON l.oid = attcollation \
         WHERE attrelid = ours.oid AND attnum > 0 AND NOT attisdropped), '') END AS made FROM ours \
         UNION ALL SELECT 'index', c.relname, ours.relname || CASE WHEN indisprimary THEN ' primary ' ELSE ' ' END \
         || substring(pg_get_indexdef(indexrelid) FROM ' USING (.*)$') FROM ours JOIN pg_index ON indrelid = ours.oid \
         JOIN pg_class AS c ON c.oid = indexrelid WHERE indisunique AND indisvalid \
         UNION ALL SELECT 'other', 'the trigger ' || tgname || ' of ' || relname, tgenabled::text FROM ours \
         JOIN pg_trigger ON tgrelid = ours.oid WHERE NOT tgisinternal \
         UNION ALL SELECT 'other', 'the rule ' || rulename || ' of ' || relname, ev_enabled::text FROM ours \
         JOIN pg_rewrite ON ev_class = ours.oid WHERE relkind = 'r' \
         UNION ALL SELECT 'other', 'the policy ' || polname || ' of ' || relname, '' FROM ours \
         JOIN pg_policy ON polrelid = ours.oid \
         UNION ALL SELECT 'other', 'row-level security of ' || relname, '' FROM ours WHERE relrowsecurity \
         UNION ALL SELECT 'other', 'the constraint ' || conname || ' of ' || relname, '' FROM ours \
         JOIN pg_constraint ON conrelid = ours.oid WHERE contype IN ('c', 'f', 'x')",
        schema = text_literal(schema),
        names = names.join(", ")
    )
}

/// One number for all of it, and for the bodies of the functions. The sessions' own table, which a run makes, is not in it.
pub(super) fn catalogue_checksum_query(schema: &str) -> String {
    format!(
        "SELECT hashtextextended(string_agg(concat_ws(' ', what, name, made), chr(10) ORDER BY what, name, made), 0) FROM ({} \
         UNION ALL SELECT 'function', proname::text, concat_ws(' ', proargtypes, provolatile, prosecdef, proconfig, prosrc) \
         FROM pg_proc WHERE pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = {})) AS it \
         WHERE name <> 'assay_session' AND made NOT LIKE 'assay_session %'",
        catalogue_query(schema),
        text_literal(schema)
    )
}
