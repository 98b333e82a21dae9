use super::*;
use Verdict::{Fail, Incomplete, Invalid, Pass};
use assay_record::CloseReason;

fn evidence(verdict: Verdict, directory: &str) -> Evidence {
    Evidence { directory: directory.to_owned(), ..Evidence::from(verdict) }
}

fn failure(directory: &str) -> Evidence {
    evidence(Incomplete, directory).with_failure("3 EIO".to_owned())
}

fn cut(verdict: Verdict, directory: &str) -> Evidence {
    Evidence { ending: Ending::CutShort, ..evidence(verdict, directory) }
}

fn directories(all: &[Evidence]) -> Vec<&str> {
    all.iter().map(|evidence| evidence.directory.as_str()).collect()
}

/// Every sequence of up to four runs at one place, made by this call or an earlier one, with and without something that failed:
/// nothing makes a FAIL undone, and only what proves nothing is repeated.
#[test]
fn whatever_is_seen_in_whatever_order_a_fail_stays_and_only_nothing_is_repeated() {
    let kinds = [
        evidence(Pass, "pass"),
        evidence(Fail, "fail"),
        evidence(Invalid, "invalid"),
        evidence(Incomplete, "incomplete"),
        failure("failure"),
    ];
    let mut sequences: Vec<Vec<usize>> = vec![vec![]];
    for _ in 0..4 {
        let longer = |of: &Vec<usize>| (0..2 * kinds.len()).map(|next| [of.as_slice(), &[next]].concat()).collect();
        let more: Vec<Vec<usize>> = sequences.iter().flat_map::<Vec<Vec<usize>>, _>(longer).collect();
        sequences.extend(more);
        sequences.sort();
        sequences.dedup();
    }
    for sequence in &sequences {
        let mut attempts = Attempts::new(AfterFailure::GoOn);
        let of = |at: &usize| &kinds[at % kinds.len()];
        for at in sequence {
            if *at < kinds.len() {
                attempts.add_run('a', of(at).clone())
            } else {
                attempts.add_earlier_run(Some('a'), of(at).clone())
            }
        }
        let any = |is: fn(&Evidence) -> bool| sequence.iter().any(|at| is(of(at)));
        let trials = sequence.iter().filter(|at| **at < kinds.len()).count();
        let standing = attempts.standing_at(&'a');
        let expected = match (any(Evidence::shows_not_held), any(Evidence::is_proof)) {
            (true, _) => Standing::Proven(Fail),
            (_, true) => Standing::Proven(Pass),
            _ if trials >= 2 && any(|run| run.verdict == Invalid) => Standing::GivenUp(Invalid),
            _ if trials >= 2 => Standing::GivenUp(Incomplete),
            _ => Standing::Open,
        };
        assert_eq!(standing, expected, "{sequence:?}");
        assert_eq!(attempts.next_of(&['a']), (standing == Standing::Open).then_some('a'));
        let aside = attempts.failed_and_repeated_runs();
        let failed = sequence.iter().filter(|at| of(at).failure.is_some()).count();
        assert_eq!(aside.failures.len(), failed, "{sequence:?}");
        // Every run is somewhere: it decides, failed, or is among those that were repeated.
        let decides = attempts.deciding_run(&'a').is_some_and(|run| run.failure.is_none());
        assert_eq!(aside.repeated.len() + failed + usize::from(decides), sequence.len(), "{sequence:?}");
        let points = attempts.deciding_run(&'a').map(|run| run.verdict);
        let verdict = verdict_of_points(points, false, &aside);
        assert_eq!(verdict == Fail, any(Evidence::shows_not_held), "{sequence:?}");
        assert_eq!(verdict == Pass, !any(Evidence::shows_not_held) && any(|run| run.verdict == Pass), "{sequence:?}");
    }
    assert!(sequences.len() > 11_000);
}

#[test]
fn places_are_measured_in_their_order_and_one_that_proves_nothing_twice_in_a_call() {
    let places = [1, 2, 3];
    let mut attempts = Attempts::new(AfterFailure::GoOn);
    let mut made = Vec::new();
    let verdicts = [Invalid, Pass, Invalid, Invalid, Fail];
    while let Some(place) = attempts.next_of(&places) {
        let verdict = verdicts[made.len()];
        made.push(place);
        attempts.add_run(place, evidence(verdict, &format!("{}", made.len())));
    }
    assert_eq!(made, [1, 1, 2, 2, 3]);
    assert_eq!(attempts.standing_at(&2), Standing::GivenUp(Invalid));
    assert_eq!(attempts.deciding_run(&2).unwrap().directory, "4", "the latest of those that prove nothing");
    assert_eq!(directories(&attempts.failed_and_repeated_runs().repeated), ["1", "3"]);
    assert_eq!(attempts.proven_places().collect::<Vec<_>>(), [(&1, Pass), (&3, Fail)]);
    // A continued procedure has two more attempts where nothing is proven, and no others.
    let mut resumed = Attempts::new(AfterFailure::GoOn);
    for (place, verdict) in made.into_iter().zip(verdicts) {
        resumed.add_earlier_run(Some(place), evidence(verdict, ""));
    }
    for _ in 0..2 {
        assert_eq!(resumed.next_of(&places), Some(2));
        resumed.add_run(2, evidence(Invalid, ""));
    }
    assert_eq!(resumed.next_of(&places), None);
}

#[test]
fn what_was_cut_short_ends_the_call_and_what_failed_ends_what_follows_from_verdicts() {
    let last = |evidence: Evidence| Evidence { ending: Ending::Last, ..evidence };
    for (after_failure, run, halt) in [
        (AfterFailure::GoOn, evidence(Pass, ""), None),
        (AfterFailure::GoOn, evidence(Fail, ""), None),
        (AfterFailure::GoOn, failure(""), None),
        (AfterFailure::GoOn, cut(Fail, ""), Some(Halt::CutShort)),
        (AfterFailure::GoOn, last(failure("")), Some(Halt::LastRun)),
        (AfterFailure::End, evidence(Fail, ""), None),
        (AfterFailure::End, failure(""), Some(Halt::Failure)),
        (AfterFailure::End, cut(Incomplete, ""), Some(Halt::CutShort)),
        (AfterFailure::End, Evidence { ending: Ending::CutShort, ..failure("") }, Some(Halt::Failure)),
    ] {
        let mut attempts = Attempts::new(after_failure);
        attempts.add_run(1, run.clone());
        assert_eq!(attempts.reason_to_halt(), halt, "{after_failure:?} {run:?}");
        assert_eq!(attempts.was_cut_short(), run.ending == Ending::CutShort);
        // An earlier call was cut short, but this one was not; what failed stays.
        let mut resumed = Attempts::new(after_failure);
        resumed.add_earlier_run(Some(1), run);
        assert_eq!(resumed.reason_to_halt(), halt.filter(|halt| *halt == Halt::Failure));
    }
    // Also where nobody knows any more what the run was for.
    let mut attempts = Attempts::<u32>::new(AfterFailure::End);
    attempts.add_earlier_run(None, failure("somewhere"));
    assert_eq!((attempts.reason_to_halt(), attempts.failed_at()), (Some(Halt::Failure), None));
    assert_eq!(directories(&attempts.failed_and_repeated_runs().failures), ["somewhere"]);
}

#[test]
fn an_ending_says_whether_another_run_may_follow() {
    use CloseReason::*;
    for (closed, stuck, ending) in [
        (None, false, Ending::CutShort),
        (Some(Interrupted), true, Ending::CutShort),
        (Some(LogFailed), false, Ending::CutShort),
        (Some(Completed), false, Ending::Over),
        (Some(Completed), true, Ending::Last),
        (Some(DeviceLag), false, Ending::Over),
        (Some(DeviceLag), true, Ending::Last),
        (Some(GeneratorLag), false, Ending::Over),
        (Some(TargetLost), false, Ending::Last),
        (Some(EngineFailed), false, Ending::Last),
    ] {
        assert_eq!(Ending::new(closed, stuck), ending, "{closed:?} {stuck}");
    }
}

#[test]
fn the_verdict_is_fail_as_soon_as_anything_failed_and_incomplete_while_something_is_missing() {
    let failed = Aside { failures: vec![failure("")], ..Aside::default() };
    for (points, missing, aside, expected) in [
        (&[][..], true, Aside::default(), Incomplete),
        (&[], true, failed.clone(), Fail),
        (&[Pass, Pass], false, failed, Fail),
        (&[Pass, Pass], false, Aside::default(), Pass),
        (&[Pass], true, Aside::default(), Incomplete),
        (&[Pass, Invalid], true, Aside::default(), Incomplete),
        (&[Pass, Invalid], false, Aside::default(), Invalid),
        (&[Pass, Fail], true, Aside::default(), Fail),
        (&[Pass, Incomplete], false, Aside::default(), Incomplete),
    ] {
        assert_eq!(
            verdict_of_points(points.iter().copied(), missing, &aside),
            expected,
            "{points:?} {missing} {aside:?}"
        );
    }
}

#[test]
fn what_ended_for_good_ends_only_what_goes_with_it() {
    let mut attempts = Attempts::new(AfterFailure::GoOn);
    let places = [(1, 'a'), (1, 'b'), (2, 'a'), (2, 'b')];
    let same = |ended: &(u32, char), place: &(u32, char)| ended.1 == place.1;
    attempts.add_run((1, 'a'), Evidence { ending: Ending::Last, ..failure("lost") });
    assert_eq!(attempts.next_of(&places), None);
    assert_eq!(attempts.next_apart(&places, same), Some((1, 'b')));
    attempts.add_run((1, 'b'), evidence(Pass, ""));
    assert_eq!(attempts.next_apart(&places, same), Some((2, 'b')));
    assert_eq!(attempts.ended_for_good().map(|(place, _)| *place).collect::<Vec<_>>(), [(1, 'a')]);
    attempts.add_run((2, 'b'), Evidence { ending: Ending::CutShort, ..evidence(Incomplete, "") });
    assert_eq!(attempts.next_apart(&places, same), None, "the call was interrupted");
    let mut again = Attempts::new(AfterFailure::GoOn);
    again.add_earlier_run(Some((1, 'a')), Evidence { ending: Ending::Last, ..failure("lost") });
    assert_eq!(again.next_apart(&places[2..], same), Some((2, 'a')), "a later call tries the others again");
}
