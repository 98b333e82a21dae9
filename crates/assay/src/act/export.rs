//! `assay export LOG --to act-log`.

use super::common::print_flushed;
use assay_formats::act::export::Export;
use assay_formats::act::log::Unit;
use assay_record::Entry;
use assay_run::failure::{Failure, code, escaped_path};
use assay_run::log::reading;
use assay_run::log::rundir;
use std::path::Path;

/// Writes the log to standard output in ACT's format. `step` selects the step of a certification.
pub(crate) fn act_log(log: &Path, step: Option<u32>, unit: Unit) -> Result<u8, Failure> {
    let path = rundir::log_in(log);
    let mut reader = reading::open_reader(&path)?;
    let mut export: Option<Export> = None;
    let mut steps = 0;
    let mut text = String::new();
    while let Some(entry) = reader.next_entry().map_err(|e| unfit_log(&path, e))? {
        match entry {
            Ok(Entry::Header(header)) => {
                steps += 1;
                let number = header.step.as_ref().map_or(steps, |step| step.number);
                if step.is_some_and(|wanted| wanted != number) {
                    // Another step, before or after the selected one.
                    if export.is_some() {
                        break;
                    }
                    continue;
                }
                if header.continues && export.is_some() {
                    return Err(unfit_log(
                        &path,
                        "the run was interrupted and continued; an ACT log has no way to say so",
                    ));
                }
                if export.is_some() {
                    return Err(unfit_log(&path, "it holds several steps\n  = name one with --step N"));
                }
                export = Some(Export::begin_with_head(&header, unit, &mut text).map_err(|why| unfit_log(&path, why))?);
            }
            Ok(Entry::Interval(interval)) => {
                if let Some(export) = &mut export {
                    export.export_interval(&interval, &mut text).map_err(|why| unfit_log(&path, why))?;
                }
            }
            Ok(_) => {}
            Err(damage) if damage.torn_tail => break,
            Err(damage) => return Err(unfit_log(&path, format!("the log is damaged: {damage}"))),
        }
        if text.len() > 1 << 16 && !print_flushed(&std::mem::take(&mut text)) {
            return Ok(code::DONE);
        }
    }
    export.ok_or_else(|| {
        let step = step.map_or_else(|| "a run".to_owned(), |step| format!("step {step}"));
        unfit_log(&path, format!("there is no {step} in it"))
    })?;
    print_flushed(&text);
    Ok(code::DONE)
}

fn unfit_log(log: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::bad_workload(format!("{}: {why}", escaped_path(log)))
}
