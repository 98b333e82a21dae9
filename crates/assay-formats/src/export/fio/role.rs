//! Which streams are of one job: those of a job file stand behind each other in the order reads, writes, flushes.

use super::super::stream_of;
use assay_base::Direction;
use assay_model::Plan;
use assay_record::{Header, StreamHead};

/// The jobs of a step.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) jobs: Vec<Job>,
    /// For each flow its stream.
    streams: Vec<usize>,
}

/// A job.
#[derive(Debug)]
pub(super) struct Job {
    /// Its streams, as indices into the header, in the order of their roles. There is at least one.
    pub(super) streams: Vec<usize>,
    /// Their flows, without those of the flush at the end.
    pub(super) flows: Vec<usize>,
    /// Its name: that of its streams without what distinguishes them.
    pub(super) name: String,
    /// The number of copies that the job file asks for, of which this is one, and the name that they share.
    pub(super) copies: Option<Copies>,
}

/// A job with several copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Copies {
    pub(super) job: String,
    pub(super) number: usize,
}

/// The role of a stream in its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Reads,
    Writes,
    /// Flushes after writes.
    Flushes,
    /// The flush when the job ends, which fio does not count.
    End,
}

impl Role {
    /// The part that a stream is, and the name of the job.
    pub(super) fn with_job(stream: &StreamHead) -> (Role, &str) {
        let name = stream.name.as_str();
        match (stream.direction, is_flush(stream), name.strip_suffix(".end-flush")) {
            (Some(Direction::Write), ..) => (Role::Writes, name.strip_suffix(".writes").unwrap_or(name)),
            (_, true, Some(job)) => (Role::End, job),
            (_, true, None) => (Role::Flushes, name.strip_suffix(".flushes").unwrap_or(name)),
            _ => (Role::Reads, name.strip_suffix(".reads").unwrap_or(name)),
        }
    }

    /// Whether `next` belongs to the job of `stream`, which stands before it.
    fn is_of_same_job(stream: &StreamHead, next: &StreamHead) -> bool {
        let ((part, job), (next_part, next_job)) = (Role::with_job(stream), Role::with_job(next));
        // Reads and writes are of one job where both say so.
        let both = next_part != Role::Writes || stream.name != job && next.name != next_job;
        let flush = next_part < Role::Flushes || next.name != next_job;
        part < next_part && job == next_job && both && flush
    }
}

/// Whether a stream flushes.
pub(super) fn is_flush(stream: &StreamHead) -> bool {
    stream.operation.as_deref() == Some("flush")
}

impl Layout {
    /// The jobs of a header. What is read back after a run is no job.
    pub(super) fn new(header: &Header, plan: Option<&Plan>) -> Result<Layout, String> {
        let streams = (0..header.flows.len()).map(|flow| stream_of(header, flow)).collect::<Result<Vec<_>, _>>()?;
        let mut jobs: Vec<Job> = Vec::new();
        for (index, stream) in header.streams.iter().enumerate() {
            if plan.and_then(|plan| plan.load.streams.get(index)).is_some_and(|planned| planned.reads_back()) {
                continue;
            }
            let last = jobs.last_mut().filter(|job| {
                job.streams
                    .last()
                    .is_some_and(|last| last + 1 == index && Role::is_of_same_job(&header.streams[*last], stream))
            });
            match last {
                Some(job) => job.streams.push(index),
                None => jobs.push(Job { streams: vec![index], flows: Vec::new(), name: String::new(), copies: None }),
            }
        }
        for job in &mut jobs {
            let flows = streams.iter().enumerate().filter(|(_, stream)| {
                job.streams.contains(stream) && Role::with_job(&header.streams[**stream]).0 != Role::End
            });
            job.flows = flows.map(|(flow, _)| flow).collect();
            let first = &header.streams[job.streams[0]];
            job.name = if job.streams.len() > 1 { Role::with_job(first).1.to_owned() } else { first.name.clone() };
        }
        let mut layout = Layout { jobs, streams };
        layout.number_copies(header);
        Ok(layout)
    }

    /// Notes which jobs are copies of one: a job file with `numjobs=2` has the jobs `reader.0` and `reader.1`.
    fn number_copies(&mut self, header: &Header) {
        let names = self.jobs.iter().map(|job| Role::with_job(&header.streams[job.streams[0]]).1);
        let numbered: Vec<Option<(String, usize)>> = names.map(copy_of).collect();
        for (at, own) in numbered.iter().enumerate() {
            let Some((job, _)) = own else { continue };
            let mut all: Vec<usize> =
                numbered.iter().flatten().filter(|(other, _)| other == job).map(|(_, number)| *number).collect();
            all.sort_unstable();
            let is_all = all.iter().enumerate().all(|(expected, number)| expected == *number);
            if all.len() > 1 && is_all {
                self.jobs[at].copies = Some(Copies { job: job.clone(), number: all.len() });
            }
        }
    }

    /// The stream of a flow.
    pub(super) fn stream_of(&self, flow: usize) -> Result<usize, String> {
        let stream = self.streams.get(flow).copied();
        stream.ok_or_else(|| format!("figures of flow {flow}, which the header does not name"))
    }
}

/// `reader.1` is copy 1 of `reader`.
fn copy_of(name: &str) -> Option<(String, usize)> {
    let (job, number) = name.rsplit_once('.')?;
    let plain = number.bytes().all(|byte| byte.is_ascii_digit()) && (number == "0" || !number.starts_with('0'));
    Some((job.to_owned(), number.parse().ok().filter(|_| plain)?))
}
