//! What the clients of a run do: which sequence a client takes next, when it is wanted, on which files, and which calls
//! it consists of.
//!
//! The shell asks [`Script::begin`] for a sequence, waits until it may be issued, asks [`Script::next_call`] for one
//! call after another, hands each result to [`Script::finish_call`], and says [`Script::end_sequence`] at the end. The
//! clients of a run share one script; between these questions it needs nobody. A file, or a record of a shared file, has
//! one owner, and only the owner changes it, so that an error is never made by a race between clients.

mod call;
mod choice;
mod cursor;
mod finish;
mod next_call;
mod phase;
mod running;

pub use call::{Assignment, Begin, Call, Payload, Slot, Target};
pub use phase::{Arrivals, LookAhead, Wall};

use crate::extents::Version;
use crate::ledger::{Kind, Ledger};
use crate::records::Appended;
use assay_base::{Instant, Prng, Span};
use assay_model::files::{DirectoryNumber, FilesPhase, FilesWorkload, Layout, Tree, TreeShape, Until};
use phase::{Phase, Progress};
use running::{Bound, Running};

/// Separates what clients draw from what else is drawn.
const CLIENT: u64 = 3;
const ORDER: u64 = 4;
/// How often something else is drawn for a client: another sequence, where it has no file for the one that was drawn, or another file.
const MOST_DRAWS: u32 = 64;

/// A file that a client keeps open from one sequence to the next.
#[derive(Clone, Copy, Debug)]
struct Kept {
    sequence: usize,
    list: usize,
    target: Target,
    slot: u32,
}

/// The records of shared files.
#[derive(Clone, Debug)]
struct SharedRecords {
    /// Bytes of one.
    length: u64,
    /// How many of them each client has in each file.
    of_files: Vec<u64>,
}

/// One client.
#[derive(Clone, Debug)]
struct Client {
    prng: Prng,
    /// Since when it has nothing to do.
    free: Instant,
    running: Option<Box<Running>>,
    /// Where the next sequence is carried out: the room of the one that ended.
    room: Option<Box<Running>>,
    kept: Vec<Kept>,
    next_slot: u32,
    progress: Progress,
}

impl Client {
    fn start(&mut self, sequence: Option<usize>, bound: Option<Bound>) {
        let mut running = self.room.take().unwrap_or_default();
        running.start(sequence, bound);
        self.running = Some(running);
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Script {
    workload: FilesWorkload,
    phases: Vec<FilesPhase>,
    shape: TreeShape,
    seed: u64,
    ledger: Ledger,
    clients: Vec<Client>,
    phase: Option<Phase>,
    /// The nodes of the shared files, and what was appended to each by each client.
    shared: Vec<u32>,
    appended: Vec<Vec<Appended>>,
    records: SharedRecords,
    /// The end of the numbers when the phase began: later names are not among those that it takes once.
    end_of_numbers: u32,
    skipped: u64,
}

/// Where a symbolic link leads to that is a copy: to no number.
pub(super) const LEADS_OUT: u64 = u64::MAX;

/// How many numbers have the names that the tree begins with.
fn numbers_of_tree(tree: &Tree) -> u32 {
    let links = if tree.empty && tree.source.is_none() { 0 } else { tree.symlink_count() + tree.link_count() };
    tree.files + links
}

impl Script {
    /// The script of a workload on a tree of this shape, which begins as [`Script::ledger`] says: with all its files, or
    /// none where phases create them.
    pub fn new(workload: &FilesWorkload, shape: TreeShape, seed: u64) -> Script {
        let clients = workload.clients.max(1);
        let mut script = Script {
            workload: workload.clone(),
            phases: workload.all_phases(),
            shape,
            seed,
            ledger: Ledger::new(clients, numbers_of_tree(&workload.tree)),
            clients: Vec::new(),
            phase: None,
            shared: Vec::new(),
            appended: Vec::new(),
            records: SharedRecords { length: workload.io.get().max(1), of_files: Vec::new() },
            end_of_numbers: 0,
            skipped: 0,
        };
        for client in 0..clients {
            script.clients.push(Client {
                prng: Prng::for_path(seed, &[CLIENT, client.into()]),
                free: Instant::ZERO,
                running: None,
                room: None,
                kept: Vec::new(),
                next_slot: 0,
                progress: Progress::default(),
            });
        }
        script.enter_tree();
        script
    }

    /// Enters what is made first.
    fn enter_tree(&mut self) {
        let tree = self.workload.tree.clone();
        if !tree.empty {
            let attributes = self.workload.needs_attributes();
            for number in 0..tree.files {
                let node = self.ledger.make(number, Kind::File, self.shape.size(number));
                if self.is_copy() {
                    self.ledger.set_version(node, Version::of_source(number));
                }
                if attributes {
                    self.ledger.set_attribute(node);
                }
            }
            self.enter_links(&tree);
        }
        for file in 0..tree.shared.map_or(0, |shared| shared.files) {
            let is_made = !tree.empty && self.layout() != Layout::Append;
            let clients = self.clients.len() as u64;
            let records = (self.shape.shared_size(file) / self.records.length / clients).max(1);
            self.records.of_files.push(records);
            let size = if is_made { records * self.records.length * clients } else { 0 };
            let node = self.ledger.make_node(Kind::File, size);
            self.shared.push(node);
            self.appended.push(vec![Appended::default(); self.clients.len()]);
        }
    }

    /// Enters the symbolic links and second names of the tree. Their numbers follow those of the files, and each leads to
    /// a file of its own owner: nobody else may take that away.
    fn enter_links(&mut self, tree: &Tree) {
        let clients = self.clients.len() as u32;
        let (symlinks, links) = (tree.symlink_count(), tree.link_count());
        for number in tree.files..tree.files + symlinks + links {
            if self.is_copy() {
                self.ledger.make(number, Kind::Symlink, LEADS_OUT);
                continue;
            }
            let owner = self.ledger.owner(number);
            let own_files = tree.files.saturating_sub(owner).div_ceil(clients);
            if own_files == 0 {
                continue;
            }
            let target = owner + (number / clients) % own_files * clients;
            if number < tree.files + symlinks {
                self.ledger.make(number, Kind::Symlink, target.into());
            } else if let Some(node) = self.ledger.node_number(target) {
                self.ledger.add_name(number, node);
            }
        }
    }

    /// Whether the tree is a copy of a source.
    pub(super) fn is_copy(&self) -> bool {
        self.shape.listed_source().is_some()
    }

    /// What exists.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The tree's shape.
    pub fn shape(&self) -> &TreeShape {
        &self.shape
    }

    /// The nodes of the shared files.
    pub fn shared_nodes(&self) -> &[u32] {
        &self.shared
    }

    /// What each client appended to a shared file.
    pub fn appended(&self, file: u32) -> &[Appended] {
        &self.appended[file as usize]
    }

    /// Lists of steps that were left out, because no file was there for them.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The phases of the run.
    pub fn phases(&self) -> &[FilesPhase] {
        &self.phases
    }

    /// Begins a phase at `now`. One without a time lasts `usual`, and none is given more time than that. False if its schedule has no sequences.
    pub fn start_phase(&mut self, index: usize, now: Instant, usual: Span) -> bool {
        self.end_of_numbers = self.ledger.end_of_numbers();
        for client in &mut self.clients {
            assert!(client.running.is_none() && client.kept.is_empty(), "the phase before is over for every client");
            (client.free, client.progress) = (now, Progress::default());
        }
        let described = self.phases[index].clone();
        self.phase = Phase::new(described, index, self.workload.pace, now, usual, self.seed);
        self.phase.is_some()
    }

    /// When the first client of this phase had no more to do, where each takes every file once.
    pub fn wall(&self) -> Option<&Wall> {
        self.phase.as_ref().and_then(|phase| phase.wall.as_ref())
    }

    /// Counts what is due in this phase, where a schedule says it. It is asked for before the first sequence begins.
    pub fn look_ahead(&self) -> Option<LookAhead> {
        self.phase().look_ahead()
    }

    /// The moments of this phase's schedule, for whoever takes several of them at once; `None` where there is none.
    pub fn arrivals(&self) -> Option<Arrivals> {
        self.phase().arrivals()
    }

    /// Of each sequence of this phase: how often it was begun in the place of another one, for which there was no file,
    /// less how often another one in its place.
    pub fn replaced(&self) -> &[i64] {
        &self.phase().replaced
    }

    /// When this phase ends, where that follows from its time.
    pub fn planned_end(&self) -> Option<Instant> {
        self.phase().planned_end()
    }

    /// Sequences that a client has done in this phase.
    pub fn done_by(&self, client: u32) -> u64 {
        self.clients[client as usize].progress.done
    }

    /// What a client that has nothing to do does next.
    pub fn begin(&mut self, client: u32, now: Instant) -> Begin {
        let free = self.clients[client as usize].free;
        assert!(self.clients[client as usize].running.is_none(), "a client has one sequence at a time");
        if self.phase().is_at_its_limit(now) {
            self.set_wall(now);
        }
        let intended = self.phase().intended(free);
        let is_left_to_first = self.phase().described.collective && client != 0;
        if is_left_to_first
            || !self.phase().has_time_for(intended)
            || self.phase().is_counted_out()
            || self.is_worn_out(client)
        {
            return self.over(client, now);
        }
        let every_file = self.phase().described.takes_every_file_once();
        let found = if every_file { self.next_of_every_file(client) } else { self.draw_sequence(client) };
        let Some((sequence, bound)) = found else {
            if every_file && self.wall().is_none() {
                self.set_wall(free);
            }
            return self.over(client, now);
        };
        let phase = self.phase.as_mut().expect("a phase has begun");
        let number = phase.next;
        phase.advance();
        self.clients[client as usize].start(Some(sequence), Some(bound));
        Begin::Sequence(Assignment { number, sequence: Some(sequence), intended, may_issue: intended.max(free) })
    }

    /// The calls of a client's sequence are made. True if all of them succeeded.
    pub fn end_sequence(&mut self, client: u32, now: Instant) -> bool {
        let state = &mut self.clients[client as usize];
        let running = state.running.take().expect("a sequence that ends was begun");
        assert!(running.call.is_none(), "a sequence ends behind its last call");
        state.free = now;
        state.progress.done += u64::from(running.sequence.is_some());
        let succeeded = !running.is_abandoned;
        state.room = Some(running);
        succeeded
    }

    /// Nothing more in this phase, except closing what was kept open.
    fn over(&mut self, client: u32, now: Instant) -> Begin {
        let state = &mut self.clients[client as usize];
        if state.kept.is_empty() {
            return Begin::Over;
        }
        state.start(None, None);
        let number = self.phase().next;
        Begin::Sequence(Assignment { number, sequence: None, intended: now, may_issue: now })
    }

    fn set_wall(&mut self, at: Instant) {
        let done: Vec<u64> = self.clients.iter().map(|client| client.progress.done).collect();
        let most = done.iter().copied().max().unwrap_or(0);
        let phase = self.phase.as_mut().expect("a phase has begun");
        phase.wall = Some(Wall { at, done, most });
    }

    /// Whether a client has done as much as the one that did most until the stonewall.
    fn is_worn_out(&self, client: u32) -> bool {
        let phase = self.phase();
        let most = phase.wall.as_ref().map(|wall| wall.most).filter(|_| phase.described.until == Until::Stonewall);
        most.is_some_and(|most| self.done_by(client) >= most)
    }

    fn phase(&self) -> &Phase {
        self.phase.as_ref().expect("a phase has begun")
    }

    fn node_of(&self, target: Target) -> Option<u32> {
        match target {
            Target::Numbered(number) => self.ledger.node_number(number),
            Target::Shared(file) => self.shared.get(file as usize).copied(),
            Target::Directory(_) => None,
        }
    }

    /// The size of a file.
    fn size_of(&self, target: Target) -> u64 {
        let node = self.node_of(target).map(|node| self.ledger.node(node));
        node.filter(|node| node.kind == Kind::File).map_or(0, |node| node.size)
    }

    /// How many bytes a file has that is written as a whole.
    fn size_to_write(&self, running: &Running, target: Target) -> u64 {
        match (target, self.sequence_of(running).and_then(|sequence| sequence.size)) {
            (Target::Numbered(_), Some(size)) => size.get(),
            (target, _) => self.size_in_tree(target),
        }
    }

    /// The size that the tree gives a file.
    fn size_in_tree(&self, target: Target) -> u64 {
        match target {
            Target::Numbered(number) => self.shape.size(number),
            Target::Shared(file) => self.shape.shared_size(file),
            Target::Directory(_) => 0,
        }
    }

    /// The directory that a step on a directory is about.
    fn directory_of(&self, target: Target) -> DirectoryNumber {
        match target {
            Target::Numbered(number) => self.shape.directory(number),
            Target::Shared(_) => DirectoryNumber(0),
            Target::Directory(directory) => directory,
        }
    }
}
