//! What the clients of a run do: which sequence a client takes next, when it is wanted, on which files, and which calls
//! it consists of.
//!
//! The shell asks [`Script::begin`] for a sequence, waits until it may be issued, asks [`Script::next_call`] for one
//! call after another, hands each result to [`Script::finish_call`], and says [`Script::end_sequence`] at the end. The
//! clients of a run share one script; between these questions it needs nobody. A file, or a record of a shared file, has
//! one owner, and only the owner changes it, so that an error is never made by a race between clients.

mod call;
mod cursor;
mod finish;
mod phase;
mod running;

pub use call::{Assignment, Begin, Call, Payload, Slot, Target};
pub use phase::Wall;

use crate::ledger::{Kind, Ledger};
use crate::records::Appended;
use assay_base::{Instant, Prng, Span};
use assay_model::files::{
    DirectoryNumber, FilesPhase, FilesWorkload, Layout, Pick, Subject, TreeShape, Until, keeps_file_open,
};
use cursor::Cursor;
use phase::{Phase, Progress};
use running::{Bound, Running};
use std::ops::Range;

/// Separates what clients draw from what else is drawn.
const CLIENT: u64 = 3;
const ORDER: u64 = 4;
/// How often another sequence of the mix is drawn for a client that has no file for the one that was drawn.
const MOST_DRAWS: u32 = 64;

/// A file that a client keeps open from one sequence to the next.
#[derive(Clone, Copy, Debug)]
struct Kept {
    sequence: usize,
    list: usize,
    target: Target,
    slot: u32,
}

/// One client.
#[derive(Clone, Debug)]
struct Client {
    prng: Prng,
    /// Since when it has nothing to do.
    free: Instant,
    running: Option<Running>,
    kept: Vec<Kept>,
    next_slot: u32,
    progress: Progress,
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
    /// Bytes of a record of a shared file.
    record: u64,
    /// The end of the numbers when the phase began: later names are not among those that it takes once.
    end_of_numbers: u32,
    skipped: u64,
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
            ledger: Ledger::new(clients, workload.tree.files),
            clients: Vec::new(),
            phase: None,
            shared: Vec::new(),
            appended: Vec::new(),
            record: workload.io.get().max(1),
            end_of_numbers: 0,
            skipped: 0,
        };
        for client in 0..clients {
            script.clients.push(Client {
                prng: Prng::child(seed, &[CLIENT, client.into()]),
                free: Instant::ZERO,
                running: None,
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
                if attributes {
                    self.ledger.set_attribute(node);
                }
            }
        }
        for file in 0..tree.shared.map_or(0, |shared| shared.files) {
            let is_made = !tree.empty && self.layout() != Layout::Append;
            let size = if is_made { self.records_of(file) * self.record * self.clients.len() as u64 } else { 0 };
            let node = self.ledger.make_node(Kind::File, size);
            self.shared.push(node);
            self.appended.push(vec![Appended::default(); self.clients.len()]);
        }
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

    /// Begins a phase at `now`. One without a time lasts `usual`. False if its schedule has no sequences.
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
        if !self.phase().has_time_for(intended) || self.is_worn_out(client) {
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
        self.clients[client as usize].running = Some(Running::new(sequence, Some(bound)));
        Begin::Sequence(Assignment { number, sequence: Some(sequence), intended, may_issue: intended.max(free) })
    }

    /// The calls of a client's sequence are made. True if all of them succeeded.
    pub fn end_sequence(&mut self, client: u32, now: Instant) -> bool {
        let state = &mut self.clients[client as usize];
        let running = state.running.take().expect("a sequence that ends was begun");
        assert!(running.call.is_none(), "a sequence ends behind its last call");
        state.free = now;
        if running.sequence != usize::MAX {
            state.progress.done += 1;
        }
        !running.is_abandoned
    }

    /// Nothing more in this phase, except closing what was kept open.
    fn over(&mut self, client: u32, now: Instant) -> Begin {
        let state = &mut self.clients[client as usize];
        if state.kept.is_empty() {
            return Begin::Over;
        }
        state.running = Some(Running::new(usize::MAX, None));
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

    /// A sequence of the mix and its file. Where there is no file for the one that was drawn, another is drawn.
    fn draw_sequence(&mut self, client: u32) -> Option<(usize, Bound)> {
        for _ in 0..MOST_DRAWS {
            let sequence = self.phase.as_mut().expect("a phase has begun").draw();
            if let Some(bound) = self.bind(client, sequence, 0) {
                return Some((sequence, bound));
            }
            self.skipped += 1;
        }
        None
    }

    /// The next file of a phase that takes every file once, by one sequence after another.
    fn next_of_every_file(&mut self, client: u32) -> Option<(usize, Bound)> {
        loop {
            let Progress { turn, ref cursor, .. } = self.clients[client as usize].progress;
            if turn >= self.phase().described.sequences.len() {
                return None;
            }
            let mut cursor = cursor.clone().unwrap_or_else(|| self.cursor_for(client, turn));
            let found = cursor.by_ref().find_map(|unit| self.bind_unit(client, turn, unit));
            let progress = &mut self.clients[client as usize].progress;
            progress.cursor = Some(cursor);
            if let Some(bound) = found {
                return Some((turn, bound));
            }
            (progress.turn, progress.cursor) = (turn + 1, None);
        }
    }

    /// All units that a client takes once: numbers, directories, or records of shared files.
    fn cursor_for(&self, client: u32, sequence: usize) -> Cursor {
        let described = &self.phase().described.sequences[sequence];
        let clients = self.clients.len() as u64;
        let whose = u64::from(self.whose(client, described.pick));
        let key = described.random_order.then(|| {
            let path = [ORDER, self.phase().index as u64, sequence as u64, client.into()];
            Prng::child(self.seed, &path).next_u64()
        });
        if self.is_shared(sequence) {
            let files = self.shared.len() as u64;
            let most = (0..self.shared.len()).map(|file| self.records_of(file as u32)).max().unwrap_or(0);
            return Cursor::new(0, 1, most * files, key);
        }
        let end = match Subject::from_steps(&described.steps[0]) {
            Subject::NewFile | Subject::NewDirectory | Subject::NewSymlink => self.workload.tree.files.into(),
            Subject::File | Subject::Directory | Subject::Symlink => self.end_of_numbers.into(),
            Subject::TreeDirectory => self.shape.directories(),
        };
        Cursor::new(whose, clients, end, key)
    }

    /// What a sequence works on for a unit of its cursor; `None` where that does not exist, or exists already.
    fn bind_unit(&mut self, client: u32, sequence: usize, unit: u64) -> Option<Bound> {
        let described = &self.phase().described.sequences[sequence];
        if self.is_shared(sequence) {
            let files = self.shared.len() as u64;
            let (file, record) = ((unit % files) as u32, unit / files);
            let owner = self.whose(client, described.pick);
            if record >= self.records_of(file) {
                return None;
            }
            return Some(self.bound_to(client, sequence, 0, Target::Shared(file), Some((owner, record))));
        }
        let subject = Subject::from_steps(&described.steps[0]);
        let target = match subject {
            Subject::TreeDirectory => Target::Directory(DirectoryNumber(unit)),
            _ => Target::Numbered(unit as u32),
        };
        let fits = match kind_of(subject) {
            None => true,
            Some(_) if subject.is_made() => self.ledger.node_number(unit as u32).is_none(),
            Some(kind) => self.ledger.has(unit as u32, kind),
        };
        fits.then(|| self.bound_to(client, sequence, 0, target, None))
    }

    /// What a list of steps works on, drawn.
    fn bind(&mut self, client: u32, sequence: usize, list: usize) -> Option<Bound> {
        let described = &self.phase().described.sequences[sequence];
        let (pick, steps) = (described.pick, &described.steps[list]);
        if self.is_shared(sequence) {
            let owner = self.drawn_owner(client, pick);
            let files = self.shared.len() as u64;
            let prng = &mut self.clients[client as usize].prng;
            let file = (files > 0).then(|| prng.below(files) as u32)?;
            let records = self.records_of(file);
            let record = self.clients[client as usize].prng.below(records);
            return Some(self.bound_to(client, sequence, list, Target::Shared(file), Some((owner, record))));
        }
        let subject = Subject::from_steps(steps);
        if keeps_file_open(steps)
            && let Some(kept) = self.kept(client, sequence, list, None)
        {
            return Some(Bound { target: kept.target, record: None, slot: Slot::Kept(kept.slot), opens_first: false });
        }
        let target = match kind_of(subject) {
            None => {
                let directories = self.shape.directories();
                Target::Directory(DirectoryNumber(self.clients[client as usize].prng.below(directories)))
            }
            Some(_) if subject.is_made() => Target::Numbered(self.ledger.take_number(client)),
            Some(kind) => Target::Numbered(self.pick_of_clients(client, self.whose_range(client, pick), kind)?),
        };
        Some(self.bound_to(client, sequence, list, target, None))
    }

    /// The binding to a target. A file that stays open is opened first, unless it is open.
    fn bound_to(
        &mut self,
        client: u32,
        sequence: usize,
        list: usize,
        target: Target,
        record: Option<(u32, u64)>,
    ) -> Bound {
        if !keeps_file_open(&self.phase().described.sequences[sequence].steps[list]) {
            return Bound { target, record, slot: Slot::Own, opens_first: false };
        }
        if let Some(kept) = self.kept(client, sequence, list, Some(target)) {
            return Bound { target, record, slot: Slot::Kept(kept.slot), opens_first: false };
        }
        if let Target::Numbered(number) = target
            && self.ledger.owner(number) == client
        {
            self.ledger.hold(number);
        }
        let state = &mut self.clients[client as usize];
        state.next_slot += 1;
        Bound { target, record, slot: Slot::Kept(state.next_slot - 1), opens_first: true }
    }

    fn kept(&self, client: u32, sequence: usize, list: usize, target: Option<Target>) -> Option<Kept> {
        let mut kept = self.clients[client as usize].kept.iter();
        let found = kept.find(|kept| {
            (kept.sequence, kept.list) == (sequence, list) && target.is_none_or(|target| target == kept.target)
        });
        found.copied()
    }

    /// One of a client's own names.
    fn pick(&mut self, client: u32, kind: Kind) -> Option<u32> {
        self.pick_of_clients(client, client..client + 1, kind)
    }

    fn pick_of_clients(&mut self, client: u32, clients: Range<u32>, kind: Kind) -> Option<u32> {
        loop {
            let number = self.ledger.pick(clients.clone(), kind, &mut self.clients[client as usize].prng)?;
            if self.ledger.has(number, kind) {
                return Some(number);
            }
            // Another name of a file that is unsure.
            self.ledger.mark_unsure(number);
        }
    }

    fn whose(&self, client: u32, pick: Pick) -> u32 {
        match pick {
            Pick::Own | Pick::Any => client,
            Pick::Next => (client + 1) % self.clients.len() as u32,
        }
    }

    fn whose_range(&self, client: u32, pick: Pick) -> Range<u32> {
        match pick {
            Pick::Any => 0..self.clients.len() as u32,
            Pick::Own | Pick::Next => self.whose(client, pick)..self.whose(client, pick) + 1,
        }
    }

    fn drawn_owner(&mut self, client: u32, pick: Pick) -> u32 {
        let range = self.whose_range(client, pick);
        range.start + self.clients[client as usize].prng.below(u64::from(range.end - range.start)) as u32
    }

    fn pick_of(&self, sequence: usize) -> Pick {
        self.phase().described.sequences.get(sequence).map_or(Pick::Own, |sequence| sequence.pick)
    }

    fn io_of(&self, sequence: usize) -> u64 {
        self.phase().described.sequences[sequence].io.unwrap_or(self.workload.io).get().max(1)
    }

    fn layout(&self) -> Layout {
        self.workload.tree.shared.map_or(Layout::default(), |shared| shared.layout)
    }

    /// How many records each client has in a shared file.
    fn records_of(&self, file: u32) -> u64 {
        (self.shape.shared_size(file) / self.record / self.clients.len() as u64).max(1)
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
    fn size_to_write(&self, target: Target) -> u64 {
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

/// The kind of name that steps are on; `None` where they are on a directory of the tree.
fn kind_of(subject: Subject) -> Option<Kind> {
    match subject {
        Subject::NewFile | Subject::File => Some(Kind::File),
        Subject::NewDirectory | Subject::Directory => Some(Kind::Directory),
        Subject::NewSymlink | Subject::Symlink => Some(Kind::Symlink),
        Subject::TreeDirectory => None,
    }
}
