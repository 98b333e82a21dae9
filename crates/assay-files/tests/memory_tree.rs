//! A file system in memory, which answers each call as Linux does, and clients on it whose calls overlap.

pub(crate) use crate::faults::Faults;
use assay_base::{Code, Instant, Prng, Span};
use assay_files::contents::Contents;
use assay_files::ledger::Kind;
use assay_files::records::RecordCheck;
use assay_files::script::{Assignment, Begin, Call, Payload, Script, Slot, Target};
use assay_model::files::{FilesWorkload, Operation, TreeShape};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const RUN: u32 = 4711;
const ENOTDIR: Code = Code(20);
const EISDIR: Code = Code(21);
const EINVAL: Code = Code(22);
const EBADF: Code = Code(9);

/// What a name leads to.
#[derive(Clone, Debug, Default)]
struct File {
    kind: Option<Kind>,
    bytes: Vec<u8>,
    leads_to: u32,
    links: u16,
    attribute: bool,
}

/// See the module.
#[derive(Default)]
pub(crate) struct MemoryTree {
    names: BTreeMap<Target, u64>,
    files: BTreeMap<u64, File>,
    next: u64,
    open: BTreeMap<(u32, Slot), u64>,
    /// Names of something foreign.
    foreign: BTreeSet<u32>,
    /// Who wrote which range of a shared file.
    owners: BTreeMap<(u32, u64), u32>,
    clients: u32,
    /// The first client works on the files of all in this phase.
    is_collective: bool,
    /// Bytes of a record of a shared file.
    record: u64,
    /// Calls of each operation.
    pub(crate) calls: BTreeMap<Operation, u64>,
}

impl MemoryTree {
    /// Makes what the script says that is made first.
    fn prepared(script: &Script, workload: &FilesWorkload) -> MemoryTree {
        let (clients, record) = (workload.clients, workload.io.get());
        let mut tree = MemoryTree { clients, record, ..MemoryTree::default() };
        let contents = Contents::new(RUN);
        let ledger = script.ledger();
        let shared = script.shared_nodes().iter().enumerate().map(|(file, node)| (Target::Shared(file as u32), *node));
        let mut made: BTreeMap<u32, u64> = BTreeMap::new();
        for (target, node) in ledger.all_names().map(|(number, node)| (Target::Numbered(number), node)).chain(shared) {
            if let Some(file) = made.get(&node) {
                tree.names.insert(target, *file);
                tree.files.get_mut(file).unwrap().links += 1;
                continue;
            }
            let (kind, size) = (ledger.node(node).kind, ledger.node(node).size);
            let is_file = kind == Kind::File;
            let mut bytes = vec![0; if is_file { size as usize } else { 0 }];
            for piece in ledger.pieces(node, 0..bytes.len() as u64) {
                let part = &mut bytes[piece.bytes.start as usize..piece.bytes.end as usize];
                contents.fill(piece.version.unwrap(), piece.bytes.start, part);
            }
            let attribute = ledger.node(node).has_attribute();
            let leads_to = if is_file { 0 } else { size as u32 };
            made.insert(
                node,
                tree.add(target, File { kind: Some(kind), bytes, leads_to, attribute, ..File::default() }),
            );
        }
        tree
    }

    fn add(&mut self, target: Target, file: File) -> u64 {
        self.next += 1;
        self.files.insert(self.next, File { links: 1, ..file });
        self.names.insert(target, self.next);
        self.next
    }

    fn make(&mut self, target: Target, kind: Kind, leads_to: u32) -> Result<u64, Code> {
        if self.names.contains_key(&target) {
            return Err(Code::EEXIST);
        }
        Ok(self.add(target, File { kind: Some(kind), leads_to, ..File::default() }))
    }

    fn find(&self, target: Target) -> Result<u64, Code> {
        self.names.get(&target).copied().ok_or(Code::ENOENT)
    }

    /// Looks for what a name leads to, through a symbolic link.
    fn follow(&self, target: Target) -> Result<u64, Code> {
        let file = &self.files[&self.find(target)?];
        match file.kind {
            Some(Kind::Symlink) => self.find(Target::Numbered(file.leads_to)).map(|_| 0),
            _ => Ok(0),
        }
    }

    fn remove(&mut self, target: Target) -> Result<(), Code> {
        let file = self.find(target)?;
        self.names.remove(&target);
        self.files.get_mut(&file).unwrap().links -= 1;
        Ok(())
    }

    fn opened(&mut self, client: u32, slot: Slot) -> Result<&mut File, Code> {
        let file = self.open.get(&(client, slot)).ok_or(EBADF)?;
        Ok(self.files.get_mut(file).unwrap())
    }

    /// Nobody changes what is another client's.
    fn check_owner(&mut self, client: u32, call: &Call) {
        if !call.operation.changes_something() {
            return;
        }
        if self.is_collective {
            return assert_eq!(client, 0, "{call:?}");
        }
        let makes_other = matches!(call.operation, Operation::Link | Operation::Rename);
        if let Some(number) = call.other.filter(|_| makes_other) {
            assert_eq!(number % self.clients, client, "{call:?}");
        }
        match call.target {
            Target::Numbered(number) => assert_eq!(number % self.clients, client, "{call:?}"),
            Target::Shared(file) if !matches!(call.payload, Payload::Record(_)) => {
                for byte in [call.offset, call.offset + call.length.max(1) - 1] {
                    let owner = *self.owners.entry((file, byte / self.record)).or_insert(client);
                    assert_eq!(owner, client, "{call:?}");
                }
            }
            Target::Shared(_) | Target::Directory(_) => {}
        }
    }

    /// Makes a call, as Linux would.
    pub(crate) fn call(&mut self, client: u32, call: &Call) -> Result<u64, Code> {
        *self.calls.entry(call.operation).or_default() += 1;
        self.check_owner(client, call);
        let Call { target, slot, .. } = *call;
        let other = || Target::Numbered(call.other.unwrap());
        match call.operation {
            Operation::Create => {
                let file = self.make(target, Kind::File, 0)?;
                self.open_slot(client, slot, file)
            }
            Operation::Open => {
                let file = self.find(target)?;
                if self.files[&file].kind != Some(Kind::File) {
                    return Err(EISDIR);
                }
                self.open_slot(client, slot, file)
            }
            Operation::Close => self.open.remove(&(client, slot)).map(|_| 0).ok_or(EBADF),
            Operation::Mknod => self.make(target, Kind::File, 0).map(|_| 0),
            Operation::Mkdir => self.make(target, Kind::Directory, 0).map(|_| 0),
            Operation::Symlink => self.make(target, Kind::Symlink, call.other.unwrap()).map(|_| 0),
            Operation::Stat | Operation::Access => self.follow(target),
            Operation::Chmod => self.find(target).map(|_| 0),
            Operation::Readlink => {
                let file = self.find(target)?;
                if self.files[&file].kind == Some(Kind::Symlink) { Ok(0) } else { Err(EINVAL) }
            }
            Operation::Readdir | Operation::FsyncDir | Operation::Statfs => {
                if matches!(target, Target::Directory(_)) {
                    Ok(0)
                } else {
                    Err(ENOTDIR)
                }
            }
            Operation::Unlink => {
                let file = self.find(target)?;
                if self.files[&file].kind == Some(Kind::Directory) {
                    Err(EISDIR)
                } else {
                    self.remove(target).map(|()| 0)
                }
            }
            Operation::Rmdir => {
                let file = self.find(target)?;
                if self.files[&file].kind == Some(Kind::Directory) {
                    self.remove(target).map(|()| 0)
                } else {
                    Err(ENOTDIR)
                }
            }
            Operation::Link => {
                let file = self.find(target)?;
                if self.names.contains_key(&other()) {
                    return Err(Code::EEXIST);
                }
                self.names.insert(other(), file);
                self.files.get_mut(&file).unwrap().links += 1;
                Ok(0)
            }
            Operation::Rename => {
                let file = self.find(target)?;
                if self.names.get(&other()) == Some(&file) {
                    return Ok(0);
                }
                if self.names.contains_key(&other()) {
                    self.remove(other())?;
                }
                self.names.remove(&target);
                self.names.insert(other(), file);
                Ok(0)
            }
            _ => self.call_on_open(client, call),
        }
    }

    fn open_slot(&mut self, client: u32, slot: Slot, file: u64) -> Result<u64, Code> {
        assert!(self.open.insert((client, slot), file).is_none(), "a slot that is opened was closed");
        Ok(0)
    }

    /// Calls on an open file.
    fn call_on_open(&mut self, client: u32, call: &Call) -> Result<u64, Code> {
        let (from, until) = (call.offset as usize, (call.offset + call.length) as usize);
        if call.operation == Operation::CopyRange {
            let bytes = self.opened(client, Slot::Source)?.bytes.clone();
            let part = bytes.get(from..until).ok_or(EINVAL)?.to_vec();
            return write_at(self.opened(client, call.slot)?, from, &part);
        }
        let file = self.opened(client, call.slot)?;
        let size = file.bytes.len();
        match call.operation {
            Operation::Read => Ok((until.min(size)).saturating_sub(from) as u64),
            // Beyond the end of a file, its mapping is a signal.
            Operation::MmapRead | Operation::MmapWrite | Operation::Msync if until > size || from == until => {
                Err(EINVAL)
            }
            Operation::MmapRead => Ok(call.length),
            Operation::Rmw if until > size => Err(EINVAL),
            Operation::Overwrite if call.length == 0 => Err(EINVAL),
            Operation::Truncate => {
                file.bytes.truncate(from);
                if from > size { Err(EINVAL) } else { Ok(0) }
            }
            Operation::Fallocate => {
                file.bytes.resize(size.max(until), 0);
                Ok(0)
            }
            Operation::Punch => {
                file.bytes.get_mut(from..until).ok_or(EINVAL)?.fill(0);
                Ok(0)
            }
            Operation::Setxattr => {
                file.attribute = true;
                Ok(0)
            }
            Operation::Getxattr => {
                if file.attribute {
                    Ok(0)
                } else {
                    Err(Code::ENODATA)
                }
            }
            _ if call.operation.writes_bytes() => write_payload(file, call),
            _ => Ok(0),
        }
    }

    /// Compares everything with the ledger of which it is sure.
    pub(crate) fn check(&self, script: &Script) {
        let ledger = script.ledger();
        let contents = Contents::new(RUN);
        for (number, node) in ledger.all_names() {
            let node_is = ledger.node(node);
            if node_is.is_unsure() {
                continue;
            }
            let found = self.names.get(&Target::Numbered(number));
            let file = &self.files[found.unwrap_or_else(|| panic!("the name {number} is there"))];
            assert_eq!((file.kind, file.links), (Some(node_is.kind), node_is.links), "name {number}");
            match node_is.kind {
                Kind::File => {
                    assert_eq!(file.bytes.len() as u64, node_is.size, "name {number}");
                    assert_eq!(
                        contents.check(&ledger.pieces(node, 0..u64::MAX), 0, &file.bytes),
                        Ok(()),
                        "name {number}"
                    );
                }
                Kind::Symlink => assert_eq!(u64::from(file.leads_to), node_is.size, "name {number}"),
                Kind::Directory => {}
            }
        }
        for target in self.names.keys() {
            let Target::Numbered(number) = *target else { continue };
            let is_known = ledger.node_number(number).is_some() || ledger.is_doubtful(number);
            assert!(is_known || self.foreign.contains(&number), "the ledger has the name {number}");
        }
        assert!(self.open.is_empty(), "every file is closed: {:?}", self.open);
        for (index, node) in script.shared_nodes().iter().enumerate() {
            let file = &self.files[&self.names[&Target::Shared(index as u32)]];
            let is_unsure = ledger.node(*node).is_unsure();
            if !is_unsure && script.appended(index as u32).iter().all(|appended| appended.next == 0) {
                assert_eq!(
                    contents.check(&ledger.pieces(*node, 0..u64::MAX), 0, &file.bytes),
                    Ok(()),
                    "shared {index}"
                );
            }
        }
    }

    /// The faults of the records of a shared file, each `length` bytes.
    pub(crate) fn check_records(&self, script: &Script, file: u32, length: usize) -> usize {
        let mut check = RecordCheck::new(RUN, file, length, script.appended(file));
        let bytes = &self.files[&self.names[&Target::Shared(file)]].bytes;
        bytes.chunks(length).for_each(|record| check.take(record));
        assert_eq!(check.finish(), []);
        bytes.len() / length
    }

    /// Gives back the descriptor of a call that failed after it had made its file.
    pub(crate) fn forget_slot(&mut self, client: u32, slot: Slot) {
        self.open.remove(&(client, slot));
    }

    /// Changes a byte of a file.
    pub(crate) fn damage(&mut self, number: u32) {
        let file = self.names[&Target::Numbered(number)];
        self.files.get_mut(&file).unwrap().bytes[0] ^= 1;
    }

    /// Gives a name to something foreign.
    pub(crate) fn foreign(&mut self, number: u32) {
        self.foreign.insert(number);
        self.add(Target::Numbered(number), File { kind: Some(Kind::File), ..File::default() });
    }

    /// Takes a name away.
    pub(crate) fn lose(&mut self, number: u32) {
        self.names.remove(&Target::Numbered(number));
    }
}

fn write_at(file: &mut File, from: usize, bytes: &[u8]) -> Result<u64, Code> {
    if file.bytes.len() < from + bytes.len() {
        file.bytes.resize(from + bytes.len(), 0);
    }
    file.bytes[from..from + bytes.len()].copy_from_slice(bytes);
    Ok(bytes.len() as u64)
}

fn write_payload(file: &mut File, call: &Call) -> Result<u64, Code> {
    let mut bytes = vec![0; call.length as usize];
    match call.payload {
        Payload::Version(version) => Contents::new(RUN).fill(version, call.offset, &mut bytes),
        Payload::Record(record) => {
            record.fill(RUN, &mut bytes);
            let end = file.bytes.len();
            return write_at(file, end, &bytes);
        }
        Payload::Nothing => panic!("a write has a payload: {call:?}"),
    }
    write_at(file, call.offset as usize, &bytes)
}

/// The result of a call.
struct Answer {
    result: Result<u64, Code>,
    is_injected: bool,
}

/// What a client is about to do.
enum Turn {
    Begin,
    Wait(Instant),
    Ask,
    Finish(Answer, Call),
    Over,
}

/// A script, its tree, and clients on it whose calls overlap in an order that is drawn.
pub(crate) struct Bench {
    pub(crate) script: Script,
    pub(crate) tree: MemoryTree,
    pub(crate) now: Instant,
    prng: Prng,
    turns: Vec<Turn>,
    /// How many turns of the others a client is passed over for each of its own.
    pub(crate) slowness: Vec<u64>,
    pub(crate) assigned: Vec<(u32, Assignment)>,
    pub(crate) calls_made: u64,
    pub(crate) visited: Vec<(u32, Operation, Target)>,
    /// Errors that nobody put in.
    pub(crate) errors: Vec<(Call, Code)>,
    /// Errors that were put in.
    pub(crate) injected: u64,
    /// What puts in errors.
    pub(crate) faults: Option<Faults>,
    keeps: bool,
}

impl Bench {
    pub(crate) fn new(workload: &FilesWorkload, seed: u64) -> Bench {
        let shape = TreeShape::new(&workload.tree, workload.clients, seed).unwrap();
        let script = Script::new(workload, shape, seed);
        let clients = workload.clients as usize;
        Bench {
            tree: MemoryTree::prepared(&script, workload),
            script,
            now: Instant::ZERO,
            prng: Prng::from_seed(seed),
            turns: Vec::new(),
            slowness: vec![0; clients],
            assigned: Vec::new(),
            calls_made: 0,
            visited: Vec::new(),
            errors: Vec::new(),
            injected: 0,
            faults: None,
            keeps: false,
        }
    }

    /// The same, which remembers every sequence and every call.
    pub(crate) fn remembering(workload: &FilesWorkload, seed: u64) -> Bench {
        Bench { keeps: true, ..Bench::new(workload, seed) }
    }

    /// Carries out a phase, at most about so many calls of it where it ends by time.
    pub(crate) fn run_phase(&mut self, index: usize, usual: Span) {
        assert!(self.script.start_phase(index, self.now, usual));
        self.tree.is_collective = self.script.phases()[index].collective;
        self.turns = (0..self.slowness.len()).map(|_| Turn::Begin).collect();
        let mut over = 0;
        while over < self.turns.len() {
            self.now += Span::from_us(1);
            let client = self.prng.uniform_below(self.turns.len() as u64) as usize;
            let passed_over = self.slowness[client] > 0 && self.prng.uniform_below(self.slowness[client] + 1) > 0;
            if passed_over || matches!(self.turns[client], Turn::Over) {
                continue;
            }
            self.turns[client] = self.turn(client as u32);
            over += usize::from(matches!(self.turns[client], Turn::Over));
        }
    }

    /// The tree's answer to a call, or an error that is put in.
    fn answer(&mut self, client: u32, call: &Call) -> Answer {
        match self.faults.as_mut().and_then(|faults| faults.draw_fault(call)) {
            Some(fault) => Answer { result: fault.apply(&mut self.tree, client, call), is_injected: true },
            None => Answer { result: self.tree.call(client, call), is_injected: false },
        }
    }

    fn is_unsure(&self, target: Target) -> bool {
        let Target::Numbered(number) = target else { return false };
        self.script.ledger().node_of(number).is_some_and(|node| node.is_unsure())
    }

    fn turn(&mut self, client: u32) -> Turn {
        match std::mem::replace(&mut self.turns[client as usize], Turn::Over) {
            Turn::Begin => match self.script.begin(client, self.now) {
                Begin::Over => Turn::Over,
                Begin::Sequence(assignment) => {
                    if self.keeps {
                        self.assigned.push((client, assignment));
                    }
                    Turn::Wait(assignment.may_issue)
                }
            },
            Turn::Wait(until) => {
                if self.now < until {
                    Turn::Wait(until)
                } else {
                    Turn::Ask
                }
            }
            Turn::Ask => match self.script.next_call(client) {
                Some(call) => {
                    self.calls_made += 1;
                    if self.keeps {
                        self.visited.push((client, call.operation, call.target));
                    }
                    Turn::Finish(self.answer(client, &call), call)
                }
                None => {
                    self.script.end_sequence(client, self.now);
                    Turn::Begin
                }
            },
            Turn::Finish(answer, call) => {
                // Through another of its names, an error has left open how long a file is that stays open.
                let is_unsure = self.is_unsure(call.target);
                let finished = self.script.finish_call(client, answer.result);
                self.injected += u64::from(answer.is_injected);
                // EEXIST: the ledger knows of a call that failed after it had made the name.
                if let Err(code) = finished
                    && !answer.is_injected
                    && !is_unsure
                    && code != Code::EEXIST
                {
                    self.errors.push((call, code));
                }
                Turn::Ask
            }
            Turn::Over => Turn::Over,
        }
    }
}
