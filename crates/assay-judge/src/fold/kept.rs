//! The slices that a result lists.

use crate::fold::counters::Counters;
use crate::fold::layout::Layout;
use crate::fold::stream_layout::StreamLayout;
use crate::fold::window::Window;
use crate::judgement::{Slice, SliceStream};
use assay_base::Span;

/// Number of slices kept in full; of further slices only broken ones are kept.
const SLICES: usize = 2000;

/// Keeps the slices of a step.
#[derive(Debug, Default)]
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
    pub(crate) fn keep(&mut self, window: &Window, came_out: CameOut, usual_ns: u64, layout: &Layout) {
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
            note: note(window, came_out, usual_ns),
            streams: streams(window, layout),
        });
    }
}

fn note(window: &Window, CameOut { within, flaw }: CameOut, usual_ns: u64) -> Option<String> {
    let length = window.end_ns.saturating_sub(window.start_ns);
    if !window.complete {
        let state = if within { "not complete, does not count" } else { "not complete, and broken already" };
        Some(state.to_owned())
    } else if flaw.is_some() {
        flaw.map(str::to_owned)
    } else if window.repeated {
        Some("measured once more".to_owned())
    } else {
        (length < usual_ns).then(|| format!("{} long", Span::from_ns(length).human()))
    }
}

fn streams(window: &Window, layout: &Layout) -> Vec<SliceStream> {
    let mut entries = Vec::new();
    for (stream, StreamLayout { flows, .. }) in layout.streams.iter().enumerate() {
        if flows.len() != 1 {
            entries.push(slice_stream(stream, None, &window.streams[stream], layout));
        }
        entries.extend(
            flows.iter().map(|&flow| slice_stream(stream, Some(layout.target_of(flow)), &window.flows[flow], layout)),
        );
    }
    entries
}

/// The figures of a stream in a slice, on one target or on all.
fn slice_stream(stream: usize, target: Option<&str>, cell: &Counters, layout: &Layout) -> SliceStream {
    SliceStream {
        stream: layout.streams[stream].head.name.clone(),
        target: target.map(str::to_owned),
        counts: cell.counts(),
        response: cell.response.slice_times(&layout.times.thresholds, &layout.times.shown),
        service: cell.service.slice_times(&layout.times.thresholds, &layout.times.shown),
        own_lag_p99_below_ns: cell.own_lag.p99_between(&layout.times.thresholds).and_then(|(_, upper)| upper),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::window::Windows;
    use crate::fold::{fixture, placement::Placed};
    use assay_record::{FlowInterval, Interval};

    #[test]
    fn of_too_many_slices_the_broken_ones_are_listed() {
        let layout = Layout::new(&fixture::header(), &[]).unwrap();
        let mut windows = Windows::new(Some(100), 1000);
        let interval = Interval { end_ns: 100, flows: vec![FlowInterval::default(); 2], ..Interval::default() };
        windows.add(
            &Placed { at_ns: 0, joins: true, interval: &interval, carried: &[0, 0], opened: &[], disturbed: None },
            &layout,
        );
        let window = windows.close(&layout).unwrap();
        let mut kept = KeptSlices::default();
        let (holds, flawed) = (CameOut { within: true, flaw: None }, CameOut { within: true, flaw: Some("why") });
        (0..SLICES).for_each(|_| kept.keep(&window, holds, 100, &layout));
        for (came_out, slices, left_out) in [(holds, 0, 1), (BROKEN, 1, 1), (flawed, 2, 1), (holds, 2, 2)] {
            kept.keep(&window, came_out, 100, &layout);
            assert_eq!((kept.slices.len(), kept.left_out), (SLICES + slices, left_out), "{came_out:?}");
        }
        (0..2 * SLICES).for_each(|_| kept.keep(&window, BROKEN, 100, &layout));
        assert_eq!((kept.slices.len(), kept.left_out), (2 * SLICES, 2004), "a log may hold any number");
    }

    #[test]
    fn a_note_says_what_is_special() {
        let layout = Layout::new(&fixture::header(), &[]).unwrap();
        let mut windows = Windows::new(Some(100), 1000);
        let interval = Interval { end_ns: 100, flows: vec![FlowInterval::default(); 2], ..Interval::default() };
        windows.add(
            &Placed { at_ns: 0, joins: true, interval: &interval, carried: &[0, 0], opened: &[], disturbed: None },
            &layout,
        );
        let whole = windows.close(&layout).unwrap();
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
            assert_eq!(note(window, came_out, usual_ns).as_deref(), expected, "{came_out:?} {usual_ns}");
        }
    }
}
