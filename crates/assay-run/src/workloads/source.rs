//! The real tree that a workload copies: what is in it is looked at when the workload is read, because the plan and its
//! identity depend on it.

use crate::failure::Failure;
use assay_files::source::OpenSource;
use assay_model::workload::Workload;
use std::path::PathBuf;

/// Adds what is found in the source of a workload, where it has one.
pub(super) fn add_source(workload: &mut Workload) -> Result<(), Failure> {
    let planned = workload.load.as_files().and_then(|files| files.workload.tree.source.as_ref());
    let Some(path) = planned.map(|source| PathBuf::from(&source.path)) else { return Ok(()) };
    let source = OpenSource::list_tree(&path).map_err(Failure::from_directory_trouble)?;
    let (left_out, count) = source.left_out();
    let mut remarks: Vec<String> = left_out.iter().map(|text| format!("not copied: {text}")).collect();
    if count > left_out.len() as u64 {
        remarks.push(format!("not copied: {} more entries of the source", count - left_out.len() as u64));
    }
    workload.set_source_found(source.found_tree(), remarks);
    Ok(())
}
