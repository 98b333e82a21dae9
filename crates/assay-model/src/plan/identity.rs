//! Which members of a plan distinguish runs, so that the log of one run is not continued with another plan.

use super::format::MEMBERS;
use super::member::Identity;
use serde_json::Value;
use std::collections::BTreeMap;

/// The members of a plan, as a log has it, that distinguish runs, whatever their length and seed. A member that is not in
/// the list distinguishes them too, so that a plan of a newer version is another one where it has more to say.
pub fn decisive_members(plan: &Value) -> Vec<Value> {
    let mut always: Vec<(u8, &str)> = MEMBERS.iter().filter_map(|(name, identity)| place_of(name, *identity)).collect();
    always.sort_unstable();
    let members = plan.as_object().into_iter().flatten();
    // In the order of their names, which earlier versions stored checksums of.
    let others: BTreeMap<&String, &Value> =
        members.filter(|(name, value)| identity_of(name) == Identity::WherePresent && !value.is_null()).collect();
    always.into_iter().map(|(_, name)| plan[name].clone()).chain(others.into_values().cloned()).collect()
}

/// A member that always distinguishes runs, with its place.
fn place_of(name: &'static str, identity: Identity) -> Option<(u8, &'static str)> {
    match identity {
        Identity::Always(place) => Some((place, name)),
        Identity::WherePresent | Identity::Indifferent => None,
    }
}

/// What the member with this name says about the identity of a run.
fn identity_of(name: &str) -> Identity {
    let known = MEMBERS.iter().find(|(known, _)| *known == name);
    known.map_or(Identity::WherePresent, |(_, identity)| *identity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The names of the members that say this about the identity of a run.
    fn members(which: impl Fn(Identity) -> bool) -> Vec<&'static str> {
        MEMBERS.iter().filter(|(_, identity)| which(*identity)).map(|(name, _)| *name).collect()
    }

    #[test]
    fn only_what_says_so_does_not_distinguish_runs() {
        assert_eq!(
            members(|identity| identity == Identity::Indifferent),
            ["name", "model", "seed", "phases", "max_lag", "in_flight_bound", "lanes", "derivation", "before", "notes"]
        );
        // The place of each is its place in checksums that are stored.
        let mut always = members(|identity| matches!(identity, Identity::Always(_)));
        always.sort_by_key(|name| place_of(name, identity_of(name)));
        assert_eq!(always, ["streams", "criteria", "targets", "load", "slice", "interval", "verify"]);
    }

    /// A member that is new to plans distinguishes runs without being named anywhere, and one that is absent changes no
    /// checksum.
    #[test]
    fn whatever_a_plan_says_of_its_load_distinguishes_it() {
        let plan = json!({"streams": [1], "targets": 2, "name": "a", "seed": 1, "lanes": [], "cache": null});
        let with = |key: &str, value: serde_json::Value| {
            let mut other = plan.clone();
            other[key] = value;
            decisive_members(&other)
        };
        for key in ["streams", "verify", "load", "loops", "page_cache", "sealed_only", "check_all", "what_comes_next"] {
            assert_ne!(with(key, json!("other")), decisive_members(&plan), "{key}");
        }
        for key in members(|identity| identity == Identity::Indifferent) {
            assert_eq!(with(key, json!("other")), decisive_members(&plan), "{key}");
        }
        assert_eq!(
            decisive_members(&plan),
            [json!([1]), json!(null), json!(2), json!(null), json!(null), json!(null), json!(null)]
        );
        assert_eq!(with("oltp", json!(7))[7..], [json!(7)]);
    }
}
