//! `assay import msr`, `alibaba`, `tencent`, `spc` and `oracle-general`: a profile of a trace that others have published.

use crate::screen::print_to_stderr;
use crate::stdout::{print_document, print_json};
use assay_base::Multiple;
use assay_formats::public_traces::{LeftOut, PublicTrace, TraceReader, Volume, Volumes};
use assay_model::profile::{Counting, Profile, ProfilePart, write_profile};
use assay_run::failure::{Failure, code, escaped_path, one_line};
use assay_run::files;
use assay_run::log::results;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A published trace.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Files are read as a stream, one after the other, as parts of one trace. A trace of several volumes needs --volume: its message names the
busiest. --speed 2x lets the trace pass in half the time: the same requests, bursts twice as dense and half as long. --load 2x is the
load of two such applications at once, each on places of its own: twice the rate on twice the space, and bursts that rarely coincide.")]
pub(crate) struct Published {
    /// Files of the trace, unpacked
    #[arg(required = true, value_name = "FILES", value_hint = clap::ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// The volume to import
    #[arg(long, value_name = "NAME")]
    pub volume: Option<String>,
    /// How many such applications there are, on places of their own
    #[arg(long, value_name = "TIMES", default_value = "1x")]
    pub load: Multiple,
    /// How many times as fast the trace passes
    #[arg(long, value_name = "TIMES", default_value = "1x")]
    pub speed: Multiple,
    /// File to write the profile to, which must not exist yet [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Name of the profile [default: that of the volume]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Print the profile and what was counted as JSON
    #[arg(long)]
    pub json: bool,
}

/// Number of bytes read at once.
const PIECE: usize = 1 << 20;
/// The most applications at once.
const COPIES_MAX: u64 = 1024;
/// How many volumes a message names.
const NAMED: usize = 8;

/// Reads the trace and prints or writes the profile.
pub(super) fn import_published(kind: PublicTrace, args: &Published) -> Result<u8, Failure> {
    let copies = whole_copies(args.load)?;
    let speed = args.speed.as_f64();
    if speed <= 0.0 {
        return Err(Failure::bad_usage("--speed 0x: a trace that does not pass; write 2x for twice as fast"));
    }
    if let Some(out) = &args.out {
        results::refuse_taken_path(out)?;
    }
    let mut reader = TraceReader::new(kind, args.volume.as_deref(), speed);
    for file in &args.files {
        read_trace(file, &mut reader)?;
    }
    let (volumes, left_out) = reader.into_counts();
    let volume = chosen_volume(kind, &volumes, &left_out, args)?;
    let name = args.name.clone().unwrap_or_else(|| one_line(&volume.name));
    let text = profile_text(kind, volume, copies, &name, &left_out);
    match &args.out {
        Some(out) => results::write_new(out, &text)?,
        None if args.json => {}
        None => print_document(&text),
    }
    report_trace(volume, &left_out, args, &text)?;
    Ok(code::DONE)
}

fn whole_copies(load: Multiple) -> Result<u32, Failure> {
    match load.as_ratio() {
        (copies @ 1..=COPIES_MAX, 1) => Ok(copies as u32),
        _ => Err(Failure::bad_usage(format!(
            "--load {load}: so many applications at once are a whole number, 1x to {COPIES_MAX}x; the profile's own rates follow --load of a run"
        ))),
    }
}

fn read_trace(path: &Path, reader: &mut TraceReader) -> Result<(), Failure> {
    let unreadable = |e: &std::io::Error| Failure::bad_workload(format!("{} cannot be read: {e}", escaped_path(path)));
    let mut file = files::open_named_file(path).map_err(|e| unreadable(&e))?;
    let mut piece = vec![0; PIECE];
    loop {
        let n = file.read(&mut piece).map_err(|e| unreadable(&e))?;
        if n == 0 {
            reader.end_file();
            return Ok(());
        }
        reader.feed_bytes(&piece[..n]);
    }
}

fn chosen_volume<'a>(
    kind: PublicTrace,
    volumes: &'a Volumes,
    left_out: &LeftOut,
    args: &Published,
) -> Result<&'a Volume, Failure> {
    let busiest = volumes.busiest(NAMED);
    let named: Vec<String> =
        busiest.iter().map(|(name, requests)| format!("{} ({requests} requests)", one_line(name))).collect();
    let all = volumes.busiest(usize::MAX).len();
    match (volumes.counted(), &args.volume) {
        (Some(_), None) if all > 1 => {
            let what = format!("the trace has {all} volumes; the busiest are {}", named.join(", "));
            Err(Failure::bad_usage(what).with_advice("name one of them with --volume NAME"))
        }
        (Some(volume), _) => Ok(volume),
        (None, Some(wanted)) if all > 0 => {
            let what = format!("the trace has no volume {}; the busiest are {}", one_line(wanted), named.join(", "));
            Err(Failure::bad_usage(what).with_advice("name one of them with --volume NAME"))
        }
        (None, _) => {
            let first =
                left_out.first.as_ref().map_or_else(String::new, |(number, text)| format!("; {number} is {text}"));
            let what = format!("there is no request of a trace of the kind {kind}{first}");
            Err(Failure::bad_workload(what)
                .with_advice("unpack the files first; `assay import --help` lists the kinds"))
        }
    }
}

fn profile_text(kind: PublicTrace, volume: &Volume, copies: u32, name: &str, left_out: &LeftOut) -> String {
    let counting = Counting {
        seconds: volume.seconds(),
        end: volume.end,
        source: format!("{kind} trace"),
        words: String::new(),
        least_count: 1,
        copies,
    };
    let part = ProfilePart { name: one_line(&volume.name), ..ProfilePart::from_counts(&volume.observed, &counting) };
    let mut head = vec![
        format!("What a published trace asks of its drive, made by `assay import {kind}`. Every number may be edited;"),
        "docs/formats/profile.md lists the keys.".to_owned(),
    ];
    if kind == PublicTrace::OracleGeneral {
        head.push("Objects have no place: heat and re-use are those of the objects, and runs mean nothing.".to_owned());
    }
    if left_out.damaged > 0 {
        head.push(format!("{} lines or records say no request and are left out.", left_out.damaged));
    }
    write_profile(&Profile { parts: vec![part], ..Profile::default() }, name, &head)
}

/// Says what was read, and what was left out.
fn report_trace(volume: &Volume, left_out: &LeftOut, args: &Published, text: &str) -> Result<(), Failure> {
    let (reads, writes) = (&volume.observed.reads, &volume.observed.writes);
    if args.json {
        return print_json(&serde_json::json!({
            "schema": 1,
            "profile": text,
            "file": args.out,
            "volume": volume.name,
            "seconds": volume.seconds(),
            "reads": reads.operations,
            "writes": writes.operations,
            "left_out": left_out.damaged,
        }));
    }
    let name = one_line(&volume.name);
    print_to_stderr(&format!(
        "{name}: {} reads and {} writes in {:.1} s",
        reads.operations,
        writes.operations,
        volume.seconds()
    ));
    if let Some((number, first)) = &left_out.first {
        print_to_stderr(&format!(
            "note: {} lines or records are left out; the first is {number}: {first}",
            left_out.damaged
        ));
    }
    Ok(())
}
