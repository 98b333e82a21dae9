//! What a line of a trace may be, whatever program wrote it.

use super::trace::Event;
use assay_base::Direction;
use assay_model::observed::Asked;
use std::borrow::Cow;

/// The kernel's sector size.
pub(super) const SECTOR: u64 = 512;
/// Upper bound on the size of an operation; larger ones are ignored.
pub(super) const BYTES_MAX: u64 = 1 << 32;

/// The content of a line of a trace.
pub(super) enum LineContent<'a> {
    /// No line of a trace.
    Nothing,
    /// A line that says nothing about operations.
    Empty,
    /// The line with which a trace of fio begins that has no times.
    Untimed,
    /// Events of this kind, which are not counted.
    Other(&'static str),
    /// A line that is damaged, and how a remark about it ends.
    Damaged(&'static str, &'static str),
    /// An operation.
    Event(Event<'a>),
}

/// The values in a line of blkparse, in whatever format.
pub(super) struct Blkparse<'a> {
    pub device: Cow<'a, str>,
    pub action: &'a str,
    /// The letters of the kind of operation: R, W, D, F, S, A, M.
    pub kind: &'a str,
    /// Nanoseconds.
    pub at: Option<u64>,
    pub sector: Option<u64>,
    pub sectors: Option<u64>,
}

impl<'a> Blkparse<'a> {
    pub(super) fn into_content(self) -> LineContent<'a> {
        let action = match self.action {
            "Q" => "Q",
            "D" => "D",
            "C" => "C",
            // Merges, plugs, splits and the like are steps between these events.
            _ => return LineContent::Other("other events of blkparse"),
        };
        let known = self.sector.zip(self.sectors).filter(|(_, sectors)| *sectors > 0 && *sectors < BYTES_MAX / SECTOR);
        // F before the operation's letter means a flush, after it FUA.
        let letters = self.kind.strip_prefix('F').unwrap_or(self.kind);
        let asked = match (letters.contains('D'), letters.contains('R'), letters.contains('W')) {
            (true, ..) => Asked::Discard,
            _ if known.is_none() => Asked::Flush,
            (_, true, _) => Asked::Data(Direction::Read),
            (_, _, true) => Asked::Data(Direction::Write),
            _ => Asked::Flush,
        };
        let (sector, sectors) = known.unwrap_or_default();
        let durable = letters.contains('S') || letters.contains('F');
        let address = sector.checked_mul(SECTOR);
        let bytes = sectors * SECTOR;
        LineContent::Event(Event { device: self.device, action, asked, at: self.at, address, bytes, durable })
    }
}
