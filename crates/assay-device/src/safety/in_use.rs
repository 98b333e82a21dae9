//! Who uses a block device (S4, S5, S6), and who only shares its drive.
//!
//! A partition shares no byte with the other partitions of its disk, so it may be written although they are mounted, swap
//! or part of something: the kernel confines what is written to it. The result then says `SHARED DISK`.

use super::family::Family;
use super::inquiry::Inquiry;
use super::openers::{Inode, Openers, UNSEEN, WantedObjects, find_openers, find_settled, in_words};
use super::processes::in_first_namespace;
use super::roots::{DevNum, Roots};
use super::rule::{RuleId, Unopened};
use super::sharing::Held;
use super::usage::{self, DeviceUse};
use super::watermark::Watermark;
use super::{family, table};
use std::fs::File;

/// The relatives of a device.
struct DeviceRelatives {
    /// The devices that can share bytes with it, itself included.
    sharing: Family,
    /// The others: they share the drive, or only something that is built on it.
    beside: Family,
    /// Whether the device is a partition of a disk that is built on no other device. Only then is it known where its bytes
    /// lie, and the use of those beside it is no use of it.
    is_apart: bool,
}

impl DeviceRelatives {
    fn read_kin(roots: &Roots, device: DevNum) -> Result<DeviceRelatives, String> {
        let family = Family::read_family(roots, device)?;
        let sharing = family.sharing_bytes(roots, device)?;
        let beside = family.members_outside(&sharing);
        let is_apart = match family.member_by_number(device) {
            Some(member) if family::is_partition(member)? => {
                family.members_beneath(roots, family.disk_of_member(member)?)?.is_empty()
            }
            _ => false,
        };
        Ok(DeviceRelatives { sharing, beside, is_apart })
    }

    /// The other partitions of the disk of a partition that share no byte with it.
    fn sibling_partitions(&self) -> impl Iterator<Item = &family::Member> {
        self.beside.near.iter()
    }

    /// Every device that S6 looks for, and the files beneath.
    fn wanted_devices(&self, device: DevNum) -> WantedObjects {
        let devices = self.sharing.members.iter().map(printed_member).collect();
        let disk = self.sharing.disk_of_partition(device);
        let bound = self.sharing.loops.iter().filter(|l| self.sharing.member_by_number(l.number).is_some());
        let files = bound.filter_map(|l| l.backing).filter(|backing| backing.block.is_none());
        WantedObjects { devices, inodes: files.map(|b| Inode { device: b.device, inode: b.inode }).collect(), disk }
    }
}

fn printed_member(member: &family::Member) -> (DevNum, String) {
    (member.number, format!("/dev/{}", member.name))
}

/// Names who caused an EBUSY, as far as the trees show it: `: ` and their names, or nothing where none is seen.
pub(super) fn holders_in_words(roots: &Roots, device: DevNum) -> String {
    let Ok(kin) = DeviceRelatives::read_kin(roots, device) else { return String::new() };
    let mut found: Vec<String> = usage::uses_of_family(roots, &kin.sharing, device)
        .unwrap_or_default()
        .iter()
        .map(DeviceUse::to_string)
        .collect();
    let openers = find_openers(roots, &kin.wanted_devices(device)).unwrap_or_default();
    found.extend(openers.found.iter().map(ToString::to_string));
    if found.is_empty() { String::new() } else { format!(": {}", found.join("; ")) }
}

/// S4, S5, S6. True when a user of the device was found that nobody has agreed to. `claimed`: the open device, if the kernel granted it exclusively.
pub(super) fn in_use(inquiry: &mut Inquiry<'_>, device: DevNum, claimed: Option<&File>) -> bool {
    let kin = match DeviceRelatives::read_kin(inquiry.roots, device) {
        Ok(kin) => kin,
        Err(why) => {
            for rule in [RuleId::S4, RuleId::S5, RuleId::S6] {
                inquiry.answer_unopened(rule, Unopened::from_reason(why.clone()));
            }
            return false;
        }
    };
    let mut held = check_uses(inquiry, &kin, device, claimed);
    let found = check_system(inquiry, &kin, claimed.is_some());
    inquiry.enter_answer(RuleId::S5, found);
    let seen =
        find_settled(inquiry.roots, &kin.wanted_devices(device)).map(|seen| without_partners(inquiry, device, seen));
    let has_users = seen.as_ref().is_ok_and(|seen| seen.using_openers().next().is_some());
    let found = seen.and_then(|seen| check_other_openers(inquiry, &seen));
    // Users that a person has agreed to do not keep the device from being read.
    held |= !inquiry.enter_answer(RuleId::S6, found) && has_users;
    note_neighbours(inquiry, &kin);
    held
}

/// Leaves out those that share the device with this one. Another run is named as a limit of the result; other ranks of the same run
/// are part of it.
fn without_partners(inquiry: &mut Inquiry<'_>, device: DevNum, mut seen: Openers) -> Openers {
    let partners = inquiry.partners_on(Held::Device(device));
    if inquiry.request.ranks.is_empty() {
        let shared = partners.iter().map(|partner| Watermark::SharedDevice(partner.to_string()));
        inquiry.exam.watermarks.extend(shared);
    }
    seen.found.retain(|opener| !partners.iter().any(|partner| partner.pid == opener.pid));
    seen
}

/// S4. True when it is in use.
fn check_uses(inquiry: &mut Inquiry<'_>, kin: &DeviceRelatives, device: DevNum, claimed: Option<&File>) -> bool {
    let roots = inquiry.roots;
    let uses = usage::uses_of_family(roots, &kin.sharing, device);
    match uses.and_then(|uses| Ok((uses, usage::uses_of_family(roots, &kin.beside, device)?))) {
        Ok((mut uses, beside)) if !uses.is_empty() || !(kin.is_apart || beside.is_empty()) => {
            uses.extend(beside);
            inquiry.enter_answer(RuleId::S4, Err(list_uses(&uses)));
            true
        }
        Ok((_, beside)) => {
            let names: Vec<&str> = kin.sharing.members.iter().map(|m| m.name.as_str()).collect();
            let none = format!("none of {} is mounted, swap, claimed or a loop's backing", names.join(", "));
            let found = check_shared_disk(inquiry, &beside, device, claimed).map(|beside| none + &beside);
            !inquiry.enter_answer(RuleId::S4, found)
        }
        Err(why) => {
            inquiry.answer_unopened(RuleId::S4, Unopened::from_reason(why));
            false
        }
    }
}

fn list_uses(uses: &[DeviceUse]) -> String {
    uses.iter().map(DeviceUse::to_string).collect::<Vec<_>>().join("; ")
}

/// What is in use beside a partition that is not itself in use: a limit of the result, provided that the partition table
/// on the disk says what the kernel says. The end of a sentence about it; empty where nothing is.
fn check_shared_disk(
    inquiry: &mut Inquiry<'_>,
    beside: &[DeviceUse],
    device: DevNum,
    claimed: Option<&File>,
) -> Result<String, String> {
    if beside.is_empty() {
        return Ok(String::new());
    }
    if let Some(file) = claimed {
        table::check_partition_entry(inquiry.roots, device, file)
            .map_err(|why| format!("{why}, and beside it {}", list_uses(beside)))?;
    }
    let mut marks: Vec<String> = beside.iter().map(DeviceUse::without_place).collect();
    marks.sort();
    marks.dedup();
    inquiry.exam.watermarks.extend(marks.into_iter().map(Watermark::SharedDisk));
    Ok(format!("; beside it {}", list_uses(beside)))
}

/// S5. A log on another partition of the disk is a limit of the result.
fn check_system(inquiry: &mut Inquiry<'_>, kin: &DeviceRelatives, claimed: bool) -> Result<String, String> {
    let (roots, log_dir) = (inquiry.roots, inquiry.request.log_dir);
    let family = if kin.is_apart { &kin.sharing } else { &kin.sharing.union_with(&kin.beside) };
    let elsewhere = usage::system_on(roots, family, log_dir, claimed)?;
    if kin.is_apart && log_dir.is_some_and(|dir| usage::lies_on(roots, &kin.beside, dir)) {
        inquiry.exam.watermarks.push(Watermark::LogOnTarget);
    }
    Ok(elsewhere)
}

/// Who has other partitions of the same disk open: they share no byte with the target, so nothing is refused, but they
/// share the drive.
fn note_neighbours(inquiry: &mut Inquiry<'_>, kin: &DeviceRelatives) {
    let devices: Vec<_> = kin.sibling_partitions().map(printed_member).collect();
    if !devices.is_empty() {
        // Where nobody can be seen, S6 has refused.
        let found = find_openers(inquiry.roots, &WantedObjects { devices, ..WantedObjects::default() })
            .unwrap_or_default()
            .found;
        inquiry.exam.watermarks.extend(found.iter().map(|opener| Watermark::Neighbour(opener.to_string())));
    }
}

/// S6. Whoever has it open only for reading destroys nothing and loses nothing; he may load it, and is named.
fn check_other_openers(inquiry: &mut Inquiry<'_>, seen: &Openers) -> Result<String, String> {
    let fds = format!("{}/*/fd", inquiry.roots.proc.display());
    inquiry.exam.users = seen.user_names();
    inquiry.exam.watermarks.extend(seen.reading_openers().map(|reader| Watermark::Reader(reader.to_string())));
    let outsiders = !in_first_namespace(inquiry.roots);
    if outsiders {
        inquiry.exam.watermarks.push(Watermark::Container);
    }
    let confirmed = inquiry.request.in_container || inquiry.standing_consent().is_some_and(|given| given.in_container);
    let unconfirmed = outsiders && !confirmed;
    if unconfirmed {
        inquiry.exam.users.insert(UNSEEN.to_owned());
    }
    if seen.using_openers().next().is_some() {
        return Err(format!("{} ({fds})", in_words(seen.using_openers())));
    }
    if let Some(doubt) = seen.doubt_reason(inquiry.roots) {
        return Err(doubt);
    }
    if unconfirmed {
        inquiry.exam.is_in_container = true;
        return Err("this is a container: processes outside it are invisible; add --in-container to proceed".into());
    }
    let read = in_words(seen.reading_openers());
    if read.is_empty() {
        Ok(format!("none of {} ({fds})", seen.describe_extent()))
    } else {
        Ok(format!("{read}; none of {} for writing ({fds})", seen.describe_extent()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::inquiry::Mode;
    use super::*;

    /// A use that cannot be seen is refused, because it may be there.
    #[test]
    fn processes_that_cannot_be_seen_are_reasons_to_refuse() {
        use crate::safety::openers::{Access, Opener};
        let dir = tempfile::tempdir().unwrap();
        let space = dir.path().join("proc/self/ns");
        std::fs::create_dir_all(&space).unwrap();
        let roots = Roots { proc: dir.path().join("proc"), ..Roots::of_machine() };
        let opener = |access| Opener { pid: 7, name: "dd".into(), path: "/dev/sda".into(), access };
        for (found, hidden, first, in_container, expected) in [
            (vec![], 0, true, false, Ok("none of 3 processes")),
            (vec![opener(Access::Writing)], 0, true, false, Err("process 7 (dd) has /dev/sda open for writing")),
            (
                vec![opener(Access::Locking)],
                0,
                true,
                false,
                Err("process 7 (dd) has /dev/sda open for reading, and has"),
            ),
            (
                vec![opener(Access::Reading)],
                0,
                true,
                false,
                Ok("process 7 (dd) has /dev/sda open for reading; none of 3"),
            ),
            (vec![opener(Access::Reading)], 1, true, false, Err("the open files of 1 process cannot be seen")),
            (vec![], 1, true, false, Err("the open files of 1 process cannot be seen")),
            (vec![], 2, false, true, Err("the open files of 2 processes cannot be seen")),
            (vec![], 0, false, false, Err("this is a container")),
            (vec![], 0, false, true, Ok("none of 3 processes")),
        ] {
            let _ = std::fs::remove_file(space.join("pid"));
            let number = if first { "pid:[4026531836]" } else { "pid:[4026532000]" };
            std::os::unix::fs::symlink(number, space.join("pid")).unwrap();
            let path = std::path::Path::new("/dev/sda");
            let request = crate::safety::Request { in_container, ..crate::safety::Request::new(path) };
            let exam = crate::safety::Examination::without_findings(path);
            let mut inquiry = Inquiry { roots: &roots, request, mode: Mode::Look, exam };
            let reads = found.iter().filter(|opener| opener.access == Access::Reading).count();
            let told = check_other_openers(&mut inquiry, &Openers { found, hidden, seen: 3, ..Openers::default() });
            let marks = inquiry.exam.watermarks.iter().filter(|mark| matches!(mark, Watermark::Reader(_)));
            assert_eq!(marks.count(), reads, "{:?}", inquiry.exam.watermarks);
            let (Ok(words) | Err(words)) = expected;
            let (Ok(text) | Err(text)) = &told;
            assert!(told.is_ok() == expected.is_ok() && text.starts_with(words), "{hidden} {first}: {told:?}");
            assert_eq!(inquiry.exam.watermarks.contains(&Watermark::Container), !first);
        }
    }
}
