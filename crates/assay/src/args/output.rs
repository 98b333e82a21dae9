//! How a run is carried out, and where its results go.

use assay_base::{Measure, Span};
use assay_engine::Limits;
use assay_engine::shell::Spin;
use std::path::PathBuf;

/// How a run is carried out and where its results go.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct Output {
    /// Number of worker threads that issue operations, 1 to 256 [default: chosen from the load]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub workers: Option<u16>,
    /// Time before an operation is due in which a worker spins instead of sleeping, 0s to 1s [default: as long as sleeps were
    /// seen to end late, at least 50us where a worker's operations are less than 30us apart]
    #[arg(long, value_name = "TIME", value_parser = spin)]
    pub spin: Option<Span>,
    /// Longest time to wait at the end of the run for operations in flight, 100ms to 1h [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = patience)]
    pub drain: Option<Span>,
    /// Time after which an operation in flight counts as stuck, which is a failure, 100ms to 1h [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = patience)]
    pub stuck: Option<Span>,
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
    /// How to wait, where an option says so.
    pub(crate) fn spin(&self) -> Option<Spin> {
        self.spin.map(Spin::Fixed)
    }

    /// The limits of a run, from the options.
    pub(crate) fn limits(&self) -> Limits {
        let usual = Limits::default();
        Limits { drain: self.drain.unwrap_or(usual.drain), stuck: self.stuck.unwrap_or(usual.stuck), ..usual }
    }
}

/// How long a worker may spin. More than a second would not be waiting for a timer any more.
fn spin(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|e: assay_base::UnitError| e.to_string())?;
    match span <= Span::from_secs(1) {
        true => Ok(span),
        false => Err("write 0s to 1s".to_owned()),
    }
}

/// How long a device is waited for. With less than the minimum every device is stuck, with more than the maximum a hung
/// one is never noticed.
fn patience(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|e: assay_base::UnitError| e.to_string())?;
    match (Span::from_ms(100)..=Span::from_secs(3600)).contains(&span) {
        true => Ok(span),
        false => Err("write 100ms to 1h".to_owned()),
    }
}
