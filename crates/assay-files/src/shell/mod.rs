//! The half that makes calls: clients as threads, and what records and watches them.
//!
//! ```no_run
//! # use assay_base::{Instant, Span};
//! # use assay_files::own_dir::OwnDir;
//! # use assay_files::script::Script;
//! # use assay_files::shell::{Clients, OpenTree, Patience, PhaseReport, Settings, Sink, StillTime, make_tree};
//! # use assay_files::Trouble;
//! # use assay_model::files::{FilesWorkload, TreeShape};
//! # use assay_record::Thresholds;
//! # fn example(
//! #     own: OwnDir,
//! #     workload: &FilesWorkload,
//! #     shape: TreeShape,
//! #     clock: impl Fn() -> Instant + Clone + Send + 'static,
//! #     sink: &mut dyn Sink,
//! # ) -> Result<(), Trouble> {
//! let (seed, run) = (1, 4711);
//! let tree = OpenTree::new(own, shape.clone(), run, 1000);
//! let script = Script::new(workload, shape, seed);
//! make_tree(&tree, &script, workload.clients)?;
//! let settings = Settings {
//!     clock,
//!     interval: Span::from_secs(1),
//!     group: 10,
//!     thresholds: Thresholds::new([]),
//!     patience: Patience::default(),
//!     usual: Span::from_secs(60),
//!     still: StillTime::default(),
//! };
//! let mut clients = Clients::new(tree.clone(), script, workload, settings);
//! // Intervals and events go to the sink: the flow of an interval is `clients.flows().names()[flow]`.
//! for phase in 0..workload.all_phases().len() {
//!     let report: PhaseReport = clients.run_phase(phase, 0, sink)?;
//!     assert!(report.ended >= report.begun);
//! }
//! // What exists now is what `left.script.ledger()` says, but for `left.doubtful`.
//! let left = clients.finish();
//! # Ok(()) }
//! ```

mod accounts;
mod book;
mod buffer;
mod cached;
mod calls;
mod client;
mod client_loops;
mod clients;
mod coordinator;
mod desk;
mod faults;
mod finished;
mod flows;
mod incidents;
mod kernel;
mod listing;
mod make;
mod open_files;
mod overdue;
mod phase;
mod service;
mod signals;
mod sink;
mod still_time;
mod totals;
mod transfer;
mod tree;
mod verify;
mod watch;
mod workers;

pub use cached::{
    CacheWitness, CachedPages, drop_cached_pages, drop_caches_of_host, look_at_cache, refuse_missing_way,
};
pub use calls::{Calls, Outcome};
pub use clients::{Clients, Finished};
pub use desk::OpenCall;
pub use faults::{TreeFault, Verification};
pub use flows::FlowMap;
pub use kernel::file_system_uuid;
pub use make::{Made, make_tree};
pub use overdue::{Lateness, Patience};
pub use phase::{PhaseEnd, PhaseReport, Settings};
pub use service::{LeftOfService, ServiceThreads, make_service_files, verify_service};
pub use signals::StopHandle;
pub use sink::{ClientInterval, Sink};
pub use still_time::StillTime;
pub use totals::OperationTotals;
pub use tree::OpenTree;
pub use verify::verify_tree;
pub use watch::{Disturbance, Watched};
