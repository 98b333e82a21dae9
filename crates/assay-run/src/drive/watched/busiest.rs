//! Which programs read and write most while others use a disk of the run: a hint for the reader, never a figure.

use crate::failure::one_line;
use assay_base::Bytes;
use assay_device::probe::{ProcessIo, Processes, busiest_processes, visible_processes};
use assay_device::safety::Roots;
use assay_record::{Event, EventKind, ForeignLoad};
use std::collections::BTreeMap;

/// The number of programs that are named.
const NAMED: usize = 5;
/// Between two looks lie at least this many nanoseconds of the run: a look reads some files for each process.
const BETWEEN_NS: u64 = 10_000_000_000;
/// The most looks in a run.
const LOOKS: u32 = 50;

/// Looks at the processes of the machine when others use a disk.
pub(crate) struct Neighbours {
    before: Processes,
    looked_ns: Option<u64>,
    looks: u32,
}

impl Neighbours {
    /// Looks for the first time, so that later looks tell what was moved since; without disks there is nothing to look for.
    pub(crate) fn begin_looking(is_watched: bool) -> Neighbours {
        let before = if is_watched { visible_processes(&Roots::of_machine()).0 } else { Processes::new() };
        Neighbours { before, looked_ns: None, looks: 0 }
    }

    /// The event that names programs, where others did a notable part of what a disk did in an interval that ended at
    /// `at_ns`. `ours` are processes that work for the run.
    pub(crate) fn foreign_programs(
        &mut self,
        at_ns: u64,
        foreign: &[ForeignLoad],
        ours: impl FnOnce() -> Vec<u32>,
    ) -> Option<Event> {
        let notable = foreign.iter().any(|load| load.largest_share() >= ForeignLoad::NOTABLE);
        let soon = self.looked_ns.is_some_and(|looked| at_ns.saturating_sub(looked) < BETWEEN_NS);
        if !notable || soon || self.looks >= LOOKS {
            return None;
        }
        let (now, hidden) = visible_processes(&Roots::of_machine());
        let mut without = ours();
        without.push(std::process::id());
        let found = busiest_processes(&self.before, &now, &without, NAMED);
        let since = self.looked_ns.map_or("since the run began", |_| "since the last look");
        (self.before, self.looked_ns, self.looks) = (now, Some(at_ns), self.looks + 1);
        Some(programs_event(at_ns, &found, hidden, since))
    }
}

fn programs_event(at_ns: u64, found: &[(u32, ProcessIo)], hidden: usize, since: &str) -> Event {
    let named: Vec<String> = found.iter().map(|(pid, moved)| in_words(*pid, moved)).collect();
    let text = match (named.is_empty(), hidden) {
        (false, _) => {
            format!("of the other programs on this machine, these read and wrote most {since}: {}", named.join(", "))
        }
        (true, 0) => format!("no other program on this machine read or wrote anything {since}"),
        (true, hidden) => format!(
            "which program used the disk is not known: {hidden} processes of others may not be looked at; that takes root with CAP_SYS_PTRACE, which containers lack unless they are given it (--cap-add SYS_PTRACE)"
        ),
    };
    let mut details = BTreeMap::new();
    for (at, (pid, moved)) in found.iter().enumerate() {
        let figures = format!("{pid} {} {}", moved.read_bytes, moved.written_bytes);
        details.insert(format!("{at}"), one_line(&moved.name));
        details.insert(format!("{at} pid, read, written"), figures);
    }
    Event { at_ns, what: EventKind::Neighbours, text, details }
}

/// `dd (4321) read 1.2 GiB`
fn in_words(pid: u32, moved: &ProcessIo) -> String {
    let figures = [("read", moved.read_bytes), ("wrote", moved.written_bytes)];
    let said = figures.into_iter().filter(|(_, bytes)| *bytes > 0);
    let said: Vec<String> = said.map(|(word, bytes)| format!("{word} {}", Bytes::new(bytes).human_text())).collect();
    format!("{} ({pid}) {}", one_line(&moved.name), said.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(reads: u64) -> ForeignLoad {
        ForeignLoad { reads, all_operations: 1000, ..ForeignLoad::default() }
    }

    #[test]
    fn it_looks_where_others_do_much_and_not_too_often() {
        let mut neighbours = Neighbours::begin_looking(true);
        let second = 1_000_000_000;
        let mut looks = |at: u64, reads| neighbours.foreign_programs(at * second, &[load(reads)], Vec::new).is_some();
        assert!(!looks(1, 0) && !looks(2, 9), "too little");
        assert!(looks(3, 10));
        assert!(!looks(4, 500) && !looks(12, 500) && looks(13, 500), "not each second");
        let seen = (0..200u64).filter(|turn| looks(100 + turn * 10, 500)).count();
        assert_eq!(seen as u32, LOOKS - 2);
    }

    #[test]
    fn programs_are_named_on_one_line_and_what_may_not_be_seen_is_said() {
        let moved = |name: &str, read_bytes, written_bytes| ProcessIo { name: name.into(), read_bytes, written_bytes };
        let found = [(7, moved("dd", 3 << 20, 0)), (9, moved("x\n\u{1b}[2Jy", 1 << 20, 2 << 20))];
        let said = programs_event(5, &found, 0, "since the run began").text;
        assert!(said.contains("since the run began: dd (7) read 3 MiB, x"), "{said}");
        assert!(said.ends_with("(9) read 1 MiB and wrote 2 MiB") && !said.contains(['\n', '\u{1b}']), "{said}");
        assert!(programs_event(5, &[], 12, "").text.contains("12 processes of others may not be looked at"));
    }
}
