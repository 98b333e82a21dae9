//! What the user typed. Every option is said once here; what it means is decided in `commands`.

use crate::complete;
use crate::confirm::confirm;
use crate::failure::Failure;
use crate::header::VERSION;
use crate::targets::{Allowed, Named, Targets, Wish};
use assay_base::{Bytes, Measure, Multiple, Rate, Share, Span};
use assay_device::safety::{Examination, RuleId, Standing, lasts};
use assay_device::select::Choice;
use assay_engine::Limits;
use assay_engine::shell::Spin;
use assay_model::WarmUp;
use assay_model::workload::{Adjust, Workload};
use clap::{Args, Parser, Subcommand};
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter};
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0 PASS or done   10 FAIL   11 INVALID (the test proves nothing)   12 INCOMPLETE (cut short)
  2 usage   3 workload or config invalid   4 refused by safety   5 host not able   70 bug

A target is a block device, a file, sim:flash | sim:flash-worn | sim:disk, or null:SIZE.
A block device is written only with --destroy-data TOKEN; `assay devices` prints the tokens.";

/// Certifies storage for the workload that will really run on it.
#[derive(Parser, Debug)]
#[command(name = "assay", version = VERSION, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// The main job: probe, prepare, load test, stress test, verdict, report
    Certify(Certify),
    /// One run of one workload
    Run(Run),
    /// The highest load that still passes, by doubling and bisecting
    Limit(Limit),
    /// Throughput against response, point by point, with the knee and the overall response time
    Curve(Curve),
    /// Clean and salt targets, so that reads read what was written
    Prep(Prep),
    /// Print the plan: streams, rates, bytes written, time, what will be destroyed, or refused. Writes nothing
    Explain(Explain),
    /// Slices, criteria and verdict from any log it knows
    Judge(Judge),
    /// Follow a run from another terminal: what it shows while it goes on, and its result
    Watch(Watch),
    /// One self-contained HTML file from a log
    Report(Report),
    /// Hold a certificate against its log: 0 PASS, 1 FAIL, 2 not to be trusted, 3 true and no certification
    Verify(Verify),
    /// Runs side by side, with what is noise and what is not
    Compare(Compare),
    /// A log in the format of another tool
    Export(Export),
    /// A drop-in for another tool, with its own arguments and output: act_storage, act_index, act_prep, act_latency
    As(As),
    /// The names of ACT's tools in a directory, each leading to this program; act_latency.py also for `python3 act_latency.py`
    Links(Links),
    /// Candidates for testing, the answer of each safety rule, and the consent tokens
    Devices(Devices),
    /// Agree in advance that a drop-in overwrites a device, for two days or as long as you say; list and take back
    Consent(Consent),
    /// What on this host would spoil a result, and the command that mends it
    Doctor(Doctor),
    /// The workloads that come with the program
    Workloads(Workloads),
    /// The completions of a shell, to be sourced
    Completions(Completions),
    /// The manual page of the program or of a verb; all of them into a directory with --out DIR
    Man(Man),
}

/// Options of everything that touches a target.
#[derive(Args, Debug, Clone, Default)]
pub struct Access {
    /// Consent to lose all data on the device with this token (from `assay devices`); one for each device
    #[arg(long, value_name = "TOKEN", value_delimiter = ',')]
    pub destroy_data: Vec<String>,
    /// Override a safety rule that allows it (S6, S7, S8); the certificate lists it
    #[arg(long = "override", value_name = "RULE", value_delimiter = ',')]
    pub overrides: Vec<RuleId>,
    /// Create file targets that do not exist, with this size
    #[arg(long, value_name = "SIZE")]
    pub create: Option<Bytes>,
    /// This is a container: processes outside it cannot be seen, go on all the same
    #[arg(long)]
    pub in_container: bool,
    /// How operations are carried: auto, io_uring, threads, or inline (for devices in memory)
    #[arg(long, default_value = "auto")]
    pub engine: Choice,
    /// The tokens were typed at the terminal, for a drop-in.
    #[arg(skip)]
    pub typed: bool,
    /// Consents given in advance, for a drop-in.
    #[arg(skip)]
    pub standing: Vec<Standing>,
}

/// Options of everything that runs a plan.
#[derive(Args, Debug, Clone, Default)]
pub struct Pace {
    /// Measured time, such as 60s or 24h
    #[arg(long = "for", value_name = "TIME")]
    pub measure: Option<Span>,
    /// Time before measuring in which the load is offered but not judged
    #[arg(long, value_name = "TIME")]
    pub warm_up: Option<Span>,
    /// Warm up until the load is steady, at most this long; see `docs/FORMATS.md`
    #[arg(long, value_name = "LIMIT", conflicts_with = "warm_up")]
    pub until_steady: Option<Span>,
    /// Length of the judging window
    #[arg(long, value_name = "TIME")]
    pub slice: Option<Span>,
    /// Seed of every random choice; printed with the result
    #[arg(long)]
    pub seed: Option<u64>,
    /// Hold everything that is read against what was written, and read it all back at the end
    #[arg(long)]
    pub verify: bool,
}

/// What a run is judged by. A certification is judged by its workload alone.
#[derive(Args, Debug, Clone, Default)]
pub struct Judged {
    /// Judge by this instead of the workload's own criteria, such as "reads p99 at most 5ms"; may be given several times
    #[arg(long = "criterion", value_name = "TEXT")]
    pub criteria: Vec<String>,
}

/// How long a worker may spin. Longer than a second is no waiting for a timer any more.
fn spin(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|e: assay_base::UnitError| e.to_string())?;
    match span <= Span::from_secs(1) {
        true => Ok(span),
        false => Err("write 0s to 1s".to_owned()),
    }
}

/// How long a device is waited for. With less than this every device is stuck, with more a hung one is never found out.
fn patience(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|e: assay_base::UnitError| e.to_string())?;
    match (Span::from_ms(100)..=Span::from_secs(3600)).contains(&span) {
        true => Ok(span),
        false => Err("write 100ms to 1h".to_owned()),
    }
}

impl Access {
    /// What it allows for the targets, where `confirm` has the last word.
    pub fn allowed<'a>(&'a self, confirm: &'a dyn Fn(&[&Examination]) -> Result<(), Failure>) -> Allowed<'a> {
        let Access { destroy_data: tokens, overrides, create, in_container, standing, .. } = self;
        Allowed { tokens, standing, overrides, create: *create, in_container: *in_container, confirm }
    }

    /// Opens what was named, through the safety gate and with the last word of whoever sits there.
    pub fn open(&self, named: &[(String, Named)], wish: Wish<'_>) -> Result<Targets, Failure> {
        let confirm = |devices: &[&Examination]| confirm(devices, self.typed);
        Targets::open(named, wish, self.allowed(&confirm))
    }
}

impl Pace {
    /// What it asks of the warm-up, if anything; rounds are the workload's where it has some.
    pub fn warm_up(&self, workload: &Workload) -> Option<WarmUp> {
        let round = match workload.warm_up {
            WarmUp::UntilSteady { round, .. } => round,
            WarmUp::For(_) => WarmUp::ROUND,
        };
        let until = self.until_steady.map(|limit| WarmUp::UntilSteady { limit, round });
        until.or(self.warm_up.map(WarmUp::For))
    }

    /// What it changes of a workload, on so many targets.
    pub fn adjust(&self, workload: &Workload, seed: u64, targets: u16) -> Adjust {
        Adjust {
            load: None,
            measure: self.measure,
            warm_up: self.warm_up(workload),
            slice: self.slice,
            seed,
            targets,
            verify: self.verify,
        }
    }
}

/// How a run is carried out and where its results go.
#[derive(Args, Debug, Clone, Default)]
pub struct Output {
    /// Worker threads, each with its own ring; chosen by the load when not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub workers: Option<u16>,
    /// Before an operation is due, spin for this long instead of sleeping; when not given, as long as sleeps end late, and
    /// 50us where a worker's operations are less than 30us apart; at most 1s
    #[arg(long, value_name = "TIME", value_parser = spin)]
    pub spin: Option<Span>,
    /// At the end, wait at most this long for operations in flight, 100ms to 1h [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = patience)]
    pub drain: Option<Span>,
    /// An operation in flight for longer is stuck, and a failure; 100ms to 1h [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = patience)]
    pub stuck: Option<Span>,
    /// Run directory; must not exist yet [default: assay-runs/NAME-TIME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Go on with the interrupted run in this directory: repeat its command and add this
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub resume: Option<PathBuf>,
    /// Go on in the background, where no closed terminal ends it; `assay watch` shows it
    #[arg(long)]
    pub detach: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Judge the device's service time instead of the response time
    #[arg(long = "judge", value_name = "MEASURE")]
    pub judge_on: Option<Measure>,
}

impl Output {
    /// How to wait, where that was asked for.
    pub fn spin(&self) -> Option<Spin> {
        self.spin.map(Spin::Fixed)
    }

    /// The limits of a run, as asked for.
    pub fn limits(&self) -> Limits {
        let usual = Limits::default();
        Limits { drain: self.drain.unwrap_or(usual.drain), stuck: self.stuck.unwrap_or(usual.stuck), ..usual }
    }
}

/// `assay watch`
#[derive(Args, Debug)]
pub struct Watch {
    /// The run's directory, or the run.jsonl in it
    pub dir: PathBuf,
}

/// `assay certify`
#[derive(Args, Debug)]
pub struct Certify {
    /// Devices to certify; none with --quick: a scratch file in the working directory. A workload may stand before them:
    /// act-index, a file, or an ACT config, whose own devices are certified where no others are named [default: act-storage]
    #[arg(value_name = "[WORKLOAD] TARGETS", add = ArgValueCompleter::new(complete::workloads_and_targets))]
    pub targets: Vec<String>,
    /// A first look in about a minute; not a certification
    #[arg(long)]
    pub quick: bool,
    /// Run every step to its end, also when it is certain that the verdict will be FAIL
    #[arg(long)]
    pub keep_going: bool,
    /// Sign verdict.json with this minisign secret key; read before anything else is done
    #[arg(long, value_name = "KEY")]
    pub sign: Option<PathBuf>,
    /// The load to certify for, as a multiple of 1x [default: 30x; of a file or a config its own; with --quick 1x]
    #[arg(long, value_name = "LOAD")]
    pub at: Option<Multiple>,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub access: Access,
    #[command(flatten)]
    pub output: Output,
}

/// `assay run`
#[derive(Args, Debug)]
pub struct Run {
    /// A workload file, or the name of a shipped one (`assay workloads`)
    #[arg(add = ArgValueCompleter::new(complete::workloads))]
    pub workload: String,
    /// What to run it on; more workloads before that run at the same time, each stream under its workload's name
    #[arg(value_name = "WORKLOAD... TARGETS", add = ArgValueCompleter::new(complete::workloads_and_targets))]
    pub targets: Vec<String>,
    /// The load as a multiple of the workload's 1x; for an ACT config, of ACT's: 2000 reads and 1000 writes a second on each device
    #[arg(long, value_name = "LOAD")]
    pub load: Option<Multiple>,
    /// Sign verdict.json with this minisign secret key; read before anything else is done
    #[arg(long, value_name = "KEY")]
    pub sign: Option<PathBuf>,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub judged: Judged,
    #[command(flatten)]
    pub access: Access,
    #[command(flatten)]
    pub output: Output,
}

/// How the highest load that passes is searched for.
#[derive(Args, Debug, Clone, Copy)]
pub struct Search {
    /// The load to begin with [default: 10x, or --to where that is lower]
    #[arg(long, value_name = "LOAD")]
    pub from: Option<Multiple>,
    /// Never go above this
    #[arg(long, value_name = "LOAD")]
    pub to: Option<Multiple>,
    /// How close to the limit to come
    #[arg(long, value_name = "LOAD", default_value = "1x")]
    pub resolution: Multiple,
}

/// `assay limit`
#[derive(Args, Debug)]
pub struct Limit {
    /// A workload file, or the name of a shipped one
    #[arg(add = ArgValueCompleter::new(complete::workloads))]
    pub workload: String,
    /// What to run it on
    #[arg(add = ArgValueCompleter::new(complete::targets))]
    pub targets: Vec<String>,
    #[command(flatten)]
    pub search: Search,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub judged: Judged,
    #[command(flatten)]
    pub access: Access,
    #[command(flatten)]
    pub output: Output,
}

/// `assay curve`
#[derive(Args, Debug)]
#[command(after_help = "\
Without --max the maximum is searched for first, as `assay limit` does (--from, --to, --resolution).
Exit code: 0 when every point passed, 10 when one did not hold (or no load did), 11 when one proves nothing, 12 when it was cut short.")]
pub struct Curve {
    /// A workload file, or the name of a shipped one
    #[arg(add = ArgValueCompleter::new(complete::workloads))]
    pub workload: String,
    /// What to run it on
    #[arg(add = ArgValueCompleter::new(complete::targets))]
    pub targets: Vec<String>,
    /// Shares of the maximum, each a run of its own
    #[arg(long, value_name = "SHARES", value_delimiter = ',', default_value = "10%,50%,80%,90%,95%,100%")]
    pub points: Vec<Share>,
    /// The load of 100 %: a multiple such as 30x, or the rate of the stream over all targets, such as 60000/s
    #[arg(long, value_name = "LOAD", conflicts_with_all = ["from", "to", "resolution"])]
    pub max: Option<Maximum>,
    /// Whose throughput and response [default: the stream of the first criterion]
    #[arg(long, value_name = "NAME")]
    pub stream: Option<String>,
    #[command(flatten)]
    pub search: Search,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub judged: Judged,
    #[command(flatten)]
    pub access: Access,
    #[command(flatten)]
    pub output: Output,
}

/// The load of a curve's 100 %.
#[derive(Clone, Copy, Debug)]
pub enum Maximum {
    /// Of the workload's 1x.
    Load(Multiple),
    /// Of the stream, over all targets.
    Rate(Rate),
}

impl std::str::FromStr for Maximum {
    type Err = String;
    fn from_str(text: &str) -> Result<Maximum, String> {
        let load = text.parse().map(Maximum::Load).ok();
        let rate = || text.parse().map(Maximum::Rate).ok().filter(|rate| !matches!(rate, Maximum::Rate(Rate::ZERO)));
        load.or_else(rate).ok_or_else(|| {
            format!("\"{}\" is neither a multiple nor a rate; write it like 30x or 60000/s", text.escape_debug())
        })
    }
}

/// `assay prep`
#[derive(Args, Debug)]
pub struct Prep {
    /// Devices or files to prepare, in parallel
    #[arg(required = true, add = ArgValueCompleter::new(complete::devices))]
    pub targets: Vec<String>,
    /// Discard everything first (TRIM), so that the device knows what is free
    #[arg(long)]
    pub discard: bool,
    /// Leave out the first pass, which writes zeros
    #[arg(long)]
    pub skip_zero: bool,
    /// Print the preparation records as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub access: Access,
}

/// `assay explain`
#[derive(Args, Debug)]
pub struct Explain {
    /// A workload file, the name of a shipped one, or `certify`: all that `assay certify TARGETS` would do
    #[arg(add = ArgValueCompleter::new(complete::explained))]
    pub workload: String,
    /// What it would run on; nothing is opened for writing. More workloads before that are joined, as in run
    #[arg(value_name = "WORKLOAD... TARGETS", add = ArgValueCompleter::new(complete::workloads_and_targets))]
    pub targets: Vec<String>,
    /// The load as a multiple of the workload's 1x; for an ACT config, of ACT's: 2000 reads and 1000 writes a second on each device
    #[arg(long, visible_alias = "at", value_name = "LOAD")]
    pub load: Option<Multiple>,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub judged: Judged,
    /// Print the plan as JSON
    #[arg(long)]
    pub json: bool,
}

/// `assay judge`
#[derive(Args, Debug)]
pub struct Judge {
    /// A run log, the run directory that holds it, or a log that ACT 3.0 to 6.6 wrote
    pub log: PathBuf,
    /// Length of the judging window, instead of the log's
    #[arg(long, value_name = "TIME")]
    pub slice: Option<Span>,
    /// Judge the device's service time instead of the response time
    #[arg(long = "judge", value_name = "MEASURE")]
    pub judge_on: Option<Measure>,
    /// Print the table of all slices
    #[arg(long)]
    pub table: bool,
    /// Print the judgement as JSON
    #[arg(long)]
    pub json: bool,
}

/// `assay report`
#[derive(Args, Debug)]
pub struct Report {
    /// A run log, or the run directory that holds it
    pub log: PathBuf,
    /// Where to write, a file that does not exist yet; - for standard output [default: report.html in the run directory, where it
    /// is written anew; beside a log of another name NAME.html]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Judge the device's service time instead of the response time
    #[arg(long = "judge", value_name = "MEASURE")]
    pub judge_on: Option<Measure>,
}

/// `assay verify`
#[derive(Args, Debug)]
#[command(after_help = "\
Exit codes:
  0 a certification, passed   1 a certification, failed   2 not to be trusted
  3 true to its log, and no certification: simulated, quick, short, overridden, cut, or another workload

Without --key nothing speaks for who made the files: whoever can write both can make a pair that fits.")]
pub struct Verify {
    /// The verdict.json of a run, or the run directory that holds it
    pub certificate: PathBuf,
    /// The log it was made of [default: run.jsonl beside it]
    pub log: Option<PathBuf>,
    /// It must be signed (verdict.json.minisig beside it) by this minisign public key: the key, or a file that holds it
    #[arg(long, value_name = "PUBKEY")]
    pub key: Option<String>,
    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
}

/// `assay compare`
#[derive(Args, Debug)]
#[command(
    after_help = "Exit code: 0 whenever they could be compared, 3 when they did not do the same or cannot be read."
)]
pub struct Compare {
    /// Run logs, the run directories that hold them, verdict.json with its log beside it, or logs that ACT wrote; the first is
    /// what the others are held against
    #[arg(required = true, num_args = 2..)]
    pub logs: Vec<PathBuf>,
    /// What a run is called in the result
    #[arg(long = "label", value_name = "LOG=NAME")]
    pub labels: Vec<String>,
    /// Compare runs of different plans all the same
    #[arg(long)]
    pub anyway: bool,
    /// Write the comparison as an HTML file too
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `assay export`
#[derive(Args, Debug)]
pub struct Export {
    /// A run log, or the run directory that holds it
    pub log: PathBuf,
    /// The format
    #[arg(long, value_name = "FORMAT")]
    pub to: Format,
    /// Unit of an act-log's histograms and of hgrm's values [default: ms]
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<Unit>,
    /// Which step of a certification
    #[arg(long, value_name = "N")]
    pub step: Option<u32>,
    /// Whose percentiles, for hgrm [default: the stream of the first criterion]
    #[arg(long, value_name = "NAME")]
    pub stream: Option<String>,
}

/// What a log can be exported to.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Format {
    /// A log as ACT 6.6 writes it, for its act_latency.py
    ActLog,
    /// A row for each stream on each target in each interval
    Csv,
    /// The judgement, as `assay judge --json` prints it
    Json,
    /// Percentiles of one stream's response as HdrHistogram prints them
    Hgrm,
    /// HdrHistogram's interval log, tagged with the streams
    Hlog,
    /// What fio --output-format=json prints, a job for each stream
    FioJson,
    /// Test results: a suite for each step, a case for each criterion
    Junit,
    /// Verdict, criteria, percentiles and slices for an issue or a wiki
    Markdown,
}

/// Units of ACT's histograms.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
pub enum Unit {
    /// Milliseconds
    #[default]
    Ms,
    /// Microseconds
    Us,
}

impl From<Unit> for assay_formats::act::log::Unit {
    fn from(unit: Unit) -> Self {
        match unit {
            Unit::Ms => Self::Milliseconds,
            Unit::Us => Self::Microseconds,
        }
    }
}

/// `assay as`
#[derive(Args, Debug)]
pub struct As {
    /// The tool and its own arguments
    #[arg(required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true, value_name = "TOOL [ARGS]")]
    pub words: Vec<String>,
}

/// `assay links`
#[derive(Args, Debug)]
pub struct Links {
    /// Where to; made if it is not there. Nothing that is there is replaced
    pub dir: PathBuf,
}

/// `assay devices`
#[derive(Args, Debug)]
pub struct Devices {
    /// Devices or files to examine; all block devices when none is named
    #[arg(add = ArgValueCompleter::new(complete::devices))]
    pub targets: Vec<PathBuf>,
    /// Show the answer of every rule, not only of those that refuse
    #[arg(long)]
    pub rules: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `assay consent`
#[derive(Args, Debug)]
#[command(after_help = "\
The drop-ins (act_storage, act_index, act_prep) take no options of ours: they write to a device that root agreed to lose here, also under sudo
and in the background. A consent is of one device as it is now: not of its replacement, not of another size or partition, and for a virtual or
nameless one not beyond the next boot. It never covers what is mounted, in use or of the system. Other verbs take --destroy-data.")]
pub struct Consent {
    /// The devices that may be overwritten; with --list and --revoke: only of these
    #[arg(add = ArgValueCompleter::new(complete::devices))]
    pub targets: Vec<String>,
    /// Override a safety rule as well: S7 (the signature that is there now) or S8 (unknown data)
    #[arg(long = "override", value_name = "RULE", value_delimiter = ',', value_parser = in_advance)]
    pub overrides: Vec<RuleId>,
    /// How long it lasts, 1min to 30d
    #[arg(long = "for", value_name = "TIME", default_value = "48h", value_parser = lasting)]
    pub length: Span,
    /// The devices' tokens (from `assay devices`), where no terminal is there to ask at
    #[arg(long, value_name = "TOKEN", value_delimiter = ',')]
    pub destroy_data: Vec<String>,
    /// This is a container: processes outside it cannot be seen, go on all the same
    #[arg(long)]
    pub in_container: bool,
    /// Show what was agreed to, and whether it still counts
    #[arg(long, conflicts_with_all = ["overrides", "destroy_data", "revoke"])]
    pub list: bool,
    /// Take back what was agreed to, all of it where no device is named
    #[arg(long, conflicts_with_all = ["overrides", "destroy_data"])]
    pub revoke: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

fn in_advance(text: &str) -> Result<RuleId, String> {
    match text.parse::<RuleId>()? {
        rule if lasts(rule) => Ok(rule),
        rule => Err(format!(
            "{rule} ({}) is known only when the time has come; S7 and S8 can be overridden in advance",
            rule.meaning()
        )),
    }
}

/// Less is over before it is of use, more is forgotten.
fn lasting(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|e: assay_base::UnitError| e.to_string())?;
    match (Span::from_secs(60)..=Span::from_secs(30 * 86_400)).contains(&span) {
        true => Ok(span),
        false => Err("write 1min to 30d".to_owned()),
    }
}

/// `assay doctor`
#[derive(Args, Debug)]
#[command(after_help = "Exit code: 0 whenever it could look, whatever it found; `--json` has `ok` for scripts.")]
pub struct Doctor {
    /// Devices or files to look at as well; nothing is opened for writing
    #[arg(add = ArgValueCompleter::new(complete::devices))]
    pub targets: Vec<String>,
    /// Where the run log would lie, for the free space [default: the working directory]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `assay workloads`
#[derive(Args, Debug)]
pub struct Workloads {
    /// Print the text of this one, to copy and change
    #[arg(add = ArgValueCandidates::new(complete::shipped))]
    pub name: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `assay completions`
#[derive(Args, Debug)]
pub struct Completions {
    /// For which shell
    pub shell: clap_complete::Shell,
}

/// `assay man`
#[derive(Args, Debug)]
#[command(after_help = "\
To read one now: assay man certify | man -l -
To have them all: assay man --out ~/.local/share/man/man1, as root /usr/local/share/man/man1; then: man assay-certify")]
pub struct Man {
    /// Print the page of this verb [default: the page of the program]
    #[arg(conflicts_with = "out", add = ArgValueCandidates::new(complete::verbs))]
    pub verb: Option<String>,
    /// Write the page of the program and one of each verb into this directory; it is made, and older pages are replaced
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
