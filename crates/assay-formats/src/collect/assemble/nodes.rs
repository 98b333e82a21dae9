//! The machine that a file comes from: the one that the user named, otherwise the one whose name is in the file or in
//! another file of its group; if several groups have no such name, each gets the name of its directory.

use super::super::findings::Findings;
use std::collections::{BTreeMap, BTreeSet};

/// The node of each file.
pub(super) struct Nodes {
    of: Vec<String>,
    /// Files that could belong to several nodes.
    pub unknown: Vec<String>,
}

impl Nodes {
    pub(super) fn of(found: &Findings) -> Nodes {
        let mut hosts = BTreeMap::<&str, BTreeSet<&str>>::new();
        for file in &found.files {
            let hosts = hosts.entry(file.group.as_str()).or_default();
            hosts.extend(file.host.as_deref().filter(|_| file.node.is_empty()));
        }
        let several = hosts.len() > 1;
        let mut unknown = Vec::new();
        let mut node = |file: &super::super::FileSeen| {
            if !file.node.is_empty() {
                return file.node.clone();
            }
            if let Some(host) = &file.host {
                return host.clone();
            }
            let hosts: Vec<&str> = hosts.get(file.group.as_str()).into_iter().flatten().copied().collect();
            match hosts[..] {
                [host] => host.to_owned(),
                [] if several => file.group.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned(),
                [] => String::new(),
                _ => {
                    unknown.push(file.name.clone());
                    String::new()
                }
            }
        };
        let of = found.files.iter().map(&mut node).collect();
        Nodes { of, unknown }
    }

    /// The node of a file.
    pub(super) fn get(&self, file: u16) -> &str {
        self.of.get(usize::from(file)).map_or("", String::as_str)
    }

    /// All nodes.
    pub(super) fn all(&self) -> BTreeSet<String> {
        self.of.iter().cloned().collect()
    }
}
