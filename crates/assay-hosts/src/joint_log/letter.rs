//! What ranks write to each other beside the numbers that the link adds up.

use crate::link::{Link, LinkError, Message};
use assay_record::{Close, Event, Header};
use serde::{Deserialize, Serialize};

/// A letter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Letter {
    /// To rank 0: a segment begins.
    Header(Box<Header>),
    /// To rank 0: something has happened.
    Event(Event),
    /// To rank 0: a segment has ended.
    Close(Close),
    /// To rank 0: this rank could begin the segment.
    Armed,
    /// To all: the segment begins when the clock of rank 0 shows this, in nanoseconds.
    Start { ns: u64 },
    /// To rank 0, and from it to all: this rank is there.
    Here,
    /// To rank 0: what does its clock show?
    AskTime,
    /// From rank 0: this, in nanoseconds.
    TellTime { ns: u64 },
    /// To rank 0, and from it to all: a rank cannot go on.
    Failed { rank: usize, why: String },
}

impl Letter {
    pub(super) fn send_to(&self, rank: usize, link: &mut dyn Link) -> Result<(), LinkError> {
        let bytes = serde_json::to_vec(self).map_err(|error| LinkError { what: error.to_string() })?;
        link.send_message(rank, bytes)
    }

    /// To all but this rank.
    pub(super) fn send_to_others(&self, link: &mut dyn Link) -> Result<(), LinkError> {
        let own = link.own_rank();
        (0..link.world_size()).filter(|rank| *rank != own).try_for_each(|rank| self.send_to(rank, link))
    }
}

pub(super) fn read_letter(message: &Message) -> Result<Letter, LinkError> {
    serde_json::from_slice(&message.bytes)
        .map_err(|_| LinkError { what: format!("rank {} sent what is no message of this version", message.from) })
}

/// A letter that says only that a rank is there.
///
/// # Errors
/// It cannot be written.
pub fn sign_of_life() -> Result<Vec<u8>, LinkError> {
    serde_json::to_vec(&Letter::Here).map_err(|error| LinkError { what: error.to_string() })
}
