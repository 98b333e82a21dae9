//! The figures of each measured phase, where a step has several.

use crate::fold::counters::Counters;
use crate::fold::layout::Layout;
use crate::fold::placement::Placed;
use crate::fold::times::summarize_times;
use crate::judgement::{PhaseFigures, PhaseStream, Slice};
use assay_record::{Filled, Header, PhaseKind, Times};

/// Upper bound on the distributions that are kept, of a stream in a phase each; with more there are no percentiles.
const DISTRIBUTIONS: usize = 64;

/// One phase.
#[derive(Clone, Debug)]
struct Sum {
    name: String,
    planned_ns: u64,
    measured_ns: u64,
    /// For each stream, over all its targets: the counters, and the operations that completed within the planned time.
    streams: Vec<(Counters, u64)>,
    /// The responses of each stream.
    responses: Vec<Times>,
}

/// Sums the measured phases of a step by their names, because a continued run lists only those that are left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phases {
    all: Vec<Sum>,
    /// For each phase of the current segment its index in `all`.
    current: Vec<Option<usize>>,
}

impl Phases {
    /// The state before the first interval. Nothing is summed where there is only one measured phase.
    pub(crate) fn new(header: &Header, layout: &Layout, distributions: bool) -> Phases {
        let judged: Vec<_> = header.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure).collect();
        let streams = layout.streams.len();
        let responses = if distributions && judged.len() * streams <= DISTRIBUTIONS { streams } else { 0 };
        let counters = (Counters::new(layout.times.thresholds.bucket_count()), 0);
        let sum = |phase: &&assay_record::PhaseHead| Sum {
            name: phase.name.clone(),
            planned_ns: phase.span_ns,
            measured_ns: 0,
            streams: vec![counters.clone(); streams],
            responses: vec![Times::default(); responses],
        };
        let mut phases = Phases::default();
        if judged.len() > 1 {
            phases.all = judged.iter().map(sum).collect();
        }
        phases.continue_with_segment(header);
        phases
    }

    /// Begins a segment.
    pub(crate) fn continue_with_segment(&mut self, header: &Header) {
        self.current =
            header.phases.iter().map(|phase| self.all.iter().position(|known| known.name == phase.name)).collect();
    }

    fn sum_of_phase(&mut self, phase: u16) -> Option<&mut Sum> {
        let index = (*self.current.get(usize::from(phase))?)?;
        Some(&mut self.all[index])
    }

    /// Adds an interval.
    pub(crate) fn add_interval(&mut self, placed: &Placed<'_>, layout: &Layout) {
        let Some(sum) = self.sum_of_phase(placed.interval.phase) else { return };
        let drains = layout.is_draining_at(placed.at_ns);
        if !drains {
            sum.measured_ns = sum.measured_ns.saturating_add(placed.length_ns());
        }
        for (flow, head) in placed.interval.flows.iter().zip(&layout.flows) {
            let (counters, in_time) = &mut sum.streams[usize::from(head.stream)];
            // The windows reported a bucket that does not exist.
            let _ = counters.add_interval(flow);
            if !drains {
                *in_time = in_time.saturating_add(flow.ok);
            }
        }
    }

    /// Adds the responses of a stream in a phase.
    pub(crate) fn add_times(&mut self, phase: u16, stream: usize, responses: &Filled) {
        if let Some(times) = self.sum_of_phase(phase).and_then(|sum| sum.responses.get_mut(stream)) {
            times.add_filled(responses);
        }
    }

    /// The figures; `slices` are those of the step. A slice belongs to the phase in which it begins.
    pub(crate) fn finish(self, layout: &Layout, slices: &[Slice]) -> Vec<PhaseFigures> {
        let mut begin = 0u64;
        let figures = |sum: Sum| {
            let end = begin.saturating_add(sum.planned_ns);
            let own = slices.iter().filter(|slice| (begin..end).contains(&slice.start_ns));
            let (of, within) = own.fold((0, 0), |(of, within), slice| (of + 1, within + u64::from(slice.within)));
            begin = end;
            PhaseFigures {
                streams: sum
                    .streams
                    .iter()
                    .enumerate()
                    .map(|(index, (counters, in_time))| PhaseStream {
                        name: layout.streams[index].head.name.clone(),
                        rate_achieved: (sum.measured_ns > 0).then(|| *in_time as f64 * 1e9 / sum.measured_ns as f64),
                        failed: counters.failed_operations().saturating_add(counters.work.short),
                        response: summarize_times(&counters.response, sum.responses.get(index), layout),
                    })
                    .collect(),
                name: sum.name,
                planned_ns: sum.planned_ns,
                measured_ns: sum.measured_ns,
                slices: of,
                slices_within: within,
            }
        };
        self.all.into_iter().map(figures).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use assay_record::{FlowInterval, Interval};

    fn header(names: &[&str]) -> Header {
        let phase = |name: &&str| {
            let kind = if *name == "warm-up" { "warm-up" } else { "measure" };
            serde_json::json!({"name": name, "kind": kind, "span_ns": 1_200_000_000_000u64})
        };
        let phases = names.iter().map(phase).collect::<Vec<_>>();
        Header { phases: serde_json::from_value(phases.into()).unwrap(), ..fixture::header() }
    }

    fn add(phases: &mut Phases, layout: &Layout, (phase, at_ns, ok): (u16, u64, u64)) {
        let flows = vec![FlowInterval { ok, short: 1, ..FlowInterval::default() }, FlowInterval::default()];
        let interval = Interval { phase, start_ns: at_ns, end_ns: at_ns + 10, flows, ..Interval::default() };
        phases.add_interval(
            &Placed { at_ns, joins: true, interval: &interval, carried: &[0, 0], opened: &[], disturbed: None },
            layout,
        );
    }

    fn slice(start_ns: u64, within: bool) -> Slice {
        let slice = serde_json::json!({"number": 1, "start_ns": start_ns, "end_ns": start_ns + 600_000_000_000, "complete": true,
            "valid": true, "within": within, "streams": []});
        serde_json::from_value(slice).unwrap()
    }

    #[test]
    fn a_phase_goes_on_in_another_segment_by_its_name() {
        let first = header(&["warm-up", "usual", "rise"]);
        let layout = Layout::new(&first, &[]).unwrap();
        let mut phases = Phases::new(&first, &layout, true);
        add(&mut phases, &layout, (0, 0, 100));
        add(&mut phases, &layout, (1, 0, 5));
        add(&mut phases, &layout, (2, 1_200_000_000_000, 7));
        // What is left of the second one is the first of the rest.
        phases.continue_with_segment(&header(&["warm-up", "rise"]));
        add(&mut phases, &layout, (0, 1_200_000_000_010, 100));
        add(&mut phases, &layout, (1, 1_200_000_000_010, 3));
        add(&mut phases, &layout, (9, 1_200_000_000_020, 100));
        // Completed behind the planned end: a response of the phase, and not of its rate.
        add(&mut phases, &layout, (1, layout.planned_ns, 2));
        let slices = [slice(0, true), slice(600_000_000_000, false), slice(1_200_000_000_000, true)];
        let found = phases.finish(&layout, &slices);
        let names: Vec<&str> = found.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(names, ["usual", "rise"]);
        assert_eq!((found[0].measured_ns, found[1].measured_ns), (10, 20));
        assert_eq!((found[0].slices, found[0].slices_within), (2, 1));
        assert_eq!((found[1].slices, found[1].slices_within), (1, 1));
        assert_eq!((found[0].streams[0].failed, found[1].streams[0].failed), (1, 3));
        assert_eq!(found[1].streams[0].rate_achieved, Some(10.0 * 1e9 / 20.0));
        assert_eq!(found[1].streams[1].rate_achieved, Some(0.0));
    }

    #[test]
    fn a_phase_that_was_not_reached_has_no_rate() {
        let header = header(&["usual", "rise"]);
        let layout = Layout::new(&header, &[]).unwrap();
        let mut phases = Phases::new(&header, &layout, true);
        add(&mut phases, &layout, (0, 0, 5));
        let found = phases.finish(&layout, &[]);
        assert_eq!((found[1].measured_ns, found[1].streams[0].rate_achieved), (0, None));
    }

    #[test]
    fn one_phase_has_the_figures_of_the_step() {
        let one = header(&["warm-up", "measure"]);
        let layout = Layout::new(&one, &[]).unwrap();
        let mut phases = Phases::new(&one, &layout, true);
        add(&mut phases, &layout, (1, 0, 5));
        assert_eq!(phases.finish(&layout, &[]), []);
    }

    #[test]
    fn many_phases_have_no_distributions() {
        let names: Vec<String> = (0..33).map(|index| format!("p{index}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (some, many) = (header(&names[..32]), header(&names));
        let kept = |header: &Header| {
            let layout = Layout::new(header, &[]).unwrap();
            Phases::new(header, &layout, true).all[0].responses.len()
        };
        assert_eq!((kept(&some), kept(&many)), (2, 0));
    }
}
