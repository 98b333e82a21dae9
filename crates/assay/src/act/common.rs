//! What the drop-ins have in common: their standard output, and what C programs report about errors and processors.

use crate::terminal;
use assay_base::text::without_passwords;
use std::io;

/// The exit code where ACT returns -1.
pub(super) const MINUS_ONE: u8 = 255;

/// Prints and flushes; false when nobody reads the output any more. A terminal that has gone (EIO) is not a reason to end:
/// whoever started the tool so that it outlives its terminal wants that. These tools know no URLs, and would print their
/// passwords.
pub(crate) fn print_flushed(text: &str) -> bool {
    match terminal::write_output(&without_passwords(text)) {
        Ok(()) => true,
        Err(e) => e.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()),
    }
}

/// The text that could not be printed, and why.
pub(super) struct Unsaid {
    pub error: io::Error,
    /// The rest of the text.
    pub rest: String,
}

/// Prints and flushes, and returns what could not be written. Bytes that were written are not printed again.
pub(super) fn try_to_say(text: &str) -> Result<(), Unsaid> {
    let text = without_passwords(text);
    let mut rest = text.as_bytes();
    let written = terminal::output_of(&mut rest);
    written.map_err(|error| Unsaid { error, rest: String::from_utf8_lossy(rest).into_owned() })
}

/// Number and text of an operating system error, as C's `strerror` gives them.
pub(crate) fn error_number(error: &std::io::Error) -> (i32, String) {
    let number = error.raw_os_error().unwrap_or(0);
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text).to_owned();
    (number, text)
}

/// The number of online processors, which ACT counts, including those that this process may not use (`taskset`, a
/// cgroup).
pub(super) fn online_processors() -> u32 {
    let listed = std::fs::read_to_string("/sys/devices/system/cpu/online").ok().and_then(|text| count_listed(&text));
    listed.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get() as u32))
}

/// The number of numbers in a list in the kernel's format: `0-3,8`.
fn count_listed(text: &str) -> Option<u32> {
    text.trim().split(',').map(numbers_in_range).sum::<Option<u32>>().filter(|n| *n > 0)
}

/// The number of numbers in `0-3`, or in `8`.
fn numbers_in_range(text: &str) -> Option<u32> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let (from, to) = (from.parse::<u32>().ok()?, to.parse::<u32>().ok()?);
    to.checked_sub(from)?.checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::count_listed;

    #[test]
    fn processors_are_counted_as_the_kernel_lists_them() {
        for (text, count) in
            [("0\n", Some(1)), ("0-3\n", Some(4)), ("0-1,4,8-15\n", Some(11)), ("", None), ("3-1", None), ("a", None)]
        {
            assert_eq!(count_listed(text), count, "{text:?}");
        }
    }
}
