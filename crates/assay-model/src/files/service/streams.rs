//! The streams of a server in the log: its commits, each kind of call of each of its threads and tasks, and the spans
//! that steps mark.

use super::Service;
use super::calls::ServiceCall;
use super::step::ServiceStep;
use crate::files::sequence::SEQUENCE;

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
