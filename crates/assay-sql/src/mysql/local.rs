//! The files of a server, where they are on this host.
//!
//! The path that a server reports may exist here too although the server is elsewhere, in a container for instance. A
//! server that is reached by a socket is a process of this host, and works in its directory for data.

use crate::in_memory::in_memory;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The directories of a server on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directories {
    /// The data.
    pub data: PathBuf,
    /// InnoDB's log, which may be on another disk.
    pub log: PathBuf,
    /// The binary log, if there is one.
    pub binary_log: Option<PathBuf>,
    /// The directory of the database and the files of our tables, as far as they are not below the data: a link, or
    /// `DATA DIRECTORY` in the definition of a table, leads elsewhere.
    pub elsewhere: Vec<PathBuf>,
}

impl Directories {
    /// Finds the directories of the server with this process, if this process may look into them.
    pub(super) fn find_directories(
        process: i32,
        database: &str,
        data: &str,
        log: &str,
        binary_log: &str,
    ) -> Option<Directories> {
        let data = Path::new(data);
        let works_in = file_identity(Path::new(&format!("/proc/{process}/cwd")))?;
        if file_identity(data)? != works_in {
            return None;
        }
        // Relative paths are below the data.
        let log = data.join(log).canonicalize().ok()?;
        let binary_log = Path::new(binary_log).parent().and_then(|path| data.join(path).canonicalize().ok());
        let data = data.canonicalize().ok()?;
        let elsewhere = files_elsewhere(&data, database);
        Some(Directories { data, log, binary_log, elsewhere })
    }

    /// Whether one of them is in memory, and which.
    pub(super) fn in_memory(&self) -> Option<&Path> {
        let all = [Some(&self.data), Some(&self.log), self.binary_log.as_ref()].into_iter().flatten();
        all.chain(&self.elsewhere).map(PathBuf::as_path).find(|path| in_memory(path))
    }
}

/// The files of a database that do not lie below its data directory, although its tables are there by name.
fn files_elsewhere(data: &Path, database: &str) -> Vec<PathBuf> {
    let directory = data.join(database);
    let tables = super::schema::table_names().flat_map(|name| {
        let file = directory.join(format!("{name}.ibd"));
        // A file with this ending holds the path of the table's file.
        let link = std::fs::read_to_string(directory.join(format!("{name}.isl"))).ok();
        [Some(file), link.map(|path| directory.join(path.trim_end()))].into_iter().flatten()
    });
    let all = std::iter::once(directory.clone()).chain(tables);
    let real = all.filter_map(|path| path.canonicalize().ok());
    let mut elsewhere: Vec<PathBuf> = real.filter(|path| !path.starts_with(data)).collect();
    elsewhere.dedup();
    elsewhere
}

/// The device and the number of a file.
fn file_identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_a_database_and_of_its_tables_are_followed() {
        let [data, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let place = |path: &Path| path.canonicalize().unwrap();
        std::fs::create_dir(data.path().join("shop")).unwrap();
        std::fs::write(data.path().join("shop/item.ibd"), "").unwrap();
        let of = |name: &str| files_elsewhere(&place(data.path()), name);
        assert_eq!(of("shop"), Vec::<PathBuf>::new());
        let stock = other.path().join("stock.ibd");
        std::fs::write(&stock, "").unwrap();
        std::fs::write(data.path().join("shop/stock.isl"), stock.display().to_string()).unwrap();
        assert_eq!(of("shop"), [place(&stock)]);
        std::os::unix::fs::symlink(other.path(), data.path().join("linked")).unwrap();
        assert_eq!(of("linked"), [place(other.path()), place(&stock)]);
        let directories = |elsewhere| Directories { data: "/".into(), log: "/".into(), binary_log: None, elsewhere };
        assert_eq!(directories(vec!["/dev/shm".into()]).in_memory().is_some(), in_memory(Path::new("/dev/shm")));
    }
}
