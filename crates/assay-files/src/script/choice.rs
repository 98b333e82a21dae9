//! Which sequence a client takes next, and on which file: drawn, or the next one of those that it takes once.

use super::cursor::Cursor;
use super::phase::Progress;
use super::running::Bound;
use super::{Kept, MOST_DRAWS, ORDER, Script, Slot, Target, numbers_of_tree};
use crate::ledger::Kind;
use assay_base::Prng;
use assay_model::files::{DirectoryNumber, Layout, Pick, Subject, keeps_file_open};
use std::ops::Range;

impl Script {
    /// A sequence of the mix and its file. Where there is no file for the one that was drawn, another is drawn: by the
    /// client, because the mix gives one sequence to each number of the schedule.
    pub(super) fn draw_sequence(&mut self, client: u32) -> Option<(usize, Bound)> {
        let phase = self.phase.as_mut().expect("a phase has begun");
        let first = phase.draw();
        let mut sequence = first;
        for _ in 0..MOST_DRAWS {
            if let Some(bound) = self.bind(client, sequence, 0) {
                self.phase.as_mut().expect("a phase has begun").note_replaced(first, Some(sequence));
                return Some((sequence, bound));
            }
            self.skipped += 1;
            let prng = &mut self.clients[client as usize].prng;
            sequence = self.phase.as_ref().expect("a phase has begun").draw_with(prng);
        }
        self.phase.as_mut().expect("a phase has begun").note_replaced(first, None);
        None
    }

    /// The next file of a phase that takes every file once, by one sequence after another.
    pub(super) fn next_of_every_file(&mut self, client: u32) -> Option<(usize, Bound)> {
        loop {
            let Progress { turn, ref mut cursor, .. } = self.clients[client as usize].progress;
            let begun = cursor.take();
            if turn >= self.phase().described.sequences.len() {
                return None;
            }
            let mut cursor = begun.unwrap_or_else(|| self.cursor_for(client, turn));
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
        let (mut whose, mut clients) = (u64::from(self.whose(client, described.pick)), self.clients.len() as u64);
        if self.phase().described.collective {
            (whose, clients) = (0, 1);
        }
        let key = described.random_order.then(|| {
            let path = [ORDER, self.phase().index as u64, sequence as u64, client.into()];
            Prng::for_path(self.seed, &path).next_u64()
        });
        if self.is_shared(sequence) {
            let files = self.shared.len() as u64;
            let most = self.records.of_files.iter().copied().max().unwrap_or(0);
            return Cursor::new(0, 1, most * files, key);
        }
        let most = self.phase().described.files.map_or(u64::MAX, u64::from);
        let (files, of_tree) = (self.workload.tree.files, numbers_of_tree(&self.workload.tree));
        let subject = Subject::from_steps(&described.steps[0]);
        if subject == Subject::NewSymlink && self.is_copy() {
            // The links of a source have the numbers behind those of its files.
            let turns = u64::from(files).saturating_sub(whose).div_ceil(clients);
            return Cursor::new(whose + turns * clients, clients, of_tree.into(), key);
        }
        let end = match subject {
            Subject::NewFile | Subject::NewDirectory | Subject::NewSymlink => most.min(files.into()),
            // An earlier sequence of the phase may have made files of the tree.
            Subject::File | Subject::Directory | Subject::Symlink => most.min(self.end_of_numbers.max(of_tree).into()),
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
    pub(super) fn bind(&mut self, client: u32, sequence: usize, list: usize) -> Option<Bound> {
        let described = &self.phase().described.sequences[sequence];
        let (pick, steps) = (described.pick, &described.steps[list]);
        if self.is_shared(sequence) {
            let owner = self.drawn_owner(client, pick);
            let files = self.shared.len() as u64;
            let prng = &mut self.clients[client as usize].prng;
            let file = (files > 0).then(|| prng.uniform_below(files) as u32)?;
            let records = self.records_of(file);
            let record = self.clients[client as usize].prng.uniform_below(records);
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
                Target::Directory(DirectoryNumber(self.clients[client as usize].prng.uniform_below(directories)))
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
    pub(super) fn pick(&mut self, client: u32, kind: Kind) -> Option<u32> {
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
        range.start + self.clients[client as usize].prng.uniform_below(u64::from(range.end - range.start)) as u32
    }

    pub(super) fn layout(&self) -> Layout {
        self.workload.tree.shared.map_or(Layout::default(), |shared| shared.layout)
    }

    /// How many records each client has in a shared file.
    pub(super) fn records_of(&self, file: u32) -> u64 {
        self.records.of_files[file as usize]
    }

    /// A number for a new name. In a phase that takes every file once it is none of those that are taken.
    pub(super) fn new_number(&mut self, client: u32) -> u32 {
        if self.phase().described.takes_every_file_once() {
            return self.ledger.take_fresh_number(client, self.end_of_numbers);
        }
        self.ledger.take_number(client)
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
