//! Which version of the contents each byte of a file has: pieces of a file, each of one version.
//!
//! A piece that was never written, or that was given back, reads as zeros. Neighbours of the same version are one piece,
//! so that a file that was written in order is a single piece however large it is.

use std::collections::BTreeMap;
use std::ops::Range;

/// A version of contents: the file that they were written to, and how often that file was changed until then.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version {
    /// The number under which the ledger knows the file, whatever its name is.
    pub file: u32,
    /// From 1.
    pub generation: u32,
}

/// The generation of bytes that are copies.
const OF_SOURCE: u32 = u32::MAX;

impl Version {
    /// The bytes that a file of the source has, by its number there.
    pub fn of_source(file: u32) -> Version {
        Version { file, generation: OF_SOURCE }
    }

    /// Whether they are those of a file of the source.
    pub fn is_of_source(self) -> bool {
        self.generation == OF_SOURCE
    }
}

/// A piece of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// The bytes, counted from the beginning of the file.
    pub bytes: Range<u64>,
    /// What they contain; `None` for zeros.
    pub version: Option<Version>,
}

/// The pieces of one file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Extents {
    /// By their beginning: the end and the version. They do not overlap; between them are zeros.
    pieces: BTreeMap<u64, (u64, Version)>,
}

impl Extents {
    /// A file whose first `size` bytes are of one version.
    pub fn whole(size: u64, version: Version) -> Extents {
        let mut extents = Extents::default();
        extents.write(0..size, version);
        extents
    }

    /// Whether some of these bytes were written.
    pub fn has_some_of(&self, bytes: &Range<u64>) -> bool {
        let before = self.pieces.range(..bytes.end).next_back();
        !bytes.is_empty() && before.is_some_and(|(_, (end, _))| *end > bytes.start)
    }

    /// Sets the version of some bytes.
    pub fn write(&mut self, bytes: Range<u64>, version: Version) {
        if bytes.is_empty() {
            return;
        }
        self.clear(bytes.clone());
        let (mut start, mut end) = (bytes.start, bytes.end);
        if let Some((&before, &(until, same))) = self.pieces.range(..start).next_back()
            && until == start
            && same == version
        {
            self.pieces.remove(&before);
            start = before;
        }
        if let Some(&(until, same)) = self.pieces.get(&end)
            && same == version
        {
            self.pieces.remove(&end);
            end = until;
        }
        self.pieces.insert(start, (end, version));
    }

    /// Makes zeros of some bytes.
    pub fn clear(&mut self, bytes: Range<u64>) {
        if bytes.is_empty() {
            return;
        }
        let before = self.pieces.range(..bytes.start).next_back().map(|(start, piece)| (*start, *piece));
        if let Some((start, (end, version))) = before
            && end > bytes.start
        {
            self.pieces.insert(start, (bytes.start, version));
            if end > bytes.end {
                self.pieces.insert(bytes.end, (end, version));
            }
        }
        while let Some((&start, &(end, version))) = self.pieces.range(bytes.clone()).next() {
            self.pieces.remove(&start);
            if end > bytes.end {
                self.pieces.insert(bytes.end, (end, version));
            }
        }
    }

    /// The only version of a file of this size that has no other; `None` where there are several, or zeros.
    pub fn only_version(&self, size: u64) -> Option<Version> {
        match self.pieces.first_key_value() {
            Some((0, (end, version))) if *end == size && self.pieces.len() == 1 => Some(*version),
            _ => None,
        }
    }

    /// The pieces of a range, without gaps: what was not written is there as zeros.
    pub fn pieces_of(&self, bytes: Range<u64>) -> Vec<Piece> {
        let mut found = Vec::new();
        let mut at = bytes.start;
        let first = self.pieces.range(..bytes.start).next_back().map_or(bytes.start, |(start, _)| *start);
        for (start, (end, version)) in self.pieces.range(first..bytes.end.max(first)) {
            let (start, end) = ((*start).max(bytes.start), (*end).min(bytes.end));
            if start >= end {
                continue;
            }
            if at < start {
                found.push(Piece { bytes: at..start, version: None });
            }
            found.push(Piece { bytes: start..end, version: Some(*version) });
            at = end;
        }
        if at < bytes.end {
            found.push(Piece { bytes: at..bytes.end, version: None });
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Prng;

    fn version(generation: u32) -> Version {
        Version { file: 7, generation }
    }

    #[test]
    fn pieces_equal_a_version_for_each_byte() {
        // The same changes to a plain list of versions, one for each byte.
        let mut prng = Prng::from_seed(5);
        let (mut extents, mut bytes) = (Extents::default(), vec![None; 100]);
        for generation in 1..20_000 {
            let (a, b) = (prng.uniform_below(100) as usize, prng.uniform_below(101) as usize);
            let range = a.min(b)..a.max(b);
            let written = (prng.uniform_below(4) > 0).then(|| version(generation % 3 + 1));
            let had = bytes[range.clone()].iter().any(Option::is_some);
            assert_eq!(extents.has_some_of(&(range.start as u64..range.end as u64)), had);
            match written {
                Some(version) => extents.write(range.start as u64..range.end as u64, version),
                None => extents.clear(range.start as u64..range.end as u64),
            }
            bytes[range.clone()].fill(written);
            let mut listed = Vec::new();
            let pieces = extents.pieces_of(range.start as u64..100);
            for piece in &pieces {
                listed.extend((piece.bytes.start..piece.bytes.end).map(|_| piece.version));
            }
            assert_eq!(listed, bytes[range.start..]);
            assert!(pieces.windows(2).all(|pair| pair[0].version != pair[1].version), "neighbours are merged");
        }
    }

    #[test]
    fn a_file_written_in_order_is_one_piece() {
        let mut extents = Extents::default();
        (0..1000).for_each(|at| extents.write(at * 10..at * 10 + 10, version(1)));
        assert_eq!((extents.only_version(10_000), extents.only_version(10_001)), (Some(version(1)), None));
        assert_eq!(extents, Extents::whole(10_000, version(1)));
        extents.write(5..6, version(2));
        assert_eq!((extents.only_version(10_000), extents.pieces_of(0..10_000).len()), (None, 3));
    }
}
