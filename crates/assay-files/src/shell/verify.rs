//! Compares a tree with its ledger when the load is over: names, types, sizes, numbers of links, attributes, and every
//! byte. What is read does not come from the page cache.

use super::buffer::AlignedBuffer;
use super::calls::{ATTRIBUTE, attribute_value};
use super::faults::{TreeFault, Verification};
use super::listing::Listing;
use super::transfer::{self, Way};
use super::tree::OpenTree;
use super::workers::{Parts, run_workers};
use crate::extents::Piece;
use crate::ledger::{Kind, Node};
use crate::own_dir::{Known, OpenError};
use crate::records::{RecordCheck, RecordFault};
use crate::script::{Script, Target};
use crate::trouble::Trouble;
use assay_base::Code;
use assay_model::files::{DirectoryNumber, FilesWorkload, Layout};
use rustix::fd::OwnedFd;
use rustix::fs::{Advice, AtFlags, FileType, OFlags, Stat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names that a worker takes at a time.
const NAMES_AT_A_TIME: u64 = 64;
/// Bytes that are read and compared at a time.
const STEP: u64 = 1 << 20;

/// Compares a tree with what its script's ledger says, with so many threads. `doubtful` are names that failed calls may
/// have made or removed.
///
/// # Errors
/// Host: no thread could be started. What differs is no error, but a fault.
pub fn verify_tree(
    tree: &OpenTree,
    script: &Script,
    doubtful: &BTreeSet<u32>,
    workload: &FilesWorkload,
    threads: u32,
) -> Result<Verification, Trouble> {
    let directories = tree.shape().directories();
    let shared = script.shared_nodes().len() as u64;
    let names = u64::from(script.ledger().end_of_numbers()).div_ceil(NAMES_AT_A_TIME);
    let parts = Parts::new(shared + directories + names);
    let read = NodesRead::new(script);
    let appended = workload.tree.shared.is_some_and(|shared| shared.layout == Layout::Append);
    let record = appended.then(|| workload.io.get().max(1));
    let found = run_workers(threads, &parts, |parts| {
        let listing = Listing { tree, script, doubtful };
        let mut verifier = Verifier {
            tree,
            script,
            doubtful,
            read: &read,
            record,
            buffer: AlignedBuffer::default(),
            found: Verification::default(),
        };
        while let Some(part) = parts.take().filter(|_| !tree.is_stopped()) {
            if part < shared {
                verifier.compare_shared(part as u32);
            } else if part < shared + directories {
                listing.look_through(DirectoryNumber(part - shared), &mut verifier.found);
            } else {
                verifier.compare_names((part - shared - directories) * NAMES_AT_A_TIME);
            }
        }
        Ok(verifier.found)
    })?;
    let mut sum = Verification::default();
    found.into_iter().for_each(|found| sum.add(found));
    Ok(sum)
}

/// Which files have been read: one that has several names is read once.
struct NodesRead(Vec<AtomicU64>);

impl NodesRead {
    fn new(script: &Script) -> NodesRead {
        let most = script.ledger().all_names().map(|(_, node)| node).max().map_or(0, |node| node / 64 + 1);
        NodesRead((0..most).map(|_| AtomicU64::new(0)).collect())
    }

    /// True for the first who asks.
    fn take(&self, node: u32) -> bool {
        let bit = 1 << (node % 64);
        self.0[(node / 64) as usize].fetch_or(bit, Ordering::Relaxed) & bit == 0
    }
}

struct Verifier<'a> {
    tree: &'a OpenTree,
    script: &'a Script,
    doubtful: &'a BTreeSet<u32>,
    read: &'a NodesRead,
    /// The length of a record, where shared files are appended to by all.
    record: Option<u64>,
    buffer: AlignedBuffer,
    found: Verification,
}

impl Verifier<'_> {
    fn add_fault(&mut self, target: Target, kind: Kind, fault: Code, offset: Option<u64>, text: String) {
        let path = self.tree.shown(target, kind);
        self.found.add_fault(TreeFault { path, kind: fault, offset, text });
    }

    fn compare_names(&mut self, first: u64) {
        let ledger = self.script.ledger();
        for number in first..first + NAMES_AT_A_TIME {
            if self.tree.is_stopped() {
                return;
            }
            let number = number as u32;
            let Some(node) = ledger.node_number(number) else { continue };
            if self.doubtful.contains(&number) || ledger.node(node).is_unsure() {
                self.found.unsure += 1;
                continue;
            }
            self.compare_name(Target::Numbered(number), node);
        }
    }

    fn compare_shared(&mut self, file: u32) {
        let node = self.script.shared_nodes()[file as usize];
        if self.script.ledger().node(node).is_unsure() && self.record.is_none() {
            self.found.unsure += 1;
            return;
        }
        self.compare_name(Target::Shared(file), node);
    }

    fn compare_name(&mut self, target: Target, number: u32) {
        let node = *self.script.ledger().node(number);
        self.found.names += 1;
        let name = self.tree.name_of(target, node.kind);
        let looked = self
            .tree
            .reach(self.tree.directory_of(target))
            .and_then(|directory| Ok(rustix::fs::statat(&*directory, &name, AtFlags::SYMLINK_NOFOLLOW)?));
        let facts = match looked {
            Ok(facts) => facts,
            Err(OpenError::Kernel(Errno::NOENT)) => {
                return self.add_fault(target, node.kind, Code::LOST, None, "it is not there".to_owned());
            }
            Err(why) => {
                return self.add_fault(target, node.kind, Code::LOST, None, format!("it cannot be examined: {why}"));
            }
        };
        let is_file = self.compare_facts(target, &node, &facts);
        let is_numbered = matches!(target, Target::Numbered(_));
        if is_file && (!is_numbered || self.read.take(number)) {
            self.compare_contents(target, number);
        } else if node.kind == Kind::Symlink {
            self.compare_link(target, &node);
        }
    }

    /// True where it is a file whose contents can be compared.
    fn compare_facts(&mut self, target: Target, node: &Node, facts: &Stat) -> bool {
        let (kind, links) = (node.kind, facts.st_nlink);
        let expected = match kind {
            Kind::File => FileType::RegularFile,
            Kind::Directory => FileType::Directory,
            Kind::Symlink => FileType::Symlink,
        };
        if FileType::from_raw_mode(facts.st_mode) != expected {
            self.add_fault(target, kind, Code::FOREIGN, None, "something of another type has its name".to_owned());
            return false;
        }
        if kind == Kind::Directory {
            return false;
        }
        let names = if matches!(target, Target::Shared(_)) { 1 } else { u64::from(node.links) };
        if links != names {
            let fault = if links < names { Code::LOST } else { Code::FOREIGN };
            self.add_fault(target, kind, fault, None, format!("it has {links} names, and must have {names}"));
        }
        if kind != Kind::File {
            return false;
        }
        // Where records are appended, those of failed calls may be there or not.
        let size = facts.st_size as u64;
        if size != node.size && (self.record.is_none() || matches!(target, Target::Numbered(_))) {
            let (fault, at) = if size < node.size { (Code::LOST, size) } else { (Code::CORRUPT, node.size) };
            let text = format!("it has {size} bytes, and must have {}", node.size);
            self.add_fault(target, kind, fault, Some(at), text);
            return false;
        }
        true
    }

    fn compare_link(&mut self, target: Target, node: &Node) {
        let expected = self.tree.text_of_link(target, node.size);
        let name = self.tree.name_of(target, Kind::Symlink);
        let read = self
            .tree
            .reach(self.tree.directory_of(target))
            .and_then(|directory| Ok(rustix::fs::readlinkat(&*directory, &name, Vec::new())?));
        if read.map(|found| found.as_bytes() == expected.as_bytes()) != Ok(true) {
            self.add_fault(target, Kind::Symlink, Code::CORRUPT, None, format!("it does not lead to {expected}"));
        }
    }

    fn compare_contents(&mut self, target: Target, number: u32) {
        let compared = self.open_to_read(target).and_then(|(file, way)| {
            if self.script.ledger().node(number).has_attribute() {
                self.compare_attribute(target, &file);
            }
            match (target, self.record) {
                (Target::Shared(shared), Some(record)) => self.compare_records(shared, record, &file, way),
                _ => self.compare_bytes(target, number, &file, way),
            }
        });
        if let Err(why) = compared {
            let why = match why {
                OpenError::Kernel(why) => Code(why.raw_os_error()).to_string(),
                why => why.to_string(),
            };
            self.add_fault(target, Kind::File, Code::LOST, None, format!("it cannot be read: {why}"));
        }
    }

    /// Opens a file so that what is read comes from where it is stored: past the page cache, or after that was dropped.
    fn open_to_read(&self, target: Target) -> Result<(OwnedFd, Way), OpenError> {
        let directory = self.tree.reach(self.tree.directory_of(target))?;
        let name = self.tree.name_of(target, Kind::File);
        let known = Known::Names(u64::MAX);
        match directory.open_file(&name, OFlags::RDONLY | OFlags::DIRECT, known) {
            Ok(file) => Ok((file, Way::Direct)),
            Err(OpenError::Kernel(Errno::INVAL)) => {
                let file = directory.open_file(&name, OFlags::RDONLY, known)?;
                rustix::fs::fdatasync(&file)?;
                rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)?;
                Ok((file, Way::Buffered))
            }
            Err(why) => Err(why),
        }
    }

    fn compare_attribute(&mut self, target: Target, file: &OwnedFd) {
        let mut value = [0u8; 64];
        let read = rustix::fs::fgetxattr(file, ATTRIBUTE, &mut value);
        if read.map(|length| value[..length] == attribute_value(self.tree.run())) != Ok(true) {
            self.add_fault(target, Kind::File, Code::CORRUPT, None, "its attribute has another value".to_owned());
        }
    }

    fn compare_bytes(&mut self, target: Target, number: u32, file: &OwnedFd, way: Way) -> Result<(), OpenError> {
        let (contents, size) = (self.tree.contents(), self.script.ledger().node(number).size);
        let mut offset = 0;
        while offset < size {
            let length = STEP.min(size - offset);
            let pieces = self.script.ledger().pieces(number, offset..offset + length);
            let buffer = self.buffer.first(length as usize);
            let read = transfer::read_at(file, way, offset, buffer)?;
            if let Err(damage) = contents.check(&pieces, offset, &buffer[..read]) {
                if self.is_source_changed(&pieces) {
                    self.found.unsure += 1;
                    return Ok(());
                }
                let found = damage.found.map_or(String::new(), |head| {
                    format!("; it says to be generation {} of file {}", head.stamp.generation, head.file)
                });
                let text = format!("other bytes than were written{found}");
                self.add_fault(target, Kind::File, damage.kind, Some(damage.offset), text);
                return Ok(());
            }
            self.found.bytes += read as u64;
            offset += length;
        }
        Ok(())
    }

    /// Whether some of these bytes are copies of a file that is not what it was: nobody knows what they must be.
    fn is_source_changed(&self, pieces: &[Piece]) -> bool {
        let Some(source) = self.tree.source() else { return false };
        let copied = pieces.iter().filter_map(|piece| piece.version).filter(|version| version.is_of_source());
        copied.into_iter().any(|version| source.is_changed(version.file))
    }

    fn compare_records(&mut self, shared: u32, record: u64, file: &OwnedFd, way: Way) -> Result<(), OpenError> {
        let (run, length) = (self.tree.run(), record as usize);
        let mut check = RecordCheck::new(run, shared, length, self.script.appended(shared));
        let at_a_time = (STEP / record).max(1) * record;
        let mut offset = 0;
        loop {
            let buffer = self.buffer.first(at_a_time as usize);
            let read = transfer::read_at(file, way, offset, buffer)?;
            buffer[..read].chunks(length).for_each(|bytes| check.take(bytes));
            self.found.bytes += read as u64;
            offset += read as u64;
            if (read as u64) < at_a_time {
                break;
            }
        }
        for fault in check.finish() {
            let (kind, offset, text) = describe_record_fault(&fault);
            self.add_fault(Target::Shared(shared), Kind::File, kind, offset, text);
        }
        Ok(())
    }
}

fn describe_record_fault(fault: &RecordFault) -> (Code, Option<u64>, String) {
    match fault {
        RecordFault::Missing(record) => {
            let text = format!("record {} of client {} is not there", record.number, record.client);
            (Code::LOST, None, text)
        }
        RecordFault::Twice(record, at) => {
            let text = format!("record {} of client {} is there again", record.number, record.client);
            (Code::CORRUPT, Some(*at), text)
        }
        RecordFault::Torn(record, at) => {
            let text = format!("record {} of client {} is there in part", record.number, record.client);
            (Code::TORN, Some(*at), text)
        }
        RecordFault::Foreign(at) => (Code::FOREIGN, Some(*at), "what is there is no record of this run".to_owned()),
    }
}
