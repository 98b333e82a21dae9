//! A database as the target of a run, before it is opened ([`NamedDatabase`]) and afterwards ([`Database`]).

use super::kinds::{OpenPurpose, open_through_gate, read_marker, usual_sessions};
use super::ledger::LedgerFile;
use super::name_of_a_load;
use super::opened::Opened;
use crate::failure::{Failure, one_line};
use crate::host::meter::Reading;
use assay_base::{Bound, Bytes, Criterion, Instant, Measure, Prng, Share};
use assay_device::probe;
use assay_device::safety::Roots;
use assay_model::tpcc::load::Verify;
use assay_model::tpcc::{Constants, DEVIATIONS, Parameters, TransactionKind};
use assay_model::workload::Workload;
use assay_model::{Plan, tpcc};
use assay_record::{CommitsHead, DatabaseHead, PerMinute, TargetHead};
use assay_sql::{Acknowledge, Marker, ROLLED_BACK, Sessions, TransactionSource, Trouble, Url};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The purpose for which the seeds of further targets are drawn: the bytes of "target".
const OF_TARGET: u64 = 0x7461_7267_6574;

/// A database that a command line names. Its marker is read once.
#[derive(Clone, Debug)]
pub struct NamedDatabase {
    url: Url,
    looked: Arc<OnceLock<Option<Marker>>>,
}

impl NamedDatabase {
    /// Reads a URL.
    pub fn from_url(name: &str) -> Result<NamedDatabase, Failure> {
        Ok(NamedDatabase { url: super::parse_url(name)?, looked: Arc::default() })
    }

    /// Reads the marker, unless it was read before. The error says why the database cannot be used.
    fn read_marker_once(&self) -> Result<Option<&Marker>, Failure> {
        if self.looked.get().is_none() {
            let marker = read_marker(&self.url).map_err(|trouble| Failure::from_database_trouble(&trouble))?;
            // No other thread has set it meanwhile: a command has one thread until its run begins.
            let _ = self.looked.set(Some(marker));
        }
        Ok(self.looked.get().and_then(Option::as_ref))
    }

    /// Makes a run of `plan` a crash test: transactions may fail, and no acknowledged commit may be missing afterwards.
    pub fn expects_a_crash(&self, plan: &mut Plan) -> Result<(), Failure> {
        if let Url::Sqlite(_) = self.url {
            return Err(Failure::bad_usage(
                "--crash-test is for a server that somebody lets crash, and SQLite is a part of this program: write --verify, kill the run or cut the power, and then assay check URL --after DIR",
            ));
        }
        let Some(load) = plan.load.tpcc_mut() else { return Err(Failure::internal_bug("a plan without transactions")) };
        load.verify = Verify::Crash;
        let (window, bound) = (Some(plan.timing.slice), Bound::ErrorsAtMost(Share::from_percent(100)));
        plan.criteria = TransactionKind::ALL
            .map(|kind| Criterion {
                stream: kind.stream_name().to_owned(),
                measure: Measure::Response,
                bound,
                window,
                least_operations: 0,
                parts: assay_base::MarkedParts::EVERY,
            })
            .into();
        Ok(())
    }

    /// Reads the marker. If the database cannot be used, the error says why, and later calls treat its marker as
    /// unknown.
    pub fn try_read_marker(&self) -> Result<(), Failure> {
        let looked = self.read_marker_once().map(|_| ());
        if looked.is_err() {
            let _ = self.looked.set(None);
        }
        looked
    }

    /// The workload with the rates and sessions that it has on these databases. All of them must have the same number
    /// of warehouses, because every target gets the same load.
    pub(crate) fn fit_workload(all: &[&NamedDatabase], workload: &Workload) -> Result<Workload, Failure> {
        let name = one_line(&workload.name);
        let Some((first, others)) = all.split_first() else { return Err(Failure::internal_bug("no database to fit")) };
        if workload.load.as_tpcc().is_none() {
            return Err(Failure::bad_usage(format!(
                "{name} reads and writes blocks, and {first} is a database: use the workload tpcc, or a workload file with model = \"tpcc\""
            )));
        }
        let warehouses = first.warehouse_count()?;
        for other in others {
            let (own, its) = (warehouses, other.warehouse_count()?);
            if let (Some(own), Some(its)) = (own, its)
                && own != its
            {
                return Err(Failure::bad_usage(format!(
                    "{first} was loaded with {own} and {other} with {its} warehouses: databases of one run get the same load each, and need as many warehouses as each other"
                )));
            }
        }
        let usual = all.iter().map(|database| usual_sessions(&database.url)).min().unwrap_or(1);
        let fitted = workload.on_database(warehouses, usual);
        fitted.ok_or_else(|| Failure::bad_workload(format!("the rate of {name} is too large for so many warehouses")))
    }

    fn warehouse_count(&self) -> Result<Option<u32>, Failure> {
        Ok(self.read_marker_once()?.map(|marker| marker.population.warehouse_count() as u32))
    }
}

impl std::fmt::Display for NamedDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&one_line(&self.url))
    }
}

/// The database that a run drives.
#[derive(Debug)]
pub struct Database {
    name: String,
    marker: Marker,
    opened: Mutex<Box<dyn Opened>>,
}

impl Database {
    /// Opens a database through its gate.
    pub fn open_named(named: &NamedDatabase) -> Result<Database, Failure> {
        let (opened, marker) = open_through_gate(&named.url, OpenPurpose::Run)
            .map_err(|trouble| Failure::from_database_trouble(&trouble))?;
        Ok(Database { name: one_line(&named.url), marker, opened: Mutex::new(opened) })
    }

    /// Its URL, without anything that must stay secret.
    pub fn url_name(&self) -> &str {
        &self.name
    }

    /// The load that it holds.
    pub(super) fn load_marker(&self) -> &Marker {
        &self.marker
    }

    pub(super) fn lock_opened(&self) -> MutexGuard<'_, Box<dyn Opened>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The entry of the database among the targets in the log. Its size is left out, because it changes during a run
    /// and cannot identify the database.
    pub fn target_head(&self) -> TargetHead {
        let load = one_line(&self.marker.run);
        let mut facts =
            BTreeMap::from([("path".to_owned(), self.name.clone()), ("file".to_owned(), format!("load {load}"))]);
        facts.extend(self.lock_opened().file_identity().map(|identity| ("inode".to_owned(), identity)));
        TargetHead { name: self.name.clone(), kind: "database".into(), facts, ..TargetHead::default() }
    }

    /// The parameters of transactions on this database, with the seed of its target.
    fn transaction_parameters(&self, seed: u64) -> Parameters {
        let population = self.marker.population;
        Parameters::new(seed, population.c_load(), population.warehouse_count(), population.row_scale())
    }

    /// The description of the database in the header of the log. `unchecked`: it is not checked after the run.
    pub fn database_head(&self, plan: &Plan, target: u16, unchecked: bool) -> Result<DatabaseHead, Failure> {
        let mut opened = self.lock_opened();
        let settings = opened.read_settings().map_err(|trouble| Failure::from_database_trouble(&trouble))?;
        let mode = plan.load.tpcc().map(|load| load.mode).unwrap_or_default();
        let (facts, population) = (opened.database_facts(mode), self.marker.population);
        let Constants { c_load, c_last, c_customer, c_item } =
            self.transaction_parameters(target_seed(plan, target)).run_constants();
        let constants = [
            ("C-Load of names", c_load),
            ("C-Run of names", c_last),
            ("C of customers", c_customer),
            ("C of items", c_item),
        ];
        Ok(DatabaseHead {
            dialect: facts.dialect.to_owned(),
            version: facts.version,
            url: self.name.clone(),
            warehouses: population.warehouse_count() as u64,
            seed: population.run_seed(),
            load: one_line(&self.marker.run),
            bytes: opened.size_bytes(),
            sums: None,
            constants: constants.into_iter().map(|(name, c)| (name.to_owned(), c.into())).collect(),
            mode: facts.mode.to_owned(),
            isolation: facts.isolation.to_owned(),
            settings: settings.named,
            not_durable: settings.not_durable,
            deviations: DEVIATIONS.map(str::to_owned).to_vec(),
            ledger: None,
            unchecked,
        })
    }

    /// The reasons why acknowledged commits may be lost.
    fn not_durable(&self) -> Vec<String> {
        self.lock_opened()
            .read_settings()
            .map_or_else(|trouble| vec![trouble.to_string()], |settings| settings.not_durable)
    }

    /// The counters of its server, if there is a server and it can be asked.
    pub fn server_meter(&self) -> Option<Box<dyn Reading>> {
        self.lock_opened().server_meter().ok().flatten()
    }

    /// Its files or directories on this machine, each with its content.
    pub fn storage_places(&self) -> Vec<(PathBuf, &'static str)> {
        self.lock_opened().storage_places()
    }

    /// Begins the ledger of a run beside its log, and creates the rows of its sessions, if the load asks for
    /// verification.
    pub(crate) fn begin_ledger(&self, load: &tpcc::Load, log: &Path) -> Result<Option<Arc<LedgerFile>>, Failure> {
        if load.verify == Verify::No {
            return Ok(None);
        }
        let Some(dir) = log.parent() else { return Err(Failure::bad_usage("a run that is not kept has no ledger")) };
        let (mut opened, run) = (self.lock_opened(), name_of_a_load());
        let before = opened.read_totals().map_err(Failure::from_trouble)?;
        opened.create_session_rows(&run, load.session_count()).map_err(Failure::from_trouble)?;
        let head = CommitsHead {
            run,
            load: self.marker.run.clone(),
            database: self.name.clone(),
            sessions: load.session_count(),
            before: [before.next_orders, before.payments, before.ytd],
        };
        LedgerFile::create_in(dir, &head).map(Some)
    }

    /// Opens the sessions of a load. Their commits are entered in the ledger, if there is one.
    pub(crate) fn start_sessions<C>(
        &self,
        plan: &Plan,
        target: u16,
        load: &tpcc::Load,
        clock: C,
        ledger: Option<&Arc<LedgerFile>>,
    ) -> Result<Sessions<C>, Trouble>
    where
        C: Fn() -> Instant + Clone + Send + 'static,
    {
        let homes = matches!(load.home, tpcc::load::Homes::Session).then(|| self.marker.population.warehouse_count());
        let seed = target_seed(plan, target);
        let asking = TransactionSource { parameters: self.transaction_parameters(seed), seed, homes };
        let count = load.session_count();
        let sessions = match ledger {
            Some(ledger) => self.lock_opened().marked_sessions(count, load.mode, &ledger.run)?,
            None => self.lock_opened().start_sessions(count, load.mode)?,
        };
        let ledger = ledger.map(|ledger| Arc::clone(ledger) as Arc<dyn Acknowledge>);
        Sessions::start_acknowledging(sessions, asking, clock, ledger)
    }
}

/// The seed of a target's random numbers: the plan's own seed for the first target, a derived one for each other.
pub(crate) fn target_seed(plan: &Plan, target: u16) -> u64 {
    if target == 0 {
        plan.load.seed
    } else {
        Prng::for_path(plan.load.seed, &[OF_TARGET, u64::from(target)]).next_u64()
    }
}

/// The watermarks of a result on databases: commits may be lost.
pub(crate) fn durability_watermarks<'a>(databases: impl Iterator<Item = &'a Database>) -> Vec<String> {
    let reasons = databases.map(Database::not_durable).filter(|reasons| !reasons.is_empty());
    reasons.map(|reasons| format!("NOT DURABLE: {}", one_line(reasons.join(", ")))).collect()
}

/// The warning that all data of the databases fits into memory: that of this machine for databases on it, and that of
/// the server for each other one.
pub(crate) fn fit_in_memory(databases: &[Database], heads: &[DatabaseHead]) -> Option<String> {
    let sized = databases.iter().zip(heads).filter_map(|(database, head)| Some((database, head.bytes?)));
    let (local, elsewhere): (Vec<_>, Vec<_>) = sized.partition(|(database, _)| !database.storage_places().is_empty());
    let here: Vec<u64> = local.into_iter().map(|(_, bytes)| bytes).collect();
    let memory = probe::read_host(&Roots::of_machine()).memory;
    let (whole, here) = (here.iter().sum::<u64>(), memory.filter(|_| !here.is_empty()));
    let here = here.filter(|memory| whole < *memory).map(|memory| (whole, "this machine", memory));
    let (bytes, whose, memory) = here.or_else(|| fits_on_its_server(&elsewhere))?;
    Some(format!(
        "the data has {} and {whose} {} of memory: what is read stays there, and only the log and what is written back reach the disk; load more warehouses to test reads",
        Bytes::new(bytes).human_text(),
        Bytes::new(memory).human_text()
    ))
}

/// The figures per minute of a plan that drives a database: new orders, and all transactions.
pub fn per_minute(plan: &Plan) -> Vec<PerMinute> {
    if plan.load.tpcc().is_none() {
        return Vec::new();
    }
    vec![
        PerMinute {
            name: "NOPM".into(),
            streams: names_of(&[TransactionKind::NewOrder]),
            without: vec![ROLLED_BACK.to_owned()],
        },
        PerMinute { name: "TPM".into(), streams: names_of(&TransactionKind::ALL), without: Vec::new() },
    ]
}

fn names_of(kinds: &[TransactionKind]) -> Vec<String> {
    kinds.iter().map(|kind| kind.stream_name().to_owned()).collect()
}

/// The first of these databases with their sizes that its server has memory for: the size, and the memory.
fn fits_on_its_server(databases: &[(&Database, u64)]) -> Option<(u64, &'static str, u64)> {
    for (database, bytes) in databases {
        let Some(memory) = database.lock_opened().server_memory() else { continue };
        if *bytes < memory {
            return Some((*bytes, "its server", memory));
        }
    }
    None
}
