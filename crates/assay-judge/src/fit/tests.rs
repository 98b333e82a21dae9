use super::*;
use crate::procedure::{Aside, Ending, Evidence};
use crate::verdict::Verdict;
use assay_base::{Knobs, Share};

/// A drive with small reads and large blocks, as the profile of a namespace produces it.
#[derive(Clone, Copy)]
struct Drive {
    reads: f64,
    /// Mean of the small reads at their lowest position, in bytes.
    size: f64,
    blocks_read: f64,
    blocks_written: f64,
    /// Small writes, as of a namespace with commit-to-device or of an application.
    writes: f64,
    /// Block size of the device.
    block: f64,
}

const LARGE: f64 = 131_072.0;
/// The worked example: 10427 reads of 16.53 KiB, 1543 large blocks written, 1174 of them read.
const WORKED: Drive =
    Drive { reads: 10_427.0, size: 16_927.0, blocks_read: 1174.0, blocks_written: 1543.0, writes: 0.0, block: 512.0 };
const WORKED_IOSTAT: [f64; 4] = [11_806.0, 1547.5, 344_970.25 * 1024.0, 198_080.0 * 1024.0];

impl Drive {
    fn expected(&self, knobs: &Knobs) -> Expected {
        let rounded = |size: f64| (size / self.block).ceil() * self.block;
        let small = [knobs.read_position, knobs.write_position].map(|position| self.size * position.as_f64());
        let large = [self.blocks_read * knobs.read_scale.as_f64(), self.blocks_written * knobs.write_scale.as_f64()];
        let rates = [self.reads, self.writes];
        let bytes = |at: usize| rates[at] * rounded(small[at]) + large[at] * LARGE;
        let squares = |at: usize| rates[at] * rounded(small[at]).powi(2) + large[at] * LARGE.powi(2);
        let unrounded = |at: usize| rates[at] * small[at] + large[at] * LARGE;
        let of = |n: f64, sum: f64| if sum > 0.0 { n.sqrt() / sum } else { 0.0 };
        let operations = |at: usize| rates[at] + large[at];
        Expected {
            figures: [operations(0), operations(1), bytes(0), bytes(1)],
            spread: [
                of(operations(0), operations(0)),
                of(operations(1), operations(1)),
                of(squares(0), bytes(0)),
                of(squares(1), bytes(1)),
            ],
            rounding: [0, 1].map(|at| if unrounded(at) > 0.0 { bytes(at) / unrounded(at) } else { 1.0 }),
        }
    }
}

fn goal(production: Figures) -> Goal {
    Goal { production: production.map(Some), tolerance: 0.01, rounds: 5 }
}

fn measured(own: Figures, device: Option<Figures>) -> Measured {
    Measured { own, device, flushes: 0.0, seconds: 60.0, verdict: Verdict::Pass, delivered: true }
}

/// Takes a round whose log showed what its verdict says.
fn observe<L: Load>(fit: &mut Fit<L>, knobs: Knobs, measured: Measured) {
    let evidence = Evidence::from(measured.verdict);
    fit.add_run(knobs, measured, evidence);
}

/// Runs a fit on a device that counts `device` of what is issued in each round.
fn fitted(
    drive: Drive,
    production: Figures,
    mut device: impl FnMut(usize, Figures) -> Figures,
) -> (Outcome, Vec<Knobs>, Vec<Vec<Compared>>) {
    let mut fit = Fit::start(move |knobs: &Knobs| drive.expected(knobs), goal(production), Knobs::default());
    let (mut knobs, mut tables) = (Vec::new(), Vec::new());
    loop {
        match fit.next() {
            Next::RunAt(at) => {
                knobs.push(at);
                let own = drive.expected(&at).figures;
                observe(&mut fit, at, measured(own, Some(device(knobs.len(), own))));
                tables.push(fit.comparison_table(knobs.len()));
                assert!(knobs.len() <= 5, "it ends");
            }
            Next::Done(outcome) => return (outcome, knobs, tables),
        }
    }
}

fn shorts(outcome: &Outcome) -> Vec<(Figure, Why)> {
    match outcome {
        Outcome::Apart { figures, .. } => figures.iter().map(|short| (short.of.figure, short.why)).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_worked_example_agrees_in_its_second_round() {
    let (outcome, knobs, tables) = fitted(WORKED, WORKED_IOSTAT, |_, own| own);
    assert_eq!(outcome, Outcome::Agrees { round: 2 });
    let off: Vec<f64> = tables[1].iter().map(|one| one.difference).collect();
    assert!(off.iter().all(|off| off.abs() < 0.01), "without what counting is allowed: {off:?}");
    // 11806 − 10427 large blocks would be 117.5 %; their bytes leave less room.
    let scale = knobs[1].read_scale.as_f64();
    assert!((1.1..1.18).contains(&scale) && knobs[1].read_position == Share::WHOLE, "{knobs:?}");
    assert_eq!(knobs[1].write_position, Share::WHOLE, "what moves nothing is not moved");
}

/// The same with large blocks that were counted, and with other operations of 4 KiB.
struct Counted(Drive, [bool; 2]);

impl Load for Counted {
    fn expected_counts(&self, knobs: &Knobs) -> Expected {
        let Counted(drive, _) = self;
        let mut expected = drive.expected(knobs);
        for (at, others) in [knobs.other_reads, knobs.other_writes].into_iter().enumerate() {
            expected.figures[at] += others.as_f64();
            expected.figures[at + 2] += others.as_f64() * 4096.0;
        }
        expected
    }

    fn counts_large_blocks(&self) -> [bool; 2] {
        self.1
    }
}

/// Runs a fit to `production` on a device that counts what is issued.
fn fitted_to_counts(load: &Counted, production: Figures) -> (Outcome, Vec<Knobs>) {
    let Counted(drive, counted) = load;
    let mut fit = Fit::start(Counted(*drive, *counted), goal(production), Knobs::default());
    let mut knobs = Vec::new();
    loop {
        match fit.next() {
            Next::RunAt(at) => {
                knobs.push(at);
                let own = load.expected_counts(&at).figures;
                observe(&mut fit, at, measured(own, Some(own)));
                assert!(knobs.len() <= 5, "it ends");
            }
            Next::Done(outcome) => return (outcome, knobs),
        }
    }
}

#[test]
fn what_was_counted_binds_the_fit() {
    // Both directions counted: the worked example agrees by the sizes of its reads and by what nobody has counted.
    let (outcome, knobs) = fitted_to_counts(&Counted(WORKED, [true, true]), WORKED_IOSTAT);
    assert_eq!(outcome, Outcome::Agrees { round: 2 });
    let last = knobs[1];
    assert_eq!((last.read_scale, last.write_scale), (Share::WHOLE, Share::WHOLE), "the counts stay as they are");
    let others = last.other_reads.as_f64();
    assert!((others - (11_806.0 - 10_427.0 - 1174.0)).abs() < 120.0, "{others} other reads a second");
    assert!(last.read_position > Share::from_percent(108), "{last:?}");
    // Reads alone: the writes are fitted by their large blocks, as before.
    let (_, knobs) = fitted_to_counts(&Counted(WORKED, [true, false]), WORKED_IOSTAT);
    assert!(knobs[1].read_scale == Share::WHOLE && knobs[1].write_scale > Share::WHOLE, "{knobs:?}");
    // A drive that did less than was counted contradicts the counts, which are not made smaller for it.
    let (outcome, knobs) = fitted_to_counts(
        &Counted(WORKED, [true, true]),
        [11_000.0, WORKED_IOSTAT[1], WORKED_IOSTAT[2], WORKED_IOSTAT[3]],
    );
    assert!(matches!(shorts(&outcome)[..], [(Figure::Reads, Why::Bound { lowest: true })]), "{outcome:?}");
    assert!(knobs.iter().all(|knobs| knobs.read_scale == Share::WHOLE && knobs.other_reads.is_zero()), "{knobs:?}");
}

#[test]
fn a_drive_that_already_agrees_is_not_moved() {
    let (outcome, knobs, _) = fitted(WORKED, WORKED.expected(&Knobs::default()).figures, |_, own| own);
    assert_eq!((outcome, knobs), (Outcome::Agrees { round: 1 }, vec![Knobs::default()]));
}

#[test]
fn every_knob_is_found_within_its_bounds() {
    let drive = Drive { writes: 700.0, ..WORKED };
    for (positions, scales) in [((110, 150), (80, 120)), ((100, 200), (300, 10)), ((199, 101), (0, 900))] {
        let share = Share::from_percent;
        let meant = Knobs {
            read_position: share(positions.0),
            write_position: share(positions.1),
            read_scale: share(scales.0),
            write_scale: share(scales.1),
            ..Knobs::default()
        };
        let (outcome, knobs, _) = fitted(drive, drive.expected(&meant).figures, |_, own| own);
        assert_eq!(outcome, Outcome::Agrees { round: 2 }, "{meant:?}");
        for ((name, found), (_, meant)) in knobs[1].named_values().iter().zip(meant.named_values()) {
            assert!((found.as_f64() - meant.as_f64()).abs() < 0.03, "{name}: {found}, meant {meant}");
        }
    }
}

#[test]
fn what_the_device_counts_otherwise_is_learnt() {
    // Two percent more bytes than issued: something else also transfers data.
    let drive = Drive { writes: 700.0, ..WORKED };
    let share = Share::from_percent;
    let meant = Knobs { read_position: share(150), write_position: share(150), ..Knobs::default() };
    let more = |_: usize, own: Figures| [own[0], own[1], own[2] * 1.02, own[3] * 1.02];
    let (outcome, knobs, tables) = fitted(drive, drive.expected(&meant).figures, more);
    assert_eq!(outcome, Outcome::Agrees { round: 2 });
    assert!(tables[1].iter().all(|one| one.difference.abs() < 0.01));
    assert!(knobs[1].write_position < share(150) && knobs[1].read_position < share(150), "{knobs:?}");
}

/// Runs a fit of the worked example whose rounds issue something else than expected.
fn drifting(drive: Drive, handed_over: impl Fn(usize, Figures) -> Figures) -> (Outcome, Vec<Knobs>, Vec<Compared>) {
    let mut fit = Fit::start(move |knobs: &Knobs| drive.expected(knobs), goal(WORKED_IOSTAT), Knobs::default());
    let mut knobs = Vec::new();
    loop {
        match fit.next() {
            Next::RunAt(at) => {
                knobs.push(at);
                observe(&mut fit, at, measured(handed_over(knobs.len(), drive.expected(&at).figures), None));
            }
            Next::Done(outcome) => return (outcome, knobs.clone(), fit.comparison_table(knobs.len())),
        }
    }
}

#[test]
fn noise_is_allowed_for_and_not_followed() {
    // Counting noise of the worked example over a minute, in both directions.
    let spread = WORKED.expected(&Knobs::default()).spread;
    let noisy = |deviations: f64| {
        move |round: usize, own: Figures| {
            let off = spread.map(|spread| deviations * spread / 60f64.sqrt());
            std::array::from_fn(|at| own[at] * (1.0 + if (round + at).is_multiple_of(2) { off[at] } else { -off[at] }))
        }
    };
    let without = fitted(WORKED, WORKED_IOSTAT, |_, own| own).1[1];
    for deviations in [0.5, 1.9, 3.5] {
        let (outcome, knobs, _) = drifting(WORKED, noisy(deviations));
        assert_eq!(outcome, Outcome::Agrees { round: 2 });
        assert_eq!(knobs[1], without, "the knobs are those without any noise");
    }
    let reads = drifting(WORKED, noisy(1.0)).2[0];
    // √(11806 × 60) is 0.12 % of it, and two of those are allowed.
    assert!((reads.counting - 0.0024).abs() < 0.0001 && (reads.allowed - reads.counting - 0.01).abs() < 1e-12);
}

#[test]
fn a_round_that_was_off_by_chance_is_run_again() {
    let off = |round: usize, own: Figures| if round == 2 { own.map(|n| n * 1.004) } else { own };
    let drive = Drive { blocks_written: 60.0, ..WORKED };
    let production = [11_806.0, 60.0, WORKED_IOSTAT[2], 60.0 * LARGE];
    let chance = |round: usize, own: Figures| {
        let own = off(round, own);
        // Three standard deviations of 3600 writes.
        if round == 2 { [own[0], own[1] * 1.05, own[2], own[3] * 1.05] } else { own }
    };
    let mut fit = Fit::start(move |knobs: &Knobs| drive.expected(knobs), goal(production), Knobs::default());
    let mut knobs = Vec::new();
    while let Next::RunAt(at) = fit.next() {
        knobs.push(at);
        observe(&mut fit, at, measured(chance(knobs.len(), drive.expected(&at).figures), None));
    }
    assert_eq!((fit.next(), knobs.len()), (Next::Done(Outcome::Agrees { round: 3 }), 3));
    assert_eq!(knobs[1], knobs[2]);
}

/// A figure that nothing changes does not end a fit while another one was off by chance, which is never said to need
/// more rounds than there are.
#[test]
fn a_fit_uses_its_rounds_beside_a_figure_that_cannot_agree() {
    // An application of one size: nothing moves its bytes, which are a tenth too few. The writes vary.
    for (off_in, ends_in) in [(&[1][..], 2), (&[1, 2], 3), (&[2], 1), (&[1, 2, 3, 4, 5], 5)] {
        let drive = Drive { blocks_read: 0.0, blocks_written: 0.0, writes: 60.0, ..WORKED };
        let fixed = move |knobs: &Knobs| {
            let as_imported = Knobs { read_scale: knobs.read_scale, ..Knobs::default() };
            drive.expected(&as_imported)
        };
        let own = fixed(&Knobs::default()).figures;
        let production = [own[0], own[1], own[2] * 1.1, own[3]];
        let mut fit = Fit::start(fixed, goal(production), Knobs::default());
        let mut rounds = 0;
        while let Next::RunAt(at) = fit.next() {
            rounds += 1;
            assert_eq!(at, Knobs::default());
            let mut counted = own;
            if off_in.contains(&rounds) {
                // Four standard deviations of 3600 writes.
                counted[1] *= 1.066;
            }
            observe(&mut fit, at, measured(counted, None));
        }
        assert_eq!(rounds, ends_in, "off in {off_in:?}");
        let Next::Done(outcome) = fit.next() else { unreachable!() };
        let told = shorts(&outcome);
        assert!(told.contains(&(Figure::ReadBytes, Why::Fixed)), "{told:?}");
        let unfinished = told.iter().any(|(_, why)| *why == Why::Unfinished);
        assert_eq!(unfinished, ends_in == 5, "more rounds are named only where all were used: {told:?}");
    }
}

#[test]
fn requests_that_the_kernel_splits_are_told_and_what_is_handed_over_is_fitted() {
    // Large blocks of 128 KiB on a queue with a limit of 64 KiB.
    let split = |_: usize, own: Figures| {
        let large = (own[2] - WORKED.reads * 16_927.0) / LARGE;
        [own[0] + large, own[1] * 2.0, own[2], own[3]]
    };
    let (outcome, knobs, tables) = fitted(WORKED, WORKED_IOSTAT, split);
    // Half as many large reads, each split into two requests, and larger small reads: so the reads agree.
    let told = shorts(&outcome);
    assert!(matches!(told[..], [(Figure::Writes, Why::Split { times })] if (times - 2.0).abs() < 1e-9), "{told:?}");
    let Outcome::Apart { round, .. } = outcome else { unreachable!() };
    for bytes in &tables[round - 1][2..] {
        assert!(bytes.difference.abs() < 0.01, "{bytes:?}");
    }
    assert!((knobs[round - 1].write_scale.as_f64() - 1.003).abs() < 0.01, "{knobs:?}");
    // Production's kernel did the same, so there is nothing to report.
    let own = WORKED.expected(&Knobs::default()).figures;
    let same = split(1, own);
    assert_eq!(fitted(WORKED, same, split).0, Outcome::Agrees { round: 1 });
}

#[test]
fn requests_that_are_merged_are_told() {
    let merged = |_: usize, own: Figures| [own[0], own[1] / 4.0, own[2], own[3]];
    let (outcome, knobs, _) = fitted(WORKED, WORKED_IOSTAT, merged);
    let told = shorts(&outcome);
    assert!(matches!(told[..], [(Figure::Writes, Why::Merged { times })] if (times - 0.25).abs() < 1e-9), "{told:?}");
    assert!((knobs.last().unwrap().write_scale.as_f64() - 1.003).abs() < 0.01, "{knobs:?}");
}

#[test]
fn what_cannot_be_reached_says_why_and_by_how_much() {
    let own = WORKED.expected(&Knobs::default()).figures;
    // Bytes far below those of sizes at their lower bounds.
    let (outcome, ..) = fitted(Drive { blocks_read: 0.0, ..WORKED }, [10_427.0, own[1], 1e8, own[3]], |_, own| own);
    assert!(matches!(shorts(&outcome)[..], [(Figure::ReadBytes, Why::Bound { lowest: true })]), "{outcome:?}");
    let Outcome::Apart { figures, .. } = &outcome else { unreachable!() };
    // 16927 B take 34 blocks of 512 B.
    assert!((figures[0].of.difference - (10_427.0 * 17_408.0 / 1e8 - 1.0)).abs() < 1e-9, "{figures:?}");
    // Far above.
    let (outcome, ..) = fitted(Drive { blocks_read: 0.0, ..WORKED }, [10_427.0, own[1], 9e8, own[3]], |_, own| own);
    assert!(matches!(shorts(&outcome)[..], [(Figure::ReadBytes, Why::Bound { lowest: false })]), "{outcome:?}");
    // Without large blocks only the rate of reads changes r/s.
    let (outcome, ..) = fitted(Drive { blocks_read: 0.0, ..WORKED }, [12_000.0, own[1], 3e8, own[3]], |_, own| own);
    assert!(matches!(shorts(&outcome)[..], [(Figure::Reads, Why::Fixed)]), "{outcome:?}");
    // Large blocks of 128 KiB cannot be writes of 100 KiB.
    let (outcome, ..) = fitted(WORKED, [own[0], 2000.0, own[2], 2000.0 * 102_400.0], |_, own| own);
    assert!(matches!(shorts(&outcome)[..], [(Figure::Writes, Why::Tied { .. })]), "{outcome:?}");
    // Only half of a block of the device is read.
    let small = Drive { block: 32_768.0, ..WORKED };
    let (outcome, ..) = fitted(small, own, |_, own| own);
    let told = shorts(&outcome);
    assert!(
        told.iter().any(|(figure, why)| *figure == Figure::ReadBytes && matches!(why, Why::Blocks { .. })),
        "{told:?}"
    );
}

#[test]
fn what_is_not_known_is_not_fitted_and_nothing_is_told_from_something() {
    let drive = WORKED;
    let goal = Goal { production: [None, Some(0.0), None, None], tolerance: 0.01, rounds: 5 };
    let mut fit = Fit::start(move |knobs: &Knobs| drive.expected(knobs), goal, Knobs::default());
    observe(&mut fit, Knobs::default(), measured(drive.expected(&Knobs::default()).figures, None));
    assert_eq!(fit.comparison_table(1).len(), 1);
    let Next::RunAt(knobs) = fit.next() else { panic!("{:?}", fit.next()) };
    assert_eq!((knobs.write_scale, knobs.read_scale), (Share::from_percent(0), Share::WHOLE));
    observe(&mut fit, knobs, measured(drive.expected(&knobs).figures, None));
    assert_eq!(fit.next(), Next::Done(Outcome::Agrees { round: 2 }));
}

#[test]
fn rounds_that_prove_nothing_end_it() {
    let fresh = || Fit::start(|knobs: &Knobs| WORKED.expected(knobs), goal(WORKED_IOSTAT), Knobs::default());
    let own = WORKED.expected(&Knobs::default()).figures;
    let of = |verdict, delivered| Measured { verdict, delivered, ..measured(own, None) };
    let cut = || Evidence { ending: Ending::CutShort, ..Evidence::from(Verdict::Incomplete) };
    let mut fit = fresh();
    fit.add_run(Knobs::default(), of(Verdict::Incomplete, true), cut());
    assert_eq!(fit.next(), Next::Done(Outcome::Stopped { round: 1, verdict: Verdict::Incomplete }));
    let mut resumed = fresh();
    resumed.add_earlier_run(Knobs::default(), of(Verdict::Incomplete, true), cut());
    assert_eq!(resumed.next(), Next::RunAt(Knobs::default()), "what an earlier call cut is run again");
    let mut fit = fresh();
    observe(&mut fit, Knobs::default(), of(Verdict::Invalid, true));
    assert_eq!(fit.next(), Next::RunAt(Knobs::default()), "once more");
    let mut twice = fit.clone();
    observe(&mut twice, Knobs::default(), of(Verdict::Invalid, true));
    assert_eq!(twice.next(), Next::Done(Outcome::Stopped { round: 2, verdict: Verdict::Invalid }));
    observe(&mut fit, Knobs::default(), of(Verdict::Fail, false));
    assert_eq!(fit.next(), Next::Done(Outcome::NotCarried { round: 2 }));
    // Late answers do not prevent a fit: the load was carried.
    let mut fit = fresh();
    observe(&mut fit, Knobs::default(), of(Verdict::Fail, true));
    assert!(matches!(fit.next(), Next::RunAt(knobs) if knobs != Knobs::default()));
}

#[test]
fn a_round_in_which_something_failed_ends_the_fit_though_its_figures_agree() {
    let own = WORKED.expected(&Knobs::default()).figures;
    let fresh = || Fit::start(|knobs: &Knobs| WORKED.expected(knobs), goal(own), Knobs::default());
    let failed = || Evidence::from(Verdict::Pass).with_failure("3 EIO".to_owned());
    let stopped = |round| Next::Done(Outcome::Stopped { round, verdict: Verdict::Fail });
    let mut fit = fresh();
    let round = Measured { verdict: Verdict::Fail, ..measured(own, None) };
    fit.add_run(Knobs::default(), round.clone(), failed());
    assert_eq!((fit.next(), fit.failed_and_repeated_rounds().failures.len()), (stopped(1), 1));
    observe(&mut fit, Knobs::default(), measured(own, None));
    assert_eq!(fit.next(), stopped(2), "no later round makes it undone");
    let mut resumed = fresh();
    resumed.take_over_unknown(failed());
    assert_eq!(resumed.next(), stopped(0));
    let mut without = fresh();
    observe(&mut without, Knobs::default(), round);
    assert_eq!(without.next(), Next::Done(Outcome::Agrees { round: 1 }), "a broken bound is no failure");
}

#[test]
fn rounds_come_to_an_end() {
    // A device whose answer always moves away from the goal, and whose counters fit nothing.
    let fleeing = |round: usize, own: Figures| own.map(|n| n * (1.0 + 0.1 * (round - 1) as f64));
    let (outcome, knobs, _) = drifting(Drive { writes: 700.0, ..WORKED }, fleeing);
    assert!(matches!(outcome, Outcome::Apart { .. }) && knobs.len() == 5, "{outcome:?}");
    assert!(shorts(&outcome).iter().any(|(_, why)| *why == Why::Unfinished), "{outcome:?}");
}

#[test]
fn a_quiet_round_is_as_long_as_counting_asks() {
    let fit = Fit::start(|knobs: &Knobs| WORKED.expected(knobs), goal(WORKED_IOSTAT), Knobs::default());
    let quiet = fit.quiet_seconds();
    let spread = WORKED.expected(&Knobs::default()).spread.into_iter().fold(0.0, f64::max);
    assert!((2.0 * spread / quiet.sqrt() - 0.01).abs() < 1e-9 && (10.0..60.0).contains(&quiet), "{quiet}");
}

#[test]
fn the_text_holds_every_round_and_reason() {
    let (outcome, knobs, tables) = fitted(WORKED, WORKED_IOSTAT, |_, own| [own[0], own[1] * 2.0, own[2], own[3]]);
    let rounds = knobs.iter().zip(tables).map(|(knobs, figures)| Round {
        knobs: *knobs,
        verdict: Verdict::Pass,
        reason: "held".into(),
        delivered: true,
        seconds: 60.0,
        handed_over: [0.0; 4],
        counted: Some([0.0; 4]),
        flushes: 0.0,
        figures,
        nines: Vec::new(),
        directory: "01".into(),
    });
    let trail = Trail {
        schema: SCHEMA,
        workload: "y\u{1b}[31m".into(),
        profile_blake3: String::new(),
        drive: "alpha/nvme0n1".into(),
        target: "/dev/loop7".into(),
        device: None,
        size_bytes: None,
        round_ns: 60_000_000_000,
        seed: 1,
        tolerance: 0.01,
        rounds_max: 5,
        watermarks: vec!["SIMULATED".into()],
        notes: vec!["one".into()],
        outcome: Some(outcome),
        rounds: rounds.collect(),
        aside: Aside::default(),
    };
    let mut text = String::new();
    super::write_text(&trail, &mut text).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80) && !text.contains('\u{1b}'), "{text}");
    for told in [
        "alpha/nvme0n1",
        "w/s does not agree with production",
        "round 1  as the profile stands",
        "large-block reads 100% ->",
        "r/s         11806.0",
        "too far",
        "w/s: the kernel makes 2.00 requests",
        "note: one",
    ] {
        assert!(text.contains(told), "{told}\n{text}");
    }
    let json = serde_json::to_string(&trail).unwrap();
    assert!(json.contains("\"figure\":\"w/s\"") && json.contains("\"read_position\":\"100%\""), "{json}");
    let read: Trail = serde_json::from_str(&json).unwrap();
    assert_eq!((read.outcome.unwrap().resulting_round(), read.rounds.len()), (Some(2), 2));
    let run = Evidence::from(Verdict::Fail).with_failure("3 EIO".to_owned());
    let failed = Trail {
        outcome: Some(Outcome::Stopped { round: 2, verdict: Verdict::Fail }),
        aside: Aside { failures: vec![run], ..Aside::default() },
        ..trail
    };
    assert_eq!(ending_in_words(&failed), "the target failed, which no load excuses: 3 EIO");
    assert_eq!(failed.outcome.unwrap().verdict(), Verdict::Fail);
}
