//! Makes a profile from the findings: decides which numbers are used, what is missing, and what is contradictory.

mod aerospike;
mod against;
mod application;
mod assembled;
mod figures;
mod nodes;

pub use assembled::{Assembled, Contradiction, Missing};

use super::findings::Findings;

/// The kind of things in a profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Namespaces.
    Aerospike,
    /// Any application that uses the drives.
    Application,
}

/// Makes a profile from the findings.
pub fn assemble_profile(found: &Findings, kind: Kind) -> Assembled {
    let nodes = nodes::Nodes::new(found);
    let mut out = Assembled::default();
    nodes.unknown.iter().for_each(|file| {
        out.add_missing(
            format!("the node that {file} comes from: several machines are in its directory"),
            format!("assay import … NODE={file}"),
        );
    });
    match kind {
        Kind::Aerospike => aerospike::assemble_namespaces(found, &nodes, &mut out),
        Kind::Application => application::assemble_applications(found, &nodes, &mut out),
    }
    out.missing.sort();
    out.missing.dedup();
    out
}
