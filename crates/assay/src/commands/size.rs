//! `assay size`: which of several drives carries production's load, how many times of it, and how many are needed.
//!
//! The comparison itself is [`assay_run::procedure::sizing`]; this shows it. All candidates are opened before the first run, so that a
//! missing token is not found only after a night.

use super::fit::Aim;
use crate::args::{Access, Judged, Output, Pace};
use crate::candidates;
use crate::progress::Progress;
use crate::stdout::{print_json, show_text};
use assay_base::{Multiple, Share, Span};
use assay_judge::sizing::{Candidate, Demand, write_text};
use assay_run::failure::{Failure, escaped_path, one_line};
use assay_run::log::results::render_text;
use assay_run::observer::Observer;
use assay_run::open::targets;
use assay_run::procedure::searching::Bounds;
use assay_run::procedure::several::Several;
use assay_run::procedure::sizing::{Comparing, FILE, PAGE, Testing};
use assay_run::workloads::production::Production;
use clap_complete::engine::ArgValueCompleter;

/// `assay size`
#[derive(clap::Args, Debug)]
#[command(mut_arg("measure", |arg| arg.help("Length of each run of the search, such as 6h [default: the workload's, at most 6h]")), after_help = "\
Drives needed = drives of production x --growth / (what one candidate holds x (1 - --headroom)), rounded up. It counts load alone: what
the data take is another bound.
Exit code: 0 when at least one candidate carries the load or a part of it, 10 when none does or an operation failed on one, 11 when
nothing is known of any, 12 when the command was cut short and nothing failed. A candidate that fails is a row of the table.")]
pub(crate) struct Size {
    /// A profile that `assay import` made, with the iostat of its drive
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub profile: String,
    /// The candidates: block devices, files, sim:flash, sim:flash-worn, sim:disk or null:SIZE
    #[arg(required = true, add = ArgValueCompleter::new(candidates::target_candidates))]
    pub targets: Vec<String>,
    /// How many times production's load is to be carried, such as 2x
    #[arg(long, value_name = "LOAD", default_value = "2x")]
    pub growth: Multiple,
    /// Share of what a drive holds that is to be left free
    #[arg(long, value_name = "SHARE", default_value = "30%", value_parser = parse_headroom)]
    pub headroom: Share,
    /// Drives that production has [default: those in the profile]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub drives: Option<u32>,
    #[command(flatten)]
    pub aim: Aim,
    /// Length of a round of the fit
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub fit_for: Span,
    /// Highest load to try, such as 20x [default: no limit]
    #[arg(long, value_name = "LOAD")]
    pub to: Option<Multiple>,
    /// How exactly to find the limit: the search ends when the loads that pass and fail are this close
    #[arg(long, value_name = "LOAD", default_value = "0.25x")]
    pub resolution: Multiple,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub judged: Judged,
    #[command(flatten)]
    pub access: Access,
    #[command(flatten)]
    pub output: Output,
}

fn parse_headroom(text: &str) -> Result<Share, String> {
    let share: Share = text.parse().map_err(|e: assay_base::UnitError| e.to_string())?;
    if share <= Share::from_percent(90) { Ok(share) } else { Err("write 0% to 90%".to_owned()) }
}

/// Tests all candidates, shows the comparison, writes it to the run directory.
pub(crate) fn size_drives(args: &Size) -> Result<u8, Failure> {
    let search = Bounds { from: Some(first_load(args.to)), to: args.to, resolution: Some(args.resolution) };
    refuse_duplicates(&args.targets)?;
    let production = Production::read_profile(&args.profile)?;
    let mut start = production.workload_at(&production.profile_knobs())?;
    start.verification.verify = false;
    let mut opened = Vec::new();
    for target in &args.targets {
        let mut settings = args.output.run_settings(&args.access, &args.pace, &args.judged.criteria);
        (settings.pace.measure, settings.pace.verify) = (Some(args.fit_for), false);
        opened.push(Several::open_for_verb("size", start.clone(), std::slice::from_ref(target), settings)?);
    }
    let dir = opened[0].choose_directory()?;
    let mut progress = Progress::new(false);
    let testing = Testing { production: &production, aim: args.aim.to_aim(), search, pace: args.pace.to_pace() };
    let comparing = Comparing::begin_or_resume(
        testing,
        &args.targets,
        drive_demand(args, &production),
        &dir,
        args.output.resume.is_some(),
    )?;
    let sizing = comparing.run_candidates(opened, &mut progress)?;
    if args.output.json {
        print_json(&sizing)?;
    } else {
        show_text(&render_text(|out| write_text(&sizing, out))?);
        if sizing.candidates.iter().any(Candidate::is_cut_short) {
            progress.say_line(&crate::again::cut_short(&dir));
        }
        progress
            .say_line(&format!("sizing in {}: {FILE}, {PAGE}, and a directory for each candidate", escaped_path(&dir)));
    }
    Ok(sizing.verdict().exit_code())
}

/// The first load of a search: production's own.
fn first_load(to: Option<Multiple>) -> Multiple {
    to.map_or(Multiple::ONE, |to| to.min(Multiple::ONE))
}

/// Refuses a target that is given twice, even by different names.
fn refuse_duplicates(names: &[String]) -> Result<(), Failure> {
    let paths: Vec<String> =
        names.iter().filter(|name| !name.starts_with("sim:") && !name.starts_with("null:")).cloned().collect();
    targets::parse_block_targets(&paths)?;
    let twice = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
    match twice {
        Some((_, name)) => {
            Err(Failure::bad_usage(format!("{} is given twice; give each candidate once", one_line(name))))
        }
        None => Ok(()),
    }
}

/// The demand on the drives.
fn drive_demand(args: &Size, production: &Production) -> Demand {
    let drives = args.drives.unwrap_or_else(|| u32::try_from(production.drives.len()).unwrap_or(u32::MAX).max(1));
    Demand { drives, growth: args.growth, headroom: args.headroom }
}
