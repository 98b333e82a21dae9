//! libCacheSim's oracleGeneral: records of 24 bytes, little-endian: time in seconds (4), object (8), its size (4), and when
//! it is asked for again (8). An object has no place: each gets one of its own, in the order of their numbers, so that heat
//! and re-use are those of the objects, and runs mean nothing.

use super::LeftOut;
use super::volumes::{TracedRequest, Volumes};
use assay_base::Direction;

const RECORD: usize = 24;
/// Room for an object, and how many have a place of their own: objects whose numbers are that far apart share one.
const ROOM: u64 = 4096;
const OBJECTS: u64 = 1 << 40;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct RecordReader {
    partial: Vec<u8>,
    number: u64,
}

impl RecordReader {
    pub(super) fn feed_bytes(&mut self, mut bytes: &[u8], volumes: &mut Volumes, left_out: &mut LeftOut) {
        if !self.partial.is_empty() {
            let missing = (RECORD - self.partial.len()).min(bytes.len());
            self.partial.extend_from_slice(&bytes[..missing]);
            bytes = &bytes[missing..];
            if self.partial.len() < RECORD {
                return;
            }
            let record = std::mem::take(&mut self.partial);
            self.take_record(&record, volumes, left_out);
        }
        let records = bytes.chunks_exact(RECORD);
        self.partial.extend_from_slice(records.remainder());
        records.for_each(|record| self.take_record(record, volumes, left_out));
    }

    pub(super) fn end_file(&mut self, left_out: &mut LeftOut) {
        if !self.partial.is_empty() {
            left_out.add_damaged(self.number + 1, b"the file ends within a record");
        }
        self.partial.clear();
        self.number = 0;
    }

    fn take_record(&mut self, record: &[u8], volumes: &mut Volumes, left_out: &mut LeftOut) {
        self.number += 1;
        let request = parse_record(record).filter(|request| request.bytes > 0);
        match request {
            Some(request) => volumes.add_request(&request),
            None => left_out.add_damaged(self.number, b"an object of no bytes"),
        }
    }
}

fn parse_record(record: &[u8]) -> Option<TracedRequest<'static>> {
    let (time, rest) = record.split_first_chunk::<4>()?;
    let (object, rest) = rest.split_first_chunk::<8>()?;
    let (bytes, _) = rest.split_first_chunk::<4>()?;
    Some(TracedRequest {
        volume: "objects",
        direction: Direction::Read,
        at: u64::from(u32::from_le_bytes(*time)) * 1_000_000_000,
        place: u64::from_le_bytes(*object) % OBJECTS * ROOM,
        bytes: u32::from_le_bytes(*bytes).into(),
    })
}
