//! The steps of a configuration: which loops run together, on which targets, one step after another.

use super::config::{Config, Settings, Worker};
use assay_base::text::one_line;
use std::collections::BTreeMap;

/// Upper bound on the operations in flight in all copies of a loop.
const MOST_IN_FLIGHT: u64 = 16_384;
/// How many characters of a name in the file are used.
const LONGEST_NAME: usize = 24;

/// The loops that run at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The words that distinguish it from the other steps.
    pub title: String,
    /// The names of all targets of the step, in the form that a workload may use.
    pub(super) targets: Vec<String>,
    /// Its loops.
    pub(super) loops: Vec<Loop>,
}

/// Workers that do the same on the same targets, as copies of one loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Loop {
    pub name: String,
    pub spec: usize,
    pub settings: Settings,
    pub copies: u32,
    /// One of [`Step::targets`]; `None` stands for all of them.
    pub target: Option<String>,
}

/// The mistake, and the remedy.
type Wrong = (String, String);

/// The steps of a configuration, in the order in which IOmeter goes through them: for each access specification every
/// number of outstanding I/Os. With `spec`, only the workers that have the specification with this name take part; if
/// no worker has it, one worker runs it with one outstanding I/O on the whole of each target. So it is with each
/// specification of a file without workers.
pub fn all_steps(config: &Config, spec: Option<&str>) -> Result<Vec<Step>, Wrong> {
    let chosen = spec.map(|name| find_spec(config, name)).transpose()?;
    if config.workers.is_empty() && chosen.is_none() {
        return (0..config.specs.len())
            .map(|spec| build_step(config, &running_workers(config, 0, Some(spec)), None))
            .collect();
    }
    let rounds = match chosen {
        Some(_) => 1,
        None => config.workers.iter().map(|worker| worker.specs.len()).max().unwrap_or(0),
    };
    let mut steps = Vec::new();
    for round in 0..rounds {
        let running = running_workers(config, round, chosen);
        if running.is_empty() {
            continue;
        }
        for depth in tried_depths(config) {
            steps.push(build_step(config, &running, depth)?);
        }
    }
    if steps.is_empty() {
        Err((
            "no worker of the configuration has an access specification to run".to_owned(),
            format!("name one with --spec: {}", spec_names(config)),
        ))
    } else {
        Ok(steps)
    }
}

/// The numbers of outstanding I/Os that are tried; `None` stands for the workers' own numbers.
fn tried_depths(config: &Config) -> Vec<Option<u32>> {
    if config.depths.is_empty() { vec![None] } else { config.depths.iter().copied().map(Some).collect() }
}

fn spec_names(config: &Config) -> String {
    let names: Vec<&str> = config.specs.iter().map(|spec| spec.name.as_str()).take(20).collect();
    one_line(names.join("; "))
}

fn find_spec(config: &Config, name: &str) -> Result<usize, Wrong> {
    let found = config.specs.iter().position(|spec| spec.name == name);
    found.ok_or_else(|| {
        let what = format!("the configuration has no access specification \"{}\"", one_line(name));
        (what, format!("name one of: {}", spec_names(config)))
    })
}

/// The workers that are not idle in a round, each with its specification.
fn running_workers(config: &Config, round: usize, chosen: Option<usize>) -> Vec<(Worker, usize)> {
    let workers = config.workers.iter();
    let Some(spec) = chosen else {
        return workers.filter_map(|worker| Some((worker.clone(), (*worker.specs.get(round)?)?))).collect();
    };
    let own: Vec<(Worker, usize)> =
        workers.filter(|worker| worker.specs.contains(&Some(spec))).map(|worker| (worker.clone(), spec)).collect();
    if own.is_empty() {
        let one = Worker {
            name: "worker".to_owned(),
            settings: Settings::default(),
            specs: vec![Some(spec)],
            targets: vec!["target".to_owned()],
        };
        return vec![(one, spec)];
    }
    own
}

fn build_step(config: &Config, running: &[(Worker, usize)], depth: Option<u32>) -> Result<Step, Wrong> {
    let mut names = Names::default();
    for (worker, _) in running {
        if worker.targets.is_empty() {
            let what = format!("the worker {} has no target, and IOmeter would do nothing", one_line(&worker.name));
            return Err((
                what,
                "assign a target to it and save the configuration again, or remove the worker".to_owned(),
            ));
        }
        worker.targets.iter().for_each(|target| names.add_name(target));
    }
    let targets = names.all_names();
    let mut loops: Vec<Loop> = Vec::new();
    let mut taken = Names::default();
    for (worker, spec) in running {
        let settings = Settings { in_flight: depth.unwrap_or(worker.settings.in_flight), ..worker.settings };
        let is_on_all = worker.targets.len() == targets.len();
        let on: Vec<Option<String>> =
            if is_on_all { vec![None] } else { worker.targets.iter().map(|target| names.own_name(target)).collect() };
        for target in on {
            let alike = loops
                .iter_mut()
                .find(|looped| (looped.spec, looped.settings, &looped.target) == (*spec, settings, &target));
            if let Some(alike) = alike {
                alike.copies += 1;
                continue;
            }
            let name = taken.fresh_name(&worker.name);
            loops.push(Loop { name, spec: *spec, settings, copies: 1, target });
        }
    }
    let too_many =
        loops.iter().find(|looped| u64::from(looped.settings.in_flight) * u64::from(looped.copies) > MOST_IN_FLIGHT);
    if let Some(looped) = too_many {
        let what = format!(
            "the workers that do the same as {} have more than {MOST_IN_FLIGHT} outstanding I/Os on a target",
            looped.name
        );
        return Err((what, "use fewer workers, or fewer outstanding I/Os".to_owned()));
    }
    Ok(Step { title: step_title(config, running, depth), targets, loops })
}

fn step_title(config: &Config, running: &[(Worker, usize)], depth: Option<u32>) -> String {
    let mut specs: Vec<&str> = running.iter().map(|(_, spec)| config.specs[*spec].name.as_str()).collect();
    specs.sort_unstable();
    specs.dedup();
    let depth = depth.map_or_else(String::new, |depth| format!(", {depth} outstanding"));
    one_line(specs.join(" + ")) + &depth
}

/// The names in the workload for names in the configuration of IOmeter, each of them different.
#[derive(Default)]
struct Names(BTreeMap<String, (usize, String)>, Vec<String>);

impl Names {
    fn add_name(&mut self, name: &str) {
        if !self.0.contains_key(name) {
            let own = self.fresh_name(name);
            self.0.insert(name.to_owned(), (self.1.len(), own));
        }
    }

    fn own_name(&self, name: &str) -> Option<String> {
        self.0.get(name).map(|(_, own)| own.clone())
    }

    /// All names, in the order in which they were added.
    fn all_names(&self) -> Vec<String> {
        self.1.clone()
    }

    /// A new name, different from all others.
    fn fresh_name(&mut self, name: &str) -> String {
        let usable = plain_name(name);
        let mut names = (1usize..).map(|n| if n == 1 { usable.clone() } else { format!("{usable}-{n}") });
        let own = names.find(|name| !self.1.contains(name)).unwrap_or_default();
        self.1.push(own.clone());
        own
    }
}

/// A name in lower case, with letters, digits, `-`, `_` and `.` only; any sequence of other characters becomes one `-`.
fn plain_name(name: &str) -> String {
    let mut plain = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || c == '_' || c == '.' {
            plain.push(c.to_ascii_lowercase());
        } else if !plain.ends_with('-') && !plain.is_empty() {
            plain.push('-');
        }
    }
    plain.truncate(LONGEST_NAME);
    let plain = plain.trim_end_matches('-');
    if plain.is_empty() { "worker".to_owned() } else { plain.to_owned() }
}
