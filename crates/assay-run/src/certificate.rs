//! What makes verdict.json a certificate: it contains the checksum of the log it was computed from, so that anybody can
//! compute it again and compare.
//!
//! The check trusts nothing that the certificate says. Everything is computed again from the log; only when the bytes
//! are equal does it check whether the run was a certification at all: the complete published procedure, on a prepared
//! device, without anything that limits the result. Anyone who can write both files can make a matching pair;
//! signatures protect against that.

mod lacks;
pub mod records;
pub mod signing;

use crate::files::sum::{Hashing, blake3_hex};
use crate::log::tool::tool_version;
use crate::log::{reading, reading_ahead, rundir};
use assay_judge::{Fold, JudgeError, Judgement, Options, Verdict};
use assay_record::{Entry, Header, Reader};
use lacks::missing_for_certificate;
use std::io::{BufReader, Read};

/// Upper bound on the size of a certificate that is read.
pub const LARGEST: u64 = 256 << 20;

/// The value of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A certification that was passed.
    Pass,
    /// A certification that was failed.
    Fail,
    /// Authentic, but not a certification; says why.
    Record(String),
    /// Not to be trusted; says why.
    Untrusted(String),
}

impl Standing {
    /// The exit code of `assay verify`.
    pub fn exit_code(&self) -> u8 {
        match self {
            Standing::Pass => 0,
            Standing::Fail => 1,
            Standing::Untrusted(_) => 2,
            Standing::Record(_) => 3,
        }
    }
}

/// A log after judging: the judgement with the checksum of the log's bytes, and the headers.
#[derive(Debug)]
pub struct Judged {
    /// The judgement.
    pub judgement: Judgement,
    /// The headers of its segments.
    pub heads: Vec<Header>,
}

/// Judges a log in one pass that also computes its checksum, so that exactly the judged bytes are summed.
pub fn judge_with_sum(log: impl Read + Send, options: &Options) -> Result<Judged, JudgeError> {
    let mut hashing = Hashing::new(log);
    let mut reader = Reader::new(BufReader::with_capacity(reading::READ_AT_ONCE, &mut hashing));
    let mut fold = Fold::new(options.clone());
    let mut heads = Vec::new();
    reading_ahead::for_each_entry(&mut reader, |item| -> Result<(), JudgeError> {
        if let Ok(Entry::Header(header)) = item {
            heads.push((**header).clone());
        }
        fold.take_item(item);
        Ok(())
    })??;
    drop(reader);
    Ok(Judged { judgement: fold.finish()?.seal_with_log(hashing.into_sum(), blake3_hex), heads })
}

/// Id of the key that, according to the certificate, signs it.
pub fn claimed_signer(certificate: &[u8]) -> Option<String> {
    serde_json::from_slice::<Judgement>(certificate).ok()?.part.history.signer
}

/// Compares a certificate with its log.
pub fn examine_certificate(certificate: &[u8], log: impl Read + Send) -> Standing {
    compare_with_log(certificate, log).unwrap_or_else(Standing::Untrusted)
}

fn compare_with_log(certificate: &[u8], log: impl Read + Send) -> Result<Standing, String> {
    let claimed: Judgement = serde_json::from_slice(certificate)
        .map_err(|e| format!("it is not a certificate: {e}; name the verdict.json of a run"))?;
    let Some(claimed_sum) = &claimed.log else {
        return Err("it has no checksum of a log, so it cannot be checked against one".into());
    };
    let options = Options { judge_on: claimed.judged_on, ..Options::default() };
    let Judged { judgement, heads } = judge_with_sum(log, &options).map_err(|e| e.to_string())?;
    if judgement.log.as_ref() != Some(claimed_sum) {
        return Err("the log is not the log of this certificate: the checksum differs".into());
    }
    let mut again = String::new();
    assay_judge::render::write_json(&judgement, &mut again).map_err(|e| e.to_string())?;
    if again.as_bytes() != certificate {
        return Err(describe_difference(&claimed, &judgement));
    }
    if let Some(place) = judgement.damage.iter().find(|place| !place.torn_tail) {
        return Err(format!("the log is damaged in line {}: {}", place.line, place.what));
    }
    let parts = std::iter::once(&judgement.part).chain(judgement.steps.iter().map(|step| &step.part));
    if parts.map(|part| part.history.contradictions).sum::<u64>() > 0 {
        return Err("the log does not add up".into());
    }
    if let Some(head) = heads.iter().find(|head| is_misdated(head)) {
        return Err(format!(
            "the log does not add up: its start is given as {}, which its own clock readings contradict",
            head.created
        ));
    }
    Ok(standing_by_log(&judgement, &heads))
}

/// Whether the label with the start time differs from the clock reading that it was made from.
fn is_misdated(head: &Header) -> bool {
    head.clocks.is_some_and(|clocks| rundir::format_moment(clocks.real_ns) != head.created)
}

fn describe_difference(claimed: &Judgement, again: &Judgement) -> String {
    let ours = tool_version();
    let other = if claimed.tool == ours {
        String::new()
    } else {
        format!(
            "; it is of {}, this is {ours}: another version may use other words, so verify with that version",
            again.tool
        )
    };
    if claimed.verdict == again.verdict {
        format!("judging the log again does not give the same bytes{other}")
    } else {
        format!("it says {}, the log says {}{other}", claimed.verdict, again.verdict)
    }
}

fn standing_by_log(judgement: &Judgement, heads: &[Header]) -> Standing {
    let lacks = missing_for_certificate(judgement, heads);
    match (judgement.verdict, lacks) {
        (Verdict::Pass, None) => Standing::Pass,
        (Verdict::Fail, None) => Standing::Fail,
        (verdict @ (Verdict::Invalid | Verdict::Incomplete), _) => {
            Standing::Record(format!("its verdict is {verdict}"))
        }
        (_, Some(why)) => Standing::Record(why),
    }
}

#[cfg(test)]
#[path = "certificate_tests.rs"]
mod tests;
