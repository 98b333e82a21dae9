//! Facts about the machine and its parts, in the form of the log.

pub mod meter;
pub(crate) mod pulse;
pub mod ranks;
pub mod signals;
pub mod threads;
mod time_limit;
pub(crate) mod watch;

use assay_device::probe;
use assay_device::safety::Roots;
use std::collections::BTreeMap;

/// The facts about the machine that it reports. A simulated run has none, so that it is the same everywhere.
pub(crate) fn host_facts(simulated: bool) -> BTreeMap<String, String> {
    if simulated {
        return BTreeMap::from([("simulated".into(), "yes".into())]);
    }
    let host = probe::read_host(&Roots::of_machine());
    let facts = [
        ("hostname", host.hostname),
        ("kernel", host.kernel),
        ("kernel command line", host.command_line),
        ("cpu", host.cpu_model),
        ("cpus", host.cpus.map(|n| n.to_string())),
        ("numa nodes", host.numa_nodes.map(|n| n.to_string())),
        ("governor", host.governor),
        ("memory", bytes_in_words(host.memory)),
        ("virtualised", host.virtualised.map(|v| if v { "yes".into() } else { "no".into() })),
        ("product", host.product),
        ("clocksource", host.clocksource),
        ("transparent huge pages", host.huge_pages),
        ("cgroup cpus", host.cgroup.cpus.map(|n| n.to_string())),
        ("cgroup memory", bytes_in_words(host.cgroup.memory)),
        ("memlock", bytes_in_words(host.memlock)),
    ];
    facts.into_iter().map(|(name, value)| named_fact(name, value)).collect()
}

/// A fact by its name. A fact that the machine does not report is recorded as `absent`, because an omitted fact could be misread.
pub(crate) fn named_fact(name: &str, value: Option<String>) -> (String, String) {
    (name.to_owned(), value.filter(|value| !value.is_empty()).unwrap_or_else(|| "absent".to_owned()))
}

fn bytes_in_words(bytes: Option<u64>) -> Option<String> {
    bytes.map(|bytes| assay_base::Bytes::new(bytes).human_text())
}
