//! Joining the ranks that a launcher has started, and leaving them. Both wait within the site's library, which nobody can interrupt:
//! so another thread ends this process when it takes too long.

use super::link_failure;
use crate::failure::{Failure, escaped_path, one_line};
use crate::host::time_limit::TimeLimit;
use crate::observer::Tell;
use assay_base::text::counted_things;
use assay_base::{Instant, Span};
use assay_device::clock::Clock;
use assay_hosts::mpi::{LaunchedAs, Launcher, Library, MpiLink, library_candidates};
use assay_hosts::{Collective, Link, LinkError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// By how much the other ranks wait longer than rank 0, which is the first to say what did not come: the launcher then ends them.
const LATER_THAN_RANK_ZERO: Span = Span::from_secs(2);
/// How long all others may take to leave, once rank 0 does, which leaves last. Nothing is measured any more, and all is written.
const LEAVE_WITHIN: Span = Span::from_secs(30);
/// How long the others may take to come to where letters are received for the last time.
const LETTERS_WITHIN: Span = Span::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// How long the library may take to end all ranks.
const ABORT_WITHIN: Span = Span::from_secs(10);

/// What joins the ranks, as the command line and the environment say.
pub struct Joining<'a> {
    /// How many ranks there must be.
    pub ranks: usize,
    /// The library to load; the one that belongs to the launcher where this is `None`.
    pub library: Option<&'a Path>,
    /// How long the others may take to come.
    pub within: Span,
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Tells the user of a failure, behind which this process ends.
    pub report: fn(&Failure),
    /// Tells the user at once what is to be said of the other ranks.
    pub tell: Tell,
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
    let place = LaunchedAs::by_environment(joining.variable);
    let is_first = place.is_none_or(|place| place.rank == 0);
    let within = if is_first { joining.within } else { joining.within + LATER_THAN_RANK_ZERO };
    let limit = TimeLimit::begin(within, nobody_came(&path, place, joining), joining.report)?;
    let link = MpiLink::join_world(library, joining.tell).map_err(|error| link_failure(&error))?;
    drop(limit);
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
    let refusal = Failure::bad_usage(message).with_advice(advice);
    // Where each process is a world of its own, each is its first rank.
    leave_ranks(link, &Err(refusal.clone()), joining.report)?;
    Err(refusal)
}

fn nobody_came(path: &Path, place: Option<LaunchedAs>, joining: &Joining<'_>) -> Failure {
    let who = match place {
        Some(LaunchedAs { rank, ranks: Some(ranks) }) => format!("rank {rank} of {ranks}"),
        Some(LaunchedAs { rank, ranks: None }) => format!("rank {rank}"),
        None => "this rank".to_owned(),
    };
    Failure::host_unable(format!(
        "{who} has waited {} in MPI_Init_thread of {} for the other ranks: one was not started, stands still or cannot be reached; nothing was written",
        joining.within.human_text(),
        escaped_path(path),
    ))
    .with_advice("see whether assay runs on every host; give a launcher that needs longer to start all ranks more time with --join-within TIME")
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

/// Leaves the other ranks, when all is written. Rank 0, for whose result the others wait, does not wait for ever for these: after a
/// while it reports what `outcome` has not said yet, and ends with its code.
pub fn leave_ranks(mut link: MpiLink, outcome: &Result<u8, Failure>, report: fn(&Failure)) -> Result<(), Failure> {
    let waited = LEAVE_WITHIN.human_text();
    let left_behind = format!("not all ranks have left within {waited}, and are left behind");
    let late = match outcome {
        Ok(code) => Failure::of_another_rank(*code, &format!("{left_behind}: what was written stands")),
        Err(failure) => Failure::of_another_rank(failure.code, failure.user_message()).with_advice(&left_behind),
    };
    let limit = if link.own_rank() == 0 { Some(TimeLimit::begin(LEAVE_WITHIN, late, report)?) } else { None };
    // A library may fail where it is left with letters that nobody has received.
    let _ = receive_last_letters(&mut link);
    let left = link.leave_world().map_err(|error| link_failure(&error));
    drop(limit);
    left
}

/// Receives what other ranks have sent, such as signs of life that nobody needed any more, until all have come here.
fn receive_last_letters(link: &mut MpiLink) -> Result<(), LinkError> {
    if link.world_size() == 1 {
        return Ok(());
    }
    let clock = Clock::start();
    link.begin_collective(Collective::MaximumForAll(vec![0]))?;
    let mut have_all_come = false;
    while !(have_all_come && link.all_has_left()?) && clock.now().since(Instant::ZERO) < LETTERS_WITHIN {
        have_all_come |= link.collective_result()?.is_some();
        if link.next_message()?.is_none() {
            std::thread::park_timeout(LOOK_EVERY);
        }
    }
    while link.next_message()?.is_some() {}
    Ok(())
}

/// Ends all ranks because this one cannot go on, which it has told. It ends itself where the library does not.
pub fn abort_ranks(link: &MpiLink, code: u8, report: fn(&Failure)) {
    let late = Failure::of_another_rank(code, "the MPI library has not ended the other ranks: end them by hand");
    let limit = TimeLimit::begin(ABORT_WITHIN, late, report);
    link.abort_world(code);
    drop(limit);
}
