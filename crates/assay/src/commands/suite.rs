//! `assay suite mounts`: which of several mounts carries the work, by workloads on each of them in several rounds.
//!
//! The suite itself is [`assay_run::procedure::mounts`]; this opens the mounts and shows the result. All mounts are opened before the
//! first run, so that one that is refused is not found only after hours.

use crate::args::{Access, Output, Pace};
use crate::progress::Progress;
use crate::stdout::{print_json, show_text};
use assay_base::{Multiple, Span};
use assay_judge::Verdict;
use assay_judge::suite::{MOST_ROUNDS, Suite, write_html, write_text};
use assay_run::NamedDirectory;
use assay_run::failure::{Failure, escaped_path};
use assay_run::log::results::render_text;
use assay_run::observer::Observer;
use assay_run::procedure::kept::write_page;
use assay_run::procedure::mounts::{
    ChosenWorkload, FILE, MountSuite, NamedMount, OpenedMounts, PAGE, SuiteChoices, SuiteDocument, plan_suite,
};
use assay_run::procedure::settings::Settings;
use assay_run::procedure::several::Several;
use std::collections::BTreeMap;
use std::path::Path;

/// The verb, in the name of the directory of the results.
const VERB: &str = "suite-mounts";
/// The name of the target in memory, and the word that asks for none.
const MEMORY: &str = "memory";
const NO_MEMORY: &str = "none";
/// The type of a file system in memory.
const TMPFS: &str = "tmpfs";

/// `assay suite`
#[derive(clap::Args, Debug)]
pub(crate) struct SuiteArgs {
    /// Which suite
    #[command(subcommand)]
    pub kind: SuiteKind,
}

/// The suites.
#[derive(clap::Subcommand, Debug)]
pub(crate) enum SuiteKind {
    /// Compare mounts: the same workloads on a directory of each, round by round
    Mounts(Mounts),
}

/// `assay suite mounts`
#[derive(clap::Args, Debug)]
#[command(mut_arg("measure", |arg| arg.help("Length of each run, such as 60s; of a workload with phases, of each phase [default: 20s; phases keep their own]")), after_help = "\
In each round every workload runs on every mount, each time with another mount first; each run makes a directory of its own, compares what
it left with what it wrote, and removes it. A round is one unit of noise: fewer than 3 tell nothing.
Mounts are compared within their class, which the kernel says: shared (nfs, ceph, cifs, 9p, FUSE), network block (on rbd, nbd, iSCSI),
local. Ceilings are shown beside: the same workload in memory, the network links, the processors of this machine.
Exit code: 0 when every run passed, whatever differs; 10 when a run failed, 11 when one proves nothing, 12 when the command was cut short
and nothing failed.")]
pub(crate) struct Mounts {
    /// The mounts: a name for the result and a directory on the mount, such as nfs=/mnt/nfs. The others are compared with the first
    /// of their class
    #[arg(required = true, value_name = "NAME=DIR", num_args = 1.., value_hint = clap::ValueHint::DirPath)]
    pub mounts: Vec<String>,
    /// Number of rounds, 1 to 100
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_ROUNDS)))]
    pub rounds: u32,
    /// Workloads for directories, separated by commas: names of those that come with the program, or files
    /// [default: commit,mailspool,fileserver,build]
    #[arg(long, value_name = "WORKLOADS", value_delimiter = ',')]
    pub workloads: Vec<String>,
    /// Load, as a multiple of the workload's own (1x); for workloads with a rate
    #[arg(long, value_name = "LOAD", default_value = "1x")]
    pub load: Multiple,
    /// Compare mounts of different classes in one table, though they do different work
    #[arg(long)]
    pub anyway: bool,
    /// A directory on a tmpfs for the ceiling by memory, or none [default: as root a tmpfs that only the run sees, otherwise one that
    /// is there]
    #[arg(long, value_name = "DIR")]
    pub memory: Option<String>,
    /// What nobody can see from here, in your words: NAME.media, NAME.replicas or NAME.network of a mount, such as
    /// nfs.media="8 SAS disks"; may be given several times
    #[arg(long, value_name = "NAME.WHAT=TEXT")]
    pub about: Vec<String>,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub output: Output,
}

/// Makes the runs that are missing, and shows the suite.
pub(crate) fn run_suite(args: &SuiteArgs) -> Result<u8, Failure> {
    let SuiteKind::Mounts(args) = &args.kind;
    let mut named = NamedMount::parse_all(&args.mounts)?;
    NamedMount::add_about(&mut named, &args.about)?;
    let workloads = ChosenWorkload::find_all(&args.workloads, &args.pace.to_pace())?;
    let access = Access::default();
    let opened = open_mounts(args, named, &workloads, &access)?;
    let length = workloads.iter().fold(Span::ZERO, |sum, workload| sum + workload.length());
    let each = length.as_ns() / workloads.len() as u64;
    let choices = SuiteChoices { workloads, rounds: args.rounds, load: args.load, anyway: args.anyway };
    let planned = plan_suite(&opened, &choices)?;
    let dir = opened.mounts[0].1.choose_directory()?;
    let mut progress = Progress::new(false);
    let suite = MountSuite::begin_or_resume(&opened, choices, planned, &dir, args.output.resume.is_some())?;
    let all = Span::from_ns(each.saturating_mul(suite.runs_left() as u64));
    if suite.runs_left() > 0 {
        progress.say_line(&format!(
            "{} runs: {} at most, and as long as their trees take to be made and compared",
            suite.runs_left(),
            all.human_text()
        ));
    }
    let (suite, ended) = suite.run_suite(&mut progress);
    show_suite(&suite, &dir, args.output.json, &progress)?;
    match ended {
        Err(why) if suite.verdict() == Verdict::Fail => progress.warn_user(&format!("error: {}", why.user_message())),
        ended => ended?,
    }
    Ok(suite.verdict().exit_code())
}

/// Opens a directory on each mount, and one in memory.
fn open_mounts<'a>(
    args: &Mounts,
    named: Vec<NamedMount>,
    workloads: &[ChosenWorkload],
    access: &'a Access,
) -> Result<OpenedMounts<'a>, Failure> {
    let mut mounts = Vec::new();
    for mount in named {
        let target = mount.target()?;
        let opened = open_directory(args, workloads, access, mount.directory.clone(), target)?;
        mounts.push((mount, opened));
    }
    let memory = match args.memory.as_deref() {
        Some(NO_MEMORY) => Err(Failure::bad_usage("--memory none")),
        Some(path) => {
            let mount = NamedMount { label: MEMORY.to_owned(), directory: path.to_owned(), about: BTreeMap::new() };
            let mut target = mount.target()?;
            target.file_system = Some(TMPFS.to_owned());
            target.is_ceiling = true;
            Ok(open_directory(args, workloads, access, path.to_owned(), target)?)
        }
        None => open_directory(args, workloads, access, MEMORY.to_owned(), NamedDirectory::in_memory()),
    };
    Ok(OpenedMounts { mounts, memory })
}

fn open_directory<'a>(
    args: &Mounts,
    workloads: &[ChosenWorkload],
    access: &'a Access,
    name: String,
    target: NamedDirectory,
) -> Result<Several<'a>, Failure> {
    let settings = args.output.run_settings(access, &args.pace, &[]);
    let first = &workloads[0];
    let settings = Settings { pace: first.pace.clone(), ..settings };
    Several::open_directory(VERB, first.first_step(), name, target, settings)
}

fn show_suite(suite: &Suite, dir: &Path, json: bool, progress: &Progress) -> Result<(), Failure> {
    if let Err(why) = write_page(&dir.join(PAGE), |text| write_html(suite, text)) {
        progress.warn_user(&format!("error: {}", why.user_message()));
    }
    if json {
        return print_json(&SuiteDocument::new(suite));
    }
    show_text(&render_text(|out| write_text(suite, out))?);
    if !suite.is_whole() {
        progress.say_line(&crate::again::cut_short(dir));
    }
    progress.say_line(&format!("suite in {}: {FILE}, {PAGE}, and a run directory for each run", escaped_path(dir)));
    Ok(())
}
