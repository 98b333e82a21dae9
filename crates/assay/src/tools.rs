//! The tools that this program stands in for, by the name of a link to it or by `assay as`.

use crate::{act, bonnie, pblio, seekmark};
use assay_run::failure::Failure;

/// Names of all tools, for people.
const NAMES: &str = "act_storage, act_index, act_prep, act_latency, pblio, seekmark and bonnie++";

/// A tool that this program stands in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// One of ACT's.
    Act(act::Tool),
    /// `pblio`.
    Pblio,
    /// `seekmark`.
    SeekMark,
    /// `bonnie++`.
    Bonnie,
}

impl Tool {
    /// The tool of this name.
    fn for_program(name: &str) -> Option<Tool> {
        match name {
            "pblio" => Some(Tool::Pblio),
            "seekmark" => Some(Tool::SeekMark),
            "bonnie++" => Some(Tool::Bonnie),
            _ => act::Tool::for_program(name).map(Tool::Act),
        }
    }

    /// Does what the tool does with these arguments; the number is the exit code.
    pub(crate) fn run_with_arguments(self, args: &[String]) -> Result<u8, Failure> {
        match self {
            Tool::Act(tool) => tool.run_tool(args),
            Tool::Pblio => pblio::run_pblio(args),
            Tool::SeekMark => seekmark::run_seekmark(args),
            Tool::Bonnie => bonnie::run_bonnie(args),
        }
    }
}

/// The tool that this program was called as, by the name of the link, with its arguments.
#[allow(clippy::disallowed_methods, reason = "the binary reads its arguments")]
pub(crate) fn called_as() -> Option<(Tool, Vec<String>)> {
    let mut args = std::env::args_os();
    let own = args.next()?;
    let tool = Tool::for_program(std::path::Path::new(&own).file_name()?.to_str()?)?;
    Some((tool, args.map(|arg| arg.to_string_lossy().into_owned()).collect()))
}

/// `assay as TOOL ARGS`.
pub(crate) fn run_tool(words: &[String]) -> Result<u8, Failure> {
    let (name, args) =
        words.split_first().ok_or_else(|| Failure::bad_usage(format!("as needs the name of a tool: {NAMES}")))?;
    let tool = Tool::for_program(name).ok_or_else(|| {
        Failure::bad_usage(format!("there is no drop-in for \"{}\"; use {NAMES}", name.escape_debug()))
    })?;
    tool.run_with_arguments(args)
}
