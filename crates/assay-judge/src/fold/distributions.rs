//! Complete distributions of the measured time, for each stream and each flow.

use crate::fold::layout::Layout;
use assay_record::{Filled, FlowHistograms, Times, Unpacker};

/// Number of flows whose distributions are kept separately; with more flows, only those of whole streams are kept.
const FLOW_TIMES: usize = 64;

/// Response, service and lag.
pub(crate) type Three = [Times; 3];

/// Sums the distributions of a step.
#[derive(Clone, Debug)]
pub(crate) struct Distributions {
    /// One for each flow, where its stream has several.
    pub(crate) flows: Vec<Option<Three>>,
    /// One for each stream.
    pub(crate) streams: Vec<Option<Three>>,
    /// Whether the log should contain them.
    pub(crate) expected: bool,
    unpacker: Unpacker,
    /// The last three that were read.
    latest: [Filled; 3],
}

impl Distributions {
    /// Empty distributions.
    pub(crate) fn new(layout: &Layout, expected: bool) -> Distributions {
        Distributions {
            flows: vec![None; layout.flows.len()],
            streams: vec![None; layout.streams.len()],
            expected,
            unpacker: Unpacker::default(),
            latest: Default::default(),
        }
    }

    /// Adds a flow's distributions; returns its stream, with response, service and lag. The error says what is wrong with them.
    pub(crate) fn add_flow(&mut self, flow: &FlowHistograms, layout: &Layout) -> Result<(usize, &[Filled; 3]), String> {
        let index = usize::from(flow.flow);
        let head = layout.flows.get(index);
        let head = head.ok_or_else(|| format!("distributions of flow {index}, which is not there"))?;
        let texts = [&flow.response, &flow.service, &flow.lag];
        for ((into, text), overflow) in self.latest.iter_mut().zip(texts).zip(flow.overflow) {
            self.unpacker.unpack_into(text, overflow, into)?;
        }
        let stream = usize::from(head.stream);
        let alone = layout.streams[stream].flows.len() == 1;
        if !alone && layout.flows.len() <= FLOW_TIMES {
            add_times(&mut self.flows[index], &self.latest);
        }
        add_times(&mut self.streams[stream], &self.latest);
        Ok((stream, &self.latest))
    }
}

fn add_times(sum: &mut Option<Three>, latest: &[Filled; 3]) {
    let sum = sum.get_or_insert_with(Default::default);
    sum.iter_mut().zip(latest).for_each(|(sum, times)| sum.add_filled(times));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use assay_base::Span;
    use assay_record::{FlowHead, OperationTimes, Recorder, Thresholds};

    /// The distributions of a flow are kept where its stream has several, up to sixty-four flows.
    #[test]
    fn distributions_of_flows_are_kept_where_they_differ_from_their_streams() {
        for (flows, kept) in [(1, false), (2, true), (64, true), (65, false)] {
            let mut header = fixture::header();
            header.flows = vec![FlowHead { stream: 0, target: 0 }; flows];
            let layout = Layout::new(&header, &[]).unwrap();
            let mut recorder = Recorder::new(Thresholds::new([]), 1);
            let (response, service, lag) = (Span::from_us(30), Span::from_us(20), Span::from_us(10));
            recorder.count_completed(0, 512, OperationTimes { response, service, lag, ..OperationTimes::default() });
            let lines = recorder.take_frame(0, 0, 1, 0, true).histograms_line().unwrap();
            let mut distributions = Distributions::new(&layout, true);
            distributions.add_flow(&lines.flows[0], &layout).unwrap();
            assert_eq!(distributions.flows[0].is_some(), kept, "{flows}");
            let times = distributions.streams[0].as_ref().unwrap();
            assert_eq!(times.each_ref().map(Times::total_count), [1; 3], "{flows}");
            let alien = FlowHistograms { flow: flows as u16, ..lines.flows[0].clone() };
            assert!(distributions.add_flow(&alien, &layout).unwrap_err().contains("which is not there"));
        }
    }
}
