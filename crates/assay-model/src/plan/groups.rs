//! Streams whose figures are also shown together.

use super::stream::Stream;
use serde::{Deserialize, Serialize};

/// Streams whose figures are also shown together, such as those of the copies of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The name under which reports show the sum.
    pub name: String,
    /// The names of its streams.
    pub streams: Vec<String>,
}

impl Group {
    /// The groups that have streams among `streams`, and only those of their streams.
    pub fn with_streams_among(groups: &[Group], streams: &[Stream]) -> Vec<Group> {
        let mut within = Vec::new();
        for group in groups {
            let names = group.streams.iter().filter(|name| streams.iter().any(|stream| stream.name == **name));
            let names: Vec<String> = names.cloned().collect();
            if !names.is_empty() {
                within.push(Group { streams: names, name: group.name.clone() });
            }
        }
        within
    }
}
