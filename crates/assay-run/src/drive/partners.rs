//! Watches during a run whether others join it on its devices: drop-ins under the same consent share a device, and the one
//! that began first must name the others as well.
//!
//! Whoever joins opens the record of the consent, which the kernel reports (inotify); only then, and for some intervals
//! after it, are the processes of the machine looked through.

use crate::open::targets::Targets;
use assay_base::Instant;
use assay_device::safety::{DevNum, Gate, Inode, Watermark};
use assay_record::{Event, EventKind};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::collections::{BTreeMap, BTreeSet};

/// In how many intervals after a record was opened the processes are looked through: whoever opened it has the device a
/// little later.
const LOOKS: u32 = 10;

/// A device that may be shared.
struct Shared {
    /// The target's name.
    name: String,
    device: DevNum,
    record: Inode,
}

/// The runs that share devices with this one.
pub(crate) struct Partners {
    shared: Vec<Shared>,
    /// Reports when a record is opened; `None` where nothing is shared.
    opened: Option<OwnedFd>,
    looks: u32,
    /// Those that were named already, in the header or in an event.
    known: BTreeSet<String>,
}

impl Partners {
    /// Begins to watch. Where the kernel cannot report, every interval is looked at.
    pub(crate) fn new(targets: &Targets) -> Partners {
        let shared: Vec<Shared> = targets.real_targets().iter().filter_map(Shared::from_target).collect();
        let opened = if shared.is_empty() { None } else { watch_paths(&crate::open::consents::locked_paths()).ok() };
        let company = targets.shared_targets().filter(|(_, mark)| matches!(mark, Watermark::SharedDevice(_)));
        let known = company.map(|(name, mark)| in_words(name, mark)).collect();
        Partners { shared, opened, looks: LOOKS, known }
    }

    /// A watermark for each run that has joined since the last time.
    pub(crate) fn events_of_new_partners(&mut self, gate: &Gate, at: Instant) -> Vec<Event> {
        if self.shared.is_empty() {
            return Vec::new();
        }
        if self.opened.as_ref().is_none_or(was_opened) {
            self.looks = LOOKS;
        }
        if self.looks == 0 {
            return Vec::new();
        }
        self.looks -= 1;
        let marks = self.watermarks_of_partners(gate);
        let new = marks.into_iter().filter(|mark| self.known.insert(mark.clone()));
        new.map(|text| Event { at_ns: at.as_ns(), what: EventKind::Watermark, text, details: BTreeMap::new() })
            .collect()
    }

    /// The watermarks of all runs that are there now.
    fn watermarks_of_partners(&self, gate: &Gate) -> Vec<String> {
        let mut marks = Vec::new();
        for shared in &self.shared {
            for run in gate.partner_runs(shared.device, shared.record).unwrap_or_default() {
                marks.push(in_words(&shared.name, &Watermark::SharedDevice(run)));
            }
        }
        marks
    }
}

fn in_words(target: &str, mark: &Watermark) -> String {
    format!("{}: {target}: {mark}", mark.leading_word())
}

impl Shared {
    fn from_target(real: &crate::open::targets::RealTarget) -> Option<Shared> {
        let record = real.shared_under()?;
        Some(Shared { name: real.name.clone(), device: real.disk?, record })
    }
}

fn watch_paths(paths: &[String]) -> rustix::io::Result<OwnedFd> {
    let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    for path in paths {
        inotify::add_watch(&watch, path.as_str(), WatchFlags::OPEN)?;
    }
    Ok(watch)
}

/// Whether a record was opened since the last time.
fn was_opened(watch: &OwnedFd) -> bool {
    let mut events = [0; 4096];
    let mut opened = false;
    while rustix::io::read(watch, &mut events).is_ok_and(|n| n > 0) {
        opened = true;
    }
    opened
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_opened_is_reported_once() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let watch = watch_paths(&[file.path().display().to_string()]).unwrap();
        assert!(!was_opened(&watch));
        drop(std::fs::File::open(file.path()).unwrap());
        assert!(was_opened(&watch));
        assert!(!was_opened(&watch));
        assert!(watch_paths(&["/no/such/record".to_owned()]).is_err());
    }

    #[test]
    fn where_nothing_is_shared_nothing_is_looked_at() {
        let targets = Targets::Simulated(Vec::new());
        let gate = Gate::of_machine();
        let mut partners = Partners::new(&targets);
        assert!(partners.opened.is_none() && partners.events_of_new_partners(&gate, Instant::ZERO).is_empty());
    }
}
