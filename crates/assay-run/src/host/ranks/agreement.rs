//! What the ranks agree upon before any of them issues an operation: that all of them can, that they carry the same plan, who carries
//! which parts, and where the results go. One that cannot keeps all from beginning.

use super::link_failure;
use crate::drive::RankPlace;
use crate::failure::{Failure, one_line};
use assay_base::Span;
use assay_device::clock::Clock;
use assay_hosts::{Collective, Link};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Bytes of what a rank says: every rank gives as many.
const STATEMENT_BYTES: usize = 2_048;
/// How long the others may take: the safety rules of a host look at all of its devices and processes.
const PATIENCE: Span = Span::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// What a rank says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Statement {
    host: String,
    boot: String,
    version: String,
    parts: u64,
    /// Digest of the plans of its runs.
    plans: String,
    /// Why it cannot, with the exit code of that.
    refusal: Option<(u8, String)>,
}

/// What rank 0 answers to all.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Answer {
    Begin { shares: Vec<(String, u64)>, directory: PathBuf },
    Refused { code: u8, why: String },
}

/// What the ranks have agreed upon.
#[derive(Clone, Debug)]
pub struct Agreement {
    /// The place of this rank.
    pub place: RankPlace,
    /// The directory of the run.
    pub directory: PathBuf,
}

/// What a rank brings.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Name of its host.
    pub host: String,
    /// Which boot of it.
    pub boot: String,
    /// How many parts it carries.
    pub parts: u64,
    /// Digest of the plans of its runs.
    pub plans: String,
}

/// Agrees with the other ranks. `make_directory` is called by rank 0 alone, once all can begin.
///
/// # Errors
/// The failure of this rank, or that of another one: its text names the rank.
pub fn agree(
    link: &mut dyn Link,
    own: Result<Offer, Failure>,
    make_directory: impl FnOnce() -> Result<PathBuf, Failure>,
) -> Result<Agreement, Failure> {
    let statement = statement_of(&own);
    let gathered = finish_collective(link, Collective::Gather(padded_bytes(&statement)))?;
    let answer = (link.own_rank() == 0).then(|| answer_to(&gathered, make_directory));
    let answer = tell_all(link, answer)?;
    // Whoever cannot says so in its own words.
    let own = own?;
    match answer {
        Answer::Refused { code, why } => Err(Failure::of_another_rank(code, &why)),
        Answer::Begin { shares, directory } => {
            let rank = link.own_rank();
            let parts_before = |rank: usize| shares.iter().take(rank).map(|(_, parts)| parts).sum();
            let place = RankPlace {
                rank: rank as u32,
                host: own.host,
                boot: own.boot,
                first_part: parts_before(rank),
                parts: own.parts,
                all_parts: parts_before(shares.len()),
            };
            Ok(Agreement { place, directory })
        }
    }
}

fn statement_of(own: &Result<Offer, Failure>) -> Statement {
    let version = crate::log::tool::VERSION.to_owned();
    match own {
        Ok(Offer { host, boot, parts, plans }) => Statement {
            host: host.clone(),
            boot: boot.clone(),
            version,
            parts: *parts,
            plans: plans.clone(),
            refusal: None,
        },
        Err(failure) => Statement {
            host: String::new(),
            boot: String::new(),
            version,
            parts: 0,
            plans: String::new(),
            refusal: Some((failure.code, failure.user_message().to_owned())),
        },
    }
}

/// The statement as bytes of the length that all give; a refusal that is too long is cut.
fn padded_bytes(statement: &Statement) -> Vec<u8> {
    let mut statement = statement.clone();
    let mut bytes = serde_json::to_vec(&statement).unwrap_or_default();
    while bytes.len() > STATEMENT_BYTES {
        let Some((_, why)) = &mut statement.refusal else { break };
        let shorter = why.chars().count() / 2;
        *why = why.chars().take(shorter).collect::<String>() + " …";
        bytes = serde_json::to_vec(&statement).unwrap_or_default();
    }
    bytes.resize(STATEMENT_BYTES, b' ');
    bytes
}

fn answer_to(gathered: &Collective, make_directory: impl FnOnce() -> Result<PathBuf, Failure>) -> Answer {
    let refused = |code: u8, why: String| Answer::Refused { code, why };
    let Collective::Gather(bytes) = gathered else {
        return refused(crate::failure::code::HOST, "the ranks could not be asked".to_owned());
    };
    let mut statements = Vec::new();
    for (rank, bytes) in bytes.chunks(STATEMENT_BYTES).enumerate() {
        match serde_json::from_slice::<Statement>(bytes) {
            Ok(statement) => statements.push(statement),
            Err(_) => {
                return refused(
                    crate::failure::code::HOST,
                    format!("rank {rank} said what is no statement of this version"),
                );
            }
        }
    }
    for (rank, statement) in statements.iter().enumerate() {
        if let Some((code, why)) = &statement.refusal {
            return refused(*code, format!("rank {rank}: {why}"));
        }
        let first = &statements[0];
        if statement.version != first.version {
            let (own, other) = (one_line(&first.version), one_line(&statement.version));
            return refused(crate::failure::code::HOST, format!("rank {rank} is assay {other}, rank 0 is {own}"));
        }
        if statement.plans != first.plans {
            return refused(
                crate::failure::code::USAGE,
                format!(
                    "rank {rank} would carry another plan than rank 0: the command, the workload and the program must be the same on all hosts"
                ),
            );
        }
    }
    match make_directory() {
        Ok(directory) => {
            let shares = statements.into_iter().map(|statement| (statement.host, statement.parts)).collect();
            Answer::Begin { shares, directory }
        }
        Err(failure) => refused(failure.code, format!("rank 0: {}", failure.user_message())),
    }
}

/// Gives the answer of rank 0 to all.
fn tell_all(link: &mut dyn Link, answer: Option<Answer>) -> Result<Answer, Failure> {
    let bytes = answer.map_or_else(Vec::new, |answer| serde_json::to_vec(&answer).unwrap_or_default());
    let length = finish_collective(link, Collective::Broadcast((bytes.len() as u64).to_le_bytes().to_vec()))?;
    let Collective::Broadcast(length) = length else { return Err(no_answer()) };
    let length = <[u8; 8]>::try_from(length.as_slice()).map(u64::from_le_bytes).map_err(|_| no_answer())?;
    let mut bytes = bytes;
    bytes.resize(length as usize, 0);
    match finish_collective(link, Collective::Broadcast(bytes))? {
        Collective::Broadcast(bytes) => serde_json::from_slice(&bytes).map_err(|_| no_answer()),
        _ => Err(no_answer()),
    }
}

fn no_answer() -> Failure {
    Failure::host_unable("rank 0 gave no answer of this version")
}

/// Begins an operation of all ranks, and waits for its result.
fn finish_collective(link: &mut dyn Link, operation: Collective) -> Result<Collective, Failure> {
    let clock = Clock::start();
    let since = clock.now();
    link.begin_collective(operation).map_err(|error| link_failure(&error))?;
    loop {
        if let Some(result) = link.collective_result().map_err(|error| link_failure(&error))? {
            return Ok(result);
        }
        if clock.now().since(since) > PATIENCE {
            return Err(Failure::host_unable(format!(
                "not all ranks have answered within {PATIENCE}; assay doctor --hosts names those that do not"
            )));
        }
        std::thread::park_timeout(LOOK_EVERY);
    }
}

/// Digest of the plans of runs.
pub fn digest_of_plans<'a>(plans: impl Iterator<Item = &'a assay_model::Plan>) -> String {
    let mut sum = blake3::Hasher::new();
    for plan in plans {
        sum.update(&serde_json::to_vec(plan).unwrap_or_default());
    }
    sum.finalize().to_hex().to_string()
}
