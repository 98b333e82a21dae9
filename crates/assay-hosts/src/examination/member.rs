//! [`Member`]: what every rank does in an examination.

use super::letter::{Arrived, LARGE_BYTES, Letter, large_message};
use super::{HostFacts, Progress, Throughput, partner_of, unexpected};
use crate::clock::{ClockReading, RoundTrip};
use crate::link::{Collective, Link, LinkError};
use assay_base::Instant;

/// Round trips of one comparison of clocks, of which the shortest counts.
const ROUND_TRIPS: u32 = 64;
/// Large messages that are under way at a time: enough that the next one is there when one has been acknowledged.
const UNDER_WAY: u64 = 4;
/// Numbers in a sum: those of a stream's interval with 55 bounds and a table of errors are about as many.
pub(super) const NUMBERS: usize = 600;

/// A comparison of clocks.
struct Comparison {
    trips: Vec<RoundTrip>,
    asked_at: Instant,
}

/// Large messages to the partner.
struct Sending {
    begun: Instant,
    end: Instant,
    given: u64,
    acknowledged: u64,
}

/// Sums over all ranks.
struct Summing {
    left: u32,
    round: u32,
    is_open: bool,
    begun: Instant,
}

/// One sum as rank 0 sees it.
pub(super) struct Summed {
    pub(super) took_ns: u64,
    pub(super) is_right: bool,
}

/// One rank of an examination.
pub struct Member {
    comparison: Option<Comparison>,
    sending: Option<Sending>,
    summing: Option<Summing>,
    /// Sums that the coordinator has not taken yet. Only rank 0 has some.
    pub(super) summed: Vec<Summed>,
    /// What the last comparison of clocks has found.
    reading: Option<ClockReading>,
    /// When the last letter came; `None` before the first.
    heard: Option<Instant>,
    is_finished: bool,
}

impl Member {
    /// Begins with a letter about this rank.
    pub fn say_hello(facts: HostFacts, link: &mut dyn Link) -> Result<Member, LinkError> {
        link.send_message(0, Letter::Hello(Box::new(facts)).into_bytes())?;
        Ok(Member {
            comparison: None,
            sending: None,
            summing: None,
            summed: Vec::new(),
            reading: None,
            heard: None,
            is_finished: false,
        })
    }

    /// When the last letter came; `None` before the first.
    pub fn last_heard(&self) -> Option<Instant> {
        self.heard
    }

    /// What the last comparison with the clock of rank 0 has found; `None` on rank 0.
    pub fn last_reading(&self) -> Option<ClockReading> {
        self.reading
    }

    /// Does what can be done now without a letter.
    pub fn step(&mut self, link: &mut dyn Link, clock: &dyn Fn() -> Instant) -> Result<Progress, LinkError> {
        link.all_has_left()?;
        self.add_up(link, clock)?;
        self.send_large(link, clock)?;
        if self.comparison.is_some() || self.sending.is_some() || self.summing.is_some() {
            return Ok(Progress::Busy);
        }
        Ok(if self.is_finished { Progress::Finished } else { Progress::Waiting })
    }

    /// Receives what is for a rank as such.
    pub(super) fn receive_as_rank(
        &mut self,
        from: usize,
        arrived: Arrived,
        link: &mut dyn Link,
        clock: &dyn Fn() -> Instant,
    ) -> Result<(), LinkError> {
        self.heard = Some(clock());
        // A rank that stood still may send what is long over.
        if self.is_finished {
            return Ok(());
        }
        match arrived {
            Arrived::Large => link.send_message(from, Letter::Acknowledge.into_bytes()),
            Arrived::Letter(Letter::AskTime { number }) => {
                link.send_message(from, Letter::TellTime { number, ns: clock().as_ns() }.into_bytes())
            }
            Arrived::Letter(Letter::CompareClocks) => {
                self.comparison = Some(Comparison { trips: Vec::new(), asked_at: Instant::ZERO });
                self.ask_time(0, link, clock)
            }
            Arrived::Letter(Letter::TellTime { number, ns }) => {
                self.hear_time(number, Instant::from_ns(ns), link, clock)
            }
            Arrived::Letter(Letter::AddUp { rounds }) => {
                self.summing = Some(Summing { left: rounds, round: 0, is_open: false, begun: clock() });
                Ok(())
            }
            Arrived::Letter(Letter::SendLarge { ns }) => {
                let begun = clock();
                let end = Instant::from_ns(begun.as_ns().saturating_add(ns));
                self.sending = Some(Sending { begun, end, given: 0, acknowledged: 0 });
                Ok(())
            }
            Arrived::Letter(Letter::Acknowledge) => {
                let sending = self.sending.as_mut().ok_or_else(|| unexpected(from, "an acknowledgement"))?;
                sending.acknowledged += 1;
                Ok(())
            }
            Arrived::Letter(Letter::CallRoll) => link.send_message(0, Letter::Here.into_bytes()),
            Arrived::Letter(Letter::Finish) => {
                // What others have not done till now, they will not do.
                (self.comparison, self.sending, self.summing) = (None, None, None);
                self.is_finished = true;
                Ok(())
            }
            // A sign that was left over from what these ranks did before.
            Arrived::Letter(Letter::Here) => Ok(()),
            Arrived::Letter(Letter::Hello(_) | Letter::ClockCompared(_) | Letter::Sent(_)) => {
                Err(unexpected(from, "a letter for rank 0"))
            }
        }
    }

    fn ask_time(&mut self, number: u32, link: &mut dyn Link, clock: &dyn Fn() -> Instant) -> Result<(), LinkError> {
        if let Some(comparison) = &mut self.comparison {
            comparison.asked_at = clock();
        }
        link.send_message(0, Letter::AskTime { number }.into_bytes())
    }

    fn hear_time(
        &mut self,
        number: u32,
        answered: Instant,
        link: &mut dyn Link,
        clock: &dyn Fn() -> Instant,
    ) -> Result<(), LinkError> {
        let received = clock();
        let Some(comparison) = &mut self.comparison else {
            return Err(unexpected(0, "a time"));
        };
        comparison.trips.push(RoundTrip { sent: comparison.asked_at, answered, received });
        if number + 1 < ROUND_TRIPS {
            return self.ask_time(number + 1, link, clock);
        }
        let reading = ClockReading::of_round_trips(&comparison.trips)
            .ok_or_else(|| LinkError { what: "this host's clock ran backwards".to_owned() })?;
        (self.comparison, self.reading) = (None, Some(reading));
        link.send_message(0, Letter::ClockCompared(reading).into_bytes())
    }

    /// Hands over large messages until the end, at least one, and not more at a time than may be under way. When all have been
    /// acknowledged, it tells rank 0 how fast they were.
    fn send_large(&mut self, link: &mut dyn Link, clock: &dyn Fn() -> Instant) -> Result<(), LinkError> {
        let partner = partner_of(link.own_rank(), link.world_size());
        let (Some(sending), Some(partner)) = (&mut self.sending, partner) else { return Ok(()) };
        let mut now = clock();
        while sending.given - sending.acknowledged < UNDER_WAY && (sending.given == 0 || now < sending.end) {
            link.send_message(partner, large_message())?;
            sending.given += 1;
            now = clock();
        }
        // One look at the clock says that none is to follow, and that this is the end: between two of them it could pass unnoticed.
        if sending.acknowledged < sending.given || now < sending.end {
            return Ok(());
        }
        let bytes = sending.acknowledged * LARGE_BYTES as u64;
        let throughput = Throughput { bytes, ns: now.since(sending.begun).as_ns() };
        self.sending = None;
        link.send_message(0, Letter::Sent(throughput).into_bytes())
    }

    /// Takes part in sums and maxima, one after the other.
    fn add_up(&mut self, link: &mut dyn Link, clock: &dyn Fn() -> Instant) -> Result<(), LinkError> {
        let (own_rank, world_size) = (link.own_rank(), link.world_size());
        let Some(summing) = &mut self.summing else { return Ok(()) };
        if summing.is_open {
            let Some(result) = link.collective_result()? else { return Ok(()) };
            summing.is_open = false;
            if own_rank == 0 {
                let took_ns = clock().since(summing.begun).as_ns();
                self.summed.push(Summed { took_ns, is_right: is_right(summing.round, world_size, &result) });
            }
            summing.round += 1;
        }
        if summing.round == summing.left {
            self.summing = None;
            return Ok(());
        }
        summing.begun = clock();
        summing.is_open = true;
        link.begin_collective(operation_of_round(summing.round, own_rank))
    }
}

/// Sums and maxima take turns.
pub(super) fn operation_of_round(round: u32, rank: usize) -> Collective {
    let numbers = (0..NUMBERS).map(|place| number_of(round, rank, place)).collect();
    if round.is_multiple_of(2) { Collective::Sum(numbers) } else { Collective::Maximum(numbers) }
}

/// A number that differs between rounds, ranks and places, and whose sums go beyond 64 bits.
fn number_of(round: u32, rank: usize, place: usize) -> u64 {
    assay_base::Prng::for_path(u64::from(round), &[rank as u64, place as u64]).uniform_below(Collective::LARGEST)
}

pub(super) fn is_right(round: u32, world_size: usize, result: &Collective) -> bool {
    let of_all = |place| (0..world_size).map(move |rank| number_of(round, rank, place));
    let (found, expected): (&Vec<u64>, Vec<u64>) = match result {
        Collective::Sum(found) => (found, (0..NUMBERS).map(|place| of_all(place).fold(0, u64::wrapping_add)).collect()),
        Collective::Maximum(found) => (found, (0..NUMBERS).map(|place| of_all(place).fold(0, u64::max)).collect()),
        _ => return false,
    };
    *found == expected
}
