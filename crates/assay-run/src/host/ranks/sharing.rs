//! Whether all hosts have the same targets. One kernel grants a target to one process; what happens on another host it does not know.
//! So before the load, once all have agreed to be overwritten, rank 0 writes a claim into the last block of each target, and every rank
//! must find it there. Rank 0 also looks twice at what a target holds: where it changes, somebody on another host writes to it.

use super::agreement::AgreedRanks;
use super::sharing_directories::prove_directory;
use super::statements::share_statements;
use crate::failure::{Failure, escaped_path, one_line};
use crate::open::targets::{Named, RealTarget, TargetPermit, Targets};
use assay_base::text::counted_things;
use assay_device::clock::{Clock, wall_time};
use assay_device::safety::CLAIM_BYTES;
use assay_hosts::Link;
use assay_model::Plan;
use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// The time between two looks at what a target holds.
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);

/// What a rank says of a target.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Shown {
    /// As it is called there.
    name: String,
    /// Where that leads.
    path: String,
    /// The claim that this rank has written; nothing where another one claims, and nothing for a target that is only read.
    claim: Option<[u8; CLAIM_BYTES]>,
    /// What tells it from every other target wherever it is seen; `None` where nothing does.
    identity: Option<String>,
}

/// What the name of each target leads to on this host, by the numbers of its kernel. Of what does not exist the path stands there.
pub fn places_of_targets(named: &[(String, Named)]) -> Vec<String> {
    let place = |path: &Path| match std::fs::metadata(path) {
        Ok(meta) if meta.rdev() > 0 => format!("device {}", meta.rdev()),
        Ok(meta) => format!("file {} on {}", meta.ino(), meta.dev()),
        Err(_) => escaped_path(path),
    };
    let places = named.iter().filter_map(|(_, named)| match named {
        // A file system that hangs would hold this process: only the one that makes the calls touches it.
        Named::Directory(directory) => Some(escaped_path(directory.path())),
        _ => named.as_path().map(place),
    });
    places.collect()
}

/// Proves that the open targets are what the workload says of them: the same for all hosts, or each host's own. Returns what limits the
/// result.
///
/// # Errors
/// They are not, or somebody on a host that takes no part writes to one. Nothing but claims was written, which are put back.
pub fn prove_targets(
    link: &mut dyn Link,
    ranks: &AgreedRanks,
    plan: &Plan,
    targets: &Targets,
) -> Result<Vec<String>, Failure> {
    if let Targets::Directory(directory) = targets {
        return prove_directory(link, ranks, plan, directory).map(|()| Vec::new());
    }
    if ranks.targets_of_hosts().are_own() {
        prove_apart(link, ranks, targets)
    } else {
        prove_sharing(link, ranks, targets)
    }
}

/// Proves that all ranks have the same targets, which are open. Returns what limits the result: of targets that are only read, nothing
/// may be written to prove it.
///
/// # Errors
/// A rank has another target than rank 0, or somebody on another host writes to one. Nothing but claims was written, which are put back.
fn prove_sharing(link: &mut dyn Link, ranks: &AgreedRanks, targets: &Targets) -> Result<Vec<String>, Failure> {
    let reals = targets.real_targets();
    if ranks.are_on_one_host() || reals.is_empty() {
        // The rank to which a file was granted labels it before any of them writes.
        let labelled = if link.own_rank() == 0 { targets.recheck_gate() } else { Ok(()) };
        return share_statements(link, labelled).map(|_| Vec::new());
    }
    let quiet = if link.own_rank() == 0 { look_twice(reals) } else { Ok(()) };
    share_statements(link, quiet)?;
    let mut claimed = Claimed::default();
    let found = claim_and_compare(link, ranks, reals, &mut claimed);
    if found.is_err() {
        claimed.put_back();
    }
    found
}

/// Proves that no two hosts have the same target, which are open. One host after another writes its claims, and no other one may find
/// them. Returns what limits the result.
///
/// # Errors
/// Two hosts have the same target, or somebody on a host that takes no part writes to one. Nothing but claims was written, which are put
/// back.
fn prove_apart(link: &mut dyn Link, ranks: &AgreedRanks, targets: &Targets) -> Result<Vec<String>, Failure> {
    let reals = targets.real_targets();
    let hosts = ranks.first_ranks_of_hosts();
    if hosts.len() == 1 || reals.is_empty() {
        return prove_sharing(link, ranks, targets);
    }
    let quiet = if hosts.contains(&link.own_rank()) { look_twice(reals) } else { Ok(()) };
    share_statements(link, quiet)?;
    let mut limits = Vec::new();
    for host in hosts {
        let mut claimed = Claimed::default();
        match claim_alone(link, ranks, reals, host, &mut claimed) {
            Ok(unproven) => limits.extend(unproven),
            Err(failure) => {
                claimed.put_back();
                return Err(failure);
            }
        }
    }
    limits.sort();
    limits.dedup();
    Ok(limits)
}

/// The host of this rank writes its claims, and every other one looks whether they are on its targets.
fn claim_alone<'a>(
    link: &mut dyn Link,
    ranks: &AgreedRanks,
    reals: &'a [RealTarget],
    host: usize,
    claimed: &mut Claimed<'a>,
) -> Result<Vec<String>, Failure> {
    let is_claiming = link.own_rank() == host;
    let shown = show_targets(link, ranks, reals, is_claiming, claimed)?;
    let of_host = &shown[host];
    let name = ranks.host_of_rank(host);
    let found = reals.iter().zip(&shown[link.own_rank()]).zip(of_host).map(|((real, own), there)| {
        if ranks.share_a_host(link.own_rank(), host) {
            compare_with_first(real, own, there, name)
        } else {
            find_no_claim(real, own, of_host, name)
        }
    });
    let found = found.collect::<Result<Vec<Option<String>>, Failure>>();
    Ok(share_statements(link, found)?.into_iter().flatten().flatten().collect())
}

/// Whether a target is none of those that another host shows. Returns what limits the result, where nothing tells.
fn find_no_claim(real: &RealTarget, own: &Shown, others: &[Shown], host: &str) -> Result<Option<String>, Failure> {
    let is_seen = |other: &Shown, how: &str| {
        Failure::refused_for_safety(format!(
            "{} ({}) is not of this host alone: {host} has it as {} ({}), {how}; nothing else was written, and that was put back",
            one_line(&own.name),
            own.path,
            one_line(&other.name),
            other.path
        ))
    };
    if let TargetPermit::Write(permit) = &real.access {
        let found = permit.read_claim().map_err(|error| unreadable(real, &error))?;
        let same = others.iter().find(|other| found.is_some() && other.claim == found);
        return same.map_or(Ok(None), |other| Err(is_seen(other, "and what it has written there is here")));
    }
    let Some(identity) = &own.identity else {
        return Ok(Some(format!(
            "SHARING NOT EXCLUDED: nothing tells whether {} is another target on each host",
            one_line(&own.name)
        )));
    };
    let same = others.iter().find(|other| other.identity.as_ref() == Some(identity));
    same.map_or(Ok(None), |other| Err(is_seen(other, "by its identity")))
}

/// What stood where a rank has written its claims.
#[derive(Default)]
struct Claimed<'a>(Vec<(&'a RealTarget, Vec<u8>)>);

impl Claimed<'_> {
    fn put_back(self) {
        for (real, before) in self.0 {
            if let Some(permit) = write_permit(real) {
                // The targets are not used: what cannot be put back is a block that all had agreed to lose.
                let _ = permit.put_back(&before);
            }
        }
    }
}

fn claim_and_compare<'a>(
    link: &mut dyn Link,
    ranks: &AgreedRanks,
    reals: &'a [RealTarget],
    claimed: &mut Claimed<'a>,
) -> Result<Vec<String>, Failure> {
    let is_first = link.own_rank() == 0;
    let shown = show_targets(link, ranks, reals, is_first, claimed)?;
    let found = reals.iter().enumerate().map(|(at, real)| {
        let (own, first) = (&shown[link.own_rank()][at], &shown[0][at]);
        compare_with_first(real, own, first, ranks.host_of_rank(0))
    });
    let found = found.collect::<Result<Vec<Option<String>>, Failure>>();
    let unproven = share_statements(link, found)?;
    let mut limits: Vec<String> = unproven.into_iter().flatten().flatten().collect();
    limits.sort();
    limits.dedup();
    Ok(limits)
}

/// Shows the targets of this rank to all others; returns those of all ranks. One that is claiming writes its claims before.
fn show_targets<'a>(
    link: &mut dyn Link,
    ranks: &AgreedRanks,
    reals: &'a [RealTarget],
    is_claiming: bool,
    claimed: &mut Claimed<'a>,
) -> Result<Vec<Vec<Shown>>, Failure> {
    let seed = ranks.own_place().boot;
    let shown = reals.iter().enumerate().map(|(at, real)| {
        let claim = if is_claiming { claim_target(real, &format!("{seed} {at}"), claimed)? } else { None };
        Ok(show_target(real, claim))
    });
    share_statements(link, shown.collect::<Result<Vec<Shown>, Failure>>())
}

/// Whether what the targets hold stays as it is while nobody of this run writes.
fn look_twice(reals: &[RealTarget]) -> Result<(), Failure> {
    let written = || reals.iter().filter_map(|real| Some((real, write_permit(real)?)));
    let digests = || {
        let digest = |(real, permit): (&RealTarget, &assay_device::safety::Permit)| {
            permit.content_digest().map_err(|error| unreadable(real, &error))
        };
        written().map(digest).collect::<Result<Vec<_>, Failure>>()
    };
    let before = digests()?;
    if before.is_empty() {
        return Ok(());
    }
    let clock = Clock::start();
    while clock.now().as_ns() < BETWEEN_LOOKS.as_nanos() as u64 {
        std::thread::park_timeout(BETWEEN_LOOKS);
    }
    let after = digests()?;
    let changed = written().zip(before.iter().zip(&after)).find(|(_, (before, after))| before != after);
    match changed {
        None => Ok(()),
        Some(((real, _), _)) => Err(Failure::refused_for_safety(format!(
            "{}: what it holds has changed within {}, and no rank of this run has written to it: somebody on another host does; nothing was written",
            one_line(&real.name),
            counted_things(BETWEEN_LOOKS.as_secs(), "second")
        ))),
    }
}

fn write_permit(real: &RealTarget) -> Option<&assay_device::safety::Permit> {
    match &real.access {
        TargetPermit::Write(permit) => Some(permit),
        TargetPermit::Read(_) => None,
    }
}

fn unreadable(real: &RealTarget, error: &std::io::Error) -> Failure {
    Failure::host_unable(format!("{} cannot be compared with that of other hosts: {error}", one_line(&real.name)))
}

/// Writes a claim that is drawn from this seed, where the target is written.
fn claim_target<'a>(
    real: &'a RealTarget,
    seed: &str,
    claimed: &mut Claimed<'a>,
) -> Result<Option<[u8; CLAIM_BYTES]>, Failure> {
    let Some(permit) = write_permit(real) else { return Ok(None) };
    real.recheck_gate()?;
    let now = wall_time().duration_since(UNIX_EPOCH).unwrap_or_default();
    let drawn = format!("{seed} {} {}", now.as_nanos(), std::process::id());
    let drawn: [u8; CLAIM_BYTES] = blake3::hash(drawn.as_bytes()).into();
    let before = permit.write_claim(&drawn).map_err(|error| {
        Failure::host_unable(format!("the claim of its hosts cannot be written to {}: {error}", one_line(&real.name)))
    })?;
    claimed.0.push((real, before));
    Ok(Some(drawn))
}

fn show_target(real: &RealTarget, claim: Option<[u8; CLAIM_BYTES]>) -> Shown {
    let (name, path) = (real.name.clone(), escaped_path(real.real_path()));
    Shown { name, path, claim, identity: real.lasting_identity() }
}

/// Compares a target with that of rank 0. Returns what limits the result, where it is only read and nothing tells whether both are the
/// same.
fn compare_with_first(real: &RealTarget, own: &Shown, first: &Shown, host: &str) -> Result<Option<String>, Failure> {
    let other = || {
        Failure::refused_for_safety(format!(
            "{} ({}) is not the target that {host} has as {} ({}): what was written there is not here; nothing else was written, and that was put back",
            one_line(&own.name),
            own.path,
            one_line(&first.name),
            first.path
        ))
    };
    match (first.claim, &real.access) {
        (Some(claim), TargetPermit::Write(permit)) => {
            let found = permit.read_claim().map_err(|error| unreadable(real, &error))?;
            if found != Some(claim) {
                return Err(other());
            }
            permit.accept_label().map_err(|error| unreadable(real, &error))?;
            Ok(None)
        }
        _ if own.identity.is_some() && own.identity == first.identity => Ok(None),
        _ => Ok(Some(format!(
            "SHARING NOT PROVEN: nothing tells whether {} is the same on all hosts",
            one_line(&own.name)
        ))),
    }
}
