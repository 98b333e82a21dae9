//! Reads the answers to a question packet by packet, whether the caller blocks for the packets or not.

use super::failed::{Failed, Refusal};
use super::row::{Form, Row, column_type, take_length, unreadable_answer};
use bytes::{Buf, Bytes};
use std::io;
use std::sync::Arc;

/// Flag in the status of an answer: another answer follows (`SERVER_MORE_RESULTS_EXISTS`).
const MORE: u16 = 1 << 3;

/// The answer to one statement.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) rows: Vec<Row>,
    /// Number of rows that a writing statement has found, whether it changed them or not.
    pub(super) changed: u64,
}

impl Answer {
    /// The only row.
    pub(super) fn only_row(&self) -> Option<&Row> {
        self.rows.first()
    }
}

/// The kind of packet that is expected next.
#[derive(Debug)]
enum Next {
    /// The beginning of an answer.
    Answer,
    /// The definition of a column: how many columns there are, and the types of those that were read.
    Columns(usize, Vec<u8>),
    /// The packet that ends the definitions.
    EndOfColumns(usize, Vec<u8>),
    /// A row of so many columns, or the packet that ends the rows.
    Row(usize, Form, Vec<Row>),
}

/// The answers to one question, as far as they have arrived.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) answers: Vec<Answer>,
    next: Next,
    is_binary: bool,
    /// The error after which the rest of the question was not sent. Answers are still read, because the server may have
    /// sent the reason.
    pub(super) unsent: Option<io::Error>,
    /// The error after which nothing more can arrive.
    pub(super) ended: Option<io::Error>,
}

impl Flight {
    pub(super) fn new(is_binary: bool, unsent: Option<io::Error>) -> Flight {
        Flight { answers: Vec::new(), next: Next::Answer, is_binary, unsent, ended: None }
    }

    /// The name of the file that the server asks for, if this packet asks for one.
    pub(super) fn asks_for<'a>(&self, packet: &'a [u8]) -> Option<&'a [u8]> {
        packet.strip_prefix(&[0xfb]).filter(|_| matches!(self.next, Next::Answer))
    }

    /// Processes one packet. Returns true if it was the last one of all answers.
    pub(super) fn take_packet(&mut self, packet: Bytes) -> Result<bool, Failed> {
        if packet.first() == Some(&0xff) {
            // This byte marks an error: neither the definition of a column nor a row begins with it.
            return Err(Failed::Server(Refusal::from_packet(&packet)));
        }
        self.next = match std::mem::replace(&mut self.next, Next::Answer) {
            Next::Answer if packet.first() == Some(&0x00) => {
                let (answer, status) = read_changes(&packet)?;
                return Ok(self.end_answer(answer, status));
            }
            Next::Answer => {
                let columns =
                    take_length(&mut &packet[..])?.ok_or_else(|| unreadable_answer("it has no columns"))? as usize;
                Next::Columns(columns, Vec::new())
            }
            Next::Columns(columns, mut types) => {
                types.push(column_type(&packet)?);
                if types.len() < columns { Next::Columns(columns, types) } else { Next::EndOfColumns(columns, types) }
            }
            Next::EndOfColumns(columns, types) => {
                let form = if self.is_binary { Form::Binary(Arc::from(types)) } else { Form::Text };
                Next::Row(columns, form, Vec::new())
            }
            // A row can begin with this byte too, before a length of eight bytes. Then the packet is longer.
            Next::Row(_, _, rows) if packet.first() == Some(&0xfe) && packet.len() < 9 => {
                let status = packet.get(3..5).ok_or_else(|| unreadable_answer("its end is cut"))?.get_u16_le();
                return Ok(self.end_answer(Answer { rows, changed: 0 }, status));
            }
            Next::Row(columns, form, mut rows) => {
                rows.push(Row::parse_row(packet, columns, form.clone())?);
                Next::Row(columns, form, rows)
            }
        };
        Ok(false)
    }

    fn end_answer(&mut self, answer: Answer, status: u16) -> bool {
        self.answers.push(answer);
        status & MORE == 0
    }
}

/// Reads the answer to a statement without rows; returns the status with it.
fn read_changes(packet: &[u8]) -> io::Result<(Answer, u16)> {
    let mut rest = &packet[1..];
    let changed = take_length(&mut rest)?.unwrap_or(0);
    take_length(&mut rest)?;
    let status = rest.try_get_u16_le().map_err(|_| unreadable_answer("it has no status"))?;
    Ok((Answer { rows: Vec::new(), changed }, status))
}
