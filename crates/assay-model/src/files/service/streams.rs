//! The streams of a server in the log: its commits, each kind of call of each of its threads and tasks, and the spans
//! that steps mark.

use super::Service;
use super::calls::ServiceCall;
use super::step::ServiceStep;
use crate::files::sequence::SEQUENCE;
use std::collections::BTreeSet;

/// The name of the stream of commits. Each is made by calls that have streams too, as a sequence is.
pub const COMMIT: &str = "commit";

/// A stream of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServiceStream {
    /// Its name.
    pub name: String,
    /// What it counts, as the log has it.
    pub operation: &'static str,
}

/// The streams of a server with calls that end when data are durable, by their places in [`Service::streams`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DurableStreams {
    /// Those with syncs.
    pub syncs: Vec<usize>,
    /// The others, with writes to files that are open with O_DSYNC.
    pub writes: Vec<usize>,
    /// Whether one of all these also has calls that do not wait, because its steps share a name.
    pub are_mixed: bool,
}

/// The name of the stream of a step's call.
pub(super) fn stream_of_call(owner: &str, step: &ServiceStep, call: ServiceCall) -> String {
    match &step.name {
        Some(name) if !matches!(call, ServiceCall::FlushRange | ServiceCall::AwaitRange) => name.clone(),
        _ => format!("{owner}-{call}"),
    }
}

impl Service {
    /// Its streams, in the order of the log: first the commits.
    pub fn streams(&self) -> Vec<ServiceStream> {
        let mut streams = vec![ServiceStream { name: COMMIT.to_owned(), operation: SEQUENCE }];
        for (owner, step) in self.all_steps() {
            for call in step.calls(self.files[step.file].made_by) {
                add_stream(&mut streams, stream_of_call(owner, step, call), call.name());
            }
            if let Some(span) = &step.from_here {
                add_stream(&mut streams, span.clone(), SEQUENCE);
            }
        }
        streams
    }

    /// Which of its streams have calls that end when data are durable.
    pub fn durable_streams(&self) -> DurableStreams {
        let (mut syncs, mut writes, mut others) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for (owner, step) in self.all_steps() {
            let file = &self.files[step.file];
            for call in step.calls(file.made_by) {
                let is_durable_write = file.access.is_dsync() && matches!(call, ServiceCall::Write | ServiceCall::Zero);
                let of_its_sort = match call {
                    call if call.is_sync() => &mut syncs,
                    _ if is_durable_write => &mut writes,
                    _ => &mut others,
                };
                of_its_sort.insert(self.place_of_call(owner, step, call));
            }
        }
        let are_mixed = syncs.union(&writes).any(|place| others.contains(place));
        let writes = writes.difference(&syncs).copied().collect();
        DurableStreams { syncs: syncs.into_iter().collect(), writes, are_mixed }
    }

    /// The place of the stream of a step's call in [`Service::streams`].
    pub fn place_of_call(&self, owner: &str, step: &ServiceStep, call: ServiceCall) -> usize {
        self.place_of_stream(&stream_of_call(owner, step, call))
    }

    /// The place of a stream of its own.
    pub fn place_of_stream(&self, name: &str) -> usize {
        self.streams().iter().position(|stream| stream.name == name).expect("every call of a step has a stream")
    }
}

fn add_stream(streams: &mut Vec<ServiceStream>, name: String, operation: &'static str) {
    if !streams.iter().any(|known| known.name == name) {
        streams.push(ServiceStream { name, operation });
    }
}
