//! Workloads that come with the program, and finding the one the user means.

use crate::failure::Failure;
use assay_model::workload::{self, Workload};
use std::path::Path;

/// Name and text, embedded from `workloads/`.
pub const SHIPPED: [(&str, &str); 4] = [
    ("act-storage", include_str!("../../../workloads/act-storage.toml")),
    ("act-storage-quick", include_str!("../../../workloads/act-storage-quick.toml")),
    ("act-index", include_str!("../../../workloads/act-index.toml")),
    ("random-read", include_str!("../../../workloads/random-read.toml")),
];

/// Reads a workload: a file if there is one of that name, otherwise a shipped one.
pub fn find(name: &str) -> Result<Workload, Failure> {
    if let Some((name, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
        return read(&format!("{name}.toml (shipped)"), text);
    }
    let text = text_of(Path::new(name))?;
    read(name, &text)
}

fn read(file: &str, text: &str) -> Result<Workload, Failure> {
    workload::read(file, text).map_err(Failure::workload)
}

/// The text of a workload file; never more than a workload can have.
fn text_of(path: &Path) -> Result<String, Failure> {
    use std::io::Read;
    let unreadable = |why: &dyn std::fmt::Display| {
        let names: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
        Failure::workload(format!(
            "the workload {} cannot be read: {why}\n  = name a file, or one of {}",
            path.display(),
            names.join(", ")
        ))
    };
    let file = std::fs::File::open(path).map_err(|e| unreadable(&e))?;
    let mut bytes = Vec::new();
    file.take(workload::LONGEST as u64 + 1).read_to_end(&mut bytes).map_err(|e| unreadable(&e))?;
    String::from_utf8(bytes).map_err(|_| unreadable(&"it is not text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload::Adjust;

    #[test]
    fn every_shipped_workload_makes_a_plan() {
        for (name, _) in SHIPPED {
            let workload = find(name).map_err(|f| format!("{f:?}")).unwrap();
            assert_eq!(workload.name, name);
            assert!(!workload.description.is_empty());
            let plan = workload.plan(&Adjust { targets: 2, ..Adjust::default() }).unwrap();
            assert!(!plan.criteria.is_empty(), "{name} has criteria");
        }
    }
}
