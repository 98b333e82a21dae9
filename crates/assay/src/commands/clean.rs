//! `assay clean`: removes what an interrupted run on a file system left in a directory. What is not ours stays, and is
//! named.

use crate::stdout::show_text;
use assay_files::error_in_words;
use assay_files::own_dir::{self, Conditions, Place, Report, State, Why};
use assay_run::failure::{Failure, code, one_line};
use std::fmt::Write;
use std::path::PathBuf;

/// `assay clean`
#[derive(clap::Args, Debug)]
#[command(after_help = "Exit code: 0 when nothing of a run is left, 4 when something stays that is in use or that \
                        somebody else put there, 5 when this machine could not remove it. With --list: 0.")]
pub(crate) struct Clean {
    /// The directory that the run was given. In it the run made one of its own: assay- and eight digits
    pub path: PathBuf,
    /// Only list what would be removed and what would stay; change nothing
    #[arg(long)]
    pub list: bool,
}

/// Removes the directories of runs, or lists them.
pub(crate) fn clean_directory(args: &Clean) -> Result<u8, Failure> {
    let place = Place::open(&args.path, Conditions::default()).map_err(Failure::from_directory_trouble)?;
    let reports = if args.list { own_dir::list(&place) } else { own_dir::clean(&place) };
    let reports = reports.map_err(Failure::from_directory_trouble)?;
    show_text(&text(&reports, &place.shown()));
    let stays = |report: &Report| !report.is_clean();
    if args.list || !reports.iter().any(stays) {
        return Ok(code::DONE);
    }
    let message = format!(
        "not everything in {} could be removed: look at what stays, move away what is not of a run, and repeat the command",
        place.shown()
    );
    let only_failed = reports.iter().filter(|report| stays(report)).all(Report::has_only_failed);
    Err(if only_failed { Failure::host_unable(message) } else { Failure::refused_for_safety(message) })
}

fn text(reports: &[Report], place: &str) -> String {
    let mut text = String::new();
    if reports.is_empty() {
        let _ = writeln!(text, "no run has left anything in {place}");
    }
    for report in reports {
        let _ = writeln!(text, "{} {}", report.name, what_became_of(report));
        for left in &report.left {
            let _ = match left.why {
                Why::Foreign(why) => writeln!(text, "  {} {why}", left.path),
                Why::Failed(why) => writeln!(text, "  {} cannot be removed: {}", left.path, error_in_words(why)),
            };
        }
        let named = report.left.len() as u64;
        if report.left_count > named {
            let _ = writeln!(text, "  and {} more", report.left_count - named);
        }
    }
    text
}

fn what_became_of(report: &Report) -> String {
    let entries = match report.entries {
        1 => "1 entry".to_owned(),
        many => format!("{many} entries"),
    };
    let of_run =
        report.marker.as_ref().map_or_else(String::new, |marker| format!(" of the run {}", one_line(&marker.run)));
    match &report.state {
        State::Removed => format!("was removed, with {entries}{of_run}"),
        State::Removable => format!("would be removed, with {entries}{of_run}"),
        State::Stays => format!("stays: {entries}{of_run} can go, and in it stay"),
        State::InUse => match &report.marker {
            Some(marker) => {
                format!("is in use: process {} on the host {}{of_run}", marker.process, one_line(&marker.host))
            }
            None => "is in use: it is being made or cleaned".to_owned(),
        },
        State::NotOurs(why) => format!("is left as it is: it {why}"),
        State::Failed(why) => format!("could not be removed: {why}"),
    }
}
