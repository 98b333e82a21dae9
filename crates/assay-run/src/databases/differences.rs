//! Compares a database before a run with the same database after it: its settings, the sums that transactions raise,
//! the syncs of its log, and whether its server has crashed in between.

use super::opened::{Counters, ServerStart, Settings};
use assay_sql::{Tally, Totals};
use std::collections::BTreeSet;

/// So many commits without a sync of the log cannot be explained by the moments at which the server publishes its
/// counters.
const MANY_COMMITS: u64 = 100;

/// All changes of settings between the beginning of a run and its end, each as a part of a sentence. `seen` is what
/// connections were found with during the run: a change that was taken back before the end shows only there.
pub(super) fn all_changed(before: &Settings, seen: &[Settings], after: &Settings) -> Vec<String> {
    let mut all = changed_settings(before, after, "is", "at the end");
    for other in seen.iter().filter(|other| *other != after) {
        let new = changed_settings(before, other, "was", "for a time");
        all.extend(new.into_iter().filter(|text| !all.contains(text)).collect::<Vec<_>>());
    }
    all
}

/// The changes of settings. They include settings that exist only before or only after, and new reasons why a commit may
/// be lost.
fn changed_settings(before: &Settings, after: &Settings, is: &str, when: &str) -> Vec<String> {
    let names: BTreeSet<&String> = before.named.keys().chain(after.named.keys()).collect();
    let mut changed = Vec::new();
    for name in names {
        let (was, now) = (value_of(before, name), value_of(after, name));
        if was != now {
            changed.push(format!("{name} was {was} at the beginning and {is} {now} {when}"));
        }
    }
    let weaker = after.not_durable.iter().filter(|reason| !before.not_durable.contains(reason));
    changed.extend(weaker.map(|reason| format!("a commit may be lost: {reason}")));
    changed
}

fn value_of<'a>(settings: &'a Settings, name: &str) -> &'a str {
    settings.named.get(name).map_or("not there", String::as_str)
}

/// A sum that transactions raise, before and after a run.
struct SumBeforeAndAfter {
    name: &'static str,
    rose: i64,
    /// By how much the run has raised it.
    committed: i64,
    /// By how much its transactions of unknown outcome would have raised it.
    unknown: i64,
}

impl SumBeforeAndAfter {
    /// The sums of a run.
    fn sums_of_run(before: &Totals, after: &Totals, tally: &Tally) -> [SumBeforeAndAfter; 3] {
        let unknown = tally.unknown;
        [
            SumBeforeAndAfter {
                name: "D_NEXT_O_ID",
                rose: after.next_orders - before.next_orders,
                committed: tally.orders,
                unknown: unknown.orders,
            },
            SumBeforeAndAfter {
                name: "C_PAYMENT_CNT",
                rose: after.payments - before.payments,
                committed: tally.payments,
                unknown: unknown.payments,
            },
            SumBeforeAndAfter {
                name: "W_YTD, in cents,",
                rose: after.ytd - before.ytd,
                committed: tally.paid,
                unknown: unknown.paid,
            },
        ]
    }

    fn in_words(&self) -> String {
        let SumBeforeAndAfter { name, rose, committed, unknown } = self;
        let perhaps = if *unknown == 0 { String::new() } else { format!(", and of another {unknown} nobody knows") };
        format!("the sum of {name} rose by {rose}, and this run committed {committed}{perhaps}")
    }
}

/// Reports what others wrote, according to the sums that transactions raise: one has risen by more than this run
/// committed, with its transactions of unknown outcome.
pub(super) fn describe_foreign_writes(before: &Totals, after: &Totals, tally: &Tally) -> Option<String> {
    let sums = SumBeforeAndAfter::sums_of_run(before, after, tally);
    let wrong: Vec<String> =
        sums.iter().filter(|sum| sum.rose > sum.committed + sum.unknown).map(SumBeforeAndAfter::in_words).collect();
    (!wrong.is_empty())
        .then(|| format!("somebody else wrote to the database during the run: {}; run alone on it", wrong.join("; ")))
}

/// Reports commits that were acknowledged and are not there: a sum has risen by less than this run committed. Where there
/// is a ledger, the comparison with it reports them.
pub(super) fn describe_lost_commits(before: &Totals, after: &Totals, tally: &Tally) -> Option<String> {
    let sums = SumBeforeAndAfter::sums_of_run(before, after, tally);
    let wrong: Vec<String> =
        sums.iter().filter(|sum| sum.rose < sum.committed).map(SumBeforeAndAfter::in_words).collect();
    (!wrong.is_empty()).then(|| format!("commits that were acknowledged are not there: {}", wrong.join("; ")))
}

/// Reports commits that no sync of the server's log can have made durable. `None` also if the server does not count
/// both.
pub(super) fn describe_unsynced_commits(before: &Counters, after: &Counters) -> Option<String> {
    let (commits, syncs) = (counter_rise(before, after, "commits")?, counter_rise(before, after, "log_syncs")?);
    (commits >= MANY_COMMITS && syncs == 0)
        .then(|| format!("{commits} transactions were committed, and the server has not synchronised its log once"))
}

/// By how much a counter has risen. After a restart the server counts from 0, and nothing is known.
fn counter_rise(before: &Counters, after: &Counters, name: &str) -> Option<u64> {
    counter_value(after, name)?.checked_sub(counter_value(before, name)?)
}

fn counter_value(counters: &Counters, name: &str) -> Option<u64> {
    counters.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// The reason why a run was not a test of a crash: the server did not end, or it was stopped in order and wrote
/// everything before. `None` if it has crashed.
pub(super) fn did_not_crash(before: &ServerStart, after: &ServerStart, outages: u64) -> Option<&'static str> {
    let started = before.started != after.started;
    match (&before.recovered, &after.recovered) {
        (Some(before), Some(after)) if before != after && outages > 0 => None,
        (Some(_), Some(_)) if started => Some("the server was stopped in order and started again"),
        (None, None) if started && outages > 0 => None,
        _ if outages > 0 => Some("sessions lost their connections, and the server was there all the time"),
        _ => Some("the server was there all the time"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_sql::Unknown;

    #[test]
    fn what_others_wrote_shows_in_each_of_the_sums() {
        let before = Totals { next_orders: 100, payments: 50, ytd: 1_000 };
        let after = Totals { next_orders: 103, payments: 52, ytd: 1_700 };
        let tally = Tally { orders: 3, payments: 2, paid: 700, ..Tally::default() };
        assert_eq!(
            (describe_foreign_writes(&before, &after, &tally), describe_lost_commits(&before, &after, &tally)),
            (None, None)
        );
        for (other, says) in [
            (Tally { orders: 2, ..tally.clone() }, "the sum of D_NEXT_O_ID rose by 3, and this run committed 2;"),
            (Tally { payments: 1, ..tally.clone() }, "C_PAYMENT_CNT rose by 2"),
            (Tally { paid: 699, ..tally.clone() }, "W_YTD, in cents, rose by 700"),
        ] {
            let text = describe_foreign_writes(&before, &after, &other).unwrap();
            assert!(text.contains(says) && text.contains("somebody else wrote"), "{text}");
            let unknown = Unknown { orders: 1, payments: 1, paid: 1 };
            assert_eq!(
                describe_foreign_writes(&before, &after, &Tally { unknown, ..other }),
                None,
                "it may have been ours"
            );
        }
    }

    #[test]
    fn what_was_committed_and_is_not_there_is_a_loss_and_nobody_elses_doing() {
        let before = Totals { next_orders: 100, payments: 50, ytd: 1_000 };
        let after = Totals { next_orders: 103, payments: 52, ytd: 1_700 };
        let tally = Tally { orders: 3, payments: 2, paid: 700, ..Tally::default() };
        for (committed, says) in [
            (Tally { orders: 4, ..tally.clone() }, "the sum of D_NEXT_O_ID rose by 3, and this run committed 4"),
            (Tally { payments: 9, ..tally.clone() }, "C_PAYMENT_CNT rose by 2, and this run committed 9"),
            (Tally { paid: 701, ..tally.clone() }, "W_YTD, in cents, rose by 700, and this run committed 701"),
        ] {
            let unknown = Unknown { orders: 5, payments: 5, paid: 5 };
            for committed in [committed.clone(), Tally { unknown, ..committed }] {
                let text = describe_lost_commits(&before, &after, &committed).unwrap();
                assert!(
                    text.contains(says) && text.starts_with("commits that were acknowledged are not there"),
                    "{text}"
                );
                assert_eq!(describe_foreign_writes(&before, &after, &committed), None);
            }
        }
    }

    fn settings(named: &[(&str, &str)], not_durable: &[&str]) -> Settings {
        Settings {
            named: named.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            not_durable: not_durable.iter().map(|it| (*it).to_owned()).collect(),
        }
    }

    #[test]
    fn a_setting_that_changed_came_or_went_is_named_and_so_is_a_new_reason_to_lose_commits() {
        let before = settings(&[("a", "1"), ("b", "2")], &["x"]);
        let at_the_end = |after: &Settings| all_changed(&before, std::slice::from_ref(&before), after);
        assert_eq!(at_the_end(&before), Vec::<String>::new());
        let after = settings(&[("a", "9"), ("unlogged tables", "stock")], &["x", "in memory"]);
        assert_eq!(
            at_the_end(&after),
            [
                "a was 1 at the beginning and is 9 at the end",
                "b was 2 at the beginning and is not there at the end",
                "unlogged tables was not there at the beginning and is stock at the end",
                "a commit may be lost: in memory",
            ]
        );
        assert_eq!(at_the_end(&settings(&[("a", "1"), ("b", "2")], &[])), Vec::<String>::new(), "safer than before");
    }

    #[test]
    fn a_change_that_was_taken_back_is_named_once() {
        let strong = settings(&[("fsync", "on")], &[]);
        let weak = settings(&[("fsync", "off")], &["fsync=off"]);
        let other = settings(&[("fsync", "off"), ("new", "1")], &["fsync=off"]);
        assert_eq!(
            all_changed(&strong, &[strong.clone(), weak.clone(), other], &strong),
            [
                "fsync was on at the beginning and was off for a time",
                "a commit may be lost: fsync=off",
                "new was not there at the beginning and was 1 for a time",
            ]
        );
        assert_eq!(
            all_changed(&strong, &[strong.clone(), weak.clone()], &weak),
            ["fsync was on at the beginning and is off at the end", "a commit may be lost: fsync=off"]
        );
    }

    #[test]
    fn commits_without_a_sync_of_the_log_are_found() {
        for (before, after, found) in [
            (&[("commits", 5), ("log_syncs", 7)][..], &[("commits", 105), ("log_syncs", 7)][..], true),
            (&[("commits", 5), ("log_syncs", 7)], &[("commits", 104), ("log_syncs", 7)], false),
            (&[("commits", 5), ("log_syncs", 7)], &[("commits", 900), ("log_syncs", 8)], false),
            // Started anew, or not counted.
            (&[("commits", 5), ("log_syncs", 7)], &[("commits", 900), ("log_syncs", 0)], false),
            (&[("commits", 5)], &[("commits", 900)], false),
        ] {
            assert_eq!(
                describe_unsynced_commits(&before.to_vec(), &after.to_vec()).is_some(),
                found,
                "{before:?} {after:?}"
            );
        }
        let text = describe_unsynced_commits(
            &vec![("commits", 0), ("log_syncs", 0)],
            &vec![("commits", 100), ("log_syncs", 0)],
        );
        assert_eq!(text.unwrap(), "100 transactions were committed, and the server has not synchronised its log once");
    }

    #[test]
    fn only_a_server_that_ended_without_order_has_crashed() {
        let life = |started: &str, recovered: Option<&str>| ServerStart {
            started: started.to_owned(),
            recovered: recovered.map(str::to_owned),
        };
        let before = life("1", Some("1"));
        for (after, outages, why) in [
            (life("2", Some("2")), 3, None),
            // The processes of the sessions crashed, and not that of the server: they lose what they shared.
            (life("1", Some("2")), 3, None),
            (life("2", Some("1")), 3, Some("the server was stopped in order and started again")),
            (life("1", Some("1")), 1, Some("sessions lost their connections, and the server was there all the time")),
            (life("1", Some("1")), 0, Some("the server was there all the time")),
            (life("1", Some("2")), 0, Some("the server was there all the time")),
        ] {
            assert_eq!(did_not_crash(&before, &after, outages), why, "{after:?} {outages}");
        }
        let untold = life("1", None);
        assert_eq!(did_not_crash(&untold, &life("2", None), 1), None);
        assert!(did_not_crash(&untold, &life("2", None), 0).is_some() && did_not_crash(&untold, &untold, 4).is_some());
    }
}
