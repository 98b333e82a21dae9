//! `assay mark`: divides a run in progress into parts that are judged by themselves.

use crate::stdout::show_text;
use assay_base::{MarkedPart, Span};
use assay_record::PART;
use assay_run::failure::{Failure, code, one_line};
use assay_run::host::signals::stop_on_signals;
use assay_run::log::marking::{self, MarkWish};
use std::path::PathBuf;

/// `assay mark`
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Exit code: 0 when the mark is in the log, 2 when no run is in progress there or it takes no marks, \
                        5 when the run did not take it in time, 12 when a signal ended the waiting; then nothing was marked."
)]
pub(crate) struct Mark {
    /// The directory of a run in progress
    pub dir: PathBuf,
    /// What happens, such as "scrub begins": one line, which every result shows
    pub text: String,
    /// What the part that begins shows: healthy, disturbed or recovered [default: the first mark begins a disturbance, and the next
    /// one ends it]
    #[arg(long, value_name = "PART")]
    pub part: Option<MarkedPart>,
    /// How long to wait: the run takes a mark when it has written an interval [default: 30s, or three intervals]
    #[arg(long, value_name = "TIME")]
    pub wait: Option<Span>,
}

/// Has the run write the mark, and says where it is.
pub(crate) fn mark_run(args: &Mark) -> Result<u8, Failure> {
    let wish = MarkWish { text: args.text.clone(), part: args.part, patience: args.wait };
    let mark = marking::mark_run(&args.dir, &wish, &stop_on_signals()?)?;
    let at = Span::from_ns(mark.at_ns).human_text();
    let part = mark.details.get(PART).map_or("", String::as_str);
    show_text(&format!("{at} into the run: {} (the {part} part begins)\n", one_line(&mark.text)));
    Ok(code::DONE)
}
