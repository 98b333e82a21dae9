//! The gate: evaluates every rule for a target and either returns the permit to write, or says why not.
//!
//! The order: resolve the name, hold what it leads to, open it once, and from then on judge the open file.

use super::block;
use super::examination::{Examination, into_refusal};
use super::fingerprint::{Opened, usable_bytes};
use super::identity::{self, Identity};
use super::inquiry::{Inquiry, Mode};
use super::openers::Inode;
use super::permit::{Permit, ReadPass};
use super::regular;
use super::request::Request;
use super::roots::{DevNum, Roots};
use super::rule::{Refusal, RuleId, Unopened};
use super::shape::Shape;
use super::sharing::partner_runs;
use super::subject::{Kind, Subject};
use rustix::fs::OFlags;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Creates permits. Its only state is where to look.
#[derive(Clone, Debug)]
pub struct Gate {
    pub(super) roots: Roots,
}

impl Gate {
    /// A gate that reads these trees.
    pub fn new(roots: Roots) -> Gate {
        Gate { roots }
    }

    /// The gate of this machine.
    pub fn of_machine() -> Gate {
        Gate::new(Roots::of_machine())
    }

    /// Evaluates every rule for `path` without writing and without keeping it open.
    pub fn examine_path(&self, path: &Path) -> Examination {
        self.run_inquiry(Request::new(path), Mode::Look).0
    }

    /// The identity of a device, by sysfs alone: only S0 and S1 are evaluated, and nothing is opened.
    pub fn introduce_path(&self, path: &Path) -> Examination {
        let mut inquiry = self.new_inquiry(Request::new(path), Mode::Look);
        self.resolve_subject(&mut inquiry);
        inquiry.into_examination()
    }

    /// Examines a request: whether it could be admitted, provided that a person agrees and no other run uses the
    /// target.
    ///
    /// # Errors
    /// The rules that do not hold.
    pub fn examine_request(&self, request: &Request<'_>) -> Result<Examination, Refusal> {
        let exam = self.run_inquiry(*request, Mode::Look).0;
        if exam.accepted { Ok(exam) } else { Err(into_refusal(exam)) }
    }

    /// What the trees alone show about a device number (S4, S5, S9, S11), without opening any device.
    pub fn examine_number(&self, device: DevNum, log_dir: Option<&Path>) -> Examination {
        let path = PathBuf::from(device.to_string());
        let request = Request { log_dir, ..Request::new(&path) };
        let mut inquiry = self.new_inquiry(request, Mode::Look);
        inquiry.exam.kind = Kind::Block(device);
        block::from_trees(&mut inquiry, device);
        inquiry.into_examination()
    }

    /// The other runs that share a device under the consent with this record, in words.
    ///
    /// # Errors
    /// `/proc` cannot be read; in words.
    pub fn partner_runs(&self, device: DevNum, record: Inode) -> Result<Vec<String>, String> {
        Ok(partner_runs(&self.roots, device, record)?.iter().map(ToString::to_string).collect())
    }

    /// Admits a target for writing.
    ///
    /// # Errors
    /// The rules that do not hold; nothing was written and nothing stays open.
    pub fn admit_target(&self, request: &Request<'_>) -> Result<Permit, Refusal> {
        match self.run_inquiry(*request, Mode::Write) {
            (exam, Some(opened)) if exam.accepted => Ok(Permit::new(self.roots.clone(), exam, opened)),
            (exam, _) => Err(into_refusal(exam)),
        }
    }

    /// Admits a target for reading only (S15): it is opened for reading, and the result cannot be used to write.
    ///
    /// # Errors
    /// The rules that do not hold.
    pub fn admit_read(&self, request: &Request<'_>) -> Result<ReadPass, Refusal> {
        let mut inquiry = self.new_inquiry(*request, Mode::Look);
        match self.open_to_read(&mut inquiry) {
            Some((file, shape)) => Ok(ReadPass::new(inquiry.into_examination(), file, shape)),
            None => Err(into_refusal(inquiry.into_examination())),
        }
    }

    fn new_inquiry<'a>(&'a self, request: Request<'a>, mode: Mode) -> Inquiry<'a> {
        Inquiry { roots: &self.roots, request, mode, exam: Examination::without_findings(request.path) }
    }

    fn run_inquiry<'a>(&'a self, request: Request<'a>, mode: Mode) -> (Examination, Option<Opened>) {
        let mut inquiry = self.new_inquiry(request, mode);
        let opened = self.resolve_subject(&mut inquiry).and_then(|subject| match subject.kind {
            Kind::Block(number) => block::inquire_block_device(&mut inquiry, &subject, number),
            Kind::File(inode) => regular::inquire_regular_file(&mut inquiry, &subject, inode),
            Kind::Other(_) | Kind::Missing => None,
        });
        (inquiry.into_examination(), opened)
    }

    /// S0 and S1.
    fn resolve_subject(&self, inquiry: &mut Inquiry<'_>) -> Option<Subject> {
        let subject = match Subject::resolve_name(inquiry.request.path) {
            Ok(subject) => subject,
            Err(why) => {
                inquiry.answer_unopened(RuleId::S0, why);
                return None;
            }
        };
        inquiry.exam.real = subject.real.clone();
        inquiry.exam.kind = subject.kind;
        if let Kind::Block(number) = subject.kind {
            enter_identity(inquiry, number);
        }
        inquiry
            .enter_answer(RuleId::S0, Ok(format!("{} -> {}", inquiry.request.path.display(), subject.real.display())));
        let found = match subject.kind {
            Kind::Block(_) if inquiry.request.page_cache => Err(format!(
                "{} is a {}, and only files are used through the page cache; leave out --page-cache",
                subject.real.display(),
                subject.kind
            )),
            Kind::Block(_) | Kind::File(_) => Ok(subject.kind.to_string()),
            other => Err(format!("{} is a {other}", subject.real.display())),
        };
        inquiry.enter_answer(RuleId::S1, found).then_some(subject)
    }

    fn open_to_read(&self, inquiry: &mut Inquiry<'_>) -> Option<(File, Shape)> {
        let subject = self.resolve_subject(inquiry)?;
        let opened = match subject.kind {
            Kind::File(_) => regular::open_direct(&subject, OFlags::RDONLY, inquiry.request.page_cache),
            _ => subject.open_resolved(OFlags::RDONLY | OFlags::DIRECT).map(|file| (file, true)),
        };
        let (file, direct) = match opened {
            Ok(opened) => opened,
            Err(e) => {
                inquiry.answer_unopened(RuleId::S15, Unopened::from_errno(e));
                return None;
            }
        };
        inquiry.enter_answer(RuleId::S15, Ok("opened for reading only".into()));
        let shape = match subject.kind {
            Kind::Block(number) => block::read_shape(inquiry.roots, &file, number),
            _ => regular::file_shape(&file, direct, inquiry.request.page_cache).map(|shape| {
                let size = usable_bytes(&file, shape.size);
                Shape { size, ..shape }
            }),
        };
        let checked = shape.and_then(|shape| inquiry.fits_blocks(shape.logical_block).map(|()| shape));
        inquiry.enter_answer(RuleId::S3, checked.as_ref().map(Shape::to_string).map_err(Clone::clone));
        let shape = checked.ok()?;
        inquiry.exam.size = Some(shape.size);
        let marks = match subject.kind {
            Kind::Block(number) => super::watermark::of_device(inquiry.roots, number),
            _ => regular::file_watermarks(inquiry, &file, &subject.real, shape.direct),
        };
        inquiry.exam.watermarks.extend(marks);
        inquiry.fits_size(shape.size).then_some((file, shape))
    }
}

/// Enters what sysfs reports about a block device.
fn enter_identity(inquiry: &mut Inquiry<'_>, number: DevNum) {
    let Some(identity) = Identity::read_identity(inquiry.roots, number) else { return };
    inquiry.exam.token = Some(identity.consent_token(inquiry.roots));
    inquiry.exam.marks = identity.identity_marks(inquiry.roots);
    inquiry.exam.by_id = identity::alias_names(inquiry.roots, &identity.name);
    inquiry.exam.size = identity.size;
    inquiry.exam.diskseq = identity.diskseq;
    inquiry.exam.model = identity.model;
    inquiry.exam.serial = identity.serial;
    inquiry.exam.wwid = identity.wwid;
}
