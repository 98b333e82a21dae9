//! A thousand devices of five kinds. The generator of each is late in one of several ways, and a twin run with the same
//! device has a punctual generator: no PASS where the twin fails, and no FAIL where the twin passes.

use crate::devices::{Draw, Kind, MS, Simulated, US};
use crate::rig::{Late, judged, plan};
use assay_base::Prng;
use assay_judge::{Judgement, Verdict};
use std::cell::Cell;
use std::rc::Rc;

/// One device, its load and its generator.
struct Trial {
    name: &'static str,
    kind: Kind,
    draw: Draw,
    when_found: bool,
    bound: u32,
    stream: String,
    criterion: String,
    late: Late,
}

const KINDS: [&str; 5] = ["one server", "several servers", "recovers at rest", "merges", "tokens"];

/// A number whose logarithm is uniform.
fn between(prng: &mut Prng, low: u64, high: u64) -> u64 {
    (low as f64 * (high as f64 / low as f64).powf(prng.uniform_unit())) as u64
}

fn trial(number: u64) -> Trial {
    let mut prng = Prng::for_path(20_261_122, &[number]);
    let kind = (number % 5) as usize;
    let rate = between(&mut prng, 100, 2000);
    let gap = 1_000_000_000 / rate;
    // Utilisation of one server; above 1 the device does not carry its load.
    let used = 0.2 + 0.95 * prng.uniform_unit();
    let mean = ((gap as f64 * used) as u64).max(10 * US);
    let slow_ppm = if prng.uniform_below(2) == 0 { 0 } else { between(&mut prng, 1000, 80_000) };
    let threshold = between(&mut prng, mean.max(200 * US), (mean * 40).max(2 * MS));
    let slow = if slow_ppm == 0 { 0 } else { between(&mut prng, mean, threshold * 3) };
    let exponential = prng.uniform_below(2) == 0;
    let (least, mean) = if exponential { (mean / 10, mean * 9 / 10) } else { (mean, 0) };
    let seed = prng.next_u64();
    let mut draw = Draw { seed, least, mean, slow, slow_ppm };
    let span = least + mean;
    let several = 2 + prng.uniform_below(15);
    let kind_of = match kind {
        0 => Kind::Servers(vec![0]),
        1 => {
            (draw.least, draw.mean) = (least * several, mean * several);
            Kind::Servers(vec![0; several as usize])
        }
        2 => {
            // The upkeep of the device takes a share of the idle time, and is done only at rest.
            (draw.least, draw.mean) = (least / 2, mean / 2);
            // It starts with its largest debt. Upkeep that takes less than a fifth of the time is left out: rests of
            // one percent of the time are allowed, and pay for more than a twentieth of such upkeep.
            let debt = between(&mut prng, (gap / 5).max(1), gap / 2);
            let onset = between(&mut prng, gap / 4 + 1, gap * 20);
            let most = between(&mut prng, 10 * MS, 500 * MS);
            let pays = between(&mut prng, span, 100 * MS);
            Kind::Recovers { free: 0, owed: most, debt, onset, most, pays }
        }
        3 => {
            Kind::Merges { free: 0, filling: (0, 0), most: 2 + prng.uniform_below(30), carried: Rc::new(Cell::new(0)) }
        }
        _ => {
            let every = (gap as f64 * (0.85 + 0.25 * prng.uniform_unit())) as u64;
            (draw.least, draw.mean) = (span / 4, span / 4);
            Kind::Tokens { next: 0, every: every.max(1), burst: between(&mut prng, 1, 2000) }
        }
    };
    let arrival = ["steady", "poisson"][prng.uniform_below(2) as usize];
    let address = if kind == 3 { "\naddress = \"sequential\"" } else { "" };
    let share = [1.0, 5.0, 5.0, 10.0][prng.uniform_below(4) as usize];
    Trial {
        name: KINDS[kind],
        kind: kind_of,
        draw,
        when_found: prng.uniform_below(4) > 0,
        bound: [8, 64, 256][prng.uniform_below(3) as usize],
        stream: format!("direction = \"read\"\nrate = \"{rate}/s\"\narrival = \"{arrival}\"{address}"),
        criterion: format!("share_over = \"{threshold}ns\"\nat_most = \"{share}%\"\nwindow = \"10s\""),
        late: lateness(&mut prng),
    }
}

/// Ways of being late that occur in practice: late wakes of a virtual machine, a quota, stops, and a mixture of small
/// ones.
fn lateness(prng: &mut Prng) -> Late {
    let seed = prng.next_u64();
    let late = Late { seed, ..Late::default() };
    match prng.uniform_below(6) {
        0 => Late { wakes_ppm: 10_000, wakes_by: 3 * MS, ..late },
        1 => Late { wakes_ppm: between(prng, 1000, 300_000), wakes_by: between(prng, 50 * US, 20 * MS), ..late },
        2 => Late { every: 1000 * MS, stopped: between(prng, MS, 100 * MS), ..late },
        3 => {
            let every = between(prng, 10 * MS, 300 * MS);
            Late { every, stopped: (every as f64 * (0.02 + 0.8 * prng.uniform_unit())) as u64, ..late }
        }
        4 => Late { once: vec![(between(prng, MS, 9000 * MS), between(prng, MS, 400 * MS))], ..late },
        _ => Late {
            once: vec![(between(prng, 1000 * MS, 8000 * MS), between(prng, MS, 100 * MS))],
            wakes_ppm: between(prng, 100, 30_000),
            wakes_by: between(prng, 50 * US, 5 * MS),
            ..late
        },
    }
}

impl Trial {
    fn run(&self, late: &Late) -> Judgement {
        let plan = plan("duration = \"10s\"\nslice = \"10s\"", &self.stream, &self.criterion);
        let kind = match &self.kind {
            Kind::Merges { free, filling, most, .. } => {
                Kind::Merges { free: *free, filling: *filling, most: *most, carried: Rc::new(Cell::new(0)) }
            }
            kind => kind.clone(),
        };
        let device = Simulated::new(kind.clone(), self.draw, self.when_found);
        judged(&plan, &kind, device, self.bound, late, true)
    }
}

/// The measured share divided by the bound of the criterion.
fn share(judgement: &Judgement) -> Option<f64> {
    let outcome = judgement.part.criteria.iter().find(|it| it.asked.stream.is_some())?;
    let bound: f64 = outcome.asked.bound.trim_start_matches(['<', '=', ' ']).trim_end_matches('%').parse().ok()?;
    Some(outcome.worst.as_ref()?.value * 100.0 / bound)
}

/// The number of trials that docs/RELIABILITY.md describes.
const DOCUMENTED: u64 = 1000;

#[derive(Default, Debug)]
struct Tally {
    trials: u64,
    invalid: u64,
    pass: u64,
    fail: u64,
    twins_fail: u64,
    apart: u64,
}

#[test]
fn no_late_generator_accuses_or_excuses() {
    let trials = std::env::var("ASSAY_LATE_DEVICES").ok().and_then(|n| n.parse().ok()).unwrap_or(DOCUMENTED);
    let mut tallies: [Tally; 5] = Default::default();
    let mut wrong = Vec::new();
    for number in 0..trials {
        let trial = trial(number);
        let (twin, late) = (trial.run(&Late::default()), trial.run(&trial.late));
        let tally = &mut tallies[(number % 5) as usize];
        tally.trials += 1;
        tally.twins_fail += u64::from(twin.verdict == Verdict::Fail);
        assert!(matches!(twin.verdict, Verdict::Pass | Verdict::Fail), "{number}: {} {}", twin.verdict, twin.reason);
        match late.verdict {
            Verdict::Pass => tally.pass += 1,
            Verdict::Fail => tally.fail += 1,
            _ => tally.invalid += 1,
        }
        let false_pass = late.verdict == Verdict::Pass && twin.verdict == Verdict::Fail;
        let false_fail = late.verdict == Verdict::Fail && twin.verdict == Verdict::Pass;
        if false_pass || false_fail {
            let near = share(&twin).is_some_and(|share| (share - 1.0).abs() <= 0.05);
            if near && matches!(number % 5, 2 | 3) {
                tally.apart += 1;
                continue;
            }
            let (name, kind, draw, at, by) = (trial.name, &trial.kind, trial.draw, &trial.stream, &trial.late);
            wrong.push(format!(
                "{number} {name}: twin {} ({:?}), late {} ({:?})\n  {}\n  {}\n  {kind:?} {draw:?} found {} bound {} {at:?} {:?} {by:?}\n  {:?}",
                twin.verdict, share(&twin), late.verdict, share(&late), twin.reason, late.reason, trial.when_found, trial.bound, trial.criterion,
                late.part.targets.each[0].lateness,
            ));
        }
    }
    for (name, tally) in KINDS.iter().zip(&tallies) {
        println!("{name}: {tally:?}");
    }
    let invalid: u64 = tallies.iter().map(|tally| tally.invalid).sum();
    if trials == DOCUMENTED {
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/RELIABILITY.md")).unwrap();
        let told = format!("{:.1} % are INVALID", invalid as f64 * 100.0 / trials as f64);
        assert!(text.contains(&told), "docs/RELIABILITY.md does not say that {told}");
    }
    println!("INVALID: {invalid} of {trials}, {:.1} %", invalid as f64 * 100.0 / trials as f64);
    assert!(wrong.is_empty(), "{} wrong verdicts:\n{}", wrong.len(), wrong.join("\n"));
}
