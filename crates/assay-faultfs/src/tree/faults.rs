//! What can be set of a tree: `key=value`, separated by spaces or lines. Times are `100us`, `2ms`, `1s`; 0 or `off` ends a
//! fault.

use super::operation::TreeOperation;
use crate::settings::{bytes, errno, time};
use std::collections::BTreeMap;
use std::time::Duration;

/// The faults of one kind of call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CallFaults {
    /// How long each call takes.
    pub delay: Duration,
    /// The error that calls fail with.
    pub errno: Option<i32>,
    /// Which of them fail: every n-th since the last `reset=1`.
    pub every: u64,
    /// Nothing of this kind is answered.
    pub hang: bool,
}

/// The faults of a tree.
///
/// | key | meaning |
/// |---|---|
/// | `unlink.delay=5ms` | every unlink takes so long; `all.delay` is that of each kind which has none of its own |
/// | `write.errno=ENOSPC` | every write fails; with `write.every=7` each seventh |
/// | `fsync.hang=1` | no fsync is answered; `hang=1`: nothing is |
/// | `stall=2s` | nothing is answered for so long, from now on |
/// | `stale=1` | every call fails with ESTALE, as behind a server that has forgotten the export |
/// | `read_only=1` | every call that changes something fails with EROFS |
/// | `space=24MiB`, `files=300` | more fails with ENOSPC |
/// | `lost_every=9` | each ninth write is acknowledged and not stored |
/// | `torn_every=9` | of each ninth write only the first half is stored |
/// | `short_every=9` | each ninth write stores and acknowledges only its first half |
/// | `zeroed_every=9` | the first 4 KiB of each ninth write are stored as zeros |
/// | `undeleted_every=9` | each ninth unlink is acknowledged, and the file stays |
/// | `swap=A,B`, `cut=A`, `zero=A`, `tear=A`, `vanish=A`, `restore=A` | at once: swaps the contents of two files; cuts one to half; zeroes its first 4 KiB, or the second half of them; removes its name; gives a removed one back |
/// | `reset=1` | clears the account, and counts from 0 |
///
/// Paths are relative to the root of the tree and have neither spaces nor commas.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeFaults {
    calls: BTreeMap<TreeOperation, CallFaults>,
    /// The delay of kinds of calls that have none of their own.
    delay: Duration,
    pub(crate) hang: bool,
    pub(crate) stale: bool,
    pub(crate) read_only: bool,
    pub(crate) space: Option<u64>,
    pub(crate) files: Option<u64>,
    pub(crate) lost_every: u64,
    pub(crate) torn_every: u64,
    pub(crate) short_every: u64,
    pub(crate) zeroed_every: u64,
    pub(crate) undeleted_every: u64,
}

/// What is done at once, besides a change of [`TreeFaults`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AtOnce {
    Reset,
    Stall(Duration),
    Swap(String, String),
    Cut(String),
    Zero(String),
    Tear(String),
    Vanish(String),
    Restore(String),
}

impl TreeFaults {
    /// The faults of a kind of call.
    pub(crate) fn of_call(&self, operation: TreeOperation) -> CallFaults {
        let own = self.calls.get(&operation).copied().unwrap_or_default();
        let delay = if own.delay.is_zero() { self.delay } else { own.delay };
        CallFaults { delay, every: own.every.max(1), hang: own.hang || self.hang, ..own }
    }

    /// Applies one `key=value`. The error says what is wrong with it.
    pub(crate) fn set(&mut self, line: &str) -> Result<Option<AtOnce>, String> {
        let (key, value) = line.split_once('=').ok_or_else(|| format!("\"{line}\" is not key=value"))?;
        if let Some((operation, key)) = key.split_once('.') {
            return self.set_of_call(operation, key, value).map(|()| None);
        }
        let wrong = || format!("{key}: \"{value}\" is not understood");
        let number = parse_number(value).ok_or_else(wrong);
        let limit = if value == "off" { Some(None) } else { bytes(value).map(Some) }.ok_or_else(wrong);
        match key {
            "hang" => self.hang = parse_switch(value).ok_or_else(wrong)?,
            "stale" => self.stale = parse_switch(value).ok_or_else(wrong)?,
            "read_only" => self.read_only = parse_switch(value).ok_or_else(wrong)?,
            "space" => self.space = limit?,
            "files" => self.files = limit?,
            "lost_every" => self.lost_every = number?,
            "short_every" => self.short_every = number?,
            "torn_every" => self.torn_every = number?,
            "zeroed_every" => self.zeroed_every = number?,
            "undeleted_every" => self.undeleted_every = number?,
            _ => return parse_at_once(key, value).map(Some),
        }
        Ok(None)
    }

    fn set_of_call(&mut self, operation: &str, key: &str, value: &str) -> Result<(), String> {
        let wrong = || format!("{operation}.{key}: \"{value}\" is not understood");
        if (operation, key) == ("all", "delay") {
            self.delay = time(value).ok_or_else(wrong)?;
            return Ok(());
        }
        let known = TreeOperation::from_name(operation).ok_or_else(|| format!("there is no operation {operation}"))?;
        let faults = self.calls.entry(known).or_default();
        match key {
            "delay" => faults.delay = time(value).ok_or_else(wrong)?,
            "errno" if value == "off" => faults.errno = None,
            "errno" => faults.errno = Some(errno(value).ok_or_else(wrong)?),
            "every" => faults.every = parse_number(value).ok_or_else(wrong)?,
            "hang" => faults.hang = parse_switch(value).ok_or_else(wrong)?,
            _ => return Err(format!("{operation}.{key} is not a setting")),
        }
        Ok(())
    }
}

fn parse_number(text: &str) -> Option<u64> {
    if text == "off" { Some(0) } else { text.parse().ok() }
}

fn parse_switch(text: &str) -> Option<bool> {
    match text {
        "0" | "off" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

fn parse_at_once(key: &str, value: &str) -> Result<AtOnce, String> {
    let path = value.trim_matches('/').to_owned();
    match key {
        "reset" => Ok(AtOnce::Reset),
        "stall" => {
            time(value).map(AtOnce::Stall).ok_or_else(|| format!("stall: \"{value}\" is not a time, such as 2s"))
        }
        "swap" => match path.split_once(',') {
            Some((one, other)) => Ok(AtOnce::Swap(one.to_owned(), other.to_owned())),
            None => Err(format!("swap: \"{value}\" is not two paths with a comma between them")),
        },
        "cut" => Ok(AtOnce::Cut(path)),
        "zero" => Ok(AtOnce::Zero(path)),
        "tear" => Ok(AtOnce::Tear(path)),
        "vanish" => Ok(AtOnce::Vanish(path)),
        "restore" => Ok(AtOnce::Restore(path)),
        _ => Err(format!("{key} is not a setting")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood_or_refused() {
        let mut faults = TreeFaults::default();
        for (line, is_understood) in [
            ("unlink.delay=5ms", true),
            ("write.errno=EDQUOT", true),
            ("write.every=3", true),
            ("fsync.hang=1", true),
            ("all.delay=1ms", true),
            ("close.errno=ENOSPC", true),
            ("fsync-dir.errno=off", true),
            ("space=24MiB", true),
            ("files=300", true),
            ("space=off", true),
            ("lost_every=9", true),
            ("erase.delay=5ms", false),
            ("write.errno=EWHAT", false),
            ("write.colour=red", false),
            ("hang=2", false),
            ("swap=a", false),
            ("colour=red", false),
            ("stall=2", false),
            ("hang", false),
        ] {
            assert_eq!(faults.set(line).is_ok(), is_understood, "{line}");
        }
        let of_write = faults.of_call(TreeOperation::Write);
        assert_eq!((of_write.errno, of_write.every, of_write.hang), (Some(libc::EDQUOT), 3, false));
        assert_eq!(
            (of_write.delay, faults.of_call(TreeOperation::Unlink).delay.as_millis()),
            (Duration::from_millis(1), 5)
        );
        assert!(faults.of_call(TreeOperation::Fsync).hang);
        assert_eq!((faults.files, faults.space, faults.lost_every), (Some(300), None, 9));
        assert_eq!(faults.set("swap=a/b,c"), Ok(Some(AtOnce::Swap("a/b".into(), "c".into()))));
        assert_eq!(faults.set("stall=2s"), Ok(Some(AtOnce::Stall(Duration::from_secs(2)))));
    }
}
