//! What each rank says to all, before a run: every rank learns what every other one says, or that one of them refuses. The order of
//! such rounds is the same on all ranks, so that one that refuses keeps all from going on, and none waits for it.

use super::meeting::{finish_collective, finish_collective_within, meet_all};
use crate::failure::{Failure, code, one_line};
use crate::log::tool::VERSION;
use assay_base::Span;
use assay_hosts::{Collective, Link};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Characters of a refusal that are told to the others.
const MOST_OF_A_REFUSAL: usize = 2_000;

/// What a rank says.
#[derive(Debug, Serialize, Deserialize)]
struct Statement {
    version: String,
    said: Value,
    /// Why it cannot go on, with the exit code of that.
    refusal: Option<(u8, String)>,
}

/// Tells all ranks what this one says, and returns what each says, by rank.
///
/// # Errors
/// The refusal of this rank in its own words, or that of another one: its text names the rank.
pub(super) fn share_statements<T: Serialize + DeserializeOwned>(
    link: &mut dyn Link,
    own: Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    share_with(link, own, meet_all)
}

/// The same, where rank 0 may take as long as this, and does something else meanwhile.
pub(super) fn share_statements_within<T: Serialize + DeserializeOwned>(
    link: &mut dyn Link,
    own: Result<T, Failure>,
    patience: Span,
) -> Result<Vec<T>, Failure> {
    share_with(link, own, |link, operation| finish_collective_within(link, operation, patience))
}

/// The same, where `begin` waits for all ranks and carries out the first operation.
fn share_with<T: Serialize + DeserializeOwned>(
    link: &mut dyn Link,
    own: Result<T, Failure>,
    begin: impl FnOnce(&mut dyn Link, Collective) -> Result<Collective, Failure>,
) -> Result<Vec<T>, Failure> {
    let bytes = serde_json::to_vec(&statement_of(&own)).map_err(|error| Failure::internal_bug(error.to_string()))?;
    let all = gather_for_all(link, bytes, begin)?;
    // Whoever cannot says so in its own words.
    own?;
    let statements = all.iter().enumerate().map(|(rank, bytes)| read_statement(rank, bytes));
    let statements = statements.collect::<Result<Vec<Statement>, Failure>>()?;
    for (rank, statement) in statements.iter().enumerate() {
        if let Some((code, why)) = &statement.refusal {
            return Err(Failure::of_another_rank(*code, &format!("rank {rank}: {why}")));
        }
    }
    let said = statements
        .into_iter()
        .enumerate()
        .map(|(rank, statement)| serde_json::from_value(statement.said).map_err(|_| not_of_this_version(rank)));
    said.collect()
}

fn statement_of<T: Serialize>(own: &Result<T, Failure>) -> Statement {
    let version = VERSION.to_owned();
    match own {
        Ok(said) => Statement { version, said: serde_json::to_value(said).unwrap_or_default(), refusal: None },
        Err(failure) => {
            let why = failure.user_message();
            let mut told: String = why.chars().take(MOST_OF_A_REFUSAL).collect();
            if told.len() < why.len() {
                told.push_str(" …");
            }
            Statement { version, said: Value::Null, refusal: Some((failure.code, told)) }
        }
    }
}

fn read_statement(rank: usize, bytes: &[u8]) -> Result<Statement, Failure> {
    let statement: Statement = serde_json::from_slice(bytes).map_err(|_| not_of_this_version(rank))?;
    if statement.version == VERSION {
        return Ok(statement);
    }
    let version = one_line(&statement.version);
    Err(Failure::host_unable(format!("rank {rank} is assay {version}, and this rank is {VERSION}")))
}

fn not_of_this_version(rank: usize) -> Failure {
    Failure::of_another_rank(code::HOST, &format!("rank {rank} said what is no statement of this version"))
}

/// The bytes of all ranks, by rank: every rank gives as many as the one that has most, filled up with spaces.
fn gather_for_all(
    link: &mut dyn Link,
    mut bytes: Vec<u8>,
    begin: impl FnOnce(&mut dyn Link, Collective) -> Result<Collective, Failure>,
) -> Result<Vec<Vec<u8>>, Failure> {
    let ranks = link.world_size();
    let longest = begin(link, Collective::MaximumForAll(vec![bytes.len() as u64]))?;
    let Collective::MaximumForAll(longest) = longest else { return Err(no_answer()) };
    let each = longest.first().copied().unwrap_or_default().max(1) as usize;
    bytes.resize(each, b' ');
    let mut all = match finish_collective(link, Collective::Gather(bytes))? {
        Collective::Gather(all) => all,
        _ => return Err(no_answer()),
    };
    all.resize(each * ranks, b' ');
    match finish_collective(link, Collective::Broadcast(all))? {
        Collective::Broadcast(all) => Ok(all.chunks(each).map(<[u8]>::to_vec).collect()),
        _ => Err(no_answer()),
    }
}

fn no_answer() -> Failure {
    Failure::host_unable("the ranks could not be asked")
}
