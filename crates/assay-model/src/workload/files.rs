//! `model = "files"`: clients that work on a tree of files.

use super::common::workload_file;
use super::definition::{LONGEST_RUN, Timing, Workload};
use super::files_chars;
use super::files_do::{self, Around, DoKeys};
use super::files_durable;
use super::files_phases::{load_of_clients, steps_of_phases};
use super::files_tree::{self, TreeKeys};
use super::names::{NAMES, is_name};
use super::source::Source;
use crate::files::{
    CachePolicy, Durable, FilesPace, FilesPhase, FilesWorkload, MOST_CLIENTS, MOST_FILES, Pick, PlannedFiles, Sequence,
    SequenceFiles, Spacing, Until,
};
use assay_base::{Bytes, Counted, Fault, Rate, Span};
use serde::Deserialize;
use toml::Spanned;

/// Threads, unless the file says otherwise.
const CLIENTS: u32 = 8;
/// Bytes of one read or write, unless the file says otherwise.
const IO: Bytes = Bytes::from_kib(128);
/// Measured time, unless the file says otherwise.
const DURATION: Span = Span::from_secs(600);
/// Length of the judging windows, unless the file says otherwise.
const SLICE: Span = Span::from_secs(60);
/// Most sequences of a phase that ends after a number of them.
const MOST_COUNTED: u64 = 1_000_000_000_000;
/// Most phases.
const MOST_PHASES: usize = 64;

workload_file! {
    for directories:
    struct File {
        clients: Option<Spanned<u32>>,
        rate: Option<Spanned<Rate>>,
        arrival: Option<Spanned<Spacing>>,
        closed: Option<Spanned<bool>>,
        stands_for: Option<Spanned<String>>,
        // Not the cache of other models, which lies before a device.
        cache: Option<CachePolicy>,
        durable: Option<Spanned<Durable>>,
        io: Option<Spanned<Bytes>>,
        tree: Spanned<TreeKeys>,
        #[serde(default, rename = "do")]
        sequences: Vec<Spanned<DoKeys>>,
        #[serde(default)]
        phase: Vec<Spanned<PhaseKeys>>,
        chars: Option<Spanned<bool>>,
    }
}

/// The keys of a `[[phase]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PhaseKeys {
    name: Spanned<String>,
    #[serde(rename = "for")]
    span: Option<Spanned<Span>>,
    until: Option<Until>,
    files: Option<Spanned<u32>>,
    count: Option<Spanned<u64>>,
    collective: Option<Spanned<bool>>,
    at_least: Option<Spanned<Span>>,
    #[serde(default, rename = "do")]
    sequences: Vec<Spanned<DoKeys>>,
}

/// Reads a workload file of this model.
pub(super) fn read_files(source: Source<'_>) -> Result<Workload, Fault> {
    let mut file: File = source.parse_file()?;
    let stands_for = file.stands_for.as_ref().map(|text| read_stands_for(source, text)).transpose()?;
    let verify = file.verify.unwrap_or(true);
    let files = PlannedFiles { workload: meant(source, &file)?, phase: 0, verify, stands_for };
    if let Some(warm_up) = file.warm_up.as_ref() {
        let what = "a load on files has no warm-up: each phase is judged from its beginning";
        return source.refuse_span(
            warm_up.span(),
            what,
            "remove warm_up, or write a [[phase]] before the one that counts",
        );
    }
    let steps = steps_of_phases(&files);
    let is_lost = files.workload.durable == Some(Durable::None);
    let watermarks = if is_lost { vec![files_durable::NOT_DURABLE.to_owned()] } else { Vec::new() };
    let load = load_of_clients(files).ok_or_else(|| {
        Fault::for_file(source.file, "the rate is too large to be represented", "write a smaller rate")
    })?;
    let workload = Workload {
        timing: Timing { duration: DURATION, slice: SLICE, steps, ..Timing::default() },
        load,
        watermarks,
        ..Workload::new(source.file, "files", Vec::new(), |_| Vec::new())
    };
    workload.with_common_keys(source, file.common())
}

fn meant(source: Source<'_>, file: &File) -> Result<FilesWorkload, Fault> {
    let clients = source.value_within(file.clients.as_ref(), 1..=MOST_CLIENTS, "a number of clients")?;
    let clients = clients.unwrap_or(CLIENTS);
    let pace = pace(source, file)?;
    let io = source.value_within(file.io.as_ref(), files_do::IO, files_do::IO_IN_WORDS)?.unwrap_or(IO);
    let tree = files_tree::read(source, &file.tree, clients)?;
    let around = Around { source, tree: &tree, io };
    let sequences = files_do::read(around, &file.sequences)?;
    let mut phases = phases(around, file)?;
    let byte_by_byte = file.chars.as_ref().filter(|chars| *chars.get_ref());
    if let Some(chars) = byte_by_byte {
        files_chars::check(source, chars.span(), &tree, &phases)?;
        phases.extend(files_chars::phases_of_chars());
    }
    if phases.is_empty() && sequences.is_empty() {
        return Err(Fault::for_file(source.file, "the clients have nothing to do", "add a [[do]] with name and steps"));
    }
    refuse_unused(source, file)?;
    let workload = FilesWorkload {
        clients,
        pace,
        cache: file.cache.unwrap_or_default(),
        durable: None,
        io,
        tree: tree.clone(),
        sequences,
        phases,
        service: None,
    };
    check_phases(source, file, &workload)?;
    files_durable::apply(source, file.durable.as_ref(), workload)
}

/// What 1x of the load stands for: `20 streams`.
pub(super) fn read_stands_for(source: Source<'_>, text: &Spanned<String>) -> Result<Counted, Fault> {
    let parts = text.get_ref().split_once(' ');
    let counted = parts.and_then(|(number, name)| Some((number.parse::<u32>().ok().filter(|n| *n > 0)?, name)));
    match counted.filter(|(_, name)| is_name(name)) {
        Some((number, name)) => Ok(Counted { name: name.to_owned(), at_1x: number.into(), parts: None }),
        None => source.refuse_span(
            text.span(),
            "not a number of something that users count",
            "write for example \"20 streams\"",
        ),
    }
}

/// Refuses sequences of the workload that no phase uses, because each has its own.
fn refuse_unused(source: Source<'_>, file: &File) -> Result<(), Fault> {
    let are_used = file.phase.is_empty() || file.phase.iter().any(|phase| phase.get_ref().sequences.is_empty());
    match file.sequences.first().filter(|_| !are_used) {
        Some(unused) => source.refuse_span(
            unused.span(),
            "no phase uses this [[do]]: each has its own [[phase.do]]",
            "remove the [[do]], or the [[phase.do]] of a phase that shall use it",
        ),
        None => Ok(()),
    }
}

/// A rate with its arrival, or a closed loop.
fn pace(source: Source<'_>, file: &File) -> Result<FilesPace, Fault> {
    let closed = file.closed.as_ref().filter(|closed| *closed.get_ref());
    match (&file.rate, closed) {
        (Some(_), Some(closed)) => source.refuse_span(
            closed.span(),
            "closed and rate both say when sequences are wanted",
            "remove one of the two",
        ),
        (Some(rate), None) if rate.get_ref().is_zero() => {
            source.refuse_span(rate.span(), "a rate of 0 asks for nothing", "write for example \"200/s\"")
        }
        (Some(rate), None) => {
            let arrival = file.arrival.as_ref().map(|arrival| *arrival.get_ref()).unwrap_or_default();
            Ok(FilesPace::Open { rate: *rate.get_ref(), arrival })
        }
        (None, Some(_)) => match &file.arrival {
            Some(arrival) => {
                source.refuse_span(arrival.span(), "arrival is that of a rate", "remove arrival, or write a rate")
            }
            None => Ok(FilesPace::Closed),
        },
        (None, None) => {
            let remedy = "add rate = \"200/s\", of sequences, or closed = true";
            Err(Fault::for_file(source.file, "nothing says when sequences are wanted", remedy))
        }
    }
}

fn phases(around: Around<'_>, file: &File) -> Result<Vec<FilesPhase>, Fault> {
    let source = around.source;
    if let Some(beyond) = file.phase.get(MOST_PHASES) {
        return source.refuse_span(beyond.span(), "too many phases", format!("write at most {MOST_PHASES}"));
    }
    let mut phases: Vec<FilesPhase> = Vec::new();
    for table in &file.phase {
        let keys = table.get_ref();
        let name = keys.name.get_ref().clone();
        if !is_name(&name) || phases.iter().any(|phase| phase.name == name) {
            let what = "not a valid name of a phase, or it is used twice";
            return source.refuse_span(keys.name.span(), what, NAMES);
        }
        let is_length = |span: &Span| !span.is_zero() && *span <= LONGEST_RUN;
        if let Some(span) = keys.span.as_ref().filter(|span| !is_length(span.get_ref())) {
            return source.refuse_span(
                span.span(),
                "not a length of a phase",
                format!("write more than 0s, at most {LONGEST_RUN}"),
            );
        }
        if keys.sequences.is_empty() && file.sequences.is_empty() {
            let remedy = "add a [[phase.do]] with name and steps, or a [[do]] for all phases";
            return source.refuse_span(table.span(), "the clients have nothing to do in this phase", remedy);
        }
        let sequences = files_do::read(around, &keys.sequences)?;
        let span = keys.span.as_ref().map(|span| *span.get_ref());
        let until = keys.until.unwrap_or_default();
        let files = files_of_phase(source, keys, until)?;
        let count = count_of_phase(source, keys, until)?;
        let collective = is_collective(source, keys, until)?;
        let at_least = least_of_phase(source, keys)?;
        phases.push(FilesPhase { name, span, until, files, count, collective, at_least, sequences });
    }
    Ok(phases)
}

/// Of which files a phase takes every one.
fn files_of_phase(source: Source<'_>, keys: &PhaseKeys, until: Until) -> Result<Option<u32>, Fault> {
    match &keys.files {
        Some(files) if until == Until::Time => {
            let what = "files says which files a phase takes once, and this one lasts a time";
            source.refuse_span(files.span(), what, "remove files, or write until = \"done\"")
        }
        files => source.value_within(files.as_ref(), 1..=MOST_FILES, "a number of files"),
    }
}

/// Whether one client does what all others would do.
fn is_collective(source: Source<'_>, keys: &PhaseKeys, until: Until) -> Result<bool, Fault> {
    match keys.collective.as_ref().filter(|collective| *collective.get_ref()) {
        Some(collective) if until != Until::Done => {
            let what = "collective means that the first client takes every file once for all others";
            source.refuse_span(collective.span(), what, "write until = \"done\", or remove collective")
        }
        collective => Ok(collective.is_some()),
    }
}

/// How long a phase has to last.
fn least_of_phase(source: Source<'_>, keys: &PhaseKeys) -> Result<Option<Span>, Fault> {
    let Some(least) = &keys.at_least else { return Ok(None) };
    let is_possible = keys.span.as_ref().is_none_or(|span| least.get_ref() <= span.get_ref());
    if least.get_ref().is_zero() || !is_possible {
        let what = "not a time that a phase can last at least";
        return source.refuse_span(least.span(), what, "write more than 0s, and no more than its for");
    }
    Ok(Some(*least.get_ref()))
}

/// After how many sequences a phase is over.
fn count_of_phase(source: Source<'_>, keys: &PhaseKeys, until: Until) -> Result<Option<u64>, Fault> {
    match &keys.count {
        Some(count) if until != Until::Time => {
            let what = "count says after how many sequences a phase is over, and this one takes every file once";
            source.refuse_span(count.span(), what, "remove count, or write until = \"time\"")
        }
        count => source.value_within(count.as_ref(), 1..=MOST_COUNTED, "a number of sequences"),
    }
}

/// Whether the sequences of each phase, its own or those of the workload, fit to how it ends and to each other.
fn check_phases(source: Source<'_>, file: &File, workload: &FilesWorkload) -> Result<(), Fault> {
    for (index, phase) in workload.all_phases().iter().enumerate() {
        let own = file.phase.get(index).map(|keys| &keys.get_ref().sequences).filter(|own| !own.is_empty());
        let tables = own.unwrap_or(&file.sequences);
        files_do::check_phase(source, tables, &phase.sequences, phase.takes_every_file_once())?;
        let others = |sequence: &&Sequence| sequence.pick != Pick::Own || sequence.on == SequenceFiles::Shared;
        if let Some(sequence) = phase.sequences.iter().find(others).filter(|_| phase.collective) {
            let span = files_do::span_of(tables, &sequence.name).unwrap_or_default();
            let what = format!(
                "in a collective phase the first client works on the files of all, and {} does not",
                sequence.name
            );
            return source.refuse_span(span, what, "remove its pick and on, or collective from the phase");
        }
        if let Some(sequence) = phase.sequence_in_a_race() {
            let span = files_do::span_of(tables, &sequence.name).unwrap_or_default();
            let what = format!("{} is on files of others, in a phase that removes names or cuts files", sequence.name);
            return source.refuse_span(span, what, "write pick = \"own\", or another phase");
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod files_tests;
