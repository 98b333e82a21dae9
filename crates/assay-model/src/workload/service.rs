//! `model = "service"`: one server on a file system, by its files, its writer and its tasks.

use super::common::workload_file;
use super::definition::{Timing, Workload};
use super::files_phases::load_of_clients;
use super::names::{NAMES, is_name};
use super::service_file::FileKeys;
use super::service_step::{StepKeys, check_step, place_of_file, read_steps};
use super::source::Source;
use crate::files::service::mark_assumption;
use crate::files::service::{
    COMMIT, CommitImages, MadeBy, Service, ServiceFile, ServiceStep, ServiceTask, ServiceWriter, StepCall, WhenFull,
    WhichFile,
};
use crate::files::{CachePolicy, FileSize, FilesPace, FilesWorkload, PlannedFiles, Sequence, Spacing, Tree};
use assay_base::{Bytes, Fault, Rate, Share, Span};
use serde::Deserialize;
use toml::Spanned;

/// Measured time, unless the file says otherwise: longer than a burst credit of half an hour.
const DURATION: Span = Span::from_secs(3600);
/// Length of the judging windows, unless the file says otherwise: that of etcd's own rules for alarms.
const SLICE: Span = Span::from_secs(300);
/// Most kinds of files, and most tasks.
const MOST_KINDS: usize = 32;
/// Bytes of a commit.
const LARGEST_ENTRY: Bytes = Bytes::from_kib(64 << 10);

workload_file! {
    for directories:
    struct File {
        rate: Spanned<Rate>,
        arrival: Option<Spacing>,
        stands_for: Option<Spanned<String>>,
        #[serde(default)]
        file: Vec<Spanned<FileKeys>>,
        writer: Spanned<WriterKeys>,
        #[serde(default)]
        task: Vec<Spanned<TaskKeys>>,
        #[serde(default)]
        assumed: Vec<String>,
        streams: Option<Spanned<bool>>,
    }
}

/// The keys of `[writer]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriterKeys {
    name: Spanned<String>,
    entry: Spanned<Bytes>,
    group: Option<Spanned<Bytes>>,
    most: Option<Spanned<u32>>,
    images: Option<ImagesKeys>,
    steps: Vec<Spanned<StepKeys>>,
}

/// The keys of `images`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ImagesKeys {
    share: Spanned<Share>,
    bytes: Spanned<Bytes>,
}

/// The keys of a `[[task]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskKeys {
    name: Spanned<String>,
    thread: Option<Spanned<String>>,
    each: Option<Spanned<Span>>,
    pause: Option<Spanned<Span>>,
    with_changes: Option<Spanned<bool>>,
    after_commits: Option<Spanned<u64>>,
    after_bytes: Option<Spanned<Bytes>>,
    after_full: Option<Spanned<String>>,
    steps: Vec<Spanned<StepKeys>>,
}

/// Reads a workload file of this model.
pub(super) fn read_service(source: Source<'_>) -> Result<Workload, Fault> {
    let mut file: File = source.parse_file()?;
    let stands_for = file.stands_for.as_ref().map(|text| super::files::read_stands_for(source, text)).transpose()?;
    if file.rate.get_ref().is_zero() {
        return source.refuse_span(file.rate.span(), "a rate of 0 asks for nothing", "write for example \"100/s\"");
    }
    if let Some(warm_up) = file.warm_up.as_ref() {
        let what = "a service has no warm-up: its first minutes count as all others";
        return source.refuse_span(warm_up.span(), what, "remove warm_up");
    }
    let service = meant_service(source, &file)?;
    if let Some(streams) = file.streams.as_ref().filter(|_| service.streams)
        && let Err(why) = service.on_device(*file.rate.get_ref(), false)
    {
        let what = format!("a block device cannot hold this server: {why}");
        return source.refuse_span(streams.span(), what, "remove streams");
    }
    let verify = file.verify.unwrap_or(true);
    let workload = FilesWorkload {
        clients: service.thread_names().len() as u32,
        pace: FilesPace::Open { rate: *file.rate.get_ref(), arrival: file.arrival.unwrap_or_default() },
        cache: CachePolicy::Drop,
        durable: None,
        io: Bytes::from_kib(4),
        tree: Tree::flat(0, FileSize::Fixed(Bytes::new(0))),
        sequences: vec![Sequence::without_steps(COMMIT)],
        phases: Vec::new(),
        service: Some(Box::new(service)),
    };
    let files = PlannedFiles { workload, phase: 0, verify, stands_for };
    let load = load_of_clients(files).ok_or_else(|| {
        source.fault_at(file.rate.span(), "the rate is too large to be represented", "write a smaller one")
    })?;
    let workload = Workload {
        timing: Timing { duration: DURATION, slice: SLICE, ..Timing::default() },
        load,
        ..Workload::new(source.file, "service", Vec::new(), |_| Vec::new())
    };
    workload.with_common_keys(source, file.common())
}

fn meant_service(source: Source<'_>, file: &File) -> Result<Service, Fault> {
    let names = file_names(source, &file.file)?;
    let mut files = Vec::new();
    for keys in &file.file {
        files.push(keys.get_ref().meant_file(source, keys.span(), &names)?);
    }
    let writer = meant_writer(source, &file.writer, &names)?;
    let mut service = Service {
        files: with_usual_making(files, &writer, file),
        writer,
        tasks: Vec::new(),
        assumed: file.assumed.iter().map(|text| mark_assumption(text)).collect(),
        streams: file.streams.as_ref().is_some_and(|streams| *streams.get_ref()),
        lasts: Span::ZERO,
    };
    if let Some(beyond) = file.task.get(MOST_KINDS) {
        return source.refuse_span(beyond.span(), "too many tasks", format!("write at most {MOST_KINDS}"));
    }
    for keys in &file.task {
        let task = meant_task(source, keys, &names)?;
        let is_used = task.name == service.writer.name || service.tasks.iter().any(|other| other.name == task.name);
        if is_used {
            let what = "the writer or another task has this name";
            return source.refuse_span(keys.get_ref().name.span(), what, "give each a name of its own");
        }
        service.tasks.push(task);
    }
    check_threads(source, file, &service)?;
    check_steps(source, file, &service)?;
    Ok(service)
}

/// A file that is followed by another one when it is full is made as its kind is, where the file does not say more.
fn with_usual_making(mut files: Vec<ServiceFile>, writer: &ServiceWriter, file: &File) -> Vec<ServiceFile> {
    for (place, described) in files.iter_mut().enumerate() {
        let is_log = writer.steps.iter().any(|step| step.file == place && step.call == StepCall::Write);
        let is_created = file.task.iter().any(|task| creates(&task.get_ref().steps, &described.name))
            || creates(&file.writer.get_ref().steps, &described.name);
        let is_followed = described.when_full == WhenFull::Next && described.made_by != MadeBy::Written;
        if is_log && is_followed && !is_created && described.make.is_empty() {
            described.make = vec![ServiceStep { of: WhichFile::New, ..ServiceStep::new(StepCall::Make, place) }];
        }
    }
    files
}

fn creates(steps: &[Spanned<StepKeys>], name: &str) -> bool {
    steps.iter().any(|step| step.get_ref().creates(name))
}

/// The names of the files, in their order.
fn file_names(source: Source<'_>, files: &[Spanned<FileKeys>]) -> Result<Vec<String>, Fault> {
    if let Some(beyond) = files.get(MOST_KINDS) {
        return source.refuse_span(beyond.span(), "too many files", format!("write at most {MOST_KINDS}"));
    }
    let mut names: Vec<String> = Vec::new();
    for keys in files {
        let name = keys.get_ref().name();
        if !is_name(name.get_ref()) || names.contains(name.get_ref()) {
            return source.refuse_span(name.span(), "not a valid name of a file, or it is used twice", NAMES);
        }
        names.push(name.get_ref().clone());
    }
    Ok(names)
}

fn meant_writer(source: Source<'_>, keys: &Spanned<WriterKeys>, names: &[String]) -> Result<ServiceWriter, Fault> {
    let span = keys.span();
    let keys = keys.get_ref();
    if !is_name(keys.name.get_ref()) {
        return source.refuse_span(keys.name.span(), "not a valid name", NAMES);
    }
    let sizes = Bytes::new(1)..=LARGEST_ENTRY;
    let entry = source.value_within(Some(&keys.entry), sizes, "a size of a commit")?.unwrap_or_default();
    let headers = Bytes::new(0)..=LARGEST_ENTRY;
    let group = source.value_within(keys.group.as_ref(), headers.clone(), "a size of what a group has besides")?;
    let most = source.value_within(keys.most.as_ref(), 1..=u32::MAX, "a number of commits")?;
    let images = match &keys.images {
        Some(images) => {
            let whole = Share::default()..=Share::from_percent(100);
            let share = source.value_within(Some(&images.share), whole, "a share of all commits")?.unwrap_or_default();
            let bytes = source.value_within(Some(&images.bytes), headers, "a size of images")?.unwrap_or_default();
            Some(CommitImages { share, bytes })
        }
        None => None,
    };
    let steps = read_steps(source, &keys.steps, names)?;
    if steps.is_empty() {
        return source.refuse_span(
            span,
            "the writer does nothing",
            "write steps = [{ write = \"log\" }, { fdatasync = \"log\" }]",
        );
    }
    let name = keys.name.get_ref().clone();
    Ok(ServiceWriter { name, entry, group: group.unwrap_or_default(), most, images, steps })
}

fn meant_task(source: Source<'_>, keys: &Spanned<TaskKeys>, names: &[String]) -> Result<ServiceTask, Fault> {
    let span = keys.span();
    let keys = keys.get_ref();
    let name = keys.name.get_ref().clone();
    if !is_name(&name) {
        return source.refuse_span(keys.name.span(), "not a valid name", NAMES);
    }
    let zero = [&keys.each, &keys.pause].into_iter().flatten().find(|time| time.get_ref().is_zero());
    if let Some(time) = zero {
        let what = "a task that is always due leaves no time for anything";
        return source.refuse_span(time.span(), what, "write more than 0s");
    }
    let after_commits = source.value_within(keys.after_commits.as_ref(), 1..=u64::MAX, "a number of commits")?;
    let after_bytes =
        source.value_within(keys.after_bytes.as_ref(), Bytes::new(1)..=Bytes::new(u64::MAX), "a number of bytes")?;
    let after_full = match &keys.after_full {
        Some(file) => Some(place_of_file(source, file, names)?),
        None => None,
    };
    let is_timed = keys.each.is_some() || keys.pause.is_some();
    if !is_timed && after_commits.is_none() && after_bytes.is_none() && after_full.is_none() {
        let remedy = "write each = \"100ms\", pause, after_commits, after_bytes or after_full";
        return source.refuse_span(span, "nothing says when this task begins", remedy);
    }
    if let (Some(each), Some(_)) = (&keys.each, &keys.pause) {
        return source.refuse_span(each.span(), "each and pause both say how often", "remove one of the two");
    }
    if let Some(with_changes) = keys.with_changes.as_ref().filter(|_| !is_timed) {
        let what = "with_changes is about each or pause, and the task has neither";
        return source.refuse_span(with_changes.span(), what, "remove with_changes");
    }
    let steps = read_steps(source, &keys.steps, names)?;
    if steps.is_empty() {
        return source.refuse_span(span, "the task does nothing", "write steps = [{ fdatasync = \"log\" }]");
    }
    Ok(ServiceTask {
        thread: keys.thread.as_ref().map_or(name.clone(), |thread| thread.get_ref().clone()),
        name,
        each: keys.each.as_ref().map(|span| *span.get_ref()),
        pause: keys.pause.as_ref().map(|span| *span.get_ref()),
        with_changes: keys.with_changes.as_ref().is_some_and(|with| *with.get_ref()),
        after_commits,
        after_bytes,
        after_full,
        steps,
    })
}

/// Whether each thread that is named is that of the writer or of a task with this name.
fn check_threads(source: Source<'_>, file: &File, service: &Service) -> Result<(), Fault> {
    for keys in &file.task {
        let Some(thread) = &keys.get_ref().thread else { continue };
        let name = thread.get_ref();
        if *name != service.writer.name && !service.tasks.iter().any(|task| task.name == *name) {
            let what = format!("there is no thread \"{}\"", name.escape_debug());
            return source.refuse_span(thread.span(), what, "write the name of the writer or of another task");
        }
    }
    Ok(())
}

/// What the steps of a writer or a task are in the file.
struct StepsInFile<'a> {
    thread: &'a str,
    is_writer: bool,
    keys: &'a [Spanned<StepKeys>],
    steps: &'a [ServiceStep],
}

/// Whether steps fit to the files and to each other.
fn check_steps(source: Source<'_>, file: &File, service: &Service) -> Result<(), Fault> {
    let writer = file.writer.get_ref();
    let mut all = vec![StepsInFile {
        thread: &service.writer.name,
        is_writer: true,
        keys: &writer.steps,
        steps: &service.writer.steps,
    }];
    for (keys, task) in file.task.iter().zip(&service.tasks) {
        all.push(StepsInFile {
            thread: &task.thread,
            is_writer: false,
            keys: &keys.get_ref().steps,
            steps: &task.steps,
        });
    }
    // Who writes to each kind of files.
    let mut writers: Vec<Option<&str>> = vec![None; service.files.len()];
    for StepsInFile { thread, is_writer, keys, steps } in all {
        for (keys, step) in keys.iter().zip(steps) {
            let fits = check_step(step, &service.files[step.file], is_writer);
            if let Err((what, remedy)) = fits {
                return source.refuse_span(keys.span(), what, remedy);
            }
            let writes =
                matches!(step.call, StepCall::Write | StepCall::MmapWrite | StepCall::Create | StepCall::Extend);
            let before = writers[step.file].filter(|before| writes && *before != thread);
            if let Some(before) = before {
                let what = format!("two threads write to {}: {before} and {thread}", service.files[step.file].name);
                let remedy = format!("write thread = \"{before}\", or give it a file of its own");
                return source.refuse_span(keys.span(), what, remedy);
            }
            if writes {
                writers[step.file] = Some(thread);
            }
        }
        check_spans(source, keys, steps)?;
    }
    check_next_steps(source, file, &service.files)
}

/// Whether each `from_here` has its `until_here` behind it.
fn check_spans(source: Source<'_>, keys: &[Spanned<StepKeys>], steps: &[ServiceStep]) -> Result<(), Fault> {
    for (at, step) in steps.iter().enumerate() {
        if let Some(span) = &step.from_here
            && !steps[at..].iter().any(|step| step.until_here.as_ref() == Some(span))
        {
            let remedy = format!("write until_here = \"{span}\" to a step behind it");
            return source.refuse_span(keys[at].span(), "from_here has no end", remedy);
        }
        if let Some(span) = &step.until_here
            && !steps[..=at].iter().any(|step| step.from_here.as_ref() == Some(span))
        {
            let remedy = format!("write from_here = \"{span}\" to this step or one before");
            return source.refuse_span(keys[at].span(), "until_here has no beginning", remedy);
        }
    }
    Ok(())
}

/// The steps between two files are calls on the old one, the new one and the directory.
fn check_next_steps(source: Source<'_>, file: &File, files: &[ServiceFile]) -> Result<(), Fault> {
    for (keys, meant) in file.file.iter().zip(files) {
        let own = files.iter().position(|other| other.name == meant.name);
        for step in meant.make.iter().chain(&meant.next) {
            let is_foreign = Some(step.file) != own;
            let moves_all =
                matches!(step.call, StepCall::Recycle | StepCall::Unlink | StepCall::Create | StepCall::Restart);
            if is_foreign || moves_all || step.of == WhichFile::Each {
                let what = format!("{} has a step between two files that is not about one of the two", meant.name);
                return source.refuse_span(
                    keys.span(),
                    what,
                    "write only calls on this file, of = \"old\" or of = \"new\"",
                );
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "service_tests.rs"]
mod service_tests;
