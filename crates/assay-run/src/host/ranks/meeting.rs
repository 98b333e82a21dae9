//! Operations of all ranks before a run, with the ranks for which the others wait.
//!
//! A round of statements begins when all ranks have come to it: each says so to rank 0, which gives a sign to the others while it waits.
//! No rank is ahead of another one by a whole round, so that these letters belong to the round that is being waited for.

use super::link_failure;
use super::wording::name_ranks;
use crate::failure::Failure;
use assay_base::{Instant, Span};
use assay_device::clock::Clock;
use assay_hosts::joint_log::sign_of_life;
use assay_hosts::{Collective, Link};
use std::time::Duration;

/// How long the others may take: the safety rules of a host look at all of its devices and processes.
const PATIENCE: Span = Span::from_secs(120);
/// For whom all wait is said after this time.
const NAMED_AFTER: Span = Span::from_secs(4);
/// That nothing is heard of rank 0 is said later: it looks for 5 s at what the targets hold.
const FIRST_NAMED_AFTER: Span = Span::from_secs(8);
/// Of the ranks that wait for rank 0, these say so.
const SPEAKERS: std::ops::RangeInclusive<usize> = 1..=3;
/// Between two signs of rank 0.
const SIGN_EVERY: Span = Span::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(1);
const LOOK_SELDOM: Duration = Duration::from_millis(20);
/// A wait after which one looks less often.
const LONG: Span = Span::from_secs(1);

/// Waits until all ranks have come to the next round, and begins it with this operation.
pub(super) fn meet_all(link: &mut dyn Link, operation: Collective) -> Result<Collective, Failure> {
    if link.own_rank() == 0 {
        wait_for_others(link)?;
        return finish_collective(link, operation);
    }
    send_sign(link, 0)?;
    link.begin_collective(operation).map_err(|error| link_failure(&error))?;
    let clock = Clock::start();
    let (mut heard, mut is_told) = (clock.now(), false);
    loop {
        if let Some(result) = link.collective_result().map_err(|error| link_failure(&error))? {
            return Ok(result);
        }
        if link.next_message().map_err(|error| link_failure(&error))?.is_some() {
            heard = clock.now();
        }
        let quiet_for = clock.now().since(heard);
        if quiet_for > PATIENCE {
            return Err(Failure::host_unable(format!("nothing was heard of rank 0 for {}", quiet_for.human_text())));
        }
        if quiet_for > FIRST_NAMED_AFTER && !is_told && SPEAKERS.contains(&link.own_rank()) {
            link.tell_user(&format!("rank {} has waited {} for rank 0", link.own_rank(), quiet_for.human_text()));
            is_told = true;
        }
        std::thread::park_timeout(LOOK_EVERY);
    }
}

/// Rank 0's side: until every other rank has come.
fn wait_for_others(link: &mut dyn Link) -> Result<(), Failure> {
    let clock = Clock::start();
    let mut has_come: Vec<bool> = (0..link.world_size()).map(|rank| rank == 0).collect();
    let (mut signed, mut is_told) = (Instant::ZERO, false);
    loop {
        while let Some(message) = link.next_message().map_err(|error| link_failure(&error))? {
            has_come[message.from] = true;
        }
        let missing: Vec<usize> = (0..has_come.len()).filter(|rank| !has_come[*rank]).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let waited = clock.now().since(Instant::ZERO);
        if waited > PATIENCE {
            let (waited, who) = (waited.human_text(), name_ranks(&missing));
            return Err(Failure::host_unable(format!("all others have waited {waited} for {who} before the run")));
        }
        if waited > NAMED_AFTER && !is_told {
            link.tell_user(&format!("all others have waited {} for {}", waited.human_text(), name_ranks(&missing)));
            is_told = true;
        }
        if clock.now().since(signed) > SIGN_EVERY {
            (1..link.world_size()).try_for_each(|rank| send_sign(link, rank))?;
            signed = clock.now();
        }
        std::thread::park_timeout(LOOK_EVERY);
    }
}

fn send_sign(link: &mut dyn Link, to: usize) -> Result<(), Failure> {
    let sent = sign_of_life().and_then(|sign| link.send_message(to, sign)).and_then(|()| link.all_has_left());
    sent.map(drop).map_err(|error| link_failure(&error))
}

/// Begins an operation of all ranks, which have met, and waits for its result.
pub(super) fn finish_collective(link: &mut dyn Link, operation: Collective) -> Result<Collective, Failure> {
    finish_collective_within(link, operation, PATIENCE)
}

/// The same where the others may come as late as this, and nobody gives signs meanwhile: what a rank does that they wait for would take
/// them for its own.
pub(super) fn finish_collective_within(
    link: &mut dyn Link,
    operation: Collective,
    patience: Span,
) -> Result<Collective, Failure> {
    let clock = Clock::start();
    link.begin_collective(operation).map_err(|error| link_failure(&error))?;
    loop {
        if let Some(result) = link.collective_result().map_err(|error| link_failure(&error))? {
            return Ok(result);
        }
        let waited = clock.now().since(Instant::ZERO);
        if waited > patience {
            return Err(Failure::host_unable(format!(
                "not all ranks have answered within {patience}; assay doctor --hosts names those that do not"
            )));
        }
        // Whoever waits long may look less often.
        std::thread::park_timeout(if waited < LONG { LOOK_EVERY } else { LOOK_SELDOM });
    }
}

#[cfg(test)]
#[path = "meeting_tests.rs"]
mod tests;
