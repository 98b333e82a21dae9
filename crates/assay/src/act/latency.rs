//! `act_latency`: the table of ACT's analyzer, identical to the byte.

use super::common::print_flushed;
use crate::screen::print_to_stderr;
use assay_formats::act::latency;
use assay_run::failure::Failure;
use assay_run::files;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// Prints what `act_latency.py` prints; where the original ends in a traceback, one line on standard error says why.
pub(super) fn run_act_latency(args: &[String]) -> Result<u8, Failure> {
    let mut out = String::new();
    let ended = latency::run_analyzer(args, &mut open_log, &mut out)
        .map_err(|_| Failure::internal_bug("a table that cannot be written"))?;
    print_flushed(&out);
    if let Some(complaint) = ended.complaint {
        print_to_stderr(&complaint);
    }
    Ok(ended.code)
}

fn open_log(name: &str) -> io::Result<Box<dyn BufRead>> {
    Ok(Box::new(BufReader::new(files::open_named_file(Path::new(name))?)))
}
