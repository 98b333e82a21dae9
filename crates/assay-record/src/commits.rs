//! The ledger of commits: what a database acknowledged, written while it does, so that it can be asked later whether it
//! still has all of it.
//!
//! A head, then entries of 40 bytes. Each entry carries a CRC32C over itself and the checksum before it, so that none
//! can be taken out, put in or exchanged. The last entries of a run that ended say how far each session had come; a
//! ledger without them belongs to a run that was killed, and claims what it holds. `docs/formats/ledger.md` has the
//! layout.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::Read;

const MAGIC: &[u8; 8] = b"ASSAYLDG";
/// The version of the layout.
const VERSION: u32 = 1;
/// Length of an entry in bytes.
const ENTRY: usize = 40;
/// The longest head that is read, in bytes.
const HEAD_MOST: usize = 64 << 10;
/// Magic, version, length.
const BEFORE_HEAD: usize = 16;

/// The head of a ledger: the run and the database that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitsHead {
    /// The name of the run, which its sessions write into the database.
    pub run: String,
    /// The name of the load that filled the database.
    pub load: String,
    /// The database's URL, without a password.
    pub database: String,
    /// The number of sessions whose commits it contains.
    pub sessions: u32,
    /// Before the run: the sums of D_NEXT_O_ID, of C_PAYMENT_CNT, and of W_YTD in cents.
    pub before: [i64; 3],
}

/// The transaction that a commit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// An order with this number, in a district of a warehouse.
    Order {
        /// The warehouse.
        warehouse: i32,
        /// The district.
        district: i32,
        /// The number.
        order: i32,
    },
    /// A payment.
    Payment {
        /// The amount in cents.
        amount: i64,
    },
    /// A delivery.
    Delivery,
}

/// A commit that was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The number of the session, from 0.
    pub session: u32,
    /// Its number in the session, from 1. Numbers of transactions that were not committed are left out.
    pub seq: u64,
    /// The transaction.
    pub what: Committed,
}

/// An entry of a ledger, as a run writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerEntry {
    /// The database acknowledged a commit.
    Commit(Commit),
    /// A session had lost its connection, and found its row at this number when it was back; 0 also if the row
    /// was gone.
    Found {
        /// The session.
        session: u32,
        /// The number in its row.
        seq: u64,
    },
}

/// An entry after the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RawEntry {
    Noted(LedgerEntry),
    /// The last number that a session has sent.
    Sent {
        session: u32,
        seq: u64,
    },
    /// The end, with the number of commits.
    End {
        commits: u64,
    },
}

const ORDER: u32 = 1;
const PAYMENT: u32 = 2;
const DELIVERY: u32 = 3;
const SENT: u32 = 4;
const END: u32 = 5;
const FOUND: u32 = 6;

impl LedgerEntry {
    fn session_number(&self) -> u32 {
        match self {
            LedgerEntry::Commit(commit) => commit.session,
            LedgerEntry::Found { session, .. } => *session,
        }
    }
}

/// Writes a ledger, piece by piece.
#[derive(Debug)]
pub struct CommitsWriter {
    /// The checksum before the next entry.
    chain: u32,
    commits: u64,
}

impl CommitsWriter {
    /// Begins a ledger; the bytes are its head.
    pub fn begin_ledger(head: &CommitsHead) -> (CommitsWriter, Vec<u8>) {
        let json = serde_json::to_vec(head).expect("a head of text and numbers can be written");
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((json.len() as u32).to_le_bytes());
        bytes.extend(&json);
        let chain = crc_fast::crc32_iscsi(&bytes);
        bytes.extend(chain.to_le_bytes());
        (CommitsWriter { chain, commits: 0 }, bytes)
    }

    /// A commit that was acknowledged.
    pub fn encode_commit(&mut self, commit: &Commit) -> [u8; ENTRY] {
        self.commits += 1;
        self.chain_entry(RawEntry::Noted(LedgerEntry::Commit(*commit)))
    }

    /// What a session has found in its row when it was connected again.
    pub fn encode_found_number(&mut self, session: u32, seq: u64) -> [u8; ENTRY] {
        self.chain_entry(RawEntry::Noted(LedgerEntry::Found { session, seq }))
    }

    /// The end of the run: the last number that each session has sent.
    pub fn encode_end(&mut self, sent: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity((sent.len() + 1) * ENTRY);
        for (session, seq) in (0..).zip(sent) {
            bytes.extend(self.chain_entry(RawEntry::Sent { session, seq: *seq }));
        }
        bytes.extend(self.chain_entry(RawEntry::End { commits: self.commits }));
        bytes
    }

    fn chain_entry(&mut self, entry: RawEntry) -> [u8; ENTRY] {
        let (session, kind, seq, amount, place) = match entry {
            RawEntry::Noted(LedgerEntry::Found { session, seq }) => (session, FOUND, seq, 0, [0; 3]),
            RawEntry::Noted(LedgerEntry::Commit(Commit { session, seq, what })) => match what {
                Committed::Order { warehouse, district, order } => {
                    (session, ORDER, seq, 0, [warehouse, district, order])
                }
                Committed::Payment { amount } => (session, PAYMENT, seq, amount, [0; 3]),
                Committed::Delivery => (session, DELIVERY, seq, 0, [0; 3]),
            },
            RawEntry::Sent { session, seq } => (session, SENT, seq, 0, [0; 3]),
            RawEntry::End { commits } => (0, END, commits, 0, [0; 3]),
        };
        let mut bytes = [0; ENTRY];
        bytes[..4].copy_from_slice(&session.to_le_bytes());
        bytes[4..8].copy_from_slice(&kind.to_le_bytes());
        bytes[8..16].copy_from_slice(&seq.to_le_bytes());
        bytes[16..24].copy_from_slice(&amount.to_le_bytes());
        for (at, number) in place.into_iter().enumerate() {
            bytes[24 + 4 * at..28 + 4 * at].copy_from_slice(&number.to_le_bytes());
        }
        self.chain = entry_checksum(self.chain, &bytes);
        bytes[36..].copy_from_slice(&self.chain.to_le_bytes());
        bytes
    }
}

/// The checksum of an entry behind another one.
fn entry_checksum(before: u32, entry: &[u8]) -> u32 {
    checksum_of_both(&before.to_le_bytes(), &entry[..ENTRY - 4])
}

/// CRC32C of two pieces that stand one behind the other.
fn checksum_of_both(first: &[u8], second: &[u8]) -> u32 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    digest.update(first);
    digest.update(second);
    digest.finalize() as u32
}

/// How a ledger ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitsEnd {
    /// The last number that each session has sent, where the run ended by itself.
    pub sent: Option<Vec<u64>>,
    /// Bytes of entries at its end that were not written in full.
    pub torn: u64,
}

/// Why a ledger proves nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadLedger {
    /// It is not a ledger, or its head was not written completely.
    NoLedger,
    /// A later program wrote it.
    Version(u32),
    /// The content from this byte on was not written by the run.
    Altered(u64),
    /// It could not be read.
    Unreadable(String),
}

impl fmt::Display for BadLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadLedger::NoLedger => f.write_str("is not a ledger of commits, or its beginning is damaged"),
            BadLedger::Unreadable(why) => write!(f, "cannot be read: {why}"),
            BadLedger::Version(version) => write!(f, "has version {version}, which this program does not know"),
            BadLedger::Altered(at) => {
                write!(f, "was altered at byte {at}: what stands there does not follow what stands before it")
            }
        }
    }
}

/// Reads a ledger from its beginning to its end.
#[derive(Debug)]
pub struct CommitsReader<R> {
    input: R,
    head: CommitsHead,
    /// The checksum before the next entry, and where that begins.
    chain: u32,
    at: u64,
}

impl<R: Read> CommitsReader<R> {
    /// Reads the head.
    pub fn from_input(mut input: R) -> Result<CommitsReader<R>, BadLedger> {
        let mut before = [0; BEFORE_HEAD];
        let whole = fill_buffer(&mut input, &mut before)? == BEFORE_HEAD;
        let word = |at: usize| before[at..at + 4].try_into().map_or(0, u32::from_le_bytes);
        let length = word(12) as usize;
        match (whole && before.starts_with(MAGIC), word(8)) {
            (true, VERSION) if length <= HEAD_MOST => {}
            (true, version) if version != VERSION => return Err(BadLedger::Version(version)),
            _ => return Err(BadLedger::NoLedger),
        }
        let mut rest = vec![0; length + 4];
        if fill_buffer(&mut input, &mut rest)? < rest.len() {
            return Err(BadLedger::NoLedger);
        }
        let (json, checksum) = rest.split_at(length);
        let chain = checksum_of_both(&before, json);
        let head = serde_json::from_slice(json).ok().filter(|_| checksum == chain.to_le_bytes());
        let at = (BEFORE_HEAD + rest.len()) as u64;
        Ok(CommitsReader { input, head: head.ok_or(BadLedger::NoLedger)?, chain, at })
    }

    /// What it is about.
    pub fn ledger_head(&self) -> &CommitsHead {
        &self.head
    }

    /// Reads what was noted. Entries at the end that were not written in full are dropped, as after a loss of power; anything
    /// else that does not fit is an error.
    pub fn read_entries(mut self, each: &mut dyn FnMut(&LedgerEntry)) -> Result<CommitsEnd, BadLedger> {
        let (mut sent, mut commits, mut ended) = (Vec::new(), 0, false);
        let mut raw = [0; ENTRY];
        let torn = loop {
            let length = fill_buffer(&mut self.input, &mut raw)?;
            if length < ENTRY {
                break length as u64;
            }
            let (own, altered) = (own_checksum(&raw), BadLedger::Altered(self.at));
            if entry_checksum(self.chain, &raw) != own {
                break self.torn_bytes(raw)?;
            }
            match parse_entry(&raw).filter(|_| !ended).ok_or_else(|| altered.clone())? {
                RawEntry::Noted(noted) if sent.is_empty() && noted.session_number() < self.head.sessions => {
                    commits += u64::from(matches!(noted, LedgerEntry::Commit(_)));
                    each(&noted);
                }
                RawEntry::Sent { session, seq } if session as usize == sent.len() => sent.push(seq),
                RawEntry::End { commits: all } if all == commits => ended = true,
                _ => return Err(altered),
            }
            (self.chain, self.at) = (own, self.at + ENTRY as u64);
        };
        if ended && (torn > 0 || sent.len() != self.head.sessions as usize) {
            return Err(BadLedger::Altered(self.at));
        }
        Ok(CommitsEnd { sent: ended.then_some(sent), torn })
    }

    /// How many bytes follow from an entry on that does not follow what is before it. If one of those after it follows the
    /// entry before it, the first one was not cut off while it was written: something was altered.
    fn torn_bytes(&mut self, first: [u8; ENTRY]) -> Result<u64, BadLedger> {
        let (mut before, mut raw, mut bytes) = (own_checksum(&first), [0; ENTRY], ENTRY as u64);
        loop {
            let length = fill_buffer(&mut self.input, &mut raw)?;
            bytes += length as u64;
            if length < ENTRY {
                return Ok(bytes);
            }
            if entry_checksum(before, &raw) == own_checksum(&raw) {
                return Err(BadLedger::Altered(self.at));
            }
            before = own_checksum(&raw);
        }
    }
}

/// Reads until a buffer is full or nothing follows; returns how much of it was filled.
fn fill_buffer(input: &mut impl Read, buffer: &mut [u8]) -> Result<usize, BadLedger> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(why) if why.kind() == std::io::ErrorKind::Interrupted => {}
            Err(why) => return Err(BadLedger::Unreadable(why.to_string())),
        }
    }
    Ok(filled)
}

fn own_checksum(raw: &[u8]) -> u32 {
    raw[ENTRY - 4..].try_into().map_or(0, u32::from_le_bytes)
}

fn parse_entry(raw: &[u8]) -> Option<RawEntry> {
    let (session, seq) = (word_at(raw, 0)?, long_at(raw, 8)?);
    let commit = |what| Some(RawEntry::Noted(LedgerEntry::Commit(Commit { session, seq, what })));
    match word_at(raw, 4)? {
        ORDER => commit(Committed::Order {
            warehouse: signed_at(raw, 24)?,
            district: signed_at(raw, 28)?,
            order: signed_at(raw, 32)?,
        }),
        PAYMENT => commit(Committed::Payment { amount: long_at(raw, 16)?.cast_signed() }),
        DELIVERY => commit(Committed::Delivery),
        FOUND => Some(RawEntry::Noted(LedgerEntry::Found { session, seq })),
        SENT => Some(RawEntry::Sent { session, seq }),
        END => Some(RawEntry::End { commits: seq }),
        _ => None,
    }
}

/// The signed 32-bit number at this place.
fn signed_at(raw: &[u8], at: usize) -> Option<i32> {
    word_at(raw, at).map(u32::cast_signed)
}

/// The 64-bit number at this place.
fn long_at(raw: &[u8], at: usize) -> Option<u64> {
    raw[at..at + 8].try_into().map(u64::from_le_bytes).ok()
}

/// The 32-bit number at this place.
fn word_at(raw: &[u8], at: usize) -> Option<u32> {
    raw[at..at + 4].try_into().map(u32::from_le_bytes).ok()
}

#[cfg(test)]
#[path = "commits_tests.rs"]
mod tests;
