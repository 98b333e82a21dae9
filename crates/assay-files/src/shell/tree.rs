//! The tree of a run below its own directory, as all clients use it: which directory and which name something has, and
//! the directories that stay open.
//!
//! A client that had to open each directory anew would measure that with every call. So the directories stay open, as
//! many as the process may have open; those beyond are opened by each call, which then takes that much longer.

use crate::contents::{Contents, SourceBytes};
use crate::ledger::Kind;
use crate::own_dir::{Directory, Entry, EntryKind, Manifest, Names, OpenError, OwnDir, Way};
use crate::script::Target;
use crate::source::OpenSource;
use assay_model::files::{DirectoryNumber, ListedEntry, NamedEntry, TreeShape};
use std::ffi::CStr;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// Names of shared files have numbers from here on, which no other file has.
const FIRST_SHARED: u64 = 1 << 32;

/// See the module.
#[derive(Debug)]
pub struct OpenTree {
    own: OwnDir,
    shape: TreeShape,
    run: u32,
    /// Directories that stay open, by their number.
    open: Vec<OnceLock<Directory>>,
    /// The checks of the names of files, by number: nothing where no call has asked for one yet. Each file is called by its
    /// name again and again, and its check is a third of the time in which its name is made.
    checks: Vec<AtomicU32>,
    /// What it is a copy of.
    source: Option<OpenSource>,
    /// Nobody waits for it to be made or compared any longer.
    stopped: AtomicBool,
}

/// Of so many files the checks are remembered: 16 MiB.
const MOST_CHECKS: u32 = 1 << 22;
/// With a check that is remembered.
const IS_KNOWN: u32 = 1 << 16;

/// A directory, whether it stays open or not.
pub(super) enum Reached<'a> {
    Kept(&'a Directory),
    Opened(Directory),
}

impl Deref for Reached<'_> {
    type Target = Directory;

    fn deref(&self) -> &Directory {
        match self {
            Reached::Kept(directory) => directory,
            Reached::Opened(directory) => directory,
        }
    }
}

impl OpenTree {
    /// The tree of this shape in a directory. `run` is the number in the stamps of its contents; at most `most_open`
    /// directories stay open.
    pub fn new(own: OwnDir, shape: TreeShape, run: u32, most_open: usize) -> Arc<OpenTree> {
        OpenTree::copying(own, shape, run, most_open, None)
    }

    /// The same, as a copy of a source.
    pub fn copying(
        own: OwnDir,
        shape: TreeShape,
        run: u32,
        most_open: usize,
        source: Option<OpenSource>,
    ) -> Arc<OpenTree> {
        let kept = usize::try_from(shape.directories()).unwrap_or(usize::MAX).min(most_open);
        let mut open = Vec::new();
        open.resize_with(kept, OnceLock::new);
        let mut checks = Vec::new();
        checks.resize_with(shape.files().min(MOST_CHECKS) as usize, AtomicU32::default);
        Arc::new(OpenTree { own, shape, run, open, checks, source, stopped: AtomicBool::new(false) })
    }

    /// The directory of the run.
    pub fn own_dir(&self) -> &OwnDir {
        &self.own
    }

    /// From now on, what makes or compares the tree ends with the file that it is at.
    pub fn stop_work(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has asked for that.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Gives the directory of the run back, for cleaning, when nobody uses the tree any more.
    pub fn into_own_dir(tree: Arc<OpenTree>) -> Option<OwnDir> {
        Arc::into_inner(tree).map(|tree| tree.own)
    }

    /// Its shape.
    pub fn shape(&self) -> &TreeShape {
        &self.shape
    }

    /// The run, as it stands in the stamps of its contents.
    pub fn run(&self) -> u32 {
        self.run
    }

    /// What it is a copy of.
    pub fn source(&self) -> Option<&OpenSource> {
        self.source.as_ref()
    }

    /// The contents of its files.
    pub(super) fn contents(&self) -> Contents<'_> {
        Contents::new(self.run).with_source(self.source.as_ref().map(|source| source as &dyn SourceBytes))
    }

    /// The name that the source gives to what is a copy.
    fn name_in_source(&self, target: Target, kind: Kind) -> Option<&str> {
        let listed = self.shape.listed_source()?;
        let entry = match target {
            Target::Numbered(number) => {
                let is_of_kind = (number < self.shape.files()) == (kind == Kind::File) && kind != Kind::Directory;
                listed.numbered_entry(number).filter(|_| is_of_kind)
            }
            Target::Shared(_) => None,
            // The uppermost one has a name of ours.
            Target::Directory(directory) => listed.directory_entry(directory).filter(|_| directory.0 > 1),
        };
        entry.map(|entry| &*entry.name)
    }

    /// What a symbolic link leads to.
    pub(super) fn text_of_link(&self, link: Target, leads_to: u64) -> String {
        let listed = self.shape.listed_source();
        match (link, listed) {
            (Target::Numbered(number), Some(listed)) if listed.link_text(number).is_some() => {
                listed.link_text(number).unwrap_or_default().to_owned()
            }
            _ => self.name_of(Target::Numbered(leads_to as u32), Kind::File),
        }
    }

    /// The names of the copy that are not ours.
    pub fn manifest(&self) -> Manifest {
        let (names, mut ways) = (self.own.names(), vec![Way::TOP]);
        let Some(listed) = self.shape.listed_source() else { return Manifest::default() };
        let top = names.directory(1);
        for (number, entry) in listed.directories.iter().enumerate() {
            let name = if number == 0 { &top } else { &*entry.name };
            let above = if number == 0 { 0 } else { entry.directory as usize + 1 };
            ways.push(ways[above].to_entry(names, EntryKind::Directory, name.as_bytes()));
        }
        let files = ways_to_entries(names, &ways, &listed.files, EntryKind::File);
        let links = ways_to_entries(names, &ways, &listed.symlinks, EntryKind::Symlink);
        Manifest::from_ways([ways, files, links].concat())
    }

    /// Whether an entry is the file of these names.
    pub(super) fn is_manifest(&self, entry: Entry) -> bool {
        self.source.is_some() && entry == Manifest::ENTRY
    }

    /// What has a name of the source in a directory.
    pub(super) fn entry_of_source(&self, directory: DirectoryNumber, name: &CStr) -> Option<NamedEntry> {
        self.shape.listed_source()?.find_entry(directory, name.to_str().ok()?)
    }

    /// The directory that a target is in; of a directory of the tree, itself.
    pub(super) fn directory_of(&self, target: Target) -> DirectoryNumber {
        match target {
            Target::Numbered(number) => self.shape.directory(number),
            Target::Shared(_) => DirectoryNumber(0),
            Target::Directory(directory) => directory,
        }
    }

    /// The name of a target in its directory.
    pub(super) fn name_of(&self, target: Target, kind: Kind) -> String {
        let names = self.own.names();
        if let Some(name) = self.name_in_source(target, kind) {
            return name.to_owned();
        }
        match target {
            Target::Numbered(number) => {
                let bytes = self.shape.name_length(number).unwrap_or(0);
                names.name_of_length(self.entry_of_number(kind, number), bytes as usize)
            }
            Target::Shared(file) => names.file(FIRST_SHARED + u64::from(file)),
            Target::Directory(DirectoryNumber(0)) => ".".to_owned(),
            Target::Directory(directory) => names.directory(directory.0),
        }
    }

    /// Writes the name of a target into a text, in the place of what is there.
    pub(super) fn write_name(&self, target: Target, kind: Kind, text: &mut String) {
        text.clear();
        if let Some(name) = self.name_in_source(target, kind) {
            return text.push_str(name);
        }
        if let (Target::Numbered(number), Kind::File) = (target, kind)
            && let Some(remembered) = self.checks.get(number as usize)
            && self.shape.name_length(number).is_none()
        {
            let entry = self.entry_of_number(kind, number);
            return entry.write_name(self.check_of(entry, remembered), text);
        }
        text.push_str(&self.name_of(target, kind));
    }

    /// The check of a file, which is remembered. What two find at once is the same.
    fn check_of(&self, file: Entry, remembered: &AtomicU32) -> u16 {
        match remembered.load(Ordering::Relaxed) {
            0 => {
                let check = self.own.names().check_of(file);
                remembered.store(IS_KNOWN | u32::from(check), Ordering::Relaxed);
                check
            }
            known => known as u16,
        }
    }

    /// Finds the checks of the names of all files, so that no client has to while it is measured.
    pub(super) fn find_checks(&self) {
        // Names of other lengths, and those of a source, are made otherwise.
        if self.source.is_some() || self.shape.name_length(0).is_some() {
            return;
        }
        for (number, remembered) in (0..).zip(&self.checks) {
            self.check_of(self.entry_of_number(Kind::File, number), remembered);
        }
    }

    /// The name of a file that nothing else has.
    pub(super) fn probe_name(&self) -> String {
        self.own.names().file(FIRST_SHARED - 1)
    }

    /// The entry of a number. Directories that clients make stand behind those of the tree, which may lie beside them.
    pub(super) fn entry_of_number(&self, kind: Kind, number: u32) -> Entry {
        let number = u64::from(number);
        match kind {
            Kind::File => Entry { kind: EntryKind::File, number },
            Kind::Directory => Entry { kind: EntryKind::Directory, number: self.shape.directories() + number },
            Kind::Symlink => Entry { kind: EntryKind::Symlink, number },
        }
    }

    /// The target that an entry of a directory is, where it is one of ours that is not a directory of the tree.
    pub(super) fn target_of(&self, entry: Entry) -> Option<Target> {
        let number = match entry.kind {
            EntryKind::File if entry.number >= FIRST_SHARED => {
                return u32::try_from(entry.number - FIRST_SHARED).ok().map(Target::Shared);
            }
            EntryKind::Directory => entry.number.checked_sub(self.shape.directories())?,
            EntryKind::File | EntryKind::Symlink => entry.number,
        };
        u32::try_from(number).ok().map(Target::Numbered)
    }

    /// The path of a directory below the directory of the run.
    pub(super) fn path_of(&self, directory: DirectoryNumber) -> String {
        let mut path = String::new();
        let mut at = directory;
        while let Some(above) = self.shape.parent(at) {
            let name = self.name_of(Target::Directory(at), Kind::Directory);
            path = if path.is_empty() { name } else { format!("{name}/{path}") };
            at = above;
        }
        if path.is_empty() { ".".to_owned() } else { path }
    }

    /// What a target may be called in a message: its path below the directory of the run.
    pub(super) fn shown(&self, target: Target, kind: Kind) -> String {
        let directory = self.path_of(self.directory_of(target));
        match target {
            Target::Directory(_) => directory,
            _ if directory == "." => self.name_of(target, kind),
            _ => format!("{directory}/{}", self.name_of(target, kind)),
        }
    }

    /// A directory of the tree. It is opened now, unless it stays open and was opened before.
    pub(super) fn reach(&self, directory: DirectoryNumber) -> Result<Reached<'_>, OpenError> {
        if directory.0 == 0 {
            return Ok(Reached::Kept(self.own.directory()));
        }
        let Some(kept) = usize::try_from(directory.0).ok().and_then(|at| self.open.get(at)) else {
            return Ok(Reached::Opened(self.own.directory().open_directory(self.path_of(directory))?));
        };
        if let Some(open) = kept.get() {
            return Ok(Reached::Kept(open));
        }
        let opened = self.own.directory().open_directory(self.path_of(directory))?;
        // Another client may have been faster: then its descriptor stays.
        Ok(Reached::Kept(kept.get_or_init(|| opened)))
    }
}

/// The ways to entries of a source; those to its directories are known, behind the one to the directory of the run.
fn ways_to_entries(names: &Names, directories: &[Way], entries: &[ListedEntry], kind: EntryKind) -> Vec<Way> {
    let mut ways = Vec::with_capacity(entries.len());
    for entry in entries {
        ways.push(directories[entry.directory as usize + 1].to_entry(names, kind, entry.name.as_bytes()));
    }
    ways
}
