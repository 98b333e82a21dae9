//! What a caller changes about the pace of a workload: lengths, seed, whether data are verified.

use crate::databases::NamedDatabase;
use crate::failure::{Failure, one_line};
use crate::open::seed::choose_seed;
use crate::open::targets::{Named, named_databases};
use assay_base::{Multiple, Span};
use assay_model::Plan;
use assay_model::plan::WarmUp;
use assay_model::tpcc::load::Verify;
use assay_model::workload::{Adjust, Workload};

/// Changes to the pace of a workload. Each field that is `None` leaves what the workload says.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    /// Length of the measurement.
    pub measure: Option<Span>,
    /// Length of the warm-up.
    pub warm_up: Option<Span>,
    /// Upper bound on a warm-up that ends when the run is steady; it comes before `warm_up`.
    pub until_steady: Option<Span>,
    /// Length of the windows that are judged one by one.
    pub slice: Option<Span>,
    /// Seed of every random choice.
    pub seed: Option<u64>,
    /// Whether the data of every read are checked; on a database, whether its commits are kept in a ledger.
    pub verify: bool,
}

impl Pace {
    /// The warm-up that is asked for, if any; the length of a round is the workload's where it has one.
    fn warm_up(&self, workload: &Workload) -> Option<WarmUp> {
        let round = match workload.timing.warm_up {
            WarmUp::UntilSteady { round, .. } => round,
            WarmUp::For(_) => WarmUp::ROUND,
        };
        let until = self.until_steady.map(|limit| WarmUp::UntilSteady { limit, round });
        until.or(self.warm_up.map(WarmUp::For))
    }

    /// The changes to a workload for this many targets.
    pub fn workload_adjustments(&self, workload: &Workload, seed: u64, targets: u16) -> Adjust {
        Adjust {
            load: None,
            measure: self.measure,
            warm_up: self.warm_up(workload),
            slice: self.slice,
            seed,
            targets,
            verify: self.verify,
        }
    }

    /// The workload on the databases that are named, where they are.
    fn fit_to_databases(&self, workload: &Workload, named: &[(String, Named)]) -> Result<Option<Workload>, Failure> {
        let databases = named_databases(named);
        if databases.is_empty() {
            return match (&workload.load.as_tpcc(), named.first()) {
                (Some(_), Some((name, _))) => Err(Failure::bad_usage(format!(
                    "{} drives a database, and {} is none: name one that assay prep has loaded, such as sqlite:shop.db",
                    one_line(&workload.name),
                    one_line(name)
                ))),
                _ => Ok(None),
            };
        };
        let meaningless = [
            (workload.caches.simulated.is_some(), "--behind", "a database has a cache of its own"),
            (workload.caches.device.is_some(), "--cache", "a cache device lies before block devices"),
        ];
        match meaningless.into_iter().find(|(there, ..)| *there) {
            Some((_, option, why)) => Err(Failure::bad_usage(format!("{option} makes no sense on a database: {why}"))),
            None => NamedDatabase::fit_workload(&databases, workload).map(Some),
        }
    }

    /// The plan of a workload on these targets, at `load` or else at the workload's own.
    pub fn plan_workload(
        &self,
        workload: &Workload,
        named: &[(String, Named)],
        load: Option<Multiple>,
    ) -> Result<Plan, Failure> {
        let as_streams = fit_to_blocks(workload, named)?.or(fit_tiles(workload, named)?);
        let workload = as_streams.as_ref().unwrap_or(workload);
        fits_directories(workload, named)?;
        let fitted = self.fit_to_databases(workload, named)?;
        let workload = fitted.as_ref().unwrap_or(workload);
        let seed = choose_seed(self.seed.or(workload.seed), named);
        let targets = if named.is_empty() { workload.targets.names.len() } else { named.len() }.max(1) as u16;
        let keep_data = targets_keep_data(named);
        // Of transactions the commits are verified, not the data of blocks.
        let verify =
            workload.load.as_tpcc().is_none() && (self.verify || workload.verification.if_possible && keep_data);
        let adjust = Adjust { load, verify, ..self.workload_adjustments(workload, seed, targets) };
        let mut plan = workload.make_plan(&adjust).map_err(Failure::bad_workload)?;
        if let Some(load) = plan.load.tpcc_mut().filter(|_| self.verify) {
            only_one(named, "--verify")?;
            load.verify = Verify::Ledger;
        }
        Ok(plan)
    }
}

/// The workload of a server as streams, where its targets have blocks and no file system; `None` for any other workload.
pub(crate) fn fit_to_blocks(workload: &Workload, named: &[(String, Named)]) -> Result<Option<Workload>, Failure> {
    let is_server = workload.load.as_files().is_some_and(|files| files.workload.service.is_some());
    let Some((name, Named::Path(_) | Named::Simulated(_) | Named::Null(_))) = named.first().filter(|_| is_server)
    else {
        return Ok(None);
    };
    workload.on_device().map(Some).map_err(|why| {
        Failure::bad_usage(format!(
            "{} is a model that a block device cannot hold, and {} has no file system: {why}; name a directory on the file system that you ask about",
            one_line(&workload.name),
            one_line(name)
        ))
    })
}

/// The same of the workloads of tiles, each of which verifies where it does if its targets keep data; `None` where there are no tiles.
fn fit_tiles(workload: &Workload, named: &[(String, Named)]) -> Result<Option<Workload>, Failure> {
    if workload.tiles().is_none() {
        return Ok(None);
    }
    let mut fitted = workload.clone();
    fitted.change_tile_workloads(|member| {
        let Some(own) = &mut member.workload else { return Ok(()) };
        if let Some(as_streams) = fit_to_blocks(own, named)? {
            **own = as_streams;
        }
        own.verification.verify |= own.verification.if_possible && targets_keep_data(named);
        Ok(())
    })?;
    Ok(Some(fitted))
}

/// Whether what is written to the targets can be read back.
fn targets_keep_data(named: &[(String, Named)]) -> bool {
    named.iter().all(|(_, named)| matches!(named, Named::Path(_)))
}

/// Clients on files work on a directory, and nothing else does.
pub(crate) fn fits_directories(workload: &Workload, named: &[(String, Named)]) -> Result<(), Failure> {
    let Some((name, target)) = named.first() else { return Ok(()) };
    let (workload_name, name) = (one_line(&workload.name), one_line(name));
    match (workload.load.as_files(), target) {
        (Some(_), Named::Directory(_))
        | (None, Named::Simulated(_) | Named::Null(_) | Named::Database(_) | Named::Path(_)) => Ok(()),
        (Some(_), _) => Err(Failure::bad_usage(format!(
            "{workload_name} works on files in a directory, and {name} is none: name a directory on the file system that you ask about"
        ))),
        (None, Named::Directory(_)) => Err(Failure::refused_for_safety(format!(
            "{workload_name} reads and writes blocks, and {name} is a directory: give a block device or a file, such as {name}/scratch with --create 1GiB, or use a workload with model = \"files\"; nothing was written"
        ))),
    }
}

/// The ledger of commits belongs to one database.
pub(crate) fn only_one(named: &[(String, Named)], option: &str) -> Result<(), Failure> {
    if named.len() > 1 {
        return Err(Failure::bad_usage(format!("{option} is for a run on one database")));
    }
    Ok(())
}
