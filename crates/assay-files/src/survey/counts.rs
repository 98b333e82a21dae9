//! What is counted of a real tree. Everything has a size that does not grow with the number of files.

use assay_base::Bytes;
use assay_base::text::counted_things;
use assay_model::files::{DEEPEST_DIRECTORY, DirectoryGroup, LONGEST_NAME};
use std::collections::BTreeMap;

/// Sizes by power of two: empty files, then those of 2^(k−1) to 2^k − 1 bytes; the last also has all larger ones.
pub(super) const POWERS: usize = 51;

/// Directories of one depth that have about as many files: the same power of two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct GroupKey {
    depth: u32,
    power: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct GroupCount {
    directories: u64,
    files: u64,
}

/// What is not in the description, by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LeftOut {
    /// Sockets.
    pub sockets: u64,
    /// Named pipes.
    pub pipes: u64,
    /// Block and character devices.
    pub devices: u64,
    /// Directories on which another file system is mounted, and what is below them.
    pub mount_points: u64,
    /// Directories that could not be read, and what is below them.
    pub unreadable: u64,
    /// Entries that were gone when they were looked at, or could not be looked at.
    pub unknown: u64,
}

impl LeftOut {
    /// Each kind with how many there are, those that there are none of left out.
    pub fn in_words(&self) -> Vec<String> {
        let kinds = [
            (self.sockets, "socket", "sockets"),
            (self.pipes, "named pipe", "named pipes"),
            (self.devices, "device", "devices"),
            (self.mount_points, "mount point with what is below it", "mount points with what is below them"),
            (self.unreadable, "directory that cannot be read", "directories that cannot be read"),
            (self.unknown, "entry that went or cannot be examined", "entries that went or cannot be examined"),
        ];
        let some = kinds.iter().filter(|(count, _, _)| *count > 0);
        some.map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many })).collect()
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct TreeCounts {
    /// Files, each counted once however many names it has.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Further names of files.
    pub links: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Directories below the one that was named.
    pub directories: u64,
    /// The depth of the deepest; 0 where there is none.
    pub deepest: u32,
    /// What is not counted.
    pub left_out: LeftOut,
    sizes: [u64; POWERS],
    /// By length; names of directories are not among them.
    names: Vec<u64>,
    groups: BTreeMap<GroupKey, GroupCount>,
}

impl Default for TreeCounts {
    fn default() -> TreeCounts {
        TreeCounts {
            files: 0,
            bytes: 0,
            links: 0,
            symlinks: 0,
            directories: 0,
            deepest: 0,
            left_out: LeftOut::default(),
            sizes: [0; POWERS],
            names: vec![0; LONGEST_NAME as usize + 1],
            groups: BTreeMap::new(),
        }
    }
}

/// The power of two of a number: 0 for 0, and k for 2^(k−1) to 2^k − 1.
fn power_of(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

impl TreeCounts {
    pub(super) fn add_file(&mut self, size: u64, name_length: usize) {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(size);
        self.sizes[(power_of(size) as usize).min(POWERS - 1)] += 1;
        self.add_name(name_length);
    }

    pub(super) fn add_link(&mut self, name_length: usize) {
        self.links += 1;
        self.add_name(name_length);
    }

    pub(super) fn add_symlink(&mut self, name_length: usize) {
        self.symlinks += 1;
        self.add_name(name_length);
    }

    fn add_name(&mut self, length: usize) {
        self.names[length.min(LONGEST_NAME as usize)] += 1;
    }

    /// A directory of which everything was looked at.
    pub(super) fn add_directory(&mut self, depth: u32, files: u64) {
        self.directories += u64::from(depth > 0);
        self.deepest = self.deepest.max(depth);
        let key = GroupKey { depth: depth.min(DEEPEST_DIRECTORY), power: power_of(files) };
        let group = self.groups.entry(key).or_default();
        group.directories += 1;
        group.files += files;
    }

    /// How many files have sizes of each power of two, up to the largest.
    pub fn sizes(&self) -> &[u64] {
        let used = self.sizes.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        &self.sizes[..used]
    }

    /// Length and number of the names of files and links.
    pub fn names(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let some = self.names.iter().enumerate().filter(|(length, count)| *length > 0 && **count > 0);
        some.map(|(length, count)| (length as u32, *count))
    }

    /// The directories, in groups. Every depth has one: a directory is above what is in it.
    pub fn directory_groups(&self) -> Vec<DirectoryGroup> {
        let mut groups = Vec::new();
        for (key, count) in &self.groups {
            groups.push(DirectoryGroup { depth: key.depth, directories: count.directories, files: count.files });
        }
        groups
    }

    /// The depth of the files, in the mean.
    pub fn mean_depth(&self) -> f64 {
        let sum: f64 = self.groups.iter().map(|(key, count)| f64::from(key.depth) * count.files as f64).sum();
        sum / self.files.max(1) as f64
    }

    /// In a sentence, for a person.
    pub fn in_words(&self) -> String {
        let directories = self.directories + 1;
        format!(
            "{} with {} in {}: {:.1} in a directory, {:.1} deep in the mean and at most {}; {}, {}",
            counted_things(self.files, "file"),
            Bytes::new(self.bytes).human_text(),
            counted_things(directories, "directory"),
            self.files as f64 / directories as f64,
            self.mean_depth(),
            self.deepest,
            counted_things(self.symlinks, "symbolic link"),
            counted_things(self.links, "further name"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_its_place_however_large_it_is() {
        let mut counts = TreeCounts::default();
        for (size, name) in [(0, 1), (1, 255), (2, 5), (3, 5), (4096, 5), (1 << 49, 5), (u64::MAX, 300)] {
            counts.add_file(size, name);
        }
        let mut expected = [0; POWERS];
        for power in [0, 1, 2, 2, 13, 50, 50] {
            expected[power] += 1;
        }
        assert_eq!(counts.sizes(), expected);
        assert_eq!(counts.names().collect::<Vec<_>>(), [(1, 1), (5, 4), (255, 2)]);
        for (depth, files) in [(0, 3), (1, 4), (1, 7), (1, 8), (100, 0)] {
            counts.add_directory(depth, files);
        }
        let group = |depth, directories, files| DirectoryGroup { depth, directories, files };
        assert_eq!(counts.directory_groups(), [group(0, 1, 3), group(1, 2, 11), group(1, 1, 8), group(64, 1, 0)]);
        assert_eq!((counts.directories, counts.deepest), (4, 100));
    }

    #[test]
    fn what_is_left_out_is_said_in_words() {
        let left_out = LeftOut { sockets: 1, devices: 3, ..LeftOut::default() };
        assert_eq!(left_out.in_words(), ["1 socket", "3 devices"]);
        assert!(LeftOut::default().in_words().is_empty());
    }
}
