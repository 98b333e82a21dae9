//! Logs of `act_storage` and `act_index`, and of the single `act` before them: versions 3.0 to 6.6, read block by block
//! ([`Log`]), and written in the grammar of 6.6 ([`write`]).
//!
//! A log is cumulative: each block counts from the start. It is read as a stream, with one block in memory at a time;
//! lines, names and histograms are limited in number, every total is checked against its buckets, and time must
//! increase.
//!
//! Names are those of 6.x. The capitals of 3.0 and 4.0 are translated: READS is `reads`, RAW READS is `device-reads`, a
//! device listed under it is `DEV-reads`, LARGE BLOCK READS is `large-block-reads`, and so on for writes.

mod block;
mod head;
mod items;
mod source;
pub mod write;

pub(crate) use items::BUCKETS;
pub use items::{Block, DeviceLine, Event, Header, Item, LineKind, LogError, Program, Reading, Unit};

use source::Source;
use std::io::BufRead;

/// A log being read: its head, then an iterator over its items. After an error it ends.
pub struct Log<R> {
    source: Source<R>,
    header: Header,
    names: Vec<String>,
    reader: block::BlockReader,
    ended: bool,
}

impl<R: BufRead> Log<R> {
    /// Reads the head of a log. `file_name` is for messages.
    pub fn open(file_name: &str, reader: R) -> Result<Log<R>, LogError> {
        let mut source = Source::new(file_name, reader);
        let (header, start) = head::read_head(&mut source)?;
        let reader = block::BlockReader::new(header.major, start);
        Ok(Log { source, header, names: Vec::new(), reader, ended: false })
    }

    /// The head of a log: everything before the first block.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Names of the histograms found so far, in order of appearance; [`Reading::histogram`](items::Reading::histogram)
    /// is an index into it.
    pub fn histogram_names(&self) -> &[String] {
        &self.names
    }

    /// A fault at the line last read.
    pub(crate) fn fault_here(&self, message: impl Into<String>, advice: impl Into<String>) -> LogError {
        self.source.fault_here(message, advice).into()
    }
}

impl<R: BufRead> Iterator for Log<R> {
    type Item = Result<Item, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = self.reader.next_item(&mut self.source, &mut self.names);
        let last = matches!(&item, Err(_) | Ok(None | Some(Item::Event(Event { kind: LineKind::SecondRun, .. }))));
        self.ended |= last;
        item.transpose()
    }
}
