//! Workload files: parses TOML to a plan. Unknown keys, missing units and impossible values are refused with the line,
//! a caret and what to write instead. `docs/formats/workload.md` lists every key.

mod act;
mod address;
mod arrival;
mod cached;
mod certificate;
mod certify;
mod common;
mod criteria;
mod definition;
mod files;
mod files_chars;
mod files_do;
mod files_durable;
mod files_phases;
mod files_tree;
mod fitted;
mod flush;
mod hosts;
mod life;
mod looped;
mod mail;
mod mend;
mod names;
mod oltp;
mod on_device;
mod pace;
mod planning;
mod profile;
mod ramp;
mod recorded;
mod seek;
mod service;
mod service_file;
mod service_step;
mod size;
mod source;
mod stages;
mod step;
mod stream_keys;
mod streams;
mod tile_file;
mod tpcc;
mod turns;
mod warm_up;
mod words;

pub use crate::plan::MOST_STREAMS;
pub use certificate::{BesideStep, Certificate, CertifiedTime, Limits, QuickLook, StressStep};
pub use common::LARGEST_BOUND;
pub use definition::{
    Application, Caches, IN_FLIGHT_BOUND, Load, Sealing, Targets, TileMember, TilePart, TileTimes, Tiles, Timing,
    Verification, Workload,
};
pub use fitted::fitted_text;
pub use mail::store_workload;
pub use oltp::oltp_workload;
pub use on_device::WITHOUT_FILE_SYSTEM;
pub use planning::Adjust;
pub use profile::{profile_workload, read_profile};
pub use step::Step;

use assay_base::Fault;
use assay_base::fault::nearest_known_name;
use mend::Mended;
use source::Source;
use std::fmt;

/// Longest workload file that is read, in bytes.
pub const LONGEST: usize = 1 << 20;

/// The models a workload file can name.
pub const MODELS: [&str; 11] =
    ["streams", "act-storage", "act-index", "oltp", "mail", "profile", "seek", "tpcc", "files", "service", "tiles"];

/// Upper bound on the faults of one file that are reported.
const MOST_FAULTS: usize = 20;
/// Upper bound on how often a file is read again after a fault, and on the bytes of all readings together: reading a
/// file of a megabyte that is wrong everywhere must not take seconds.
const MOST_ROUNDS: usize = 100;
const MOST_READ: usize = 4 << 20;

/// Everything that is wrong with a workload file, in the order of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// In the order of the file; at least one.
    pub fn in_file_order(&self) -> &[Fault] {
        &self.0
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            write!(f, "{}{fault}", if index > 0 { "\n\nerror: " } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

/// Reads a workload file. `file` is its name, for messages. All faults are reported at once.
pub fn read_workload(file: &str, text: &str) -> Result<Workload, Faults> {
    let first = match read_to_first_fault(file, text) {
        Ok(workload) => return Ok(workload),
        Err(fault) => fault,
    };
    let mut mended = Mended::new(text.get(..LONGEST).unwrap_or(text));
    let mut faults: Vec<Fault> = Vec::new();
    let mut found = Some(first);
    for _ in 0..MOST_ROUNDS.min(MOST_READ / text.len().max(1)).max(1) {
        let Some(fault) = found.take() else { break };
        let caused = fault.span.as_ref().is_some_and(|span| mended.is_ours(span));
        match &fault.span {
            _ if caused => {}
            Some(span) => {
                let (what, remedy) = (fault.what.clone(), fault.remedy.clone());
                faults.push(Fault::for_span(file, text, mended.original_place(span), what, remedy));
            }
            None if faults.is_empty() => faults.push(fault.clone()),
            // A fault of the file as a whole: it may be the cause of other faults.
            None => break,
        }
        if faults.len() == MOST_FAULTS || !mended.mend_fault(&fault, caused) {
            break;
        }
        found = read_to_first_fault(file, mended.current_text()).err();
    }
    faults.sort_by_key(|fault| (fault.line, fault.column));
    Err(Faults(faults))
}

/// Names the models that there are.
fn write_one_of_models() -> String {
    format!("write one of {}", MODELS.join(", "))
}

/// Reads the file up to its first fault.
fn read_to_first_fault(file: &str, text: &str) -> Result<Workload, Fault> {
    if text.len() > LONGEST {
        let what = format!("a workload file of {} bytes is longer than any real one", text.len());
        return Err(Fault::for_file(file, what, format!("keep it below {LONGEST} bytes")));
    }
    #[derive(serde::Deserialize)]
    struct Model {
        model: Option<toml::Spanned<String>>,
        tile: Option<serde::de::IgnoredAny>,
    }
    let source = Source { file, text };
    let Model { model, tile } = source.parse_file::<Model>()?;
    let Some(model) = model else {
        // The name of its only tables says what it is.
        if tile.is_some() {
            return tile_file::read_tiles(source);
        }
        return Err(Fault::for_file(
            file,
            "the workload names no model",
            format!("add model = \"streams\" ({})", write_one_of_models()),
        ));
    };
    match model.get_ref().as_str() {
        "streams" => streams::read_streams(source),
        "act-storage" => act::read_storage(source),
        "act-index" => act::read_index(source),
        "oltp" => oltp::read_oltp(source),
        "mail" => mail::read_mail(source),
        "profile" => profile::read_profile_workload(source),
        "seek" => seek::read_seek(source),
        "tpcc" => tpcc::read_tpcc(source),
        "files" => files::read_files(source),
        "service" => service::read_service(source),
        "tiles" => tile_file::read_tiles(source),
        other => {
            let meant = nearest_known_name(other, &MODELS)
                .map_or_else(write_one_of_models, |name| format!("did you mean {name}?"));
            Err(source.fault_at(model.span(), format!("there is no model \"{}\"", other.escape_debug()), meant))
        }
    }
}

#[cfg(test)]
mod streams_tests;
#[cfg(test)]
mod tests;
