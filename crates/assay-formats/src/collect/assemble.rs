//! From what was found to a profile: which number is taken, what is missing, and what does not fit together.

mod aerospike;
mod against;
mod application;
mod assembled;
mod figures;
mod nodes;

pub use assembled::{Assembled, Contradiction, Missing};

use super::findings::Findings;

/// What a profile is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Namespaces.
    Aerospike,
    /// Whatever uses the drives.
    Application,
}

/// Makes a profile of what was found.
pub fn assemble(found: &Findings, kind: Kind) -> Assembled {
    let nodes = nodes::Nodes::of(found);
    let mut out = Assembled::default();
    nodes.unknown.iter().for_each(|file| {
        out.missing(
            format!("the node that {file} comes from: several machines are in its directory"),
            format!("assay import … NODE={file}"),
        );
    });
    match kind {
        Kind::Aerospike => aerospike::all(found, &nodes, &mut out),
        Kind::Application => application::all(found, &nodes, &mut out),
    }
    out.missing.sort();
    out.missing.dedup();
    out
}
