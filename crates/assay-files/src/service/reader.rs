//! A reader that follows what is written from the beginning of its files on.

use super::files::{KindState, ServiceFiles};

/// Where a reader is.
#[derive(Clone, Debug, Default)]
pub(super) struct FollowingReader {
    /// The place among the files of its kind that it reads.
    place: usize,
    /// Of each place, the file, and how far it is read.
    offsets: Vec<(usize, u64)>,
}

/// Bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadPart {
    pub(super) file: usize,
    pub(super) offset: u64,
    pub(super) length: u64,
}

impl FollowingReader {
    /// The next bytes, at most so many; `None` where nothing is there to read. It reads each of the files in turn, and
    /// begins again with all when it has caught up with all.
    pub(super) fn next_part(&mut self, files: &ServiceFiles, kind: &KindState, most: u64) -> Option<ReadPart> {
        self.offsets.resize(kind.current.len(), (usize::MAX, 0));
        for is_second_look in [false, true] {
            if is_second_look {
                self.offsets.iter_mut().for_each(|offset| offset.1 = 0);
            }
            for _ in 0..kind.current.len() {
                let place = self.place;
                self.place = (self.place + 1) % kind.current.len();
                let Some(file) = kind.current[place] else { continue };
                if self.offsets[place].0 != file {
                    self.offsets[place] = (file, 0);
                }
                let offset = self.offsets[place].1;
                let length = most.min(files.file(file).readable().saturating_sub(offset));
                if length > 0 {
                    self.offsets[place].1 += length;
                    return Some(ReadPart { file, offset, length });
                }
            }
        }
        None
    }
}
