//! The names of a copy that are not ours: those of its source. They are written down before the first of them is made, each
//! as a hash of the run and of the way to it, so that cleaning tells them from what somebody else put there.

use super::directory::{Directory, OpenError};
use super::names::{Entry, EntryKind, Names};
use assay_model::files::{MOST_DIRECTORIES, MOST_FILES};
use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use rustix::io::Errno;

/// What a file of names begins with.
const HEAD: &[u8] = b"assay names 1\n";
/// Bytes of a hash, and of the digest behind all of them.
const HASH: usize = 8;
const DIGEST: usize = 32;
/// No file of names is longer: it has one hash for the directory of the run, and one for each entry of the largest source.
const LONGEST: u64 = (HEAD.len() + DIGEST) as u64 + HASH as u64 * (1 + MOST_FILES as u64 + MOST_DIRECTORIES);

/// What says where an entry is: a hash of all names on the way to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way(u64);

impl Way {
    /// That to the directory of the run.
    pub const TOP: Way = Way(0);

    /// That to an entry of a directory.
    pub fn to_entry(self, names: &Names, kind: EntryKind, name: &[u8]) -> Way {
        Way(names.hash_of_name(self.0, kind, name))
    }
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    sorted: Vec<u64>,
}

impl Manifest {
    /// The names to which these ways lead.
    pub fn from_ways(ways: impl IntoIterator<Item = Way>) -> Manifest {
        let mut sorted: Vec<u64> = ways.into_iter().map(|way| way.0).collect();
        sorted.sort_unstable();
        Manifest { sorted }
    }

    /// Whether it has no names.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Whether a way leads to a name of the copy.
    pub fn has_way(&self, way: Way) -> bool {
        self.sorted.binary_search(&way.0).is_ok()
    }

    /// The file in which it is. No file of a tree has its number, and it is not that of a shared file or of a probe.
    pub const ENTRY: Entry = Entry { kind: EntryKind::File, number: (1 << 32) - 2 };

    /// The name of that file.
    pub(super) fn file_name(names: &Names) -> String {
        names.name(Manifest::ENTRY)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = HEAD.to_vec();
        self.sorted.iter().for_each(|hash| bytes.extend(hash.to_le_bytes()));
        let digest = blake3::hash(&bytes);
        bytes.extend(digest.as_bytes());
        bytes
    }

    /// What is not whole has no names: it was being written, and nothing of the copy was made.
    fn from_bytes(bytes: &[u8]) -> Manifest {
        let whole = || {
            let (text, digest) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST)?)?;
            let hashes = text.strip_prefix(HEAD).filter(|_| blake3::hash(text).as_bytes() == digest)?;
            let numbers = hashes.chunks_exact(HASH);
            Some(numbers.map(|hash| hash.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))).collect())
        };
        Manifest { sorted: whole().unwrap_or_default() }
    }

    /// Writes it into a directory that has none, and waits until it is there.
    pub(super) fn write_into(&self, directory: &Directory, names: &Names) -> Result<(), OpenError> {
        let file = directory.create_file(Manifest::file_name(names), OFlags::WRONLY)?;
        write_all(&file, &self.to_bytes())?;
        rustix::fs::fsync(&file)?;
        super::directory::synchronise(directory)?;
        Ok(())
    }

    /// Reads that of a directory; nothing where there is none, or none that could be ours.
    pub(super) fn read_from(directory: &Directory, names: &Names) -> Manifest {
        let known = super::directory::Known::Names(1);
        let opened = directory.open_file(Manifest::file_name(names), OFlags::RDONLY, known);
        let bytes = opened.ok().and_then(|file| read_all(&file).ok());
        bytes.map_or_else(Manifest::default, |bytes| Manifest::from_bytes(&bytes))
    }
}

fn write_all(file: &OwnedFd, bytes: &[u8]) -> Result<(), Errno> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = rustix::io::write(file, rest)?;
        rest = &rest[written..];
    }
    Ok(())
}

/// Somebody may have made the file as long as he likes.
fn read_all(file: &OwnedFd) -> Result<Vec<u8>, Errno> {
    let size = rustix::fs::fstat(file)?.st_size.max(0) as u64;
    if size > LONGEST {
        return Err(Errno::FBIG);
    }
    let mut bytes = vec![0; size as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::io::read(file, &mut bytes[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_by_their_way_and_only_in_this_run() {
        let (ours, theirs) = (Names::for_run("run 1"), Names::for_run("run 2"));
        let way = |names: &Names, kind, name: &str| {
            let below = Way::TOP.to_entry(names, EntryKind::Directory, b"etc");
            below.to_entry(names, kind, name.as_bytes())
        };
        let manifest =
            Manifest::from_ways([way(&ours, EntryKind::File, "passwd"), way(&ours, EntryKind::Symlink, "mtab")]);
        assert!(manifest.has_way(way(&ours, EntryKind::File, "passwd")));
        for (names, kind, name) in [
            (&ours, EntryKind::Symlink, "passwd"),
            (&ours, EntryKind::File, "passwd-"),
            (&theirs, EntryKind::File, "passwd"),
        ] {
            assert!(!manifest.has_way(way(names, kind, name)), "{name}");
        }
        assert!(!manifest.has_way(Way::TOP.to_entry(&ours, EntryKind::File, b"passwd")), "another directory");
        let bytes = manifest.to_bytes();
        assert_eq!(Manifest::from_bytes(&bytes), manifest);
        for cut in 0..bytes.len() {
            assert!(Manifest::from_bytes(&bytes[..cut]).is_empty(), "{cut}");
        }
        let mut other = bytes;
        other[HEAD.len()] ^= 1;
        assert!(Manifest::from_bytes(&other).is_empty());
    }
}
