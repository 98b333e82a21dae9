//! This process as one of several that a launcher started on one or more hosts: joining the others, and trying what the group
//! can do.

pub mod agreement;
pub mod carrying;
pub mod group;
mod joint_writer;
mod judged_lines;
pub mod merging;
pub mod places;
pub mod sharing;
mod start;
mod statements;
pub mod suited;

use crate::failure::{Failure, escaped_path, one_line};
use crate::log::tool::VERSION;
use assay_base::Instant;
use assay_base::Span;
use assay_base::text::counted_things;
use assay_device::clock::Clock;
use assay_device::probe;
use assay_device::safety::Roots;
use assay_hosts::clock::{ClockMap, ClockReading};
use assay_hosts::examination::{Coordinator, Found, HostFacts, Member, Progress, RankFound, Settings};
use assay_hosts::mpi::{Launcher, Library, MpiLink, library_candidates};
use assay_hosts::{Link, LinkError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Between two looks at the link while there is something to wait for.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// What joins the ranks, as the command line and the environment say.
pub struct Joining<'a> {
    /// How many ranks there must be.
    pub ranks: usize,
    /// The library to load; the one that belongs to the launcher where this is `None`.
    pub library: Option<&'a Path>,
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// Joins the other ranks. A world of another size is one of another launcher, or a slip.
pub fn join_ranks(joining: &Joining<'_>) -> Result<MpiLink, Failure> {
    let library = Library::load_first(&candidates(joining)?).map_err(|not_loaded| {
        let tried: String =
            not_loaded.tried.iter().map(|(name, why)| format!("\n  {}: {}", one_line(name), one_line(why))).collect();
        Failure::host_unable(format!("no MPI library could be loaded:{tried}")).with_advice(
            "install the MPI whose mpirun or srun starts this program, or name its library with --mpi PATH",
        )
    })?;
    let path = library.path.clone();
    let link = MpiLink::join_world(library).map_err(|error| link_failure(&error))?;
    if link.world_size() == joining.ranks {
        link.abort_on_panic();
        return Ok(link);
    }
    let message = format!(
        "--hosts {} was given, and {} joined {}",
        joining.ranks,
        escaped_path(&path),
        counted_things(link.world_size() as u64, "rank"),
    );
    let advice = "give --hosts the number of ranks that the launcher starts (mpirun -np, srun -n), and use the launcher of that library";
    // Where each process is a world of its own, each is its first rank.
    link.leave_world().map_err(|error| link_failure(&error))?;
    Err(Failure::bad_usage(message).with_advice(advice))
}

/// The libraries to try.
fn candidates(joining: &Joining<'_>) -> Result<Vec<PathBuf>, Failure> {
    if let Some(path) = joining.library {
        return Ok(vec![path.to_owned()]);
    }
    let launcher = Launcher::by_environment(joining.variable).ok_or_else(|| {
        Failure::bad_usage(format!("--hosts {} needs a launcher that starts this program on each host", joining.ranks))
            .with_advice("for example: mpirun --bind-to none --hostfile HOSTS -np 8 assay … --hosts 8; or srun -N 8 assay … --hosts 8")
    })?;
    let program = std::fs::read_link(format!("/proc/{}/exe", std::os::unix::process::parent_id()));
    Ok(library_candidates(launcher, program.ok().as_deref()))
}

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
    let facts = own_facts(link.library_version());
    let mut coordinator =
        (link.own_rank() == 0).then(|| Coordinator::begin_examination(settings, link.world_size(), clock.now()));
    let reading = step_to_end(&mut coordinator, facts, link, &now).map_err(|error| link_failure(&error))?;
    Ok((coordinator.map(Coordinator::into_found), reading))
}

fn step_to_end(
    coordinator: &mut Option<Coordinator>,
    facts: HostFacts,
    link: &mut dyn Link,
    now: &dyn Fn() -> Instant,
) -> Result<Option<ClockReading>, LinkError> {
    let mut member = Member::say_hello(facts, link)?;
    loop {
        match Coordinator::step_rank(coordinator, &mut member, link, now)? {
            // Another rank may share this processor.
            Progress::Busy => std::thread::yield_now(),
            Progress::Waiting => std::thread::park_timeout(LOOK_EVERY),
            Progress::Finished if link.all_has_left()? => return Ok(member.last_reading()),
            Progress::Finished => std::thread::yield_now(),
        }
    }
}

/// The name of this host, and which boot of it this is.
pub fn own_host() -> (String, String) {
    let roots = Roots::of_machine();
    let boot_id = std::fs::read_to_string(roots.proc.join("sys/kernel/random/boot_id")).unwrap_or_default();
    (probe::read_host(&roots).hostname.unwrap_or_default(), boot_id.trim().to_owned())
}

fn own_facts(library: String) -> HostFacts {
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
    }
}
