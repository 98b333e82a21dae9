//! Makes the row of a run from the entries of its log.

use super::line::{Row, SmallFiles};
use super::test::{Figure, Test};
use crate::export::{Sink, is_measured, write_error};
use assay_base::Span;
use assay_model::Plan;
use assay_model::files::{FileSize, PlannedFiles, TreeShape};
use assay_record::{CloseReason, Header, Histograms, Interval};
use std::fmt::Write;

/// The words of the operations that move the bytes of a test.
const MOVING: [&str; 3] = ["write", "rmw", "read"];

/// Collects what the tests of a run have measured.
#[derive(Clone, Debug, Default)]
pub struct RowCollector {
    row: Row,
    /// The name to write in place of that of the machine.
    name: Option<String>,
    /// The phase that the entries are of, where it is a test.
    running: Option<RunningTest>,
    has_begun: bool,
}

/// A test whose entries come.
#[derive(Clone, Debug)]
struct RunningTest {
    test: Test,
    header: Header,
    /// The flows that count.
    flows: Vec<usize>,
    begin_ns: u64,
    figure: Figure,
}

impl RowCollector {
    /// A collector that writes this name in place of that of the machine.
    pub fn with_name(name: Option<String>) -> RowCollector {
        RowCollector { name, ..RowCollector::default() }
    }

    /// What was collected so far.
    pub fn row(&mut self) -> &Row {
        self.keep_figure();
        &self.row
    }

    /// The test whose entries come.
    pub fn current_test(&self) -> Option<Test> {
        self.running.as_ref().map(|running| running.test)
    }

    /// A phase begins, which may be a test.
    ///
    /// # Errors
    /// The plan of the header is not one of clients on files.
    pub fn begin_phase(&mut self, header: &Header) -> Result<(), String> {
        self.keep_figure();
        self.running = None;
        let files = planned_files(header)?;
        if !self.has_begun {
            self.has_begun = true;
            self.row.seed = header.seed;
            let machine = header.host.get("hostname").unwrap_or(&header.name).clone();
            self.row.name = self.name.clone().unwrap_or(machine);
        }
        let Some(test) = Test::from_phase_name(&files.current_phase().name) else { return Ok(()) };
        self.describe_files(test, &files, header.seed);
        let flows = flows_of_test(test, &files, header);
        let figure = Figure::default();
        self.running = Some(RunningTest { test, header: header.clone(), flows, begin_ns: 0, figure });
        Ok(())
    }

    /// An interval of the phase.
    pub fn add_interval(&mut self, interval: &Interval) {
        let Some(running) = self.running.as_mut().filter(|running| is_measured(&running.header, interval.phase)) else {
            return;
        };
        if running.figure.elapsed == Span::ZERO {
            running.begin_ns = interval.start_ns;
        }
        let figure = &mut running.figure;
        figure.elapsed = Span::from_ns(interval.end_ns.saturating_sub(running.begin_ns));
        let processor_ns = interval.host.as_ref().map_or(0, |host| host.cpu_ns);
        figure.processor = figure.processor + Span::from_ns(processor_ns);
        for flow in running.flows.iter().filter_map(|flow| interval.flows.get(*flow)) {
            figure.amount += if running.test.counts_bytes() { flow.bytes } else { flow.ok };
            figure.longest = figure.longest.max(Span::from_ns(flow.service.max_ns));
        }
    }

    /// The phase is over. One that was cut short has no figure: it would look like that of the whole test.
    pub fn end_phase(&mut self, reason: CloseReason) {
        if reason != CloseReason::Completed {
            self.running = None;
        }
    }

    /// Puts what the phase has measured into the row.
    fn keep_figure(&mut self) {
        let Some(RunningTest { test, figure, .. }) = &self.running else { return };
        if *figure == Figure::default() {
            return;
        }
        self.row.figures[test.number()] = Some(*figure);
        if let Some(large) = self.row.large.as_mut().filter(|large| *test == Test::Seeks && large.seeks == 0) {
            large.seeks = figure.amount;
        }
    }

    fn describe_files(&mut self, test: Test, files: &PlannedFiles, seed: u64) {
        let workload = &files.workload;
        if test.is_on_files() {
            let (largest, smallest) = sizes(&workload.tree.size);
            let shape = TreeShape::new(&workload.tree, workload.clients, seed);
            // Our own directory is one of them, and has no files where there are others.
            let directories = shape.map_or(0, |shape| shape.directories().saturating_sub(1));
            let chunk = workload.io.get();
            let small = SmallFiles { files: workload.tree.files.into(), largest, smallest, directories, chunk };
            (self.row.small, self.row.concurrency) = (Some(small), workload.clients);
            return;
        }
        let large = self.row.large.get_or_insert_default();
        let phase = files.current_phase();
        let sequences = &phase.sequences;
        match test {
            Test::WriteChars | Test::ReadChars => return,
            Test::WriteBlocks => {
                let written = sequences.iter().find_map(|sequence| sequence.size);
                large.size = written.map_or_else(|| sizes(&workload.tree.size).0, |size| size.get());
            }
            Test::Seeks => {
                large.seekers = workload.clients;
                large.seeks = phase.count.unwrap_or(0);
            }
            _ => {}
        }
        let own = sequences.iter().find_map(|sequence| sequence.io);
        large.chunk = own.unwrap_or(workload.io).get();
    }
}

/// What the plan of a header says about clients on files.
fn planned_files(header: &Header) -> Result<PlannedFiles, String> {
    let plan: Option<Plan> = serde_json::from_value(header.plan.clone()).ok();
    let files = plan.as_ref().and_then(|plan| plan.load.files()).cloned();
    files.ok_or_else(|| "it is no run on a directory: run the workload bonnie, or assay as bonnie++".to_owned())
}

/// The flows that count for a test: those of the operations that move its bytes, or those of its sequences.
fn flows_of_test(test: Test, files: &PlannedFiles, header: &Header) -> Vec<usize> {
    let sequences = files.current_phase().sequences;
    let mut flows = Vec::new();
    for (flow, head) in header.flows.iter().enumerate() {
        let Some(stream) = header.streams.get(usize::from(head.stream)) else { continue };
        let counts = if test.counts_bytes() {
            MOVING.contains(&stream.name.as_str())
        } else {
            sequences.iter().any(|sequence| sequence.name == stream.name)
        };
        if counts {
            flows.push(flow);
        }
    }
    flows
}

/// The largest and the smallest size.
fn sizes(size: &FileSize) -> (u64, u64) {
    match size {
        FileSize::Fixed(bytes) => (bytes.get(), bytes.get()),
        FileSize::Between { from, to } => (to.get(), from.get()),
        other => (other.mean() as u64, 0),
    }
}

impl Sink for RowCollector {
    fn begin_segment(&mut self, header: &Header, _: &mut dyn Write) -> Result<(), String> {
        self.begin_phase(header)
    }

    fn take_interval(&mut self, interval: &Interval, _: &mut dyn Write) -> Result<(), String> {
        self.add_interval(interval);
        Ok(())
    }

    fn end_segment(&mut self, reason: CloseReason) {
        self.end_phase(reason);
    }

    fn take_histograms(&mut self, _: &Histograms, _: &mut dyn Write) -> Result<(), String> {
        Ok(())
    }

    fn end_log(&mut self, out: &mut dyn Write) -> Result<(), String> {
        let row = self.row();
        if row.figures.iter().all(Option::is_none) {
            let names: Vec<&str> = Test::ALL.into_iter().map(Test::phase_name).collect();
            return Err(format!(
                "none of its phases is a test of bonnie++, which are {}: run the workload bonnie",
                names.join(", ")
            ));
        }
        writeln!(out, "{}", row.text()).map_err(write_error)
    }
}
