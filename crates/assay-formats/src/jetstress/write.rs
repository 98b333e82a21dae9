//! The text of the report. What Jetstress reports too has the name that it has there, and is in the same order.

use super::found::{Found, ReadBack};
use super::layout::Sizes;
use super::sums::Io;
use assay_base::Span;
use assay_model::mail::{MIX, Mail, Maintenance, NOT_COMPARABLE, PAGE, Test};
use std::fmt::{Result, Write};

/// Width in characters of a name, and of a figure.
const NAME: usize = 52;
const FIGURE: usize = 14;

/// A line of a table: its name, and how its figure is computed from the I/O of a database over a number of seconds.
type Line = (&'static str, fn(&Io, f64) -> f64);

/// A latency is of the response: the time from the moment at which an operation was due.
const TRANSACTIONAL: [Line; 12] = [
    ("I/O Database Reads Average Latency (msec)", |io, _| io.reads.response_ms()),
    ("I/O Database Writes Average Latency (msec)", |io, _| io.writes.response_ms()),
    ("I/O Database Reads/sec", |io, seconds| io.reads.rate_per_second(seconds)),
    ("I/O Database Writes/sec", |io, seconds| io.writes.rate_per_second(seconds)),
    ("I/O Database Reads Average Bytes", |io, _| io.reads.mean_bytes()),
    ("I/O Database Writes Average Bytes", |io, _| io.writes.mean_bytes()),
    ("I/O Log Reads Average Latency (msec)", |io, _| io.log_reads.response_ms()),
    ("I/O Log Writes Average Latency (msec)", |io, _| io.log_writes.response_ms()),
    ("I/O Log Reads/sec", |io, seconds| io.log_reads.rate_per_second(seconds)),
    ("I/O Log Writes/sec", |io, seconds| io.log_writes.rate_per_second(seconds)),
    ("I/O Log Reads Average Bytes", |io, _| io.log_reads.mean_bytes()),
    ("I/O Log Writes Average Bytes", |io, _| io.log_writes.mean_bytes()),
];

/// The time of the call alone, which is what Jetstress measures.
const SERVICE: [Line; 4] = [
    ("I/O Database Reads Average Latency (msec)", |io, _| io.reads.service_ms()),
    ("I/O Database Writes Average Latency (msec)", |io, _| io.writes.service_ms()),
    ("I/O Log Reads Average Latency (msec)", |io, _| io.log_reads.service_ms()),
    ("I/O Log Writes Average Latency (msec)", |io, _| io.log_writes.service_ms()),
];

const MAINTENANCE: [Line; 2] = [
    ("Database Maintenance IO Reads/sec", |io, seconds| io.maintenance.rate_per_second(seconds)),
    ("Database Maintenance IO Reads Average Bytes", |io, _| io.maintenance.mean_bytes()),
];

const REPLICATION: [Line; 2] = [
    ("I/O Log Reads/sec", |io, seconds| io.log_reads.rate_per_second(seconds)),
    ("I/O Log Reads Average Bytes", |io, _| io.log_reads.mean_bytes()),
];

/// The whole report.
pub(super) fn write_report(found: &Found, verdict: &[String], out: &mut dyn Write) -> Result {
    let Some(mail) = found.plan.load.mail() else { return Ok(()) };
    let test = if mail.test == Test::Stress { "Stress" } else { "Performance" };
    writeln!(out, "{NOT_COMPARABLE}")?;
    writeln!(
        out,
        "An average latency is of the response, from the moment at which an operation was due; of the call alone it is below."
    )?;
    writeln!(out, "\n{test} Test Result Report")?;
    write_sizing(found, mail, out)?;
    write_parameters(mail, out)?;
    let seconds = Span::from_ns(found.measured_ns).as_secs_f64();
    write_table(found, "Transactional I/O Performance", seconds, &TRANSACTIONAL, out)?;
    write_table(found, "Background Database Maintenance I/O Performance", seconds, &MAINTENANCE, out)?;
    write_table(found, "Log Replication I/O Performance", seconds, &REPLICATION, out)?;
    // As in Jetstress's report, the number of reads includes those of the maintenance, and the latency does not.
    let mut total = TRANSACTIONAL;
    for (name, figure) in &mut total {
        match *name {
            "I/O Database Reads/sec" => *figure = |io, seconds| io.all_reads().rate_per_second(seconds),
            "I/O Database Reads Average Bytes" => *figure = |io, _| io.all_reads().mean_bytes(),
            _ => {}
        }
    }
    write_table(found, "Total I/O Performance", seconds, &total, out)?;
    write_table(found, "Beyond Jetstress: latency of the call alone, without the wait for it", seconds, &SERVICE, out)?;
    write_beyond_jetstress(found, out)?;
    verdict.iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn write_line(name: &str, figure: impl std::fmt::Display, out: &mut dyn Write) -> Result {
    writeln!(out, "{name:NAME$} {figure:>FIGURE$}")
}

/// A share in percent, with one digit behind the point where it has one.
fn percent_with_tenths(share: f64) -> String {
    let tenths = (share * 1000.0).round() as u64;
    match tenths % 10 {
        0 => format!("{}%", tenths / 10),
        digit => format!("{}.{digit}%", tenths / 10),
    }
}

fn write_sizing(found: &Found, mail: &Mail, out: &mut dyn Write) -> Result {
    let seconds = Span::from_ns(found.measured_ns).as_secs_f64();
    let all = found.io.iter().fold(Io::default(), |all, io| all.sum_with(*io));
    let wanted = mail
        .transactional_rate()
        .and_then(|rate| found.plan.load.multiple.scaled_rate(rate))
        .map_or(0.0, |rate| rate.as_f64());
    let databases = found.layout.databases as u64;
    let Sizes { initial, room, space } =
        found.layout.sizes.iter().fold(Sizes::default(), |all, own| all.sum_with(*own));
    // A database grows no further than its room to grow: at the end of the room, writing begins again at its start.
    let grown = found.layout.sizes.iter().zip(&found.grown);
    let grown = grown.map(|(own, pages)| own.room.min(pages.saturating_mul(PAGE.get())));
    let grown = grown.fold(0, u64::saturating_add);
    let capacity = initial.saturating_add(room) as f64 / space.max(1) as f64;
    writeln!(out, "\nDatabase Sizing and Throughput")?;
    write_line(
        "Achieved Transactional I/O per Second",
        format!("{:.3}", all.transactional_io().rate_per_second(seconds)),
        out,
    )?;
    write_line("Target Transactional I/O per Second", format!("{:.3}", wanted * databases as f64), out)?;
    // What databases and their room to grow have of the space for them, and how much of 1x was asked for.
    write_line("Capacity Percentage", percent_with_tenths(capacity), out)?;
    write_line("Throughput Percentage", percent_with_tenths(found.plan.load.multiple.as_f64()), out)?;
    write_line("Initial Database Size (bytes)", initial, out)?;
    write_line("Final Database Size (bytes)", initial.saturating_add(grown), out)?;
    write_line("Database Files (Count)", databases, out)?;
    if let Some(counted) = found.plan.load.load_unit() {
        write_line("Mailboxes", counted.at_load(found.plan.load.multiple), out)?;
    }
    write_line("Measured (s)", format!("{seconds:.3}"), out)
}

fn write_parameters(mail: &Mail, out: &mut dyn Write) -> Result {
    let scan = match mail.maintenance {
        Maintenance::Off => "none".to_owned(),
        Maintenance::Paced => format!("one at a time, {} of rest", Maintenance::REST),
        Maintenance::Rate(rate) => rate.to_string(),
    };
    writeln!(out, "\nJetstress System Parameters")?;
    for name in ["Thread Count", "Minimum Database Cache", "Maximum Database Cache"] {
        write_line(name, "not modelled", out)?;
    }
    for (name, percent) in MIX {
        if mail.flow.is_reported() {
            write_line(name, format!("{percent}% (only its I/O)"), out)?
        } else {
            write_line(name, "not modelled", out)?
        }
    }
    let scans = if mail.maintenance == Maintenance::Off { "False" } else { "True" };
    write_line("Run Background Database Maintenance", scans, out)?;
    write_line("Number of Copies per Database", mail.copies, out)?;
    writeln!(out, "\nParameters of this workload")?;
    write_line("Edition", mail.edition.edition_year(), out)?;
    write_line("Database reads, of transactional I/O", mail.flow.reads, out)?;
    write_line("Log writes, of transactional I/O", mail.flow.log_writes, out)?;
    write_line("Growth, of database writes", mail.flow.growth, out)?;
    write_line("Background database maintenance", scan, out)?;
    write_line("Log Size (bytes)", mail.storage.log_size.get(), out)
}

fn write_table(found: &Found, head: &str, seconds: f64, lines: &[Line], out: &mut dyn Write) -> Result {
    writeln!(out, "\n{head}")?;
    let several = found.io.len() > 1;
    let all = found.io.iter().fold(Io::default(), |all, io| all.sum_with(*io));
    if several {
        write!(out, "{:NAME$}", "")?;
        (1..=found.io.len()).try_for_each(|at| write!(out, " {:>FIGURE$}", format!("database {at}")))?;
        writeln!(out, " {:>FIGURE$}", "all")?;
    }
    for (name, figure) in lines {
        write!(out, "{name:NAME$}")?;
        let own = found.io.iter().filter(|_| several).chain([&all]);
        own.map(|io| figure(io, seconds)).try_for_each(|figure| write!(out, " {figure:>FIGURE$.3}"))?;
        writeln!(out)?;
    }
    Ok(())
}

/// The figures that Jetstress does not report.
fn write_beyond_jetstress(found: &Found, out: &mut dyn Write) -> Result {
    writeln!(out, "\nBeyond Jetstress: response (msec)")?;
    write!(out, "{:20}", "")?;
    let heads = ["p50", "p90", "p99", "p99.9", "p99.99", "max", "worst 15 s"];
    heads.iter().try_for_each(|head| write!(out, " {head:>11}"))?;
    writeln!(out)?;
    let quantiles = [0.5, 0.9, 0.99, 0.999, 0.9999, 1.0];
    let named = found.plan.load.streams.iter().enumerate().filter(|(_, stream)| !stream.reads_back());
    for (at, stream) in named {
        write!(out, "{:20}", stream.name)?;
        let figures = found.response[at]
            .quantiles(quantiles)
            .map(|quantile| quantile.map(|span: Span| span.as_ns() as f64 / 1e6));
        for figure in figures.into_iter().chain([found.samples[at].worst_ms]) {
            match figure {
                Some(figure) => write!(out, " {figure:>11.3}")?,
                None => write!(out, " {:>11}", "-")?,
            }
        }
        writeln!(out)?;
    }
    let errors = found.errors.iter().fold(0u64, |all, own| all.saturating_add(*own));
    writeln!(out)?;
    write_line("Failed operations", errors, out)?;
    write_line("Checksum pass", checked_in_words(found.plan.verification.verify, found.read_back), out)
}

/// The result of the read-back, in words.
fn checked_in_words(verify: bool, ReadBack { verified, unverified, damaged }: ReadBack) -> String {
    match (verify, verified.max(unverified).max(damaged)) {
        (false, _) => "none (the run did not verify)".to_owned(),
        (true, 0) => "none (it did not come to it)".to_owned(),
        _ => format!("{verified} reads verified, {unverified} unverified, {damaged} places damaged"),
    }
}
