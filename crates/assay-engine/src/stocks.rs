//! Requests of closed loops that are drawn before a slot is free, so that whoever completes a request goes on with the
//! next one without the worker.
//!
//! Only for loops in which a request follows each completion at once for as long as the run lasts, in whose lanes nobody
//! waits for a slot, and whose data are not compared. The device keeps the stock; here is which tickets it consists of.

use crate::agenda::Agenda;
use crate::payload::{At, Payload};
use crate::source::Source;
use crate::worker::Worker;
use assay_base::{Completion, Device, Instant, STOCK_MOST, STOCKS_MOST, Ticket};
use assay_model::Plan;
use assay_model::arrival::Part;

/// The least that is prepared for a loop: with fewer, a fast target would use them up before a worker that sleeps has woken.
const STOCK_LEAST: u32 = 64;
/// Upper bounds on what is prepared in one worker: requests, and the bytes of their buffers.
const PREPARED_MOST: u32 = 1024;
const BYTES_MOST: u32 = 64 << 20;

/// How many requests are prepared for a loop with `slots` in flight.
fn depth(slots: u32) -> u32 {
    slots.clamp(STOCK_LEAST, STOCK_MOST)
}

/// How many tickets the worker of `part` can use besides those in flight, if each needs a buffer of `bytes`.
pub fn spare(plan: &Plan, part: Part, bytes: u32) -> u32 {
    let flows: Vec<(u16, u16)> = plan.flows().collect();
    let of_loop = |flow: &usize| plan.loop_of(flows[*flow].0).map_or(1, |looped| looped.copies.max(1));
    let own = |slots: u32| slots.div_ceil(u32::try_from(part.of).unwrap_or(u32::MAX).max(1));
    let loops = plan.closed_loops();
    let wanted = loops.iter().map(|looped| {
        let copies = looped.flows.first().map_or(1, of_loop);
        copies.saturating_mul(depth(own(looped.slots) / copies))
    });
    wanted.fold(0, u32::saturating_add).min(PREPARED_MOST).min(BYTES_MOST / bytes.max(1))
}

/// What is prepared for one source.
#[derive(Debug)]
struct Stock {
    source: usize,
    /// Its tickets that are not prepared.
    spare: Vec<Ticket>,
}

/// The stocks of a worker; their numbers are those of the device.
#[derive(Debug, Default)]
pub(crate) struct Stocks {
    stocks: Vec<Stock>,
    /// The number of each source's stock.
    of_source: Vec<Option<usize>>,
}

impl Stocks {
    /// Divides the tickets `first..first + spare` among the sources that draw ahead.
    pub(crate) fn new<S: Source>(agenda: &mut Agenda<S>, first: u32, spare: u32) -> Stocks {
        let mut stocks = Stocks { stocks: Vec::new(), of_source: vec![None; agenda.len()] };
        let sources: Vec<usize> = (0..agenda.len()).filter(|source| agenda.draws_ahead(*source)).collect();
        let mut tickets = first..first + spare;
        for (at, source) in sources.iter().copied().take(STOCKS_MOST).enumerate() {
            let others = (sources.len() - at) as u32;
            let own = depth(agenda.source(source).slots()).min((tickets.len() as u32).div_ceil(others));
            let mut spare: Vec<Ticket> = tickets.by_ref().take(own as usize).map(Ticket).collect();
            spare.reverse();
            stocks.of_source[source] = Some(at);
            stocks.stocks.push(Stock { source, spare });
        }
        stocks
    }

    /// Whether nothing is ever prepared.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.stocks.is_empty()
    }

    /// The number of a source's stock.
    #[inline(always)]
    pub(crate) fn of(&self, source: usize) -> Option<usize> {
        if self.is_empty() { None } else { self.of_source[source] }
    }
}

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
        self.queue.prepare(ticket, (source, flow), request, look);
        self.device.prepare(number, ticket, &request);
    }

    /// Issues the request of a stock that was prepared first, if there is one. It goes out before anything that is drawn
    /// later.
    pub(crate) fn issue_prepared(&mut self, now: Instant, source: usize, number: usize, due: Instant) -> bool {
        let Some(ticket) = self.device.withdraw(number) else { return false };
        let slot = self.queue.last(ticket);
        let (flow, request, look) = (usize::from(slot.flow), slot.request, slot.look);
        self.agenda.source(source).take_drawn(flow);
        let held = self.held_until(now, (source, flow), due, &request);
        let place = self.queue.take(self.agenda.flows[flow].lane, now, due, &self.lateness.held_back);
        self.stocks.stocks[number].spare.push(place);
        self.queue.put(ticket, (source, flow), request, [due, now, held], look);
        self.count_issued((source, flow));
        self.device.submit_with_stock(now, number, ticket, &request);
        true
    }

    /// The prepared request that followed one of a loop in the moment of its completion: it was issued then.
    #[inline]
    pub(crate) fn follower(&self, source: usize, completion: &Completion) -> Option<Ticket> {
        self.stocks.of(source)?;
        self.device.follower(completion.ticket)
    }

    /// Gives the place of a request that completed to its follower, and counts that as issued.
    pub(crate) fn pass_on(&mut self, source: usize, completion: &Completion, follower: Ticket) {
        let number = self.stocks.of(source).expect("what follows comes out of the stock of its source");
        self.queue.pass_on(completion.completed, completion.ticket, follower);
        self.stocks.stocks[number].spare.push(completion.ticket);
        let flow = usize::from(self.queue.last(follower).flow);
        self.book.recorder.cell(flow).issued += 1;
        self.totals.issued += 1;
    }

    /// Nothing prepared is issued any more.
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
