//! `group_reporting`: the figures of all copies of a job, and of the jobs in its group, are also shown together.
//!
//! A group ends at `stonewall` and before a job with `new_group` (fio's HOWTO, "group_reporting").

use super::job::Job;
use super::naming::usable_name;
use super::steps::Done;
use assay_base::{Direction, Fault};
use assay_model::Stream;
use assay_model::plan::Group;

/// The jobs of a group.
struct Jobs<'a> {
    first: &'a str,
    step: u32,
    streams: Vec<&'a str>,
}

/// The groups of a job file, of reads and writes apart; what a single stream does is no group.
pub(super) fn direction_groups(jobs: &[Job<'_>], done: &[Done], streams: &[Stream]) -> Result<Vec<Group>, Fault> {
    let mut groups: Vec<Jobs<'_>> = Vec::new();
    let mut begins = true;
    for (job, done) in jobs.iter().zip(done) {
        begins |= job.is_switched_on("new_group")? || groups.last().is_some_and(|group| group.step != done.step);
        if !job.is_switched_on("group_reporting")? {
            continue;
        }
        if std::mem::take(&mut begins) {
            groups.push(Jobs { first: &job.name, step: done.step, streams: Vec::new() });
        }
        let own = done.streams.iter().map(String::as_str);
        if let Some(group) = groups.last_mut() {
            group.streams.extend(own.clone());
        }
    }
    Ok(groups.iter().flat_map(|group| by_direction(group, streams)).collect())
}

fn by_direction(group: &Jobs<'_>, streams: &[Stream]) -> Vec<Group> {
    let [reads, writes] = [Direction::Read, Direction::Write].map(|direction| streams_of(group, streams, direction));
    let is_mixed = !reads.is_empty() && !writes.is_empty();
    let both = [(Direction::Read, reads), (Direction::Write, writes)].into_iter();
    let several = both.filter(|(_, streams)| streams.len() > 1);
    several
        .map(|(direction, streams)| {
            let way = if is_mixed { format!(".{direction}s") } else { String::new() };
            Group { name: format!("{}{way} x{}", usable_name(group.first), streams.len()), streams }
        })
        .collect()
}

/// The names of a group's streams in this direction.
fn streams_of(group: &Jobs<'_>, streams: &[Stream], direction: Direction) -> Vec<String> {
    let own = streams.iter().filter(|stream| stream.data_direction() == Some(direction));
    own.map(|stream| stream.name.clone()).filter(|name| group.streams.contains(&name.as_str())).collect()
}
