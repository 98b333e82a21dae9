//! What the network links of this machine carry while a run on a directory goes on that is reached over a network.

use assay_device::probe::{Link, network_links};
use assay_device::safety::Roots;
use assay_record::MeterHead;
use std::collections::BTreeMap;

/// The kind of meter that a link is.
const LINK: &str = "link";
const RECEIVED: &str = "received_bytes";
const SENT: &str = "sent_bytes";

/// The links, with their counters at the last look.
pub(super) struct LinkMeters {
    read_links: fn() -> Vec<Link>,
    links: Vec<Link>,
}

impl LinkMeters {
    /// The links of this machine.
    pub(super) fn of_machine() -> LinkMeters {
        LinkMeters::new(links_of_machine)
    }

    /// No links: what is tested is not reached over a network.
    pub(super) fn none() -> LinkMeters {
        LinkMeters::new(Vec::new)
    }

    fn new(read_links: fn() -> Vec<Link>) -> LinkMeters {
        LinkMeters { read_links, links: read_links() }
    }

    /// What they are, for the header of a log.
    pub(super) fn meter_heads(&self) -> Vec<MeterHead> {
        self.links.iter().map(meter_head).collect()
    }

    /// By how much the counters of each link rose since the last look; empty for one that is gone or began anew, as the log says
    /// it.
    pub(super) fn take_rises(&mut self) -> Vec<Vec<u64>> {
        let now = (self.read_links)();
        let mut rises = Vec::new();
        for link in &mut self.links {
            let found = now.iter().find(|other| other.name == link.name);
            rises.push(found.and_then(|found| rise_between(link, found)).unwrap_or_default());
            if let Some(found) = found {
                link.clone_from(found);
            }
        }
        rises
    }
}

fn links_of_machine() -> Vec<Link> {
    network_links(&Roots::of_machine())
}

fn meter_head(link: &Link) -> MeterHead {
    let most_per_second = match link.bytes_per_second {
        Some(most) => BTreeMap::from([(RECEIVED.to_owned(), most), (SENT.to_owned(), most)]),
        None => BTreeMap::new(),
    };
    MeterHead {
        name: link.name.clone(),
        kind: LINK.to_owned(),
        counters: vec![RECEIVED.to_owned(), SENT.to_owned()],
        most_per_second,
        ..MeterHead::default()
    }
}

fn rise_between(before: &Link, now: &Link) -> Option<Vec<u64>> {
    let received = now.received_bytes.checked_sub(before.received_bytes)?;
    let sent = now.sent_bytes.checked_sub(before.sent_bytes)?;
    Some(vec![received, sent])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(name: &str, received_bytes: u64, sent_bytes: u64) -> Link {
        Link { name: name.to_owned(), bytes_per_second: Some(125_000_000), received_bytes, sent_bytes }
    }

    #[test]
    fn what_a_link_carried_is_counted_from_look_to_look() {
        let mut meters = LinkMeters::new(|| vec![link("eth0", 700, 90)]);
        assert_eq!(meters.meter_heads()[0].most_per_second[SENT], 125_000_000);
        meters.links = vec![link("eth0", 500, 90), link("gone", 1, 1)];
        assert_eq!(meters.take_rises(), [vec![200, 0], vec![]]);
        meters.links[0].sent_bytes = 91;
        assert_eq!(meters.take_rises(), [Vec::<u64>::new(), vec![]], "it began anew");
        assert_eq!(meters.take_rises(), [vec![0, 0], vec![]]);
        assert_eq!(LinkMeters::none().meter_heads(), []);
    }
}
