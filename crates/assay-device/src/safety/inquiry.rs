//! One inquiry in progress: collects the answers of the rules, and evaluates those that apply to every kind of target.

use super::content::{self, Content};
use super::examination::Examination;
use super::request::Request;
use super::roots::Roots;
use super::rule::{RuleAnswer, RuleId, Unopened};
use super::sharing::{Held, Partner, partner_ranks, partner_runs};
use super::signature;
use super::standing::Standing;
use super::watermark::Watermark;
use std::fs::File;

/// How far an inquiry goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Only looks, as gently as possible: nothing stays open, no consent is required.
    Look,
    /// Intends to write.
    Write,
}

/// One inquiry in progress.
pub(super) struct Inquiry<'a> {
    pub roots: &'a Roots,
    pub request: Request<'a>,
    pub mode: Mode,
    pub exam: Examination,
}

impl Inquiry<'_> {
    /// Enters the answer of a rule; true when the gate may continue.
    pub(super) fn enter_answer(&mut self, id: RuleId, found: Result<String, String>) -> bool {
        self.keep_answer(RuleAnswer::new(id, found))
    }

    /// The answer of a rule for which something could not be opened.
    pub(super) fn answer_unopened(&mut self, id: RuleId, why: Unopened) -> bool {
        self.keep_answer(RuleAnswer::from_unopened(id, why))
    }

    fn keep_answer(&mut self, mut answer: RuleAnswer) -> bool {
        let id = answer.id;
        let said = |standing: &&Standing| standing.overrides_rule(id, &answer.evidence, &self.exam.users);
        let overridden = self.request.overrides.contains(&id) || self.standing_consent().filter(said).is_some();
        answer.overridden = !answer.ok && answer.overridable && overridden;
        if answer.overridden {
            self.exam.watermarks.push(Watermark::Overridden(id));
        }
        self.exam.rules.push(answer);
        self.exam.rules.last().is_some_and(RuleAnswer::may_continue)
    }

    /// The consent given earlier for exactly this device.
    pub(super) fn standing_consent(&self) -> Option<&Standing> {
        self.request.standing.iter().find(|given| !given.marks.is_empty() && given.marks == self.exam.marks)
    }

    /// Those that may hold the target together with this process: the other ranks of its run, or runs under the same consent.
    pub(super) fn partners_on(&self, held: Held) -> Vec<Partner> {
        if !self.request.ranks.is_empty() {
            return partner_ranks(self.roots, held, self.request.ranks);
        }
        let Held::Device(device) = held else { return Vec::new() };
        let record = self.standing_consent().and_then(|given| given.record);
        record.and_then(|record| partner_runs(self.roots, device, record).ok()).unwrap_or_default()
    }

    /// S3, as far as size and alignment are concerned.
    pub(super) fn fits_blocks(&self, block: u32) -> Result<(), String> {
        let alignment = self.request.needs.alignment;
        if alignment.is_multiple_of(block) {
            Ok(())
        } else {
            Err(format!("the workload's sizes are multiples of {alignment} bytes, the target's blocks are {block}"))
        }
    }

    /// S14.
    pub(super) fn fits_size(&mut self, usable: u64) -> bool {
        let extent = self.request.needs.extent;
        let found = if extent <= u128::from(usable) {
            Ok(format!("{extent} of {usable} bytes"))
        } else {
            Err(format!("the workload reaches byte {extent}, the target ends at {usable}"))
        };
        self.enter_answer(RuleId::S14, found)
    }

    /// S7 and S8, on the open file.
    pub(super) fn check_contents(&mut self, file: &File, usable: u64) {
        let signature = found_signature(file, usable);
        self.enter_answer(RuleId::S7, signature);
        let found = match content::examine_content(file, usable) {
            Ok(Content { foreign: None, read, ours, of_act }) => Ok(format!(
                "{read} bytes sampled, {}",
                match (ours, of_act) {
                    (false, false) => "all zero",
                    (true, false) => "zero or written by an earlier run",
                    (false, true) => "zero or written by ACT, whose generator is known again",
                    (true, true) => "zero, written by an earlier run, or by ACT, whose generator is known again",
                }
            )),
            Ok(Content { foreign: Some(at), .. }) => Err(format!("unknown data near byte {at}")),
            Err(e) => Err(format!("its content could not be read: {e}")),
        };
        self.enter_answer(RuleId::S8, found);
    }

    /// Ends the inquiry.
    pub(super) fn into_examination(mut self) -> Examination {
        self.exam.watermarks.sort();
        self.exam.watermarks.dedup();
        self.exam.accepted = self.exam.rules.iter().all(RuleAnswer::may_continue);
        self.exam
    }
}

fn found_signature(file: &File, usable: u64) -> Result<String, String> {
    let own = signature::find_signature(file, usable).map_err(|e| format!("it could not be read: {e}"))?;
    if let Some(found) = own {
        return Err(format!("{found} (own table)"));
    }
    match signature::probe_with_blkid(file) {
        Some(Ok(())) => Ok("none by the built-in table, none by blkid -p".into()),
        Some(Err(found)) => Err(found),
        None => Ok("none by the built-in table; blkid is not installed, so S8 decides".into()),
    }
}
