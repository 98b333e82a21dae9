//! Where reads come from: files are dropped from the page cache before a phase, a share of them is looked at to prove
//! it, and ways that a file system does not have are refused before anything is measured.

use super::buffer::{ALIGNED, AlignedBuffer};
use super::kernel::{Access, Mapping, cached_pages, close_descriptor};
use super::transfer::{self, Way};
use super::tree::OpenTree;
use super::workers::{Parts, run_workers};
use crate::ledger::Kind;
use crate::own_dir::{Known, OpenError};
use crate::script::{Script, Target};
use crate::trouble::Trouble;
use assay_base::{Code, file_systems};
use assay_model::files::CachePolicy;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Advice, AtFlags, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Files that a worker takes at a time.
const FILES_AT_A_TIME: u64 = 64;
/// Of so many files one is looked at.
const LOOKED_AT: u32 = 64;

/// How it is known which pages are in the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheWitness {
    /// By cachestat(2), since Linux 6.5.
    Cachestat,
    /// By mincore(2).
    Mincore,
    /// The file system is in memory: all pages are, always.
    Memory,
    /// The kernel does not say it.
    Unknown,
}

/// How much of some files is in the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedPages {
    /// How that is known.
    pub witness: CacheWitness,
    /// Files that were looked at.
    pub files: u64,
    /// Their pages.
    pub pages: u64,
    /// Those that are in the page cache.
    pub cached: u64,
}

impl CachedPages {
    /// The share of the pages that are in the page cache; `None` where that is not known.
    pub fn share(&self) -> Option<f64> {
        match self.witness {
            CacheWitness::Memory => Some(1.0),
            CacheWitness::Unknown => None,
            _ if self.pages == 0 => None,
            _ => Some(self.cached as f64 / self.pages as f64),
        }
    }
}

/// Writes the files of a tree back and drops them from the page cache, with so many threads.
///
/// # Errors
/// Host: a file could not be opened or written back.
pub fn drop_cached_pages(tree: &OpenTree, script: &Script, threads: u32) -> Result<(), Trouble> {
    let targets = Targets::new(script);
    let parts = Parts::new(targets.number().div_ceil(FILES_AT_A_TIME));
    run_workers(threads, &parts, |parts| {
        while let Some(part) = parts.take() {
            for target in targets.range(part * FILES_AT_A_TIME) {
                drop_file(tree, target).map_err(|why| {
                    let (path, why) = (tree.shown(target, Kind::File), in_words(why));
                    Trouble::host(format!("{path} could not be dropped from the page cache: {why}"))
                })?;
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// The file by which the kernel drops caches, and what drops pages, names and inodes (proc_sys_vm(5)).
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";
const EVERYTHING: &[u8] = b"3\n";

/// Writes back what waits in memory, and drops the page cache, the names and the inodes of the whole host.
///
/// # Errors
/// Host: this process may not do it.
pub fn drop_caches_of_host() -> Result<(), Trouble> {
    // What is not on the storage yet cannot be dropped.
    rustix::fs::sync();
    let written = open_setting(DROP_CACHES).and_then(|file| rustix::io::write(&file, EVERYTHING));
    written.map(drop).map_err(|why| {
        Trouble::host(format!(
            "the caches of the host cannot be dropped by {DROP_CACHES}: {}; run as root and outside of a container, or \
             without --drop-caches",
            Code(why.raw_os_error())
        ))
    })
}

#[expect(clippy::disallowed_methods, reason = "a setting of the kernel, which is no file of ours and no target")]
fn open_setting(path: &str) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, rustix::fs::Mode::empty())
}

fn drop_file(tree: &OpenTree, target: Target) -> Result<(), OpenError> {
    let file = match open_file(tree, target) {
        // It is missed when the tree is compared with its ledger, or when a client wants it.
        Err(OpenError::Kernel(Errno::NOENT)) => return Ok(()),
        opened => opened?,
    };
    rustix::fs::fdatasync(&file)?;
    rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)?;
    Ok(close_descriptor(file)?)
}

/// Looks at every 64th file of a tree: how much of it is in the page cache.
///
/// # Errors
/// Host: a file could not be opened.
pub fn look_at_cache(tree: &OpenTree, script: &Script) -> Result<CachedPages, Trouble> {
    let mut sum = CachedPages { witness: witness_for(tree)?, files: 0, pages: 0, cached: 0 };
    if matches!(sum.witness, CacheWitness::Memory | CacheWitness::Unknown) {
        return Ok(sum);
    }
    let targets = Targets::new(script);
    for at in (0..targets.number()).step_by(LOOKED_AT as usize) {
        let Some(target) = targets.target(at) else { continue };
        let looked = open_file(tree, target).and_then(|file| Ok(pages_of(&file, sum.witness)?));
        match looked {
            Ok((cached, pages)) => {
                sum.files += 1;
                sum.pages += pages;
                sum.cached += cached;
            }
            Err(OpenError::Kernel(Errno::NOENT)) => {}
            Err(why) => {
                let (path, why) = (tree.shown(target, Kind::File), in_words(why));
                return Err(Trouble::host(format!("{path} cannot be asked how much of it is cached: {why}")));
            }
        }
    }
    Ok(sum)
}

/// Pages of a file that are cached, and all of them.
fn pages_of(file: &OwnedFd, witness: CacheWitness) -> Result<(u64, u64), Errno> {
    let size = rustix::fs::fstat(file)?.st_size as u64;
    if size == 0 {
        return Ok((0, 0));
    }
    if witness == CacheWitness::Mincore {
        return Mapping::new(file.as_fd(), 0..size, Access::Read)?.resident_pages();
    }
    let pages = size.div_ceil(rustix::param::page_size() as u64);
    Ok((cached_pages(file.as_fd(), 0..size)?.min(pages), pages))
}

/// How it can be known here: by asking about a file of ours.
fn witness_for(tree: &OpenTree) -> Result<CacheWitness, Trouble> {
    let unknown = |why: Errno| {
        let why = Code(why.raw_os_error());
        Trouble::host(format!("{} cannot be asked about its page cache: {why}", tree.own_dir().shown()))
    };
    let number = rustix::fs::fstatfs(tree.own_dir().directory()).map_err(unknown)?.f_type as u64;
    let name = file_systems::name_by_number(number & 0xffff_ffff);
    if name.is_some_and(|name| file_systems::IN_MEMORY.contains(&name)) {
        return Ok(CacheWitness::Memory);
    }
    // The pages of a file on overlay are those of the file beneath, which a mapping has and its descriptor has not.
    if name == Some("overlay") {
        return Ok(CacheWitness::Mincore);
    }
    match cached_pages(tree.own_dir().directory().as_fd(), 0..0) {
        Err(Errno::NOSYS | Errno::PERM) => Ok(CacheWitness::Mincore),
        Err(Errno::OPNOTSUPP) => Ok(CacheWitness::Unknown),
        _ => Ok(CacheWitness::Cachestat),
    }
}

/// Makes sure that files can be read and written as a policy says, with a file that is removed again.
///
/// # Errors
/// Host: this file system, or this kernel, has no such way.
pub fn refuse_missing_way(tree: &OpenTree, policy: CachePolicy) -> Result<(), Trouble> {
    let way = Way::from_policy(policy);
    if way == Way::Buffered {
        return Ok(());
    }
    let (own, name) = (tree.own_dir().directory(), tree.probe_name());
    let tried = own.create_file(&name, OFlags::RDWR | way.open_flags()).and_then(|file| {
        let mut buffer = AlignedBuffer::default();
        let bytes = buffer.first(ALIGNED);
        transfer::write_at(&file, way, 0, bytes)?;
        transfer::read_at(&file, way, 0, bytes)?;
        Ok(close_descriptor(file)?)
    });
    // Where it could not be made, it is not there either.
    let _ = rustix::fs::unlinkat(own, &name, AtFlags::empty());
    tried.map_err(|why| {
        let (at, why) = (tree.own_dir().shown(), in_words(why));
        Trouble::host(match way {
            Way::DontCache => format!(
                "{at} has no RWF_DONTCACHE (Linux 6.14, and not every file system): {why}; write cache = \"drop\""
            ),
            _ => format!("{at} has no direct I/O: {why}; write cache = \"drop\""),
        })
    })
}

fn open_file(tree: &OpenTree, target: Target) -> Result<OwnedFd, OpenError> {
    let directory = tree.reach(tree.directory_of(target))?;
    directory.open_file(tree.name_of(target, Kind::File), OFlags::RDONLY, Known::Names(u64::MAX))
}

fn in_words(why: OpenError) -> String {
    match why {
        OpenError::Kernel(why) => Code(why.raw_os_error()).to_string(),
        why => why.to_string(),
    }
}

/// The files of a tree in an order, the shared ones first.
struct Targets<'a> {
    script: &'a Script,
    shared: u64,
}

impl<'a> Targets<'a> {
    fn new(script: &'a Script) -> Targets<'a> {
        Targets { script, shared: script.shared_nodes().len() as u64 }
    }

    /// How many there may be.
    fn number(&self) -> u64 {
        self.shared + u64::from(self.script.ledger().end_of_numbers())
    }

    /// The file at a place, where there is one.
    fn target(&self, at: u64) -> Option<Target> {
        let Some(number) = at.checked_sub(self.shared) else { return Some(Target::Shared(at as u32)) };
        let number = number as u32;
        self.script.ledger().has(number, Kind::File).then_some(Target::Numbered(number))
    }

    /// The files of one part of the work.
    fn range(&self, first: u64) -> impl Iterator<Item = Target> + '_ {
        let end = self.number().min(first + FILES_AT_A_TIME);
        (first..end).filter_map(|at| self.target(at))
    }
}
