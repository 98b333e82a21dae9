//! A worker fills the stocks of its closed loops, counts the requests that were issued from them, and takes back the
//! rest.

use crate::payload::{Payload, RequestId};
use crate::worker::machine::Worker;
use crate::worker::queue::Origin;
use assay_base::{Completion, Device, Instant, Source, Ticket};

impl<D: Device, S: Source<Request = D::Request>, P: Payload<D>> Worker<D, S, P> {
    /// Prepares requests of loops that have all their slots in flight.
    pub(crate) fn restock_loops(&mut self, now: Instant) {
        if self.stocks.is_empty() || !self.stage.is_scheduled() {
            return;
        }
        for number in 0..self.stocks.stocks.len() {
            let source = self.stocks.stocks[number].source;
            // A slot that is free takes what lies in the stock first.
            while self.agenda.next_due(source) == Instant::FAR
                && let Some(ticket) = self.stocks.stocks[number].spare.pop()
            {
                self.prepare_request(now, number, ticket);
            }
        }
    }

    fn prepare_request(&mut self, now: Instant, number: usize, ticket: Ticket) {
        let source = self.stocks.stocks[number].source;
        let (flow, request) = self.agenda.source_mut(source).draw_ahead(now);
        let look = self.payload.before_issue(&mut self.device, RequestId { flow, ticket }, &request);
        self.queue.fill_spare_slot(ticket, Origin { source, flow }, request, look);
        self.device.prepare_request(number, ticket, &request);
    }

    /// Issues the request of a stock that was prepared first, if there is one. It goes out before anything that is drawn
    /// later.
    pub(crate) fn issue_prepared(&mut self, now: Instant, source: usize, number: usize, due: Instant) -> bool {
        let Some(ticket) = self.device.withdraw_prepared(number) else { return false };
        let slot = self.queue.last_content(ticket);
        let (flow, request, look) = (usize::from(slot.flow), slot.request, slot.look);
        self.agenda.source_mut(source).take_drawn(flow);
        let origin = Origin { source, flow };
        let held = self.held_until(now, origin, self.agenda.flows[origin.flow].lane, due, &request);
        let place = self.queue.take_slot(self.agenda.flows[flow].lane, now, due, &self.lateness.held_back);
        self.stocks.stocks[number].spare.push(place);
        self.queue.fill_slot(ticket, origin, request, [due, now, held], look);
        self.count_issued(origin);
        self.device.submit_with_stock(now, number, ticket, &request);
        true
    }

    /// The prepared request that followed one of a loop in the moment of its completion: it was issued then.
    #[inline]
    pub(crate) fn prepared_follower(&self, source: usize, completion: &Completion) -> Option<Ticket> {
        self.stocks.of_source(source)?;
        self.device.follower_ticket(completion.ticket)
    }

    /// Gives the place of a request that completed to its follower, and counts that as issued.
    pub(crate) fn pass_on(&mut self, source: usize, completion: &Completion, follower: Ticket) {
        let number = self.stocks.of_source(source).expect("what follows comes out of the stock of its source");
        self.queue.pass_on(completion.completed, completion.ticket, follower);
        self.stocks.stocks[number].spare.push(completion.ticket);
        let flow = usize::from(self.queue.last_content(follower).flow);
        self.book.recorder.flow_counters_mut(flow).issued += 1;
        self.book.totals.issued += 1;
    }

    /// Takes back all prepared requests: none is issued any more.
    pub(crate) fn withdraw_stocks(&mut self) {
        if self.stocks.is_empty() {
            return;
        }
        self.device.set_end_of_stock(Instant::ZERO);
        for (number, stock) in self.stocks.stocks.iter_mut().enumerate() {
            while let Some(ticket) = self.device.withdraw_prepared(number) {
                stock.spare.push(ticket);
            }
        }
    }
}
