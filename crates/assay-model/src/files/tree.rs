//! The tree of files that clients work on: which directory and which size each file number has, and what the whole tree
//! needs. Everything follows from the description and a seed; nothing is kept for a file.
//!
//! Directories form levels below our own directory. The files are in the directories of the last level, numbered from 0
//! and spread so that no directory has more than one file more than another; or, in a tree like one that was counted, in
//! directories of every level, as many in each as there.

use super::directory_group::{DirectoryGroup, PlacedGroups};
use super::directory_number::DirectoryNumber;
use super::file_size::{FileSize, SizeDrawing};
use super::name_length::NameLengths;
use super::source_tree::{ListedTree, SourceFound, SourceTree};
use crate::skip::is_zero_share;
use assay_base::{Bytes, Prng, Share};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The most files of a tree, which is also the most numbers that a run can give to names.
pub const MOST_FILES: u32 = 1_000_000_000;
/// The most directories.
pub const MOST_DIRECTORIES: u64 = 100_000_000;
/// Separates the sizes from everything else that is drawn with a run's seed.
const SIZES: u64 = 0x66_69_6c_65_73;
/// The same for the lengths of names.
const NAMES: u64 = 0x6e_61_6d_65_73;

/// A tree as a workload describes it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tree {
    /// Number of files.
    pub files: u32,
    /// Their sizes, and those of shared files which have none of their own.
    pub size: FileSize,
    /// How many entries a directory has; without it, all files are in one directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// Number of levels of directories; without it, as many as let no directory have more entries than `width`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The directories of a tree that was counted, in place of `width` and `depth`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<DirectoryGroup>,
    /// How long names are, as far as ours can be so short; without it, all have the usual length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<NameLengths>,
    /// Symbolic links besides the files, as a share of their number.
    #[serde(default, skip_serializing_if = "is_zero_share")]
    pub symlinks: Share,
    /// Second names of files, as a share of their number.
    #[serde(default, skip_serializing_if = "is_zero_share")]
    pub links: Share,
    /// Each client has directories of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// Only the directories are made first: phases create the files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub empty: bool,
    /// Files that all clients share, each with parts of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<Shared>,
    /// A real tree that it is a copy of; it says which files there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Box<SourceTree>>,
}

impl Tree {
    /// Files of these sizes in one directory.
    pub fn flat(files: u32, size: FileSize) -> Tree {
        Tree {
            files,
            size,
            width: None,
            depth: None,
            directories: Vec::new(),
            names: None,
            symlinks: Share::default(),
            links: Share::default(),
            private: false,
            empty: false,
            shared: None,
            source: None,
        }
    }

    /// The same as a copy of what was found in its source.
    #[must_use]
    pub fn with_source_found(self, found: SourceFound) -> Tree {
        let files = found.files;
        let source = self.source.map(|source| Box::new(SourceTree { found: Some(found), ..*source }));
        Tree { files, source, ..self }
    }

    /// What was found in its source.
    pub fn source_found(&self) -> Option<&SourceFound> {
        self.source.as_ref()?.found.as_ref()
    }

    /// Number of symbolic links that are made with the files.
    pub fn symlink_count(&self) -> u32 {
        self.source_found().map_or_else(|| share_of(self.files, self.symlinks), |found| found.symlinks)
    }

    /// Number of second names that files are given.
    pub fn link_count(&self) -> u32 {
        share_of(self.files, self.links)
    }
}

/// The part of a number of files, at most as many.
fn share_of(files: u32, share: Share) -> u32 {
    let parts = u128::from(Share::WHOLE.as_ppb());
    let part = (u128::from(files) * u128::from(share.as_ppb()) + parts / 2) / parts;
    part.min(u128::from(files)) as u32
}

/// Files that all clients share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Shared {
    /// Number of such files.
    pub files: u32,
    /// Whose part is where.
    pub layout: Layout,
    /// The size of each, where it is not drawn as that of other files is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
}

/// Which parts of a shared file belong to which client.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// Each client has one piece of the file.
    #[default]
    Segments,
    /// Record k of client c of n is at (k · n + c) times the size of a record.
    Interleaved,
    /// Every client appends records to the end.
    Append,
}

impl Layout {
    /// The offset of record `record` of `client`, of `records` that each of `clients` has, in records. `None` where that
    /// is decided when it is written.
    pub fn place(self, client: u32, record: u64, clients: u32, records: u64) -> Option<u64> {
        match self {
            Layout::Segments => Some(u64::from(client) * records + record),
            Layout::Interleaved => Some(record * u64::from(clients) + u64::from(client)),
            Layout::Append => None,
        }
    }
}

/// What a tree needs of a file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TreeTotals {
    /// Files.
    pub files: u64,
    /// Directories below our own.
    pub directories: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Bytes of all files.
    pub bytes: Bytes,
}

impl TreeTotals {
    /// Inodes: files, directories and symbolic links.
    pub fn inodes(self) -> u64 {
        self.files + self.directories + self.symlinks
    }
}

/// The number of directories on each level below our own directory; the last level has the files.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Levels(Vec<u64>);

impl Levels {
    fn new(tree: &Tree, clients: u32) -> Levels {
        let files = u64::from(tree.files);
        let levels = match (tree.width.map(|width| u64::from(width.max(1))), tree.depth) {
            (None, _) => Vec::new(),
            (Some(width), Some(depth)) => {
                let mut levels = Vec::new();
                for _ in 0..depth {
                    levels.push(levels.last().copied().unwrap_or(1u64).saturating_mul(width));
                }
                levels
            }
            (Some(width), None) => levels_for(files.div_ceil(width), width),
        };
        Levels(if tree.private { with_own_directories(levels, u64::from(clients)) } else { levels })
    }

    fn last(&self) -> u64 {
        self.0.last().copied().unwrap_or(1)
    }
}

/// Levels whose last one has `last` directories, and in which no directory has more than `width` others.
fn levels_for(last: u64, width: u64) -> Vec<u64> {
    let mut levels = Vec::new();
    let mut wanted = last;
    while wanted > 1 {
        levels.push(wanted);
        // With one entry for each directory, all of them would need a level of their own without end.
        wanted = if width > 1 { wanted.div_ceil(width) } else { 1 };
    }
    levels.reverse();
    levels
}

/// The same with a last level that all clients have the same number of directories of.
fn with_own_directories(mut levels: Vec<u64>, clients: u64) -> Vec<u64> {
    match levels.last_mut() {
        Some(last) => *last = last.next_multiple_of(clients),
        None => levels.push(clients),
    }
    levels
}

/// A tree for a seed: answers which directory and which size a file has.
#[derive(Clone, Debug)]
pub struct TreeShape {
    seed: u64,
    files: u64,
    clients: u64,
    private: bool,
    shared: u64,
    shared_size: Option<Bytes>,
    symlinks: u64,
    levels: Levels,
    /// In a tree like one that was counted.
    groups: Option<PlacedGroups>,
    names: Option<NameLengths>,
    sizes: SizeDrawing,
    /// Of a copy.
    copied: Copied,
}

/// What was found in the source of a copy, and each entry of it as soon as it was listed.
#[derive(Clone, Debug, Default)]
struct Copied {
    found: Option<SourceFound>,
    listed: Option<Arc<ListedTree>>,
}

impl TreeShape {
    /// The tree that follows from a seed, for this many clients. `None` where it has too many directories.
    pub fn new(tree: &Tree, clients: u32, seed: u64) -> Option<TreeShape> {
        let groups = PlacedGroups::new(&tree.directories, tree.files.into());
        let groups = Some(groups).filter(|_| !tree.directories.is_empty());
        let levels = match &groups {
            _ if tree.source.is_some() => Levels(vec![tree.source_found().map_or(1, |found| found.directories)]),
            Some(groups) => Levels(groups.levels(&tree.directories)),
            None => Levels::new(tree, clients.max(1)),
        };
        let directories = levels.0.iter().try_fold(0u64, |sum, level| sum.checked_add(*level))?;
        (directories <= MOST_DIRECTORIES).then(|| TreeShape {
            seed,
            files: tree.files.into(),
            clients: clients.max(1).into(),
            private: tree.private,
            shared: tree.shared.map_or(0, |shared| shared.files.into()),
            shared_size: tree.shared.and_then(|shared| shared.size),
            symlinks: tree.symlink_count().into(),
            levels,
            groups,
            names: tree.names.clone(),
            sizes: tree.size.drawing(),
            copied: Copied { found: tree.source_found().cloned(), listed: None },
        })
    }

    /// The same, of which each entry is known.
    #[must_use]
    pub fn with_listed_source(self, listed: Arc<ListedTree>) -> TreeShape {
        let copied = Copied { listed: Some(listed), ..self.copied };
        TreeShape { copied, ..self }
    }

    /// Each entry of the source, where it is a copy.
    pub fn listed_source(&self) -> Option<&ListedTree> {
        self.copied.listed.as_deref()
    }

    /// The client that a file belongs to: numbers are dealt to clients in turn.
    pub fn owner(&self, number: u32) -> u32 {
        (u64::from(number) % self.clients) as u32
    }

    /// The size that a file has after it was made. A number has the same size whenever it is made again.
    pub fn size(&self, number: u32) -> u64 {
        if let Some(listed) = &self.copied.listed {
            return listed.sizes.get(number as usize).copied().unwrap_or(0);
        }
        self.sizes.draw(&mut Prng::for_path(self.seed, &[SIZES, 0, number.into()]))
    }

    /// The size of a shared file.
    pub fn shared_size(&self, index: u32) -> u64 {
        if let Some(size) = self.shared_size {
            return size.get();
        }
        self.sizes.draw(&mut Prng::for_path(self.seed, &[SIZES, 1, index.into()]))
    }

    /// The number of files of the tree, which have the numbers below it.
    pub fn files(&self) -> u32 {
        self.files as u32
    }

    /// How many bytes the name of a number has; `None` where names have the usual length. Names that are shorter than ours
    /// can be have the usual length too.
    pub fn name_length(&self, number: u32) -> Option<u32> {
        let names = self.names.as_ref()?;
        Some(names.draw(&mut Prng::for_path(self.seed, &[NAMES, number.into()])))
    }

    /// How many directories there are, our own among them.
    pub fn directories(&self) -> u64 {
        1 + self.levels.0.iter().sum::<u64>()
    }

    /// The directory that a file is in, also for numbers beyond the files that the tree begins with.
    pub fn directory(&self, number: u32) -> DirectoryNumber {
        if let Some(listed) = &self.copied.listed {
            let directories = listed.directories.len().max(1) as u32;
            let entry = listed.numbered_entry(number);
            return ListedTree::copy_of(entry.map_or(number % directories, |entry| entry.directory));
        }
        let (number, last) = (u64::from(number), self.levels.last());
        let (client, turn) = (number % self.clients, number / self.clients);
        if let Some(groups) = &self.groups {
            let place = if number < self.files { self.place_of_file(client, turn) } else { number };
            return DirectoryNumber(groups.directory(place));
        }
        let place = if self.private {
            let own = (last / self.clients).max(1);
            client * own + turn % own
        } else if number < self.files {
            self.place_of_file(client, turn) % last
        } else {
            number % last
        };
        DirectoryNumber(self.directories() - last + place)
    }

    /// The place of a file among all: the files of a client follow each other, so that neighbours of the order in which
    /// clients take turns do not always meet in the same directories.
    fn place_of_file(&self, client: u64, turn: u64) -> u64 {
        client * (self.files / self.clients) + client.min(self.files % self.clients) + turn
    }

    /// The directory that another one is in; `None` for our own.
    pub fn parent(&self, directory: DirectoryNumber) -> Option<DirectoryNumber> {
        if let Some(listed) = &self.copied.listed {
            return listed.parent_of(directory);
        }
        let mut first = 1;
        let mut above: Option<(u64, u64)> = None;
        for level in &self.levels.0 {
            if directory.0 >= first && directory.0 < first + level {
                let Some((first_above, number_above)) = above else { return Some(DirectoryNumber(0)) };
                // The directories of a level are dealt to those above it in equal, consecutive pieces.
                let place = u128::from(directory.0 - first) * u128::from(number_above) / u128::from(*level);
                return Some(DirectoryNumber(first_above + place as u64));
            }
            above = Some((first, *level));
            first += level;
        }
        None
    }

    /// What the whole tree needs: every size is drawn once.
    pub fn totals(&self) -> TreeTotals {
        let mut bytes = self.bytes_of_numbered();
        for index in 0..self.shared {
            bytes = bytes.saturating_add(self.shared_size(index as u32));
        }
        let directories = self.directories() - 1;
        TreeTotals { files: self.files + self.shared, directories, symlinks: self.symlinks, bytes: Bytes::new(bytes) }
    }

    /// The bytes of all files that have a number.
    fn bytes_of_numbered(&self) -> u64 {
        match &self.copied.found {
            Some(found) => found.bytes.get(),
            None => (0..self.files).fold(0u64, |sum, number| sum.saturating_add(self.size(number as u32))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn tree(files: u32, width: Option<u32>, depth: Option<u32>) -> Tree {
        let size = FileSize::Gamma { mean: Bytes::from_kib(128), shape: 1.5 };
        Tree { width, depth, ..Tree::flat(files, size) }
    }

    /// How many files and directories each directory has.
    fn entries(shape: &TreeShape, files: u32) -> Vec<u64> {
        let mut entries = vec![0; shape.directories() as usize];
        (0..files).for_each(|number| entries[shape.directory(number).0 as usize] += 1);
        for directory in 1..shape.directories() {
            let parent = shape.parent(DirectoryNumber(directory)).unwrap();
            assert!(parent.0 < directory, "a directory is made after the one it is in");
            entries[parent.0 as usize] += 1;
        }
        entries
    }

    #[test]
    fn no_directory_has_more_entries_than_the_width() {
        for (files, width, clients) in [(10_000, 20, 50), (10_000, 8, 7), (1, 5, 3), (99, 10, 200), (777, 2, 4)] {
            let shape = TreeShape::new(&tree(files, Some(width), None), clients, 1).unwrap();
            let entries = entries(&shape, files);
            assert!(entries.iter().all(|number| *number <= u64::from(width)), "{files} {width}: {entries:?}");
            assert_eq!(entries.iter().sum::<u64>(), u64::from(files) + shape.directories() - 1);
        }
    }

    #[test]
    fn with_a_depth_every_directory_has_as_many_directories_as_the_width() {
        let shape = TreeShape::new(&tree(10_000, Some(10), Some(3)), 8, 1).unwrap();
        assert_eq!(shape.directories(), 1 + 10 + 100 + 1000);
        let entries = entries(&shape, 10_000);
        assert!(entries.iter().all(|number| *number == 10));
        let flat = TreeShape::new(&tree(500, None, None), 8, 1).unwrap();
        assert_eq!(
            (flat.directories(), flat.directory(499), flat.parent(DirectoryNumber(0))),
            (1, DirectoryNumber(0), None)
        );
        assert!(TreeShape::new(&tree(1, Some(1000), Some(30)), 1, 1).is_none(), "too many directories");
    }

    #[test]
    fn private_directories_have_one_client_each() {
        let described = Tree { private: true, ..tree(1000, Some(20), None) };
        let shape = TreeShape::new(&described, 8, 1).unwrap();
        let mut owners = std::collections::BTreeMap::new();
        for number in 0..2000 {
            let owner = *owners.entry(shape.directory(number)).or_insert(shape.owner(number));
            assert_eq!(owner, shape.owner(number), "file {number}");
        }
        let flat = TreeShape::new(&Tree { width: None, ..described }, 8, 1).unwrap();
        assert_eq!(flat.directories(), 9);
    }

    #[test]
    fn sizes_and_totals_repeat_with_the_seed_and_are_those_of_the_files() {
        let described = Tree {
            shared: Some(Shared { files: 2, layout: Layout::Interleaved, size: None }),
            ..tree(20_000, Some(20), None)
        };
        let shape = |seed| TreeShape::new(&described, 8, seed).unwrap();
        let totals = shape(1).totals();
        assert_eq!((totals, totals.files), (shape(1).totals(), 20_002));
        assert_ne!(totals.bytes, shape(2).totals().bytes);
        let sum: u64 = (0..20_000).map(|number| shape(1).size(number)).sum();
        let shared = shape(1).shared_size(0) + shape(1).shared_size(1);
        assert_eq!((totals.bytes.get(), totals.inodes()), (sum + shared, 20_002 + totals.directories));
        // The standard error of the mean is mean / √(shape · n).
        let mean = sum as f64 / 20_000.0;
        assert!((mean / 131_072.0 - 1.0).abs() < 4.0 / (1.5f64 * 20_000.0).sqrt(), "{mean}");
        assert_eq!((shape(1).size(0), shape(1).size(19_999)), (225_567, 21_466));
        let sized = Shared { files: 2, layout: Layout::Segments, size: Some(Bytes::from_kib(8)) };
        let sized = TreeShape::new(&Tree { shared: Some(sized), ..described.clone() }, 8, 1).unwrap();
        assert_eq!((sized.shared_size(1), sized.totals().bytes.get()), (8192, sum + 16_384));
    }

    #[test]
    fn a_counted_tree_has_its_directories_links_and_names() {
        let group = |depth, directories, files| DirectoryGroup { depth, directories, files };
        let described = Tree {
            directories: vec![group(2, 50, 900), group(0, 1, 10), group(1, 5, 90)],
            names: NameLengths::new(vec![super::super::LengthWeight { length: 30, weight: 1 }]),
            symlinks: Share::from_percent(4),
            links: Share::from_ppb(1_500_000),
            ..tree(1000, None, None)
        };
        let shape = TreeShape::new(&described, 8, 1).unwrap();
        assert_eq!((shape.directories(), described.symlink_count(), described.link_count()), (56, 40, 2));
        assert_eq!((shape.totals().inodes(), shape.name_length(77)), (1000 + 55 + 40, Some(30)));
        let mut files = vec![0; 56];
        (0..1000).for_each(|number| files[shape.directory(number).0 as usize] += 1);
        assert!(files[0] == 10 && files[1..6].iter().all(|number| *number == 18), "{files:?}");
        assert!(files[6..].iter().all(|number| *number == 18), "{files:?}");
        assert_eq!(shape.parent(DirectoryNumber(6)), Some(DirectoryNumber(1)));
        assert!(shape.directory(5_000_000).0 < 56, "a name that is made later has a directory too");
        let written = serde_json::to_string(&described).unwrap();
        assert_eq!(serde_json::from_str::<Tree>(&written).unwrap(), described, "{written}");
        let plain = serde_json::to_string(&tree(5, None, None)).unwrap();
        assert!(!plain.contains("links") && !plain.contains("names") && !plain.contains("directories"), "{plain}");
    }

    #[test]
    fn layouts_give_each_record_a_place_of_its_own() {
        let (clients, records) = (7, 13);
        for layout in [Layout::Segments, Layout::Interleaved] {
            let mut places: Vec<u64> = Vec::new();
            for client in 0..clients {
                places.extend((0..records).map(|record| layout.place(client, record, clients, records).unwrap()));
            }
            places.sort_unstable();
            assert_eq!(places, (0..u64::from(clients) * records).collect::<Vec<_>>(), "{layout:?}");
        }
        assert_eq!(Layout::Interleaved.place(2, 3, 7, 13), Some(23));
        assert_eq!(Layout::Segments.place(2, 3, 7, 13), Some(29));
        assert_eq!(Layout::Append.place(2, 3, 7, 13), None);
    }
}
