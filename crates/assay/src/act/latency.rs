//! `act_latency`: the table of ACT's analyzer, identical to the byte.

use super::common::say;
use crate::screen::tell;
use assay_formats::act::latency;
use assay_run::failure::Failure;
use assay_run::files;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// Prints what `act_latency.py` prints; where the original ends in a traceback, one line on standard error says why.
pub(super) fn run(args: &[String]) -> Result<u8, Failure> {
    let mut out = String::new();
    let ended = latency::run(args, &mut open, &mut out).map_err(|_| Failure::bug("a table that cannot be written"))?;
    say(&out);
    if let Some(complaint) = ended.complaint {
        tell(&complaint);
    }
    Ok(ended.code)
}

fn open(name: &str) -> io::Result<Box<dyn BufRead>> {
    Ok(Box::new(BufReader::new(files::open(Path::new(name))?)))
}
