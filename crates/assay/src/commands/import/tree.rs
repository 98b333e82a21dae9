//! `assay import tree`: describes a real directory so that the like of it can be made.

use crate::screen::print_to_stderr;
use crate::stdout::{print_document, print_json};
use assay_files::survey::{Survey, survey_tree, tree_table};
use assay_run::failure::{Failure, code, escaped_path};
use assay_run::log::results;
use std::path::PathBuf;

/// `assay import tree`
#[derive(clap::Args, Debug)]
#[command(after_help = "\
What is written is a table [tree] for workload files with model = \"files\": number and sizes of the files, by power of two; how deep they
are and how many are in a directory; lengths of names; symbolic links and further names. No name, no path and no byte of a file is in it.
No file is opened, no link is followed, and no other file system is entered. Change files to make the like of it larger or smaller.")]
pub(crate) struct Tree {
    /// The directory
    pub path: PathBuf,
    /// File to write the table to, which must not exist yet [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print the table and what was counted as JSON
    #[arg(long)]
    pub json: bool,
}

/// Counts the tree and prints or writes the table.
pub(super) fn import_tree(args: &Tree) -> Result<u8, Failure> {
    if let Some(out) = &args.out {
        results::refuse_taken_path(out)?;
    }
    let survey = survey_tree(&args.path).map_err(Failure::from_directory_trouble)?;
    let text = tree_table(&survey.counts);
    match &args.out {
        Some(out) => results::write_new(out, &text)?,
        None if args.json => {}
        None => print_document(&text),
    }
    if args.json {
        print_json(&survey_json(&survey, &text, args))?;
    } else {
        report_survey(&survey, args);
    }
    Ok(code::DONE)
}

/// Says what was counted, and what was left out and where.
fn report_survey(survey: &Survey, args: &Tree) {
    print_to_stderr(&format!("{}: {}", escaped_path(&args.path), survey.counts.in_words()));
    let left_out = survey.counts.left_out.in_words();
    if !left_out.is_empty() {
        print_to_stderr(&format!("note: left out: {}", left_out.join(", ")));
    }
    for remark in &survey.remarks {
        print_to_stderr(&format!("  {}: {}", remark.place, remark.why));
    }
}

fn survey_json(survey: &Survey, text: &str, args: &Tree) -> serde_json::Value {
    let counts = &survey.counts;
    let left_out = &counts.left_out;
    let remarks = survey.remarks.iter().map(|remark| serde_json::json!({ "place": remark.place, "why": remark.why }));
    serde_json::json!({
        "schema": 1,
        "tree": text,
        "file": args.out,
        "files": counts.files,
        "bytes": counts.bytes,
        "directories": counts.directories,
        "deepest": counts.deepest,
        "symlinks": counts.symlinks,
        "links": counts.links,
        "left_out": {
            "sockets": left_out.sockets,
            "pipes": left_out.pipes,
            "devices": left_out.devices,
            "mount_points": left_out.mount_points,
            "unreadable": left_out.unreadable,
            "unknown": left_out.unknown,
        },
        "remarks": remarks.collect::<Vec<_>>(),
    })
}
