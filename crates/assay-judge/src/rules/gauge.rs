//! Computes a criterion's value for a window: for all targets together and for each alone, and which part of it the
//! device caused.

use crate::finding::others::OthersUse;
use crate::fold::counters::Counters;
use crate::fold::layout::Layout;
use crate::fold::window::{Window, sum_of_flows};
use crate::judgement::{Figure, UnkeptBound};
use crate::rules::lateness;
use crate::rules::loops;
use crate::rules::pressure;
use crate::rules::unfinished::at_least;
use crate::rules::value::Value;
use assay_base::Criterion;

/// A criterion and the operations that it is about.
#[derive(Clone, Debug)]
pub(crate) struct Gauge {
    /// The criterion, with the measure on which it is judged.
    pub(crate) criterion: Criterion,
    scope: Scope,
}

/// Which operations a criterion is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The operations of the stream with this index, over all targets and on each.
    Stream(usize),
    /// The operations of the streams with these indices together, from the first one up to before the other: those of one of
    /// several workloads.
    Group(usize, usize),
    /// The operations of all streams together.
    All,
}

impl Scope {
    /// What the name in a criterion stands for; `None` where the run has no such stream.
    pub(crate) fn from_name(name: &str, layout: &Layout) -> Option<Scope> {
        let stream = layout.streams.iter().position(|stream| stream.head.name == name);
        let all = || (name == Criterion::ALL).then_some(Scope::All);
        stream.map(Scope::Stream).or_else(all).or_else(|| Scope::from_group(name, layout))
    }

    /// What the name of a group stands for, where its streams follow one another as those of one workload do.
    fn from_group(name: &str, layout: &Layout) -> Option<Scope> {
        let group = layout.combined.groups.iter().find(|group| group.name == name)?;
        let (first, last) = (*group.streams.first()?, *group.streams.last()?);
        (last - first + 1 == group.streams.len()).then_some(Scope::Group(first, last + 1))
    }

    /// The streams.
    fn stream_range(self, layout: &Layout) -> std::ops::Range<usize> {
        match self {
            Scope::Stream(stream) => stream..stream + 1,
            Scope::Group(first, end) => first..end,
            Scope::All => 0..layout.streams.len(),
        }
    }

    /// The flows that are judged alone: those of a stream on several targets.
    fn flows_judged_alone(self, layout: &Layout) -> &[usize] {
        match self {
            Scope::Stream(stream) if layout.streams[stream].flows.len() > 1 => &layout.streams[stream].flows,
            _ => &[],
        }
    }

    /// All counters together.
    fn counters_together(self, window: &Window, layout: &Layout) -> Counters {
        sum_of_flows(self.stream_range(layout).map(|stream| &window.streams[stream]), layout)
    }

    /// The targets.
    fn target_indexes(self, layout: &Layout) -> impl Iterator<Item = usize> {
        self.stream_range(layout)
            .flat_map(|stream| &layout.streams[stream].flows)
            .map(|flow| usize::from(layout.flows[*flow].target))
    }

    /// Whether some operations may fail.
    fn may_fail(self, layout: &Layout) -> bool {
        self.stream_range(layout).any(|stream| !layout.streams[stream].may_fail.is_empty())
    }

    /// For how long any of them lives in a stretch of time.
    fn lived_ns(self, from_ns: u64, to_ns: u64, layout: &Layout) -> u64 {
        match self {
            Scope::Stream(stream) => layout.lives.lived_ns(stream, from_ns, to_ns),
            // While one stream waits for another, none does its work: the whole time counts.
            Scope::Group(..) | Scope::All => to_ns.saturating_sub(from_ns),
        }
    }
}

/// A criterion's values for one window.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    /// Over all targets.
    pub(crate) together: Figure,
    /// For each target, where there are several.
    pub(crate) alone: Vec<(usize, Figure)>,
}

/// A stream that does not keep the bound of a criterion in a window.
#[derive(Clone, Debug)]
pub(crate) struct Unkept {
    /// The stream with this index.
    pub(crate) stream: usize,
    /// The target with this index; `None` for all of the stream's targets together.
    pub(crate) target: Option<usize>,
    /// The bound, as it is judged.
    pub(crate) bound: UnkeptBound,
}

impl Gauge {
    /// Computes values of `criterion` from windows.
    pub(crate) fn new(criterion: Criterion, scope: Scope) -> Gauge {
        Gauge { criterion, scope }
    }

    /// Its values in a complete window; `None` where nothing completed or the threshold is not counted.
    pub(crate) fn read_window(&self, window: &Window, layout: &Layout) -> Option<Figures> {
        let together = self.figure_of_cell(&self.scope.counters_together(window, layout), None, window, layout)?;
        // Bounds on work are judged over all targets together only.
        let flows = self.scope.flows_judged_alone(layout).iter().filter(|_| !self.criterion.bound.is_of_work());
        let alone = flows.filter_map(|&flow| {
            let target = usize::from(layout.flows[flow].target);
            Some((target, self.figure_of_cell(&window.flows[flow], Some(target), window, layout)?))
        });
        Some(Figures { together, alone: alone.collect() })
    }

    /// Where the figures of a window do not keep the bound. Of all streams together no stream is named.
    pub(crate) fn unkept(&self, figures: &Figures) -> Vec<Unkept> {
        let Scope::Stream(stream) = self.scope else { return Vec::new() };
        let bound = UnkeptBound { measure: self.criterion.measure, bound: self.criterion.bound };
        let alone = figures.alone.iter().map(|(target, figure)| (Some(*target), figure));
        let all = std::iter::once((None, &figures.together)).chain(alone);
        let unkept = all.filter(|(_, figure)| !figure.within);
        unkept.map(|(target, _)| Unkept { stream, target, bound }).collect()
    }

    /// Why a bound that holds in a window is not proven: the generator was late on one of the stream's targets.
    pub(crate) fn flaw_of_window(&self, window: &Window, layout: &Layout) -> Option<crate::finding::flaw::Late> {
        if !layout.times.lateness {
            return None;
        }
        self.scope.stream_range(layout).find_map(|stream| lateness::flaw_of_window(window, stream, layout))
    }

    /// How a window that was cut short broke the criterion, whatever the rest of it would have been: over all targets
    /// together, then on each alone. Empty where it did not. A figure is marked where the generator may be the reason.
    pub(crate) fn broken_by(&self, window: &Window, layout: &Layout) -> Vec<Figure> {
        let counts = !window.complete && !window.mixed && window.invalid.is_none();
        if !counts {
            return Vec::new();
        }
        let flows = self.scope.flows_judged_alone(layout);
        let target = |flow: usize| Some(usize::from(layout.flows[flow].target));
        let alone = flows.iter().map(|&flow| (&window.flows[flow], target(flow), flows.len()));
        let sum = self.scope.counters_together(window, layout);
        let together = (&sum, None, 1);
        let streams = &layout.streams[self.scope.stream_range(layout)];
        let broken = [together].into_iter().chain(alone).filter_map(|(cell, target, shares)| {
            let measured = self.value_of_cell(cell, layout)?;
            let by_the_device = self.without_the_generator(measured, cell, target, window, layout);
            let figure = |value: Value| {
                let value = at_least(value, cell, window, streams, shares)?;
                let text = format!("at least {}", value.value_text(&self.criterion.bound));
                let figure = self.figure_of(value, text, target, window, layout);
                (!figure.within && !figure.too_few).then_some(figure)
            };
            let Some(by_the_device) = figure(by_the_device) else {
                return Some(Figure { generator: true, ..figure(measured)? });
            };
            let left = window.undisturbed_work(cell, self.flows_on_target(target, layout), layout);
            let stays = left.is_none_or(|left| {
                let value = self.value_of_cell(&left.cell, layout);
                let value = value.map(|value| self.without_the_generator(value, &left.cell, target, window, layout));
                value.is_some_and(|value| figure(value.among_more(left.could)).is_some())
            });
            Some(Figure { others: !stays, ..by_the_device })
        });
        broken.collect()
    }

    fn figure_of_cell(
        &self,
        cell: &Counters,
        target: Option<usize>,
        window: &Window,
        layout: &Layout,
    ) -> Option<Figure> {
        let bound = &self.criterion.bound;
        // The work of a stream is judged over the part of the window in which it lives.
        let length_ns = self.scope.lived_ns(window.start_ns, window.end_ns, layout);
        if length_ns == 0 && bound.is_of_work() {
            return None;
        }
        let value = Value::from_work(cell, bound, length_ns).or_else(|| self.value_of_cell(cell, layout))?;
        let figure = self.figure_of(value, value.value_text(bound), target, window, layout);
        if figure.within {
            return Some(figure);
        }
        let generator = self.without_the_generator(value, cell, target, window, layout).is_within(bound);
        let others = !generator && self.holds_without_others(cell, target, window, layout, length_ns);
        let processors = !generator && !others && pressure::may_hold_without(value, bound, window.processor_pressure);
        Some(Figure { generator, others, processors, ..figure })
    }

    /// Whether a value is of fewer operations than the criterion asks for, and could keep the bound among as many.
    fn is_of_too_few(&self, value: Value) -> bool {
        let missing = self.criterion.least_operations.saturating_sub(value.operation_count());
        missing > 0 && value.among_more(missing).is_within(&self.criterion.bound)
    }

    /// Whether the bound may hold in a window if the part in which others disturbed its targets is left out, and everything
    /// that could have completed meanwhile was within it. False where nothing was disturbed.
    fn holds_without_others(
        &self,
        cell: &Counters,
        target: Option<usize>,
        window: &Window,
        layout: &Layout,
        length_ns: u64,
    ) -> bool {
        let Some(left) = window.undisturbed_work(cell, self.flows_on_target(target, layout), layout) else {
            return false;
        };
        let bound = &self.criterion.bound;
        let value = Value::from_work(&left.cell, bound, length_ns).or_else(|| self.value_of_cell(&left.cell, layout));
        let Some(value) = value else { return true };
        self.without_the_generator(value, &left.cell, target, window, layout).among_more(left.could).is_within(bound)
    }

    /// Its flows: all of them, or those on one target.
    fn flows_on_target(&self, target: Option<usize>, layout: &Layout) -> impl Iterator<Item = usize> {
        let all = self.scope.stream_range(layout).flat_map(|stream| &layout.streams[stream].flows).copied();
        all.filter(move |flow| target.is_none_or(|target| usize::from(layout.flows[*flow].target) == target))
    }

    /// What others did on the disks of its targets in a window, in words; with a target, only on that target's disks.
    pub(crate) fn others_in_window(&self, figure: &Figure, window: &Window, layout: &Layout) -> Option<OthersUse> {
        window.others_on_targets(
            |at: usize| {
                (figure.target.as_ref().is_none_or(|target| *target == layout.targets[at]))
                    && self.scope.target_indexes(layout).any(|target| target == at)
            },
            layout,
        )
    }

    /// The value of a cell; of a bound on work there is none.
    fn value_of_cell(&self, cell: &Counters, layout: &Layout) -> Option<Value> {
        let Criterion { measure, bound, .. } = &self.criterion;
        let value = Value::from_measure(cell, *measure, bound, &layout.times.thresholds);
        if self.scope.may_fail(layout) {
            value.or_else(|| Value::all_failed(cell, bound)).map(|value| value.with_failed(cell, bound))
        } else {
            value
        }
    }

    fn figure_of(&self, value: Value, text: String, target: Option<usize>, window: &Window, layout: &Layout) -> Figure {
        Figure {
            window: window.number,
            start_ns: window.start_ns,
            end_ns: window.end_ns,
            target: target.map(|target| layout.targets[target].clone()),
            value: value.as_f64(&self.criterion.bound),
            text,
            operations: value.operation_count(),
            within: value.is_within(&self.criterion.bound),
            too_few: self.is_of_too_few(value),
            processors: false,
            generator: false,
            others: false,
        }
    }

    /// The part of a value that the device caused, whatever the generator did.
    fn without_the_generator(
        &self,
        value: Value,
        cell: &Counters,
        target: Option<usize>,
        window: &Window,
        layout: &Layout,
    ) -> Value {
        let (measure, bound, thresholds) = (self.criterion.measure, &self.criterion.bound, &layout.times.thresholds);
        let on = self.scope.target_indexes(layout).filter(|at| target.is_none_or(|target| target == *at));
        if bound.is_of_work() {
            let on: Vec<usize> = on.collect();
            let late = on.iter().filter_map(|at| window.late.get(*at));
            let idle = late.map(|late| lateness::without_work_ns(late, layout)).max().unwrap_or(0);
            return value.work_without(idle.max(loops::without_work_ns(window, layout, &on)));
        }
        if !layout.times.lateness && cell.floors.is_none() {
            return value.without_own_lag(cell, measure, bound, thresholds);
        }
        let left = match lateness::given_away_ns(window, on, layout) {
            Some(by_ns) => Value::with_less_time(cell, measure, bound, thresholds, by_ns),
            None => Value::from_floor(cell, measure, bound, thresholds),
        };
        if self.scope.may_fail(layout) {
            left.map_or(value, |left| left.with_failed(cell, bound))
        } else {
            left.unwrap_or(value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::flaw::Flaw;
    use crate::fold::fixture;
    use crate::fold::late::Late;
    use assay_base::Rate;
    use assay_record::{FlowHead, Lateness, Pauses, TargetHead};

    /// Reads on two targets, a hundred in each second of the window, of which 900 of 1000 on each are over the bound.
    fn bad(lateness: bool) -> (Gauge, Window, Layout) {
        let mut header = fixture::header();
        header.targets.push(TargetHead { name: "other".into(), ..header.targets[0].clone() });
        header.flows = vec![FlowHead { stream: 0, target: 0 }, FlowHead { stream: 0, target: 1 }];
        (header.streams[0].rate, header.streams[0].arrival) = (Some(Rate::per_second(200)), "steady".into());
        header.lateness = lateness;
        let layout = Layout::new(&header, &[]).unwrap();
        let mut window = fixture::window(&layout);
        // Below 1 ms, below 8 ms, and above.
        window.flows.iter_mut().for_each(|cell| cell.response.counts = vec![100, 900, 0]);
        window.streams[0].response.counts = vec![200, 1800, 0];
        let criterion = "reads response over 1ms below 5% per 1h".parse().unwrap();
        (Gauge::new(criterion, Scope::Stream(0)), window, layout)
    }

    /// The generator let a target rest for a second although operations were due.
    fn rested(layout: &Layout) -> Lateness {
        let idle = Pauses { sum_ns: 1_000_000_000, max_ns: 1_000_000_000, count: 1 };
        Lateness {
            idle,
            idle_in: vec![layout.times.thresholds.bucket_for_time(1_000_000_000) as u64, 1_000_000_000],
            ..Lateness::default()
        }
    }

    #[test]
    fn only_a_window_that_was_cut_and_is_sound_can_be_broken_already() {
        for (complete, mixed, invalid, broken) in [
            (false, false, None, 3),
            (true, false, None, 0),
            (false, true, None, 0),
            (false, false, Some(Flaw::Slept(1)), 0),
        ] {
            let (gauge, window, layout) = bad(false);
            let window = Window { complete, mixed, invalid: invalid.clone(), ..window };
            let found = gauge.broken_by(&window, &layout);
            assert_eq!(found.len(), broken, "{complete} {mixed} {invalid:?}: together, and on each target");
            assert!(found.iter().all(|figure| !figure.generator), "by the device alone");
        }
    }

    /// Calls that the program stood still in have floors, also in logs that do not count lateness.
    #[test]
    fn a_service_is_judged_without_the_time_in_which_the_program_stood_still() {
        let (_, window, layout) = bad(false);
        let gauge = Gauge::new("reads service over 1ms below 5% per 1h".parse().unwrap(), Scope::Stream(0));
        let figure = |floor: Option<[u64; 3]>| {
            let mut window = Window { complete: true, ..fixture::window(&layout) };
            window.streams[0].service.counts = vec![900, 100, 0];
            window.streams[0].floors = floor.map(|counts| {
                let service =
                    crate::fold::counters::Lengths { counts: counts.to_vec(), ..window.streams[0].service.clone() };
                [window.streams[0].response.clone(), service]
            });
            let figure = gauge.read_window(&window, &layout).unwrap().together;
            (figure.within, figure.generator)
        };
        assert!(window.streams[0].floors.is_none());
        assert_eq!(figure(None), (false, false), "nothing is known of a stop");
        assert_eq!(figure(Some([1000, 0, 0])), (false, true), "without the stop the bound would hold");
        assert_eq!(figure(Some([910, 90, 0])), (false, false), "the device is slow besides");
    }

    /// A target that the generator let rest may have been slow because of that: what it broke is marked, and not dropped.
    #[test]
    fn what_a_cut_window_broke_is_marked_where_the_generator_may_be_the_reason() {
        let (gauge, window, layout) = bad(true);
        let mut window = Window { complete: false, late: vec![Late::default(); 2], ..window };
        let marked = |window: &Window| {
            let found = gauge.broken_by(window, &layout);
            found.iter().map(|figure| (figure.target.is_some(), figure.generator)).collect::<Vec<_>>()
        };
        assert_eq!(marked(&window), [(false, false), (true, false), (true, false)]);
        window.late[0].add_lateness(&rested(&layout), &layout.times.thresholds).unwrap();
        assert_eq!(marked(&window), [(false, true), (true, true), (true, false)], "the other target is slow by itself");
        window.streams[0].response.counts = vec![2000, 0, 0];
        window.flows.iter_mut().for_each(|cell| cell.response.counts = vec![1000, 0, 0]);
        assert_eq!(marked(&window), [], "nothing is over the bound");
    }

    /// A criterion over all streams is judged on the sum of all, whatever their targets are, and on nothing else.
    #[test]
    fn all_streams_are_judged_together_and_not_alone() {
        let (_, _, layout) = bad(false);
        let mut header = fixture::header();
        header.streams.truncate(1);
        header.streams.push(assay_record::StreamHead { name: "others".into(), ..header.streams[0].clone() });
        header.targets.push(TargetHead { name: "other".into(), ..header.targets[0].clone() });
        header.flows = [(0, 0), (0, 1), (1, 1)].map(|(stream, target)| FlowHead { stream, target }).to_vec();
        header.streams.iter_mut().for_each(|it| (it.rate, it.arrival) = (Some(Rate::per_second(200)), "steady".into()));
        let layout = Layout { times: layout.times, ..Layout::new(&header, &[]).unwrap() };
        assert_eq!(Scope::from_name("all", &layout), Some(Scope::All));
        assert_eq!(
            [Scope::from_name("others", &layout), Scope::from_name("none", &layout)],
            [Some(Scope::Stream(1)), None]
        );
        let mut window = fixture::window(&layout);
        let times = |sum_ns: u64, counts: [u64; 3]| crate::fold::counters::Lengths {
            sum_ns: u128::from(sum_ns),
            counts: counts.to_vec(),
            ..window.streams[0].response.clone()
        };
        let (slow, fast) = (times(4_000_000, [0, 2, 0]), times(1_000_000, [8, 0, 0]));
        (window.streams[0].response, window.streams[0].work.ok) = (slow, 2);
        (window.streams[1].response, window.streams[1].work.ok) = (fast, 8);
        let gauge = |criterion: &str| Gauge::new(criterion.parse().unwrap(), Scope::All);
        // Two of ten take 1 ms or longer; the mean is half a millisecond.
        for (criterion, within) in [
            ("all response over 1ms at most 20% per 1h", true),
            ("all response over 1ms below 20% per 1h", false),
            ("all response mean at most 500us per 1h", true),
            ("all response mean at most 499us per 1h", false),
        ] {
            let figures = gauge(criterion).read_window(&window, &layout).unwrap();
            assert!(figures.together.within == within && figures.alone.is_empty(), "{criterion}: {figures:?}");
            assert_eq!((figures.together.operations, &figures.together.target), (10, &None), "{criterion}");
        }
        // Cut short, it is broken when so many are over that the rest of both schedules cannot make up for it.
        let cut = Window { complete: false, ..window };
        let broken = |over: u64| {
            let mut cut = Window { flows: cut.flows.clone(), streams: cut.streams.clone(), ..fixture::window(&layout) };
            cut.complete = false;
            cut.streams[0].response.counts = vec![0, over, 0];
            gauge("all response over 1ms below 20% per 1h").broken_by(&cut, &layout).len()
        };
        let seconds = (cut.end_ns - cut.start_ns) / 1_000_000_000;
        let most = 400 * seconds + 4;
        assert_eq!([broken(most / 5 - 1), broken(most / 5 + 1)], [0, 1], "of {most} operations of both streams");
    }

    /// The target that the generator let rest may be slow because of that; the other one is slow by itself.
    #[test]
    fn what_the_generator_did_to_one_target_does_not_excuse_another() {
        let (gauge, mut window, layout) = bad(true);
        window.late = vec![Late::default(); 2];
        window.late[0].add_lateness(&rested(&layout), &layout.times.thresholds).unwrap();
        let figures = gauge.read_window(&window, &layout).unwrap();
        let alone: Vec<_> = figures.alone.iter().map(|(target, it)| (*target, it.within, it.generator)).collect();
        assert_eq!(alone, [(0, false, true), (1, false, false)]);
    }
    /// 1800 of 2000 are over the bound of 5 %.
    #[test]
    fn busy_processors_and_too_few_operations_are_marked_and_a_slow_device_is_not() {
        for (pressure, least, processors, too_few) in [
            (None, 0, false, false),
            (Some(0.5), 0, false, false),
            (Some(0.86), 0, true, false),
            (None, 2_000, false, false),
            (None, 36_000, false, false),
            (None, 36_001, false, true),
        ] {
            let (gauge, window, layout) = bad(false);
            let window = Window { processor_pressure: pressure, ..window };
            let criterion = Criterion { least_operations: least, ..gauge.criterion };
            let figure = Gauge::new(criterion, Scope::Stream(0)).read_window(&window, &layout).unwrap().together;
            let found = (figure.within, figure.processors, figure.too_few);
            assert_eq!(found, (false, processors, too_few), "{pressure:?} {least}");
        }
        let (gauge, mut window, layout) = bad(false);
        window.streams[0].response.counts = vec![10, 0, 0];
        let criterion = Criterion { least_operations: 11, ..gauge.criterion };
        let figure = Gauge::new(criterion, Scope::Stream(0)).read_window(&window, &layout).unwrap().together;
        assert!(figure.within && figure.too_few, "ten good ones say nothing either");
    }

    #[test]
    fn the_targets_of_a_criterion_are_those_of_its_streams() {
        let mut header = fixture::header();
        header.targets.push(header.targets[0].clone());
        header.flows = [(0, 1), (1, 0), (1, 1)].map(|(stream, target)| FlowHead { stream, target }).to_vec();
        let layout = Layout::new(&header, &[]).unwrap();
        let of = |of: Scope| of.target_indexes(&layout).collect::<Vec<_>>();
        assert_eq!((of(Scope::Stream(0)), of(Scope::Stream(1)), of(Scope::All)), (vec![1], vec![0, 1], vec![1, 0, 1]));
    }
}
