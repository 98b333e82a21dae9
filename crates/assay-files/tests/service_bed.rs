//! What the tests of services stand on: the threads of a server in virtual time, where a call takes as long as a test
//! says, and its files on a real directory.

use crate::client_bed::{RUN, Told, clock, own_dir, settings};
use assay_base::{Bytes, Rate};
use assay_base::{Instant, Span};
use assay_files::own_dir::State;
use assay_files::script::Script;
use assay_files::service::{CallTimes, CommitGroup, FileCall, ServiceNext, ServiceScript};
use assay_files::shell::{OpenTree, PhaseReport, ServiceThreads, Verification, make_service_files, verify_service};
use assay_model::files::service::{MadeBy, ServiceCall};
use assay_model::files::{FilesPace, FilesWorkload, Spacing, TreeShape};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SEED: u64 = 7;

/// A workload file that is shipped.
pub(crate) fn shipped(name: &str) -> FilesWorkload {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/services").join(format!("{name}.toml"));
    read(&std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display())))
}

/// A workload file.
pub(crate) fn read(text: &str) -> FilesWorkload {
    let workload = assay_model::workload::read_workload("test", text).unwrap_or_else(|faults| panic!("{faults}"));
    workload.load.as_files().unwrap().workload.clone()
}

/// The same with another rate.
pub(crate) fn at_rate(workload: FilesWorkload, per_second: u64, arrival: Spacing) -> FilesWorkload {
    FilesWorkload { pace: FilesPace::Open { rate: Rate::per_second(per_second), arrival }, ..workload }
}

/// The same with databases of at most so many bytes, which need not be written for a test.
pub(crate) fn with_small_databases(mut workload: FilesWorkload, most: Bytes) -> FilesWorkload {
    let service = workload.service.as_mut().unwrap();
    for file in &mut service.files {
        file.begins_with = file.begins_with.min(most);
        if file.made_by == MadeBy::Written {
            file.size = file.size.min(most);
        }
    }
    workload
}

/// Every workload file of a service that is shipped, by its name.
pub(crate) fn all_shipped() -> Vec<(String, FilesWorkload)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/services");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned();
        let workload = shipped(&name);
        all.push((name, workload));
    }
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

/// A call that a thread made in virtual time.
pub(crate) struct MadeCall {
    pub(crate) thread: usize,
    pub(crate) call: FileCall,
    pub(crate) issued: Instant,
}

/// A thread in virtual time.
struct VirtualThread {
    next: Instant,
    open: Option<(FileCall, Instant)>,
    free: Instant,
    begun: bool,
    over: bool,
}

/// A server in virtual time.
pub(crate) struct VirtualService {
    pub(crate) script: ServiceScript,
    pub(crate) calls: Vec<MadeCall>,
    pub(crate) groups: Vec<CommitGroup>,
}

fn scheduled(workload: &FilesWorkload) -> Script {
    Script::new(workload, TreeShape::new(&workload.tree, workload.clients, SEED).unwrap(), SEED)
}

impl VirtualService {
    /// Runs a phase of this length, in which each call takes as long as `cost` says.
    pub(crate) fn run(workload: &FilesWorkload, length: Span, cost: impl Fn(&FileCall) -> Span) -> VirtualService {
        let mut schedule = scheduled(workload);
        assert!(schedule.start_phase(0, Instant::ZERO, length));
        let mut script = ServiceScript::new(workload.service.as_ref().unwrap(), SEED);
        script.start_phase(Instant::ZERO, schedule.arrivals().unwrap());
        let mut threads = Vec::new();
        for _ in 0..script.thread_count() {
            let (next, free) = (Instant::ZERO, Instant::ZERO);
            threads.push(VirtualThread { next, open: None, free, begun: false, over: false });
        }
        let mut service = VirtualService { script, calls: Vec::new(), groups: Vec::new() };
        while let Some(number) = earliest(&threads) {
            service.step(&mut threads, number, &cost);
        }
        service
    }

    fn step(&mut self, threads: &mut [VirtualThread], number: usize, cost: &impl Fn(&FileCall) -> Span) {
        let now = threads[number].next;
        if let Some((call, issued)) = threads[number].open.take() {
            let times = CallTimes::new(issued, now, issued.since(threads[number].free));
            self.script.finish_call(number, Ok(call.length), times);
            threads[number].free = now;
        } else if !threads[number].begun {
            match self.script.begin(number, now) {
                ServiceNext::Over => threads[number].over = true,
                ServiceNext::WaitUntil(until) => threads[number].next = until.max(now + Span::from_ns(1)),
                ServiceNext::Begin { may_issue } => {
                    (threads[number].begun, threads[number].free) = (true, may_issue);
                }
            }
            if !threads[number].begun {
                return;
            }
        }
        let next = self.script.next_call(number, now);
        if let Some(group) = self.script.take_acknowledged(number) {
            self.groups.push(group);
            for other in threads.iter_mut().filter(|other| !other.begun && !other.over) {
                other.next = other.next.min(now);
            }
        }
        let Some(call) = next else {
            self.script.forget_run(number);
            threads[number].begun = false;
            return;
        };
        let issued = call.wanted.map_or(now, |wanted| wanted.max(now));
        threads[number].next = issued + cost(&call);
        self.calls.push(MadeCall { thread: number, call: call.clone(), issued });
        threads[number].open = Some((call, issued));
    }

    /// The calls of a thread, each with its name, the name of its kind of file, and its bytes.
    pub(crate) fn calls_of(&self, thread: usize) -> Vec<(&'static str, &str, u64)> {
        let of_thread = self.calls.iter().filter(|made| made.thread == thread);
        of_thread.map(|made| (made.call.call.name(), self.kind_of(&made.call), made.call.length)).collect()
    }

    pub(crate) fn kind_of(&self, call: &FileCall) -> &str {
        &self.script.service().files[call.kind].name
    }

    /// Bytes of the calls of one kind on one kind of file, in their order.
    pub(crate) fn sizes(&self, call: ServiceCall, kind: &str) -> Vec<u64> {
        let made = self.calls.iter().filter(|made| made.call.call == call && self.kind_of(&made.call) == kind);
        made.map(|made| made.call.length).collect()
    }

    /// Commits of one group, in the mean.
    pub(crate) fn commits_per_group(&self) -> f64 {
        let commits: usize = self.groups.iter().map(|group| group.intended.len()).sum();
        commits as f64 / self.groups.len() as f64
    }
}

fn earliest(threads: &[VirtualThread]) -> Option<usize> {
    let waiting = threads.iter().enumerate().filter(|(_, thread)| !thread.over);
    waiting.min_by_key(|(number, thread)| (thread.next, *number)).map(|(number, _)| number)
}

/// What a run on a real directory came to.
pub(crate) struct RealService {
    pub(crate) told: Told,
    pub(crate) report: PhaseReport,
    pub(crate) names: Vec<String>,
    pub(crate) found: Verification,
    /// What a test asked for before and after the phase.
    pub(crate) before: Vec<u64>,
    pub(crate) after: Vec<u64>,
}

impl RealService {
    /// The sum of a figure of one stream.
    pub(crate) fn sum(&self, stream: &str, figure: impl Fn(&assay_record::FlowInterval) -> u64) -> u64 {
        let flow = self.names.iter().position(|name| name == stream).unwrap_or_else(|| panic!("{stream}"));
        self.told.sum(flow, figure)
    }

    pub(crate) fn done(&self, stream: &str) -> u64 {
        self.sum(stream, |line| line.ok)
    }
}

/// A server whose files are made in a directory.
pub(crate) struct ReadyService<C> {
    pub(crate) tree: Arc<OpenTree>,
    pub(crate) threads: ServiceThreads<C>,
    pub(crate) own: PathBuf,
}

/// Makes the files of a server in a directory.
pub(crate) fn ready_on(
    path: &Path,
    workload: &FilesWorkload,
    length: Span,
) -> ReadyService<impl Fn() -> Instant + Clone + Send + 'static> {
    let schedule = scheduled(workload);
    let script = ServiceScript::new(workload.service.as_ref().unwrap(), SEED);
    let tree = OpenTree::new(own_dir(path, "service"), schedule.shape().clone(), RUN, 10);
    make_service_files(&tree, &script).unwrap_or_else(|why| panic!("{why}"));
    let own = path.join(tree.own_dir().name());
    let settings = settings(clock(), length);
    let threads = ServiceThreads::new(tree.clone(), schedule, script, workload, settings);
    ReadyService { tree, threads: threads.unwrap_or_else(|why| panic!("{why}")), own }
}

/// Runs a server on a directory, compares what it left and removes it. `look` is asked before the phase and behind it;
/// `damage` may change something before it is compared.
pub(crate) fn run_on(
    path: &Path,
    workload: &FilesWorkload,
    length: Span,
    look: impl Fn() -> Vec<u64>,
    damage: impl Fn(&Path),
) -> RealService {
    let ReadyService { tree, mut threads, own } = ready_on(path, workload, length);
    let (mut told, names) = (Told::default(), threads.flows().names().to_vec());
    let before = look();
    let report = threads.run_phase(0, 0, &mut told).unwrap_or_else(|why| panic!("{why}"));
    let after = look();
    told.assert_accounts();
    let left = threads.finish().unwrap_or_else(|why| panic!("{why}")).expect("all calls have returned");
    damage(&own);
    let found = verify_service(&tree, &left.script).unwrap_or_else(|why| panic!("{why}"));
    let report_of_cleaning = OpenTree::into_own_dir(tree).expect("nobody uses the tree").clean();
    assert_eq!(report_of_cleaning.state, State::Removed, "{:?}", report_of_cleaning.left);
    RealService { told, report, names, found, before, after }
}
