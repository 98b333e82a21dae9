//! What ranks write to each other during an examination.

use super::{HostFacts, Throughput};
use crate::clock::ClockReading;
use crate::link::{LinkError, Message};
use serde::{Deserialize, Serialize};

/// The first byte of a message that is large for its own sake; no text of a [`Letter`] begins with it.
const LARGE: u8 = 0;
/// Bytes of such a message.
pub(super) const LARGE_BYTES: usize = 1 << 20;

/// A letter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Letter {
    /// To rank 0: what a rank is.
    Hello(Box<HostFacts>),
    /// To a rank: compare your clock with mine now.
    CompareClocks,
    /// To rank 0: what does your clock show?
    AskTime { number: u32 },
    /// The answer.
    TellTime { number: u32, ns: u64 },
    /// To rank 0: what came of the comparison.
    ClockCompared(ClockReading),
    /// To all: give numbers to so many sums.
    AddUp { rounds: u32 },
    /// To the first of a pair, or to the second: send large messages for so long.
    SendLarge { ns: u64 },
    /// To the sender of a large message: it is here.
    Acknowledge,
    /// To rank 0: how fast they were.
    Sent(Throughput),
    /// To all: are you there?
    CallRoll,
    /// To rank 0: yes.
    Here,
    /// To all: nothing else will come.
    Finish,
}

/// What has arrived.
pub(super) enum Arrived {
    Letter(Letter),
    Large,
}

impl Letter {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        // A letter is made of numbers, texts and maps with texts as keys: there is nothing that JSON cannot hold.
        serde_json::to_vec(&self).unwrap_or_default()
    }
}

pub(super) fn large_message() -> Vec<u8> {
    vec![LARGE; LARGE_BYTES]
}

pub(super) fn read_message(message: &Message) -> Result<Arrived, LinkError> {
    if message.bytes.first() == Some(&LARGE) {
        return Ok(Arrived::Large);
    }
    let letter = serde_json::from_slice(&message.bytes);
    letter
        .map(Arrived::Letter)
        .map_err(|_| LinkError { what: format!("rank {} sent what is no message of this version", message.from) })
}
