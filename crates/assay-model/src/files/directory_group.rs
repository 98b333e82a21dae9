//! Directories as a real tree has them: at every depth, some with many files and most with few. Those of one depth that
//! have about as many files form a group.

use serde::{Deserialize, Serialize};

/// The deepest directory.
pub const DEEPEST_DIRECTORY: u32 = 64;

/// Directories of one depth that have about as many files each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DirectoryGroup {
    /// How many directories lie between them and our own directory, which alone has depth 0, and they themselves.
    pub depth: u32,
    /// Number of directories.
    pub directories: u64,
    /// Number of files in all of them. What counts is its share of the files of all groups.
    pub files: u64,
}

/// Why groups are not those of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupFault {
    /// There are directories of a depth above this one, and none of this depth.
    MissingDepth(u32),
    /// Depth 0 has more than our own directory.
    SeveralRoots,
    /// A group without directories, a depth beyond the deepest, or a sum that does not fit.
    Beyond,
    /// No group has files.
    NoFiles,
}

/// Checks that groups form a tree.
pub fn check_groups(groups: &[DirectoryGroup]) -> Result<(), GroupFault> {
    let mut files = 0u64;
    for group in groups {
        files = files.checked_add(group.files).ok_or(GroupFault::Beyond)?;
        if group.directories == 0 || group.directories > u64::from(u32::MAX) || group.depth > DEEPEST_DIRECTORY {
            return Err(GroupFault::Beyond);
        }
    }
    let deepest = groups.iter().map(|group| group.depth).max().unwrap_or(0);
    for depth in 1..deepest {
        if groups.iter().all(|group| group.depth != depth) {
            return Err(GroupFault::MissingDepth(depth));
        }
    }
    let roots: u64 = groups.iter().filter(|group| group.depth == 0).map(|group| group.directories).sum();
    match (roots, files) {
        (0 | 1, 1..) => Ok(()),
        (0 | 1, 0) => Err(GroupFault::NoFiles),
        _ => Err(GroupFault::SeveralRoots),
    }
}

/// A group whose directories have numbers.
#[derive(Clone, Copy, Debug)]
struct PlacedGroup {
    /// The number of its first directory.
    first: u64,
    directories: u64,
    /// The place of the first file behind it, in the order of the groups.
    files_end: u64,
}

/// Groups for a number of files: which directory has which file.
#[derive(Clone, Debug)]
pub(super) struct PlacedGroups {
    groups: Vec<PlacedGroup>,
    files: u64,
}

impl PlacedGroups {
    /// The groups as they are for `files` files: with more files or fewer than the groups were counted with there are as
    /// many times more directories or fewer, but at least one of each group.
    pub(super) fn new(groups: &[DirectoryGroup], files: u64) -> PlacedGroups {
        let mut in_order = groups.to_vec();
        in_order.sort_by_key(|group| group.depth);
        let counted: u64 = in_order.iter().map(|group| group.files).sum::<u64>().max(1);
        let (mut placed, mut next, mut before) = (Vec::new(), 1, 0u64);
        for group in in_order {
            let scaled = u128::from(group.directories) * u128::from(files) / u128::from(counted);
            let directories = if group.depth == 0 { 1 } else { (scaled as u64).max(1) };
            before += group.files;
            let files_end = (u128::from(before) * u128::from(files) / u128::from(counted)) as u64;
            placed.push(PlacedGroup { first: if group.depth == 0 { 0 } else { next }, directories, files_end });
            next += if group.depth == 0 { 0 } else { directories };
        }
        PlacedGroups { groups: placed, files }
    }

    /// Number of directories of each depth from 1 on.
    pub(super) fn levels(&self, groups: &[DirectoryGroup]) -> Vec<u64> {
        let mut depths: Vec<u32> = groups.iter().map(|group| group.depth).collect();
        depths.sort_unstable();
        let mut levels = vec![0; depths.last().copied().unwrap_or(0) as usize];
        for (depth, placed) in depths.iter().zip(&self.groups).filter(|(depth, _)| **depth > 0) {
            levels[*depth as usize - 1] += placed.directories;
        }
        levels
    }

    /// The directory of the file at a place: those of one group are dealt to its directories in turn.
    pub(super) fn directory(&self, place: u64) -> u64 {
        let place = place % self.files.max(1);
        let index = self.groups.partition_point(|group| group.files_end <= place).min(self.groups.len() - 1);
        let before = if index == 0 { 0 } else { self.groups[index - 1].files_end };
        let group = self.groups[index];
        group.first + place.saturating_sub(before) % group.directories
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(list: &[(u32, u64, u64)]) -> Vec<DirectoryGroup> {
        list.iter()
            .map(|(depth, directories, files)| DirectoryGroup {
                depth: *depth,
                directories: *directories,
                files: *files,
            })
            .collect()
    }

    #[test]
    fn each_group_has_its_files_evenly_at_every_multiple() {
        let described = groups(&[(0, 1, 3), (1, 10, 25), (1, 2, 0), (2, 4, 4000), (2, 100, 972)]);
        assert_eq!(check_groups(&described), Ok(()));
        for multiple in [1u64, 3] {
            let placed = PlacedGroups::new(&described, 5000 * multiple);
            assert_eq!(placed.levels(&described), [12 * multiple, 104 * multiple]);
            let mut files = vec![0u64; 1 + 116 * multiple as usize];
            (0..5000 * multiple).for_each(|place| files[placed.directory(place) as usize] += 1);
            assert_eq!(files[0], 3 * multiple);
            let (first, rest) = files[1..].split_at(10 * multiple as usize);
            assert!(first.iter().all(|number| (2..=3).contains(number)), "{first:?}");
            let (empty, rest) = rest.split_at(2 * multiple as usize);
            assert!(empty.iter().all(|number| *number == 0), "{empty:?}");
            let (large, small) = rest.split_at(4 * multiple as usize);
            assert!(large.iter().all(|number| *number == 1000) && small.iter().all(|number| (9..=10).contains(number)));
        }
    }

    #[test]
    fn what_is_not_a_tree_is_refused() {
        for (list, fault) in [
            (&[(0, 2, 5)][..], GroupFault::SeveralRoots),
            (&[(0, 1, 5), (2, 1, 5)], GroupFault::MissingDepth(1)),
            (&[(0, 1, 5), (1, 0, 5)], GroupFault::Beyond),
            (&[(1, 1, u64::MAX), (1, 1, 1)], GroupFault::Beyond),
            (&[(65, 1, 1)], GroupFault::Beyond),
            (&[(0, 1, 0), (1, 5, 0)], GroupFault::NoFiles),
        ] {
            assert_eq!(check_groups(&groups(list)), Err(fault), "{list:?}");
        }
        assert_eq!(check_groups(&groups(&[(1, 5, 10)])), Ok(()), "our own directory may be without files");
    }
}
