//! When others used the disks of the run so much that what was measured may be their doing.
//!
//! An interval of a target is *disturbed* if others did a notable part of what one of its disks did; the interval before
//! is too, because operations are counted when they end, and so are those after it, until what waits is no more than it
//! usually is. `docs/decisions/0080-others-on-the-disk.md` has the reasons.

mod disturbed;
mod episode;
mod previous;

pub(crate) use disturbed::{Disturbed, UndisturbedWork};
pub(crate) use episode::Disturbance;
pub(crate) use previous::Previous;

use crate::finding::failed::LOCK;
use crate::finding::others::OthersUse;
use crate::fold::layout::Layout;
use assay_record::{FlowInterval, ForeignLoad, Header, Interval, WatchedDisk};
use episode::{Episode, Used};

/// The state of one target.
#[derive(Clone, Debug, Default)]
struct Target {
    disturbed: bool,
    /// Intervals that still count as disturbed after others ended.
    after: u32,
    /// The most operations that were open at the end of an interval that was not disturbed; `None` before the first.
    usual: Option<u64>,
    /// The same without the last interval, which is disturbed too if others show in the next one.
    usual_before: Option<u64>,
    /// Operations that were open at the end of the last interval.
    open: u64,
    /// What completed in the smallest threshold, in the last interval: what a device may have open that keeps it.
    within_threshold: u64,
    /// What disturbs it, or did last: the latest stretch on each of its disks.
    episodes: Vec<Episode>,
}

/// Follows one step; see the module.
#[derive(Clone, Debug)]
pub(crate) struct Others {
    watched: Vec<WatchedDisk>,
    targets: Vec<Target>,
    /// For each disk that the open segment lists, its place in `watched`.
    listed: Vec<usize>,
    /// For each disk, the stretch that the last interval belongs to.
    open: Vec<Option<Episode>>,
    /// Whether the targets are databases; for each of them, the stretch of locks that the last interval belongs to.
    databases: bool,
    locks: Vec<Option<Episode>>,
    best: Vec<f64>,
    previous: Previous,
}

impl Others {
    /// The state before the first interval.
    pub(crate) fn new(header: &Header, layout: &Layout) -> Others {
        let mut others = Others {
            watched: Vec::new(),
            listed: Vec::new(),
            targets: vec![Target::default(); layout.targets.len()],
            open: Vec::new(),
            databases: !header.databases.is_empty(),
            locks: vec![None; layout.targets.len()],
            best: vec![0.0; layout.flows.len()],
            previous: Previous::default(),
        };
        others.list_disks(header);
        others
    }

    /// A disk that a segment describes as another one did is the same disk, in whatever order.
    fn list_disks(&mut self, header: &Header) {
        self.listed.clear();
        for head in header.watched.iter().take(MOST_DISKS) {
            let known = self.watched.iter().position(|known| known == head);
            self.listed.push(known.unwrap_or_else(|| {
                self.watched.push(head.clone());
                self.watched.len() - 1
            }));
        }
        self.open = vec![None; self.watched.len()];
    }

    /// Begins another segment, on the same disks or on others.
    pub(crate) fn continue_with_segment(&mut self, header: &Header) {
        self.list_disks(header);
        for target in &mut self.targets {
            *target = Target { usual: target.usual, ..Target::default() };
        }
        self.previous = Previous::default();
    }

    /// Whether the load of others on disks is counted at all.
    pub(crate) fn is_counted(&self) -> bool {
        !self.watched.is_empty()
    }

    /// Whether others may show at all.
    fn may_show(&self) -> bool {
        self.is_counted() || self.databases
    }

    /// The disks.
    pub(crate) fn watched_disks(&self) -> &[WatchedDisk] {
        &self.watched
    }

    /// What the flows did in the interval before.
    pub(crate) fn previous_flows(&self) -> &Previous {
        &self.previous
    }

    /// Takes the flows of an interval that has been added to everything: it is the interval before, from now on.
    pub(crate) fn remember_interval(&mut self, interval: &Interval) {
        if self.may_show() {
            self.previous.set_interval(interval);
        }
    }

    /// What disturbs a target now, in words; `None` where none is disturbed.
    pub(crate) fn use_on_any_target(&self, layout: &Layout) -> Option<OthersUse> {
        let target = self.targets.iter().find(|target| target.disturbed)?;
        disturbed::most_disturbing_use(&target.episodes, 0, layout, |_| true)
    }

    /// Looks at an interval of any phase, which begins at `at_ns` of the measured time; `None` where no target is disturbed.
    pub(crate) fn observe_interval(
        &mut self,
        at_ns: Option<u64>,
        interval: &Interval,
        layout: &Layout,
    ) -> Option<Disturbance> {
        if !self.may_show() {
            return None;
        }
        let length_ns = interval.end_ns.saturating_sub(interval.start_ns);
        let notable: Vec<usize> =
            interval.foreign.iter().filter_map(|load| self.notable_disk(load, at_ns, length_ns)).collect();
        for (disk, open) in self.open.iter_mut().enumerate() {
            if !notable.contains(&disk) {
                *open = None;
            }
        }
        let before: Vec<bool> = self.targets.iter().map(|target| target.disturbed).collect();
        for at in 0..self.targets.len() {
            let locked = self.episode_of_locks(at, at_ns, interval, layout);
            let disks = notable
                .iter()
                .filter(|disk| self.watched[**disk].targets.iter().any(|target| usize::from(*target) == at));
            let episodes: Vec<Episode> = disks.filter_map(|disk| self.open[*disk]).chain(locked).collect();
            self.targets[at].observe_episodes(episodes);
            self.count_open(at, interval, layout);
        }
        self.keep_best(interval, length_ns, layout);
        let now: Vec<bool> = self.targets.iter().map(|target| target.disturbed).collect();
        if !now.contains(&true) {
            return None;
        }
        let begins = now.iter().zip(&before).map(|(now, before)| *now && !before).collect();
        let mut episodes: Vec<Episode> =
            self.targets.iter().filter(|target| target.disturbed).flat_map(|target| target.episodes.clone()).collect();
        episodes.sort_by_key(|episode| (episode.used, episode.stretch.from_ns));
        episodes.dedup();
        Some(Disturbance { now, begins, episodes, best: self.best.clone() })
    }

    /// The disk on which others did a notable part; its stretch goes on or begins.
    fn notable_disk(&mut self, load: &ForeignLoad, at_ns: Option<u64>, length_ns: u64) -> Option<usize> {
        let disk = *self.listed.get(usize::from(load.disk))?;
        let open = self.open.get_mut(disk).filter(|_| load.largest_share() >= ForeignLoad::NOTABLE)?;
        let episode = open.get_or_insert_with(|| Episode::begin_at(Used::Disk(disk), at_ns.unwrap_or(0)));
        episode.extend_through(at_ns, length_ns);
        episode.work = episode.work.sum_with(load.foreign_work());
        Some(disk)
    }

    /// The stretch of locks on a database that an interval belongs to.
    fn episode_of_locks(
        &mut self,
        at: usize,
        at_ns: Option<u64>,
        interval: &Interval,
        layout: &Layout,
    ) -> Option<Episode> {
        if !self.databases {
            return None;
        }
        let mine = layout.flows.iter().zip(&interval.flows).filter(|(head, _)| usize::from(head.target) == at);
        let found = mine.fold(0u64, |sum, (_, flow)| sum.saturating_add(count_locks(flow)));
        if found == 0 {
            self.locks[at] = None;
            return None;
        }
        let episode = self.locks[at].get_or_insert_with(|| Episode::begin_at(Used::Lock(at), at_ns.unwrap_or(0)));
        episode.extend_through(at_ns, interval.end_ns.saturating_sub(interval.start_ns));
        episode.locked = episode.locked.saturating_add(found);
        Some(*episode)
    }

    /// Counts what is open at the end of an interval. A closed loop always has the same number open: it builds up nothing.
    fn count_open(&mut self, at: usize, interval: &Interval, layout: &Layout) {
        let flows = layout.flows.iter().zip(&interval.flows).filter(|(head, _)| usize::from(head.target) == at);
        let mine = flows.filter(|(head, _)| layout.streams[usize::from(head.stream)].head.is_open_loop());
        let (open, ended) = mine.fold((0u64, 0u64), |(open, ended), (_, flow)| {
            (open.saturating_add(flow.carried_out()), ended.saturating_add(flow.ended_operations()))
        });
        let length = u128::from(interval.end_ns.saturating_sub(interval.start_ns).max(1));
        let threshold = layout.times.smallest.map_or(0, |span| span.as_ns());
        let within = u128::from(ended) * u128::from(threshold) / length;
        let target = &mut self.targets[at];
        target.open = open;
        target.within_threshold = u64::try_from(within).unwrap_or(u64::MAX);
        target.usual_before = target.usual;
        if !target.disturbed {
            target.usual = Some(target.usual.unwrap_or(0).max(open));
        }
    }

    fn keep_best(&mut self, interval: &Interval, length_ns: u64, layout: &Layout) {
        for ((best, head), flow) in self.best.iter_mut().zip(&layout.flows).zip(&interval.flows) {
            if !self.targets[usize::from(head.target)].disturbed {
                *best = best.max(flow.ended_operations() as f64 * 1e9 / length_ns.max(1) as f64);
            }
        }
    }
}

/// How often transactions of a flow found a lock of somebody else: they were tried again, or failed.
fn count_locks(flow: &FlowInterval) -> u64 {
    if flow.errors.is_empty() && flow.counted.is_empty() {
        return 0;
    }
    let tried_again = flow.counted.get(TRIED_AGAIN).copied().unwrap_or(0);
    flow.errors.get(LOCK).copied().unwrap_or(0).saturating_add(tried_again)
}

/// The name under which repetitions because of a lock are counted.
const TRIED_AGAIN: &str = "retried SQLITE_BUSY";
/// Number of disks of a segment; a log may name any number.
const MOST_DISKS: usize = 4096;
/// After others have ended, so many intervals are disturbed at least.
const AFTER: u32 = 1;

impl Target {
    /// Takes what others do now; nothing where they do nothing notable.
    fn observe_episodes(&mut self, episodes: Vec<Episode>) {
        if !episodes.is_empty() {
            if !self.disturbed {
                self.usual = self.usual_before;
            }
            (self.disturbed, self.after, self.episodes) = (true, AFTER, episodes);
        } else if self.after > 0 {
            self.after -= 1;
        } else {
            // What was open when this interval began may still wait for what others left.
            self.disturbed &= self.open > self.usual.unwrap_or(self.within_threshold);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::others::Stretch;
    use crate::fold::fixture;
    use assay_base::Rate;

    const SECOND: u64 = 1_000_000_000;

    /// One open loop on one target, on a watched disk, and a second disk that serves nothing.
    fn others(rate: Option<u64>) -> (Others, Layout) {
        let mut header = fixture::header();
        header.streams[0].rate = rate.map(Rate::per_second);
        let disk =
            |name: &str, targets: &[u16]| WatchedDisk { name: name.into(), targets: targets.to_vec(), beneath: false };
        header.watched = vec![disk("vda", &[0]), disk("vdb", &[])];
        let layout = Layout::new(&header, &[]).unwrap();
        (Others::new(&header, &layout), layout)
    }

    /// An interval in which others did so many of a thousand operations on a disk, and so many are open at its end.
    fn interval(second: u64, disk: u16, reads: u64, open: u64) -> Interval {
        let load = ForeignLoad {
            disk,
            reads,
            read_bytes: reads * 4096,
            all_operations: 1000,
            all_bytes: 4_096_000,
            ..ForeignLoad::default()
        };
        let flow = FlowInterval { ok: 100, waiting: open, ..FlowInterval::default() };
        Interval {
            start_ns: second * SECOND,
            end_ns: (second + 1) * SECOND,
            flows: vec![flow, FlowInterval::default()],
            foreign: if reads > 0 { vec![load] } else { Vec::new() },
            ..Interval::default()
        }
    }

    /// Which seconds are disturbed, and which disturb the one before.
    fn seconds(rate: Option<u64>, all: &[(u16, u64, u64)]) -> (Vec<u64>, Vec<u64>) {
        let (mut others, layout) = others(rate);
        let (mut disturbed, mut begins) = (Vec::new(), Vec::new());
        for (second, (disk, reads, open)) in (0u64..).zip(all) {
            let found =
                others.observe_interval(Some(second * SECOND), &interval(second, *disk, *reads, *open), &layout);
            disturbed.extend(found.as_ref().filter(|it| it.now[0]).map(|_| second));
            begins.extend(found.filter(|it| it.begins[0]).map(|_| second));
        }
        (disturbed, begins)
    }

    #[test]
    fn from_a_hundredth_on_others_disturb_and_the_second_after_them_too() {
        let quiet = (0, 0, 3);
        assert_eq!(seconds(Some(100), &[quiet, quiet, (0, 9, 3), quiet]), (vec![], vec![]));
        assert_eq!(seconds(Some(100), &[quiet, quiet, (0, 10, 3), quiet, quiet]), (vec![2, 3], vec![2]));
        assert_eq!(
            seconds(Some(100), &[quiet, (1, 999, 3), quiet]),
            (vec![], vec![]),
            "on a disk that serves no target"
        );
        assert_eq!(seconds(Some(100), &[quiet, (7, 999, 3), quiet]), (vec![], vec![]), "on none that the log names");
    }

    #[test]
    fn it_lasts_until_no_more_waits_than_usual() {
        let all = [(0, 0, 5), (0, 0, 5), (0, 500, 900), (0, 0, 600), (0, 0, 300), (0, 0, 6), (0, 0, 5), (0, 0, 5)];
        assert_eq!(seconds(Some(100), &all), (vec![2, 3, 4, 5, 6], vec![2]));
        // What waited when others showed is not usual.
        let all = [(0, 0, 5), (0, 0, 700), (0, 500, 900), (0, 0, 700), (0, 0, 700), (0, 0, 5), (0, 0, 5)];
        assert_eq!(seconds(Some(100), &all), (vec![2, 3, 4, 5], vec![2]));
        // What waits by itself afterwards was not left by others.
        let all = [(0, 0, 5), (0, 0, 5), (0, 500, 900), (0, 0, 5), (0, 0, 400), (0, 0, 800)];
        assert_eq!(seconds(Some(100), &all), (vec![2, 3], vec![2]));
        // Before anything was usual: a hundred a second leave none within a millisecond.
        let all = [(0, 500, 900), (0, 0, 600), (0, 0, 3), (0, 0, 0), (0, 0, 0)];
        assert_eq!(seconds(Some(100), &all), (vec![0, 1, 2, 3], vec![0]));
        assert_eq!(
            seconds(None, &[(0, 500, 32), (0, 0, 32), (0, 0, 32)]).0,
            [0, 1],
            "a closed loop has nothing waiting"
        );
    }

    #[test]
    fn a_lock_on_a_database_disturbs_it() {
        let mut header = fixture::header();
        header.databases = vec![assay_record::DatabaseHead::default()];
        let layout = Layout::new(&header, &[]).unwrap();
        let mut others = Others::new(&header, &layout);
        let second = |found: u64, failed: u64| {
            let mut interval = interval(0, 0, 0, 0);
            interval.flows[0].counted =
                [("retried SQLITE_BUSY".to_owned(), found), ("rolled-back".to_owned(), 9)].into();
            interval.flows[1].errors = [("SQLITE_BUSY".to_owned(), failed)].into();
            interval
        };
        assert!(others.observe_interval(Some(0), &second(0, 0), &layout).is_none());
        let found = others.observe_interval(Some(SECOND), &second(3, 0), &layout).unwrap();
        assert_eq!((found.now[0], found.begins[0]), (true, true));
        let found = others.observe_interval(Some(2 * SECOND), &second(0, 2), &layout).unwrap();
        assert_eq!((found.episodes[0].used, found.episodes[0].locked), (Used::Lock(0), 5));
        assert_eq!(
            others.use_on_any_target(&layout).unwrap().to_string(),
            "somebody else held a lock on disk, which transactions met 5 times in seconds 1 to 3"
        );
    }

    #[test]
    fn a_stretch_has_what_others_did_in_it() {
        let (mut others, layout) = others(Some(100));
        others.observe_interval(None, &interval(0, 0, 400, 0), &layout);
        others.observe_interval(Some(0), &interval(1, 0, 100, 0), &layout);
        let found = others.observe_interval(Some(SECOND), &interval(2, 0, 50, 0), &layout).unwrap();
        let episode = found.episodes[0];
        assert_eq!((episode.stretch, episode.ns), (Stretch { from_ns: 0, to_ns: 2 * SECOND }, 3 * SECOND));
        assert_eq!((episode.work.reads, episode.work.read_bytes), (550, 550 * 4096));
        let after = others.observe_interval(Some(2 * SECOND), &interval(3, 0, 0, 0), &layout).unwrap();
        assert_eq!(after.episodes, [episode], "what it was is still known");
        assert!(others.observe_interval(Some(3 * SECOND), &interval(4, 0, 0, 0), &layout).is_none());
        let again = others.observe_interval(Some(4 * SECOND), &interval(5, 0, 70, 0), &layout).unwrap();
        assert_eq!((again.episodes[0].stretch.from_ns, again.episodes[0].work.reads), (4 * SECOND, 70));
    }
}
