//! What the machine knows of a mount, for a suite.

use super::NamedMount;
use crate::host;
use crate::procedure::several::Several;
use assay_judge::suite::Member;
use assay_record::TargetHead;
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_has_what_the_kernel_says_of_its_mount() {
        let mount = NamedMount { label: "nfs".to_owned(), directory: "/mnt/nfs/x".to_owned() };
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
        let unknown = member_from_head(&mount, &TargetHead::default(), None);
        assert_eq!((unknown.class.as_str(), unknown.facts.len()), ("unknown", 0));
    }
}
