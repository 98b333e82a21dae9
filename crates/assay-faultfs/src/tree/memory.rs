//! The tree itself, in memory: what each call does when nothing is made to fail. Errors are numbers of errno.

use super::entries::Entries;
use fuser::{FileAttr, FileType, INodeNo};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::time::SystemTime;

/// The inode of the root.
pub(crate) const ROOT: u64 = 1;
/// Inodes below are the root and the files of the control.
const FIRST_INODE: u64 = 16;
/// The largest file.
const LARGEST_FILE: u64 = 64 << 30;
/// How many removed files are kept, to be given back.
const REMOVED_KEPT: usize = 64;
/// Bytes of a block, for the account of space.
pub(crate) const BLOCK: u64 = 4096;

/// The result of a call.
pub(crate) type Fallible<T> = Result<T, i32>;

/// What a node is.
pub(crate) enum Content {
    File(Vec<u8>),
    Directory(Entries),
    Symlink(OsString),
    Special(FileType),
}

/// A file, a directory or something else.
pub(crate) struct Node {
    pub content: Content,
    mode: u16,
    owner: (u32, u32),
    links: u32,
    /// How often the kernel was told of it: it is forgotten when it has no name and this is 0.
    lookups: u64,
    pub attributes: BTreeMap<OsString, Vec<u8>>,
    modified: SystemTime,
    /// The directory and the name that it was given last.
    home: (u64, OsString),
    device: u32,
    /// It can only be given back: neither its bytes nor itself count any more.
    is_gone: bool,
}

/// A file that was removed.
struct Removed {
    directory: u64,
    name: OsString,
    inode: u64,
}

/// Who makes something, and with which permissions.
#[derive(Clone, Copy)]
pub(crate) struct Making {
    pub mode: u32,
    pub owner: (u32, u32),
    pub device: u32,
}

/// See the module.
pub(crate) struct Memory {
    nodes: HashMap<u64, Node>,
    next: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Nodes that can only be given back.
    gone: u64,
    removed: VecDeque<Removed>,
    /// The most bytes and nodes.
    pub space: Option<u64>,
    pub most_nodes: Option<u64>,
}

impl Memory {
    pub(crate) fn new(owner: (u32, u32)) -> Memory {
        let mut memory = Memory {
            nodes: HashMap::new(),
            next: FIRST_INODE,
            bytes: 0,
            gone: 0,
            removed: VecDeque::new(),
            space: None,
            most_nodes: None,
        };
        let making = Making { mode: 0o755, owner, device: 0 };
        let root = new_node(Content::Directory(Entries::default()), making, (ROOT, OsString::new()));
        memory.nodes.insert(ROOT, Node { links: 2, ..root });
        memory
    }

    pub(crate) fn node(&self, inode: u64) -> Fallible<&Node> {
        self.nodes.get(&inode).ok_or(libc::ESTALE)
    }

    pub(crate) fn node_mut(&mut self, inode: u64) -> Fallible<&mut Node> {
        self.nodes.get_mut(&inode).ok_or(libc::ESTALE)
    }

    /// Number of nodes, the root among them.
    pub(crate) fn count(&self) -> u64 {
        self.nodes.len() as u64 - self.gone
    }

    pub(crate) fn entries(&self, directory: u64) -> Fallible<&Entries> {
        match &self.node(directory)?.content {
            Content::Directory(entries) => Ok(entries),
            _ => Err(libc::ENOTDIR),
        }
    }

    fn entries_mut(&mut self, directory: u64) -> Fallible<&mut Entries> {
        match &mut self.node_mut(directory)?.content {
            Content::Directory(entries) => Ok(entries),
            _ => Err(libc::ENOTDIR),
        }
    }

    pub(crate) fn find_name(&self, directory: u64, name: &OsStr) -> Fallible<u64> {
        self.entries(directory)?.inode_of(name).ok_or(libc::ENOENT)
    }

    /// The inode of a path below the root.
    pub(crate) fn find_path(&self, path: &str) -> Fallible<u64> {
        let names = path.split('/').filter(|name| !name.is_empty());
        names.into_iter().try_fold(ROOT, |inode, name| self.find_name(inode, OsStr::new(name)))
    }

    /// The path that a node was given last.
    pub(crate) fn path_of(&self, inode: u64) -> String {
        let mut names = Vec::new();
        let mut at = inode;
        while at != ROOT {
            let Some(node) = self.nodes.get(&at) else { break };
            names.push(node.home.1.to_string_lossy().into_owned());
            at = node.home.0;
        }
        names.reverse();
        names.join("/")
    }

    pub(crate) fn directory_above(&self, inode: u64) -> u64 {
        self.nodes.get(&inode).map_or(ROOT, |node| node.home.0)
    }

    /// Attributes of what the kernel is told of: it is counted.
    pub(crate) fn look_up(&mut self, inode: u64) -> Fallible<FileAttr> {
        self.node_mut(inode)?.lookups += 1;
        self.attributes(inode)
    }

    /// The kernel has forgotten a node so many times.
    pub(crate) fn forget(&mut self, inode: u64, times: u64) {
        if let Some(node) = self.nodes.get_mut(&inode) {
            node.lookups = node.lookups.saturating_sub(times);
        }
        self.drop_if_gone(inode);
    }

    pub(crate) fn attributes(&self, inode: u64) -> Fallible<FileAttr> {
        let node = self.node(inode)?;
        let size = match &node.content {
            Content::File(bytes) => bytes.len() as u64,
            Content::Symlink(target) => target.len() as u64,
            Content::Directory(_) => BLOCK,
            Content::Special(_) => 0,
        };
        Ok(FileAttr {
            ino: INodeNo(inode),
            size,
            blocks: size.div_ceil(512),
            atime: node.modified,
            mtime: node.modified,
            ctime: node.modified,
            crtime: node.modified,
            kind: node.kind(),
            perm: node.mode & 0o7777,
            nlink: node.links,
            uid: node.owner.0,
            gid: node.owner.1,
            rdev: node.device,
            blksize: BLOCK as u32,
            flags: 0,
        })
    }

    pub(crate) fn make(&mut self, directory: u64, name: &OsStr, content: Content, making: Making) -> Fallible<u64> {
        if self.entries(directory)?.inode_of(name).is_some() {
            return Err(libc::EEXIST);
        }
        if self.most_nodes.is_some_and(|most| self.count() >= most) {
            return Err(libc::ENOSPC);
        }
        let inode = self.next;
        self.next += 1;
        let is_directory = matches!(content, Content::Directory(_));
        let node = new_node(content, making, (directory, name.to_owned()));
        self.nodes.insert(inode, Node { links: if is_directory { 2 } else { 1 }, ..node });
        self.entries_mut(directory)?.insert_name(name, inode);
        let above = self.node_mut(directory)?;
        above.links += u32::from(is_directory);
        above.modified = SystemTime::now();
        Ok(inode)
    }

    pub(crate) fn link(&mut self, inode: u64, directory: u64, name: &OsStr) -> Fallible<()> {
        if self.entries(directory)?.inode_of(name).is_some() {
            return Err(libc::EEXIST);
        }
        let node = self.node_mut(inode)?;
        node.links += 1;
        node.home = (directory, name.to_owned());
        self.entries_mut(directory)?.insert_name(name, inode);
        Ok(())
    }

    /// Removes the name of anything but a directory.
    pub(crate) fn unlink(&mut self, directory: u64, name: &OsStr) -> Fallible<u64> {
        let inode = self.find_name(directory, name)?;
        if matches!(self.node(inode)?.content, Content::Directory(_)) {
            return Err(libc::EISDIR);
        }
        self.entries_mut(directory)?.remove_name(name);
        self.node_mut(inode)?.links -= 1;
        self.removed.push_back(Removed { directory, name: name.to_owned(), inode });
        if self.removed.len() > REMOVED_KEPT
            && let Some(removed) = self.removed.pop_front()
        {
            self.drop_if_gone(removed.inode);
        }
        self.drop_if_gone(inode);
        Ok(inode)
    }

    pub(crate) fn rmdir(&mut self, directory: u64, name: &OsStr) -> Fallible<()> {
        let inode = self.find_name(directory, name)?;
        if !self.entries(inode)?.is_empty() {
            return Err(libc::ENOTEMPTY);
        }
        self.entries_mut(directory)?.remove_name(name);
        self.node_mut(directory)?.links -= 1;
        self.node_mut(inode)?.links = 0;
        self.drop_if_gone(inode);
        Ok(())
    }

    /// Renames over whatever can be replaced.
    pub(crate) fn rename(&mut self, from: (u64, &OsStr), to: (u64, &OsStr)) -> Fallible<()> {
        let inode = self.find_name(from.0, from.1)?;
        let is_directory = matches!(self.node(inode)?.content, Content::Directory(_));
        match self.entries(to.0)?.inode_of(to.1) {
            Some(replaced) if replaced == inode => return Ok(()),
            Some(replaced) => match (&self.node(replaced)?.content, is_directory) {
                (Content::Directory(_), false) => return Err(libc::EISDIR),
                (Content::Directory(_), true) => self.rmdir(to.0, to.1)?,
                (_, true) => return Err(libc::ENOTDIR),
                (_, false) => self.unlink(to.0, to.1).map(drop)?,
            },
            None => {}
        }
        self.entries_mut(from.0)?.remove_name(from.1);
        self.entries_mut(to.0)?.insert_name(to.1, inode);
        self.node_mut(inode)?.home = (to.0, to.1.to_owned());
        self.node_mut(from.0)?.links -= u32::from(is_directory);
        self.node_mut(to.0)?.links += u32::from(is_directory);
        Ok(())
    }

    /// Exchanges two names.
    pub(crate) fn exchange(&mut self, one: (u64, &OsStr), other: (u64, &OsStr)) -> Fallible<()> {
        let (first, second) = (self.find_name(one.0, one.1)?, self.find_name(other.0, other.1)?);
        for (inode, place) in [(first, other), (second, one)] {
            self.entries_mut(place.0)?.insert_name(place.1, inode);
            self.node_mut(inode)?.home = (place.0, place.1.to_owned());
        }
        Ok(())
    }

    pub(crate) fn file_bytes(&self, inode: u64) -> Fallible<&[u8]> {
        match &self.node(inode)?.content {
            Content::File(bytes) => Ok(bytes),
            Content::Directory(_) => Err(libc::EISDIR),
            _ => Err(libc::EINVAL),
        }
    }

    /// The bytes of a file, which are changed in place.
    pub(crate) fn file_bytes_mut(&mut self, inode: u64) -> Fallible<&mut Vec<u8>> {
        let node = self.node_mut(inode)?;
        node.modified = SystemTime::now();
        match &mut node.content {
            Content::File(bytes) => Ok(bytes),
            Content::Directory(_) => Err(libc::EISDIR),
            _ => Err(libc::EINVAL),
        }
    }

    pub(crate) fn read(&self, inode: u64, offset: u64, length: u64) -> Fallible<Vec<u8>> {
        let bytes = self.file_bytes(inode)?;
        let from = offset.min(bytes.len() as u64) as usize;
        let to = offset.saturating_add(length).min(bytes.len() as u64) as usize;
        Ok(bytes[from..to].to_vec())
    }

    pub(crate) fn resize(&mut self, inode: u64, size: u64) -> Fallible<()> {
        let before = self.file_bytes(inode)?.len() as u64;
        if size > LARGEST_FILE {
            return Err(libc::EFBIG);
        }
        let after = self.bytes - before + size;
        if size > before && self.space.is_some_and(|space| after > space) {
            return Err(libc::ENOSPC);
        }
        self.file_bytes_mut(inode)?.resize(size as usize, 0);
        self.bytes = after;
        Ok(())
    }

    pub(crate) fn write(&mut self, inode: u64, offset: u64, data: &[u8]) -> Fallible<()> {
        let end = offset.checked_add(data.len() as u64).ok_or(libc::EFBIG)?;
        if end > self.file_bytes(inode)?.len() as u64 {
            self.resize(inode, end)?;
        }
        self.file_bytes_mut(inode)?[offset as usize..end as usize].copy_from_slice(data);
        Ok(())
    }

    /// Reserves, punches or zeroes, as fallocate(2).
    pub(crate) fn fallocate(&mut self, inode: u64, offset: u64, length: u64, mode: i32) -> Fallible<()> {
        let known = libc::FALLOC_FL_KEEP_SIZE | libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE;
        if mode & !known != 0 {
            return Err(libc::EOPNOTSUPP);
        }
        let (size, end) = (self.file_bytes(inode)?.len() as u64, offset.checked_add(length).ok_or(libc::EFBIG)?);
        if end > size && mode & libc::FALLOC_FL_KEEP_SIZE == 0 {
            self.resize(inode, end)?;
        }
        if mode & (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE) != 0 {
            let bytes = self.file_bytes_mut(inode)?;
            let length = bytes.len();
            bytes[(offset as usize).min(length)..(end as usize).min(length)].fill(0);
        }
        Ok(())
    }

    /// Gives the name of a removed file back, if it is still known and the name is free.
    pub(crate) fn restore(&mut self, path: &str) -> Fallible<u64> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let directory = self.find_path(above)?;
        let is_wanted = |removed: &Removed| removed.directory == directory && removed.name == OsStr::new(name);
        let index = self.removed.iter().rposition(is_wanted).ok_or(libc::ENOENT)?;
        let inode = self.removed.remove(index).ok_or(libc::ENOENT)?.inode;
        let node = self.node_mut(inode)?;
        if std::mem::take(&mut node.is_gone) {
            let length = node.length();
            self.bytes += length;
            self.gone -= 1;
        }
        self.link(inode, directory, OsStr::new(name))?;
        Ok(inode)
    }

    /// Gives the space of a node back that has no name and that the kernel does not know, and drops it where nobody can
    /// give it back either.
    fn drop_if_gone(&mut self, inode: u64) {
        let is_kept = self.removed.iter().any(|removed| removed.inode == inode);
        let Some(node) = self.nodes.get_mut(&inode).filter(|node| node.links == 0 && node.lookups == 0) else { return };
        if !node.is_gone {
            node.is_gone = true;
            self.gone += 1;
            self.bytes -= node.length();
        }
        if !is_kept {
            self.nodes.remove(&inode);
            self.gone -= 1;
        }
    }
}

impl Node {
    pub(crate) fn kind(&self) -> FileType {
        match &self.content {
            Content::File(_) => FileType::RegularFile,
            Content::Directory(_) => FileType::Directory,
            Content::Symlink(_) => FileType::Symlink,
            Content::Special(kind) => *kind,
        }
    }

    /// Bytes of a file.
    fn length(&self) -> u64 {
        match &self.content {
            Content::File(bytes) => bytes.len() as u64,
            _ => 0,
        }
    }

    pub(crate) fn set_mode(&mut self, mode: u32) {
        self.mode = (mode & 0o7777) as u16;
    }

    pub(crate) fn set_owner(&mut self, user: Option<u32>, group: Option<u32>) {
        self.owner = (user.unwrap_or(self.owner.0), group.unwrap_or(self.owner.1));
    }
}

fn new_node(content: Content, making: Making, home: (u64, OsString)) -> Node {
    Node {
        content,
        mode: (making.mode & 0o7777) as u16,
        owner: making.owner,
        links: 1,
        lookups: 0,
        attributes: BTreeMap::new(),
        modified: SystemTime::now(),
        home,
        device: making.device,
        is_gone: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_file(memory: &mut Memory, name: &str) -> u64 {
        let making = Making { mode: 0o600, owner: (0, 0), device: 0 };
        memory.make(ROOT, OsStr::new(name), Content::File(Vec::new()), making).unwrap()
    }

    #[test]
    fn space_is_given_back_when_nobody_can_reach_a_file() {
        let mut memory = Memory::new((0, 0));
        memory.space = Some(10_000);
        for round in 0..200 {
            let inode = make_file(&mut memory, "a");
            memory.look_up(inode).unwrap();
            assert_eq!(memory.write(inode, 0, &[1; 100]), Ok(()), "round {round}");
            memory.unlink(ROOT, OsStr::new("a")).unwrap();
            memory.forget(inode, 1);
        }
        assert_eq!((memory.bytes, memory.count(), memory.nodes.len()), (0, 1, 1 + REMOVED_KEPT));
        assert_eq!(memory.restore("a").map(|inode| memory.path_of(inode)), Ok("a".to_owned()));
        assert_eq!((memory.bytes, memory.count()), (100, 2));
        let inode = make_file(&mut memory, "b");
        assert_eq!(memory.write(inode, 0, &[1; 9901]), Err(libc::ENOSPC));
        memory.most_nodes = Some(memory.count());
        let making = Making { mode: 0o700, owner: (0, 0), device: 0 };
        let refused = memory.make(ROOT, OsStr::new("c"), Content::Directory(Entries::default()), making);
        assert_eq!(refused, Err(libc::ENOSPC));
    }

    #[test]
    fn a_listing_goes_on_behind_names_that_went() {
        let mut memory = Memory::new((0, 0));
        for number in 0..10 {
            make_file(&mut memory, &number.to_string());
        }
        let (_, _, third) = memory.entries(ROOT).unwrap().names_behind(0).nth(2).unwrap();
        for number in 0..3 {
            memory.unlink(ROOT, OsStr::new(&number.to_string())).unwrap();
        }
        let rest: Vec<&OsStr> = memory.entries(ROOT).unwrap().names_behind(third).map(|(name, _, _)| name).collect();
        assert_eq!(rest, ["3", "4", "5", "6", "7", "8", "9"]);
    }
}
