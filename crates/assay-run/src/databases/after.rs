//! Whether a database still has what it acknowledged: the ledger of a run against the database, after a crash, a loss
//! of power, or simply afterwards.
//!
//! Each session has set its row to the number of its last writing transaction, in that transaction. Commits are lost if
//! a row has a smaller number than one that was acknowledged, if an acknowledged order does not exist, or if a sum has
//! not risen by what was acknowledged. A session that continues after a crash soon sends numbers above the lost ones.
//! It therefore reads its row first, and the ledger stores the number that it found. A transaction of unknown outcome
//! may exist or not.

use super::ledger::FILE;
use super::target::Database;
use super::{Checked, Loaded};
use crate::databases::kinds::{OpenPurpose, open_through_gate};
use crate::failure::{Failure, escaped_path, one_line};
use crate::files;
use crate::log::{reading, rundir};
use assay_record::{BadLedger, Commit, CommitsEnd, CommitsHead, CommitsReader, Committed, Entry, LedgerEntry};
use assay_sql::{KeptCommits, Marker, Totals, Url};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// The number of lost orders that are listed by their numbers.
const LISTED: usize = 1_000;

/// The claims of a run's ledger, and the part of them that the database does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct After {
    /// The sessions of the run.
    pub sessions: u32,
    /// Commits that were acknowledged.
    pub acknowledged: u64,
    /// Number of acknowledged commits that are lost, according to the rows of the sessions.
    pub lost: u64,
    /// The sessions some of whose commits are lost.
    pub lacking: Vec<Lacking>,
    /// Number of acknowledged orders that do not exist.
    pub orders_lost: u64,
    /// The first of these orders: warehouse, district, number.
    pub orders: Vec<[i32; 3]>,
    /// Sentences about everything else that shows a loss, or that the rows do not belong to the run.
    pub contradictions: Vec<String>,
    /// Whether the run ended by itself, so that the ledger says what the sessions had sent.
    pub ended: bool,
}

/// A session some of whose commits are lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lacking {
    /// The session, from 0.
    pub session: u32,
    /// The number in its row, after the reconnect that follows the lost commits or at the end; `None` if the row did
    /// not exist.
    pub has: Option<u64>,
    /// The first and the last number that was acknowledged and is lost.
    pub first: u64,
    /// See `first`.
    pub last: u64,
    /// Number of acknowledged commits from `first` to `last`.
    pub commits: u64,
}

impl After {
    /// Whether the database has everything that it acknowledged.
    pub fn has_no_losses(&self) -> bool {
        self.lacking.is_empty() && self.orders_lost == 0 && self.contradictions.is_empty()
    }

    /// One sentence for each loss.
    pub fn loss_sentences(&self) -> Vec<String> {
        let lacking = self.lacking.iter().map(|lacking| {
            let Lacking { session, has, first, last, commits } = lacking;
            let has = match has {
                Some(has) => format!("its row stood at {has}"),
                None => "its row was gone".to_owned(),
            };
            format!(
                "session {session}: {commits} acknowledged commit{} lost, with the numbers {first} to {last}; {has}",
                if *commits == 1 { " is" } else { "s are" }
            )
        });
        let orders = self.orders.iter().map(|[warehouse, district, order]| {
            format!("order {order} of district {district} in warehouse {warehouse} was acknowledged and is not there")
        });
        let rest = self.orders_lost - self.orders.len() as u64;
        let rest = (rest > 0).then(|| format!("another {rest} orders were acknowledged and are not there"));
        lacking.chain(orders).chain(rest).chain(self.contradictions.iter().cloned()).collect()
    }
}

/// Sums up the claims of commits while they are read.
struct LedgerClaims<'a> {
    kept: &'a KeptCommits,
    after: After,
    /// For each session, the numbers that were found in its row after the commit that is read now, in this order.
    found: BTreeMap<u32, VecDeque<u64>>,
    /// By session, and by how often its row was read after the lost commits.
    lacking: BTreeMap<(u32, Reverse<usize>), Lacking>,
    totals: Totals,
}

impl LedgerClaims<'_> {
    fn take_noted(&mut self, noted: &LedgerEntry) {
        let Commit { session, seq, what } = match noted {
            LedgerEntry::Commit(commit) => *commit,
            LedgerEntry::Found { session, .. } => {
                self.found.entry(*session).or_default().pop_front();
                return;
            }
        };
        self.after.acknowledged += 1;
        let found = self.found.entry(session).or_default();
        let looks = found.len();
        if let Some(has) = found.iter().copied().find(|has| *has < seq) {
            self.after.lost += 1;
            // Rows are created once, before the run. A row that exists now has existed all the time: 0 is then its
            // number, and not a sign that it was missing.
            let has = Some(has).filter(|has| *has > 0 || self.kept.sessions.contains_key(&session));
            let fresh = Lacking { session, has, first: seq, last: seq, commits: 0 };
            let lacking = self.lacking.entry((session, Reverse(looks))).or_insert(fresh);
            (lacking.last, lacking.commits) = (seq, lacking.commits + 1);
        }
        match what {
            Committed::Order { warehouse, district, order } => {
                self.totals.next_orders += 1;
                if !self.kept.has_order(warehouse, district, order) {
                    self.after.orders_lost += 1;
                    if self.after.orders.len() < LISTED {
                        self.after.orders.push([warehouse, district, order]);
                    }
                }
            }
            Committed::Payment { amount } => {
                self.totals.payments += 1;
                self.totals.ytd += amount;
            }
            Committed::Delivery => {}
        }
    }

    /// Reports sums that have risen by less than what was acknowledged. Others may have raised them further.
    fn compare_sums(&mut self, head: &CommitsHead, now: &Totals) {
        let Totals { next_orders, payments, ytd } = self.totals;
        let [orders_before, payments_before, ytd_before] = head.before;
        for (name, rose, claimed) in [
            ("D_NEXT_O_ID", now.next_orders.saturating_sub(orders_before), next_orders),
            ("C_PAYMENT_CNT", now.payments.saturating_sub(payments_before), payments),
            ("W_YTD, in cents,", now.ytd.saturating_sub(ytd_before), ytd),
        ] {
            if rose < claimed {
                let text = format!("the sum of {name} has risen by {rose}, and what was acknowledged is {claimed}");
                self.after.contradictions.push(text);
            }
        }
    }

    /// Reports rows with larger numbers than their sessions have sent.
    fn never_sent(&mut self, sent: &[u64]) {
        for (session, sent) in (0..).zip(sent) {
            if let Some(has) = self.kept.sessions.get(&session).filter(|has| *has > sent) {
                let text = format!("session {session}: the database has it at {has}, and it has sent {sent} at most");
                self.after.contradictions.push(text);
            }
        }
    }
}

/// The numbers that each session has found in its row after its reconnects, in this order.
fn numbers_after_reconnects<R: Read>(ledger: CommitsReader<R>) -> Result<BTreeMap<u32, VecDeque<u64>>, BadLedger> {
    let mut found: BTreeMap<u32, VecDeque<u64>> = BTreeMap::new();
    ledger.read_entries(&mut |noted| {
        if let LedgerEntry::Found { session, seq } = noted {
            found.entry(*session).or_default().push_back(*seq);
        }
    })?;
    Ok(found)
}

/// Compares a ledger with what a database has kept. `found` has the numbers that were found in the rows.
fn compare_with_ledger<R: Read>(
    ledger: CommitsReader<R>,
    mut found: BTreeMap<u32, VecDeque<u64>>,
    kept: &KeptCommits,
    now: &Totals,
) -> Result<After, BadLedger> {
    let head = ledger.ledger_head().clone();
    for session in 0..head.sessions {
        found.entry(session).or_default().push_back(kept.sessions.get(&session).copied().unwrap_or(0));
    }
    let after = After { sessions: head.sessions, ..After::default() };
    let totals = Totals { next_orders: 0, payments: 0, ytd: 0 };
    let mut claims = LedgerClaims { kept, after, found, lacking: BTreeMap::new(), totals };
    let CommitsEnd { sent, .. } = ledger.read_entries(&mut |noted| claims.take_noted(noted))?;
    claims.compare_sums(&head, now);
    claims.after.ended = sent.is_some();
    claims.never_sent(&sent.unwrap_or_default());
    let LedgerClaims { after, lacking, .. } = claims;
    Ok(After { lacking: lacking.into_values().collect(), ..after })
}

/// Compares the ledger at a path with what a database has kept.
pub(super) fn compare_ledger_file(path: &Path, kept: &KeptCommits, now: &Totals) -> Result<After, Failure> {
    let found = numbers_after_reconnects(open_ledger(path)?).map_err(|why| unusable_ledger(path, &why))?;
    compare_with_ledger(open_ledger(path)?, found, kept, now).map_err(|why| unusable_ledger(path, &why))
}

/// Opens the ledger at a path.
fn open_ledger(path: &Path) -> Result<CommitsReader<BufReader<File>>, Failure> {
    let file = files::open_named_file(path).map_err(|why| {
        let text = format!("{} cannot be read: {why}", escaped_path(path));
        Failure::bad_workload(text)
            .with_advice("name the directory of a run that was made with --verify or --crash-test")
    })?;
    CommitsReader::from_input(BufReader::with_capacity(1 << 20, file)).map_err(|why| unusable_ledger(path, &why))
}

fn unusable_ledger(path: &Path, why: &BadLedger) -> Failure {
    Failure::invalid_result(format!("{} {why}: it proves nothing", escaped_path(path)))
}

/// The statements of a run's log about its ledger.
#[derive(Debug, Default)]
struct LoggedLedger {
    /// Whether the run ended by itself.
    closed: bool,
    /// The name of the run in the database; logs that were written before it was kept have none.
    run: Option<String>,
}

impl LoggedLedger {
    fn take_entry(&mut self, entry: &Entry) {
        match entry {
            Entry::Header(header) => self.run = header.databases.first().and_then(|database| database.ledger.clone()),
            Entry::Close(_) => self.closed = true,
            _ => {}
        }
    }

    /// Refuses a ledger that is not the one of this log.
    fn refuse_other_ledger(&self, path: &Path, head: &CommitsHead) -> Result<(), Failure> {
        match &self.run {
            Some(run) if *run != head.run => Err(Failure::invalid_result(format!(
                "{} belongs to the run {}, and the log beside it to the run {}: it proves nothing",
                escaped_path(path),
                one_line(&head.run),
                one_line(run)
            ))),
            _ => Ok(()),
        }
    }
}

/// Reads what the log of a run says about its ledger.
fn read_logged(dir: &Path) -> Result<LoggedLedger, Failure> {
    let path = rundir::log_in(dir);
    let file = reading::open_log_file(&path)?;
    if reading::is_being_written(&file) {
        return Err(Failure::bad_usage(format!(
            "the run {} still goes on: wait until it has ended",
            escaped_path(dir)
        )));
    }
    let (mut reader, mut logged) = (reading::reader_from(file), LoggedLedger::default());
    while let Some(Ok(entry)) = reader.next_entry().map_err(|why| unreadable_log(&path, &why))? {
        logged.take_entry(&entry);
    }
    Ok(logged)
}

fn unreadable_log(log: &Path, why: &std::io::Error) -> Failure {
    Failure::bad_workload(format!("the log {} cannot be read: {why}", escaped_path(log)))
}

/// Checks the conditions of a database, and whether it has everything that it acknowledged to the run in `dir`.
pub fn check_after(url: &Url, dir: &Path) -> Result<(Checked, After), Failure> {
    let path = dir.join(FILE);
    let logged = read_logged(dir)?;
    let head = open_ledger(&path)?.ledger_head().clone();
    logged.refuse_other_ledger(&path, &head)?;
    let (mut opened, marker) = open_through_gate(url, OpenPurpose::Check).map_err(Failure::from_trouble)?;
    refuse_other_database(&head, &marker, &path, &one_line(url))?;
    let kept = opened.kept_commits(&head.run).map_err(Failure::from_trouble)?;
    let totals = opened.read_totals().map_err(Failure::from_trouble)?;
    let after = compare_ledger_file(&path, &kept, &totals)?;
    if logged.closed && !after.ended {
        let text =
            format!("{} ends before its run did: it was cut, or could not be written in full", escaped_path(&path));
        return Err(Failure::invalid_result(format!("{text}; it proves nothing")));
    }
    let violations = opened.check_conditions().map_err(Failure::from_trouble)?;
    Ok((Checked { loaded: Loaded::new(url, &marker), violations }, after))
}

/// What a database that this program holds open has lost since it acknowledged it to the run in `dir`: a sentence for each loss; none
/// where the run kept no ledger. New runs have rows of their own, so that it may be asked at any time.
pub(crate) fn lost_commits(database: &Database, dir: &Path) -> Result<Vec<String>, Failure> {
    let path = dir.join(FILE);
    if path.symlink_metadata().is_err() {
        return Ok(Vec::new());
    }
    let head = open_ledger(&path)?.ledger_head().clone();
    read_logged(dir)?.refuse_other_ledger(&path, &head)?;
    refuse_other_database(&head, database.load_marker(), &path, database.url_name())?;
    let mut opened = database.lock_opened();
    let kept = opened.kept_commits(&head.run).map_err(Failure::from_trouble)?;
    let totals = opened.read_totals().map_err(Failure::from_trouble)?;
    Ok(compare_ledger_file(&path, &kept, &totals)?.loss_sentences())
}

/// Refuses a ledger of another database.
fn refuse_other_database(head: &CommitsHead, marker: &Marker, path: &Path, database: &str) -> Result<(), Failure> {
    if head.load == marker.run {
        return Ok(());
    }
    Err(Failure::invalid_result(format!(
        "{} belongs to {} with the load {}, and {} holds the load {}: name the database of that run",
        escaped_path(path),
        one_line(&head.database),
        one_line(&head.load),
        database,
        one_line(&marker.run)
    )))
}

#[cfg(test)]
#[path = "after_tests.rs"]
mod tests;
