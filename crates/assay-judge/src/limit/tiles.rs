//! How a search for a number of tiles ended: which tile broke, and how much more the tiles that hold do than one alone.

use super::Outcome;
use super::tile_figures::WorkloadRate;
use super::trail::{Run, Trail};
use crate::verdict::Verdict;
use assay_base::Multiple;
use std::collections::BTreeMap;

/// What the gain in throughput is, in words.
pub const GAIN_IN_WORDS: &str = "geometric mean, over the workloads of a tile, of what each does in all tiles together, divided by \
                                 what it does in one tile alone; no score, and not comparable with VMmark results";

/// A number of tiles as text: `1 tile`, `7 tiles`.
fn tiles_text(load: Multiple) -> String {
    let number = number_text(load);
    if number == "1" { "1 tile".to_owned() } else { format!("{number} tiles") }
}

/// A load of tiles is their number.
fn number_text(load: Multiple) -> String {
    load.to_string().trim_end_matches('x').to_owned()
}

impl Trail {
    /// How a search for a number of tiles ended, in words.
    pub(super) fn tiles_in_words(&self, outcome: Outcome) -> String {
        let holds = |passes: Option<Multiple>| match passes {
            Some(passes) => format!("holds {}; ", tiles_text(passes)),
            None => "nothing is known: ".to_owned(),
        };
        match outcome {
            Outcome::Between { passes, fails } => {
                format!("holds {}; at {} {}", tiles_text(passes), number_text(fails), self.why_tiles_fail(fails))
            }
            Outcome::NeverFailed { passes } => format!("holds {}, the most that were to be tried", tiles_text(passes)),
            Outcome::NeverPassed { fails } => {
                format!("does not hold even {}: {}", tiles_text(fails), self.why_tiles_fail(fails))
            }
            Outcome::Stopped { at, verdict: Verdict::Incomplete, passes } => {
                format!("{}the search was cut short at {}", holds(passes), tiles_text(at))
            }
            Outcome::Stopped { at, verdict, passes } => {
                format!("{}the run with {} was {verdict}, so nothing above is known", holds(passes), tiles_text(at))
            }
            Outcome::TargetFailed { at, passes } => {
                let at = at.map_or_else(String::new, |at| format!(" with {}", tiles_text(at)));
                let what = self.aside.failures.first().and_then(|run| run.failure.as_ref());
                let what = what.map_or_else(String::new, |what| format!("; {what}"));
                format!("{}the target failed{at}, which no load excuses, so no limit is known{what}", holds(passes))
            }
        }
    }

    /// What broke with this number of tiles.
    fn why_tiles_fail(&self, fails: Multiple) -> String {
        let run = self.runs.iter().find(|run| run.load == fails && run.verdict == Verdict::Fail);
        let said = run.map(|run| run.broken_tile.as_ref().unwrap_or(&run.reason).clone());
        said.unwrap_or_else(|| "it fails".to_owned())
    }

    /// How much more a run does than one tile alone: see [`GAIN_IN_WORDS`]. The run of one tile and this one are of the same
    /// search, so that workloads, rates and targets are the same.
    pub fn throughput_gain(&self, run: &Run) -> Option<f64> {
        let alone = self.runs.iter().find(|other| other.load == Multiple::ONE && other.is_proof())?;
        geometric_gain(&run.workloads, &alone.workloads)
    }

    /// Notes what is known when the search has ended.
    pub fn note_tiles_found(&mut self) {
        let holds = self.outcome.and_then(|outcome| outcome.highest_passing());
        let run = self.runs.iter().rev().find(|run| Some(run.load) == holds && run.verdict == Verdict::Pass);
        let throughput_gain = run.and_then(|run| self.throughput_gain(run));
        if let Some(tiles) = &mut self.tiles {
            tiles.throughput_gain = throughput_gain;
        }
    }

    /// The gain in throughput as a sentence, where it is known.
    pub fn gain_sentence(&self) -> Option<String> {
        let gain = self.tiles.as_ref()?.throughput_gain?;
        let holds = self.outcome?.highest_passing()?;
        Some(format!("throughput of {}: {gain:.2} times that of 1 ({GAIN_IN_WORDS})", tiles_text(holds)))
    }
}

/// The geometric mean of the ratios of rates of the same workloads; `None` where one of them did nothing alone.
fn geometric_gain(together: &[WorkloadRate], alone: &[WorkloadRate]) -> Option<f64> {
    let alone: BTreeMap<&str, f64> = alone.iter().map(|own| (own.workload.as_str(), own.rate)).collect();
    let mut ratios = Vec::new();
    for own in together {
        let before = alone.get(own.workload.as_str()).copied().filter(|rate| *rate > 0.0)?;
        ratios.push(own.rate / before);
    }
    if ratios.is_empty() {
        return None;
    }
    let mean = ratios.iter().map(|ratio| ratio.powf(1.0 / ratios.len() as f64)).product::<f64>();
    // Such a mean lies between the smallest and the largest.
    let (least, most) = ratios.iter().fold((f64::INFINITY, 0f64), |(low, high), it| (low.min(*it), high.max(*it)));
    assert!(mean >= least * 0.999_999 && mean <= most * 1.000_001, "a mean of {ratios:?} that is {mean}");
    Some(mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rates(all: &[(&str, f64)]) -> Vec<WorkloadRate> {
        all.iter().map(|(workload, rate)| WorkloadRate { workload: (*workload).to_owned(), rate: *rate }).collect()
    }

    #[test]
    fn the_gain_is_the_geometric_mean_of_what_each_workload_does_more() {
        let alone = rates(&[("orders", 100.0), ("mail", 10.0)]);
        for (together, gain) in [
            (&[("orders", 400.0), ("mail", 40.0)][..], Some(4.0)),
            (&[("orders", 200.0), ("mail", 80.0)], Some(4.0)),
            (&[("orders", 100.0), ("mail", 10.0)], Some(1.0)),
            (&[("orders", 0.0), ("mail", 10.0)], Some(0.0)),
            (&[("other", 1.0)], None),
            (&[], None),
        ] {
            let found = geometric_gain(&rates(together), &alone);
            let is_equal = found.zip(gain).is_some_and(|(found, gain)| (found - gain).abs() < 1e-9);
            assert!(is_equal || found == gain, "{together:?}: {found:?}");
            // By logarithms it is the same.
            let logarithms = together
                .iter()
                .filter_map(|(name, rate)| Some((rate / alone.iter().find(|own| own.workload == **name)?.rate).ln()));
            let mean = (logarithms.sum::<f64>() / together.len().max(1) as f64).exp();
            assert!(found.is_none_or(|found| (found - mean).abs() < 1e-9), "{together:?}");
        }
        assert_eq!(geometric_gain(&rates(&[("orders", 1.0)]), &rates(&[("orders", 0.0)])), None);
    }

    /// A trail of runs with these numbers of tiles and verdicts.
    fn trail(runs: &[(u64, &str, Option<&str>)], outcome: serde_json::Value) -> Trail {
        let runs: Vec<serde_json::Value> = runs
            .iter()
            .map(|(tiles, verdict, broken)| {
                json!({
                    "load": format!("{tiles}x"), "verdict": verdict, "reason": "why", "measured": null, "response_p99_ns": null,
                    "broken_tile": broken, "directory": format!("{tiles}"),
                    "workloads": [{"workload": "orders", "rate": *tiles as f64 * 10.0}],
                })
            })
            .collect();
        serde_json::from_value(json!({
            "schema": 1, "workload": "w", "targets": ["sim:flash"], "run_ns": 1, "seed": 1, "tiles": {}, "outcome": outcome, "runs": runs,
        }))
        .unwrap()
    }

    #[test]
    fn the_end_of_a_search_names_the_tile_that_broke() {
        let broken = Some("tile 3, mail, slice 2: log-writes response mean 12 ms (bound ≤ 10 ms)");
        let runs = [(1, "PASS", None), (7, "PASS", None), (8, "FAIL", broken)];
        for (outcome, said) in [
            (
                json!({"between": {"passes": "7x", "fails": "8x"}}),
                "holds 7 tiles; at 8 tile 3, mail, slice 2: log-writes response mean 12 ms (bound ≤ 10 ms)",
            ),
            (json!({"never-failed": {"passes": "1x"}}), "holds 1 tile, the most that were to be tried"),
            (json!({"never-passed": {"fails": "8x"}}), "does not hold even 8 tiles: tile 3, mail, slice 2: log-writes"),
            (
                json!({"stopped": {"at": "8x", "verdict": "INVALID", "passes": "7x"}}),
                "holds 7 tiles; the run with 8 tiles was INVALID, so nothing above is known",
            ),
            (
                json!({"stopped": {"at": "1x", "verdict": "INCOMPLETE", "passes": null}}),
                "nothing is known: the search was cut short at 1 tile",
            ),
            (
                json!({"target-failed": {"at": "8x", "passes": "7x"}}),
                "holds 7 tiles; the target failed with 8 tiles, which no load excuses, so no limit is known",
            ),
        ] {
            let mut trail = trail(&runs, outcome);
            let words = trail.outcome_in_words(trail.outcome.unwrap());
            assert!(words.starts_with(said), "{words}");
            trail.note_tiles_found();
            let highest = trail.outcome.unwrap().highest_passing();
            let gain = highest.map(|load| load.as_f64());
            assert_eq!(trail.tiles.as_ref().unwrap().throughput_gain.map(f64::round), gain, "{words}");
        }
    }

    #[test]
    fn without_a_run_of_one_tile_there_is_no_gain() {
        let mut trail = trail(&[(2, "PASS", None)], json!({"never-failed": {"passes": "2x"}}));
        trail.note_tiles_found();
        assert_eq!((trail.tiles.as_ref().unwrap().throughput_gain, trail.gain_sentence()), (None, None));
    }
}
