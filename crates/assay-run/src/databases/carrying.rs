//! The transactions of a run on a database: the sources of the calls, and what is read from the database before and
//! after.

use super::after::compare_ledger_file;
use super::calls::Calls;
use super::differences::{
    all_changed, describe_foreign_writes, describe_lost_commits, describe_unsynced_commits, did_not_crash,
};
use super::ledger::{LedgerFile, sleep_for};
use super::logged::LoggedCommits;
use super::opened::{Counters, Guarded, Opened, ServerStart, Settings};
use super::target::{Database, target_seed};
use crate::failure::{Failure, escaped_path};
use assay_base::{Instant, Prng, Span};
use assay_engine::Parts;
use assay_model::arrival::{Part, Schedule};
use assay_model::plan::Plan;
use assay_model::tpcc::checks::Check;
use assay_model::tpcc::load::{Homes, Pace, Verify};
use assay_model::tpcc::{Deck, Load, TransactionKind};
use assay_record::{CloseReason, DatabaseSums, Event, EventKind};
use assay_sql::sqlite::Totals;
use assay_sql::{Account, TroubleKind as Trouble};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The purpose for which the times of an open loop are drawn: the bytes of "orders".
const ARRIVALS: u64 = 0x6f72_6465_7273;

/// The time for which the end of a run waits for a server that has crashed, and the time between two attempts.
const RETURN: Span = Span::from_secs(300);
/// The longest time to wait after any other run in which a server was away: until it has started again.
const RESTART: Span = Span::from_secs(60);
const ASK: Duration = Duration::from_millis(250);
/// A session that still waits for an answer may have sent more numbers than it has reported: one for the transaction,
/// and one for each of at most ten repetitions.
const STILL_SENT: u64 = 11;

/// The load of a plan that drives a database.
pub(crate) fn database_load(plan: &Plan) -> Result<&Load, Failure> {
    plan.load.tpcc().ok_or_else(|| Failure::internal_bug("a plan without transactions on a database"))
}

/// Upper and lower bound of the time between two checks for answers.
const LOOKS: [Span; 2] = [Span::from_ms(10), Span::from_ms(1)];

/// The longest time between two checks for answers. A response may be recorded too long by up to this much. It is a
/// 500th of the shortest time that a criterion names, within [`LOOKS`]: each check costs as much as a part of a
/// transaction.
pub(crate) fn longest_poll_gap(plan: &Plan) -> Span {
    let shortest = plan.criteria.iter().filter_map(assay_base::Criterion::counted_threshold).min();
    let [longest, least] = LOOKS;
    shortest.map_or(longest, |threshold| Span::from_ns(threshold.as_ns() / 500).clamp(least, longest))
}

/// The sources of the worker that carries all transactions of one target. They begin at `start`. `None`: the rate is
/// too large for a schedule.
pub(crate) fn worker_sources(plan: &Plan, target: u16, load: &Load, start: Instant) -> Option<Parts<Calls, ()>> {
    let (seed, sessions) = (target_seed(plan, target), load.session_count());
    let deck = Deck::new(load.mix, seed);
    let homes = if load.home == Homes::Session { sessions } else { 1 };
    let calls = match load.pace {
        Pace::Open { .. } | Pace::PerWarehouse { .. } => {
            let prng = Prng::for_path(seed, &[ARRIVALS]);
            let schedule = Schedule::from_poisson(start, load.transaction_rate()?, Part { index: 0, of: 1 }, prng)?;
            Calls::open_loop(deck, seed, homes, schedule)
        }
        Pace::Closed => Calls::closed_loop(deck, seed, sessions, start),
        Pace::Keyed => Calls::keyed_terminals(deck, seed, load.terminal_count()?, start),
    };
    let calls = calls.on_target(target, plan.load.targets);
    let own: Vec<usize> = TransactionKind::ALL.into_iter().map(|kind| calls.flow_of(kind)).collect();
    let others: Vec<usize> = (0..plan.load.stream_targets().count()).filter(|flow| !own.contains(flow)).collect();
    let (mut sources, mut flows_of) = (vec![calls], vec![own]);
    if !others.is_empty() {
        sources.push(sources[0].for_other_workers());
        flows_of.push(others);
    }
    Some(Parts { after: sources.len(), sources, flows_of, payload: () })
}

/// The state of a database before the first transaction of a run.
#[derive(Debug)]
struct DatabaseBefore {
    totals: Totals,
    settings: Settings,
    /// The start of its server, if it has one.
    life: Option<ServerStart>,
    /// The counters of its server.
    counters: Counters,
}

impl DatabaseBefore {
    fn read_database(opened: &mut dyn Opened) -> Result<DatabaseBefore, assay_sql::Trouble> {
        Ok(DatabaseBefore {
            totals: opened.read_totals()?,
            settings: opened.read_settings()?,
            life: opened.server_life()?,
            counters: opened.server_counters()?,
        })
    }
}

/// A run on a database: what the database held before, and the totals of the sessions.
#[derive(Debug)]
pub(crate) struct DatabaseRun<'a> {
    database: &'a Database,
    /// Index of the database among the targets.
    target: u16,
    /// Number of targets.
    targets: u16,
    before: DatabaseBefore,
    account: Account,
    /// Whether the check after the run is left out (`--no-check`).
    unchecked: bool,
    /// The ledger of acknowledged commits, if the run has one.
    ledger: Option<Arc<LedgerFile>>,
    verify: Verify,
    /// Completed transactions in the intervals so far.
    completions: u64,
}

impl<'a> DatabaseRun<'a> {
    /// Reads what the database holds before the first transaction.
    pub(crate) fn read_before_load(
        database: &'a Database,
        target: u16,
        account: Account,
        unchecked: bool,
        ledger: Option<Arc<LedgerFile>>,
    ) -> Result<DatabaseRun<'a>, Failure> {
        let mut opened = database.lock_opened();
        let before = DatabaseBefore::read_database(opened.as_mut())
            .map_err(|trouble| Failure::from_database_trouble(&trouble))?;
        let verify = if ledger.is_some() { Verify::Ledger } else { Verify::No };
        Ok(DatabaseRun { database, target, targets: 1, before, account, unchecked, ledger, verify, completions: 0 })
    }

    /// Adds what the plan says: its targets, and what is verified.
    pub(crate) fn for_plan(self, plan: &Plan) -> DatabaseRun<'a> {
        let verify = plan.load.tpcc().map_or(Verify::No, |load| load.verify);
        DatabaseRun { verify, targets: plan.load.targets, ..self }
    }

    /// The figures that the completed transactions of the next interval report, by flow. `ended` is the number of
    /// transactions of each flow of the plan that ended in the interval.
    pub(crate) fn counted_transactions(&mut self, ended: &[u64]) -> BTreeMap<usize, BTreeMap<String, u64>> {
        let (target, targets) = (usize::from(self.target), usize::from(self.targets));
        self.completions += ended.iter().skip(target).step_by(targets).sum::<u64>();
        let mut flows: BTreeMap<usize, BTreeMap<String, u64>> = BTreeMap::new();
        for ((kind, name), n) in self.account.take_counted(self.completions) {
            *flows.entry(kind as usize * targets + target).or_default().entry(name).or_default() += n;
        }
        flows
    }

    /// The sums that transactions raise, over the database before the first one.
    pub(crate) fn raised_sums(&self) -> DatabaseSums {
        let Totals { next_orders, payments, ytd } = self.before.totals;
        DatabaseSums { next_orders, payments, ytd }
    }

    /// Reports what an interrupted part of the run committed and the database does not have now.
    pub(crate) fn lost_before(&self, commits: &LoggedCommits, now: Instant) -> Option<Event> {
        let text = commits.describe_missing(self.raised_sums())?;
        let mut found =
            FoundEvents { events: Vec::new(), now: &|| now, target: self.target, of: self.name_among_several() };
        found.add_event(EventKind::ConditionBroken, text);
        found.events.pop()
    }

    /// The name of the database, if the run has several.
    fn name_among_several(&self) -> Option<&str> {
        (self.targets > 1).then(|| self.database.url_name())
    }

    /// The message before [`DatabaseRun::examine_after_run`], which reads whole tables and may take as long as the run. `None` if nothing
    /// is checked.
    pub(crate) fn end_announcement(&self, reason: CloseReason) -> Option<String> {
        let checks = !self.unchecked && !was_cut_short(reason) && self.account.busy_sessions() == 0;
        let (url, of) = (self.database.url_name(), Check::ALL.len());
        checks.then(|| format!("checking the {of} conditions of {url}; Ctrl-C twice ends without it"))
    }

    /// Examines the database after the run: settings, conditions, and whether anybody else has written to it.
    pub(crate) fn examine_after_run(&self, reason: CloseReason, now: impl Fn() -> Instant) -> Vec<Event> {
        let mut found =
            FoundEvents { events: Vec::new(), now: &now, target: self.target, of: self.name_among_several() };
        let busy = self.account.busy_sessions();
        self.end_ledger(busy > 0, &mut found);
        let was_cut_short = was_cut_short(reason);
        let url = self.database.url_name();
        if busy > 0 {
            // A server that does not answer the sessions would not answer this thread either.
            let text = format!("{url} was not checked after the run: {busy} sessions still wait for an answer");
            found.add_event(EventKind::Unchecked, text);
            return found.events;
        }
        if self.verify == Verify::Crash && !was_cut_short {
            self.await_crashed_server(&mut found);
        } else if !was_cut_short && self.before.life.is_some() {
            // A server is restarted; a file that is gone does not come back.
            self.wait_while_away(RESTART, &found);
        }
        if !self.is_guarded(&mut found) || !self.is_found_again(&mut found) {
            return found.events;
        }
        self.report_changed_settings(&mut found);
        self.report_missing_syncs(&mut found);
        if self.unchecked {
            found.add_event(
                EventKind::Warning,
                "the database was not checked after the run, because of --no-check".to_owned(),
            );
        } else if was_cut_short {
            let text = format!("when the run was cut short, {url} was not checked: assay check does it");
            found.add_event(EventKind::Warning, text);
            self.compare_sums_of_cut_run(&mut found);
        } else {
            self.check_conditions(&mut found);
        }
        found.events
    }

    /// Ends the ledger with what the sessions have sent.
    fn end_ledger(&self, waits: bool, found: &mut FoundEvents<'_>) {
        let Some(ledger) = &self.ledger else { return };
        let still = if waits { STILL_SENT } else { 0 };
        let sent: Vec<u64> = self.account.current_tally().sent.iter().map(|sent| sent + still).collect();
        if let Err(why) = ledger.close_ledger(&sent) {
            let text =
                format!("not all acknowledged commits could be written to {}: {why}", escaped_path(ledger.file_path()));
            found.add_event(EventKind::Unchecked, text);
        }
    }

    /// Waits until a server that was away during the run answers again, for at most this time. Returns how many transactions
    /// met its absence.
    fn wait_while_away(&self, most: Span, found: &FoundEvents<'_>) -> u64 {
        let outages = self.account.current_tally().outages;
        let (mut opened, until) = (self.database.lock_opened(), (found.now)() + most);
        // A database that somebody else has now does not come back.
        while outages > 0 && is_away(opened.as_mut()) && (found.now)() < until {
            sleep_for(ASK);
        }
        outages
    }

    /// Waits until the server of a crash test answers again. Without a crash, the test proves nothing.
    fn await_crashed_server(&self, found: &mut FoundEvents<'_>) {
        let outages = self.wait_while_away(RETURN, found);
        let mut opened = self.database.lock_opened();
        // If the server does not answer, the check cannot be done either, and reports that.
        let (Some(before), Ok(Some(after))) = (&self.before.life, opened.server_life()) else { return };
        match did_not_crash(before, &after, outages) {
            Some(why) => {
                let text = format!(
                    "{why}: a crash test needs a crash, such as kill -9 of all its processes, or a cut of its power"
                );
                found.add_event(EventKind::Unchecked, text);
            }
            None => {
                let order = match after.recovered {
                    Some(_) => "",
                    None => {
                        "; nor does this server say whether it was killed, or stopped in order, which loses nothing"
                    }
                };
                let text = format!(
                    "a kill of a server loses nothing that it has passed to the kernel: only a cut of the power shows what a disk, or a setting such as fsync=off, loses{order}"
                );
                found.add_event(EventKind::Warning, text);
            }
        }
    }

    /// Whether another Assay is kept out, so that what is looked at now is what this run has left. The lock ends with a
    /// connection of its own, which may have been lost while nobody needed it.
    fn is_guarded(&self, found: &mut FoundEvents<'_>) -> bool {
        let (url, guarded) = (self.database.url_name(), self.database.lock_opened().hold_guard());
        match guarded {
            Ok(Guarded::Always) => true,
            Ok(Guarded::Again) => {
                let text = format!(
                    "the connection whose lock keeps another Assay out of {url} was lost during the run; the lock was taken \
                     again, and what is loaded is the same"
                );
                found.add_event(EventKind::Warning, text);
                true
            }
            Err(trouble) => {
                if trouble.kind == Trouble::Refused {
                    found.add_event(EventKind::Disturbed, trouble.to_string());
                }
                found.add_event(EventKind::Unchecked, format!("{url} was not checked after the run: {trouble}"));
                false
            }
        }
    }

    /// Whether the name of the database leads to what the sessions have written. Everything that follows asks the database
    /// that was found there.
    fn is_found_again(&self, found: &mut FoundEvents<'_>) -> bool {
        let Err(trouble) = self.database.lock_opened().find_again() else { return true };
        let (what, text) = match trouble.kind {
            Trouble::Damaged => (EventKind::ConditionBroken, trouble.to_string()),
            _ => {
                let url = self.database.url_name();
                (EventKind::Unchecked, format!("{url} was not checked after the run: {trouble}"))
            }
        };
        found.add_event(what, text);
        false
    }

    /// Compares the ledger with the database.
    fn compare_with_ledger(
        &self,
        opened: &mut dyn Opened,
        ledgered: &LedgerFile,
        after: &Totals,
        found: &mut FoundEvents<'_>,
    ) {
        let kept = opened.kept_commits(&ledgered.run).map_err(|trouble| Failure::from_database_trouble(&trouble));
        let compared = kept.and_then(|kept| compare_ledger_file(ledgered.file_path(), &kept, after));
        match compared {
            Ok(after) if after.acknowledged == 0 => {
                let text = "the database acknowledged no commit, so that none can have been lost".to_owned();
                found.add_event(EventKind::Unchecked, text);
            }
            Ok(after) if after.has_no_losses() => {
                found.add_event(
                    EventKind::Checked,
                    format!("all {} acknowledged commits are there", after.acknowledged),
                );
            }
            Ok(after) => {
                after.loss_sentences().into_iter().for_each(|text| found.add_event(EventKind::ConditionBroken, text))
            }
            Err(why) => {
                let text = format!("the commits could not be compared: {}", why.user_message());
                found.add_event(EventKind::Unchecked, text);
            }
        }
    }

    fn report_changed_settings(&self, found: &mut FoundEvents<'_>) {
        let mut opened = self.database.lock_opened();
        let settings = match opened.read_settings() {
            Ok(settings) => settings,
            Err(trouble) => {
                let text = format!("the settings of the database could not be read at the end: {trouble}");
                return found.add_event(EventKind::Unchecked, text);
            }
        };
        let changed = all_changed(&self.before.settings, &opened.settings_seen(), &settings);
        let mut details = settings.named;
        details.extend(opened.size_bytes().map(|bytes| ("bytes".to_owned(), bytes.to_string())));
        let text = "the settings of the database at the end of the run".to_owned();
        found.add_detailed_event(EventKind::Settings, text, details);
        if !changed.is_empty() {
            found.add_event(
                EventKind::Disturbed,
                format!("somebody changed settings of the database: {}", changed.join("; ")),
            );
        }
    }

    /// Reports a server that has committed transactions and has never synchronised its log.
    fn report_missing_syncs(&self, found: &mut FoundEvents<'_>) {
        // Without counters nothing is known. If the server does not answer, the check that follows reports it.
        let Ok(counters) = self.database.lock_opened().server_counters() else { return };
        if let Some(text) = describe_unsynced_commits(&self.before.counters, &counters) {
            let of = self.name_among_several().map(|name| format!("{name}: ")).unwrap_or_default();
            found.add_event(EventKind::Watermark, format!("NOT DURABLE: {of}{text}"));
        }
    }

    /// Compares the sums of a run that was cut short: a part that is continued has sums of its own.
    fn compare_sums_of_cut_run(&self, found: &mut FoundEvents<'_>) {
        // A server that cannot be asked leaves the run without this comparison, which the judge then misses.
        let Ok(after) = self.database.lock_opened().read_totals() else { return };
        if !self.compare_sums(&after, found) {
            found.add_event(EventKind::Undisturbed, "nobody else wrote to it until the run was cut short".to_owned());
        }
    }

    /// Compares the sums with what the sessions committed, and returns whether they differ.
    fn compare_sums(&self, after: &Totals, found: &mut FoundEvents<'_>) -> bool {
        let (before, tally) = (&self.before.totals, self.account.current_tally());
        let lost = describe_lost_commits(before, after, &tally).filter(|_| self.ledger.is_none());
        let disturbed = describe_foreign_writes(before, after, &tally);
        let differ = lost.is_some() || disturbed.is_some();
        lost.into_iter().for_each(|text| found.add_event(EventKind::ConditionBroken, text));
        disturbed.into_iter().for_each(|text| found.add_event(EventKind::Disturbed, text));
        differ
    }

    fn check_conditions(&self, found: &mut FoundEvents<'_>) {
        let mut opened = self.database.lock_opened();
        match opened.check_conditions() {
            Ok(violations) if violations.is_empty() => {
                found.add_event(EventKind::Checked, format!("all {} conditions hold", Check::ALL.len()));
            }
            Ok(violations) => {
                for violation in &violations {
                    found.add_event(EventKind::ConditionBroken, violation.to_string());
                }
            }
            Err(trouble) if trouble.kind == Trouble::Damaged => {
                found.add_event(EventKind::ConditionBroken, trouble.to_string())
            }
            Err(trouble) => {
                found.add_event(EventKind::Unchecked, format!("the database could not be checked: {trouble}"))
            }
        }
        match opened.read_totals() {
            Ok(after) => {
                if let Some(ledger) = &self.ledger {
                    self.compare_with_ledger(opened.as_mut(), ledger, &after, found);
                }
                self.compare_sums(&after, found);
            }
            Err(trouble) => {
                found.add_event(EventKind::Unchecked, format!("the database could not be checked: {trouble}"))
            }
        }
    }
}

/// Whether a run was ended before its planned end for a reason after which nothing is checked.
fn was_cut_short(reason: CloseReason) -> bool {
    matches!(reason, CloseReason::Interrupted | CloseReason::LogFailed)
}

/// Events as they are found.
struct FoundEvents<'a> {
    events: Vec<Event>,
    now: &'a dyn Fn() -> Instant,
    /// Index of the target that they are about.
    target: u16,
    /// The name of the target, if the run has several.
    of: Option<&'a str>,
}

impl FoundEvents<'_> {
    fn add_event(&mut self, what: EventKind, text: String) {
        self.add_detailed_event(what, text, BTreeMap::new());
    }

    fn add_detailed_event(&mut self, what: EventKind, text: String, mut details: BTreeMap<String, String>) {
        details.insert("target".to_owned(), self.target.to_string());
        let text = match self.of {
            Some(name) if !text.contains(name) => format!("{name}: {text}"),
            _ => text,
        };
        self.events.push(Event { at_ns: (self.now)().as_ns(), what, text, details });
    }
}

/// True while nobody answers.
fn is_away(opened: &mut dyn Opened) -> bool {
    opened.read_totals().is_err_and(|why| why.kind != Trouble::Refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_looked_for_as_often_as_the_shortest_bound_needs() {
        let file = "model = \"tpcc\"\nsessions = 1\nduration = \"9s\"";
        let adjust = assay_model::workload::Adjust { targets: 1, ..Default::default() };
        let mut plan = assay_model::workload::read_workload("t", file).unwrap().make_plan(&adjust).unwrap();
        let long = "new-order response over 5s at most 10% per 1s";
        for (criteria, ms) in [
            (&[][..], 10),
            (&[long], 10),
            (&[long, "payment response over 2s at most 1% per 1s"], 4),
            (&["payment response over 100ms at most 1% per 1s"], 1),
        ] {
            plan.criteria = criteria.iter().map(|text| text.parse().unwrap()).collect();
            assert_eq!(longest_poll_gap(&plan), Span::from_ms(ms), "{criteria:?}");
        }
    }
}
