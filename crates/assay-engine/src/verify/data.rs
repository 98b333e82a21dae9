//! The data of block I/O: filled before a write, compared after a read with what was written, and checked for blocks
//! that were never written.

use crate::payload::{DamageReport, ExaminationResult, Payload, RequestId};
use crate::verify::read_check::{self, ReadCheck};
use crate::verify::verifier::{Answer, Damage, Verifier};
use assay_base::{BlockDevice, Direction, Op, Ticket};
use assay_model::content::Content;
use assay_record::{FlowCounters, PARTS};

/// The data of one flow.
#[derive(Debug)]
struct Flow {
    /// Fills its writes; `None` for reads and flushes.
    content: Option<Content>,
    /// Which of its reads are checked.
    read_check: ReadCheck,
    /// The bits that are zero in all its offsets and lengths, as the plan declares them.
    off_grid: u64,
}

/// The part of one worker.
#[derive(Debug)]
pub struct Data {
    flows: Vec<Flow>,
    verifier: Option<Verifier>,
    damages: Vec<Damage>,
}

impl Flow {
    /// A flow whose writes `content` fills, and whose offsets and lengths are multiples of `grid`.
    fn new(content: Option<Content>, grid: u64) -> Flow {
        assert!(grid.is_power_of_two(), "a grid is a power of two");
        Flow { content, read_check: ReadCheck::default(), off_grid: grid - 1 }
    }
}

impl Data {
    /// `flows` has for each flow what fills its writes, and the power of two that its offsets and lengths are multiples
    /// of.
    pub(crate) fn new(flows: Vec<(Option<Content>, u64)>, verifier: Option<Verifier>) -> Data {
        let flows = flows.into_iter().map(|(content, grid)| Flow::new(content, grid)).collect();
        Data { flows, verifier, damages: Vec::new() }
    }
}

impl<D: BlockDevice> Payload<D> for Data {
    #[inline(always)]
    fn before_issue(&mut self, device: &mut D, RequestId { flow, ticket }: RequestId, op: &Op) -> bool {
        let flow = &mut self.flows[flow];
        assert!((op.offset | u64::from(op.len)) & flow.off_grid == 0, "an operation lies on the declared grid: {op:?}");
        match &mut flow.content {
            Some(content) => {
                let buffer = device.slot_buffer(ticket);
                if let Some(buffer) = buffer.get_mut(..op.len as usize) {
                    match &mut self.verifier {
                        None => content.fill_buffer(op.offset, buffer),
                        Some(verifier) => verifier.begin_write(ticket, op, content, buffer),
                    }
                }
                false
            }
            None => {
                if let Some(verifier) = self.verifier.as_mut().filter(|_| !op.is_flush()) {
                    verifier.begin_read(ticket, op);
                }
                flow.read_check.is_checked(op.offset, op.len)
            }
        }
    }

    #[inline(always)]
    fn after_completion(
        &mut self,
        device: &mut D,
        at: RequestId,
        op: &Op,
        look: bool,
        cell: &mut FlowCounters,
    ) -> ExaminationResult {
        if let Some(verifier) = self.verifier.as_ref().filter(|_| !op.is_flush()) {
            let fate = if self.flows[at.flow].content.is_some() {
                verifier.end_write(op.target, op.offset, op.len, true);
                ExaminationResult::Sound
            } else {
                compare_with_ledger(verifier, device, at.ticket, op, cell, &mut self.damages)
            };
            if fate != ExaminationResult::Sound {
                return fate;
            }
        }
        if look {
            check_sample(device, at.ticket, op, cell);
        }
        ExaminationResult::Sound
    }

    fn take_damages(&mut self) -> Vec<DamageReport> {
        self.damages
            .drain(..)
            .map(|damage| DamageReport { text: damage.as_sentence(), details: damage.event_details() })
            .collect()
    }

    /// A write that did not succeed may have left any data.
    fn note_failed(&mut self, flow: usize, op: &Op) {
        if let Some(verifier) = self.verifier.as_ref().filter(|_| self.flows[flow].content.is_some()) {
            verifier.end_write(op.target, op.offset, op.len, false);
        }
    }

    /// From its last whole block on: direct I/O must begin at a whole block.
    fn request_for_rest(&mut self, device: &mut D, ticket: Ticket, op: &Op, moved: u32) -> Option<Op> {
        let whole = moved - moved % device.target_geometry(op.target).block.max(1);
        if op.direction == Direction::Write {
            let buffer = device.slot_buffer(ticket);
            let end = buffer.len().min(op.len as usize);
            buffer.copy_within((whole as usize).min(end)..end, 0);
        }
        Some(Op { offset: op.offset + u64::from(whole), len: op.len - whole, ..*op })
    }

    fn target_part(&self, device: &D, op: &Op) -> usize {
        let size = device.target_geometry(op.target).size.max(1);
        (u128::from(op.offset) * PARTS as u128 / u128::from(size)) as usize
    }

    fn begin_interval(&mut self) {
        self.flows.iter_mut().for_each(|flow| flow.read_check.begin_interval());
    }

    fn is_over(&mut self, whole: bool) -> bool {
        self.verifier.as_ref().is_some_and(|verifier| verifier.shared_ledger().note_writer_finished(whole))
    }

    #[inline(always)]
    fn may_find_damage(&self) -> bool {
        self.verifier.is_some()
    }
}

/// Compares a read that completed in full with what was written.
fn compare_with_ledger(
    verifier: &Verifier,
    device: &mut impl BlockDevice,
    ticket: Ticket,
    op: &Op,
    cell: &mut FlowCounters,
    damages: &mut Vec<Damage>,
) -> ExaminationResult {
    let Some(data) = device.slot_buffer(ticket).get_mut(..op.len as usize) else { return ExaminationResult::Sound };
    let before = damages.len();
    match verifier.examine_read(ticket, op.target, op.offset, data, damages) {
        Answer::Right => cell.verified += 1,
        Answer::Open => cell.unverified += 1,
        Answer::Wrong(kind) => {
            cell.damaged += (damages.len() - before) as u64;
            return ExaminationResult::Damaged(kind);
        }
    }
    ExaminationResult::Sound
}

/// Checks the data of a read: is it a block that was never written?
fn check_sample(device: &mut impl BlockDevice, ticket: Ticket, op: &Op, cell: &mut FlowCounters) {
    let Some(seen) = read_check::examined_part(op.offset, op.len, device.slot_buffer(ticket)) else { return };
    cell.sampled += 1;
    cell.blank += u64::from(seen.iter().all(|byte| *byte == 0));
}
