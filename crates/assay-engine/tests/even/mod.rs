//! A device for tests in virtual time.

use assay_base::{BlockDevice, Completion, Device, Done, Geometry, Instant, Op, Span, Ticket};

/// Completes each operation after its own time, however many there are, and keeps what it was asked for.
pub struct Even {
    pending: Vec<Completion>,
    pub asked: Vec<(Instant, Op)>,
    pub most: usize,
    service: Span,
    size: u64,
    /// Of targets that differ from the others, by their index.
    pub others: Vec<Geometry>,
}

impl Even {
    /// A device of this size whose operations take this long.
    pub fn new(service: Span, size: u64) -> Even {
        Even { pending: Vec::new(), asked: Vec::new(), most: 0, service, size, others: Vec::new() }
    }
}

impl Device for Even {
    type Request = Op;

    fn submit_request(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        // Not quite the same for all, so that they do not come back in step.
        let completed = now + self.service + Span::from_ns(self.asked.len() as u64 * 7919 % 1000);
        self.pending.push(Completion { ticket, result: Ok(op.len), issued: now, accepted: now, completed });
        self.asked.push((now, *op));
        self.most = self.most.max(self.pending.len());
    }
    fn poll_completions(&mut self, now: Instant, done: &mut Done) {
        done.extend(self.pending.extract_if(.., |completion| completion.completed <= now));
    }
    fn next_wakeup(&self) -> Option<Instant> {
        self.pending.iter().map(|completion| completion.completed).min()
    }
    fn wait_for_completion(&mut self, _: Span) {}
}

impl BlockDevice for Even {
    fn target_geometry(&self, target: u16) -> Geometry {
        let own = Geometry { size: self.size, block: 512 };
        self.others.get(usize::from(target)).copied().unwrap_or(own)
    }

    fn slot_buffer(&mut self, _: Ticket) -> &mut [u8] {
        &mut []
    }
}
