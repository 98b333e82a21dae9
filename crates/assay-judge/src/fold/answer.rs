//! The figure by which a question is answered in one line: the percentile that the first such criterion bounds, over the
//! whole measured time and in its worst window.

use crate::fold::layout::Layout;
use crate::judgement::AnswerFigures;
use assay_base::{Criterion, Measure};
use assay_record::{Filled, Times};

/// Collects the times of one stream, window by window.
#[derive(Clone, Debug)]
pub(crate) struct AnswerFold {
    criterion: Criterion,
    /// Index of its stream.
    stream: usize,
    /// `p99`
    percentile: String,
    quantile: f64,
    slice_ns: u64,
    whole: Times,
    window: Times,
    /// The window that `window` holds.
    number: u64,
    worst: Option<WorstWindow>,
}

/// The window with the largest percentile.
#[derive(Clone, Copy, Debug)]
struct WorstWindow {
    number: u64,
    time_ns: u64,
}

impl AnswerFold {
    /// Follows the first criterion on a percentile; `None` where there is none, or where nothing is asked in one line.
    pub(crate) fn new(is_asked: bool, criteria: &[Criterion], slice_ns: u64, layout: &Layout) -> Option<AnswerFold> {
        if !is_asked {
            return None;
        }
        let on_percentile = |criterion: &Criterion| Some((criterion.clone(), criterion.bound.limited_percentile()?));
        let (criterion, (percentile, within)) = criteria.iter().find_map(on_percentile)?;
        let stream = layout.streams.iter().position(|stream| stream.head.name == criterion.stream)?;
        let (whole, window) = (Times::default(), Times::default());
        Some(AnswerFold {
            criterion,
            stream,
            percentile,
            quantile: within.as_f64(),
            slice_ns: slice_ns.max(1),
            whole,
            window,
            number: 0,
            worst: None,
        })
    }

    /// Adds response, service and lag of a stream, from around this moment of measured time.
    pub(crate) fn add_times(&mut self, at_ns: u64, stream: usize, times: &[Filled; 3]) {
        if stream != self.stream {
            return;
        }
        let number = at_ns / self.slice_ns + 1;
        if number != self.number {
            self.end_window();
            self.number = number;
        }
        let of_measure = &times[usize::from(self.criterion.measure == Measure::Service)];
        self.window.add_filled(of_measure);
    }

    fn end_window(&mut self) {
        let time_ns = self.window.quantile(self.quantile).map(|time| time.as_ns());
        if let Some(time_ns) = time_ns.filter(|time| self.worst.is_none_or(|worst| *time > worst.time_ns)) {
            self.worst = Some(WorstWindow { number: self.number, time_ns });
        }
        self.whole.add(&self.window);
        self.window.clear();
    }

    /// The figures; `None` where nothing completed.
    pub(crate) fn finish(mut self) -> Option<AnswerFigures> {
        self.end_window();
        let worst = self.worst?;
        let threshold = self.criterion.bound.threshold()?;
        Some(AnswerFigures {
            stream: self.criterion.stream.clone(),
            percentile: self.percentile,
            bound_ns: threshold.as_ns(),
            whole_ns: self.whole.quantile(self.quantile)?.as_ns(),
            worst_ns: worst.time_ns,
            worst_window: worst.number,
            window_ns: self.slice_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use assay_base::Span;
    use assay_record::{OperationTimes, Recorder, Thresholds, Unpacker};

    fn filled(ms: u64, many: u64) -> [Filled; 3] {
        let mut recorder = Recorder::new(Thresholds::new([]), 1);
        for _ in 0..many {
            let (response, service) = (Span::from_ms(ms * 10), Span::from_ms(ms));
            recorder.count_completed(0, 1, OperationTimes { response, service, ..OperationTimes::default() });
        }
        let line = recorder.take_frame(0, 0, 1, 0, true).histograms_line().unwrap();
        let flow = &line.flows[0];
        [&flow.response, &flow.service, &flow.lag].map(|text| {
            let mut into = Filled::default();
            Unpacker::default().unpack_into(text, 0, &mut into).unwrap();
            into
        })
    }

    #[test]
    fn the_worst_window_is_found_and_the_whole_is_no_mean_of_windows() {
        let layout = Layout::new(&fixture::header(), &[]).unwrap();
        let criteria: Vec<Criterion> =
            ["reads service over 1s at most 0% per 10s", "writes service over 10ms at most 1% per 10s"]
                .iter()
                .map(|text| text.parse().unwrap())
                .collect();
        let slice_ns = 10_000_000_000;
        assert!(AnswerFold::new(false, &criteria, slice_ns, &layout).is_none(), "nothing is asked");
        assert!(AnswerFold::new(true, &criteria[..1], slice_ns, &layout).is_none(), "a maximum is no percentile");
        let mut answer = AnswerFold::new(true, &criteria, slice_ns, &layout).unwrap();
        answer.add_times(5_000_000_000, 1, &filled(2, 1000));
        answer.add_times(5_000_000_000, 0, &filled(90, 1000));
        answer.add_times(15_000_000_000, 1, &filled(8, 5));
        answer.add_times(25_000_000_000, 1, &filled(3, 1000));
        let figures = answer.finish().unwrap();
        assert_eq!(
            (figures.percentile.as_str(), figures.bound_ns, figures.stream.as_str()),
            ("p99", 10_000_000, "writes")
        );
        let near = |ns: u64, ms: u64| ns.abs_diff(ms * 1_000_000) < 10_000;
        assert!(near(figures.worst_ns, 8) && figures.worst_window == 2, "{figures:?}");
        assert!(near(figures.whole_ns, 3), "{figures:?}");
    }
}
