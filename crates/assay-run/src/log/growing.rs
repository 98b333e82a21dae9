//! A log that another process may be writing, as bytes that do not end before its writer does.

use crate::log::judging::Log;
use std::io::{self, Read};
use std::time::Duration;

/// Time between two checks of a log that has not grown.
const LOOK: Duration = Duration::from_millis(200);

/// The bytes of a log, from where it was read last. They end when no other process is writing it any more.
#[derive(Debug)]
pub struct GrowingFile<'a> {
    log: &'a Log,
}

impl<'a> GrowingFile<'a> {
    /// The bytes of `log`.
    pub fn new(log: &'a Log) -> GrowingFile<'a> {
        GrowingFile { log }
    }
}

impl Read for GrowingFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // Checked before reading: what the writer wrote before it ended is still read.
            let grows = self.log.is_being_written();
            let n = self.log.read_bytes(buffer)?;
            if n > 0 || !grows {
                return Ok(n);
            }
            std::thread::park_timeout(LOOK);
        }
    }
}
