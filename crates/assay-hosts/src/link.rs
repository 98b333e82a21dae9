//! [`Link`]: what joins the ranks.

use std::fmt;

/// A message that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The rank that sent it.
    pub from: usize,
    /// What it sent.
    pub bytes: Vec<u8>,
}

/// An operation that every rank begins, all of them in the same order. Rank 0 is the root of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Collective {
    /// Ends when every rank has begun it.
    Barrier,
    /// Every rank gets the bytes of rank 0. The others give as many bytes, whose values do not matter.
    Broadcast(Vec<u8>),
    /// Rank 0 gets the bytes of all, in the order of the ranks. All give as many.
    Gather(Vec<u8>),
    /// Rank 0 gets the sum of each number over all ranks, modulo 2⁶⁴. All give as many.
    Sum(Vec<u64>),
    /// Rank 0 gets the largest of each number. All give as many, and none above [`Collective::LARGEST`].
    Maximum(Vec<u64>),
    /// Every rank gets the largest of each number. All give as many, and none above [`Collective::LARGEST`].
    MaximumForAll(Vec<u64>),
}

impl Collective {
    /// The largest number of which a maximum may be made: MPICH 4.0.2 compares unsigned numbers as if they had a sign, so that
    /// those from 2⁶³ on are less than 0.
    pub const LARGEST: u64 = i64::MAX as u64;

    /// Refuses what a library would answer wrongly.
    pub(crate) fn check_numbers(&self) -> Result<(), LinkError> {
        match self {
            Collective::Maximum(numbers) | Collective::MaximumForAll(numbers)
                if numbers.iter().any(|&number| number > Collective::LARGEST) =>
            {
                Err(LinkError { what: "a number is too large for a maximum over all ranks".to_owned() })
            }
            _ => Ok(()),
        }
    }
}

/// Why a link cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkError {
    /// What failed, in words.
    pub what: String,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for LinkError {}

/// What one rank can ask of the others. No call waits: who wants to wait calls again later.
pub trait Link {
    /// Number of this rank, from 0.
    fn own_rank(&self) -> usize;

    /// How many ranks there are.
    fn world_size(&self) -> usize;

    /// Gives a message to another rank, or to itself. Those from one rank to another arrive in their order.
    fn send_message(&mut self, to: usize, bytes: Vec<u8>) -> Result<(), LinkError>;

    /// The next message that has arrived.
    fn next_message(&mut self) -> Result<Option<Message>, LinkError>;

    /// Begins an operation of all ranks. At most one is open at a time.
    fn begin_collective(&mut self, operation: Collective) -> Result<(), LinkError>;

    /// What the open operation has given, if it has ended: the rank's own numbers or bytes where it gives them to rank 0 only.
    fn collective_result(&mut self) -> Result<Option<Collective>, LinkError>;

    /// Whether all that was sent has left this rank.
    fn all_has_left(&mut self) -> Result<bool, LinkError>;

    /// Tells the user of this process something about the other ranks, at once. A link that has no user says nothing.
    fn tell_user(&self, _text: &str) {}
}
