//! The part of a window in which others disturbed it, and what is left of the window without that part.

use super::episode::{Disturbance, Episode, Used};
use crate::finding::others::OthersUse;
use crate::fold::counters::Counters;
use crate::fold::layout::Layout;
use assay_record::{DiskWork, FlowInterval};

/// Number of stretches that a window keeps for each disk; of further ones only the work is kept.
const EPISODES: usize = 32;

/// In a disturbed interval a closed loop would have completed at most so many times what it did in its best other one.
const AT_BEST: f64 = 1.1;

/// What happened in the disturbed intervals of a window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disturbed {
    /// What each flow did in them; `None` for flows whose target was not disturbed.
    flows: Vec<Option<Counters>>,
    /// How long each flow was disturbed, in nanoseconds.
    ns: Vec<u64>,
    /// For each flow, the most operations per second that it completed while it was not disturbed.
    best: Vec<f64>,
    episodes: Vec<Episode>,
    /// Stretches that are not kept.
    left_out: u64,
}

/// What is left of some flows without what they did while they were disturbed.
#[derive(Clone, Debug)]
pub(crate) struct UndisturbedWork {
    /// What they did while they were not.
    pub(crate) cell: Counters,
    /// How many operations they would have completed at most in the time in which they were disturbed.
    pub(crate) could: u64,
}

impl Disturbed {
    /// Adds an interval with these flows, of which those that `counts` names are disturbed.
    pub(crate) fn add_interval(
        &mut self,
        flows: &[FlowInterval],
        length_ns: u64,
        disturbance: &Disturbance,
        counts: impl Fn(usize) -> bool,
        layout: &Layout,
    ) {
        self.flows.resize(layout.flows.len(), None);
        self.ns.resize(layout.flows.len(), 0);
        for (at, flow) in flows.iter().enumerate().take(layout.flows.len()).filter(|(at, _)| counts(*at)) {
            self.ns[at] = self.ns[at].saturating_add(length_ns);
            let cell = self.flows[at].get_or_insert_with(|| Counters::new(layout.times.thresholds.bucket_count()));
            // A bucket that does not exist makes the window invalid where it is added to the window itself.
            let _ = cell.add_interval(flow);
        }
        self.best.clone_from(&disturbance.best);
        disturbance.episodes.iter().for_each(|episode| self.take_episode(*episode));
    }

    /// A stretch that has become longer replaces what it was.
    fn take_episode(&mut self, episode: Episode) {
        let kept = self.episodes.len();
        match self
            .episodes
            .iter_mut()
            .find(|known| known.used == episode.used && known.stretch.from_ns == episode.stretch.from_ns)
        {
            Some(known) => *known = episode,
            None if kept < EPISODES => self.episodes.push(episode),
            None => self.left_out += 1,
        }
    }

    /// What is left of `whole`, the sum of these flows of the window; `None` where none of them was disturbed.
    pub(crate) fn undisturbed_work(
        &self,
        whole: &Counters,
        flows: impl Iterator<Item = usize>,
        layout: &Layout,
    ) -> Option<UndisturbedWork> {
        let mut cell = whole.clone();
        let (mut some, mut could, mut planned) = (false, 0u64, true);
        for flow in flows {
            let open = layout.stream_of(flow).head.is_open_loop();
            planned &= open;
            let Some(Some(disturbed)) = self.flows.get(flow) else { continue };
            some = true;
            cell.subtract(disturbed);
            let best = self.best.get(flow).copied().unwrap_or(0.0) * AT_BEST;
            let most = match (open, best > 0.0) {
                // An open loop has a schedule, and completes at most that.
                (true, _) => disturbed.work.scheduled,
                (false, true) => (best * self.ns[flow] as f64 / 1e9).round() as u64,
                // How fast it is alone was never seen.
                (false, false) => u64::MAX,
            };
            could = could.saturating_add(most.max(disturbed.ended_operations()));
        }
        if planned {
            // Everything that was due may have completed in time.
            let due = whole.carried_in.saturating_add(whole.work.scheduled);
            could = could.max(due.saturating_sub(cell.ended_operations()));
        }
        some.then_some(UndisturbedWork { cell, could })
    }

    /// Whether a flow was disturbed.
    pub(crate) fn is_on(&self, flow: usize) -> bool {
        self.flows.get(flow).is_some_and(Option::is_some)
    }

    /// What others did on the disks of some targets, or to them.
    pub(crate) fn in_words(&self, layout: &Layout, targets: impl Fn(usize) -> bool) -> Option<OthersUse> {
        most_disturbing_use(&self.episodes, self.left_out, layout, targets)
    }
}

/// The use of the disk on which others did most, of those that count; the target's own device comes first, unless others did
/// much more beneath it.
pub(crate) fn most_disturbing_use(
    episodes: &[Episode],
    more: u64,
    layout: &Layout,
    targets: impl Fn(usize) -> bool,
) -> Option<OthersUse> {
    let locks = layout.targets.iter().enumerate().filter(|(at, _)| targets(*at));
    let lock = locks.filter_map(|(at, name)| use_of(episodes, more, Used::Lock(at), name)).next();
    if lock.is_some() {
        return lock;
    }
    let disks =
        layout.watched.iter().enumerate().filter(|(_, head)| head.targets.iter().any(|at| targets((*at).into())));
    let all: Vec<_> = disks
        .filter_map(|(disk, head)| Some((head.beneath, use_of(episodes, more, Used::Disk(disk), &head.name)?)))
        .collect();
    let most = all.iter().map(|(_, used)| used.work.total_bytes()).max().unwrap_or(0);
    // What is done through the target is done beneath it too.
    let much = all.into_iter().filter(|(_, used)| used.work.total_bytes() >= most / 2);
    much.min_by_key(|(beneath, used)| (*beneath, std::cmp::Reverse(used.work.total_bytes()))).map(|(_, used)| used)
}

/// All that others did in one way; `None` where they did nothing.
fn use_of(episodes: &[Episode], more: u64, used: Used, name: &str) -> Option<OthersUse> {
    let mine: Vec<&Episode> = episodes.iter().filter(|episode| episode.used == used).collect();
    if mine.is_empty() {
        return None;
    }
    Some(OthersUse {
        name: name.to_owned(),
        work: mine.iter().fold(DiskWork::default(), |sum, episode| sum.sum_with(episode.work)),
        locked: mine.iter().fold(0, |sum: u64, episode| sum.saturating_add(episode.locked)),
        ns: mine.iter().fold(0, |sum: u64, episode| sum.saturating_add(episode.ns)),
        stretches: mine.iter().map(|episode| episode.stretch).collect(),
        more,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::others::Stretch;
    use crate::fold::fixture;
    use assay_base::Rate;
    use assay_record::Timing;
    use assay_record::WatchedDisk;

    fn layout(rate: Option<u64>) -> Layout {
        let mut header = fixture::header();
        header.streams[0].rate = rate.map(Rate::per_second);
        Layout::new(&header, &[]).unwrap()
    }

    fn flow(ok: u64, slow: u64, scheduled: u64) -> FlowInterval {
        let response = Timing { sum_ns: ok, max_ns: 9, counts: vec![0, ok - slow, 1, slow] };
        FlowInterval { ok, scheduled, response, ..FlowInterval::default() }
    }

    fn disturbance(best: f64) -> Disturbance {
        Disturbance { now: vec![true], begins: vec![false], episodes: Vec::new(), best: vec![best; 2] }
    }

    #[test]
    fn what_is_left_is_the_whole_without_its_disturbed_part() {
        // A second of a hundred operations of which 40 were slow, among ten quiet seconds of 200 with 5 slow ones.
        for (rate, best, could) in [(Some(200), 0.0, 200), (None, 200.0, 220), (None, 50.0, 100), (None, 0.0, u64::MAX)]
        {
            let layout = layout(rate);
            let mut whole = Counters::new(layout.times.thresholds.bucket_count());
            let mut disturbed = Disturbed::default();
            for _ in 0..10 {
                whole.add_interval(&flow(200, 5, 200)).unwrap();
            }
            let bad = flow(100, 40, 200);
            whole.add_interval(&bad).unwrap();
            let nothing = disturbed.undisturbed_work(&whole, [0].into_iter(), &layout);
            assert!(nothing.is_none());
            disturbed.add_interval(
                &[bad, FlowInterval::default()],
                1_000_000_000,
                &disturbance(best),
                |flow| flow == 0,
                &layout,
            );
            let left = disturbed.undisturbed_work(&whole, [0].into_iter(), &layout).unwrap();
            assert_eq!(
                (left.cell.work.ok, left.cell.response.counts[1], left.could),
                (2000, 50, could),
                "{rate:?} {best}"
            );
            assert!(disturbed.is_on(0) && !disturbed.is_on(1));
        }
    }

    #[test]
    fn what_waits_at_the_end_could_have_completed() {
        let layout = layout(Some(200));
        let mut whole = Counters::new(layout.times.thresholds.bucket_count());
        whole.carried_in = 7;
        let (calm, bad) = (flow(150, 5, 200), flow(100, 40, 200));
        whole.add_interval(&calm).unwrap();
        whole.add_interval(&bad).unwrap();
        let mut disturbed = Disturbed::default();
        disturbed.add_interval(&[bad, FlowInterval::default()], 1, &disturbance(0.0), |flow| flow == 0, &layout);
        let left = disturbed.undisturbed_work(&whole, [0].into_iter(), &layout).unwrap();
        assert_eq!((left.cell.work.ok, left.could), (150, 407 - 150));
    }

    #[test]
    fn stretches_are_kept_once_and_the_target_itself_is_named_before_what_lies_beneath() {
        let episode = |disk, from_ns, bytes| Episode {
            used: Used::Disk(disk),
            stretch: Stretch { from_ns, to_ns: from_ns + 1 },
            ns: 1_000_000_000,
            work: DiskWork { read_bytes: bytes, ..DiskWork::default() },
            locked: 0,
        };
        let mut disturbed = Disturbed::default();
        for it in [episode(0, 5, 10), episode(1, 5, 100), episode(0, 5, 30), episode(0, 9, 4)] {
            disturbed.take_episode(it);
        }
        let disk = |name: &str, beneath| WatchedDisk { name: name.into(), targets: vec![0], beneath };
        let watched = [disk("vda", true), disk("loop0", false), disk("vdb", true)];
        let used = |watched: &[WatchedDisk]| {
            let layout = Layout { watched: watched.to_vec(), ..layout(None) };
            disturbed.in_words(&layout, |target| target == 0)
        };
        assert_eq!(used(&watched).map(|it| (it.name, it.work.read_bytes)), Some(("loop0".to_owned(), 100)));
        let beneath = used(&watched[..1]).unwrap();
        assert_eq!((beneath.work.read_bytes, beneath.stretches.len()), (34, 2));
        assert_eq!(disturbed.in_words(&layout(None), |target| target == 3), None);
        (0..100).for_each(|at| disturbed.take_episode(episode(2, 100 + at, 1)));
        assert_eq!((disturbed.episodes.len(), disturbed.left_out), (EPISODES, 100 + 3 - EPISODES as u64));
    }
}
