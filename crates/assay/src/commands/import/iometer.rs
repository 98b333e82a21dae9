//! `assay import iometer`: makes a workload of each step of a configuration of IOmeter.

use crate::screen::print_to_stderr;
use crate::stdout::{print_document, print_json};
use assay_base::Span;
use assay_formats::iometer::{Step, all_steps, read_config, write_workload};
use assay_run::failure::{Failure, code, escaped_path, one_line};
use assay_run::files;
use assay_run::log::results;
use std::path::{Path, PathBuf};

/// `assay import iometer`
#[derive(clap::Args, Debug)]
#[command(after_help = "\
A configuration is run in steps: one for each access specification that is assigned to its workers, and for each number of outstanding
I/Os where it cycles them. A file of specifications alone, as they are often shared, is run with one outstanding I/O in each; say how
long with --for. A workload is one step. With several steps, --out NAME.toml writes NAME-1.toml, NAME-2.toml and so on;
run one after another. What a workload does otherwise than IOmeter stands in its note.")]
pub(crate) struct Iometer {
    /// Configuration that IOmeter saved (2004 to 1.1.0), usually with the ending .icf
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub file: PathBuf,
    /// Import only this access specification, as the workers do it that it is assigned to; without any, as one worker with one
    /// outstanding I/O
    #[arg(long, value_name = "NAME")]
    pub spec: Option<String>,
    /// How long it runs, in place of the run time in the configuration. Specifications are often shared without one
    #[arg(long = "for", value_name = "TIME")]
    pub run_time: Option<Span>,
    /// File to write the workload to, which must not exist yet [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Name of the workload [default: the name of the configuration]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Print the workloads as JSON
    #[arg(long)]
    pub json: bool,
}

/// The largest file that is read; the reader takes less.
const LARGEST: u64 = 2 << 20;

/// Reads the configuration and prints or writes its workloads.
pub(super) fn import_iometer(args: &Iometer) -> Result<u8, Failure> {
    let name = args.file.to_string_lossy();
    let text = files::read_file(&args.file, LARGEST)
        .map_err(|e| Failure::bad_workload(format!("{} cannot be read: {e}", escaped_path(&args.file))))?;
    // IOmeter writes names in the code page of its machine.
    let mut config = read_config(&name, &String::from_utf8_lossy(&text)).map_err(Failure::bad_workload)?;
    if let Some(run_time) = args.run_time {
        if run_time.is_zero() {
            return Err(Failure::bad_usage("--for 0s: a run takes time; write how long, such as 5min"));
        }
        config.run_time = run_time;
    }
    let steps =
        all_steps(&config, args.spec.as_deref()).map_err(|(what, remedy)| unfit_configuration(args, &what, &remedy))?;
    if steps.len() > 1 && args.out.is_none() && !args.json {
        return Err(refuse_several_steps(args, &steps));
    }
    let stem = args.file.file_stem().map_or_else(|| "iometer".to_owned(), |stem| one_line(stem.to_string_lossy()));
    let stem = args.name.clone().unwrap_or(stem);
    let numbers: Vec<String> = match steps.len() {
        1 => vec![String::new()],
        several => (1..=several).map(|number| format!("-{number}")).collect(),
    };
    let mut texts = Vec::new();
    for (step, number) in steps.iter().zip(&numbers) {
        let text = write_workload(&config, step, &format!("{stem}{number}"), &name);
        texts.push(text.map_err(|(what, remedy)| unfit_configuration(args, &what, &remedy))?);
    }
    let paths: Vec<Option<PathBuf>> =
        numbers.iter().map(|number| Some(numbered_path(args.out.as_ref()?, number))).collect();
    for path in paths.iter().flatten() {
        results::refuse_taken_path(path)?;
    }
    for (path, text) in paths.iter().zip(&texts) {
        match path {
            Some(path) => results::write_new(path, text)?,
            None if args.json => {}
            None => print_document(text),
        }
    }
    if args.json {
        let mut all = Vec::new();
        for ((step, text), path) in steps.iter().zip(&texts).zip(&paths) {
            all.push(serde_json::json!({ "title": step.title, "workload": text, "file": path }));
        }
        print_json(&serde_json::json!({ "schema": 1, "steps": all }))?;
    } else if args.out.is_some() {
        steps.iter().zip(&paths).for_each(|(step, path)| {
            print_to_stderr(&format!("{}: {}", path.as_deref().map_or_else(String::new, escaped_path), step.title));
        });
    }
    Ok(code::DONE)
}

/// `NAME-1.toml` for `NAME.toml`.
fn numbered_path(out: &Path, number: &str) -> PathBuf {
    if number.is_empty() {
        return out.to_owned();
    }
    let ending = out.extension().map_or_else(String::new, |ending| format!(".{}", ending.to_string_lossy()));
    let stem = out.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    out.with_file_name(format!("{stem}{number}{ending}"))
}

fn unfit_configuration(args: &Iometer, what: &str, remedy: &str) -> Failure {
    Failure::bad_workload(format!("{}: {what}", escaped_path(&args.file))).with_advice(remedy)
}

/// Standard output holds one workload.
fn refuse_several_steps(args: &Iometer, steps: &[Step]) -> Failure {
    let titles: Vec<String> =
        steps.iter().take(20).zip(1..).map(|(step, number)| format!("{number}. {}", step.title)).collect();
    let what =
        format!("{} runs {} steps one after another: {}", escaped_path(&args.file), steps.len(), titles.join("; "));
    Failure::bad_usage(what).with_advice(
        "write a workload for each of them with --out NAME.toml, or import one specification with --spec NAME",
    )
}
