//! The slices that a result lists.

use crate::fold::layout::Layout;
use crate::fold::stream_layout::StreamLayout;
use crate::fold::window::Window;
use crate::judgement::{Slice, SliceStream};
use crate::rules::gauge::Unkept;
use assay_base::Span;

/// Number of slices kept in full; of further slices only broken ones are kept.
const SLICES: usize = 2000;

/// Keeps the slices of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptSlices {
    /// The slices in the order in which they ended.
    pub(crate) slices: Vec<Slice>,
    /// How many are not listed.
    pub(crate) left_out: u64,
}

/// The outcome of a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CameOut {
    /// No criterion is broken in it.
    pub(crate) within: bool,
    /// Why it proves nothing, where its window does not say so.
    pub(crate) flaw: Option<&'static str>,
}

/// The outcome of a slice that was cut short and already broken.
pub(crate) const BROKEN: CameOut = CameOut { within: false, flaw: None };

impl KeptSlices {
    /// Keeps a slice; `usual_ns` is the planned length of a slice.
    pub(crate) fn keep_slice(&mut self, window: &Window, came_out: CameOut, usual_ns: u64, layout: &Layout) {
        let CameOut { within, flaw } = came_out;
        let full = self.slices.len() >= SLICES;
        if full && (within && flaw.is_none() || self.slices.len() >= 2 * SLICES) {
            self.left_out += 1;
            return;
        }
        self.slices.push(Slice {
            number: window.number,
            start_ns: window.start_ns,
            end_ns: window.end_ns,
            complete: window.complete,
            valid: window.invalid.is_none() && flaw.is_none(),
            within,
            note: slice_note(window, came_out, usual_ns),
            streams: slice_streams(window, layout),
        });
    }

    /// Notes which streams do not keep which bounds in the slice that ended last; nothing where it is not listed.
    pub(crate) fn mark(&mut self, window: &Window, unkept: &[Unkept], layout: &Layout) {
        let last = self.slices.last_mut().filter(|slice| slice.number == window.number && slice.complete);
        let Some(slice) = last else { return };
        for (entry, listed) in slice.streams.iter_mut().zip(listed_streams(layout)) {
            let own = unkept.iter().filter(|unkept| listed.is_about(unkept, layout));
            entry.unkept.extend(own.map(|unkept| unkept.bound));
        }
    }
}

/// A stream of which a slice has an entry.
#[derive(Clone, Copy, Debug)]
struct ListedStream {
    /// Its index.
    stream: usize,
    /// The only flow that the entry is about; `None` for all of them together.
    flow: Option<usize>,
}

impl ListedStream {
    /// Whether it is the one that does not keep a bound. A stream with one flow has one entry: for its target, and for all
    /// targets together.
    fn is_about(self, unkept: &Unkept, layout: &Layout) -> bool {
        let target = self.flow.map(|flow| usize::from(layout.flows[flow].target));
        let is_only = layout.streams[self.stream].flows.len() == 1;
        self.stream == unkept.stream && (target == unkept.target || is_only && unkept.target.is_none())
    }
}

/// What the entries of a slice are about, in their order: all flows of a stream together, where there are several, and
/// then each of them.
fn listed_streams(layout: &Layout) -> Vec<ListedStream> {
    let mut listed = Vec::new();
    for (stream, StreamLayout { flows, .. }) in layout.streams.iter().enumerate() {
        if flows.len() != 1 {
            listed.push(ListedStream { stream, flow: None });
        }
        listed.extend(flows.iter().map(|&flow| ListedStream { stream, flow: Some(flow) }));
    }
    listed
}

fn slice_note(window: &Window, CameOut { within, flaw }: CameOut, usual_ns: u64) -> Option<String> {
    let length = window.end_ns.saturating_sub(window.start_ns);
    if !window.complete {
        let state = if within { "not complete, does not count" } else { "not complete, and broken already" };
        Some(state.to_owned())
    } else if flaw.is_some() {
        flaw.map(str::to_owned)
    } else if window.repeated {
        Some("measured once more".to_owned())
    } else {
        (length < usual_ns).then(|| format!("{} long", Span::from_ns(length).human_text()))
    }
}

fn slice_streams(window: &Window, layout: &Layout) -> Vec<SliceStream> {
    let listed = listed_streams(layout).into_iter();
    listed.map(|listed| slice_stream(listed, window, layout)).collect()
}

/// The figures of a stream in a slice, on one target or on all.
fn slice_stream(listed: ListedStream, window: &Window, layout: &Layout) -> SliceStream {
    let ListedStream { stream, flow } = listed;
    let cell = flow.map_or(&window.streams[stream], |flow| &window.flows[flow]);
    SliceStream {
        stream: layout.streams[stream].head.name.clone(),
        target: flow.map(|flow| layout.target_of(flow).to_owned()),
        counts: cell.reported_counts(),
        response: cell.response.slice_times(&layout.times.thresholds, &layout.times.shown),
        service: cell.service.slice_times(&layout.times.thresholds, &layout.times.shown),
        own_lag_p99_below_ns: cell.own_lag.p99_between(&layout.times.thresholds).and_then(|(_, upper)| upper),
        unkept: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::window::Windows;
    use crate::fold::{fixture, placement::Placed};
    use crate::judgement::UnkeptBound;
    use assay_base::{Bound, Measure};
    use assay_record::{FlowHead, FlowInterval, Interval};

    #[test]
    fn of_too_many_slices_the_broken_ones_are_listed() {
        let layout = Layout::new(&fixture::header(), &[]).unwrap();
        let mut windows = Windows::beginning_at(0, Some(100), 1000);
        let interval = Interval { end_ns: 100, flows: vec![FlowInterval::default(); 2], ..Interval::default() };
        windows.add_interval(
            &Placed { at_ns: 0, joins: true, interval: &interval, carried: &[0, 0], opened: &[], disturbed: None },
            &layout,
        );
        let window = windows.close_open_window(&layout).unwrap();
        let mut kept = KeptSlices::default();
        let (holds, flawed) = (CameOut { within: true, flaw: None }, CameOut { within: true, flaw: Some("why") });
        (0..SLICES).for_each(|_| kept.keep_slice(&window, holds, 100, &layout));
        for (came_out, slices, left_out) in [(holds, 0, 1), (BROKEN, 1, 1), (flawed, 2, 1), (holds, 2, 2)] {
            kept.keep_slice(&window, came_out, 100, &layout);
            assert_eq!((kept.slices.len(), kept.left_out), (SLICES + slices, left_out), "{came_out:?}");
        }
        (0..2 * SLICES).for_each(|_| kept.keep_slice(&window, BROKEN, 100, &layout));
        assert_eq!((kept.slices.len(), kept.left_out), (2 * SLICES, 2004), "a log may hold any number");
    }

    /// Simulated targets may have the same name, so that the place of a figure is found by its index.
    #[test]
    fn a_bound_that_is_not_kept_is_noted_of_its_stream_and_target_alone() {
        let mut header = fixture::header();
        header.targets.push(header.targets[0].clone());
        header.flows = [(0, 0), (0, 1), (1, 1)].map(|(stream, target)| FlowHead { stream, target }).to_vec();
        let layout = Layout::new(&header, &[]).unwrap();
        let window = fixture::window(&layout);
        let bound = UnkeptBound { measure: Measure::Response, bound: Bound::MeanAtMost(Span::from_ms(1)) };
        for (stream, target, marked) in
            [(0, None, [1, 0, 0, 0]), (0, Some(0), [0, 1, 0, 0]), (0, Some(1), [0, 0, 1, 0]), (1, None, [0, 0, 0, 1])]
        {
            let mut kept = KeptSlices::default();
            kept.keep_slice(&window, BROKEN, 100, &layout);
            kept.mark(&window, &[Unkept { stream, target, bound }], &layout);
            let found: Vec<_> = kept.slices[0].streams.iter().map(|entry| entry.unkept.len()).collect();
            assert_eq!(found, marked, "{stream} {target:?}");
            let next = Window { number: 3, ..window.clone() };
            kept.mark(&next, &[Unkept { stream, target, bound }], &layout);
            assert_eq!(kept.slices[0].streams.iter().map(|entry| entry.unkept.len()).sum::<usize>(), 1, "not listed");
        }
    }

    #[test]
    fn a_note_says_what_is_special() {
        let layout = Layout::new(&fixture::header(), &[]).unwrap();
        let mut windows = Windows::beginning_at(0, Some(100), 1000);
        let interval = Interval { end_ns: 100, flows: vec![FlowInterval::default(); 2], ..Interval::default() };
        windows.add_interval(
            &Placed { at_ns: 0, joins: true, interval: &interval, carried: &[0, 0], opened: &[], disturbed: None },
            &layout,
        );
        let whole = windows.close_open_window(&layout).unwrap();
        let (holds, flawed) = (CameOut { within: true, flaw: None }, CameOut { within: true, flaw: Some("why") });
        let cut = Window { complete: false, ..whole.clone() };
        let repeated = Window { repeated: true, ..whole.clone() };
        for (window, came_out, usual_ns, expected) in [
            (&whole, holds, 100, None),
            (&whole, BROKEN, 100, None),
            (&whole, flawed, 100, Some("why")),
            (&whole, holds, 1000, Some("100 ns long")),
            (&repeated, holds, 1000, Some("measured once more")),
            (&cut, holds, 100, Some("not complete, does not count")),
            (&cut, BROKEN, 100, Some("not complete, and broken already")),
        ] {
            assert_eq!(slice_note(window, came_out, usual_ns).as_deref(), expected, "{came_out:?} {usual_ns}");
        }
    }
}
