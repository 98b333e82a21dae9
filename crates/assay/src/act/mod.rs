//! ACT in the program: what its users already have (configs, logs, command lines) and what they expect in return.
//!
//! A drop-in takes the original's arguments and prints in its format. It never relaxes safety: consent to write comes
//! from the environment (`ASSAY_DESTROY_DATA`), from `assay consent` or from the terminal, and refusals are ours. So are
//! exit codes, unless the original's are asked for (`ASSAY_ACT_EXIT`).
//! `docs/act.md` lists the differences.

pub(crate) mod common;
pub(crate) mod consent;
mod exit;
pub(crate) mod export;
mod latency;
mod prep;
mod printer;
mod test;

use assay_formats::act::conf::Kind;
use assay_run::failure::Failure;

/// The tools of ACT that this program can replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// `act_storage` or `act_index`.
    Test(Kind),
    /// `act_prep`.
    Prep,
    /// `act_latency`, also with the name ending in `.py`.
    Latency,
}

impl Tool {
    /// The tool with this name.
    pub(crate) fn for_program(name: &str) -> Option<Tool> {
        match name {
            "act_storage" => Some(Tool::Test(Kind::Storage)),
            "act_index" => Some(Tool::Test(Kind::Index)),
            "act_prep" => Some(Tool::Prep),
            "act_latency" | "act_latency.py" => Some(Tool::Latency),
            _ => None,
        }
    }

    /// Does what the tool does with these arguments; returns the exit code.
    pub(crate) fn run_tool(self, args: &[String]) -> Result<u8, Failure> {
        match self {
            Tool::Test(kind) => test::run_act_test(kind, args),
            Tool::Prep => prep::run_act_prep(args),
            Tool::Latency => latency::run_act_latency(args),
        }
    }
}
