//! Requests of closed loops that are drawn before a slot is free, so that whoever completes a request goes on with the
//! next one without the worker.
//!
//! Only for loops in which a request follows each completion at once for as long as the run lasts, in whose lanes nobody
//! waits for a slot, and whose data are not compared. The device keeps the stock; here is which tickets it consists of.

use crate::worker::agenda::Agenda;
use assay_base::{STOCK_MOST, STOCKS_MOST, Source, Ticket};
use assay_model::Plan;
use assay_model::arrival::Part;

/// The least that is prepared for a loop: with fewer, a fast target would use them up before a worker that sleeps has woken.
const STOCK_LEAST: u32 = 64;
/// Upper bounds on what is prepared in one worker: requests, and the bytes of their buffers.
const PREPARED_MOST: u32 = 1024;
const BYTES_MOST: u32 = 64 << 20;

/// The number of requests that are prepared for a loop with `slots` in flight.
fn stock_depth(slots: u32) -> u32 {
    slots.clamp(STOCK_LEAST, STOCK_MOST)
}

/// The number of tickets that the worker of `part` can use besides those in flight, if each needs a buffer of `bytes`.
pub fn spare_tickets(plan: &Plan, part: Part, bytes: u32) -> u32 {
    let flows: Vec<(u16, u16)> = plan.load.stream_targets().collect();
    let workers = u32::try_from(part.of).unwrap_or(u32::MAX).max(1);
    let mut wanted = 0u32;
    for closed_loop in plan.closed_loops() {
        let described = closed_loop.flows.first().and_then(|flow| plan.load.loop_of(flows[*flow].0));
        let copies = described.map_or(1, |described| described.copies.max(1));
        let own_slots = closed_loop.slots.div_ceil(workers);
        wanted = wanted.saturating_add(copies.saturating_mul(stock_depth(own_slots / copies)));
    }
    wanted.min(PREPARED_MOST).min(BYTES_MOST / bytes.max(1))
}

/// The prepared requests of one source.
#[derive(Debug)]
pub(crate) struct Stock {
    pub(crate) source: usize,
    /// Its tickets that are not prepared.
    pub(crate) spare: Vec<Ticket>,
}

/// The stocks of a worker; their numbers are those of the device.
#[derive(Debug, Default)]
pub(crate) struct Stocks {
    pub(crate) stocks: Vec<Stock>,
    /// The number of each source's stock.
    by_source: Vec<Option<usize>>,
}

impl Stocks {
    /// Divides the tickets `first..first + spare` among the sources that draw ahead.
    pub(crate) fn new<S: Source>(agenda: &mut Agenda<S>, first: u32, spare: u32) -> Stocks {
        let mut stocks = Stocks { stocks: Vec::new(), by_source: vec![None; agenda.len()] };
        let sources: Vec<usize> = (0..agenda.len()).filter(|source| agenda.draws_ahead(*source)).collect();
        let mut tickets = first..first + spare;
        for (at, source) in sources.iter().copied().take(STOCKS_MOST).enumerate() {
            let others = (sources.len() - at) as u32;
            let own = stock_depth(agenda.source_mut(source).slot_count()).min((tickets.len() as u32).div_ceil(others));
            let mut spare: Vec<Ticket> = tickets.by_ref().take(own as usize).map(Ticket).collect();
            spare.reverse();
            stocks.by_source[source] = Some(at);
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
    pub(crate) fn of_source(&self, source: usize) -> Option<usize> {
        if self.is_empty() { None } else { self.by_source[source] }
    }
}
