//! The steps of a server with the flows that count their calls.

use assay_model::files::service::{Service, ServiceCall, ServiceStep};
use std::sync::Arc;

/// A step, with what is known of it before the run.
#[derive(Debug)]
pub(super) struct PreparedStep {
    /// Its number among all steps, for what is remembered from one time to the next.
    pub(super) number: usize,
    pub(super) step: ServiceStep,
    /// The flow of each call that it may make.
    flows: Vec<(ServiceCall, usize)>,
    /// The flow of the span that begins with it, and of the one that ends with it.
    pub(super) begins_span: Option<usize>,
    pub(super) ends_span: Option<usize>,
}

impl PreparedStep {
    /// The flow of one of its calls.
    pub(super) fn flow_of(&self, call: ServiceCall) -> usize {
        let found = self.flows.iter().find(|(known, _)| *known == call);
        found.map(|(_, flow)| *flow).expect("a step makes no other calls than it says")
    }
}

/// All steps of a server.
#[derive(Debug)]
pub(super) struct PreparedService {
    pub(super) service: Service,
    pub(super) writer: Vec<Arc<PreparedStep>>,
    /// Of each task.
    pub(super) tasks: Vec<Vec<Arc<PreparedStep>>>,
    /// Of each kind of file: how one is made where none is ready, and what is done between two.
    pub(super) make: Vec<Vec<Arc<PreparedStep>>>,
    pub(super) next: Vec<Vec<Arc<PreparedStep>>>,
    /// How many steps there are.
    pub(super) steps: usize,
}

impl PreparedService {
    pub(super) fn new(service: &Service) -> PreparedService {
        let mut numbered = Numbered { service, steps: 0 };
        let owner = service.writer.name.as_str();
        let writer = numbered.prepare(owner, &service.writer.steps);
        let tasks = service.tasks.iter().map(|task| numbered.prepare(&task.name, &task.steps)).collect();
        let make = service.files.iter().map(|file| numbered.prepare(owner, &file.make)).collect();
        let next = service.files.iter().map(|file| numbered.prepare(owner, &file.next)).collect();
        let steps = numbered.steps;
        PreparedService { service: service.clone(), writer, tasks, make, next, steps }
    }
}

struct Numbered<'a> {
    service: &'a Service,
    steps: usize,
}

impl Numbered<'_> {
    fn prepare(&mut self, owner: &str, steps: &[ServiceStep]) -> Vec<Arc<PreparedStep>> {
        let mut prepared = Vec::new();
        for step in steps {
            let calls = step.calls(self.service.files[step.file].made_by);
            let flows = calls.into_iter().map(|call| (call, self.service.place_of_call(owner, step, call))).collect();
            let place = |name: &Option<String>| name.as_ref().map(|name| self.service.place_of_stream(name));
            let (begins_span, ends_span) = (place(&step.from_here), place(&step.until_here));
            let number = self.steps;
            self.steps += 1;
            prepared.push(Arc::new(PreparedStep { number, step: step.clone(), flows, begins_span, ends_span }));
        }
        prepared
    }
}
