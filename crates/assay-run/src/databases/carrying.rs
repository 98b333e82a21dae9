//! The transactions of a run on a database: the sources of the calls, and what is read from the database before and
//! after.

use super::after::compared;
use super::calls::Calls;
use super::differences::{all_changed, did_not_crash, disturbance, lost, unsynced};
use super::ledger::{LedgerFile, pause};
use super::logged::LoggedCommits;
use super::opened::{Counters, Guarded, Life, Opened, Settings};
use super::target::{Database, seed};
use crate::failure::{Failure, shown};
use assay_base::{Instant, Prng, Span};
use assay_engine::Parts;
use assay_model::arrival::{Part, Schedule};
use assay_model::plan::Plan;
use assay_model::tpcc::checks::Check;
use assay_model::tpcc::load::{Homes, Pace, Verify};
use assay_model::tpcc::{Deck, Kind, Load};
use assay_record::{CloseReason, DatabaseSums, Event, EventKind};
use assay_sql::sqlite::Totals;
use assay_sql::{Account, Kind as Trouble};
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
pub(crate) fn load(plan: &Plan) -> Result<&Load, Failure> {
    plan.load.tpcc().ok_or_else(|| Failure::bug("a plan without transactions on a database"))
}

/// Upper and lower bound of the time between two checks for answers.
const LOOKS: [Span; 2] = [Span::from_ms(10), Span::from_ms(1)];

/// The longest time between two checks for answers. A response may be recorded too long by up to this much. It is a
/// 500th of the shortest time that a criterion names, within [`LOOKS`]: each check costs as much as a part of a
/// transaction.
pub(crate) fn look(plan: &Plan) -> Span {
    let shortest = plan.criteria.iter().filter_map(assay_base::Criterion::threshold).min();
    let [longest, least] = LOOKS;
    shortest.map_or(longest, |threshold| Span::from_ns(threshold.as_ns() / 500).clamp(least, longest))
}

/// The sources of the worker that carries all transactions of one target. They begin at `start`. `None`: the rate is
/// too large for a schedule.
pub(crate) fn parts(plan: &Plan, target: u16, load: &Load, start: Instant) -> Option<Parts<Calls, ()>> {
    let (seed, sessions) = (seed(plan, target), load.sessions());
    let deck = Deck::new(load.mix, seed);
    let homes = if load.home == Homes::Session { sessions } else { 1 };
    let calls = match load.pace {
        Pace::Open { .. } | Pace::PerWarehouse { .. } => {
            let prng = Prng::child(seed, &[ARRIVALS]);
            let schedule = Schedule::poisson(start, load.rate()?, Part { index: 0, of: 1 }, prng)?;
            Calls::scheduled(deck, seed, homes, schedule)
        }
        Pace::Closed => Calls::closed(deck, seed, sessions, start),
        Pace::Keyed => Calls::keyed(deck, seed, load.terminals()?, start),
    };
    let calls = calls.on(target, plan.load.targets);
    let own: Vec<usize> = Kind::ALL.into_iter().map(|kind| calls.flow_of(kind)).collect();
    let others: Vec<usize> = (0..plan.load.flows().count()).filter(|flow| !own.contains(flow)).collect();
    let (mut sources, mut flows_of) = (vec![calls], vec![own]);
    if !others.is_empty() {
        sources.push(sources[0].elsewhere());
        flows_of.push(others);
    }
    Some(Parts { after: sources.len(), sources, flows_of, payload: () })
}

/// The state of a database before the first transaction of a run.
#[derive(Debug)]
struct Before {
    totals: Totals,
    settings: Settings,
    /// The start of its server, if it has one.
    life: Option<Life>,
    /// The counters of its server.
    counters: Counters,
}

impl Before {
    fn read(opened: &mut dyn Opened) -> Result<Before, assay_sql::Trouble> {
        Ok(Before {
            totals: opened.totals()?,
            settings: opened.settings()?,
            life: opened.life()?,
            counters: opened.counters()?,
        })
    }
}

/// A run on a database: what the database held before, and the totals of the sessions.
#[derive(Debug)]
pub(crate) struct Carried<'a> {
    database: &'a Database,
    /// Index of the database among the targets.
    target: u16,
    /// Number of targets.
    targets: u16,
    before: Before,
    account: Account,
    /// Whether the check after the run is left out (`--no-check`).
    unchecked: bool,
    /// The ledger of acknowledged commits, if the run has one.
    ledger: Option<Arc<LedgerFile>>,
    verify: Verify,
    /// Completed transactions in the intervals so far.
    completions: u64,
}

impl<'a> Carried<'a> {
    /// Reads what the database holds before the first transaction.
    pub(crate) fn begin(
        database: &'a Database,
        target: u16,
        account: Account,
        unchecked: bool,
        ledger: Option<Arc<LedgerFile>>,
    ) -> Result<Carried<'a>, Failure> {
        let mut opened = database.opened();
        let before = Before::read(opened.as_mut()).map_err(|trouble| Failure::database(&trouble))?;
        let verify = if ledger.is_some() { Verify::Ledger } else { Verify::No };
        Ok(Carried { database, target, targets: 1, before, account, unchecked, ledger, verify, completions: 0 })
    }

    /// Adds what the plan says: its targets, and what is verified.
    pub(crate) fn for_plan(self, plan: &Plan) -> Carried<'a> {
        let verify = plan.load.tpcc().map_or(Verify::No, |load| load.verify);
        Carried { verify, targets: plan.load.targets, ..self }
    }

    /// The figures that the completed transactions of the next interval report, by flow. `ended` is the number of
    /// transactions of each flow of the plan that ended in the interval.
    pub(crate) fn counted_transactions(&mut self, ended: &[u64]) -> BTreeMap<usize, BTreeMap<String, u64>> {
        let (target, targets) = (usize::from(self.target), usize::from(self.targets));
        self.completions += ended.iter().skip(target).step_by(targets).sum::<u64>();
        let mut flows: BTreeMap<usize, BTreeMap<String, u64>> = BTreeMap::new();
        for ((kind, name), n) in self.account.counted(self.completions) {
            *flows.entry(kind as usize * targets + target).or_default().entry(name).or_default() += n;
        }
        flows
    }

    /// The sums that transactions raise, over the database before the first one.
    pub(crate) fn sums(&self) -> DatabaseSums {
        let Totals { next_orders, payments, ytd } = self.before.totals;
        DatabaseSums { next_orders, payments, ytd }
    }

    /// Reports what an interrupted part of the run committed and the database does not have now.
    pub(crate) fn lost_before(&self, commits: &LoggedCommits, now: Instant) -> Option<Event> {
        let text = commits.missing(self.sums())?;
        let mut found = Found { events: Vec::new(), now: &|| now, target: self.target, of: self.name_among_several() };
        found.say(EventKind::ConditionBroken, text);
        found.events.pop()
    }

    /// The name of the database, if the run has several.
    fn name_among_several(&self) -> Option<&str> {
        (self.targets > 1).then(|| self.database.name())
    }

    /// The message before [`Carried::end`], which reads whole tables and may take as long as the run. `None` if nothing
    /// is checked.
    pub(crate) fn announcement(&self, reason: CloseReason) -> Option<String> {
        let checks = !self.unchecked && !was_cut_short(reason) && self.account.busy() == 0;
        let (url, of) = (self.database.name(), Check::ALL.len());
        checks.then(|| format!("checking the {of} conditions of {url}; Ctrl-C twice ends without it"))
    }

    /// Examines the database after the run: settings, conditions, and whether anybody else has written to it.
    pub(crate) fn end(&self, reason: CloseReason, now: impl Fn() -> Instant) -> Vec<Event> {
        let mut found = Found { events: Vec::new(), now: &now, target: self.target, of: self.name_among_several() };
        let busy = self.account.busy();
        self.end_ledger(busy > 0, &mut found);
        let was_cut_short = was_cut_short(reason);
        let url = self.database.name();
        if busy > 0 {
            // A server that does not answer the sessions would not answer this thread either.
            let text = format!("{url} was not checked after the run: {busy} sessions still wait for an answer");
            found.say(EventKind::Unchecked, text);
            return found.events;
        }
        if self.verify == Verify::Crash && !was_cut_short {
            self.outage(&mut found);
        } else if !was_cut_short && self.before.life.is_some() {
            // A server is restarted; a file that is gone does not come back.
            self.wait_while_away(RESTART, &found);
        }
        if !self.is_guarded(&mut found) || !self.is_found_again(&mut found) {
            return found.events;
        }
        self.settings(&mut found);
        self.syncs(&mut found);
        if self.unchecked {
            found.say(
                EventKind::Warning,
                "the database was not checked after the run, because of --no-check".to_owned(),
            );
        } else if was_cut_short {
            let text = format!("when the run was cut short, {url} was not checked: assay check does it");
            found.say(EventKind::Warning, text);
            self.compare_sums_of_cut_run(&mut found);
        } else {
            self.check(&mut found);
        }
        found.events
    }

    /// Ends the ledger with what the sessions have sent.
    fn end_ledger(&self, waits: bool, found: &mut Found<'_>) {
        let Some(ledger) = &self.ledger else { return };
        let still = if waits { STILL_SENT } else { 0 };
        let sent: Vec<u64> = self.account.tally().sent.iter().map(|sent| sent + still).collect();
        if let Err(why) = ledger.end(&sent) {
            let text = format!("not all acknowledged commits could be written to {}: {why}", shown(ledger.path()));
            found.say(EventKind::Unchecked, text);
        }
    }

    /// Waits until a server that was away during the run answers again, for at most this time. Returns how many transactions
    /// met its absence.
    fn wait_while_away(&self, most: Span, found: &Found<'_>) -> u64 {
        let outages = self.account.tally().outages;
        let (mut opened, until) = (self.database.opened(), (found.now)() + most);
        // A database that somebody else has now does not come back.
        while outages > 0 && is_away(opened.as_mut()) && (found.now)() < until {
            pause(ASK);
        }
        outages
    }

    /// Waits until the server of a crash test answers again. Without a crash, the test proves nothing.
    fn outage(&self, found: &mut Found<'_>) {
        let outages = self.wait_while_away(RETURN, found);
        let mut opened = self.database.opened();
        // If the server does not answer, the check cannot be done either, and reports that.
        let (Some(before), Ok(Some(after))) = (&self.before.life, opened.life()) else { return };
        match did_not_crash(before, &after, outages) {
            Some(why) => {
                let text = format!(
                    "{why}: a crash test needs a crash, such as kill -9 of all its processes, or a cut of its power"
                );
                found.say(EventKind::Unchecked, text);
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
                found.say(EventKind::Warning, text);
            }
        }
    }

    /// Whether another Assay is kept out, so that what is looked at now is what this run has left. The lock ends with a
    /// connection of its own, which may have been lost while nobody needed it.
    fn is_guarded(&self, found: &mut Found<'_>) -> bool {
        let (url, guarded) = (self.database.name(), self.database.opened().guard());
        match guarded {
            Ok(Guarded::Always) => true,
            Ok(Guarded::Again) => {
                let text = format!(
                    "the connection whose lock keeps another Assay out of {url} was lost during the run; the lock was taken \
                     again, and what is loaded is the same"
                );
                found.say(EventKind::Warning, text);
                true
            }
            Err(trouble) => {
                if trouble.kind == Trouble::Refused {
                    found.say(EventKind::Disturbed, trouble.to_string());
                }
                found.say(EventKind::Unchecked, format!("{url} was not checked after the run: {trouble}"));
                false
            }
        }
    }

    /// Whether the name of the database leads to what the sessions have written. Everything that follows asks the database
    /// that was found there.
    fn is_found_again(&self, found: &mut Found<'_>) -> bool {
        let Err(trouble) = self.database.opened().find_again() else { return true };
        let (what, text) = match trouble.kind {
            Trouble::Damaged => (EventKind::ConditionBroken, trouble.to_string()),
            _ => {
                let url = self.database.name();
                (EventKind::Unchecked, format!("{url} was not checked after the run: {trouble}"))
            }
        };
        found.say(what, text);
        false
    }

    /// Compares the ledger with the database.
    fn compare(&self, opened: &mut dyn Opened, ledgered: &LedgerFile, after: &Totals, found: &mut Found<'_>) {
        let kept = opened.kept_commits(&ledgered.run).map_err(|trouble| Failure::database(&trouble));
        let compared = kept.and_then(|kept| compared(ledgered.path(), &kept, after));
        match compared {
            Ok(after) if after.acknowledged == 0 => {
                let text = "the database acknowledged no commit, so that none can have been lost".to_owned();
                found.say(EventKind::Unchecked, text);
            }
            Ok(after) if after.holds() => {
                found.say(EventKind::Checked, format!("all {} acknowledged commits are there", after.acknowledged));
            }
            Ok(after) => after.losses().into_iter().for_each(|text| found.say(EventKind::ConditionBroken, text)),
            Err(why) => {
                let text = format!("the commits could not be compared: {}", why.message());
                found.say(EventKind::Unchecked, text);
            }
        }
    }

    fn settings(&self, found: &mut Found<'_>) {
        let mut opened = self.database.opened();
        let settings = match opened.settings() {
            Ok(settings) => settings,
            Err(trouble) => {
                let text = format!("the settings of the database could not be read at the end: {trouble}");
                return found.say(EventKind::Unchecked, text);
            }
        };
        let changed = all_changed(&self.before.settings, &opened.settings_seen(), &settings);
        let mut details = settings.named;
        details.extend(opened.bytes().map(|bytes| ("bytes".to_owned(), bytes.to_string())));
        let text = "the settings of the database at the end of the run".to_owned();
        found.tell(EventKind::Settings, text, details);
        if !changed.is_empty() {
            found.say(
                EventKind::Disturbed,
                format!("somebody changed settings of the database: {}", changed.join("; ")),
            );
        }
    }

    /// Reports a server that has committed transactions and has never synchronised its log.
    fn syncs(&self, found: &mut Found<'_>) {
        // Without counters nothing is known. If the server does not answer, the check that follows reports it.
        let Ok(counters) = self.database.opened().counters() else { return };
        if let Some(text) = unsynced(&self.before.counters, &counters) {
            let of = self.name_among_several().map(|name| format!("{name}: ")).unwrap_or_default();
            found.say(EventKind::Watermark, format!("NOT DURABLE: {of}{text}"));
        }
    }

    /// Compares the sums of a run that was cut short: a part that is continued has sums of its own.
    fn compare_sums_of_cut_run(&self, found: &mut Found<'_>) {
        // A server that cannot be asked leaves the run without this comparison, which the judge then misses.
        let Ok(after) = self.database.opened().totals() else { return };
        if !self.compare_sums(&after, found) {
            found.say(EventKind::Undisturbed, "nobody else wrote to it until the run was cut short".to_owned());
        }
    }

    /// Compares the sums with what the sessions committed, and returns whether they differ.
    fn compare_sums(&self, after: &Totals, found: &mut Found<'_>) -> bool {
        let (before, tally) = (&self.before.totals, self.account.tally());
        let lost = lost(before, after, &tally).filter(|_| self.ledger.is_none());
        let disturbed = disturbance(before, after, &tally);
        let differ = lost.is_some() || disturbed.is_some();
        lost.into_iter().for_each(|text| found.say(EventKind::ConditionBroken, text));
        disturbed.into_iter().for_each(|text| found.say(EventKind::Disturbed, text));
        differ
    }

    fn check(&self, found: &mut Found<'_>) {
        let mut opened = self.database.opened();
        match opened.check() {
            Ok(violations) if violations.is_empty() => {
                found.say(EventKind::Checked, format!("all {} conditions hold", Check::ALL.len()));
            }
            Ok(violations) => {
                for violation in &violations {
                    found.say(EventKind::ConditionBroken, violation.to_string());
                }
            }
            Err(trouble) if trouble.kind == Trouble::Damaged => {
                found.say(EventKind::ConditionBroken, trouble.to_string())
            }
            Err(trouble) => found.say(EventKind::Unchecked, format!("the database could not be checked: {trouble}")),
        }
        match opened.totals() {
            Ok(after) => {
                if let Some(ledger) = &self.ledger {
                    self.compare(opened.as_mut(), ledger, &after, found);
                }
                self.compare_sums(&after, found);
            }
            Err(trouble) => found.say(EventKind::Unchecked, format!("the database could not be checked: {trouble}")),
        }
    }
}

/// Whether a run was ended before its planned end for a reason after which nothing is checked.
fn was_cut_short(reason: CloseReason) -> bool {
    matches!(reason, CloseReason::Interrupted | CloseReason::LogFailed)
}

/// Events as they are found.
struct Found<'a> {
    events: Vec<Event>,
    now: &'a dyn Fn() -> Instant,
    /// Index of the target that they are about.
    target: u16,
    /// The name of the target, if the run has several.
    of: Option<&'a str>,
}

impl Found<'_> {
    fn say(&mut self, what: EventKind, text: String) {
        self.tell(what, text, BTreeMap::new());
    }

    fn tell(&mut self, what: EventKind, text: String, mut details: BTreeMap<String, String>) {
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
    opened.totals().is_err_and(|why| why.kind != Trouble::Refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_looked_for_as_often_as_the_shortest_bound_needs() {
        let file = "model = \"tpcc\"\nsessions = 1\nduration = \"9s\"";
        let adjust = assay_model::workload::Adjust { targets: 1, ..Default::default() };
        let mut plan = assay_model::workload::read("t", file).unwrap().plan(&adjust).unwrap();
        let long = "new-order response over 5s at most 10% per 1s";
        for (criteria, ms) in [
            (&[][..], 10),
            (&[long], 10),
            (&[long, "payment response over 2s at most 1% per 1s"], 4),
            (&["payment response over 100ms at most 1% per 1s"], 1),
        ] {
            plan.criteria = criteria.iter().map(|text| text.parse().unwrap()).collect();
            assert_eq!(look(&plan), Span::from_ms(ms), "{criteria:?}");
        }
    }
}
