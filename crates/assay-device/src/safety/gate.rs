//! The gate: asks every rule of a target and either hands out the one permit to write, or says why not.
//!
//! The order of work: resolve the name, hold what it leads to, open it once, and from then on judge the open file.

use super::block;
use super::content::{self, Content};
use super::identity::{self, Identity};
use super::permit::{Permit, ReadPass, Seal, Shape};
use super::regular;
use super::roots::{DevNum, Roots};
use super::rule::{Refusal, RuleAnswer, RuleId, Unopened};
use super::standing::{Marks, Standing};
use super::subject::{Kind, Subject};
use super::watermark::Watermark;
use super::{signature, usage};
use rustix::fs::OFlags;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// What the workload will do with the target.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Needs {
    /// The end of the last byte it will ever touch.
    pub extent: u128,
    /// Every size and offset of it is a multiple of this; 0: not known, nothing is asked.
    pub alignment: u32,
}

/// Consent by naming the device instead of its token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expect {
    /// Its serial number, exactly.
    pub serial: String,
    /// Its size in bytes, exactly.
    pub size: u64,
}

/// A wish to use a target.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The target as it was given.
    pub path: &'a Path,
    /// Consent tokens (`--destroy-data`).
    pub tokens: &'a [String],
    /// Consents given earlier; the one of this device counts.
    pub standing: &'a [Standing],
    /// Consent by serial number and size.
    pub expect: Option<&'a Expect>,
    /// Rules a person overrides.
    pub overrides: &'a [RuleId],
    /// What the workload needs of it.
    pub needs: Needs,
    /// Where the run log will be written.
    pub log_dir: Option<&'a Path>,
    /// A person said that this is a container whose outside cannot be seen.
    pub in_container: bool,
}

impl<'a> Request<'a> {
    /// A wish with no consent, no override and no needs.
    pub fn new(path: &'a Path) -> Request<'a> {
        let needs = Needs::default();
        Request {
            path,
            tokens: &[],
            standing: &[],
            expect: None,
            overrides: &[],
            needs,
            log_dir: None,
            in_container: false,
        }
    }
}

/// What is known of a target and what each rule says of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Examination {
    /// The name that was given.
    pub given: PathBuf,
    /// The name with all links resolved; empty when there is none.
    pub real: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// Usable bytes.
    pub size: Option<u64>,
    /// Model.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// World-wide identifier.
    pub wwid: Option<String>,
    /// Other names: `/dev/disk/by-id/…` and the like.
    pub by_id: Vec<String>,
    /// The consent token, for a block device.
    pub token: Option<String>,
    /// What the token is made of.
    pub marks: Marks,
    /// Disk sequence number.
    pub diskseq: Option<u64>,
    /// Answers, in the order asked.
    pub rules: Vec<RuleAnswer>,
    /// Why a result on it cannot be a certificate.
    pub watermarks: Vec<Watermark>,
    /// Whether every rule that was asked passes.
    pub accepted: bool,
    /// Whether a consent given earlier is what lets it be written.
    pub agreed_earlier: bool,
}

impl Examination {
    fn nothing(given: &Path) -> Examination {
        Examination {
            given: given.to_path_buf(),
            real: PathBuf::new(),
            kind: Kind::Missing,
            size: None,
            model: None,
            serial: None,
            wwid: None,
            by_id: Vec::new(),
            token: None,
            marks: Marks::new(),
            diskseq: None,
            rules: Vec::new(),
            watermarks: Vec::new(),
            accepted: false,
            agreed_earlier: false,
        }
    }

    /// `given -> real, kind, model, serial, size` in one line.
    pub fn subject(&self) -> String {
        if self.kind == Kind::Missing {
            return String::new();
        }
        let model = self.model.iter().map(|m| format!(", model {m}"));
        let serial = self.serial.iter().map(|s| format!(", serial {s}"));
        let wwid = self.wwid.iter().map(|w| format!(", WWID {w}"));
        let size = self.size.iter().map(|s| format!(", {s} bytes"));
        let names = self.by_id.iter().take(1).map(|n| format!(", {n}"));
        let rest: String = model.chain(serial).chain(wwid).chain(size).chain(names).collect();
        format!("{}, {}{rest}", self.real.display(), self.kind)
    }
}

/// How far an inquiry goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Looks, as gently as possible: nothing stays open, no consent asked.
    Look,
    /// Means to write.
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
    /// Enters the answer of a rule; true when the gate may go on.
    pub fn answer(&mut self, id: RuleId, found: Result<String, String>) -> bool {
        self.keep(RuleAnswer::new(id, found))
    }

    /// The answer of a rule for which something could not be opened.
    pub fn answer_unopened(&mut self, id: RuleId, why: Unopened) -> bool {
        self.keep(RuleAnswer::unopened(id, why))
    }

    fn keep(&mut self, mut answer: RuleAnswer) -> bool {
        let id = answer.id;
        let said = |standing: &&Standing| standing.overrides(id, &answer.evidence);
        let overridden = self.request.overrides.contains(&id) || self.standing().filter(said).is_some();
        answer.overridden = !answer.ok && answer.overridable && overridden;
        if answer.overridden {
            self.exam.watermarks.push(Watermark::Overridden(id));
        }
        self.exam.rules.push(answer);
        self.exam.rules.last().is_some_and(RuleAnswer::passes)
    }

    /// The consent given earlier for this very device.
    pub fn standing(&self) -> Option<&Standing> {
        let is_of_this = |given: &&Standing| !given.marks.is_empty() && given.marks == self.exam.marks;
        self.request.standing.iter().find(is_of_this)
    }

    /// S3, as far as size and alignment go.
    pub fn fits_blocks(&self, block: u32) -> Result<(), String> {
        let alignment = self.request.needs.alignment;
        match alignment.is_multiple_of(block) {
            true => Ok(()),
            false => {
                Err(format!("the workload's sizes are multiples of {alignment} bytes, the target's blocks are {block}"))
            }
        }
    }

    /// S14.
    pub fn fits_size(&mut self, usable: u64) -> bool {
        let extent = self.request.needs.extent;
        let found = match extent <= u128::from(usable) {
            true => Ok(format!("{extent} of {usable} bytes")),
            false => Err(format!("the workload reaches byte {extent}, the target ends at {usable}")),
        };
        self.answer(RuleId::S14, found)
    }

    /// S7 and S8, on the open file.
    pub fn contents(&mut self, file: &File, usable: u64) {
        let signature = found_signature(file, usable);
        self.answer(RuleId::S7, signature);
        let found = match content::look(file, usable) {
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
        self.answer(RuleId::S8, found);
    }

    /// Ends the inquiry.
    pub fn close(mut self) -> Examination {
        self.exam.watermarks.sort();
        self.exam.watermarks.dedup();
        self.exam.accepted = self.exam.rules.iter().all(RuleAnswer::passes);
        self.exam
    }
}

fn found_signature(file: &File, usable: u64) -> Result<String, String> {
    let own = signature::find(file, usable).map_err(|e| format!("it could not be read: {e}"))?;
    if let Some(found) = own {
        return Err(format!("{found} (own table)"));
    }
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    match signature::blkid(&path) {
        Some(Ok(())) => Ok("none by the own table, none by blkid -p".into()),
        Some(Err(found)) => Err(found),
        None => Ok("none by the own table; no blkid here, S8 decides".into()),
    }
}

/// Hands out permits. It holds nothing but where to look.
#[derive(Clone, Debug)]
pub struct Gate {
    pub(super) roots: Roots,
}

impl Gate {
    /// A gate that believes these trees.
    pub fn new(roots: Roots) -> Gate {
        Gate { roots }
    }

    /// The gate of this machine.
    pub fn host() -> Gate {
        Gate::new(Roots::host())
    }

    /// Asks every rule of `path` without writing and without keeping it open.
    pub fn examine(&self, path: &Path) -> Examination {
        self.inquire(Request::new(path), Mode::Look).0
    }

    /// Who a device is, by sysfs alone: no rule but S0 and S1 is asked, and nothing is opened.
    pub fn introduce(&self, path: &Path) -> Examination {
        let mut inquiry = self.inquiry(Request::new(path), Mode::Look);
        self.subject(&mut inquiry);
        inquiry.close()
    }

    /// The same of a wish: what of it could be admitted, if a person agrees and no other run has it.
    ///
    /// # Errors
    /// The rules that do not hold.
    pub fn look(&self, request: &Request<'_>) -> Result<Examination, Refusal> {
        let exam = self.inquire(*request, Mode::Look).0;
        if exam.accepted { Ok(exam) } else { Err(refusal(exam)) }
    }

    /// What the trees alone say of a device number (S4, S5, S9, S11), without opening any device.
    pub fn examine_number(&self, device: DevNum, log_dir: Option<&Path>) -> Examination {
        let path = PathBuf::from(device.to_string());
        let request = Request { log_dir, ..Request::new(&path) };
        let mut inquiry = self.inquiry(request, Mode::Look);
        inquiry.exam.kind = Kind::Block(device);
        block::from_trees(&mut inquiry, device, false);
        inquiry.close()
    }

    /// Admits a target for writing.
    ///
    /// # Errors
    /// The rules that do not hold; nothing was written and nothing stays open.
    pub fn admit(&self, request: &Request<'_>) -> Result<Permit, Refusal> {
        match self.inquire(*request, Mode::Write) {
            (exam, Some(opened)) if exam.accepted => Ok(Permit::new(self.roots.clone(), exam, opened)),
            (exam, _) => Err(refusal(exam)),
        }
    }

    /// Admits a target for reading only (S15): it is opened for reading, and what comes out cannot write.
    ///
    /// # Errors
    /// The rules that do not hold.
    pub fn admit_read(&self, request: &Request<'_>) -> Result<ReadPass, Refusal> {
        let mut inquiry = self.inquiry(*request, Mode::Look);
        match self.open_to_read(&mut inquiry) {
            Some((file, shape)) => Ok(ReadPass::new(inquiry.close(), file, shape)),
            None => Err(refusal(inquiry.close())),
        }
    }

    fn inquiry<'a>(&'a self, request: Request<'a>, mode: Mode) -> Inquiry<'a> {
        Inquiry { roots: &self.roots, request, mode, exam: Examination::nothing(request.path) }
    }

    fn inquire<'a>(&'a self, request: Request<'a>, mode: Mode) -> (Examination, Option<Opened>) {
        let mut inquiry = self.inquiry(request, mode);
        let opened = self.subject(&mut inquiry).and_then(|subject| match subject.kind {
            Kind::Block(number) => block::inquire(&mut inquiry, &subject, number),
            Kind::File(inode) => regular::inquire(&mut inquiry, &subject, inode),
            Kind::Other(_) | Kind::Missing => None,
        });
        (inquiry.close(), opened)
    }

    /// S0 and S1.
    fn subject(&self, inquiry: &mut Inquiry<'_>) -> Option<Subject> {
        let subject = match Subject::resolve(inquiry.request.path) {
            Ok(subject) => subject,
            Err(why) => {
                inquiry.answer_unopened(RuleId::S0, why);
                return None;
            }
        };
        inquiry.exam.real = subject.real.clone();
        inquiry.exam.kind = subject.kind;
        if let Kind::Block(number) = subject.kind {
            introduce(inquiry, number);
        }
        inquiry.answer(RuleId::S0, Ok(format!("{} -> {}", inquiry.request.path.display(), subject.real.display())));
        let found = match subject.kind {
            Kind::Block(_) | Kind::File(_) => Ok(subject.kind.to_string()),
            other => Err(format!("{} is a {other}", subject.real.display())),
        };
        inquiry.answer(RuleId::S1, found).then_some(subject)
    }

    fn open_to_read(&self, inquiry: &mut Inquiry<'_>) -> Option<(File, Shape)> {
        let subject = self.subject(inquiry)?;
        let opened = match subject.kind {
            Kind::File(_) => regular::open(&subject, OFlags::RDONLY),
            _ => subject.open(OFlags::RDONLY | OFlags::DIRECT).map(|file| (file, true)),
        };
        let (file, direct) = match opened {
            Ok(opened) => opened,
            Err(e) => {
                inquiry.answer_unopened(RuleId::S15, Unopened::of(e));
                return None;
            }
        };
        inquiry.answer(RuleId::S15, Ok("opened for reading only".into()));
        let shape = match subject.kind {
            Kind::Block(number) => block::shape(inquiry.roots, &file, number),
            _ => regular::shape(&file, direct).map(|shape| {
                let labelled = regular::has_label(&file, shape.size).unwrap_or(false);
                Shape { size: if labelled { shape.size - super::label::LABEL_LEN } else { shape.size }, ..shape }
            }),
        };
        let checked = shape.and_then(|shape| inquiry.fits_blocks(shape.logical_block).map(|()| shape));
        inquiry.answer(RuleId::S3, checked.as_ref().map(Shape::to_string).map_err(Clone::clone));
        let shape = checked.ok()?;
        inquiry.exam.size = Some(shape.size);
        let marks = match subject.kind {
            Kind::Block(number) => super::watermark::of_device(inquiry.roots, number),
            _ => regular::watermarks(inquiry, &file, &subject.real, shape.direct),
        };
        inquiry.exam.watermarks.extend(marks);
        inquiry.fits_size(shape.size).then_some((file, shape))
    }
}

/// Enters what sysfs says of a block device.
fn introduce(inquiry: &mut Inquiry<'_>, number: DevNum) {
    let Some(identity) = Identity::read(inquiry.roots, number) else { return };
    inquiry.exam.token = Some(identity.token(inquiry.roots));
    inquiry.exam.marks = identity.marks(inquiry.roots);
    inquiry.exam.by_id = identity::aliases(inquiry.roots, &identity.name);
    inquiry.exam.size = identity.size;
    inquiry.exam.diskseq = identity.diskseq;
    inquiry.exam.model = identity.model;
    inquiry.exam.serial = identity.serial;
    inquiry.exam.wwid = identity.wwid;
}

/// An open target that passed the rules asked while opening it.
pub(super) struct Opened {
    pub file: File,
    /// The whole disk's node, locked, where the target is a partition.
    pub disk: Option<File>,
    pub shape: Shape,
    pub seal: Seal,
}

/// The refusal of an examination with at least one rule that does not hold.
pub(super) fn refusal(exam: Examination) -> Refusal {
    let subject = exam.subject();
    let mut failed: Vec<RuleAnswer> = exam.rules.into_iter().filter(|answer| !answer.passes()).collect();
    // The system's own disk is said first, then what no flag can change, what a flag can change, the missing consent.
    failed.sort_by_key(|answer| (answer.id != RuleId::S5, answer.id == RuleId::Consent, answer.overridable));
    let mut failed = failed.into_iter();
    let first = failed.next();
    // The evidence of a refused claim (S2) already says who uses the device; where rights are missing nothing was claimed.
    let refused = |answer: &RuleAnswer| answer.id == RuleId::S2 && !answer.lacks_rights;
    let unclaimed = first.iter().chain(failed.as_slice()).any(refused);
    let told = |id: RuleId| unclaimed && matches!(id, RuleId::S4 | RuleId::S6);
    let also = failed.filter(|answer| !told(answer.id)).collect();
    Refusal {
        given: exam.given,
        subject,
        rule: first.as_ref().map_or(RuleId::S0, |answer| answer.id),
        unpermitted: first.as_ref().is_some_and(|answer| answer.lacks_rights),
        evidence: first.map_or_else(|| "it could not be examined".to_owned(), |answer| answer.evidence),
        also,
    }
}

/// The log directory's own disk, for the watermark of files.
pub(super) fn log_disk(roots: &Roots, log_dir: &Path) -> Option<DevNum> {
    let real = usage::existing(log_dir);
    let stat = rustix::fs::stat(&real).ok()?;
    usage::disk_under(roots, &real, DevNum::of(stat.st_dev))
}
