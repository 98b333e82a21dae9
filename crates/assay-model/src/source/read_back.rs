//! What a stream that reads back asks for: the places that the run has written.

/// Knows which places of each target a run has written, or may have written.
pub trait WrittenPlaces {
    /// The next range of a target to read back. Searches at most `most` units of the target, and begins where the last
    /// call ended.
    fn next_written(&self, target: u16, most: u64) -> NextWritten;
}

/// The result of a search for something to read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextWritten {
    /// This range is read next.
    Range {
        /// Its first byte.
        offset: u64,
        /// Its length in bytes.
        len: u32,
    },
    /// Nothing was found so far; the next call searches further.
    SearchFurther,
    /// There is nothing more to read back.
    NoMore,
}

/// For tests of sources that read nothing back.
#[cfg(test)]
#[derive(Debug)]
pub(super) struct NothingWritten;

#[cfg(test)]
impl WrittenPlaces for NothingWritten {
    fn next_written(&self, _target: u16, _most: u64) -> NextWritten {
        NextWritten::NoMore
    }
}
