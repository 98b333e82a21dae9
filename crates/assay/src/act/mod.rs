//! ACT in the program: what its users bring along (configs, logs, command lines) and what they expect back.
//!
//! A drop-in takes the original's arguments and prints its grammar. It never relaxes safety: consent to write comes from the
//! environment (`ASSAY_DESTROY_DATA`) or from the terminal, and a refusal is ours. `docs/act.md` lists what differs.

mod consent;
pub mod export;
mod latency;
mod prep;
mod printer;
mod test;

use crate::failure::Failure;
use assay_formats::act::conf::Kind;
use std::io::Write;

/// The tools of ACT that this program stands in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// `act_storage` or `act_index`.
    Test(Kind),
    /// `act_prep`.
    Prep,
    /// `act_latency`, also by its name with `.py`.
    Latency,
}

impl Tool {
    /// The tool of this name.
    fn of(name: &str) -> Option<Tool> {
        match name {
            "act_storage" => Some(Tool::Test(Kind::Storage)),
            "act_index" => Some(Tool::Test(Kind::Index)),
            "act_prep" => Some(Tool::Prep),
            "act_latency" | "act_latency.py" => Some(Tool::Latency),
            _ => None,
        }
    }

    /// Does what the tool does with these arguments; the number is the exit code.
    pub fn run(self, args: &[String]) -> Result<u8, Failure> {
        match self {
            Tool::Test(kind) => test::run(kind, args),
            Tool::Prep => prep::run(args),
            Tool::Latency => latency::run(args),
        }
    }
}

/// The tool that this program was called as, by the name of the link, with its arguments.
#[allow(clippy::disallowed_methods, reason = "the binary reads its arguments")]
pub fn called_as() -> Option<(Tool, Vec<String>)> {
    let mut args = std::env::args_os();
    let own = args.next()?;
    let tool = Tool::of(std::path::Path::new(&own).file_name()?.to_str()?)?;
    Some((tool, args.map(|arg| arg.to_string_lossy().into_owned()).collect()))
}

/// `assay as TOOL ARGS`.
pub fn named(words: &[String]) -> Result<u8, Failure> {
    let (name, args) = words.split_first().ok_or_else(|| Failure::usage("as needs the name of a tool"))?;
    let tool = Tool::of(name).ok_or_else(|| {
        Failure::usage(format!(
            "there is no drop-in for \"{}\"; there are act_storage, act_index, act_prep and act_latency",
            name.escape_debug()
        ))
    })?;
    tool.run(args)
}

/// The exit code where ACT has -1.
const MINUS_ONE: u8 = 255;

/// Prints and flushes; false when nobody reads any more.
fn say(text: &str) -> bool {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}

/// Number and text of an error of the operating system, as C's `strerror` has it.
fn errno(error: &std::io::Error) -> (i32, String) {
    let number = error.raw_os_error().unwrap_or(0);
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text).to_owned();
    (number, text)
}

/// Processors that are online, which ACT counts: those this process may not use too (`taskset`, a cgroup).
fn processors() -> u32 {
    let listed = std::fs::read_to_string("/sys/devices/system/cpu/online").ok().and_then(|text| listed(&text));
    listed.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get() as u32))
}

/// How many numbers a list of the kernel has: `0-3,8`.
fn listed(text: &str) -> Option<u32> {
    let count = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (from.parse::<u32>().ok()?, to.parse::<u32>().ok()?);
        to.checked_sub(from)?.checked_add(1)
    };
    text.trim().split(',').map(count).sum::<Option<u32>>().filter(|n| *n > 0)
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn processors_are_counted_as_the_kernel_lists_them() {
        for (text, count) in
            [("0\n", Some(1)), ("0-3\n", Some(4)), ("0-1,4,8-15\n", Some(11)), ("", None), ("3-1", None), ("a", None)]
        {
            assert_eq!(listed(text), count, "{text:?}");
        }
    }
}
