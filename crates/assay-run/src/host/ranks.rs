//! This process as one of several that a launcher started on one or more hosts: trying what the group can do.

pub mod agreement;
pub mod carrying;
pub mod comparing;
pub mod group;
pub mod joining;
mod joint_writer;
mod judged_lines;
mod meeting;
pub mod merging;
mod own_log;
pub mod places;
pub mod rank_logs;
pub mod sharing;
mod sharing_directories;
mod start;
mod statements;
pub mod suited;
pub mod wording;

use crate::failure::{Failure, one_line};
use crate::log::tool::VERSION;
use assay_base::Instant;
use assay_base::Span;
use assay_device::clock::Clock;
use assay_device::probe;
use assay_device::safety::Roots;
use assay_hosts::clock::{ClockMap, ClockReading};
use assay_hosts::examination::{Coordinator, Found, HostFacts, Member, Progress, RankFound, Settings};
use assay_hosts::mpi::MpiLink;
use assay_hosts::{Link, LinkError};
use std::time::Duration;

/// Between two looks at the link while there is something to wait for.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// A failure of the link: the ranks cannot go on together.
pub fn link_failure(error: &LinkError) -> Failure {
    Failure::host_unable(format!("the ranks cannot talk to each other: {error}"))
}

/// The clock of rank 0 as `clock` knows it, after the ranks have been examined: that all answer, are of one version, and are added up
/// right.
pub fn compare_clocks(link: &mut MpiLink, clock: Clock) -> Result<ClockMap, Failure> {
    let settings =
        Settings { messages_for: Span::ZERO, patience: Span::from_secs(30), answer_within: Span::from_secs(3) };
    let (found, reading) = examine_with_clock(link, settings, clock)?;
    let problem = found.as_ref().and_then(problem_before_a_run);
    match problem {
        Some(problem) => Err(Failure::host_unable(problem)),
        None => Ok(reading.map_or_else(ClockMap::of_rank_zero, ClockMap::of_one_reading)),
    }
}

/// Why no run can begin with these ranks.
fn problem_before_a_run(found: &Found) -> Option<String> {
    let names = |ranks: &[usize]| ranks.iter().map(usize::to_string).collect::<Vec<String>>().join(", ");
    if !found.lost.is_empty() {
        return Some(format!("these ranks do not answer: {}", names(&found.lost)));
    }
    if found.has_stalled {
        return Some("messages between the ranks get lost: assay doctor --hosts says more".to_owned());
    }
    if found.versions_differ {
        let of_rank = |(rank, found): (usize, &RankFound)| {
            let facts = found.facts.as_ref()?;
            Some(format!("\n  rank {rank} on {}: {}", one_line(&facts.host), one_line(&facts.version)))
        };
        let table: String = found.ranks.iter().enumerate().filter_map(of_rank).collect();
        return Some(format!("the ranks run different versions of this program:{table}"));
    }
    (found.sums.wrong > 0).then(|| {
        format!(
            "{} of {} sums over all ranks were wrong: this MPI cannot be used",
            found.sums.wrong,
            found.sums.took_ns.len()
        )
    })
}

/// Tries the group of ranks. Rank 0 gets what was found.
pub fn examine_ranks(link: &mut MpiLink, settings: Settings) -> Result<Option<Found>, Failure> {
    examine_with_clock(link, settings, Clock::start()).map(|(found, _)| found)
}

/// What rank 0 has found, and how this rank's clock compares with that of rank 0.
fn examine_with_clock(
    link: &mut MpiLink,
    settings: Settings,
    clock: Clock,
) -> Result<(Option<Found>, Option<ClockReading>), Failure> {
    let now = || clock.now();
    let facts = own_facts(link.library_version(), clock);
    let mut coordinator =
        (link.own_rank() == 0).then(|| Coordinator::begin_examination(settings, link.world_size(), clock.now()));
    let mut member = Member::say_hello(facts, link).map_err(|error| link_failure(&error))?;
    step_to_end(&mut coordinator, &mut member, link, &now, settings.longest_silence())
        .map_err(|error| link_failure(&error))?;
    let reading = member.last_reading();
    Ok((coordinator.map(Coordinator::into_found), reading))
}

/// Steps until the examination is over. Who is not rank 0 waits for its letters, but not for ever.
fn step_to_end(
    coordinator: &mut Option<Coordinator>,
    member: &mut Member,
    link: &mut dyn Link,
    now: &dyn Fn() -> Instant,
    longest_silence: Span,
) -> Result<(), LinkError> {
    let begun = now();
    loop {
        match Coordinator::step_rank(coordinator, member, link, now)? {
            // Another rank may share this processor.
            Progress::Busy => std::thread::yield_now(),
            Progress::Waiting => std::thread::park_timeout(LOOK_EVERY),
            Progress::Finished if link.all_has_left()? => return Ok(()),
            Progress::Finished => std::thread::yield_now(),
        }
        if coordinator.is_none() && now().since(member.last_heard().unwrap_or(begun)) > longest_silence {
            let quiet_for = longest_silence.human_text();
            return Err(LinkError { what: format!("nothing was heard of rank 0 for {quiet_for}") });
        }
    }
}

/// The name of this host, and which boot of it this is.
pub fn own_host() -> (String, String) {
    let roots = Roots::of_machine();
    let boot_id = std::fs::read_to_string(roots.proc.join("sys/kernel/random/boot_id")).unwrap_or_default();
    (probe::read_host(&roots).hostname.unwrap_or_default(), boot_id.trim().to_owned())
}

fn own_facts(library: String, clock: Clock) -> HostFacts {
    let roots = Roots::of_machine();
    let host = probe::read_host(&roots);
    let (name, boot_id) = own_host();
    HostFacts {
        version: VERSION.to_owned(),
        host: name,
        boot_id,
        kernel: host.kernel.unwrap_or_default(),
        cpu_model: host.cpu_model.unwrap_or_default(),
        processors: host.cpus.unwrap_or_default(),
        allowed_processors: std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
        library,
        clock_source: clock.source_name().to_owned(),
        clock_origin_ns: clock.time_line().origin_ns,
    }
}
