//! Makes a profile from what was collected on production hosts: a workload that a person can read and edit. The files are
//! read as a stream, however large they are; their kind is detected from their content.

use crate::screen::print_to_stderr;
use crate::stdout::{print_document, print_json};
use assay_formats::collect::assemble::{Assembled, Kind, assemble_profile};
use assay_formats::collect::{BlkparseFormat, Collector, FileSeen, Findings, Options};
use assay_model::profile::write_profile;
use assay_run::failure::{Failure, code, escaped_path, one_line};
use assay_run::files;
use assay_run::log::results;
use std::io::Read;
use std::path::{Path, PathBuf};

/// `assay import aerospike`, `iostat`, `blktrace`, `biosnoop` and `fio-iolog`
#[derive(clap::Args, Debug)]
#[command(after_help = "\
What a file is, is found out by looking at it. Files that are named one by one are of one node; of a directory that is named, the
files of each directory in it are, as scripts/collect makes them.
What is missing is listed with the command that collects it, and figures that do not fit together with both their places.")]
pub(crate) struct Collected {
    /// Files, or directories that contain them. NODE=FILE names the machine that a file comes from
    #[arg(required = true, value_name = "FILES", value_hint = clap::ValueHint::AnyPath)]
    pub files: Vec<String>,
    /// File to write the profile to, which must not exist yet [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Name of the profile [default: after its namespaces or drives]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// In asloglatency's tables, use the row of this time of day, such as 21:48:03, instead of the average
    #[arg(long, value_name = "TIME")]
    pub slice: Option<String>,
    /// Keep the first report of iostat, for output of `iostat -y`. Otherwise it is dropped, because it is the mean
    /// since the machine started
    #[arg(long)]
    pub keep_first_report: bool,
    /// The format that was given to `blkparse -f`, for a trace that was printed with it
    #[arg(long, value_name = "FORMAT", value_parser = BlkparseFormat::parse)]
    pub blkparse_format: Option<BlkparseFormat>,
    /// Print the profile and all findings as JSON
    #[arg(long)]
    pub json: bool,
}

/// Number of bytes read at once.
const PIECE: usize = 1 << 20;
/// Upper bound on the number of files, and on the depth of directories.
const FILES_MAX: usize = 4096;
const DEPTH_MAX: u32 = 8;

/// Reads the files and prints the profile. `word` is what the user typed for the kind.
pub(super) fn import_collected(word: &str, kind: Kind, args: &Collected) -> Result<u8, Failure> {
    if let Some(out) = &args.out {
        files::check_replaceable(out)
            .map_err(|e| Failure::host_unable(format!("{} cannot be written: {e}", escaped_path(out))))?;
    }
    let found = collect_findings(args)?;
    let assembled = assemble_profile(&found, kind);
    if assembled.profile.parts.is_empty() {
        report_findings(&found, &assembled);
        return Err(Failure::bad_workload(nothing_recognised(&found, kind)));
    }
    let name = args.name.clone().unwrap_or_else(|| name_of_profile(&assembled));
    let text = write_profile(&assembled.profile, &name, &profile_comment(word, &found, &assembled));
    match &args.out {
        Some(path) => results::write_new(path, &text)?,
        None if args.json => {}
        None => print_document(&text),
    }
    if args.json {
        print_json(&findings_json(&found, &assembled, &text))?
    } else {
        report_findings(&found, &assembled)
    }
    Ok(code::DONE)
}

/// The name of the profile where the user gives none.
fn name_of_profile(assembled: &Assembled) -> String {
    let mut names: Vec<&str> = assembled.profile.parts.iter().map(|part| part.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(4);
    one_line(names.join("+"))
}

fn collect_findings(args: &Collected) -> Result<Findings, Failure> {
    let mut paths = Vec::new();
    for word in &args.files {
        let (node, path) = node_of(word);
        if path.is_dir() {
            collect_files_below(&path, &node, 0, &mut paths)?
        } else {
            // Files that are named one by one belong together, wherever they are.
            paths.push(Named { path, node, group: String::new() })
        }
    }
    if paths.len() > FILES_MAX {
        return Err(Failure::bad_usage(format!("more than {FILES_MAX} files; name fewer")));
    }
    let options = Options {
        keep_first_report: args.keep_first_report,
        slice: args.slice.clone(),
        blkparse_format: args.blkparse_format.clone(),
    };
    let mut collector = Collector::new(options);
    for Named { path, node, group } in &paths {
        collector.begin_file(&path.to_string_lossy(), node, group);
        read_file(path, &mut collector)?;
        collector.end_file();
    }
    Ok(collector.finish())
}

/// Splits `NODE=FILE`, unless a file with that name exists.
fn node_of(word: &str) -> (String, PathBuf) {
    let whole = PathBuf::from(word);
    match word.split_once('=') {
        Some((node, path)) if !node.contains('/') && !whole.exists() => (node.to_owned(), PathBuf::from(path)),
        _ => (String::new(), whole),
    }
}

/// A file to be read.
struct Named {
    path: PathBuf,
    node: String,
    group: String,
}

/// All files of a directory, in the order of their names.
fn collect_files_below(path: &Path, node: &str, depth: u32, all: &mut Vec<Named>) -> Result<(), Failure> {
    if !path.is_dir() {
        let group = path.parent().map_or_else(String::new, |group| group.to_string_lossy().into_owned());
        if all.len() <= FILES_MAX {
            all.push(Named { path: path.to_path_buf(), node: node.to_owned(), group });
        }
        return Ok(());
    }
    if depth == DEPTH_MAX {
        return Err(Failure::bad_usage(format!(
            "{} is nested too deeply; name the files themselves",
            escaped_path(path)
        )));
    }
    let mut names =
        paths_in(path).map_err(|e| Failure::host_unable(format!("{} cannot be read: {e}", escaped_path(path))))?;
    names.sort();
    names.iter().try_for_each(|name| collect_files_below(name, node, depth + 1, all))
}

fn paths_in(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    dir.read_dir()?.map(|entry| Ok(entry?.path())).collect()
}

fn unreadable_file(file: &Path, why: &std::io::Error) -> Failure {
    Failure::bad_workload(format!("{} cannot be read: {why}", escaped_path(file)))
}

fn read_file(path: &Path, collector: &mut Collector) -> Result<(), Failure> {
    let mut file = files::open_named_file(path).map_err(|e| unreadable_file(path, &e))?;
    let mut piece = vec![0; PIECE];
    let mut first = true;
    loop {
        let n = file.read(&mut piece).map_err(|e| unreadable_file(path, &e))?;
        if n == 0 {
            return Ok(());
        }
        if std::mem::take(&mut first)
            && let Some((what, remedy)) = recognise_packed(&piece[..n])
        {
            return Err(Failure::bad_workload(format!("{} is {what}", escaped_path(path))).with_advice(remedy));
        }
        collector.feed_bytes(&piece[..n]);
    }
}

/// Recognises a file that is not text and names the tool that converts it.
fn recognise_packed(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    // The magic number of a binary trace, in either byte order: its lowest byte is the version.
    let magic: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
    let trace = magic[1..] == *b"tae" && magic[0] < 0x20 || magic[..3] == *b"eat" && magic[3] < 0x20;
    match bytes {
        _ if trace => Some(("a binary trace", "make text of it: blkparse -i NAME > trace.txt")),
        [0x1f, 0x8b, ..] => Some(("compressed (gzip)", "unpack it first: tar xzf FILE, or gunzip FILE")),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(("compressed (zstd)", "unpack it first: zstd -d FILE")),
        [0xfd, b'7', b'z', ..] => Some(("compressed (xz)", "unpack it first: xz -d FILE")),
        _ if bytes.get(257..262) == Some(b"ustar") => Some(("an archive", "unpack it first: tar xf FILE")),
        _ => None,
    }
}

fn nothing_recognised(found: &Findings, kind: Kind) -> String {
    let wanted = match kind {
        Kind::Aerospike => "tables of asloglatency, the server's log or output of asinfo",
        Kind::Application => "reports of iostat, or text of blkparse, biosnoop, iosnoop or a fio iolog",
    };
    let files = found.files.len();
    let files = if files == 1 { "the file holds".to_owned() } else { format!("the {files} files hold") };
    let format = if kind == Kind::Application {
        "if `blkparse -f` printed it, give its format with --blkparse-format\n  = "
    } else {
        ""
    };
    format!("{files} no load: nothing in them was recognised as {wanted}\n  = {format}scripts/collect collects what is needed; docs/sizing.md explains it")
        .replace("file holds no load: nothing in them", "file holds no load: nothing in it")
}

/// Describes a file in one line.
fn file_in_words(file: &FileSeen) -> String {
    let kinds: Vec<String> = file.kinds.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    let host = file.host.as_ref().map_or(String::new(), |host| format!(", of {host}"));
    let kinds = if kinds.is_empty() { "nothing that is known".to_owned() } else { kinds.join(", ") };
    let other = match &file.first_other {
        Some((line, text)) => format!("; {} other lines, the first is line {line}: {text}", file.other),
        None => String::new(),
    };
    format!("{}: {} lines, {kinds}{host}{other}", file.name, file.lines)
}

/// The comment above the profile.
fn profile_comment(kind: &str, found: &Findings, assembled: &Assembled) -> Vec<String> {
    let mut head = vec![
        format!("What production does to its drives, made by `assay import {}`. Every number may be edited;", kind),
        "docs/formats/profile.md lists the keys. Behind each number stands the place that it comes from.".to_owned(),
    ];
    if !assembled.missing.is_empty() {
        head.extend([String::new(), "Missing, with the command that collects it:".to_owned()]);
        head.extend(assembled.missing.iter().map(|one| format!("  {}: {}", one.what, one.command)));
    }
    if !assembled.contradictions.is_empty() {
        head.extend([String::new(), "These do not fit together:".to_owned()]);
        head.extend(assembled.contradictions.iter().map(|one| format!("  {} ({})", one.what, one.places.join("; "))));
    }
    let remarks = left_out_or_odd_findings(found, assembled);
    if !remarks.is_empty() {
        head.extend([String::new(), "Left out, or odd:".to_owned()]);
        head.extend(remarks.into_iter().map(|remark| format!("  {remark}")));
    }
    head
}

fn left_out_or_odd_findings(found: &Findings, assembled: &Assembled) -> Vec<String> {
    let remarks = found.remarks.iter().chain(&assembled.unused);
    let mut all: Vec<String> =
        remarks.map(|remark| format!("{}: {}", found.place_name(remark.place), remark.text)).collect();
    if found.more_remarks > 0 {
        all.push(format!("and {} more of these", found.more_remarks));
    }
    all
}

/// Reports what was read, what is missing and what is contradictory.
fn report_findings(found: &Findings, assembled: &Assembled) {
    found.files.iter().for_each(|file| print_to_stderr(&one_line(file_in_words(file))));
    left_out_or_odd_findings(found, assembled)
        .iter()
        .for_each(|remark| print_to_stderr(&one_line(format_args!("note: {remark}"))));
    for one in &assembled.contradictions {
        print_to_stderr(&one_line(format_args!("warning: {}", one.what)));
        one.places.iter().for_each(|place| print_to_stderr(&one_line(format_args!(" --> {place}"))));
    }
    for one in &assembled.missing {
        print_to_stderr(&one_line(format_args!("missing: {}", one.what)));
        print_to_stderr(&one_line(format_args!("  = {}", one.command)));
    }
}

fn findings_json(found: &Findings, assembled: &Assembled, text: &str) -> serde_json::Value {
    let missing = assembled.missing.iter().map(|one| serde_json::json!({ "what": one.what, "command": one.command }));
    let contradictions =
        assembled.contradictions.iter().map(|one| serde_json::json!({ "what": one.what, "places": one.places }));
    serde_json::json!({
        "schema": 1,
        "profile": text,
        "files": found.files.iter().map(file_as_json).collect::<Vec<_>>(),
        "missing": missing.collect::<Vec<_>>(),
        "contradictions": contradictions.collect::<Vec<_>>(),
        "remarks": left_out_or_odd_findings(found, assembled),
    })
}

fn file_as_json(file: &FileSeen) -> serde_json::Value {
    serde_json::json!({
        "name": file.name, "host": file.host, "lines": file.lines, "other_lines": file.other, "recognised": file.kinds,
    })
}
