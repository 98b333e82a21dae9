//! The plan as tables: what was asked for, without having to read JSON. It shows every member, known here or not, so
//! that nothing is lost from a plan of another version.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Members that come first, in this order; the others follow in the order of their names.
const FIRST: [&str; 8] = ["name", "model", "load", "kind", "direction", "size", "arrival", "address"];

/// The plan.
#[derive(Debug, Default)]
pub(crate) struct PlanView {
    /// Members that are not tables.
    pub facts: Vec<(String, Vec<String>)>,
    pub tables: Vec<PlanTable>,
    /// All of it, as it was run.
    pub json: String,
}

/// A list of objects with members: streams, phases.
#[derive(Debug)]
pub(crate) struct PlanTable {
    pub title: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl PlanView {
    pub(crate) fn new(plan: &Value) -> PlanView {
        let json = serde_json::to_string_pretty(plan).unwrap_or_default();
        let mut view = PlanView { json, ..PlanView::default() };
        let Value::Object(plan) = plan else { return view };
        for name in ordered_names(plan.keys()) {
            match &plan[name] {
                Value::Array(all) if !all.is_empty() && all.iter().all(Value::is_object) => {
                    view.tables.push(plan_table(name, all));
                }
                Value::Array(all) => view.facts.push((name_in_words(name), all.iter().map(value_in_words).collect())),
                other => view.facts.push((name_in_words(name), vec![value_in_words(other)])),
            }
        }
        view
    }
}

fn ordered_names<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut names: Vec<&String> = names.collect::<BTreeSet<_>>().into_iter().collect();
    names.sort_by_key(|name| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()));
    names
}

fn plan_table(name: &str, all: &[Value]) -> PlanTable {
    let rows: Vec<&Map<String, Value>> = all.iter().filter_map(Value::as_object).collect();
    let columns = ordered_names(rows.iter().flat_map(|row| row.keys()));
    PlanTable {
        title: name_in_words(name),
        rows: rows
            .iter()
            .map(|row| columns.iter().map(|column| row.get(*column).map_or("–".to_owned(), value_in_words)).collect())
            .collect(),
        columns: columns.into_iter().map(|column| name_in_words(column)).collect(),
    }
}

fn name_in_words(name: &str) -> String {
    name.replace('_', " ")
}

/// A value in words: `1536B` for a size from 1536 B to 1536 B, `poisson, rate 2000/s`.
fn value_in_words(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Array(all) => all.iter().map(value_in_words).collect::<Vec<_>>().join(", "),
        Value::Object(members) => of_members(members),
    }
}

fn of_members(members: &Map<String, Value>) -> String {
    let pair = members.get("from").zip(members.get("to")).filter(|_| members.len() == 2);
    if let Some((from, to)) = pair {
        return if from == to {
            value_in_words(from)
        } else {
            format!("{} to {}", value_in_words(from), value_in_words(to))
        };
    }
    let in_words = members.iter().map(|(name, value)| match value {
        Value::Object(inner) if inner.is_empty() => name_in_words(name),
        Value::Object(_) => format!("{}, {}", name_in_words(name), value_in_words(value)),
        other => format!("{} {}", name_in_words(name), value_in_words(other)),
    });
    in_words.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_of_a_plan_is_told() {
        let plan = serde_json::json!({
            "criteria": ["reads response over 1ms below 5% per 1h"], "load": "1x", "name": "orders", "lanes": [],
            "streams": [
                { "arrival": { "poisson": { "rate": "2000/s" } }, "durable": false, "name": "reads",
                  "size": { "from": "1536B", "to": "1536B" } },
                { "arrival": { "closed": {} }, "name": "writes", "size": { "from": "1KiB", "to": "2KiB" }, "new_member": null },
            ],
        });
        let view = PlanView::new(&plan);
        let facts: Vec<(&str, String)> = view.facts.iter().map(|(name, all)| (name.as_str(), all.join("|"))).collect();
        let criteria = "reads response over 1ms below 5% per 1h".to_owned();
        assert_eq!(
            facts,
            [("name", "orders".into()), ("load", "1x".into()), ("criteria", criteria), ("lanes", String::new())]
        );
        let streams = &view.tables[0];
        assert_eq!((view.tables.len(), streams.title.as_str()), (1, "streams"));
        assert_eq!(streams.columns, ["name", "size", "arrival", "durable", "new member"]);
        assert_eq!(streams.rows[0], ["reads", "1536B", "poisson, rate 2000/s", "no", "–"]);
        assert_eq!(streams.rows[1], ["writes", "1KiB to 2KiB", "closed", "–", "–"]);
    }

    #[test]
    fn what_is_no_plan_is_no_table() {
        for value in [Value::Null, serde_json::json!([1]), serde_json::json!("x")] {
            let view = PlanView::new(&value);
            assert!(view.facts.is_empty() && view.tables.is_empty());
        }
    }
}
