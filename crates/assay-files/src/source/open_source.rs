//! A source while it is copied: its files are read by their names, and each is compared with what it was.

use super::file_facts::FileFacts;
use super::listing::{Listing, open_top, without_access_time};
use crate::contents::SourceBytes;
use crate::own_dir::{OwnMount, Resolution, StartingPoint};
use crate::trouble::{Trouble, error_in_words};
use assay_base::text::one_line;
use assay_model::files::{ListedTree, SourceFound};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// See the module.
#[derive(Debug)]
pub struct OpenSource {
    top: OwnedFd,
    mounts: OwnMount,
    resolution: Resolution,
    shown: String,
    listed: Arc<ListedTree>,
    found: SourceFound,
    facts: Vec<FileFacts>,
    paths: Vec<String>,
    left_out: Vec<String>,
    left_out_count: u64,
    /// What was not as it was listed, by the number of the file.
    changed: Mutex<BTreeMap<u32, String>>,
}

/// Why a file is not read.
enum Changed {
    Kernel(Errno),
    Other,
}

impl From<Errno> for Changed {
    fn from(why: Errno) -> Changed {
        Changed::Kernel(why)
    }
}

impl OpenSource {
    /// Lists a tree.
    ///
    /// # Errors
    /// Host: it cannot be read. Usage: there is no file in it, or something that cannot be copied.
    pub fn list_tree(path: &Path) -> Result<OpenSource, Trouble> {
        let shown = one_line(path.display());
        let top = open_top(path).map_err(|why| {
            let why = error_in_words(why);
            Trouble::host(format!("the source {shown} cannot be read: {why}; name a directory that is there"))
        })?;
        let unexamined = |why: Errno| Trouble::host(format!("the source {shown} cannot be examined: {why}"));
        let mounts = OwnMount::around(&top).map_err(unexamined)?;
        let resolution = Resolution::detect(&top);
        let start = StartingPoint { directory: top.as_fd(), mounts: &mounts, resolution };
        let mut listing = Listing::from_start(start, shown.clone());
        listing.list_all()?;
        let found = listing.describe_found();
        let (tree, facts) = (std::mem::take(&mut listing.tree), std::mem::take(&mut listing.facts));
        let (left_out, left_out_count) = (std::mem::take(&mut listing.left_out), listing.left_out_count);
        let (listed, paths, changed) = (Arc::new(tree), listing.into_paths(), Mutex::default());
        Ok(OpenSource {
            top,
            mounts,
            resolution,
            shown,
            listed,
            found,
            facts,
            paths,
            left_out,
            left_out_count,
            changed,
        })
    }

    /// Each entry of it.
    pub fn listed_tree(&self) -> &Arc<ListedTree> {
        &self.listed
    }

    /// What was found in it.
    pub fn found_tree(&self) -> &SourceFound {
        &self.found
    }

    /// The first entries that are not copied, each with the reason, and how many there are.
    pub fn left_out(&self) -> (&[String], u64) {
        (&self.left_out, self.left_out_count)
    }

    /// Looks once more at what no reading has compared: a file without bytes may have some by now, and a link may lead elsewhere.
    pub fn compare_what_is_not_read(&self) {
        for (number, size) in (0..).zip(&self.listed.sizes) {
            if *size == 0 {
                self.note_result(number, self.read_file(number, 0, &mut []));
            }
        }
        let first_link = self.listed.files.len() as u32;
        for number in first_link..first_link + self.listed.symlinks.len() as u32 {
            self.note_result(number, self.compare_link(number));
        }
    }

    /// Whether a file was found to be another one than was listed.
    pub fn is_changed(&self, file: u32) -> bool {
        self.lock_changed().contains_key(&file)
    }

    /// What was found to be another one than was listed, each in words.
    pub fn all_changed(&self) -> Vec<String> {
        self.lock_changed().values().cloned().collect()
    }

    fn lock_changed(&self) -> std::sync::MutexGuard<'_, BTreeMap<u32, String>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_file(&self, number: u32, offset: u64, buffer: &mut [u8]) -> Result<(), Changed> {
        let entry = self.listed.files.get(number as usize).ok_or(Changed::Other)?;
        let path = self.path_of(entry.directory, &entry.name);
        let file = self.open_below(&path, OFlags::RDONLY)?;
        // A pipe in its place could not be read at a place, which would tell nobody what has happened.
        if FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(Changed::Other);
        }
        without_access_time(&file);
        let mut filled = 0;
        while filled < buffer.len() {
            match rustix::io::pread(&file, &mut buffer[filled..], offset + filled as u64)? {
                0 => return Err(Changed::Other),
                read => filled += read,
            }
        }
        // Looked at behind the reading, so that nobody has changed it before or meanwhile.
        let facts = FileFacts::from_stat(&rustix::fs::fstat(&file)?);
        if self.facts.get(number as usize) == Some(&facts) { Ok(()) } else { Err(Changed::Other) }
    }

    fn compare_link(&self, number: u32) -> Result<(), Changed> {
        let entry = self.listed.numbered_entry(number).ok_or(Changed::Other)?;
        let above = self.paths.get(entry.directory as usize).ok_or(Changed::Other)?;
        let directory = self.open_below(above, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let leads_to = match rustix::fs::readlinkat(&directory, &*entry.name, Vec::new()) {
            // It is no link any more.
            Err(Errno::INVAL) => return Err(Changed::Other),
            read => read?,
        };
        let is_same = self.listed.link_text(number).is_some_and(|text| text.as_bytes() == leads_to.to_bytes());
        if is_same { Ok(()) } else { Err(Changed::Other) }
    }

    fn open_below(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let start = StartingPoint { directory: self.top.as_fd(), mounts: &self.mounts, resolution: self.resolution };
        start.open(Path::new(path), flags, Mode::empty())
    }

    fn path_of(&self, directory: u32, name: &str) -> String {
        match self.paths.get(directory as usize).map(String::as_str) {
            None | Some(".") => name.to_owned(),
            Some(above) => format!("{above}/{name}"),
        }
    }

    fn note_result(&self, number: u32, result: Result<(), Changed>) {
        if let Err(changed) = result {
            self.note_change(number, &changed);
        }
    }

    fn note_change(&self, number: u32, changed: &Changed) {
        let entry = self.listed.numbered_entry(number);
        let path = entry.map_or_else(String::new, |entry| self.path_of(entry.directory, &entry.name));
        let place = format!("{}/{}", self.shown, one_line(path));
        let text = match changed {
            Changed::Kernel(Errno::NOENT) => format!("{place} of the source is gone"),
            Changed::Kernel(why) => format!("{place} of the source cannot be read any more: {}", error_in_words(*why)),
            Changed::Other => format!("{place} of the source was changed"),
        };
        self.lock_changed().entry(number).or_insert(text);
    }
}

impl SourceBytes for OpenSource {
    fn fill_bytes(&self, file: u32, offset: u64, buffer: &mut [u8]) {
        if let Err(changed) = self.read_file(file, offset, buffer) {
            buffer.fill(0);
            self.note_change(file, &changed);
        }
    }
}
