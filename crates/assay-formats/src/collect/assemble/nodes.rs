//! The machine that a file comes from: the one that the user named, otherwise the one whose name is in the file or in
//! another file of its group; if several groups have no such name, each gets the name of its directory.

use super::super::findings::Findings;
use std::collections::{BTreeMap, BTreeSet};

/// The node of each file.
pub(super) struct Nodes {
    /// By the index of the file.
    names: Vec<String>,
    /// Files that could belong to several nodes.
    pub unknown: Vec<String>,
}

impl Nodes {
    pub(super) fn new(found: &Findings) -> Nodes {
        let mut hosts = BTreeMap::<&str, BTreeSet<&str>>::new();
        for file in &found.files {
            let hosts = hosts.entry(file.group.as_str()).or_default();
            hosts.extend(file.host.as_deref().filter(|_| file.node.is_empty()));
        }
        let several = hosts.len() > 1;
        let mut unknown = Vec::new();
        let mut names = Vec::new();
        for file in &found.files {
            let in_file = Some(&file.node).filter(|node| !node.is_empty()).or(file.host.as_ref());
            let hosts: Vec<&str> = hosts.get(file.group.as_str()).into_iter().flatten().copied().collect();
            names.push(match (in_file, &hosts[..]) {
                (Some(name), _) => name.clone(),
                (None, [host]) => (*host).to_owned(),
                (None, []) if several => {
                    file.group.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()
                }
                (None, []) => String::new(),
                (None, _) => {
                    unknown.push(file.name.clone());
                    String::new()
                }
            });
        }
        Nodes { names, unknown }
    }

    /// The node of a file.
    pub(super) fn node_of_file(&self, file: u16) -> &str {
        self.names.get(usize::from(file)).map_or("", String::as_str)
    }

    /// All nodes.
    pub(super) fn all_nodes(&self) -> BTreeSet<String> {
        self.names.iter().cloned().collect()
    }
}
