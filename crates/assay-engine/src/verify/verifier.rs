//! Seals what one worker writes and compares what it reads with the ledger.
//!
//! A read is correct when each of its granules carries its own place, a correct checksum, and a generation that a read
//! issued at that time may return. Nothing is said about a granule that no run has sealed, nor about one that was being
//! written meanwhile.

use crate::verify::ledger::{Ledger, TargetLedger};
use crate::verify::unit::{GenerationAge, Unit};
use assay_base::{Code, Op, Stamp, Ticket};
use assay_model::content::Content;
use assay_model::seal::{self, Extent, Seal};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The part of one worker.
#[derive(Debug)]
pub(crate) struct Verifier {
    ledger: Arc<Ledger>,
    run: u32,
    /// Units of each operation in flight, as they were when it was handed over.
    noted: Box<[Unit]>,
    stride: usize,
}

/// The result for a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// Every granule is correct.
    Right,
    /// None is wrong, but about some of them nothing can be said.
    Open,
    /// The first wrong granule is wrong in this way.
    Wrong(Code),
}

/// A place that contains something else than it should.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Damage {
    pub kind: Code,
    pub offset: u64,
    pub bytes: u64,
    /// The last generation written when the read was issued; 0 if this run never wrote there.
    expected: u32,
    found: Option<Seal>,
    /// Whether the seal that was found belongs to this run.
    ours: bool,
}

impl Verifier {
    /// The part of a worker with `slots` slots in run `run`.
    pub(crate) fn new(ledger: Arc<Ledger>, run: u32, slots: usize) -> Verifier {
        let stride = ledger.units_per_operation();
        Verifier { ledger, run, noted: vec![Unit::default(); slots * stride].into(), stride }
    }

    /// The ledger shared with the other workers.
    pub(crate) fn shared_ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// A read is about to be handed over.
    #[inline]
    pub(crate) fn begin_read(&mut self, ticket: Ticket, op: &Op) {
        let book = self.ledger.target_ledger(op.target);
        let noted = &mut self.noted[ticket.0 as usize * self.stride..];
        for (noted, index) in noted.iter_mut().zip(book.unit_indexes(op.offset, u64::from(op.len))) {
            *noted = book.unit_at(index);
        }
    }

    /// A write is about to be handed over: it gets its generation, and `buffer` its data.
    #[inline]
    pub(crate) fn begin_write(&mut self, ticket: Ticket, op: &Op, content: &mut Content, buffer: &mut [u8]) {
        let book = self.ledger.target_ledger(op.target);
        assert!(book.is_whole(op.offset, u64::from(op.len)), "a write consists of whole units of the ledger: {op:?}");
        let noted = &mut self.noted[ticket.0 as usize * self.stride..];
        for (noted, index) in noted.iter_mut().zip(book.unit_indexes(op.offset, u64::from(op.len))) {
            *noted = book.change_unit(index, Unit::with_write_issued);
        }
        let first = book.unit_index(op.offset);
        let seal = Seal {
            run: self.run,
            generation: 0,
            target: book.mark,
            offset: op.offset,
            granule: book.granule,
            within: 0,
            length: op.len,
        };
        content.fill_sealed(seal, buffer, |at| noted[book.unit_index(at) - first].generation());
    }

    /// A write completed, in full or not.
    #[inline]
    pub(crate) fn end_write(&self, target: u16, offset: u64, len: u32, in_full: bool) {
        let book = self.ledger.target_ledger(target);
        for index in book.unit_indexes(offset, u64::from(len)) {
            book.change_unit(index, |unit| unit.with_write_completed(in_full));
        }
    }

    /// Examines the data of a read. Damages that were not reported before are added to `damages`. `data` are unchanged
    /// afterwards.
    #[inline]
    pub(crate) fn examine_read(
        &self,
        ticket: Ticket,
        target: u16,
        offset: u64,
        data: &mut [u8],
        damages: &mut Vec<Damage>,
    ) -> Answer {
        let book = self.ledger.target_ledger(target);
        let noted = &self.noted[ticket.0 as usize * self.stride..];
        let first = book.unit_index(offset);
        let mut answer = Answer::Right;
        let offsets = (offset..).step_by(book.granule as usize);
        for (block, at) in data.chunks_exact_mut(book.granule as usize).zip(offsets) {
            let index = book.unit_index(at);
            let (unit, now) = (noted[index - first], book.unit_at(index));
            if self.is_right(book, block, at, unit, now) {
                continue;
            }
            match (self.examine_granule(book, block, at, unit, now), answer) {
                (Answer::Wrong(kind), _) => {
                    let damage = self.describe_damage(kind, book, block, at, unit);
                    self.report_damage(book, index, damage, damages);
                    if !matches!(answer, Answer::Wrong(_)) {
                        answer = Answer::Wrong(kind);
                    }
                }
                (Answer::Open, Answer::Right) => answer = Answer::Open,
                _ => {}
            }
        }
        if answer == Answer::Wrong(Code::LOST) && self.explain_torn(book, noted, offset, data, damages) {
            answer = Answer::Wrong(Code::TORN);
        }
        answer
    }

    /// Checks for the usual case only: written by this run, in its place, in time, unchanged.
    #[inline]
    fn is_right(&self, book: &TargetLedger, block: &mut [u8], at: u64, unit: Unit, now: Unit) -> bool {
        let Some(seal) = Seal::read_from_block(block) else { return false };
        (seal.run, seal.target, seal.offset, seal.granule) == (self.run, book.mark, at, book.granule)
            && unit.age_of_generation(now, seal.generation) == GenerationAge::Current
            && seal::is_sound(block)
    }

    #[cold]
    fn examine_granule(&self, book: &TargetLedger, block: &mut [u8], at: u64, unit: Unit, now: Unit) -> Answer {
        let found = Seal::read_from_block(block).filter(|seal| seal.granule == book.granule);
        if let Some(seal) = found.filter(|_| seal::is_sound(block)) {
            if seal.run == self.run {
                return match unit.age_of_generation(now, seal.generation) {
                    _ if !is_sealed_at(&seal, book, at) => Answer::Wrong(Code::MISDIRECTED),
                    GenerationAge::Current => Answer::Right,
                    GenerationAge::Unknown => Answer::Open,
                    GenerationAge::Stale => Answer::Wrong(Code::LOST),
                };
            }
            return if unit.is_held() {
                Answer::Wrong(Code::LOST)
            } else if seal.target != book.mark {
                // The same bytes under another name: a partition, or a copy.
                Answer::Open
            } else if seal.offset != at {
                Answer::Wrong(Code::MISDIRECTED)
            } else {
                Answer::Right
            };
        }
        if unit.is_unsettled(now) {
            return Answer::Open;
        }
        if !unit.is_held() {
            // From an earlier run, perhaps with later writes over a part of it.
            let earlier = found.filter(|seal| is_sealed_at(seal, book, at)).filter(|_| !seal::is_overwritten(block));
            return earlier.map_or(Answer::Open, |seal| match seal::marked_extent(block, seal.run, seal.generation) {
                Extent::Whole => Answer::Wrong(Code::CORRUPT),
                Extent::Part | Extent::Nothing => Answer::Wrong(Code::TORN),
            });
        }
        let headed = found.is_some_and(|seal| (seal.run, seal.generation) == (self.run, unit.generation()));
        Answer::Wrong(match seal::marked_extent(block, self.run, unit.generation()) {
            Extent::Whole => Code::CORRUPT,
            Extent::Part => Code::TORN,
            Extent::Nothing if headed => Code::CORRUPT,
            Extent::Nothing if Stamp::read_from_block(block).is_some() || block.iter().all(|byte| *byte == 0) => {
                Code::LOST
            }
            Extent::Nothing => Code::FOREIGN,
        })
    }

    fn describe_damage(&self, kind: Code, book: &TargetLedger, block: &[u8], offset: u64, unit: Unit) -> Damage {
        let found = Seal::read_from_block(block);
        let ours = found.is_some_and(|seal| seal.run == self.run);
        Damage { kind, offset, bytes: u64::from(book.granule), expected: unit.generation(), found, ours }
    }

    /// Adds a damage, unless it was reported since the place was last written. Adjacent damages are joined.
    fn report_damage(&self, book: &TargetLedger, index: usize, damage: Damage, damages: &mut Vec<Damage>) {
        if let Some(last) = damages.last_mut().filter(|last| last.is_continued_by(&damage)) {
            last.bytes += damage.bytes;
        } else if !book.unit_at(index).was_told() {
            damages.push(damage);
        }
        book.change_unit(index, Unit::with_damage_reported);
    }

    /// A lost granule beside one that the same write did leave is a torn write.
    fn explain_torn(
        &self,
        book: &TargetLedger,
        noted: &[Unit],
        offset: u64,
        data: &[u8],
        damages: &mut [Damage],
    ) -> bool {
        let first = book.unit_index(offset);
        let mut any = false;
        let offsets = (offset..).step_by(book.granule as usize);
        for (block, at) in data.chunks_exact(book.granule as usize).zip(offsets) {
            let newest = noted[book.unit_index(at) - first].generation();
            let here = (self.run, newest, at);
            let left = Seal::read_from_block(block).filter(|seal| (seal.run, seal.generation, seal.offset) == here);
            let Some((begin, length)) = left.map(|seal| seal.write_range()) else { continue };
            let written = begin..begin.saturating_add(length);
            for damage in damages.iter_mut() {
                if damage.kind == Code::LOST && written.contains(&damage.offset) {
                    damage.kind = Code::TORN;
                    any = true;
                }
            }
        }
        any
    }
}

/// Whether a seal names this place of a target.
fn is_sealed_at(seal: &Seal, book: &TargetLedger, offset: u64) -> bool {
    (seal.target, seal.offset) == (book.mark, offset)
}

impl Damage {
    /// Whether `next` lies behind this damage and is of the same write, so that both are reported as one.
    fn is_continued_by(&self, next: &Damage) -> bool {
        self.offset + self.bytes == next.offset
            && (self.kind, self.expected, self.found_write()) == (next.kind, next.expected, next.found_write())
    }

    /// The range of the write whose seal was found.
    fn found_write(&self) -> Option<(u64, u64)> {
        self.found.map(|seal| seal.write_range())
    }

    /// The sentence.
    pub(crate) fn as_sentence(&self) -> String {
        let Damage { kind, offset, bytes, expected, found, ours } = *self;
        let wanted = match expected {
            0 => "an earlier run's data".to_owned(),
            n => format!("generation {n}"),
        };
        let holds = match (found, ours) {
            (Some(seal), true) => format!("generation {}", seal.generation),
            (Some(_), false) => "an earlier run's data".to_owned(),
            (None, _) => "what was there before".to_owned(),
        };
        let what = match kind {
            Code::LOST => format!("hold {holds} where {wanted} was written"),
            Code::MISDIRECTED => {
                let place = found.map_or(0, |seal| seal.offset);
                format!("hold what was written to {place} ({holds}), where {wanted} belongs")
            }
            Code::TORN => format!("hold only a part of {wanted}"),
            Code::CORRUPT => format!("hold {wanted}, changed"),
            _ => format!("hold foreign data where {wanted} was written"),
        };
        format!("{kind}: {bytes} bytes at {offset} {what}")
    }

    /// The figures, by name.
    pub(crate) fn event_details(&self) -> BTreeMap<String, String> {
        let Damage { kind, offset, bytes, expected, found, .. } = *self;
        let mut details = BTreeMap::from([
            ("damage".to_owned(), kind.to_string()),
            ("offset".to_owned(), offset.to_string()),
            ("bytes".to_owned(), bytes.to_string()),
            ("generation".to_owned(), expected.to_string()),
        ]);
        if let Some(Seal { run, generation, offset, .. }) = found {
            details.insert("found_generation".to_owned(), generation.to_string());
            details.insert("found_offset".to_owned(), offset.to_string());
            details.insert("found_run".to_owned(), format!("{run:08x}"));
        }
        details
    }
}
