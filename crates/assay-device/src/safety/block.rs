//! The rules for block devices, in order, evaluated on the open descriptor.

use super::family::{Family, Loop};
use super::fingerprint::{Fingerprint, Opened};
use super::identity::Identity;
use super::in_use::{holders_in_words, in_use};
use super::inquiry::{Inquiry, Mode};
use super::kernel;
use super::openers::{LOOKS, wait_a_little};
use super::roots::{DevNum, Roots, attribute_if_any, names_in, read_number};
use super::rule::{RuleId, Unopened};
use super::shape::Shape;
use super::sharing::{self, Held, Partner};
use super::subject::{Kind, Subject};
use super::watermark::{self, Watermark};
use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::AsFd;

/// Evaluates S2 to S14 and consent. `None`: it could not be opened.
pub(super) fn inquire_block_device(inquiry: &mut Inquiry<'_>, subject: &Subject, device: DevNum) -> Option<Opened> {
    let opened = open_when_free(inquiry, subject, device);
    let (claimed, busy) = (opened.is_ok(), is_busy(&opened));
    // Without the right to open the device, its users are not the reason for the refusal.
    let who = if busy { holders_in_words(inquiry.roots, device) } else { String::new() };
    match &opened {
        Ok(opened) => inquiry.enter_answer(RuleId::S2, Ok(opened.how.clone())),
        Err(e) => inquiry
            .answer_unopened(RuleId::S2, Unopened { text: why_not_granted(*e) + &who, ..Unopened::from_errno(*e) }),
    };
    let file = opened.ok().map(|claimed| claimed.file).or_else(|| still_readable(inquiry, subject));
    let shape = file.as_ref().and_then(|file| size_and_blocks(inquiry, file, device));
    let held = in_use(inquiry, device, file.as_ref().filter(|_| claimed)) || busy;
    match (&file, &shape) {
        (Some(file), Some(shape)) if claimed && !(held && inquiry.mode == Mode::Look) => {
            inquiry.check_contents(file, shape.size);
        }
        _ if inquiry.mode == Mode::Look => note_unread_content(inquiry, held),
        _ => {}
    }
    built_on(inquiry, device);
    let (file, shape) = (file?, shape?);
    if inquiry.mode == Mode::Look || !claimed {
        return None;
    }
    let disk = lock_disk(inquiry, &file, device).ok()?;
    inquiry.fits_size(shape.size);
    check_consent(inquiry, shape.size);
    let fingerprint = Fingerprint::of_device(inquiry.request.path, device, &file, &shape, inquiry.roots);
    Some(Opened { file, disk, shape, fingerprint, blank: false })
}

/// The rules that need no open device: S4, S5, S6, S9, S11.
pub(super) fn from_trees(inquiry: &mut Inquiry<'_>, device: DevNum) {
    in_use(inquiry, device, None);
    built_on(inquiry, device);
}

/// A device that the kernel has granted, and how.
struct Claimed {
    file: File,
    how: String,
}

/// How often a run that shares the device is waited for, until it has checked the device itself and locked it.
const LOOKS_AT_PARTNERS: u32 = 100;

/// [`open_exclusively`], repeated for about a second as long as the device is busy and no user of it is visible: the kernel
/// releases a device a moment after the process that used it has ended. A run under the same consent shares it.
fn open_when_free(inquiry: &Inquiry<'_>, subject: &Subject, device: DevNum) -> Result<Claimed, Errno> {
    for look in 1.. {
        let opened =
            open_exclusively(inquiry, subject).map(|file| Claimed { file, how: "granted exclusively".to_owned() });
        if !is_busy(&opened) {
            return opened;
        }
        let partners = inquiry.partners_on(Held::Device(device));
        if let Some(shared) = partners.iter().find_map(|partner| shared_with(inquiry, partner, device)) {
            return Ok(shared);
        }
        let most = if partners.is_empty() { LOOKS } else { LOOKS_AT_PARTNERS };
        if look >= most || partners.is_empty() && !holders_in_words(inquiry.roots, device).is_empty() {
            return opened;
        }
        wait_a_little();
    }
    Err(Errno::BUSY)
}

fn shared_with(inquiry: &Inquiry<'_>, partner: &Partner, device: DevNum) -> Option<Claimed> {
    let file = sharing::copy_descriptor(partner, Held::Device(device))?;
    let why = if inquiry.request.ranks.is_empty() { "under the same consent" } else { "in the same run" };
    Some(Claimed { file, how: format!("shared with {partner}, to which it was granted, {why}") })
}

/// Whether the kernel reported that somebody has it open.
fn is_busy(opened: &Result<Claimed, Errno>) -> bool {
    matches!(opened, Err(Errno::BUSY))
}

fn why_not_granted(e: Errno) -> String {
    match e {
        Errno::BUSY => {
            "the kernel reports that it is in use (EBUSY), by a mount in any namespace or by the kernel itself"
                .to_owned()
        }
        e => Unopened::from_errno(e).text,
    }
}

/// S2. To look, the device is claimed for a moment only, because nothing else detects a claim held in another
/// namespace.
fn open_exclusively(inquiry: &Inquiry<'_>, subject: &Subject) -> Result<File, Errno> {
    match inquiry.mode {
        Mode::Write => subject.open_resolved(OFlags::RDWR | OFlags::EXCL | OFlags::DIRECT),
        Mode::Look => {
            drop(subject.open_resolved(OFlags::RDONLY | OFlags::EXCL | OFlags::NONBLOCK)?);
            subject.open_resolved(OFlags::RDONLY)
        }
    }
}

/// A device in use can still be asked for its size and blocks, so that these answers are shown. It is not read: whoever
/// uses it may be measuring it.
fn still_readable(inquiry: &Inquiry<'_>, subject: &Subject) -> Option<File> {
    (inquiry.mode == Mode::Look).then(|| subject.open_resolved(OFlags::RDONLY | OFlags::NONBLOCK).ok()).flatten()
}

fn note_unread_content(inquiry: &mut Inquiry<'_>, held: bool) {
    let why = if held { "it was not read because it is in use" } else { "it could not be read" };
    for rule in [RuleId::S7, RuleId::S8] {
        inquiry.enter_answer(rule, Err(why.into()));
    }
}

/// S3.
fn size_and_blocks(inquiry: &mut Inquiry<'_>, file: &File, device: DevNum) -> Option<Shape> {
    let writable = match kernel::read_only(file.as_fd()) {
        Ok(false) => Ok(()),
        Ok(true) => Err("it is read-only (BLKROGET)".to_owned()),
        Err(e) => Err(format!("BLKROGET: {e}")),
    };
    let shape = read_shape(inquiry.roots, file, device);
    let found = shape.clone().and_then(|shape| {
        writable?;
        inquiry.fits_blocks(shape.logical_block)?;
        Ok(shape.to_string())
    });
    inquiry.enter_answer(RuleId::S3, found);
    let shape = shape.ok()?;
    inquiry.exam.size = Some(shape.size);
    Some(shape)
}

/// Size and blocks of an open block device; an error for an empty one.
pub(super) fn read_shape(roots: &Roots, file: &File, device: DevNum) -> Result<Shape, String> {
    let fd = file.as_fd();
    let size = kernel::device_size(fd).map_err(|e| format!("BLKGETSIZE64: {e}"))?;
    let logical = rustix::fs::ioctl_blksszget(fd).map_err(|e| format!("BLKSSZGET: {e}"))?;
    let physical = rustix::fs::ioctl_blkpbszget(fd).unwrap_or(logical);
    let queue =
        Identity::read_identity(roots, device).and_then(|id| read_number(&id.disk_dir.join("queue/dma_alignment")));
    shape_of(size, logical, physical, kernel::direct_alignment(fd), queue)
}

/// The shape that follows from what the kernel says: bytes, logical and physical block, the alignment of memory and
/// offsets for direct I/O, and the mask of the queue's alignment.
fn shape_of(
    size: u64,
    logical: u32,
    physical_block: u32,
    alignment: Option<(u32, u32)>,
    queue_mask: Option<u64>,
) -> Result<Shape, String> {
    if size == 0 {
        return Err("its size is 0".into());
    }
    let alignment = alignment.filter(kernel::is_usable);
    let from_queue = queue_mask.and_then(|mask| u32::try_from(mask + 1).ok());
    let logical_block = alignment.map_or(logical, |(_, offset)| offset.max(logical));
    if !logical_block.is_power_of_two() {
        return Err(format!("its block size of {logical_block} bytes is not a power of two"));
    }
    Ok(Shape {
        size: size / u64::from(logical_block) * u64::from(logical_block),
        logical_block,
        physical_block,
        dma_alignment: alignment.map(|(memory, _)| memory).or(from_queue).unwrap_or(logical_block),
        direct: true,
    })
}

/// S9 and S11.
fn built_on(inquiry: &mut Inquiry<'_>, device: DevNum) {
    let family = Family::read_family(inquiry.roots, device);
    let found = family.and_then(|family| one_path(inquiry.roots, &family, device));
    inquiry.enter_answer(RuleId::S9, found);
    let marks = watermark::of_device(inquiry.roots, device);
    let found = match marks.as_slice() {
        [] => Ok("a disk of its own".into()),
        marks if marks.contains(&Watermark::UnknownBacking) => Err("sysfs does not show the devices beneath it".into()),
        marks => {
            Ok(format!("not certifiable: {}", marks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")))
        }
    };
    inquiry.exam.watermarks.extend(marks);
    inquiry.enter_answer(RuleId::S11, found);
}

/// S9: the same medium under the name of a device that does not belong to the family.
fn one_path(roots: &Roots, family: &Family, device: DevNum) -> Result<String, String> {
    let media: Vec<String> = family
        .members
        .iter()
        .filter_map(|m| Identity::read_identity(roots, m.number))
        .filter_map(|id| id.medium_key())
        .collect();
    for name in names_in(&roots.sys.join("block"))? {
        let dir = roots.sys.join("block").join(&name);
        let number = attribute_if_any(&dir.join("dev"))?.and_then(|text| DevNum::parse_numbers(&text));
        let relative = number.is_none_or(|n| family.member_by_number(n).is_some());
        let hidden = number_is_one(&dir.join("hidden"));
        let other = number
            .filter(|_| !relative && !hidden)
            .and_then(|n| Identity::read_identity(roots, n))
            .and_then(|id| id.medium_key());
        if let Some(medium) = other.filter(|medium| media.contains(medium)) {
            return Err(format!("{name} is the same medium: {medium} ({})", dir.display()));
        }
    }
    let mine: Vec<&Loop> = family.loops.iter().filter(|l| family.member_by_number(l.number).is_some()).collect();
    let twin = family.loops.iter().find(|l| mine.iter().any(|m| m.number != l.number && same_backing(m, l)));
    match twin {
        Some(twin) => Err(format!("{} is bound to the same {}", twin.name, twin.path)),
        None if media.is_empty() => Ok(format!("{device} has no WWID or serial to compare")),
        None => Ok(format!("no other device with {}", media.join(", "))),
    }
}

fn number_is_one(path: &std::path::Path) -> bool {
    read_number(path) == Some(1)
}

fn same_backing(a: &Loop, b: &Loop) -> bool {
    match (a.backing, b.backing) {
        (Some(a), Some(b)) => (a.device, a.inode) == (b.device, b.inode) || (a.block.is_some() && a.block == b.block),
        _ => a.path == b.path,
    }
}

/// S13: the lock by which udev, systemd-repart and other runs of this program coordinate. A whole disk is locked
/// exclusively for this run. A partition is locked exclusively too, and its disk is locked in shared mode, together
/// with runs on other partitions, against anybody who wants the whole disk.
fn lock_disk(inquiry: &mut Inquiry<'_>, file: &File, device: DevNum) -> Result<Option<File>, ()> {
    let found = whole_disk(inquiry.roots, device).and_then(|disk| {
        let lock_failure = |e: Errno, what: &str| match e {
            Errno::WOULDBLOCK => format!("another run has locked {what}{}", holders_in_words(inquiry.roots, device)),
            e => format!("{what} cannot be locked: {e}"),
        };
        if let Some(disk) = &disk {
            try_lock(disk, FlockOperation::NonBlockingLockShared).map_err(|e| lock_failure(e, "the whole disk"))?;
        }
        try_lock(file, FlockOperation::NonBlockingLockExclusive).map_err(|e| lock_failure(e, "it"))?;
        Ok(disk)
    });
    inquiry.enter_answer(RuleId::S13, found.as_ref().map(|_| "locked".into()).map_err(Clone::clone));
    found.map_err(|_| ())
}

/// Repeated for a while where somebody holds the lock, such as udev, which releases it again.
fn try_lock(file: &File, how: FlockOperation) -> Result<(), Errno> {
    for _ in 1..LOOKS {
        match rustix::fs::flock(file, how) {
            Err(Errno::WOULDBLOCK) => wait_a_little(),
            done => return done,
        }
    }
    rustix::fs::flock(file, how)
}

/// The node of the disk that contains a partition, verified by its number. `None` for a whole disk.
fn whole_disk(roots: &Roots, device: DevNum) -> Result<Option<File>, String> {
    let identity = Identity::read_identity(roots, device).ok_or("sysfs does not show it")?;
    if identity.partition.is_none() {
        return Ok(None);
    }
    let node = roots.dev.join(&identity.disk);
    let subject = Subject::resolve_name(&node).map_err(|why| why.text)?;
    let expected =
        super::roots::read_attribute(&identity.disk_dir.join("dev")).and_then(|text| DevNum::parse_numbers(&text));
    if subject.kind != expected.map_or(Kind::Missing, Kind::Block) {
        return Err(format!("{} is not the disk of this partition", node.display()));
    }
    let disk =
        subject.open_resolved(OFlags::RDONLY | OFlags::NONBLOCK).map_err(|e| format!("{}: {e}", node.display()))?;
    Ok(Some(disk))
}

/// Consent: the token, or serial number and size.
fn check_consent(inquiry: &mut Inquiry<'_>, size: u64) {
    let token = inquiry.exam.token.clone();
    let by_token =
        token.as_ref().is_some_and(|t| inquiry.request.tokens.iter().any(|given| given.eq_ignore_ascii_case(t)));
    let serial = inquiry.exam.serial.as_deref();
    let by_name = inquiry.request.expect.is_some_and(|e| Some(e.serial.as_str()) == serial && e.size == size);
    let earlier = inquiry.standing_consent().map(|given| given.words.clone());
    inquiry.exam.agreed_earlier = earlier.is_some();
    inquiry.exam.shared_under = inquiry.standing_consent().and_then(|given| given.record);
    let found = match (earlier, by_token, by_name) {
        (Some(words), ..) => Ok(words),
        (_, true, _) => Ok("by token".into()),
        (.., true) => Ok("by serial number and size".into()),
        _ if inquiry.request.tokens.is_empty() => Err("its data would be destroyed and no token was given".into()),
        _ => Err("none of the given tokens belongs to this device".into()),
    };
    inquiry.enter_answer(RuleId::Consent, found);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::safety::kernel::LoopBacking;

    #[test]
    fn blocks_are_as_large_as_direct_io_asks_for() {
        let large = u64::from(u32::MAX);
        for (size, logical, alignment, mask, expected) in [
            (10_000, 512, None, None, Some((9728, 512, 512))),
            (10_000, 512, None, Some(3), Some((9728, 512, 4))),
            (10_000, 512, None, Some(large), Some((9728, 512, 512))),
            (10_000, 512, Some((8, 4096)), Some(3), Some((8192, 4096, 8))),
            (10_000, 512, Some((8, 256)), Some(3), Some((9728, 512, 8))),
            // Zero says that there is no direct I/O, or that nothing is known.
            (10_000, 512, Some((0, 4096)), Some(3), Some((9728, 512, 4))),
            (10_000, 512, Some((8, 0)), Some(3), Some((9728, 512, 4))),
            (10_000, 520, None, None, None),
            (10_000, 512, Some((8, 520)), None, None),
            (0, 512, None, None, None),
        ] {
            let found = shape_of(size, logical, 4096, alignment, mask).ok();
            assert!(found.is_none_or(|shape| shape.physical_block == 4096 && shape.direct));
            let found = found.map(|shape| (shape.size, shape.logical_block, shape.dma_alignment));
            assert_eq!(found, expected, "{size} {logical} {alignment:?} {mask:?}");
        }
    }

    /// Loop devices are on the same medium when they are bound to the same file, or to the same device by any of its
    /// nodes; where the kernel does not say to what, when the same path is printed.
    #[test]
    fn loops_with_the_same_backing_are_known() {
        let number = |minor| DevNum { major: 8, minor };
        let on = |path: &str, backing: Option<(u32, u64, Option<u32>)>| Loop {
            name: "loop0".into(),
            number: number(0),
            path: path.into(),
            backing: backing.map(|(device, inode, block)| LoopBacking {
                device: number(device),
                inode,
                block: block.map(number),
            }),
        };
        for (a, b, same) in [
            (on("/a", Some((1, 5, None))), on("/b", Some((1, 5, None))), true),
            (on("/a", Some((1, 5, None))), on("/a", Some((1, 6, None))), false),
            (on("/a", Some((1, 5, None))), on("/a", Some((2, 5, None))), false),
            (on("/a", Some((1, 5, Some(9)))), on("/b", Some((1, 6, Some(9)))), true),
            (on("/a", Some((1, 5, Some(9)))), on("/b", Some((1, 6, Some(8)))), false),
            (on("/a", Some((1, 5, Some(9)))), on("/b", Some((1, 6, None))), false),
            (on("/a", None), on("/a", Some((1, 5, None))), true),
            (on("/a", None), on("/b", Some((1, 5, None))), false),
            (on("/a", None), on("/a", None), true),
            (on("/a", None), on("/b", None), false),
        ] {
            assert_eq!((same_backing(&a, &b), same_backing(&b, &a)), (same, same), "{a:?} {b:?}");
        }
    }
}
