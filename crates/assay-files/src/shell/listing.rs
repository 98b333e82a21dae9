//! Looks through the directories of a tree for what the ledger does not have.

use super::faults::{TreeFault, Verification};
use super::tree::OpenTree;
use crate::own_dir::{Entry, EntryKind, MARKER, OpenError};
use crate::script::{Script, Target};
use assay_base::Code;
use assay_base::text::one_line;
use assay_model::files::{DirectoryNumber, NamedEntry};
use rustix::fd::AsFd;
use rustix::fs::RawDir;
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::CStr;

/// Room for the entries that one call returns.
const LISTING: usize = 64 << 10;

/// See the module.
pub(super) struct Listing<'a> {
    pub(super) tree: &'a OpenTree,
    pub(super) script: &'a Script,
    pub(super) doubtful: &'a BTreeSet<u32>,
}

impl Listing<'_> {
    /// Looks through one directory.
    pub(super) fn look_through(&self, directory: DirectoryNumber, found: &mut Verification) {
        if let Err(why) = self.list(directory, found) {
            let (path, why) = (self.tree.path_of(directory), Code(why.raw_os_error()));
            let text = format!("this directory cannot be listed: {why}");
            found.add_fault(TreeFault { path, kind: Code::LOST, offset: None, text });
        }
    }

    fn list(&self, directory: DirectoryNumber, found: &mut Verification) -> Result<(), Errno> {
        let opened = self.tree.reach(directory).and_then(|reached| reached.open_directory("."));
        let opened = opened.map_err(|why| match why {
            OpenError::Kernel(why) => why,
            OpenError::Foreign(_) => Errno::NOTDIR,
        })?;
        let mut room = Vec::with_capacity(LISTING);
        let mut entries = RawDir::new(opened.as_fd(), room.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                self.examine(directory, entry.file_name(), found);
            }
        }
        Ok(())
    }

    fn examine(&self, directory: DirectoryNumber, name: &CStr, found: &mut Verification) {
        if directory.0 == 0 && name.to_bytes() == MARKER.as_bytes() {
            return;
        }
        if self.is_copied(directory, name) {
            return;
        }
        let entry = self.tree.own_dir().names().parse(name.to_bytes());
        let text = match entry {
            Some(entry) if directory.0 == 0 && self.tree.is_manifest(entry) => return,
            None => "this run gives no such name",
            Some(entry) if self.is_known(directory, entry) => return,
            Some(_) => "the run has removed it, or has never made it",
        };
        let shown = one_line(name.to_string_lossy());
        let path = match directory.0 {
            0 => shown,
            _ => format!("{}/{shown}", self.tree.path_of(directory)),
        };
        found.add_fault(TreeFault { path, kind: Code::FOREIGN, offset: None, text: text.to_owned() });
    }

    /// Whether it is an entry of the copy that the ledger has, under its name in the source.
    fn is_copied(&self, directory: DirectoryNumber, name: &CStr) -> bool {
        match self.tree.entry_of_source(directory, name) {
            None => false,
            Some(NamedEntry::Directory(_)) => true,
            Some(NamedEntry::Numbered(number)) => {
                self.doubtful.contains(&number) || self.script.ledger().node_of(number).is_some()
            }
        }
    }

    /// Whether the ledger, or the tree itself, has this entry in this directory.
    fn is_known(&self, directory: DirectoryNumber, entry: Entry) -> bool {
        let shape = self.tree.shape();
        let is_of_tree = entry.kind == EntryKind::Directory
            && (1..shape.directories()).contains(&entry.number)
            && shape.parent(DirectoryNumber(entry.number)) == Some(directory);
        if is_of_tree {
            return true;
        }
        let Some(target) = self.tree.target_of(entry) else { return false };
        if self.tree.directory_of(target) != directory {
            return false;
        }
        match target {
            Target::Numbered(number) => {
                let node = self.script.ledger().node_of(number);
                self.doubtful.contains(&number)
                    || node.is_some_and(|node| self.tree.entry_of_number(node.kind, number) == entry)
            }
            Target::Shared(file) => (file as usize) < self.script.shared_nodes().len(),
            Target::Directory(_) => false,
        }
    }
}
