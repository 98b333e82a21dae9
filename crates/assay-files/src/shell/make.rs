//! Makes what a run begins with: the directories of its tree, its files with their contents, the shared files, and links
//! of both kinds. This is not judged, but it is checked: each file has its size, and no close failed.

use super::buffer::AlignedBuffer;
use super::calls::set_attribute;
use super::kernel::close_descriptor;
use super::transfer::write_all;
use super::tree::OpenTree;
use super::workers::{Parts, run_workers};
use crate::ledger::Kind;
use crate::own_dir::OpenError;
use crate::script::{Script, Target};
use crate::trouble::Trouble;
use assay_model::files::DirectoryNumber;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;

/// Files that a worker takes at a time.
const FILES_AT_A_TIME: u64 = 64;
/// Bytes that are written at a time.
const STEP: u64 = 1 << 20;

/// What was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Directories below the run's own.
    pub directories: u64,
    /// Files, with the shared ones.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Made {
    /// What several threads made.
    pub(super) fn sum(parts: Vec<Made>) -> Made {
        let mut sum = Made::default();
        for part in parts {
            sum.directories += part.directories;
            sum.files += part.files;
            sum.bytes += part.bytes;
        }
        sum
    }
}

/// Makes what the script's ledger says that there is, with so many threads, and waits until it is on stable media.
///
/// # Errors
/// Host: what could not be made, and why; or that the tree was stopped.
pub fn make_tree(tree: &OpenTree, script: &Script, threads: u32) -> Result<Made, Trouble> {
    if tree.source().is_some() {
        tree.own_dir().write_manifest(&tree.manifest())?;
    }
    let directories = make_directories(tree)?;
    let numbers = u64::from(script.ledger().end_of_numbers());
    let shared = script.shared_nodes().len() as u64;
    let parts = Parts::new(numbers.div_ceil(FILES_AT_A_TIME) + shared);
    let made = run_workers(threads, &parts, |parts| {
        let mut maker = FileMaker { tree, script, buffer: AlignedBuffer::default(), made: Made::default() };
        while let Some(part) = parts.take() {
            // Shared files come first: each is one part, and the largest.
            match part.checked_sub(shared) {
                None => maker.make_shared(part as u32)?,
                Some(part) => maker.make_numbered(part * FILES_AT_A_TIME)?,
            }
        }
        Ok(maker.made)
    })?;
    make_links(tree, script)?;
    tree.find_checks();
    refuse_stopped(tree)?;
    let synchronised = rustix::fs::syncfs(tree.own_dir().directory());
    synchronised.map_err(|why| trouble(&tree.own_dir().shown(), "syncfs", why.into()))?;
    Ok(Made { directories, ..Made::sum(made) })
}

fn make_directories(tree: &OpenTree) -> Result<u64, Trouble> {
    let directories = tree.shape().directories();
    // One that is above another has a smaller number.
    for number in 1..directories {
        refuse_stopped(tree)?;
        let directory = DirectoryNumber(number);
        let above = tree.shape().parent(directory).expect("only the first directory has none above it");
        let name = tree.name_of(Target::Directory(directory), Kind::Directory);
        let made = tree.reach(above).and_then(|above| Ok(rustix::fs::mkdirat(&*above, &name, Mode::RWXU)?));
        made.map_err(|why| trouble(&tree.path_of(directory), "mkdir", why))?;
    }
    Ok(directories - 1)
}

/// Makes the symbolic links and the second names, which have the numbers behind those of the files.
fn make_links(tree: &OpenTree, script: &Script) -> Result<(), Trouble> {
    let (ledger, files) = (script.ledger(), tree.shape().files());
    let mut first_names = BTreeMap::new();
    for (number, node) in ledger.all_names() {
        if number < files && ledger.node(node).links > 1 {
            first_names.insert(node, number);
        } else if number >= files {
            refuse_stopped(tree)?;
            let node_is = ledger.node(node);
            let target = Target::Numbered(number);
            let made = match first_names.get(&node) {
                Some(first) => make_second_name(tree, Target::Numbered(*first), target),
                None => make_symlink(tree, node_is.size, target),
            };
            made.map_err(|why| trouble(&tree.shown(target, node_is.kind), "link", why))?;
        }
    }
    Ok(())
}

fn make_second_name(tree: &OpenTree, first: Target, second: Target) -> Result<(), OpenError> {
    let (from, to) = (tree.reach(tree.directory_of(first))?, tree.reach(tree.directory_of(second))?);
    let names = (tree.name_of(first, Kind::File), tree.name_of(second, Kind::File));
    Ok(rustix::fs::linkat(&*from, &names.0, &*to, &names.1, AtFlags::empty())?)
}

fn make_symlink(tree: &OpenTree, leads_to: u64, target: Target) -> Result<(), OpenError> {
    let directory = tree.reach(tree.directory_of(target))?;
    let (text, name) = (tree.text_of_link(target, leads_to), tree.name_of(target, Kind::Symlink));
    Ok(rustix::fs::symlinkat(text.as_str(), &*directory, name.as_str())?)
}

struct FileMaker<'a> {
    tree: &'a OpenTree,
    script: &'a Script,
    buffer: AlignedBuffer,
    made: Made,
}

impl FileMaker<'_> {
    fn make_numbered(&mut self, first: u64) -> Result<(), Trouble> {
        for number in first..first + FILES_AT_A_TIME {
            let number = number as u32;
            if number >= self.tree.shape().files() {
                return Ok(());
            }
            if let Some(node) = self.script.ledger().node_number(number) {
                self.make_file(Target::Numbered(number), node)?;
            }
        }
        Ok(())
    }

    fn make_shared(&mut self, file: u32) -> Result<(), Trouble> {
        self.make_file(Target::Shared(file), self.script.shared_nodes()[file as usize])
    }

    fn make_file(&mut self, target: Target, node: u32) -> Result<(), Trouble> {
        let tree = self.tree;
        refuse_stopped(tree)?;
        let failed = |call: &str, why: OpenError| trouble(&tree.shown(target, Kind::File), call, why);
        let name = tree.name_of(target, Kind::File);
        let created =
            tree.reach(tree.directory_of(target)).and_then(|directory| directory.create_file(&name, OFlags::WRONLY));
        let file = created.map_err(|why| failed("create", why))?;
        let filled = self.fill_file(&file, node);
        refuse_stopped(tree)?;
        filled.map_err(|why| failed("write", why.into()))?;
        close_descriptor(file).map_err(|why| failed("close", why.into()))?;
        self.made.files += 1;
        Ok(())
    }

    fn fill_file(&mut self, file: &OwnedFd, number: u32) -> Result<(), Errno> {
        let ledger = self.script.ledger();
        let (contents, node) = (self.tree.contents(), ledger.node(number));
        let mut offset = 0;
        // A file that is not finished is removed with the others.
        while offset < node.size && !self.tree.is_stopped() {
            let length = STEP.min(node.size - offset);
            let buffer = self.buffer.first(length as usize);
            contents.fill_pieces(&ledger.pieces(number, offset..offset + length), offset, buffer);
            write_all(file, offset, buffer)?;
            offset += length;
        }
        if node.has_attribute() {
            set_attribute(file, self.tree.run())?;
        }
        self.made.bytes += node.size;
        let there = rustix::fs::fstat(file)?.st_size as u64;
        if there == node.size { Ok(()) } else { Err(Errno::IO) }
    }
}

/// Ends the work on a tree that nobody waits for any longer.
fn refuse_stopped(tree: &OpenTree) -> Result<(), Trouble> {
    if tree.is_stopped() { Err(Trouble::host("making the tree was stopped")) } else { Ok(()) }
}

fn trouble(what: &str, call: &str, why: OpenError) -> Trouble {
    let remedy = match why {
        OpenError::Kernel(Errno::NOSPC | Errno::DQUOT) => "make the tree smaller, or make room",
        OpenError::Kernel(Errno::MFILE | Errno::NFILE) => "raise the limit with `ulimit -n`",
        OpenError::Kernel(Errno::OPNOTSUPP) => "leave out the operations that this file system does not have",
        _ => "examine the file system",
    };
    let why = match why {
        OpenError::Kernel(why) => assay_base::Code(why.raw_os_error()).to_string(),
        why => why.to_string(),
    };
    Trouble::host(format!("{what} could not be made: {call} failed: {why}; {remedy}"))
}
