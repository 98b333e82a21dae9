//! Records that many clients append to one file: each is found once and whole, in whatever order.
//!
//! A record describes itself, because nobody knows beforehand where it will be. Layout, little-endian: 8 bytes magic,
//! u32 run, u32 file, u32 client, u32 length, u64 number; what follows is random and depends on all of them. A record is
//! at least as long as that head.

use assay_base::Prng;
use std::collections::BTreeSet;

/// The shortest record.
pub const SHORTEST: usize = 32;
const MAGIC: [u8; 8] = *b"ASSAYREC";

/// Which record it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Record {
    /// The index of the shared file.
    pub file: u32,
    /// Who appended it.
    pub client: u32,
    /// The how-many-th of that client in this file, from 0.
    pub number: u64,
}

impl Record {
    /// Fills `buffer`, whose length is that of the record.
    pub fn fill(self, run: u32, buffer: &mut [u8]) {
        assert!(buffer.len() >= SHORTEST, "a record has room for its head");
        let mut prng =
            Prng::for_path(run.into(), &[self.file.into(), self.client.into(), self.number, buffer.len() as u64]);
        for chunk in buffer.chunks_mut(8) {
            chunk.copy_from_slice(&prng.next_u64().to_le_bytes()[..chunk.len()]);
        }
        let length = buffer.len() as u32;
        buffer[..8].copy_from_slice(&MAGIC);
        buffer[8..12].copy_from_slice(&run.to_le_bytes());
        buffer[12..16].copy_from_slice(&self.file.to_le_bytes());
        buffer[16..20].copy_from_slice(&self.client.to_le_bytes());
        buffer[20..24].copy_from_slice(&length.to_le_bytes());
        buffer[24..32].copy_from_slice(&self.number.to_le_bytes());
    }

    /// The record that bytes say to be, if they do.
    fn read(run: u32, bytes: &[u8], length: usize) -> Option<Record> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let of_run = word_at(rest, 0)? == run && word_at(rest, 12)? as usize == length;
        let number = u64::from_le_bytes(rest.get(16..24)?.try_into().ok()?);
        of_run.then_some(Record { file: word_at(rest, 4)?, client: word_at(rest, 8)?, number })
    }
}

fn word_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Which appends of a client to a file succeeded.
#[derive(Clone, Debug, Default)]
pub struct Appended {
    /// The number of the next record.
    pub next: u64,
    /// Records whose append failed, or did not end: they may be there.
    pub unsure: BTreeSet<u64>,
}

/// What is wrong with the records of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RecordFault {
    /// It was appended, and is not there.
    Missing(Record),
    /// It is there again, at this offset.
    Twice(Record, u64),
    /// It is there in part or changed, at this offset.
    Torn(Record, u64),
    /// What is at this offset is not a record of this file.
    Foreign(u64),
}

/// Looks through a file, which is handed in record by record.
#[derive(Debug)]
pub struct RecordCheck<'a> {
    run: u32,
    file: u32,
    length: usize,
    appended: &'a [Appended],
    seen: Vec<Vec<u64>>,
    /// What the record at hand should be.
    expected: Vec<u8>,
    offset: u64,
    faults: Vec<RecordFault>,
}

impl<'a> RecordCheck<'a> {
    /// `appended` has what each client did; records are `length` bytes long.
    pub fn new(run: u32, file: u32, length: usize, appended: &'a [Appended]) -> RecordCheck<'a> {
        let seen = appended.iter().map(|client| vec![0; (client.next as usize).div_ceil(64)]).collect();
        let expected = vec![0; length.max(SHORTEST)];
        RecordCheck { run, file, length, appended, seen, expected, offset: 0, faults: Vec::new() }
    }

    /// The next bytes of the file: a whole record, except at the end of a file that ends within one.
    pub fn take(&mut self, bytes: &[u8]) {
        let offset = self.offset;
        self.offset += bytes.len() as u64;
        let record = Record::read(self.run, bytes, self.length).filter(|record| record.file == self.file);
        let known = record.filter(|record| {
            self.appended.get(record.client as usize).is_some_and(|client| record.number < client.next)
        });
        let Some(record) = known else { return self.faults.push(RecordFault::Foreign(offset)) };
        record.fill(self.run, &mut self.expected);
        if self.expected != bytes {
            return self.faults.push(RecordFault::Torn(record, offset));
        }
        let word = &mut self.seen[record.client as usize][(record.number / 64) as usize];
        let bit = 1 << (record.number % 64);
        if *word & bit != 0 {
            self.faults.push(RecordFault::Twice(record, offset));
        }
        *word |= bit;
    }

    /// All faults, those of missing records last.
    pub fn finish(mut self) -> Vec<RecordFault> {
        for (client, appended) in self.appended.iter().enumerate() {
            for number in (0..appended.next).filter(|number| !appended.unsure.contains(number)) {
                if self.seen[client][(number / 64) as usize] & (1 << (number % 64)) == 0 {
                    let record = Record { file: self.file, client: client as u32, number };
                    self.faults.push(RecordFault::Missing(record));
                }
            }
        }
        self.faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: usize = 100;

    fn bytes(client: u32, number: u64) -> Vec<u8> {
        let mut buffer = vec![0; LENGTH];
        Record { file: 1, client, number }.fill(9, &mut buffer);
        buffer
    }

    fn faults(records: &[Vec<u8>]) -> Vec<RecordFault> {
        let appended =
            [Appended { next: 70, unsure: BTreeSet::from([3]) }, Appended { next: 2, unsure: BTreeSet::new() }];
        let mut check = RecordCheck::new(9, 1, LENGTH, &appended);
        records.iter().for_each(|record| check.take(record));
        check.finish()
    }

    fn all() -> Vec<Vec<u8>> {
        let mut records: Vec<Vec<u8>> = (0..70).rev().map(|number| bytes(0, number)).collect();
        records.insert(20, bytes(1, 1));
        records.insert(40, bytes(1, 0));
        records
    }

    #[test]
    fn records_in_any_order_are_found_and_faults_are_told_apart() {
        assert_eq!(faults(&all()), []);
        let record = |client, number| Record { file: 1, client, number };
        let mut lacking = all();
        let _: Vec<u8> = lacking.remove(20);
        assert_eq!(faults(&lacking), [RecordFault::Missing(record(1, 1))]);
        let mut unsure = all();
        unsure.retain(|bytes| *bytes != self::bytes(0, 3));
        assert_eq!(faults(&unsure), [], "a record whose append failed may lack");
        let mut twice = all();
        twice.push(bytes(1, 0));
        assert_eq!(faults(&twice), [RecordFault::Twice(record(1, 0), 7200)]);
        let mut torn = all();
        torn[40][60] ^= 1;
        assert_eq!(faults(&torn), [RecordFault::Torn(record(1, 0), 4000), RecordFault::Missing(record(1, 0))]);
        let mut foreign = all();
        foreign.push(vec![0; LENGTH]);
        foreign.push(bytes(0, 70));
        foreign.push(bytes(0, 5)[..50].to_vec());
        let expected = [RecordFault::Foreign(7200), RecordFault::Foreign(7300), RecordFault::Torn(record(0, 5), 7400)];
        assert_eq!(faults(&foreign), expected, "zeros, a record that nobody appended, half a record");
    }
}
