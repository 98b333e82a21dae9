//! `assay export LOG --to FORMAT`: formats of the log are written while it is read, formats of the judgement after
//! judging.

use crate::act;
use crate::stdout::print_document;
use assay_base::Measure;
use assay_formats::act::log;
use assay_formats::bonnie::RowCollector;
use assay_formats::export::{Csv, Fio, Hgrm, Hlog, Sink};
use assay_formats::jetstress::Jetstress;
use assay_formats::pblio::PblioData;
use assay_judge::judgement::{Outcome, Requirement};
use assay_judge::{Judgement, render};
use assay_record::{Entry, Header};
use assay_run::failure::{Failure, code, escaped_path};
use assay_run::log::{reading, results, rundir};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// `assay export`
#[derive(clap::Args, Debug)]
pub(crate) struct Export {
    /// A run log, or its run directory
    pub log: PathBuf,
    /// Format to write
    #[arg(long, value_name = "FORMAT")]
    pub to: Format,
    /// Unit of time for act-log and hgrm [default: ms]
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<Unit>,
    /// Number of the step to export, for the log of a certification
    #[arg(long, value_name = "N")]
    pub step: Option<u32>,
    /// Stream whose percentiles are written, for hgrm [default: the stream of the first criterion]
    #[arg(long, value_name = "NAME")]
    pub stream: Option<String>,
}

/// The formats that a log can be exported to.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Format {
    /// A log in the format of ACT 6.6, for ACT's act_latency.py
    ActLog,
    /// A table with one row for each stream, target and interval
    Csv,
    /// The judgement, as `assay judge --json` prints it
    Json,
    /// Percentiles of the response time of one stream, in HdrHistogram's text format
    Hgrm,
    /// HdrHistogram's interval log, with one tag for each stream
    Hlog,
    /// The output of fio --output-format=json, with one job for each stream
    FioJson,
    /// The statistics file of pblio, a line of JSON for each minute of an OLTP load
    PblioData,
    /// The line of bonnie++ 2.00a, of a run of the workload bonnie or of `assay as bonnie++`, for bon_csv2html and bon_csv2txt
    BonnieCsv,
    /// The report of a mail store in the order of Jetstress's, not comparable with Microsoft's results
    JetstressLike,
    /// JUnit test results: one suite for each step, one case for each criterion
    Junit,
    /// Verdict, criteria, percentiles and slices as Markdown, for an issue or a wiki
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

impl From<Unit> for log::Unit {
    fn from(unit: Unit) -> Self {
        match unit {
            Unit::Ms => Self::Milliseconds,
            Unit::Us => Self::Microseconds,
        }
    }
}

/// Writes the log to standard output in the format asked for.
pub(crate) fn export_log(args: &Export) -> Result<u8, Failure> {
    if args.stream.is_some() && !matches!(args.to, Format::Hgrm) {
        return Err(Failure::bad_usage("--stream is for --to hgrm; the other formats hold every stream"));
    }
    if args.unit.is_some() && !matches!(args.to, Format::Hgrm | Format::ActLog) {
        return Err(Failure::bad_usage(
            "--unit is for --to hgrm and --to act-log; the other formats have units of their own",
        ));
    }
    match args.to {
        Format::ActLog => act::export::act_log(&args.log, args.step, args.unit.unwrap_or_default().into()),
        Format::Json => export_judgement(args, render::write_json),
        Format::Junit => export_judgement(args, render::write_junit),
        Format::Markdown => export_judgement(args, render::write_markdown),
        Format::Csv | Format::Hgrm | Format::Hlog | Format::FioJson | Format::PblioData | Format::BonnieCsv => {
            of_log(args, Vec::new())
        }
        Format::JetstressLike => of_log(args, verdict_lines(args)?),
    }
}

/// A format that is made from the judgement contains every step.
fn export_judgement(
    args: &Export,
    render: impl FnOnce(&Judgement, &mut dyn Write) -> std::fmt::Result,
) -> Result<u8, Failure> {
    if args.step.is_some() {
        return Err(Failure::bad_usage("--step is for formats that hold one step; this format holds all steps"));
    }
    let judgement = results::judge_file(&rundir::log_in(&args.log), None)?;
    let mut text = String::new();
    render(&judgement, &mut text).map_err(|_| Failure::internal_bug("a judgement that cannot be rendered"))?;
    print_document(&text);
    Ok(code::DONE)
}

/// The lines about the verdict of a report that is made of the log: by the response, which counts from when an operation was due, and by the
/// service, which is what Jetstress times.
fn verdict_lines(args: &Export) -> Result<Vec<String>, Failure> {
    let path = rundir::log_in(&args.log);
    let mut lines = vec![String::new()];
    for (judge_on, name) in
        [(None, "Verdict"), (Some(Measure::Service), "Verdict by service time, as Jetstress measures")]
    {
        let judgement = results::judge_file(&path, judge_on)?;
        lines.push(format!("{name}: {}: {}", judgement.verdict, judgement.reason));
        for criterion in judgement.part.criteria.iter().filter(|criterion| criterion.asked.stream.is_some()) {
            let measured = criterion.measured.as_ref().map_or("-", |figure| figure.text.as_str());
            let Requirement { title, bound, .. } = &criterion.asked;
            lines.push(format!("  {title:50} {bound:>12} {measured:>12}  {}", outcome_in_words(criterion.outcome)));
        }
    }
    Ok(lines)
}

fn outcome_in_words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "FAIL",
        Outcome::Invalid => "proves nothing",
        Outcome::Incomplete => "incomplete",
        Outcome::NotApplied => "not applied",
    }
}

fn sink_for_format(args: &Export, verdict: &[String], header: &Header) -> Box<dyn Sink> {
    let started = header.created.parse::<jiff::Timestamp>().ok();
    match args.to {
        Format::Csv => Box::new(Csv::default()),
        Format::Hgrm => Box::new(Hgrm::new(args.stream.clone(), args.unit.unwrap_or_default().into())),
        Format::JetstressLike => Box::new(Jetstress::new(verdict.to_vec())),
        Format::BonnieCsv => Box::new(RowCollector::default()),
        Format::PblioData => Box::new(PblioData::new(started.map(jiff::Timestamp::as_second))),
        Format::Hlog => Box::new(Hlog::new(started.map(|at| at.as_millisecond() as f64 / 1000.0))),
        _ => Box::new(Fio::new(started.map(jiff::Timestamp::as_second))),
    }
}

fn of_log(args: &Export, verdict: Vec<String>) -> Result<u8, Failure> {
    let path = rundir::log_in(&args.log);
    // A distribution or a time line belongs to one step; a table and a list of jobs can contain several.
    let one_step = matches!(args.to, Format::Hgrm | Format::Hlog | Format::PblioData | Format::JetstressLike);
    let mut reader = reading::open_reader(&path)?;
    let (mut found, mut inside, mut step, mut text) = (None::<Box<dyn Sink>>, false, None, String::new());
    while let Some(entry) = reader.next_entry().map_err(|e| unfit_log(&path, e))? {
        let written = match entry {
            Ok(Entry::Header(header)) => {
                let number = header.step.as_ref().map_or(1, |step| step.number);
                inside = args.step.is_none_or(|wanted| wanted == number);
                if !inside {
                    continue;
                }
                if one_step && step.replace(number).is_some_and(|before| before != number) {
                    return Err(unfit_log(&path, "it holds several steps\n  = name one with --step N"));
                }
                found.get_or_insert_with(|| sink_for_format(args, &verdict, &header)).begin_segment(&header, &mut text)
            }
            Ok(_) if !inside => Ok(()),
            Ok(Entry::Interval(interval)) => {
                found.as_mut().map_or(Ok(()), |sink| sink.take_interval(&interval, &mut text))
            }
            Ok(Entry::Event(event)) => found.as_mut().map_or(Ok(()), |sink| sink.take_event(&event, &mut text)),
            Ok(Entry::Histograms(all)) => found.as_mut().map_or(Ok(()), |sink| sink.take_histograms(&all, &mut text)),
            Ok(Entry::Close(close)) => {
                found.iter_mut().for_each(|sink| sink.end_segment(close.reason));
                Ok(())
            }
            Err(damage) if damage.torn_tail => break,
            Err(damage) => Err(format!("the log is damaged: {damage}")),
        };
        written.map_err(|why| unfit_log(&path, why))?;
        if text.len() > 1 << 16 {
            print_document(&std::mem::take(&mut text));
        }
    }
    let mut sink = found.ok_or_else(|| {
        let step = args.step.map_or_else(|| "a run".to_owned(), |step| format!("step {step}"));
        unfit_log(&path, format!("there is no {step} in it"))
    })?;
    sink.end_log(&mut text).map_err(|why| unfit_log(&path, why))?;
    print_document(&text);
    Ok(code::DONE)
}

fn unfit_log(log: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::bad_workload(format!("{}: {why}", escaped_path(log)))
}
