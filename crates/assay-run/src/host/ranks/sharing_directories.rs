//! Whether all hosts have the same directory, or each its own: some make one of our own there, and all look which of these they see.

use super::agreement::AgreedRanks;
use super::statements::share_statements;
use crate::directories::Directory;
use crate::failure::{Failure, one_line};
use assay_files::own_dir::Claim;
use assay_hosts::Link;
use assay_model::Plan;

/// Proves that a directory is what the workload says of it: the same for all ranks, or each host's own. What the ranks that have it will
/// make there together must fit.
///
/// # Errors
/// It is not, or it does not fit, or nothing can be made there. What was made for the proof is removed.
pub(super) fn prove_directory(
    link: &mut dyn Link,
    ranks: &AgreedRanks,
    plan: &Plan,
    directory: &Directory,
) -> Result<(), Failure> {
    let own_rank = link.own_rank();
    let claiming = if ranks.targets_of_hosts().are_own() { ranks.first_ranks_of_hosts() } else { vec![0] };
    let is_claiming = claiming.contains(&own_rank);
    let files = plan.load.files().ok_or_else(|| Failure::internal_bug("a directory without clients on it"))?;
    let run = format!("{} of {}", plan.name, ranks.own_place().boot);
    let made = is_claiming.then(|| directory.make_claim(own_rank as u32, run, files.workload.clone()));
    let has_made = matches!(made, Some(Ok(_)));
    let proven = compare_claims(link, ranks, directory, made.transpose());
    let removed = if has_made { directory.remove_claim(own_rank as u32) } else { Ok(()) };
    proven.and(removed)
}

fn compare_claims(
    link: &mut dyn Link,
    ranks: &AgreedRanks,
    directory: &Directory,
    made: Result<Option<Claim>, Failure>,
) -> Result<(), Failure> {
    let own_rank = link.own_rank();
    let told = share_statements(link, made)?;
    let claims: Vec<(usize, Claim)> =
        told.into_iter().enumerate().filter_map(|(rank, claim)| Some((rank, claim?))).collect();
    let seen = directory.look_for(own_rank as u32, claims.iter().map(|(_, claim)| claim.clone()).collect());
    let are_own = ranks.targets_of_hosts().are_own();
    let found = seen.and_then(|seen| {
        // Whose directory this rank should see, and whose not.
        let is_wrong = |(at, is_seen): (usize, bool)| {
            let rank = claims[at].0;
            (is_seen != (!are_own || ranks.share_a_host(own_rank, rank))).then_some(rank)
        };
        match seen.into_iter().enumerate().find_map(is_wrong) {
            None => Ok(()),
            Some(rank) => Err(other_directory(directory, ranks.host_of_rank(rank), are_own)),
        }
    });
    // Nobody removes what others still look for.
    share_statements(link, found).map(|_| ())
}

fn other_directory(directory: &Directory, host: &str, are_own: bool) -> Failure {
    let name = one_line(directory.directory_name());
    Failure::refused_for_safety(if are_own {
        format!(
            "{name} is not of this host alone: what {host} has made there is here; that is removed, and nothing else was made"
        )
    } else {
        format!(
            "{name} is not the directory that {host} has under this name: what was made there is not here; that is removed, and nothing \
             else was made"
        )
    })
}
