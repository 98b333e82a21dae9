//! Watches the machine during a run: its clocks, its clock source, the queues of the targets' disks and the options of the mount
//! of a directory, once in each interval. Changes are written to the log, and the judge decides what they mean.

use assay_device::clock::Clock;
use assay_device::probe;
use assay_device::safety::{DevNum, Roots};
use assay_record::{ClockSample, Event, EventKind};
use std::collections::BTreeMap;

/// Reads the machine's clocks; a test replaces it.
pub(crate) type Readings = fn(&Clock) -> Option<ClockSample>;

/// The clocks of this machine; `None` where they could not be read together.
pub(crate) fn machine_clocks(clock: &Clock) -> Option<ClockSample> {
    let read = clock.read_clocks()?;
    Some(ClockSample { at_ns: read.at.as_ns(), real_ns: read.real_ns, boot_ns: read.boot_ns, mono_ns: read.mono_ns })
}

/// The state of the machine at the last check.
pub(crate) struct Watch {
    clock: Clock,
    readings: Readings,
    roots: Roots,
    /// Disks by the name of their target. A disk is identified by its number: no path of a target is used, because it
    /// may hang.
    disks: Vec<(String, DevNum)>,
    /// The name of a target that is a directory, and the number of its mount.
    mount: Option<(String, u64)>,
    before: BTreeMap<String, String>,
}

impl Watch {
    /// Begins to watch.
    pub(crate) fn new(clock: Clock, readings: Readings, disks: Vec<(String, DevNum)>) -> Watch {
        let (roots, mount) = (Roots::of_machine(), None);
        let mut watch = Watch { clock, readings, roots, disks, mount, before: BTreeMap::new() };
        watch.before = watch.current_facts();
        watch
    }

    /// The same, which also watches the mount of a directory.
    pub(crate) fn with_mount(self, name: &str, number: Option<u64>) -> Watch {
        let mut watch = Watch { mount: number.map(|number| (name.to_owned(), number)), ..self };
        watch.before = watch.current_facts();
        watch
    }

    /// The present clock readings.
    pub(crate) fn clock_readings(&self) -> Option<ClockSample> {
        (self.readings)(&self.clock)
    }

    /// The changes since the last check.
    pub(crate) fn changes_since_last(&mut self) -> Vec<Event> {
        let now = self.current_facts();
        let before = std::mem::replace(&mut self.before, now);
        events_of_changes(&before, &self.before, self.clock.now().as_ns())
    }

    fn current_facts(&self) -> BTreeMap<String, String> {
        let source = probe::current_clocksource(&self.roots).map(|source| ("the clock source".to_owned(), source));
        let queues = self.disks.iter().flat_map(|(name, number)| {
            let queue = probe::queue_settings(&self.roots, *number);
            queue.into_iter().map(move |(fact, value)| (format!("{fact} of {name}"), value))
        });
        source.into_iter().chain(queues).chain(self.mount_options()).collect()
    }

    /// What the mount is mounted with. The table of mounts is the kernel's: a file system that hangs does not hold a reader.
    fn mount_options(&self) -> Option<(String, String)> {
        let (name, number) = self.mount.as_ref()?;
        let mounted = probe::mount_with_number(&self.roots, *number)?;
        Some((format!("the mount options of {name}"), mounted.options.join(",")))
    }
}

fn events_of_changes(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>, at_ns: u64) -> Vec<Event> {
    let names: std::collections::BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let mut events = Vec::new();
    for name in names.into_iter().filter(|name| before.get(*name) != now.get(*name)) {
        let (from, to) = (value_of(before, name), value_of(now, name));
        let text = format!("{name} was {from} and is {to} now");
        let details = [("what", name.clone()), ("before", from), ("now", to)];
        let details = details.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        events.push(Event { at_ns, what: EventKind::EnvironmentChanged, text, details });
    }
    events
}

fn value_of(facts: &BTreeMap<String, String>, name: &str) -> String {
    facts.get(name).cloned().unwrap_or_else(|| "absent".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificate;
    use crate::drive::{Drive, drive_plan};
    use crate::host::signals::StopCell;
    use crate::log::logfile::LogFile;
    use crate::observer::Unobserved;
    use crate::open::targets::{Named, Targets, parse_block_targets};
    use assay_base::Span;
    use assay_judge::{Judgement, Options, Verdict};
    use assay_model::workload::Adjust;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A real run of three seconds on the null device, with these clocks.
    fn run(readings: Readings) -> Judgement {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.jsonl");
        let Named::Null(geometry) = parse_block_targets(&["null:1GiB".to_owned()]).unwrap().remove(0).1 else {
            panic!("nothing")
        };
        let targets = Targets::Null(vec![("null".to_owned(), geometry)]);
        let (measure, slice) = (Some(Span::from_secs(3)), Some(Span::from_secs(1)));
        let load = "0.01x".parse().ok();
        let adjust = Adjust { measure, slice, load, targets: 1, seed: 1, ..Adjust::default() };
        let plan = crate::workloads::find_workload("random-read").unwrap().make_plan(&adjust).unwrap();
        let mut log = LogFile::create_new(&path).unwrap();
        let how = Drive { prepared: vec![None], readings: Some(readings), ..Drive::default() };
        drive_plan(&plan, &targets, &how, &mut log, &mut Unobserved, &StopCell::default()).unwrap();
        drop(log);
        certificate::judge_with_sum(std::fs::File::open(path).unwrap(), &Options::default()).unwrap().judgement
    }

    #[test]
    fn the_wall_clock_jumps_in_the_middle_of_a_real_run() {
        static LOOKS: AtomicU64 = AtomicU64::new(0);
        const HOUR: i64 = 3_600_000_000_000;
        let judged = run(|clock| {
            let late = LOOKS.fetch_add(1, Ordering::Relaxed) >= 2;
            let sample = machine_clocks(clock)?;
            Some(ClockSample { real_ns: sample.real_ns + if late { HOUR as u64 } else { 0 }, ..sample })
        });
        let clocks = judged.part.history.clocks.unwrap();
        assert_eq!(clocks.events.len(), 1, "{clocks:?}");
        assert!(clocks.events[0].what == "wall-clock-set" && clocks.events[0].by_ns.abs_diff(HOUR) < 20_000_000);
        let told = |warning: &String| warning.contains("the wall clock was set forward by 1 h");
        assert!(judged.warnings.iter().any(told), "{:?}", judged.warnings);
        assert_eq!((judged.part.time.measured_ns, judged.part.history.contradictions), (3_000_000_000, 0));
        let longest = judged.part.streams.each[0].response.max_ns.unwrap();
        assert!(longest < HOUR as u64 && judged.part.slices.listed.iter().all(|slice| slice.complete), "{longest}");
    }

    #[test]
    fn the_machine_sleeps_in_the_middle_of_a_real_run() {
        static LOOKS: AtomicU64 = AtomicU64::new(0);
        let judged = run(|clock| {
            let slept = if LOOKS.fetch_add(1, Ordering::Relaxed) >= 2 { 5_000_000_000 } else { 0 };
            let sample = machine_clocks(clock)?;
            Some(ClockSample { real_ns: sample.real_ns + slept, boot_ns: sample.boot_ns + slept, ..sample })
        });
        assert_eq!(
            (judged.verdict, judged.part.history.environment_changes),
            (Verdict::Invalid, 1),
            "{}",
            judged.reason
        );
        assert!(judged.reason.contains("the machine slept for 5 s"), "{}", judged.reason);
    }

    #[test]
    fn what_appears_goes_or_becomes_another_is_said() {
        let of = |facts: &[(&str, &str)]| facts.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let before =
            of(&[("the clock source", "tsc"), ("scheduler of sda", "none"), ("write cache of sda", "write back")]);
        let now = of(&[("the clock source", "hpet"), ("scheduler of sda", "none"), ("queue length of sda", "64")]);
        let told: Vec<String> = events_of_changes(&before, &now, 5).into_iter().map(|event| event.text).collect();
        assert_eq!(
            told,
            [
                "queue length of sda was absent and is 64 now",
                "the clock source was tsc and is hpet now",
                "write cache of sda was write back and is absent now",
            ]
        );
        assert!(events_of_changes(&before, &before, 5).is_empty());
    }
}
