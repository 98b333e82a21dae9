//! The suite that an earlier call left, and whether this call may go on with it: rounds of two file systems are not averaged without a
//! word.

use crate::failure::{Failure, escaped_path, one_line};
use crate::procedure::kept::read_document;
use assay_judge::suite::{Member, MemberIdentity, Suite};
use std::collections::BTreeMap;
use std::path::Path;

/// The suite that an earlier call left, which must be of the same mounts and workloads. It may go on to another number of rounds,
/// and with its own seed unless another one is asked for.
pub(super) fn read_suite(file: &Path, ours: &Suite, asks_for_a_seed: bool) -> Result<Suite, Failure> {
    let kept: Suite = read_document(file, |_| true)?;
    let differs = [
        (!are_same_members(&kept.members, &ours.members), "other mounts, or mounts with other options"),
        (kept.workloads != ours.workloads, "other workloads, or other lengths or loads of them"),
        (asks_for_a_seed && kept.seed != ours.seed, "another seed"),
    ];
    if let Some((_, what)) = differs.iter().find(|(differs, _)| *differs) {
        return Err(Failure::bad_usage(format!(
            "{} cannot be continued: it is of {what}; repeat the command it was started with",
            escaped_path(file)
        )));
    }
    refuse_other_file_systems(&kept, ours, file)?;
    let mut watermarks = kept.watermarks.clone();
    for mark in marks_of_new_mounts(&kept, ours) {
        if !watermarks.contains(&mark) {
            watermarks.push(mark);
        }
    }
    let Suite { rounds, anyway, members, remarks, .. } = ours.clone();
    Ok(Suite { rounds, anyway, members, remarks, watermarks, ..kept })
}

/// Whether the members are the same, whatever their user says about them, and whenever they were mounted.
fn are_same_members(kept: &[Member], ours: &[Member]) -> bool {
    let compared = |member: &Member| Member { about: BTreeMap::new(), identity: None, ..member.clone() };
    kept.iter().map(compared).eq(ours.iter().map(compared))
}

/// A member whose earlier runs were on another file system than it has now, with what both are known by.
struct ChangedMember<'a> {
    label: &'a str,
    was: &'a MemberIdentity,
    is: &'a MemberIdentity,
}

impl ChangedMember<'_> {
    /// All of those that have runs.
    fn find_all<'a>(kept: &'a Suite, ours: &'a Suite) -> Vec<ChangedMember<'a>> {
        let has_runs = |at: usize| kept.runs.iter().any(|run| run.place.member == Some(at));
        let mut changed = Vec::new();
        for (at, (before, now)) in kept.members.iter().zip(&ours.members).enumerate() {
            if let (Some(was), Some(is)) = (&before.identity, &now.identity)
                && was != is
                && has_runs(at)
            {
                changed.push(ChangedMember { label: &now.label, was, is });
            }
        }
        changed
    }
}

/// Refuses to go on where a mount certainly has another file system than in its earlier rounds.
fn refuse_other_file_systems(kept: &Suite, ours: &Suite, file: &Path) -> Result<(), Failure> {
    let changed = ChangedMember::find_all(kept, ours);
    let Some(ChangedMember { label, was, is }) = changed.iter().find(|changed| changed.was.lasts && changed.is.lasts)
    else {
        return Ok(());
    };
    Err(Failure::bad_usage(format!(
        "{} cannot be continued: {label} has another file system than in its earlier rounds ({}, and now {}), and one figure would be made of both; mount the earlier one, or begin a new suite with --out",
        escaped_path(file),
        one_line(&was.text),
        one_line(&is.text)
    )))
}

/// A mark for each mount that was made anew since its earlier rounds, and of which nothing says whether it is the same file system.
/// One in memory never is.
fn marks_of_new_mounts(kept: &Suite, ours: &Suite) -> Vec<String> {
    let mut marks = Vec::new();
    for ChangedMember { label, was, is } in ChangedMember::find_all(kept, ours) {
        marks.push(format!(
            "MOUNTED ANEW: {label} was mounted again between its rounds, and its figures may be of two file systems ({}, and then {})",
            was.text, is.text
        ));
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_judge::Verdict;
    use assay_judge::procedure::Aside;
    use assay_judge::suite::{LostMember, Place, RunFigures, SCHEMA, SuiteRun};

    const PLACE: Place = Place { round: 1, workload: 0, member: Some(0) };

    fn identity(text: &str, lasts: bool) -> Option<MemberIdentity> {
        Some(MemberIdentity { text: text.to_owned(), lasts })
    }

    /// A suite of one mount, with one run.
    fn suite_on(identity: Option<MemberIdentity>) -> Suite {
        let (about, facts, options) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let (label, target, class) = ("one".to_owned(), "/mnt".to_owned(), "local".to_owned());
        let (verdict, reason, directory) = (Verdict::Pass, String::new(), "one-round-1".to_owned());
        Suite {
            schema: SCHEMA,
            compared: "mounts".to_owned(),
            members: vec![Member { label, target, class, facts, options, about, identity }],
            workloads: Vec::new(),
            rounds: 3,
            seed: 1,
            anyway: false,
            remarks: Vec::new(),
            lost: Vec::new(),
            watermarks: Vec::new(),
            runs: vec![SuiteRun { place: PLACE, verdict, reason, directory, figures: RunFigures::default() }],
            aside: Aside::default(),
        }
    }

    /// What becomes of a suite that is continued.
    fn continued(kept: &Suite, ours: &Suite) -> Result<Suite, String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("suite.json");
        std::fs::write(&file, serde_json::to_string(kept).unwrap()).unwrap();
        read_suite(&file, ours, false).map_err(|why| why.user_message().to_owned())
    }

    #[test]
    fn rounds_of_another_file_system_are_refused_or_marked() {
        let (first, second) = (identity("uuid aa", true), identity("uuid bb", true));
        let same = continued(&suite_on(first.clone()), &suite_on(first.clone())).unwrap();
        assert!(same.watermarks.is_empty());
        let refused = continued(&suite_on(first.clone()), &suite_on(second.clone())).unwrap_err();
        assert!(refused.contains("one has another file system") && refused.contains("uuid aa, and now uuid bb"));
        // Nothing was measured on it, or nothing is known of it.
        let unmeasured = Suite { runs: Vec::new(), ..suite_on(first.clone()) };
        for (kept, ours) in [(unmeasured, second), (suite_on(None), first.clone()), (suite_on(first), None)] {
            assert!(continued(&kept, &suite_on(ours)).unwrap().watermarks.is_empty());
        }
        let passing = |text| suite_on(identity(text, false));
        let marked = continued(&passing("id 1"), &passing("id 2")).unwrap();
        assert!(marked.watermarks[0].starts_with("MOUNTED ANEW: one ") && marked.watermarks.len() == 1);
        let again = continued(&marked, &passing("id 2")).unwrap();
        assert_eq!(again.watermarks, marked.watermarks, "the mark stays, and is made once");
    }

    #[test]
    fn what_was_lost_stays_lost_until_a_later_run_is_made() {
        let lost = LostMember { label: "one".to_owned(), place: PLACE, why: "ESTALE".to_owned() };
        let kept = Suite { lost: vec![lost.clone()], ..suite_on(None) };
        assert_eq!(continued(&kept, &suite_on(None)).unwrap().lost, [lost]);
    }
}
