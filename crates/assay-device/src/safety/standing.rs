//! Standing consent: a consent that a person gave earlier for one device, stored outside this crate, and compared here
//! with the device as it is now. It replaces a consent token and overrides of S6, S7 and S8, and nothing else.

use super::openers::Inode;
use super::rule::{RuleAnswer, RuleId};
use std::collections::{BTreeMap, BTreeSet};

/// What distinguishes a device from every other, by name: model, serial, size, start of a partition and so on.
pub type Marks = BTreeMap<String, String>;

/// An earlier consent. The caller that stores it decides whether it is still valid in time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The device it was given for.
    pub marks: Marks,
    /// Rules that were overridden, each with what the rule found then.
    pub overrides: Vec<(RuleId, String)>,
    /// Whether the person confirmed that processes outside this container are invisible.
    pub in_container: bool,
    /// The file in which it is kept, if this process has locked it so that others may share the device under it.
    pub record: Option<Inode>,
    /// The times at which it was given and at which it ends, for evidence and log.
    pub words: String,
}

impl Standing {
    /// Whether it overrides `rule`, which found `evidence` and these users. A signature must be the one that was found
    /// then; unknown data changes with every test. Processes come and go, but none may have another name than those
    /// that used the device then.
    pub(super) fn overrides_rule(&self, rule: RuleId, evidence: &str, users: &BTreeSet<String>) -> bool {
        self.overrides.iter().filter(|(id, _)| *id == rule).any(|(_, seen)| match rule {
            RuleId::S6 => {
                let known: BTreeSet<&str> = seen.split(NAMES_APART).collect();
                !users.is_empty() && users.iter().all(|name| known.contains(name.as_str()))
            }
            RuleId::S7 => seen == evidence,
            rule => rule.may_override(),
        })
    }
}

/// Between the names of processes in a consent; no name of a process has it, because the kernel ends names there.
const NAMES_APART: char = '\n';

/// What a consent in advance keeps of what a rule found, where processes of these names use the device.
pub fn what_was_seen(users: &BTreeSet<String>, answer: &RuleAnswer) -> String {
    match answer.id {
        RuleId::S6 => users.iter().cloned().collect::<Vec<_>>().join(&NAMES_APART.to_string()),
        _ => answer.evidence.clone(),
    }
}

/// The difference between two devices, in words; `None` when they are the same.
pub fn describe_difference(then: &Marks, now: &Marks) -> Option<String> {
    let names: std::collections::BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    let changed = names.into_iter().find(|name| then.get(*name) != now.get(*name))?;
    let [then, now] = [then, now].map(|marks| marks.get(changed).map_or("absent", String::as_str));
    Some(format!("its {changed} was {then} and is {now} now"))
}

#[cfg(test)]
mod tests {
    use super::super::openers::UNSEEN;
    use super::*;

    #[test]
    fn an_override_is_of_what_was_seen() {
        let overrides = vec![
            (RuleId::S7, "xfs at byte 0".into()),
            (RuleId::S8, "near 0".into()),
            (RuleId::S6, "asd\ncollectd".into()),
            (RuleId::S4, "near 0".into()),
        ];
        let standing =
            Standing { marks: Marks::new(), overrides, in_container: false, record: None, words: String::new() };
        for (rule, evidence, users, overridden) in [
            (RuleId::S7, "xfs at byte 0", &[][..], true),
            (RuleId::S7, "ext4 at byte 1080", &[], false),
            (RuleId::S8, "near 512", &[], true),
            (RuleId::S6, "process 9 (asd)", &["asd"], true),
            (RuleId::S6, "both", &["asd", "collectd"], true),
            (RuleId::S6, "one more", &["asd", "postgres"], false),
            (RuleId::S6, "process 7 (asd)", &["as"], false),
            (RuleId::S6, "some of which nobody knows the name", &["asd", UNSEEN], false),
            // Nobody uses it, and the rule refuses for another reason.
            (RuleId::S6, "/proc cannot be read", &[], false),
            (RuleId::S4, "near 0", &[], false),
        ] {
            let users = users.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(standing.overrides_rule(rule, evidence, &users), overridden, "{rule} {evidence}");
        }
    }

    #[test]
    fn the_first_difference_is_named() {
        let marks =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<Marks>();
        let first = marks(&[("serial", "S1"), ("size", "100")]);
        assert_eq!(describe_difference(&first, &first), None);
        let size = describe_difference(&first, &marks(&[("serial", "S1"), ("size", "200")]));
        assert_eq!(size.as_deref(), Some("its size was 100 and is 200 now"));
        let gone = describe_difference(&first, &marks(&[("size", "100")]));
        assert_eq!(gone.as_deref(), Some("its serial was S1 and is absent now"));
        assert!(describe_difference(&marks(&[]), &first).is_some());
    }
}
