//! The figures for the report, as far as they are in the log of a mail store.

use super::layout::{Layout, Role};
use super::sums::{Count, Io, Samples};
use assay_model::Plan;
use assay_model::mail::SAMPLE;
use assay_record::{Header, Interval, PhaseKind, Times};

/// The figures that were found in the log so far.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) plan: Plan,
    pub(super) layout: Layout,
    /// Measured time that the current segment of the log still has. Intervals after that only drain operations in
    /// flight, and add no time.
    pub(super) left_ns: u64,
    pub(super) measured_ns: u64,
    /// The I/O of each database.
    pub(super) io: Vec<Io>,
    /// Pages by which each database has grown, including the warm-up.
    pub(super) grown: Vec<u64>,
    /// The response times of each stream of the plan.
    pub(super) response: Vec<Times>,
    pub(super) samples: Vec<Samples>,
    pub(super) errors: Vec<u64>,
    pub(super) read_back: ReadBack,
}

/// The result of the read-back after the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadBack {
    pub(super) verified: u64,
    pub(super) unverified: u64,
    pub(super) damaged: u64,
}

impl Found {
    pub(super) fn new(header: &Header) -> Result<Found, String> {
        let plan: Option<Plan> = serde_json::from_value(header.plan.clone()).ok();
        let plan = plan.filter(|plan| plan.load.mail().is_some());
        let plan = plan.ok_or("this is not the log of a mail store: jetstress-like is for `model = \"mail\"`")?;
        let layout = Layout::new(&plan, header)?;
        let streams = plan.load.streams.len();
        Ok(Found {
            left_ns: 0,
            io: vec![Io::default(); layout.databases],
            grown: vec![0; layout.databases],
            response: vec![Times::default(); streams],
            samples: vec![Samples::new(SAMPLE.as_ns()); streams],
            errors: vec![0; streams],
            measured_ns: 0,
            read_back: ReadBack::default(),
            layout,
            plan,
        })
    }

    /// A segment of the log begins. A segment that continues a run may repeat a part that was cut; both parts are in
    /// the sums, with the time of both.
    pub(super) fn begin_segment(&mut self, header: &Header) {
        let measured = header.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
        self.left_ns = measured.fold(0, |sum: u64, phase| sum.saturating_add(phase.span_ns));
    }

    pub(super) fn add_interval(&mut self, interval: &Interval, is_measured: bool) {
        let at_ns = self.measured_ns;
        let length_ns = interval.end_ns.saturating_sub(interval.start_ns);
        if is_measured {
            let counts = length_ns.min(self.left_ns);
            self.left_ns -= counts;
            self.measured_ns = at_ns.saturating_add(counts);
        }
        for (flow, cell) in self.layout.flows.iter().zip(&interval.flows) {
            self.errors[flow.stream] = self.errors[flow.stream].saturating_add(cell.failed_operations());
            match flow.part {
                Role::ReadBack => {
                    let ReadBack { verified, unverified, damaged } = self.read_back;
                    self.read_back = ReadBack {
                        verified: verified.saturating_add(cell.verified),
                        unverified: unverified.saturating_add(cell.unverified),
                        damaged: damaged.saturating_add(cell.damaged),
                    };
                }
                Role::Extends => self.grown[flow.database] = self.grown[flow.database].saturating_add(cell.ok),
                _ => {}
            }
            if is_measured && flow.part != Role::ReadBack {
                let count = Count {
                    operations: cell.ok,
                    bytes: cell.bytes,
                    response_ns: cell.response.sum_ns,
                    service_ns: cell.service.sum_ns,
                };
                self.io[flow.database].count_mut(flow.part).add(count);
                self.samples[flow.stream].add_operations(at_ns, count);
            }
        }
        if is_measured {
            self.samples.iter_mut().for_each(|samples| samples.reach_time(at_ns.saturating_add(length_ns)));
        }
    }
}
