//! Which members of a family can share bytes with the target, and which only share a drive with it.
//!
//! The kernel confines what is written to a partition to the sectors of that partition, and what is written to a device
//! built on others to those others. So a partition shares no byte with another one of its disk, unless their sectors
//! overlap. What is built on a device, and on what it is built, shares bytes with it; where the devices beneath are
//! partitions, the partitions beside those do not.

use super::family::{Family, Member};
use super::roots::{DevNum, Roots, read_number};
use std::collections::BTreeSet;

impl Family {
    /// The part of the family that can share bytes with `device`, one of its members.
    ///
    /// # Errors
    /// Sysfs cannot be read; in words.
    pub(super) fn sharing_bytes(&self, roots: &Roots, device: DevNum) -> Result<Family, String> {
        let mut sharing =
            Sharing { family: self, roots, media: BTreeSet::new(), built: BTreeSet::new(), disks: BTreeSet::new() };
        if let Some(member) = self.member_by_number(device) {
            sharing.add_medium(member)?;
        }
        let found = |member: &&Member| sharing.built.contains(&member.number) || sharing.disks.contains(&member.number);
        let members = self.members.iter().filter(found).cloned().collect();
        let near = self.near.iter().filter(found).cloned().collect();
        Ok(Family { members, near, loops: self.loops.clone() })
    }

    /// The members of both.
    pub(super) fn union_with(&self, other: &Family) -> Family {
        let members = [&self.members[..], &other.members].concat();
        Family { members, near: [&self.near[..], &other.near].concat(), loops: self.loops.clone() }
    }

    /// The members of this family that are not in `other`.
    pub(super) fn members_outside(&self, other: &Family) -> Family {
        let is_left = |member: &&Member| other.member_by_number(member.number).is_none();
        let members = self.members.iter().filter(is_left).cloned().collect();
        let near = self.near.iter().filter(is_left).cloned().collect();
        Family { members, near, loops: self.loops.clone() }
    }
}

/// The findings so far.
struct Sharing<'a> {
    family: &'a Family,
    roots: &'a Roots,
    /// Devices on which bytes of the target lie.
    media: BTreeSet<DevNum>,
    /// Devices that hold bytes of the target, or are built on one that does.
    built: BTreeSet<DevNum>,
    /// Disks of which only some partitions do.
    disks: BTreeSet<DevNum>,
}

impl Sharing<'_> {
    /// Adds a device on which bytes of the target lie, what is built on it, and what it is built on.
    fn add_medium(&mut self, member: &Member) -> Result<(), String> {
        if !self.media.insert(member.number) {
            return Ok(());
        }
        self.add_built(member)?;
        let family = self.family;
        let disk = family.disk_of_member(member)?;
        if disk.number != member.number {
            self.disks.insert(disk.number);
            for sibling in family.partitions_of(disk)? {
                if may_overlap(member, sibling) {
                    self.add_built(sibling)?;
                }
            }
            self.add_upper(disk)?;
        }
        for lower in family.members_beneath(self.roots, disk)? {
            self.add_medium(lower)?;
        }
        Ok(())
    }

    /// Adds a device that is built on bytes of the target: all of it, and everything that is built on it in turn.
    fn add_built(&mut self, member: &Member) -> Result<(), String> {
        if !self.built.insert(member.number) {
            return Ok(());
        }
        for partition in self.family.partitions_of(member)? {
            self.add_built(partition)?;
        }
        self.add_upper(member)
    }

    fn add_upper(&mut self, member: &Member) -> Result<(), String> {
        let family = self.family;
        family.members_above(self.roots, member)?.into_iter().try_for_each(|upper| self.add_built(upper))
    }
}

/// The sectors of a partition: its first one, and how many.
fn partition_sectors(member: &Member) -> Option<(u64, u64)> {
    Some((read_number(&member.dir.join("start"))?, read_number(&member.dir.join("size"))?))
}

/// Whether two partitions of a disk have sectors in common. Where their places are unknown they may have.
fn may_overlap(a: &Member, b: &Member) -> bool {
    match (partition_sectors(a), partition_sectors(b)) {
        (Some((a, a_count)), Some((b, b_count))) => {
            u128::from(a) < u128::from(b) + u128::from(b_count) && u128::from(b) < u128::from(a) + u128::from(a_count)
        }
        _ => true,
    }
}
