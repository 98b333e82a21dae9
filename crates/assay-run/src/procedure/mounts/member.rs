//! What the machine knows of a mount, for a suite.

use super::NamedMount;
use crate::directories::{FILE_SYSTEM_ID, MOUNT_NUMBER};
use crate::host;
use crate::procedure::several::Several;
use assay_judge::suite::{Member, MemberIdentity};
use assay_record::TargetHead;
use assay_record::header::{FILE_SYSTEM_NUMBER, FILE_SYSTEM_UUID};
use std::collections::BTreeMap;

/// The class of a mount of which the kernel says nothing.
const UNKNOWN: &str = "unknown";
/// The ways in which the time of the last access is kept (mount(8)); without any of them it is strict.
const ATIME: [&str; 3] = ["noatime", "relatime", "strictatime"];

/// The member of a suite that a mount is.
pub(super) fn describe_mount(mount: &NamedMount, several: &Several<'_>) -> Member {
    let kernel = host::host_facts(false).remove("kernel");
    member_from_head(mount, &several.first_target_head(), kernel)
}

/// A sentence for each member that is on the mount, or on the file system, of an earlier one.
pub(super) fn same_mounts_in_words(mounts: &[(NamedMount, Several<'_>)]) -> Vec<String> {
    let heads = mounts.iter().map(|(mount, several)| (mount.label.as_str(), several.first_target_head()));
    same_heads_in_words(&heads.collect::<Vec<_>>())
}

fn same_heads_in_words(heads: &[(&str, TargetHead)]) -> Vec<String> {
    let mut sentences = Vec::new();
    for (at, (label, head)) in heads.iter().enumerate() {
        let same = |fact: &str| {
            let ours = head.facts.get(fact)?;
            heads[..at].iter().find(|(_, other)| other.facts.get(fact) == Some(ours)).map(|(other, _)| *other)
        };
        if let Some(other) = same(MOUNT_NUMBER) {
            sentences.push(format!("{other} and {label} are on one mount: what differs between them is noise"));
        } else if let Some(other) = same(FILE_SYSTEM_ID) {
            sentences.push(format!("{other} and {label} are two mounts of one file system"));
        }
    }
    sentences
}

fn member_from_head(mount: &NamedMount, head: &TargetHead, kernel: Option<String>) -> Member {
    let fact = |name: &str| head.facts.get(name).cloned();
    let options: Vec<String> =
        fact("mount options").map_or_else(Vec::new, |all| all.split(',').map(str::to_owned).collect());
    let mut facts = BTreeMap::new();
    for (name, value) in [
        ("type", fact("mount type").or(fact("file system"))),
        ("source", fact("mount source")),
        ("mounted on", fact("mount point")),
        ("disks beneath", fact("disks beneath")),
        ("client", kernel.map(|release| format!("Linux {release}"))),
    ] {
        facts.extend(value.map(|value| (name.to_owned(), value)));
    }
    if !options.is_empty() {
        let is_sync = options.iter().any(|option| option == "sync");
        facts.insert("sync".to_owned(), if is_sync { "yes" } else { "no" }.to_owned());
        let atime = ATIME.into_iter().find(|way| options.iter().any(|option| option == way)).unwrap_or("strictatime");
        facts.insert("atime".to_owned(), atime.to_owned());
    }
    Member {
        label: mount.label.clone(),
        target: mount.directory.clone(),
        class: fact("mount class").unwrap_or_else(|| UNKNOWN.to_owned()),
        facts,
        options,
        about: mount.about.clone(),
        identity: identity_from_head(head),
    }
}

/// By what the file system of a mount is known again. Two volumes of one btrfs have its UUID, and numbers of their own.
fn identity_from_head(head: &TargetHead) -> Option<MemberIdentity> {
    let in_words = |name: &&str| head.facts.get(*name).map(|value| format!("{name} {value}"));
    let lasting: Vec<String> = [FILE_SYSTEM_UUID, FILE_SYSTEM_NUMBER].iter().filter_map(in_words).collect();
    if lasting.is_empty() {
        return in_words(&FILE_SYSTEM_ID).map(|text| MemberIdentity { text, lasts: false });
    }
    Some(MemberIdentity { text: lasting.join(", "), lasts: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_names_of_one_mount_are_told() {
        let head = |mount: &str, id: &str| {
            let facts = [(MOUNT_NUMBER, mount), (FILE_SYSTEM_ID, id)].map(|(name, value)| (name.into(), value.into()));
            TargetHead { facts: facts.into(), ..TargetHead::default() }
        };
        let heads = [("a", head("1", "x")), ("b", head("2", "y")), ("c", head("1", "x")), ("d", head("3", "y"))];
        let said = same_heads_in_words(&heads);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("a and c are on one mount") && said[1].starts_with("b and d are two mounts"));
        assert!(same_heads_in_words(&[("a", TargetHead::default()), ("b", TargetHead::default())]).is_empty());
    }

    #[test]
    fn a_mount_is_known_again_by_what_lasts_longest() {
        let identity = |facts: &[(&str, &str)]| {
            let facts = facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            identity_from_head(&TargetHead { facts, ..TargetHead::default() })
        };
        let known = |text: &str, lasts| Some(MemberIdentity { text: text.to_owned(), lasts });
        let (uuid, number, id) = ((FILE_SYSTEM_UUID, "aa"), (FILE_SYSTEM_NUMBER, "5"), (FILE_SYSTEM_ID, "5"));
        for (facts, expected) in [
            (&[uuid, number, id][..], known("file system uuid aa, file system number 5", true)),
            (&[uuid, id], known("file system uuid aa", true)),
            (&[number, id], known("file system number 5", true)),
            (&[id], known("file system id 5", false)),
            (&[], None),
        ] {
            assert_eq!(identity(facts), expected);
        }
    }

    #[test]
    fn a_member_has_what_the_kernel_says_of_its_mount() {
        let mount = NamedMount { label: "nfs".into(), directory: "/mnt/nfs/x".into(), about: BTreeMap::new() };
        let known = [
            ("mount type", "nfs4"),
            ("mount source", "filer:/vol"),
            ("mount point", "/mnt/nfs"),
            ("mount options", "hard,noatime,rw,sync"),
            ("mount class", "shared"),
        ];
        let facts = known.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let head = TargetHead { facts, ..TargetHead::default() };
        let member = member_from_head(&mount, &head, Some("6.18".to_owned()));
        assert_eq!((member.class.as_str(), member.options.len()), ("shared", 4));
        for (name, value) in [("sync", "yes"), ("atime", "noatime"), ("client", "Linux 6.18"), ("source", "filer:/vol")]
        {
            assert_eq!(member.facts[name], value);
        }
        assert_eq!(member.identity, None);
        let unknown = member_from_head(&mount, &TargetHead::default(), None);
        assert_eq!((unknown.class.as_str(), unknown.facts.len()), ("unknown", 0));
    }
}
