//! ACT in the program: what its users already have (configs, logs, command lines) and what they expect in return.
//!
//! A drop-in takes the original's arguments and prints in its format. It never relaxes safety: consent to write comes
//! from the environment (`ASSAY_DESTROY_DATA`), from `assay consent` or from the terminal, and refusals are ours.
//! `docs/act.md` lists the differences.

mod common;
mod consent;
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
    fn of(name: &str) -> Option<Tool> {
        match name {
            "act_storage" => Some(Tool::Test(Kind::Storage)),
            "act_index" => Some(Tool::Test(Kind::Index)),
            "act_prep" => Some(Tool::Prep),
            "act_latency" | "act_latency.py" => Some(Tool::Latency),
            _ => None,
        }
    }

    /// Does what the tool does with these arguments; returns the exit code.
    pub(crate) fn run(self, args: &[String]) -> Result<u8, Failure> {
        match self {
            Tool::Test(kind) => test::run(kind, args),
            Tool::Prep => prep::run(args),
            Tool::Latency => latency::run(args),
        }
    }
}

/// The tool that this program was called as, by the name of the link, with its arguments.
#[allow(clippy::disallowed_methods, reason = "the binary reads its arguments")]
pub(crate) fn called_as() -> Option<(Tool, Vec<String>)> {
    let mut args = std::env::args_os();
    let own = args.next()?;
    let tool = Tool::of(std::path::Path::new(&own).file_name()?.to_str()?)?;
    Some((tool, args.map(|arg| arg.to_string_lossy().into_owned()).collect()))
}

/// `assay as TOOL ARGS`.
pub(crate) fn named(words: &[String]) -> Result<u8, Failure> {
    let (name, args) = words.split_first().ok_or_else(|| {
        Failure::usage("as needs the name of a tool: act_storage, act_index, act_prep or act_latency")
    })?;
    let tool = Tool::of(name).ok_or_else(|| {
        Failure::usage(format!(
            "there is no drop-in for \"{}\"; use act_storage, act_index, act_prep and act_latency",
            name.escape_debug()
        ))
    })?;
    tool.run(args)
}
