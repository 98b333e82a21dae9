//! A worker fills the stocks of its closed loops, counts the requests that were issued from them, and takes back the
//! rest.

use crate::payload::{At, Payload};
use crate::worker::machine::Worker;
use crate::worker::queue::Origin;
use assay_base::{Completion, Device, Instant, Source, Ticket};

impl<D: Device, S: Source<Request = D::Request>, P: Payload<D>> Worker<D, S, P> {
    /// Prepares requests of loops that have all their slots in flight.
    pub(crate) fn restock(&mut self, now: Instant) {
        if self.stocks.is_empty() || !self.stage.is_scheduled() {
            return;
        }
        for number in 0..self.stocks.stocks.len() {
            let source = self.stocks.stocks[number].source;
            // A slot that is free takes what lies in the stock first.
            while self.agenda.due(source) == Instant::FAR
                && let Some(ticket) = self.stocks.stocks[number].spare.pop()
            {
                self.prepare(now, number, ticket);
            }
        }
    }

    fn prepare(&mut self, now: Instant, number: usize, ticket: Ticket) {
        let source = self.stocks.stocks[number].source;
        let (flow, request) = self.agenda.source(source).draw(now);
        let look = self.payload.before(&mut self.device, At { flow, ticket }, &request);
        self.queue.prepare(ticket, Origin { source, flow }, request, look);
        self.device.prepare(number, ticket, &request);
    }

    /// Issues the request of a stock that was prepared first, if there is one. It goes out before anything that is drawn
    /// later.
    pub(crate) fn issue_prepared(&mut self, now: Instant, source: usize, number: usize, due: Instant) -> bool {
        let Some(ticket) = self.device.withdraw(number) else { return false };
        let slot = self.queue.last(ticket);
        let (flow, request, look) = (usize::from(slot.flow), slot.request, slot.look);
        self.agenda.source(source).take_drawn(flow);
        let origin = Origin { source, flow };
        let held = self.held_until(now, origin, self.agenda.flows[origin.flow].lane, due, &request);
        let place = self.queue.take(self.agenda.flows[flow].lane, now, due, &self.lateness.held_back);
        self.stocks.stocks[number].spare.push(place);
        self.queue.put(ticket, origin, request, [due, now, held], look);
        self.count_issued(origin);
        self.device.submit_with_stock(now, number, ticket, &request);
        true
    }

    /// The prepared request that followed one of a loop in the moment of its completion: it was issued then.
    #[inline]
    pub(crate) fn follower(&self, source: usize, completion: &Completion) -> Option<Ticket> {
        self.stocks.of_source(source)?;
        self.device.follower(completion.ticket)
    }

    /// Gives the place of a request that completed to its follower, and counts that as issued.
    pub(crate) fn pass_on(&mut self, source: usize, completion: &Completion, follower: Ticket) {
        let number = self.stocks.of_source(source).expect("what follows comes out of the stock of its source");
        self.queue.pass_on(completion.completed, completion.ticket, follower);
        self.stocks.stocks[number].spare.push(completion.ticket);
        let flow = usize::from(self.queue.last(follower).flow);
        self.book.recorder.cell(flow).issued += 1;
        self.book.totals.issued += 1;
    }

    /// Takes back all prepared requests: none is issued any more.
    pub(crate) fn withdraw_stocks(&mut self) {
        if self.stocks.is_empty() {
            return;
        }
        self.device.set_end_of_stock(Instant::ZERO);
        for (number, stock) in self.stocks.stocks.iter_mut().enumerate() {
            while let Some(ticket) = self.device.withdraw(number) {
                stock.spare.push(ticket);
            }
        }
    }
}
