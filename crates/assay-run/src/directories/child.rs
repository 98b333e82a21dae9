//! The process that makes the calls on a directory. It reads requests, carries out one after the other, and says what
//! came of each. When whoever started it is gone, it ends at once; what it has made stays for `assay clean`.

use super::load::{DirectoryLoad, MOST_OPEN_DIRECTORIES, MOST_VERIFIERS, ReadyLoad, wants_of};
use super::protocol::{
    Answer, Begin, CacheLook, Compared, Examine, Phase, PhaseEnd, PhaseOver, PlaceFacts, Refusal, Request, RunEnd,
    Stonewall, TreeMade,
};
use crate::drive::Meters;
use crate::failure::code;
use crate::host::pulse::Pulse;
use crate::host::threads::thread_builder;
use assay_base::text::one_line;
use assay_base::{Instant, Span, file_systems};
use assay_device::clock::{Clock, TimeLine};
use assay_device::probe::{Mounted, mount_with_number};
use assay_device::safety::Roots;
use assay_files::Trouble;
use assay_files::own_dir::{Claim, Conditions, OwnDir, Place, Report, State, directory_in_memory};
use assay_files::shell::{
    ClientInterval, Disturbance, OpenTree, Patience, PhaseEnd as ClientsEnd, Settings, Sink, StillTime, StopHandle,
    Verification, Watched, drop_cached_pages, drop_caches_of_host, file_system_uuid, look_at_cache,
};
use assay_files::source::OpenSource;
use assay_model::files::{CachePolicy, FilesWorkload, SourceTree, TreeShape};
use assay_record::header::{FILE_SYSTEM_NUMBER, FILE_SYSTEM_UUID};
use assay_record::{Event, FlowInterval, Histograms, Interval, Thresholds};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// The name of the fact that says which class of storage a mount reaches.
pub(super) const CLASS_FACT: &str = "mount class";
/// The name of the fact that says the type of its file system as the table of mounts has it.
pub(super) const TYPE_FACT: &str = "mount type";

/// The name of the fact by which two names of one mount are known.
pub(crate) const MOUNT_NUMBER: &str = "mount number";
/// The number of its file system, as `statfs` gives it.
pub(crate) const FILE_SYSTEM_ID: &str = "file system id";

/// Carries out the requests that come from `requests`, and writes to `answers` what came of them. Returns the exit code.
/// When nobody is left who wants something, `end_process` is called: a thread may be in a call that does not return, so
/// nothing is waited for.
pub fn serve_directory_calls(requests: impl Read + Send + 'static, answers: impl Write, end_process: fn() -> !) -> u8 {
    let stops = Stops::default();
    let (sender, receiver) = channel();
    let reader_stops = stops.clone();
    let reader = thread_builder("requests").spawn(move || {
        read_requests(requests, &sender, &reader_stops);
        end_process()
    });
    if reader.is_err() {
        return code::HOST;
    }
    let mut worker = Worker {
        clock_on,
        stops,
        place: None,
        claim: None,
        run: None,
        answers: Answers { output: answers, end_process },
    };
    worker.carry_out_all(&receiver);
    code::DONE
}

/// The clients that a request to stop is for, and whether there was one.
#[derive(Clone, Default)]
struct Stops(Arc<Mutex<StopState>>);

#[derive(Default)]
struct StopState {
    clients: Option<StopHandle>,
    /// Whoever owns the tree decides how long it is there.
    tree: Weak<OpenTree>,
    requested: bool,
}

impl Stops {
    fn request(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.requested = true;
        if let Some(clients) = &state.clients {
            clients.request_stop();
        }
        if let Some(tree) = state.tree.upgrade() {
            tree.stop_work();
        }
    }

    /// Lets a request also end what makes or compares this tree.
    fn watch_tree(&self, tree: &Arc<OpenTree>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.requested {
            tree.stop_work();
        }
        state.tree = Arc::downgrade(tree);
    }

    fn watch(&self, clients: StopHandle) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.requested {
            clients.request_stop();
        }
        state.clients = Some(clients);
    }
}

fn read_requests(requests: impl Read, sender: &Sender<Request>, stops: &Stops) {
    for line in BufReader::new(requests).lines() {
        let Some(request) = line.ok().and_then(|line| serde_json::from_str(&line).ok()) else { break };
        if request == Request::Stop {
            stops.request();
        } else if sender.send(request).is_err() {
            break;
        }
    }
}

fn clock_on(line: TimeLine) -> impl Fn() -> Instant + Clone + Send + 'static {
    let clock = Clock::on_time_line(line);
    move || clock.now()
}

/// The way back.
struct Answers<W> {
    output: W,
    end_process: fn() -> !,
}

impl<W: Write> Answers<W> {
    fn send(&mut self, answer: &Answer) {
        let mut line = serde_json::to_vec(answer).expect("an answer is plain data");
        line.push(b'\n');
        if self.output.write_all(&line).and_then(|()| self.output.flush()).is_err() {
            (self.end_process)();
        }
    }
}

/// A run on the directory.
struct Run<C> {
    tree: Arc<OpenTree>,
    watched: Watched,
    workload: FilesWorkload,
    /// Before the first phase.
    ready: Option<ReadyLoad>,
    load: Option<DirectoryLoad<C>>,
}

/// The directory that a person named.
struct Opened {
    place: Place,
    path: PathBuf,
}

struct Worker<C, W> {
    clock_on: fn(TimeLine) -> C,
    stops: Stops,
    place: Option<Opened>,
    /// By which other hosts know the place.
    claim: Option<OwnDir>,
    run: Option<Run<C>>,
    answers: Answers<W>,
}

impl<C: Fn() -> Instant + Clone + Send + 'static, W: Write> Worker<C, W> {
    fn carry_out_all(&mut self, requests: &Receiver<Request>) {
        while let Ok(request) = requests.recv() {
            let answer = match request {
                Request::Examine(examine) => self.examine(&examine).map(Answer::Examined),
                Request::Claim { run, load } => self.make_claim(&run, &load).map(Answer::Claimed),
                Request::LookFor(claims) => self.look_for(&claims).map(Answer::Seen),
                Request::Unclaim => Ok(Answer::Unclaimed(self.remove_claim())),
                Request::Begin(begin) => self.begin(*begin).map(Answer::Begun),
                Request::Phase(phase) => self.carry_out_phase(&phase, requests).map(Answer::PhaseOver),
                Request::End { verify, keep } => self.end(verify, keep).map(Answer::Ended),
                Request::Start { .. } | Request::Stop => continue,
            };
            self.answers.send(&answer.unwrap_or_else(|trouble| Answer::Refused(Refusal::from(trouble))));
        }
    }

    fn examine(&mut self, examine: &Examine) -> Result<PlaceFacts, Trouble> {
        let run_directory = examine.run_directory.to_path();
        let conditions =
            Conditions { file_system: examine.file_system.as_deref(), run_directory: Some(&run_directory) };
        let path = examine.path.as_ref().map_or_else(directory_in_memory, |path| Ok(path.to_path()))?;
        let place = Place::open(&path, conditions)?;
        let facts = facts_of(&place)?;
        self.place = Some(Opened { place, path });
        Ok(facts)
    }

    /// Makes a directory for others to find, where what all ranks will make together fits.
    fn make_claim(&mut self, run: &str, load: &FilesWorkload) -> Result<Claim, Trouble> {
        let Opened { place, .. } = self.place.as_ref().ok_or_else(out_of_turn)?;
        let wants = wants_of(load, &shape_of_tree(load, 0)?);
        let own = OwnDir::make(place.try_clone()?, assay_files::own_dir::Request { run, wants, resolution: None })?;
        let claim = Claim::of_directory(place, &own);
        self.claim = Some(own);
        if claim.is_err() {
            self.remove_claim();
        }
        claim
    }

    fn look_for(&self, claims: &[Claim]) -> Result<Vec<bool>, Trouble> {
        let Opened { place, .. } = self.place.as_ref().ok_or_else(out_of_turn)?;
        claims.iter().map(|claim| claim.is_seen_in(place)).collect()
    }

    /// Returns what stays of it.
    fn remove_claim(&mut self) -> Option<String> {
        let own = self.claim.take()?;
        let (shown, report) = (own.shown(), own.clean());
        left_of(&shown, &report)
    }

    fn begin(&mut self, begin: Begin) -> Result<TreeMade, Trouble> {
        let Opened { place, path } = self.place.as_ref().ok_or_else(out_of_turn)?;
        let (place, path) = (place.try_clone()?, path.clone());
        let Begin { run, number, seed, workload, drop_caches } = begin;
        if drop_caches {
            drop_caches_of_host()?;
        }
        let source = workload.tree.source.as_deref().map(open_source).transpose()?;
        let shape = shape_of_tree(&workload, seed)?;
        let shape = match &source {
            Some(source) => shape.with_listed_source(source.listed_tree().clone()),
            None => shape,
        };
        let most_open = shape.directories().min(MOST_OPEN_DIRECTORIES as u64);
        let wants = wants_of(&workload, &shape);
        let request = assay_files::own_dir::Request { run: &run, wants, resolution: None };
        let own = OwnDir::make(place, request)?;
        let directory = own.shown();
        let tree = OpenTree::copying(own, shape.clone(), number, most_open as usize, source);
        self.stops.watch_tree(&tree);
        let ready = ReadyLoad::new(&workload, shape, seed);
        let made = match ready.make_files(&tree, &workload) {
            Ok(made) => made,
            Err(trouble) => {
                let left = remove_tree(tree);
                let left = left.map_or_else(String::new, |left| format!("; {left}"));
                let Refusal { kind, text } = Refusal::from(trouble);
                return Err(Trouble::from(Refusal { kind, text: format!("{text}{left}") }));
            }
        };
        let watched = Watched { path, wants };
        self.run = Some(Run { tree, watched, workload, ready: Some(ready), load: None });
        Ok(TreeMade { directory, directories: made.directories, files: made.files, bytes: made.bytes })
    }

    fn carry_out_phase(&mut self, phase: &Phase, requests: &Receiver<Request>) -> Result<PhaseOver, Trouble> {
        let run = self.run.as_mut().ok_or_else(out_of_turn)?;
        let clock = (self.clock_on)(phase.time_line.into());
        let pulse = Arc::new(Pulse::default());
        let beating = start_pulse(&pulse, clock.clone())?;
        let _beats = pulse.until_dropped(&beating);
        let settings = settings_of(clock.clone(), still_time_of(&pulse), phase);
        let load = match (run.load.take(), run.ready.take()) {
            (Some(mut load), _) => {
                load.change_settings(settings);
                load
            }
            (None, Some(ready)) => ready.start(run.tree.clone(), &run.workload, settings, run.watched.clone())?,
            (None, None) => return Err(out_of_turn()),
        };
        let load = run.load.insert(load);
        self.stops.watch(load.stop_handle());
        let names = load.flow_names();
        let mut places = Vec::new();
        for stream in &phase.streams {
            places.push(names.iter().position(|name| name == stream).ok_or_else(out_of_turn)?);
        }
        let threads = run.workload.clients.min(MOST_VERIFIERS);
        if phase.drop_caches {
            drop_caches_of_host()?;
        }
        let before = prepare_cache(&run.tree, load, run.workload.cache, threads)?;
        self.answers.send(&Answer::PhaseBegun(before));
        if phase.waits_for_start && !wait_for_start(requests, &clock)? {
            let now_ns = clock().as_ns();
            return Ok(PhaseOver { begun_ns: now_ns, at_ns: now_ns, end: PhaseEnd::Stopped, stonewall: None });
        }
        let order = OrderOfLog { places, loops: phase.loops };
        let mut sending = Sending { answers: &mut self.answers, order, meters: Meters::new() };
        let report = load.run_phase(phase.index as usize, &mut sending)?;
        let end = match report.end {
            ClientsEnd::Whole | ClientsEnd::Nothing => PhaseEnd::Whole,
            ClientsEnd::Stopped => PhaseEnd::Stopped,
            ClientsEnd::GivenUp { client, call } => {
                let whose = client.map_or("the look at the directory".to_owned(), |number| format!("client {number}"));
                let (operation, given_up) = (call.operation, phase.given_up);
                PhaseEnd::GivenUp(format!("{operation} of {whose} did not return within {given_up}"))
            }
            ClientsEnd::Disturbed(disturbance) => disturbed_end(&disturbance),
        };
        let stonewall = report.wall.map(|wall| Stonewall { at_ns: wall.at.as_ns(), sequences: wall.done.iter().sum() });
        Ok(PhaseOver { begun_ns: report.begun.as_ns(), at_ns: report.ended.as_ns(), end, stonewall })
    }

    fn end(&mut self, verify: bool, keep: bool) -> Result<RunEnd, Trouble> {
        let Run { tree, workload, load, .. } = self.run.take().ok_or_else(out_of_turn)?;
        let found = load.and_then(|load| load.finish(&tree, &workload, verify).transpose());
        // What was compared in part proves nothing.
        let found = found.filter(|_| !tree.is_stopped());
        let source_changed = tree.source().map_or_else(Vec::new, changes_of_source);
        if keep {
            let kept = keep_tree(tree);
            return Ok(RunEnd {
                compared: found.transpose()?.map(compared_of),
                left: None,
                kept: Some(kept),
                source_changed,
            });
        }
        // It goes even if it could not be compared.
        let left = remove_tree(tree);
        Ok(RunEnd { compared: found.transpose()?.map(compared_of), left, kept: None, source_changed })
    }
}

fn shape_of_tree(workload: &FilesWorkload, seed: u64) -> Result<TreeShape, Trouble> {
    TreeShape::new(&workload.tree, workload.clients, seed)
        .ok_or_else(|| Trouble::usage("the tree has too many directories: write a larger width"))
}

/// Waits until the clients shall begin; whether they shall.
fn wait_for_start(requests: &Receiver<Request>, clock: &impl Fn() -> Instant) -> Result<bool, Trouble> {
    let Ok(Request::Start { at_ns }) = requests.recv() else { return Err(out_of_turn()) };
    let Some(at_ns) = at_ns else { return Ok(false) };
    loop {
        let wait = Instant::from_ns(at_ns).since(clock());
        if wait.is_zero() {
            return Ok(true);
        }
        std::thread::park_timeout(Duration::from_nanos(wait.as_ns()));
    }
}

/// The tree that is copied, which must be the one that the plan speaks of.
fn open_source(planned: &SourceTree) -> Result<OpenSource, Trouble> {
    let source = OpenSource::list_tree(Path::new(&planned.path))?;
    if planned.found.as_ref() == Some(source.found_tree()) {
        return Ok(source);
    }
    let path = one_line(&planned.path);
    Err(Trouble::host(format!("the source {path} has changed since the plan was made: copy one that nobody changes")))
}

fn changes_of_source(source: &OpenSource) -> Vec<String> {
    source.compare_what_is_not_read();
    source.all_changed()
}

fn compared_of(found: Verification) -> Compared {
    let counts = found.counts.iter().map(|(kind, n)| (kind.to_string(), *n)).collect();
    let faults = found.faults.iter().map(|fault| format!("{}: {}", fault.path, fault.text)).collect();
    Compared { names: found.names, bytes: found.bytes, unsure: found.unsure, counts, faults }
}

/// Leaves a tree; returns its path.
fn keep_tree(tree: Arc<OpenTree>) -> String {
    let shown = tree.own_dir().shown();
    match OpenTree::into_own_dir(tree) {
        Some(own) => own.keep(),
        // A call on it has not returned, and so it stays anyway.
        None => shown,
    }
}

/// Removes a tree; returns what stays of it, in words.
fn remove_tree(tree: Arc<OpenTree>) -> Option<String> {
    let Some(own) = OpenTree::into_own_dir(tree) else {
        return Some("the directory of the run stays, because a call on it has not returned".to_owned());
    };
    let (shown, report) = (own.shown(), own.clean());
    left_of(&shown, &report)
}

fn left_of(shown: &str, report: &Report) -> Option<String> {
    match &report.state {
        State::Removed | State::Removable => None,
        State::Stays => {
            let first = report.left.first().map_or_else(String::new, |left| format!(", such as {}", left.path));
            let (left, removed) = (report.left_count, report.entries);
            Some(format!(
                "{shown} stays: {removed} entries were removed, and {left} are not ours or could not be{first}"
            ))
        }
        State::InUse => Some(format!("{shown} stays: something uses it")),
        State::NotOurs(why) => Some(format!("{shown} stays: it {why}")),
        State::Failed(why) => Some(format!("{shown} stays: it could not be removed: {why}")),
    }
}

/// Lets reads come from where the policy says; returns what of the files is in the page cache then, if they have pages.
fn prepare_cache<C: Fn() -> Instant + Clone + Send + 'static>(
    tree: &OpenTree,
    load: &DirectoryLoad<C>,
    policy: CachePolicy,
    threads: u32,
) -> Result<Option<CacheLook>, Trouble> {
    // The files of a server are dropped when they are made, and stay warm from then on, as those of a real one.
    let DirectoryLoad::Clients(clients) = load else { return Ok(None) };
    let Some(script) = clients.script() else { return Ok(None) };
    if policy == CachePolicy::Drop {
        drop_cached_pages(tree, script, threads)?;
    }
    let pages = look_at_cache(tree, script)?;
    Ok((pages.pages > 0).then(|| CacheLook { files: pages.files, share: pages.share() }))
}

fn disturbed_end(disturbance: &Disturbance) -> PhaseEnd {
    match disturbance {
        Disturbance::PathLost => PhaseEnd::PlaceLost(
            "the path of the directory leads to something else now: it was mounted over, unmounted or moved".to_owned(),
        ),
        Disturbance::Reserve(touched) => PhaseEnd::RoomTaken(format!(
            "{} bytes and {} files are free, and {} and {} must stay free{}",
            touched.free.bytes,
            touched.free.files,
            touched.reserve.bytes,
            touched.reserve.files,
            if touched.by_others {
                ": somebody else uses the file system"
            } else {
                ": the load grew more than was planned"
            }
        )),
    }
}

fn out_of_turn() -> Trouble {
    Trouble::host("a request came out of turn: this is a bug in assay")
}

/// Starts the thread that notices when the whole process does not run.
fn start_pulse(
    pulse: &Arc<Pulse>,
    clock: impl Fn() -> Instant + Send + 'static,
) -> Result<std::thread::Thread, Trouble> {
    let beaten = pulse.clone();
    let started = thread_builder("pulse").spawn(move || beaten.beat_until_dropped(clock));
    let started = started.map_err(|why| Trouble::host(format!("the thread pulse could not be started: {why}")))?;
    Ok(started.thread().clone())
}

fn still_time_of(pulse: &Arc<Pulse>) -> StillTime {
    let pulse = pulse.clone();
    StillTime::from_look_up(move |from, to| pulse.stood_still(from, to))
}

fn settings_of<C>(clock: C, still: StillTime, phase: &Phase) -> Settings<C> {
    Settings {
        clock,
        interval: phase.interval,
        group: phase.group,
        thresholds: Thresholds::new(phase.thresholds_ns.iter().map(|ns| Span::from_ns(*ns))),
        patience: Patience { stuck: phase.stuck, given_up: phase.given_up, ..Patience::default() },
        usual: phase.length,
        still,
    }
}

fn facts_of(place: &Place) -> Result<PlaceFacts, Trouble> {
    let unable =
        |why: rustix::io::Errno| Trouble::host(format!("{} cannot be asked for its file system: {why}", place.shown()));
    let kind = rustix::fs::fstatfs(place).map_err(unable)?;
    let room = rustix::fs::fstatvfs(place).map_err(unable)?;
    let number = kind.f_type as u64;
    let file_system = file_systems::name_by_number(number).map_or_else(|| format!("{number:#x}"), str::to_owned);
    let mut facts = std::collections::BTreeMap::new();
    facts.insert("free bytes".to_owned(), room.f_bavail.saturating_mul(room.f_frsize).to_string());
    if room.f_blocks > 0 {
        let share = room.f_bavail as f64 / room.f_blocks as f64 * 100.0;
        facts.insert("free share".to_owned(), format!("{share:.1}%"));
    }
    if room.f_files > 0 {
        facts.insert("free files".to_owned(), room.f_favail.to_string());
    }
    let mount_number = place.mount_number();
    let mounted = mount_number.and_then(|number| mount_with_number(&Roots::of_machine(), number));
    facts.extend(mounted.into_iter().flat_map(mount_facts));
    facts.extend(mount_number.map(|number| (MOUNT_NUMBER.to_owned(), number.to_string())));
    if room.f_fsid != 0 {
        facts.insert(FILE_SYSTEM_ID.to_owned(), format!("{:016x}", room.f_fsid));
    }
    if !file_systems::IN_MEMORY.contains(&file_system.as_str()) {
        // One in memory has another UUID each time that it is mounted.
        facts.extend(file_system_uuid(place).map(|uuid| (FILE_SYSTEM_UUID.to_owned(), uuid)));
        let number = place.lasting_number().map_err(unable)?;
        facts.extend(number.map(|number| (FILE_SYSTEM_NUMBER.to_owned(), format!("{number:016x}"))));
    }
    Ok(PlaceFacts {
        file_system,
        size: room.f_blocks.saturating_mul(room.f_frsize),
        block: room.f_frsize.min(1 << 20) as u32,
        facts,
        mount_number,
    })
}

/// What the kernel says of a mount, by name, for the log.
fn mount_facts(mounted: Mounted) -> Vec<(String, String)> {
    let mut facts = vec![
        ("mount source".to_owned(), mounted.source),
        (TYPE_FACT.to_owned(), mounted.kind),
        ("mount point".to_owned(), mounted.point),
        ("mount options".to_owned(), mounted.options.join(",")),
        (CLASS_FACT.to_owned(), mounted.class.to_string()),
    ];
    if !mounted.disks.is_empty() {
        facts.push(("disks beneath".to_owned(), mounted.disks.join(", ")));
    }
    facts
}

/// Sends what clients did, with the flows in the order of the log.
struct Sending<'a, W> {
    answers: &'a mut Answers<W>,
    order: OrderOfLog,
    meters: Meters,
}

impl<W: Write> Sink for Sending<'_, W> {
    fn take_interval(&mut self, counted: ClientInterval) {
        let ordered = self.order.arrange(counted);
        let host = self.meters.sample_host();
        self.answers.send(&Answer::Interval(Box::new(ordered), host));
    }

    fn take_event(&mut self, event: Event) {
        self.answers.send(&Answer::Event(event));
    }
}

/// What of the clients' figures stands where in the log.
struct OrderOfLog {
    /// Of each stream of the log, its place among the flows of the clients.
    places: Vec<usize>,
    /// How many loops of the clients the log has.
    loops: usize,
}

impl OrderOfLog {
    fn arrange(&self, counted: ClientInterval) -> ClientInterval {
        let ClientInterval { mut interval, histograms, entries } = counted;
        let flow_at = |place: &usize| interval.flows.get(*place).cloned().unwrap_or_default();
        let flows: Vec<FlowInterval> = self.places.iter().map(flow_at).collect();
        let entries = self.places.iter().map(|place| entries.get(*place).copied().unwrap_or(0)).collect();
        let histograms = histograms.map(|lines| {
            let mut flows = Vec::new();
            for (flow, place) in self.places.iter().enumerate() {
                let found = lines.flows.iter().find(|line| usize::from(line.flow) == *place);
                flows.extend(found.cloned().map(|line| assay_record::FlowHistograms { flow: flow as u16, ..line }));
            }
            Histograms { flows, ..lines }
        });
        interval.loops.truncate(self.loops);
        ClientInterval { interval: Interval { flows, ..interval }, histograms, entries }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_record::LoopInterval;

    #[test]
    fn flows_are_in_the_order_of_the_log() {
        let flow = |ok| FlowInterval { ok, ..FlowInterval::default() };
        let histogram = |flow, text: &str| assay_record::FlowHistograms {
            flow,
            response: text.to_owned(),
            ..assay_record::FlowHistograms::default()
        };
        let lines = Histograms { first: 0, last: 0, phase: 0, flows: vec![histogram(0, "a"), histogram(2, "c")] };
        let interval = Interval {
            flows: vec![flow(1), flow(2), flow(3)],
            loops: vec![LoopInterval::default(); 2],
            ..Interval::default()
        };
        let counted = ClientInterval { interval, histograms: Some(lines), entries: vec![7, 8, 9] };
        let ordered = OrderOfLog { places: vec![2, 1], loops: 1 }.arrange(counted);
        assert_eq!(ordered.interval.loops.len(), 1);
        assert_eq!(ordered.interval.flows, [flow(3), flow(2)]);
        assert_eq!(ordered.entries, [9, 8]);
        assert_eq!(ordered.histograms.unwrap().flows, [histogram(0, "c")]);
    }
}
