//! `model = "mail"`: the storage of a mail server, Jetstress-like.

use super::common::workload_file;
use super::definition::{Application, Load, Timing, Workload};
use super::source::Source;
use crate::extent::Amount;
use crate::mail::{
    Check, Edition, Flow, LEAST_LOG_OF_COPIES, LOG_FILE, LogPlace, Mail, Maintenance, PAGE, Storage, Test,
    USUAL_DATABASE, USUAL_GROWTH, USUAL_LOG_MEAN, USUAL_LOG_WRITES, USUAL_READS,
};
use assay_base::{Bytes, Fault, Rate, Share, Span};
use std::ops::RangeInclusive;
use toml::Spanned;

/// The most mailboxes of a database.
const MOST_MAILBOXES: u64 = 100_000_000;
/// The most page writes that come at the same moment.
const MOST_AT_ONCE: u32 = 4096;
/// The most copies of a database: Exchange Server has at most 16.
const MOST_COPIES: u32 = 16;
/// The most log writes, as a share of the reads and writes of the database. With more, it would not be the load of a
/// mail store.
const MOST_LOG_WRITES: Share = Share::from_percent(1000);
/// The bounds of the mean size of a log write: a sector, and about half of the largest log write.
const LOG_MEANS: RangeInclusive<Bytes> = Bytes::new(512)..=Bytes::from_kib(32);
/// Length of the judging windows, unless the file says otherwise.
const SLICE: Span = Span::from_secs(300);

workload_file! {
    struct File {
        edition: Option<Spanned<Edition>>,
        mailboxes: Option<Spanned<u64>>,
        iops_per_mailbox: Option<Spanned<Rate>>,
        reads: Option<Spanned<Share>>,
        log_writes: Option<Spanned<Share>>,
        growth: Option<Spanned<Share>>,
        log_mean: Option<Spanned<Bytes>>,
        write_batch: Option<Spanned<u32>>,
        copies: Option<Spanned<u32>>,
        maintenance: Option<Spanned<Maintenance>>,
        log: Option<LogPlace>,
        log_size: Option<Spanned<Bytes>>,
        database_size: Option<Spanned<Amount>>,
        durable: Option<bool>,
        check: Option<Spanned<Check>>,
        test: Option<Test>,
    }
}

pub(super) fn read_mail(source: Source<'_>) -> Result<Workload, Fault> {
    let mut file: File = source.parse_file()?;
    let mail = read_store(source, &file)?;
    let workload = store_workload(source.file, mail).ok_or_else(|| {
        Fault::for_file(source.file, "the rates are too large to be represented", "write fewer mailboxes")
    })?;
    let verify = file.verify;
    if let Some(check) = file.check.as_ref().filter(|check| *check.get_ref() == Check::All && verify == Some(false)) {
        return Err(source.fault_at(
            check.span(),
            "nothing is checked without verify",
            "remove check, or verify = false",
        ));
    }
    let mut workload = workload.with_common_keys(source, file.common())?;
    // Unless the file says otherwise, a run verifies if its targets keep data.
    workload.verification.if_possible = verify.is_none();
    Ok(workload)
}

/// The workload of a mail store. `None` if its rates are too large.
pub fn store_workload(name: &str, mail: Mail) -> Option<Workload> {
    let streams = mail.database_streams()?;
    let hours = if mail.test == Test::Stress { 24 } else { 2 };
    let duration = Span::from_secs(hours * 3600);
    Some(Workload {
        timing: Timing { duration, slice: SLICE, skip_half_windows: true, ..Timing::default() },
        notes: mail.reader_notes(),
        derivation: mail.derivation_steps(),
        criteria: mail.standard_criteria(),
        load: Load { application: Some(Application::Mail(mail)), ..Load::from_streams(streams) },
        ..Workload::new(name, "mail", Vec::new(), |_| Vec::new())
    })
}

fn read_store(source: Source<'_>, file: &File) -> Result<Mail, Fault> {
    let edition = file.edition.as_ref().map_or_else(Edition::default, |edition| *edition.get_ref());
    let copies = read_between(source, file.copies.as_ref(), 1, 1..=MOST_COPIES, "a number of copies")?;
    let iops = Rate::from_ratio(6, 100).unwrap_or(Rate::ZERO);
    let (least_share, most_share) = (Share::from_ppb(1), Share::from_ppb(Share::WHOLE.as_ppb() - 1));
    Ok(Mail {
        edition,
        mailboxes: read_between(source, file.mailboxes.as_ref(), 1000, 1..=MOST_MAILBOXES, "a number of mailboxes")?,
        iops_per_mailbox: match &file.iops_per_mailbox {
            Some(rate) if rate.get_ref().is_zero() => {
                return Err(source.fault_at(
                    rate.span(),
                    "a mailbox that causes no I/O",
                    "write a rate above 0/s, such as \"0.06/s\"",
                ));
            }
            rate => rate.as_ref().map_or(iops, |rate| *rate.get_ref()),
        },
        flow: Flow {
            reads: read_between(
                source,
                file.reads.as_ref(),
                USUAL_READS,
                least_share..=most_share,
                "a share of reads",
            )?,
            log_writes: read_between(
                source,
                file.log_writes.as_ref(),
                USUAL_LOG_WRITES,
                least_share..=MOST_LOG_WRITES,
                "a share of log writes",
            )?,
            growth: read_between(
                source,
                file.growth.as_ref(),
                USUAL_GROWTH,
                Share::default()..=Share::from_percent(50),
                "a share of the writes by which a database grows",
            )?,
            log_mean: read_between(
                source,
                file.log_mean.as_ref(),
                USUAL_LOG_MEAN,
                LOG_MEANS,
                "a mean size of log writes",
            )?,
            write_batch: read_between(
                source,
                file.write_batch.as_ref(),
                1,
                1..=MOST_AT_ONCE,
                "a number of pages at one moment",
            )?,
        },
        copies,
        maintenance: file.maintenance.as_ref().map_or(edition.usual_maintenance(), |own| *own.get_ref()),
        storage: Storage {
            log: file.log.unwrap_or_default(),
            log_size: log_size(source, file, copies)?,
            database_size: database_size(source, file)?,
            durable: file.durable.unwrap_or(true),
            check: file.check.as_ref().map_or_else(Check::default, |check| *check.get_ref()),
        },
        test: file.test.unwrap_or_default(),
    })
}

/// The size of a log: a whole number of log files, and large enough for the copies that read it.
fn log_size(source: Source<'_>, file: &File, copies: u32) -> Result<Bytes, Fault> {
    let Some(size) = &file.log_size else { return Ok(Bytes::from_kib(1024 * 1024)) };
    let bytes = size.get_ref().get();
    if bytes == 0 || !bytes.is_multiple_of(LOG_FILE.get()) {
        return Err(source.fault_at(
            size.span(),
            "not a size of a log",
            format!("write a multiple of {LOG_FILE}, such as \"1GiB\""),
        ));
    }
    if copies > 1 && *size.get_ref() < LEAST_LOG_OF_COPIES {
        let what =
            format!("this log is too small for {copies} copies: it would be overwritten before they have read it");
        return Err(source.fault_at(
            size.span(),
            what,
            format!("write at least \"{LEAST_LOG_OF_COPIES}\", or copies = 1"),
        ));
    }
    Ok(*size.get_ref())
}

/// The size of a database at the beginning: whole pages, or a share that leaves the database its room to grow.
fn database_size(source: Source<'_>, file: &File) -> Result<Amount, Fault> {
    let Some(size) = &file.database_size else { return Ok(Amount::Share(USUAL_DATABASE)) };
    let grows = file.growth.as_ref().is_none_or(|growth| *growth.get_ref() != Share::default());
    let most = if grows { USUAL_DATABASE } else { Share::WHOLE };
    match *size.get_ref() {
        Amount::Bytes(bytes) if bytes.get() == 0 || !bytes.get().is_multiple_of(PAGE.get()) => Err(source.fault_at(
            size.span(),
            format!("{bytes} is not a size of a database, which consists of pages of {PAGE}"),
            format!("write a multiple of {PAGE}, such as \"16GiB\", or a share of the target, such as \"40%\""),
        )),
        Amount::Share(share) if share == Share::default() || share > most => Err(source.fault_at(
            size.span(),
            format!("{share} is not a share of the space for a database and its room to grow, a quarter of its size"),
            format!("write more than 0% and at most {most}{}", if grows { ", or growth = \"0%\"" } else { "" }),
        )),
        amount => Ok(amount),
    }
}

/// The value of a key, which must be within bounds; `usual` if the key is missing.
fn read_between<T: Copy + PartialOrd + std::fmt::Display>(
    source: Source<'_>,
    asked: Option<&Spanned<T>>,
    usual: T,
    bounds: RangeInclusive<T>,
    what: &str,
) -> Result<T, Fault> {
    Ok(source.value_within(asked, bounds, what)?.unwrap_or(usual))
}
