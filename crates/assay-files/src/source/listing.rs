//! Lists a tree level by level, each directory in the order of its names, so that two lists of the same tree are the same.

use super::file_facts::FileFacts;
use crate::own_dir::{DEEPEST, StartingPoint};
use crate::trouble::{Trouble, error_in_words};
use assay_base::Bytes;
use assay_base::text::one_line;
use assay_model::files::{ListedEntry, ListedTree, MOST_DIRECTORIES, MOST_FILES, SourceFound};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::CString;
use std::path::Path;

/// How many places are named of what was left out.
const MOST_NAMED: usize = 10;
/// The longest path of a directory below our own: with a name behind it, it is still shorter than the kernel's limit.
const LONGEST_PATH: usize = 3800;

/// What was found, as it is being listed.
pub(super) struct Listing<'a> {
    pub(super) start: StartingPoint<'a>,
    /// The source as it may be shown.
    pub(super) shown: String,
    pub(super) tree: ListedTree,
    pub(super) facts: Vec<FileFacts>,
    /// The path and the depth of each directory.
    paths: Vec<(String, usize)>,
    /// What is neither a file, nor a directory, nor a link, or lies on another mount.
    pub(super) left_out: Vec<String>,
    pub(super) left_out_count: u64,
}

impl<'a> Listing<'a> {
    pub(super) fn from_start(start: StartingPoint<'a>, shown: String) -> Listing<'a> {
        let tree = ListedTree { directories: vec![ListedEntry::new(0, "")], ..ListedTree::default() };
        let paths = vec![(".".to_owned(), 0)];
        Listing { start, shown, tree, facts: Vec::new(), paths, left_out: Vec::new(), left_out_count: 0 }
    }

    pub(super) fn list_all(&mut self) -> Result<(), Trouble> {
        let mut number = 0;
        while number < self.paths.len() {
            let path = self.paths[number].0.clone();
            self.list_directory(number as u32, &path).map_err(|why| self.unreadable(&path, why))??;
            number += 1;
        }
        if self.tree.files.is_empty() {
            return Err(Trouble::usage(format!("there are no files in {}: name a source that has some", self.shown)));
        }
        Ok(())
    }

    fn unreadable(&self, path: &str, why: Errno) -> Trouble {
        let (place, why) = (self.shown_place(path), error_in_words(why));
        Trouble::host(format!("the source cannot be read at {place}: {why}; name one that this user can read"))
    }

    fn shown_place(&self, path: &str) -> String {
        if path == "." { self.shown.clone() } else { format!("{}/{}", self.shown, one_line(path)) }
    }

    fn list_directory(&mut self, number: u32, path: &str) -> Result<Result<(), Trouble>, Errno> {
        let directory = self.start.open(Path::new(path), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        without_access_time(&directory);
        let mut names = Vec::new();
        for entry in Dir::read_from(&directory)? {
            let name = entry?.file_name().to_owned();
            if !matches!(name.to_bytes(), b"." | b"..") {
                names.push(name);
            }
        }
        names.sort_unstable();
        for name in names {
            if let Err(trouble) = self.take_entry(&directory, number, name)? {
                return Ok(Err(trouble));
            }
        }
        Ok(Ok(()))
    }

    fn take_entry(&mut self, directory: &OwnedFd, number: u32, name: CString) -> Result<Result<(), Trouble>, Errno> {
        let path = &self.paths[number as usize].0;
        let Ok(text) = name.into_string() else {
            let place = self.shown_place(path);
            let text = format!("a name in {place} is no text in UTF-8: rename it, or name another source");
            return Ok(Err(Trouble::usage(text)));
        };
        let below = if path == "." { text.clone() } else { format!("{path}/{text}") };
        let facts = rustix::fs::statat(directory, &text, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT)?;
        let entry = ListedEntry::new(number, &text);
        match FileType::from_raw_mode(facts.st_mode) {
            FileType::RegularFile => {
                self.tree.files.push(entry);
                self.tree.sizes.push(facts.st_size as u64);
                self.facts.push(FileFacts::from_stat(&facts));
            }
            FileType::Symlink => {
                let Ok(leads_to) = rustix::fs::readlinkat(directory, &text, Vec::new())?.into_string() else {
                    let text =
                        format!("what {} leads to is no text in UTF-8: name another source", self.shown_place(&below));
                    return Ok(Err(Trouble::usage(text)));
                };
                self.tree.symlinks.push(entry);
                self.tree.leads_to.push(leads_to.into());
            }
            FileType::Directory => return self.take_directory(entry, below),
            _ => self.leave_out(&below, "is neither a file, nor a directory, nor a symbolic link"),
        }
        Ok(self.check_number())
    }

    fn take_directory(&mut self, entry: ListedEntry, path: String) -> Result<Result<(), Trouble>, Errno> {
        match self.start.open(Path::new(&path), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()) {
            Ok(_) => {}
            Err(Errno::XDEV) => {
                self.leave_out(&path, "is another file system that is mounted there");
                return Ok(Ok(()));
            }
            Err(why) => return Err(why),
        }
        let depth = self.paths[entry.directory as usize].1 + 1;
        // The uppermost directory is in our own, and all others are below it.
        if depth + 2 > DEEPEST || path.len() > LONGEST_PATH {
            let text = format!("{} is too deep to be copied: name another source", self.shown_place(&path));
            return Ok(Err(Trouble::usage(text)));
        }
        self.tree.directories.push(entry);
        self.paths.push((path, depth));
        Ok(Ok(()))
    }

    fn check_number(&self) -> Result<(), Trouble> {
        let (files, links) = (self.tree.files.len() as u64, self.tree.symlinks.len() as u64);
        if files + links <= u64::from(MOST_FILES) && (self.paths.len() as u64) < MOST_DIRECTORIES {
            return Ok(());
        }
        Err(Trouble::usage(format!("{} has more than {MOST_FILES} files: name a part of it", self.shown)))
    }

    fn leave_out(&mut self, path: &str, why: &str) {
        self.left_out_count += 1;
        if self.left_out.len() < MOST_NAMED {
            self.left_out.push(format!("{} {why}", self.shown_place(path)));
        }
    }

    /// What was found, with a digest of it.
    pub(super) fn describe_found(&self) -> SourceFound {
        let tree = &self.tree;
        let mut hasher = blake3::Hasher::new();
        let mut add = |kind: &str, entry: &ListedEntry, more: &[u8]| {
            hasher.update(kind.as_bytes());
            hasher.update(&entry.directory.to_le_bytes());
            for text in [entry.name.as_bytes(), more] {
                hasher.update(&(text.len() as u64).to_le_bytes());
                hasher.update(text);
            }
        };
        tree.directories.iter().for_each(|entry| add("d", entry, b""));
        tree.files.iter().zip(&tree.sizes).for_each(|(entry, size)| add("f", entry, &size.to_le_bytes()));
        tree.symlinks.iter().zip(&tree.leads_to).for_each(|(entry, text)| add("s", entry, text.as_bytes()));
        SourceFound {
            files: tree.files.len() as u32,
            directories: tree.directories.len() as u64,
            symlinks: tree.symlinks.len() as u32,
            bytes: Bytes::new(tree.sizes.iter().fold(0u64, |sum, size| sum.saturating_add(*size))),
            digest: hasher.finalize().to_hex().to_string(),
        }
    }

    /// The path of each directory below the uppermost one.
    pub(super) fn into_paths(self) -> Vec<String> {
        self.paths.into_iter().map(|(path, _)| path).collect()
    }
}

/// Opens the directory that a person named; links on the way to it are followed.
#[expect(clippy::disallowed_methods, reason = "a directory is opened for listing, and nothing is written to it")]
pub(super) fn open_top(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Keeps the kernel from noting that something was read, where this process may ask for that.
pub(super) fn without_access_time(descriptor: impl AsFd) -> bool {
    let Ok(flags) = rustix::fs::fcntl_getfl(&descriptor) else { return false };
    rustix::fs::fcntl_setfl(&descriptor, flags | OFlags::NOATIME).is_ok()
}
