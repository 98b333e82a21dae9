//! The location of the golden files: a selection is carried with the crate; the complete set is used too where it is
//! present.

// Each test file uses a part of this.
#![allow(dead_code)]

pub mod fio;

use std::path::{Path, PathBuf};

/// The directories that hold golden files.
pub fn roots() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = [here.join("tests/golden"), here.join("../../../shared/golden")];
    all.into_iter().filter(|root| root.is_dir()).collect()
}

/// The entries of a directory in order; none where it is absent.
pub fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir)
        .map(|list| list.map(|entry| entry.expect("a directory entry").path()).collect())
        .unwrap_or_default();
    paths.sort();
    paths
}

/// The files of `dir` that end in `.extension`.
pub fn with_extension(dir: &Path, extension: &str) -> Vec<PathBuf> {
    entries(dir).into_iter().filter(|path| path.extension().is_some_and(|e| e == extension)).collect()
}
