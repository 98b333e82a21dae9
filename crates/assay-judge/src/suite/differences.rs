//! In what the members of a table differ by themselves: facts and options as the machine has them.

use super::Member;
use std::collections::BTreeSet;

/// A sentence for each fact that is not the same for all of these members, and one for the options of each that not all have.
pub(super) fn differences_in_words(members: &[&Member]) -> Vec<String> {
    let names: BTreeSet<&String> = members.iter().flat_map(|member| member.facts.keys()).collect();
    let mut sentences = Vec::new();
    for name in names {
        let values: Vec<&str> =
            members.iter().map(|member| member.facts.get(name).map_or("unknown", String::as_str)).collect();
        if values.windows(2).any(|pair| pair[0] != pair[1]) {
            let each = members.iter().zip(&values).map(|(member, value)| format!("{value} ({})", member.label));
            sentences.push(format!("{name}: {}", each.collect::<Vec<_>>().join(", ")));
        }
    }
    sentences.extend(said_differences(members));
    for member in members {
        let own: Vec<&str> =
            member.options.iter().filter(|option| !all_have(members, option)).map(String::as_str).collect();
        if !own.is_empty() {
            sentences.push(format!("options that not all have: {} ({})", own.join(","), member.label));
        }
    }
    sentences
}

/// A sentence for each thing about which the users of these members say something else, or only some say something.
fn said_differences(members: &[&Member]) -> Vec<String> {
    let names: BTreeSet<&String> = members.iter().flat_map(|member| member.about.keys()).collect();
    let mut sentences = Vec::new();
    for name in names {
        let said = |member: &&Member| member.about.get(name).cloned().unwrap_or_else(|| "not said".to_owned());
        if members.windows(2).any(|pair| said(&pair[0]) != said(&pair[1])) {
            let each: Vec<String> =
                members.iter().map(|member| format!("{} ({})", said(member), member.label)).collect();
            sentences.push(format!("{name}, as said: {}", each.join(", ")));
        }
    }
    sentences
}

fn all_have(members: &[&Member], option: &String) -> bool {
    members.iter().all(|member| member.options.contains(option))
}
