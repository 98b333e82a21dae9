//! The steps of `model = "service"`: `{ write = "log" }`, `{ fdatasync = "log" }` and so on.

use super::names::{NAMES, is_name};
use super::source::Source;
use crate::files::service::{Amount, MadeBy, ServiceFile, ServiceStep, StepCall, StepPlace, WhichFile};
use assay_base::fault::nearest_known_name;
use assay_base::{Bytes, Fault, Share};
use serde::Deserialize;
use toml::Spanned;

/// The most steps of a writer, a task or a file.
const MOST_STEPS: usize = 64;
/// The most bytes of one call.
const LARGEST_CALL: Bytes = Bytes::from_kib(1 << 20);
/// The most calls of a step each time.
const MOST_CALLS: f64 = 10_000_000.0;

/// The keys of one step: one of them says the call and the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepKeys {
    write: Option<Spanned<String>>,
    mmap_write: Option<Spanned<String>>,
    read: Option<Spanned<String>>,
    sendfile: Option<Spanned<String>>,
    fsync: Option<Spanned<String>>,
    fdatasync: Option<Spanned<String>>,
    msync: Option<Spanned<String>>,
    truncate: Option<Spanned<String>>,
    rename: Option<Spanned<String>>,
    fsync_dir: Option<Spanned<String>>,
    create: Option<Spanned<String>>,
    unlink: Option<Spanned<String>>,
    make: Option<Spanned<String>>,
    recycle: Option<Spanned<String>>,
    restart: Option<Spanned<String>>,
    extend: Option<Spanned<String>>,
    of: Option<WhichFile>,
    bytes: Option<Spanned<Bytes>>,
    page: Option<Spanned<Bytes>>,
    pages: Option<Spanned<f64>>,
    pages_per_commit: Option<Spanned<f64>>,
    piece: Option<Spanned<Bytes>>,
    at: Option<StepPlace>,
    name: Option<Spanned<String>>,
    spread: Option<Spanned<Share>>,
    flush_every: Option<Spanned<u32>>,
    flush_waits: Option<bool>,
    from_here: Option<String>,
    until_here: Option<String>,
}

impl StepKeys {
    /// The calls that it names, with the files.
    fn named_calls(&self) -> Vec<(StepCall, &Spanned<String>)> {
        let keys = [
            (StepCall::Write, &self.write),
            (StepCall::MmapWrite, &self.mmap_write),
            (StepCall::Read, &self.read),
            (StepCall::Sendfile, &self.sendfile),
            (StepCall::Fsync, &self.fsync),
            (StepCall::Fdatasync, &self.fdatasync),
            (StepCall::Msync, &self.msync),
            (StepCall::Truncate, &self.truncate),
            (StepCall::Rename, &self.rename),
            (StepCall::FsyncDir, &self.fsync_dir),
            (StepCall::Create, &self.create),
            (StepCall::Unlink, &self.unlink),
            (StepCall::Make, &self.make),
            (StepCall::Recycle, &self.recycle),
            (StepCall::Restart, &self.restart),
            (StepCall::Extend, &self.extend),
        ];
        keys.into_iter().filter_map(|(call, file)| Some((call, file.as_ref()?))).collect()
    }

    /// Whether it makes an empty file of this name.
    pub(super) fn creates(&self, name: &str) -> bool {
        self.create.as_ref().is_some_and(|file| file.get_ref() == name)
    }

    fn amount(&self, source: Source<'_>, span: std::ops::Range<usize>) -> Result<Amount, Fault> {
        let sizes = Bytes::new(1)..=LARGEST_CALL;
        let bytes =
            source.value_within(self.bytes.as_ref(), Bytes::new(1)..=Bytes::new(1 << 50), "a number of bytes")?;
        let page = source.value_within(self.page.as_ref(), sizes, "a size of a page")?;
        let pages = source.value_within(self.pages.as_ref(), 0.0..=MOST_CALLS, "a number of pages")?;
        let per_commit = source.value_within(self.pages_per_commit.as_ref(), 0.0..=MOST_CALLS, "a number of pages")?;
        match (bytes, page, pages.or(per_commit)) {
            (None, None, None) => Ok(Amount::Group),
            (Some(bytes), None, None) => Ok(Amount::Bytes(bytes)),
            (None, Some(page), Some(_)) => {
                Ok(Amount::Pages { page, pages: pages.unwrap_or(0.0), per_commit: per_commit.unwrap_or(0.0) })
            }
            _ => source.refuse_span(
                span,
                "this does not say how many bytes",
                "write bytes, or page with pages or pages_per_commit",
            ),
        }
    }
}

/// The place of a file's name.
pub(super) fn place_of_file(source: Source<'_>, file: &Spanned<String>, names: &[String]) -> Result<usize, Fault> {
    if let Some(place) = names.iter().position(|name| name == file.get_ref()) {
        return Ok(place);
    }
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let remedy = match nearest_known_name(file.get_ref(), &known) {
        Some(name) => format!("did you mean {name}?"),
        None => format!("add a [[file]] with name = \"{}\"", file.get_ref().escape_debug()),
    };
    source.refuse_span(file.span(), format!("there is no file \"{}\"", file.get_ref().escape_debug()), remedy)
}

/// The steps of a list.
pub(super) fn read_steps(
    source: Source<'_>,
    list: &[Spanned<StepKeys>],
    names: &[String],
) -> Result<Vec<ServiceStep>, Fault> {
    if let Some(beyond) = list.get(MOST_STEPS) {
        return source.refuse_span(beyond.span(), "too many steps", format!("write at most {MOST_STEPS}"));
    }
    let mut steps = Vec::new();
    for keys in list {
        steps.push(read_step(source, keys, names)?);
    }
    Ok(steps)
}

fn read_step(source: Source<'_>, keys: &Spanned<StepKeys>, names: &[String]) -> Result<ServiceStep, Fault> {
    let span = keys.span();
    let keys = keys.get_ref();
    let calls = keys.named_calls();
    let [(call, file)] = calls.as_slice() else {
        let remedy = "write one call with its file, such as { write = \"log\" } or { fdatasync = \"log\" }";
        return source.refuse_span(span, "a step is one call", remedy);
    };
    let name = keys.name.as_ref();
    if let Some(name) = name.filter(|name| !is_name(name.get_ref())) {
        return source.refuse_span(name.span(), "not a valid name of a stream", NAMES);
    }
    let whole = Share::default()..=Share::from_percent(100);
    Ok(ServiceStep {
        call: *call,
        file: place_of_file(source, file, names)?,
        of: keys.of.unwrap_or_default(),
        amount: keys.amount(source, span)?,
        piece: source.value_within(keys.piece.as_ref(), Bytes::new(1)..=LARGEST_CALL, "a size of a call")?,
        at: keys.at.unwrap_or_default(),
        name: name.map(|name| name.get_ref().clone()),
        spread: source.value_within(keys.spread.as_ref(), whole, "a part of the time")?.unwrap_or_default(),
        flush_every: source.value_within(keys.flush_every.as_ref(), 1..=1_000_000, "a number of writes")?.unwrap_or(0),
        flush_waits: keys.flush_waits.unwrap_or(false),
        from_here: keys.from_here.clone(),
        until_here: keys.until_here.clone(),
    })
}

/// Whether a step of a writer or a task fits to its file; otherwise what is wrong, and what to write.
pub(super) fn check_step(
    step: &ServiceStep,
    file: &ServiceFile,
    is_writer: bool,
) -> Result<(), (String, &'static str)> {
    let moves = matches!(step.call, StepCall::Write | StepCall::MmapWrite | StepCall::Read | StepCall::Sendfile);
    let writes_group = step.call == StepCall::Write && is_writer;
    if moves && step.amount == Amount::Group && !writes_group {
        return Err(("this step moves no bytes".to_owned(), "write bytes, or page with pages or pages_per_commit"));
    }
    if step.amount == Amount::Group && step.at != StepPlace::End && moves {
        let what = "a group is written behind what was written before".to_owned();
        return Err((what, "remove at"));
    }
    let is_of_old = step.of == WhichFile::Old;
    let is_possible = matches!(step.call, StepCall::Unlink | StepCall::Fsync | StepCall::Fdatasync);
    if step.of == WhichFile::New || is_of_old && !is_possible {
        let what = "old and new files are those between which the writer moves on".to_owned();
        return Err((what, "write it to the next or make of the file, or write of = \"each\""));
    }
    if step.call == StepCall::Extend && !matches!(step.amount, Amount::Bytes(_)) {
        return Err(("nothing says by how much".to_owned(), "write bytes = \"16MiB\""));
    }
    let page = match step.amount {
        Amount::Pages { page, .. } => Some(page),
        Amount::Bytes(bytes) => Some(bytes),
        Amount::Group => None,
    };
    let is_paged = matches!(step.at, StepPlace::Random | StepPlace::FirstTwo) && step.call == StepCall::Write;
    if is_paged && (page != file.block || file.made_by != MadeBy::Written) {
        let what = format!("{} is not written before, in blocks of this size", file.name);
        return Err((what, "write made_by = \"written\" and block, of the size of a page, to the file"));
    }
    let is_stepped = file.block.is_some() && step.call == StepCall::Write && step.at == StepPlace::End;
    if is_stepped && page.is_some_and(|page| !page.get().is_multiple_of(file.block.map_or(1, Bytes::get))) {
        return Err((format!("{} is written in whole blocks", file.name), "write a multiple of the block"));
    }
    if step.call == StepCall::MmapWrite && page.is_some_and(|page| page > file.size) {
        return Err((format!("{} is smaller than that", file.name), "write fewer bytes"));
    }
    Ok(())
}
