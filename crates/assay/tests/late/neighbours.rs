//! Simulated devices that somebody else uses too, each with a twin that nobody else uses: no FAIL where the twin passes,
//! no PASS where it fails, and a neighbour on another disk changes nothing.

use crate::devices::{Draw, Kind, MS, Neighbour, Simulated, US};
use crate::rig::{Late, Place, judged_beside, plan};
use assay_base::{Bound, Criterion, Prng};
use assay_judge::{Judgement, Verdict};

/// The number of trials of a usual run of the tests.
const TRIALS: u64 = 200;
/// How long a run is, in nanoseconds.
const LENGTH: u64 = 12_000 * MS;

/// Where the neighbour is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Target,
    Beneath,
    Elsewhere,
}

/// One device, its load and its neighbour.
#[derive(Debug)]
struct Trial {
    kind: Kind,
    draw: Draw,
    when_found: bool,
    bound: u32,
    slice: &'static str,
    stream: String,
    criterion: String,
    at: At,
    neighbour: Neighbour,
    /// The neighbour's load as a part of ours.
    part: f64,
}

const KINDS: [&str; 4] = ["one server", "several servers", "tokens", "recovers at rest"];

/// A number whose logarithm is uniform.
fn between(prng: &mut Prng, low: u64, high: u64) -> u64 {
    (low as f64 * (high as f64 / low as f64).powf(prng.uniform_unit())) as u64
}

fn trial(number: u64) -> Trial {
    let mut prng = Prng::for_path(20_261_126, &[number]);
    let rate = between(&mut prng, 100, 2000);
    let gap = 1_000_000_000 / rate;
    let used = 0.15 + 0.9 * prng.uniform_unit();
    let mean = ((gap as f64 * used) as u64).max(10 * US);
    let slow_ppm = if prng.uniform_below(2) == 0 { 0 } else { between(&mut prng, 2000, 100_000) };
    let threshold = between(&mut prng, mean.max(200 * US), (mean * 40).max(2 * MS));
    let slow = if slow_ppm == 0 { 0 } else { between(&mut prng, mean, threshold * 3) };
    let (mut least, mut spread) = if prng.uniform_below(2) == 0 { (mean / 10, mean * 9 / 10) } else { (mean, 0) };
    let kind = match number % 4 {
        0 => Kind::Servers(vec![0]),
        1 => {
            let several = 2 + prng.uniform_below(15);
            (least, spread) = (least * several, spread * several);
            Kind::Servers(vec![0; several as usize])
        }
        2 => {
            let every = (gap as f64 * (0.4 + 0.7 * prng.uniform_unit())) as u64;
            (least, spread) = (mean / 4, mean / 4);
            Kind::Tokens { next: 0, every: every.max(1), burst: between(&mut prng, 1, 500) }
        }
        _ => {
            (least, spread) = (least / 2, spread / 2);
            let debt = between(&mut prng, (gap / 5).max(1), gap / 2);
            let onset = between(&mut prng, gap / 4 + 1, gap * 20);
            let most = between(&mut prng, 10 * MS, 300 * MS);
            let pays = between(&mut prng, mean, 100 * MS);
            Kind::Recovers { free: 0, owed: most, debt, onset, most, pays }
        }
    };
    let draw = Draw { seed: prng.next_u64(), least, mean: spread, slow, slow_ppm };
    let part = [0.0, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0][prng.uniform_below(8) as usize];
    let theirs = Draw { seed: prng.next_u64(), slow: 0, slow_ppm: 0, ..draw };
    let closed = prng.uniform_below(4) == 0;
    let stream = match closed {
        true => format!("direction = \"read\"\nin_flight = {}", 1 + prng.uniform_below(16)),
        false => {
            let arrival = ["steady", "poisson"][prng.uniform_below(2) as usize];
            format!("direction = \"read\"\nrate = \"{rate}/s\"\narrival = \"{arrival}\"")
        }
    };
    let share = [0.5, 1.0, 5.0, 10.0][prng.uniform_below(4) as usize];
    let criterion = match prng.uniform_below(5) {
        0 => format!("mean_at_most = \"{}ns\"", between(&mut prng, mean, mean * 20)),
        1 if closed => format!("rate_at_least = \"{}/s\"", (rate as f64 * (0.5 + prng.uniform_unit())) as u64),
        _ => format!("share_over = \"{threshold}ns\"\nat_most = \"{share}%\""),
    };
    Trial {
        kind,
        draw,
        when_found: prng.uniform_below(4) > 0,
        bound: [8, 64, 256][prng.uniform_below(3) as usize],
        slice: ["12s", "4s", "2s"][prng.uniform_below(3) as usize],
        stream,
        criterion,
        at: [At::Target, At::Beneath, At::Elsewhere][prng.uniform_below(3) as usize],
        neighbour: Neighbour {
            draw: theirs,
            rate: (rate as f64 * part).ceil() as u64,
            bytes: [4096, 4096, 65_536, 512][prng.uniform_below(4) as usize],
            stretches: stretches(&mut prng),
        },
        part,
    }
}

/// All the time, once, several times, or from before the run until somewhere in it.
fn stretches(prng: &mut Prng) -> Vec<(u64, u64)> {
    match prng.uniform_below(4) {
        0 => vec![(0, LENGTH)],
        1 => {
            let from = prng.uniform_below(LENGTH);
            vec![(from, from + between(prng, 50 * MS, 6000 * MS))]
        }
        2 => (0..6u64).map(|turn| (turn * 2000 * MS, turn * 2000 * MS + between(prng, 20 * MS, 1900 * MS))).collect(),
        _ => vec![(0, between(prng, 500 * MS, LENGTH))],
    }
}

impl Trial {
    fn device(&self) -> Simulated {
        Simulated::new(self.kind.clone(), self.draw, self.when_found)
    }

    /// Whether the neighbour's operations are less than a hundredth of all over its own time, or too few to be told from those
    /// that are open at the end of an interval.
    fn is_small(&self, beside: &Judgement) -> bool {
        let time: u64 = self.neighbour.stretches.iter().map(|(from, to)| to.min(&LENGTH).saturating_sub(*from)).sum();
        let theirs = self.neighbour.rate as f64 * time as f64 / 1e9;
        let ours = beside.part.streams.each[0].counts.operations as f64 * time as f64 / LENGTH as f64;
        theirs < 0.01 * (theirs + ours) || theirs < 10.0
    }

    fn run(&self, device: Simulated) -> Judgement {
        let head = format!("duration = \"12s\"\nslice = \"{}\"", self.slice);
        let plan = plan(&head, &self.stream, &format!("{}\nwindow = \"{}\"", self.criterion, self.slice));
        let place = if self.at == At::Beneath { Place::Beneath } else { Place::Target };
        judged_beside(&plan, device, self.bound, &Late::default(), place)
    }
}

#[derive(Default, Debug)]
struct Tally {
    trials: u64,
    twins_fail: u64,
    pass: u64,
    fail: u64,
    invalid: u64,
    /// Wrong, but by a neighbour that is too small to be told, or on a device that recovers at rest and is within 5 %
    /// of its bound.
    apart: u64,
}

/// What was measured as a part of the bound; the worst of all windows.
fn nearness(judgement: &Judgement) -> Option<f64> {
    let outcome = judgement.part.criteria.iter().find(|it| it.asked.stream.is_some())?;
    let criterion: Criterion = outcome.asked.criterion.parse().ok()?;
    let limit = match criterion.bound {
        Bound::Over { below: share, .. } | Bound::OverAtMost { at_most: share, .. } => share.as_f64(),
        Bound::MeanAtMost(span) => span.as_ns() as f64,
        Bound::RateAtLeast(rate) => rate.as_f64(),
        _ => return None,
    };
    Some(outcome.worst.as_ref()?.value / limit)
}

#[test]
fn no_neighbour_accuses_a_good_device_or_excuses_a_bad_one() {
    let times = std::env::var("ASSAY_CAMPAIGN").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut tallies: [Tally; 4] = Default::default();
    let mut wrong = Vec::new();
    for number in 0..TRIALS * times {
        let trial = trial(number);
        let twin = trial.run(trial.device());
        let beside = match trial.at {
            At::Elsewhere => trial.run(trial.device()),
            _ if trial.part == 0.0 => trial.run(trial.device()),
            _ => trial.run(trial.device().beside(trial.neighbour.clone())),
        };
        assert!(matches!(twin.verdict, Verdict::Pass | Verdict::Fail), "{number}: {} {}", twin.verdict, twin.reason);
        let tally = &mut tallies[(number % 4) as usize];
        tally.trials += 1;
        tally.twins_fail += u64::from(twin.verdict == Verdict::Fail);
        match beside.verdict {
            Verdict::Pass => tally.pass += 1,
            Verdict::Fail => tally.fail += 1,
            _ => tally.invalid += 1,
        }
        let alone = trial.at == At::Elsewhere || trial.part == 0.0;
        let same = (twin.verdict, &twin.reason) == (beside.verdict, &beside.reason) && beside.warnings == twin.warnings;
        let false_pass = beside.verdict == Verdict::Pass && twin.verdict == Verdict::Fail;
        let false_fail = beside.verdict == Verdict::Fail && twin.verdict == Verdict::Pass;
        let silent = beside.verdict == Verdict::Invalid && !beside.reason.contains("another program used shared");
        let few = trial.is_small(&beside);
        let near = number % 4 == 3 && nearness(&twin).is_some_and(|share| (share - 1.0).abs() <= 0.05);
        if false_fail && (few || near) {
            tally.apart += 1;
        } else if false_pass || false_fail || silent || alone && !same {
            wrong.push(format!(
                "{number} {}: twin {}, beside {}\n  {}\n  {}\n  {trial:?}\n  {:?}",
                KINDS[(number % 4) as usize],
                twin.verdict,
                beside.verdict,
                twin.reason,
                beside.reason,
                beside.part.targets.foreign
            ));
        }
    }
    for (name, tally) in KINDS.iter().zip(&tallies) {
        println!("{name}: {tally:?}");
    }
    assert!(wrong.is_empty(), "{} wrong verdicts:\n{}", wrong.len(), wrong.join("\n"));
}
