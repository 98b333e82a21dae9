//! How a run is carried out, and where its results go.

use super::ranks::as_carrier;
use super::{Access, OnDirectory, Pace};
use crate::screen::print_to_stderr;
use assay_base::{Measure, Span};
use assay_device::probe::{disk_stat, disk_under_path};
use assay_device::safety::{DevNum, Roots};
use assay_device::select::Choice;
use assay_engine::Limits;
use assay_engine::shell::Spin;
use assay_run::drive::Manner;
use assay_run::host::ranks::group::RankGroup;
use assay_run::procedure::settings::{ResultsPlace, Settings};
use std::path::{Path, PathBuf};

/// How a run is carried out and where its results go.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct Output {
    /// Number of worker threads that issue operations, 1 to 256 [default: chosen from the load]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub workers: Option<u16>,
    /// Time before an operation is due in which a worker spins instead of sleeping, 0s to 1s [default: as long as sleeps were
    /// seen to end late, at least 50us where a worker's operations are less than 30us apart]
    #[arg(long, value_name = "TIME", value_parser = parse_spin)]
    pub spin: Option<Span>,
    /// Longest time to wait at the end of the run for operations in flight, 100ms to 1h [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_patience)]
    pub drain: Option<Span>,
    /// Time after which an operation in flight counts as stuck, which is a failure, 100ms to 1h [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_patience)]
    pub stuck: Option<Span>,
    /// Do not check what the run left in a database. The result is marked
    #[arg(long)]
    pub no_check: bool,
    /// The disk that holds a database, such as /dev/sdb, where its server's files are not found on this machine. What the
    /// disk does is recorded beside the transactions. Repeat it for a second one
    #[arg(long, value_name = "DEVICE", value_delimiter = ',', value_parser = parse_disk)]
    pub disk: Vec<DevNum>,
    #[command(flatten)]
    pub on_directory: OnDirectory,
    /// Directory for the log and the results. It must not exist yet [default: assay-runs/NAME-TIME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Continue the interrupted run in this directory. Repeat the command of the run and add this option
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub resume: Option<PathBuf>,
    /// Run in the background, so that the run continues when the terminal is closed. `assay watch DIR` follows it
    #[arg(long)]
    pub detach: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Judge all criteria by this time: response (from the scheduled time to completion) or service (from issue to completion)
    /// [default: the time that each criterion names]
    #[arg(long = "judge", value_name = "MEASURE")]
    pub judge_on: Option<Measure>,
}

impl Output {
    /// The manner in which `engine` carries operations out.
    pub(crate) fn run_manner(&self, engine: Choice) -> Manner {
        let usual = Limits::default();
        let limits =
            Limits { drain: self.drain.unwrap_or(usual.drain), stuck: self.stuck.unwrap_or(usual.stuck), ..usual };
        let (unchecked, disks) = (self.no_check, self.disk.clone());
        let (spin, judge_on) = (self.spin.map(Spin::Fixed), self.judge_on);
        let directory = self.on_directory.to_manner();
        Manner { engine, workers: self.workers, spin, limits, judge_on, unchecked, disks, directory }
    }

    /// The place of the results.
    pub(crate) fn results_place(&self) -> ResultsPlace {
        ResultsPlace { out: self.out.clone(), resume: self.resume.clone() }
    }

    /// The same for runs that are carried by several ranks, where there are some.
    pub(crate) fn settings_with_ranks<'a>(
        &self,
        access: &'a Access,
        pace: &Pace,
        criteria: &'a [String],
        ranks: Option<&'a RankGroup<'_>>,
    ) -> Settings<'a> {
        Settings { carrier: as_carrier(ranks), ..self.run_settings(access, pace, criteria) }
    }

    /// The settings of runs by these options and those of other groups.
    pub(crate) fn run_settings<'a>(&self, access: &'a Access, pace: &Pace, criteria: &'a [String]) -> Settings<'a> {
        Settings {
            pace: pace.to_pace(),
            criteria,
            manner: self.run_manner(access.engine),
            judge_on: self.judge_on,
            place: self.results_place(),
            open: Box::new(|named, needs| access.open_targets(named, needs)),
            carrier: None,
            tell: print_to_stderr,
        }
    }
}

/// Parses how long a worker may spin. More than a second would not be waiting for a timer any more.
fn parse_spin(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|e: assay_base::UnitError| e.to_string())?;
    if span <= Span::from_secs(1) { Ok(span) } else { Err("write 0s to 1s".to_owned()) }
}

/// A block device for which the kernel counts, or that below a file or directory.
fn parse_disk(text: &str) -> Result<DevNum, String> {
    let roots = Roots::of_machine();
    let number = disk_under_path(&roots, Path::new(text)).filter(|number| disk_stat(&roots, *number).is_some());
    number.ok_or_else(|| "no disk of this machine; write a block device such as /dev/sdb".to_owned())
}

/// Parses how long a device is waited for. With less than the minimum every device is stuck, with more than the maximum a hung
/// one is never noticed.
fn parse_patience(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|e: assay_base::UnitError| e.to_string())?;
    if (Span::from_ms(100)..=Span::from_secs(3600)).contains(&span) {
        Ok(span)
    } else {
        Err("write 100ms to 1h".to_owned())
    }
}
