//! The network links of this machine with the bytes that they carried, from `/sys/class/net`
//! (Documentation/ABI/testing/sysfs-class-net). A loopback is no link: what it carries does not leave the machine.

use crate::safety::{Roots, names_if_any, read_attribute, read_number};
use std::path::Path;

/// ARPHRD_LOOPBACK of include/uapi/linux/if_arp.h.
const LOOPBACK: u64 = 772;
/// Bytes per second of a megabit per second.
const BYTES_OF_MEGABIT: u64 = 125_000;

/// A network link that is up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// The kernel's name, such as `eth0`.
    pub name: String,
    /// The bytes per second that it can carry in each direction; `None` where the kernel does not know it, as in most virtual
    /// machines.
    pub bytes_per_second: Option<u64>,
    /// Bytes that it has received since it is there.
    pub received_bytes: u64,
    /// Bytes that it has sent since it is there.
    pub sent_bytes: u64,
}

/// The links that are up, by name. None where they cannot be listed.
pub fn network_links(roots: &Roots) -> Vec<Link> {
    let all = roots.sys.join("class/net");
    let mut names = names_if_any(&all).unwrap_or_default();
    names.sort();
    names.into_iter().filter_map(|name| read_link(&all.join(&name), name)).collect()
}

fn read_link(dir: &Path, name: String) -> Option<Link> {
    let is_up = read_attribute(&dir.join("operstate")).as_deref() == Some("up");
    if !is_up || read_number(&dir.join("type")) == Some(LOOPBACK) {
        return None;
    }
    // An unknown speed is -1, or an error.
    let megabits = read_number(&dir.join("speed")).filter(|speed| *speed > 0 && *speed < u64::from(u32::MAX));
    let bytes_per_second = megabits.map(|speed| speed.saturating_mul(BYTES_OF_MEGABIT));
    let received_bytes = read_number(&dir.join("statistics/rx_bytes"))?;
    let sent_bytes = read_number(&dir.join("statistics/tx_bytes"))?;
    Some(Link { name, bytes_per_second, received_bytes, sent_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_up_and_no_loopback_and_its_speed_may_be_unknown() {
        let dir = tempfile::tempdir().unwrap();
        for (name, state, kind, speed) in [
            ("eth0", "up", "1", Some("1000")),
            ("eth1", "down", "1", Some("1000")),
            ("lo", "unknown", "772", None),
            ("ens5", "up", "1", Some("-1")),
            ("ib0", "up", "32", Some("4294967295")),
        ] {
            let link = dir.path().join("class/net").join(name);
            std::fs::create_dir_all(link.join("statistics")).unwrap();
            let mut files = vec![("operstate", state), ("type", kind)];
            files.extend(speed.map(|speed| ("speed", speed)));
            files.extend([("statistics/rx_bytes", "5000"), ("statistics/tx_bytes", "70")]);
            for (file, text) in files {
                std::fs::write(link.join(file), format!("{text}\n")).unwrap();
            }
        }
        let roots = Roots { sys: dir.path().to_owned(), ..Roots::of_machine() };
        let links = network_links(&roots);
        let shown: Vec<(&str, Option<u64>)> =
            links.iter().map(|link| (link.name.as_str(), link.bytes_per_second)).collect();
        assert_eq!(shown, [("ens5", None), ("eth0", Some(125_000_000)), ("ib0", None)]);
        assert_eq!((links[1].received_bytes, links[1].sent_bytes), (5000, 70));
        assert_eq!(network_links(&Roots { sys: "/no/such/tree".into(), ..Roots::of_machine() }), []);
    }
}
