//! What was probably meant by the name of a file that is not there: one beside it whose name differs in a few letters.

use assay_base::fault::nearest_known_name;
use std::path::{Path, PathBuf};

/// Entries of a directory that are looked at.
const LOOKED_AT: usize = 1000;
/// The names here differ in a letter and stand for another disk: none is ever proposed.
const DEVICES: &str = "/dev";

/// The file or directory beside `path` that was probably meant; `None` where there is something at `path`, where nothing is
/// like it, and for devices.
pub(crate) fn similar_file(path: &Path) -> Option<PathBuf> {
    if path.symlink_metadata().is_ok() || path.starts_with(DEVICES) {
        return None;
    }
    let name = path.file_name()?.to_str()?;
    let parent = path.parent().unwrap_or(Path::new(""));
    let directory = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().take(LOOKED_AT);
    let beside: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let beside: Vec<&str> = beside.iter().map(String::as_str).collect();
    nearest_known_name(name, &beside).map(|name| parent.join(name))
}

/// ` (did you mean disk.img?)`; empty where nothing is like it.
pub(crate) fn did_you_mean(path: &Path) -> String {
    similar_file(path)
        .map_or_else(String::new, |meant| format!(" (did you mean {}?)", crate::failure::escaped_path(&meant)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_beside_it_is_meant_where_few_letters_differ_and_never_another_disk() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("disk.img"), "").unwrap();
        for (typed, expected) in [("dsik.img", Some("disk.img")), ("disk.img", None), ("orders.toml", None)] {
            assert_eq!(similar_file(&dir.path().join(typed)), expected.map(|name| dir.path().join(name)), "{typed}");
        }
        assert_eq!(similar_file(&dir.path().join("nowhere/disk.img")), None);
        assert_eq!(similar_file(Path::new("/dev/nul")), None);
    }
}
