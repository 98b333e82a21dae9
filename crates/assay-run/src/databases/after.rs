//! Whether a database still has what it acknowledged: the ledger of a run against the database, after a crash, a loss of
//! power, or simply afterwards.
//!
//! Each session has set its row to the number of its last transaction, in that transaction. A row with a smaller number
//! than one that was acknowledged says that commits are lost; so does an order that was acknowledged and is not there,
//! and a sum that has not risen by what was acknowledged. A session that goes on after a crash would soon be beyond the
//! numbers that are lost, so that it looks at its row first, and the ledger has what it found. A transaction whose outcome is not known may be there or not.

use super::ledger::FILE;
use super::{Checked, Loaded};
use crate::databases::kinds::{For, open};
use crate::failure::{Failure, one_line, shown};
use crate::{files, reading, rundir};
use assay_record::{BadLedger, Commit, CommitsEnd, CommitsHead, CommitsReader, Committed, Entry, Noted};
use assay_sql::{Kept, Marker, Totals, Url};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// How many lost orders are listed by their numbers.
const LISTED: usize = 1_000;

/// What the ledger of a run claims, and what of it is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct After {
    /// The sessions of the run.
    pub sessions: u32,
    /// Commits that were acknowledged.
    pub acknowledged: u64,
    /// Those of them that are lost, by the numbers of the sessions.
    pub lost: u64,
    /// The sessions that lack some.
    pub lacking: Vec<Lacking>,
    /// Acknowledged orders that are not there.
    pub orders_lost: u64,
    /// The first of them: warehouse, district, number.
    pub orders: Vec<[i32; 3]>,
    /// What else shows that something is lost, or that the rows are not those of the run, in words.
    pub contradictions: Vec<String>,
    /// Whether the run ended by itself, so that it is known what it had sent.
    pub ended: bool,
}

/// A session some of whose commits are lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lacking {
    /// The session, from 0.
    pub session: u32,
    /// The number in its row, when the session was connected again or in the end; none if the row was gone.
    pub has: Option<u64>,
    /// The first and the last number that was acknowledged and is lost.
    pub first: u64,
    /// See `first`.
    pub last: u64,
    /// How many were acknowledged between them, both included.
    pub commits: u64,
}

impl After {
    /// Whether all that was acknowledged is there.
    pub fn holds(&self) -> bool {
        self.lacking.is_empty() && self.orders_lost == 0 && self.contradictions.is_empty()
    }

    /// What is wrong, a sentence each.
    pub fn losses(&self) -> Vec<String> {
        let lacking = self.lacking.iter().map(|it| {
            let Lacking { session, has, first, last, commits } = it;
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

/// What commits claim, summed while they are read.
struct Claims<'a> {
    kept: &'a Kept,
    after: After,
    /// What was found in the row of each session after what is read now, in this order.
    found: BTreeMap<u32, VecDeque<u64>>,
    /// By session, and by how often its row was looked at afterwards.
    lacking: BTreeMap<(u32, Reverse<usize>), Lacking>,
    totals: Totals,
}

impl Claims<'_> {
    fn take(&mut self, noted: &Noted) {
        let Commit { session, seq, what } = match noted {
            Noted::Commit(commit) => *commit,
            Noted::Found { session, .. } => {
                self.found.entry(*session).or_default().pop_front();
                return;
            }
        };
        self.after.acknowledged += 1;
        let found = self.found.entry(session).or_default();
        let looks = found.len();
        if let Some(has) = found.iter().copied().find(|has| *has < seq) {
            self.after.lost += 1;
            // Nobody makes a row anew: one that is there now was never gone.
            let has = Some(has).filter(|has| *has > 0 || self.kept.sessions.contains_key(&session));
            let fresh = Lacking { session, has, first: seq, last: seq, commits: 0 };
            let lacking = self.lacking.entry((session, Reverse(looks))).or_insert(fresh);
            (lacking.last, lacking.commits) = (seq, lacking.commits + 1);
        }
        match what {
            Committed::Order { warehouse, district, order } => {
                self.totals.next_orders += 1;
                if !self.kept.has(warehouse, district, order) {
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

    /// Sums that have not risen by what was acknowledged. Others may have raised them since.
    fn sums(&mut self, head: &CommitsHead, now: &Totals) {
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

    /// Rows with numbers that their sessions have never sent.
    fn never_sent(&mut self, sent: &[u64]) {
        for (session, sent) in (0..).zip(sent) {
            if let Some(has) = self.kept.sessions.get(&session).filter(|has| *has > sent) {
                let text = format!("session {session}: the database has it at {has}, and it has sent {sent} at most");
                self.after.contradictions.push(text);
            }
        }
    }
}

/// What was found in the row of each session whenever it was connected again, in this order.
fn found<R: Read>(ledger: CommitsReader<R>) -> Result<BTreeMap<u32, VecDeque<u64>>, BadLedger> {
    let mut found: BTreeMap<u32, VecDeque<u64>> = BTreeMap::new();
    ledger.read(&mut |noted| {
        if let Noted::Found { session, seq } = noted {
            found.entry(*session).or_default().push_back(*seq);
        }
    })?;
    Ok(found)
}

/// Compares a ledger, of which is known what was found in the rows, with what a database has kept.
fn compare<R: Read>(
    ledger: CommitsReader<R>,
    mut found: BTreeMap<u32, VecDeque<u64>>,
    kept: &Kept,
    now: &Totals,
) -> Result<After, BadLedger> {
    let head = ledger.head().clone();
    for session in 0..head.sessions {
        found.entry(session).or_default().push_back(kept.sessions.get(&session).copied().unwrap_or(0));
    }
    let after = After { sessions: head.sessions, ..After::default() };
    let totals = Totals { next_orders: 0, payments: 0, ytd: 0 };
    let mut claims = Claims { kept, after, found, lacking: BTreeMap::new(), totals };
    let CommitsEnd { sent, .. } = ledger.read(&mut |noted| claims.take(noted))?;
    claims.sums(&head, now);
    claims.after.ended = sent.is_some();
    claims.never_sent(&sent.unwrap_or_default());
    let Claims { after, lacking, .. } = claims;
    Ok(After { lacking: lacking.into_values().collect(), ..after })
}

/// Compares the ledger at a path with what a database has kept.
pub(super) fn compared(path: &Path, kept: &Kept, now: &Totals) -> Result<After, Failure> {
    let found = found(ledger(path)?).map_err(|why| bad(path, &why))?;
    compare(ledger(path)?, found, kept, now).map_err(|why| bad(path, &why))
}

/// Opens the ledger at a path.
fn ledger(path: &Path) -> Result<CommitsReader<BufReader<File>>, Failure> {
    let file = files::open(path).map_err(|why| {
        let text = format!("{} cannot be read: {why}", shown(path));
        Failure::workload(text).advised("name the directory of a run that was made with --verify or --crash-test")
    })?;
    CommitsReader::open(BufReader::with_capacity(1 << 20, file)).map_err(|why| bad(path, &why))
}

fn bad(path: &Path, why: &BadLedger) -> Failure {
    Failure::invalid(format!("{} {why}: it proves nothing", shown(path)))
}

/// Whether the log of a run says that the run ended by itself.
fn has_ended(dir: &Path) -> Result<bool, Failure> {
    let path = rundir::log_in(dir);
    let file = reading::open(&path)?;
    if reading::is_being_written(&file) {
        return Err(Failure::usage(format!("the run {} still goes on: wait until it has ended", shown(dir))));
    }
    let (mut reader, mut closed) = (reading::reader(file), false);
    let unreadable = |e: std::io::Error| Failure::workload(format!("the log {} cannot be read: {e}", shown(&path)));
    while let Some(Ok(entry)) = reader.next_entry().map_err(unreadable)? {
        closed |= matches!(entry, Entry::Close(_));
    }
    Ok(closed)
}

/// Examines a database, and whether it has all that it acknowledged to the run in `dir`.
pub fn check_after(url: &Url, dir: &Path) -> Result<(Checked, After), Failure> {
    let path = dir.join(FILE);
    let closed = has_ended(dir)?;
    let head = ledger(&path)?.head().clone();
    let trouble = |trouble| Failure::database(&trouble);
    let (mut opened, marker) = open(url, For::Check).map_err(trouble)?;
    belongs(&head, &marker, (&path, url))?;
    let kept = opened.kept(&head.run).map_err(trouble)?;
    let totals = opened.totals().map_err(trouble)?;
    let after = compared(&path, &kept, &totals)?;
    if closed && !after.ended {
        let text = format!("{} ends before its run did: it was cut, or could not be written in full", shown(&path));
        return Err(Failure::invalid(format!("{text}; it proves nothing")));
    }
    let violations = opened.check().map_err(trouble)?;
    Ok((Checked { loaded: Loaded::of(url, &marker), violations }, after))
}

/// Refuses a ledger of another database.
fn belongs(head: &CommitsHead, marker: &Marker, (path, url): (&Path, &Url)) -> Result<(), Failure> {
    if head.load == marker.run {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "{} belongs to {} with the load {}, and {} holds the load {}: name the database of that run",
        shown(path),
        one_line(&head.database),
        one_line(&head.load),
        one_line(url),
        one_line(&marker.run)
    )))
}

#[cfg(test)]
#[path = "after_tests.rs"]
mod tests;
