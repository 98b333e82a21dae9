//! The files of a server as they should be: which exist, how far each is written, and what its bytes are.
//!
//! A file that is written from its beginning to its end has one generation of contents for each time; behind the place
//! up to which it was written, a ring or a recycled file still has those of the time before. A file that is written page
//! by page has a generation for each page. Both follow from counters, so that hours of writes take no memory.

use crate::extents::{Piece, Version};
use assay_model::files::service::{MadeBy, Service, ServiceFile};
use std::collections::VecDeque;

/// One file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileState {
    /// The place of its kind in the description.
    pub kind: usize,
    /// The number of its name.
    pub name: u64,
    /// Whether it is there.
    pub exists: bool,
    /// Whether a call on it failed, so that nobody knows what it is.
    pub is_unsure: bool,
    /// Its size.
    pub size: u64,
    /// Behind which byte the next commit is written.
    pub position: u64,
    /// Up to where it was written this time, and the time before.
    written_to: u64,
    written_before: u64,
    generation: u32,
    /// The generation of each page, and their size, where it is written page by page. 0: zeros.
    pages: Option<Pages>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Pages {
    size: u64,
    generations: Vec<u32>,
}

impl FileState {
    fn new(kind: usize, name: u64) -> FileState {
        FileState {
            kind,
            name,
            exists: false,
            is_unsure: false,
            size: 0,
            position: 0,
            written_to: 0,
            written_before: 0,
            generation: 1,
            pages: None,
        }
    }

    /// The same without what its bytes are: all that a call needs.
    pub fn without_contents(&self) -> FileState {
        FileState { pages: None, ..*self }
    }

    /// How many pages it has.
    pub(super) fn page_count(&self) -> u64 {
        self.pages.as_ref().map_or(0, |pages| pages.generations.len() as u64)
    }

    /// Bytes of it that were ever written, for a reader that begins at its beginning.
    pub fn readable(&self) -> u64 {
        if self.pages.is_some() { self.size } else { self.written_to }
    }

    /// Its next write is at its beginning again, over what is there.
    pub(super) fn restart(&mut self) {
        self.written_before = self.written_before.max(self.written_to);
        (self.position, self.written_to) = (0, 0);
        self.generation = self.generation.saturating_add(1);
    }

    /// It has another size from now on.
    pub(super) fn resize(&mut self, size: u64) {
        self.size = size;
        self.written_before = self.written_before.min(size);
        if let Some(pages) = &mut self.pages {
            pages.generations.resize((size / pages.size) as usize, 0);
        }
    }

    /// Bytes are written; returns the generation of their contents.
    pub(super) fn write_to_end(&mut self, from: u64, until: u64) -> u32 {
        debug_assert!(from <= until);
        self.written_to = self.written_to.max(until);
        self.size = self.size.max(until);
        self.generation
    }

    /// A page is written; returns the generation of its contents.
    pub(super) fn write_page(&mut self, page: u64) -> u32 {
        let pages = self.pages.as_mut().expect("only files of pages are written page by page");
        let generation = &mut pages.generations[page as usize];
        *generation = generation.saturating_add(1);
        *generation
    }

    /// The pieces of which some of its bytes consist; `file` is its index.
    pub fn pieces(&self, file: usize, bytes: std::ops::Range<u64>) -> Vec<Piece> {
        let version = |generation| (generation > 0).then_some(Version { file: file as u32, generation });
        let mut pieces = Vec::new();
        if let Some(pages) = &self.pages {
            for page in bytes.start / pages.size..bytes.end.div_ceil(pages.size) {
                let generation = pages.generations.get(page as usize).copied().unwrap_or(0);
                let (start, end) = (page * pages.size, (page + 1) * pages.size);
                add_piece(&mut pieces, start.max(bytes.start)..end.min(bytes.end), version(generation));
            }
            return pieces;
        }
        let written = self.written_to.clamp(bytes.start, bytes.end);
        let before = self.written_before.clamp(written, bytes.end);
        add_piece(&mut pieces, bytes.start..written, version(self.generation));
        add_piece(&mut pieces, written..before, version(self.generation - 1));
        add_piece(&mut pieces, before..bytes.end, None);
        pieces
    }

    /// Up to where its bytes are known: a file that was written over more than twice to different ends is known as far as
    /// the last two times.
    pub fn known_bytes(&self) -> u64 {
        if self.generation > 2 && self.pages.is_none() { self.written_to } else { self.size }
    }
}

fn add_piece(pieces: &mut Vec<Piece>, bytes: std::ops::Range<u64>, version: Option<Version>) {
    if !bytes.is_empty() {
        pieces.push(Piece { bytes, version });
    }
}

/// The files of one kind.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct KindState {
    /// Those that are used, by their index.
    pub(super) current: Vec<Option<usize>>,
    /// Which of them was written last.
    pub(super) turn: usize,
    /// Those that are next, and those that were full.
    pub(super) ready: VecDeque<usize>,
    pub(super) old: VecDeque<usize>,
    /// The two between which the writer is moving on.
    pub(super) moving: Option<Moving>,
    /// How often it has moved on.
    pub(super) moves: u64,
}

/// The writer moves from one file to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Moving {
    pub(super) place: usize,
    pub(super) old: usize,
    pub(super) new: usize,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServiceFiles {
    files: Vec<FileState>,
    pub(super) kinds: Vec<KindState>,
    next_name: u64,
}

impl ServiceFiles {
    /// The files with which a run begins.
    pub fn new(service: &Service) -> ServiceFiles {
        let mut all = ServiceFiles { files: Vec::new(), kinds: Vec::new(), next_name: 0 };
        for (kind, described) in service.files.iter().enumerate() {
            let mut state = KindState::default();
            let is_there = !service.is_created_by_a_step(kind);
            for _ in 0..described.number {
                let file = is_there.then(|| all.add_made(kind, described, described.begins_with.get()));
                state.current.push(file);
            }
            for _ in 0..if is_there { described.ready } else { 0 } {
                state.ready.push_back(all.add_made(kind, described, 0));
            }
            all.kinds.push(state);
        }
        all
    }

    /// Another file of a kind, which is not made yet.
    pub(super) fn add(&mut self, kind: usize) -> usize {
        let name = self.take_name();
        self.files.push(FileState::new(kind, name));
        self.files.len() - 1
    }

    fn add_made(&mut self, kind: usize, described: &ServiceFile, begins_with: u64) -> usize {
        let file = self.add(kind);
        let state = &mut self.files[file];
        state.exists = true;
        state.position = begins_with;
        state.written_to = begins_with;
        state.size = size_when_made(described).max(begins_with);
        if described.made_by == MadeBy::Written {
            state.written_to = described.size.get();
            let page = described.block.map_or(described.size, |block| block).get().max(1);
            let generations = vec![1; (described.size.get() / page) as usize];
            state.pages = described.block.map(|_| Pages { size: page, generations });
        }
        file
    }

    /// A number that no name has had.
    pub(super) fn take_name(&mut self) -> u64 {
        self.next_name += 1;
        self.next_name - 1
    }

    /// A file by its index.
    pub fn file(&self, file: usize) -> &FileState {
        &self.files[file]
    }

    pub(super) fn file_mut(&mut self, file: usize) -> &mut FileState {
        &mut self.files[file]
    }

    /// All files, those that are gone too, in the order of their index.
    pub fn all(&self) -> &[FileState] {
        &self.files
    }

    /// Bytes and files that are there, as far as their sizes say it.
    pub fn used(&self) -> (u64, u64) {
        let mut used = (0, 0);
        for file in self.files.iter().filter(|file| file.exists) {
            used.0 += file.size;
            used.1 += 1;
        }
        used
    }
}

/// The size of a file as soon as it is made.
pub(super) fn size_when_made(described: &ServiceFile) -> u64 {
    match described.made_by {
        MadeBy::Nothing | MadeBy::FallocateKeepSize => 0,
        MadeBy::Fallocate | MadeBy::Zeros | MadeBy::Written | MadeBy::Truncate => described.size.get(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_written_over_has_this_time_before_the_last_time_and_then_zeros() {
        let mut file = FileState::new(0, 0);
        file.resize(100);
        file.write_to_end(0, 60);
        file.restart();
        file.write_to_end(0, 25);
        let shown: Vec<_> = file
            .pieces(7, 10..90)
            .into_iter()
            .map(|piece| (piece.bytes, piece.version.map(|it| it.generation)))
            .collect();
        assert_eq!(shown, [(10..25, Some(2)), (25..60, Some(1)), (60..90, None)]);
        assert_eq!((file.known_bytes(), file.readable()), (100, 25));
        file.restart();
        assert_eq!(file.known_bytes(), 0, "nobody remembers what was there three times ago");
    }

    #[test]
    fn pages_have_generations_of_their_own_and_new_ones_are_zeros() {
        let mut file = FileState::new(0, 0);
        file.pages = Some(Pages { size: 10, generations: vec![1; 3] });
        file.resize(40);
        assert_eq!((file.write_page(1), file.write_page(1), file.page_count()), (2, 3, 4));
        let shown: Vec<_> = file
            .pieces(0, 5..40)
            .into_iter()
            .map(|piece| (piece.bytes, piece.version.map(|it| it.generation)))
            .collect();
        assert_eq!(shown, [(5..10, Some(1)), (10..20, Some(3)), (20..30, Some(1)), (30..40, None)]);
    }
}
