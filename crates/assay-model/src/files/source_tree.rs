//! A real tree that is copied, in place of one that is drawn: where it is, and what was found there.

use super::directory_number::DirectoryNumber;
use assay_base::Bytes;
use serde::{Deserialize, Serialize};

/// A tree that a workload names as its source.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SourceTree {
    /// The path of its uppermost directory.
    pub path: String,
    /// What was found there, as soon as somebody has looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<SourceFound>,
}

/// What was found in a source. Two sources with the same are the same load.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SourceFound {
    /// Number of files.
    pub files: u32,
    /// Number of directories, the uppermost among them.
    pub directories: u64,
    /// Number of symbolic links.
    pub symlinks: u32,
    /// Bytes of all files.
    pub bytes: Bytes,
    /// BLAKE3 of all names, types and sizes, and of the texts of links, in hexadecimal digits.
    pub digest: String,
}

/// Every entry of a source. Directories are numbered from the uppermost one, which is 0, level by level, so that each comes
/// behind the one that it is in; files and links are in the order of their directories, and of their names within one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListedTree {
    /// The directories.
    pub directories: Vec<ListedEntry>,
    /// The files.
    pub files: Vec<ListedEntry>,
    /// The size of each file.
    pub sizes: Vec<u64>,
    /// The symbolic links.
    pub symlinks: Vec<ListedEntry>,
    /// What each of them leads to.
    pub leads_to: Vec<Box<str>>,
}

/// An entry of a source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ListedEntry {
    /// The number of the directory that it is in; 0 for the uppermost one itself.
    pub directory: u32,
    /// Its name there; nothing for the uppermost one.
    pub name: Box<str>,
}

impl ListedEntry {
    /// An entry of a directory.
    pub fn new(directory: u32, name: &str) -> ListedEntry {
        ListedEntry { directory, name: name.into() }
    }
}

/// An entry that has a name in a directory of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NamedEntry {
    /// A file or a symbolic link, by its number.
    Numbered(u32),
    /// A directory.
    Directory(DirectoryNumber),
}

impl ListedTree {
    /// The directory of the copy in which the one with this number in the source is: the uppermost one is in our own.
    pub fn copy_of(directory: u32) -> DirectoryNumber {
        DirectoryNumber(u64::from(directory) + 1)
    }

    /// The entry that a directory of the copy is a copy of; `None` for our own.
    pub fn directory_entry(&self, directory: DirectoryNumber) -> Option<&ListedEntry> {
        self.directories.get(usize::try_from(directory.0.checked_sub(1)?).ok()?)
    }

    /// The directory in which a directory of the copy is; `None` for our own.
    pub fn parent_of(&self, directory: DirectoryNumber) -> Option<DirectoryNumber> {
        let entry = self.directory_entry(directory)?;
        Some(if directory.0 == 1 { DirectoryNumber(0) } else { ListedTree::copy_of(entry.directory) })
    }

    /// The entry of a number: of a file, or behind these of a symbolic link.
    pub fn numbered_entry(&self, number: u32) -> Option<&ListedEntry> {
        let number = number as usize;
        self.files.get(number).or_else(|| self.symlinks.get(number.checked_sub(self.files.len())?))
    }

    /// What the symbolic link of a number leads to.
    pub fn link_text(&self, number: u32) -> Option<&str> {
        let link = (number as usize).checked_sub(self.files.len())?;
        self.leads_to.get(link).map(|text| &**text)
    }

    /// What has this name in a directory of the copy.
    pub fn find_entry(&self, directory: DirectoryNumber, name: &str) -> Option<NamedEntry> {
        let wanted = ListedEntry::new(u32::try_from(directory.0.checked_sub(1)?).ok()?, name);
        let place = |entries: &[ListedEntry]| entries.binary_search(&wanted).ok();
        if let Some(file) = place(&self.files) {
            return Some(NamedEntry::Numbered(file as u32));
        }
        if let Some(link) = place(&self.symlinks) {
            return Some(NamedEntry::Numbered((self.files.len() + link) as u32));
        }
        // The first one has no name, and stands before all others.
        let below = place(self.directories.get(1..)?)? + 1;
        Some(NamedEntry::Directory(ListedTree::copy_of(below as u32)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_their_names_and_lead_to_their_directories() {
        let entry = ListedEntry::new;
        let tree = ListedTree {
            directories: vec![entry(0, ""), entry(0, "a"), entry(0, "b"), entry(1, "a")],
            files: vec![entry(0, "x"), entry(1, "x"), entry(3, "y")],
            sizes: vec![1, 2, 3],
            symlinks: vec![entry(3, "l")],
            leads_to: vec!["../x".into()],
        };
        let number = DirectoryNumber;
        let find = |directory, name| tree.find_entry(number(directory), name);
        assert_eq!(find(1, "x"), Some(NamedEntry::Numbered(0)));
        assert_eq!((find(4, "y"), find(4, "l")), (Some(NamedEntry::Numbered(2)), Some(NamedEntry::Numbered(3))));
        assert_eq!(
            (find(1, "b"), find(2, "a")),
            (Some(NamedEntry::Directory(number(3))), Some(NamedEntry::Directory(number(4))))
        );
        assert_eq!((find(0, ""), find(3, "x"), find(1, "")), (None, None, None));
        let parents: Vec<_> = (0..5).map(|directory| tree.parent_of(number(directory)).map(|above| above.0)).collect();
        assert_eq!(parents, [None, Some(0), Some(1), Some(1), Some(2)]);
        assert_eq!((tree.link_text(3), tree.link_text(2)), (Some("../x"), None));
        assert_eq!(tree.numbered_entry(3), Some(&entry(3, "l")));
    }
}
