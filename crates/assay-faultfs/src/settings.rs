//! What can be set: one `key=value` per line. Times are `100us`, `2ms`, `1s`; shares are `1%`; 0 or `off` ends a fault.

use std::time::Duration;

/// The faults that the disk adds to its operations. "Every n" counts the operations of that direction since the last
/// `reset=1`.
#[derive(Clone, Debug, PartialEq)]
pub struct Faults {
    /// How long every read takes (`read_delay=2ms`).
    pub read_delay: Duration,
    /// How long every write takes (`write_delay=2ms`).
    pub write_delay: Duration,
    /// Shares of reads and writes that take another time instead (`tail=1%:5ms`, `tail2=0.1%:20ms`); the second takes
    /// precedence.
    pub tails: [Option<(f64, Duration)>; 2],
    /// One in this many reads fails with `errno` (`rerr_every=97`).
    pub read_error_every: u64,
    /// One in this many writes fails with `errno` (`werr_every=89`).
    pub write_error_every: u64,
    /// How long every flush takes (`flush_delay=2ms`).
    pub flush_delay: Duration,
    /// A share of flushes that take another time instead (`flush_tail=1%:5ms`).
    pub flush_tail: Option<(f64, Duration)>,
    /// One in this many flushes fails with `errno` (`ferr_every=7`).
    pub flush_error_every: u64,
    /// The error they fail with (`errno=EIO`).
    pub errno: i32,
    /// One in this many reads returns half (`short_every=50`); but not the read of a rest, which begins in the middle
    /// of a block.
    pub short_every: u64,
    /// One in this many writes stores one wrong byte (`corrupt_every=100`).
    pub corrupt_every: u64,
    /// One in this many writes is acknowledged and not stored (`lost_every=100`).
    pub lost_every: u64,
    /// One in this many writes is stored one length too far (`misdirect_every=100`).
    pub misdirect_every: u64,
    /// One in this many writes is stored only with its first half (`torn_every=100`).
    pub torn_every: u64,
    /// Data written since the last successful flush are lost when the power is cut (`volatile=1`).
    pub volatile: bool,
    /// Nothing is answered (`hang=1`).
    pub hang: bool,
    /// Everything is answered with ENODEV (`gone=1`).
    pub gone: bool,
    /// The end of the disk now, if it is not at its size: reads beyond it return nothing, writes ENOSPC (`end=16MiB`).
    pub end: Option<u64>,
}

impl Default for Faults {
    fn default() -> Faults {
        Faults {
            read_delay: Duration::ZERO,
            write_delay: Duration::ZERO,
            tails: [None; 2],
            read_error_every: 0,
            write_error_every: 0,
            flush_delay: Duration::ZERO,
            flush_tail: None,
            flush_error_every: 0,
            errno: libc::EIO,
            short_every: 0,
            corrupt_every: 0,
            lost_every: 0,
            misdirect_every: 0,
            torn_every: 0,
            volatile: false,
            hang: false,
            gone: false,
            end: None,
        }
    }
}

/// The request of a line besides a change of [`Faults`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Also {
    /// Nothing.
    Nothing,
    /// Clear the account and count from 0.
    Reset,
    /// Answer nothing for this long, from now on.
    Stall(Duration),
    /// Lose what is volatile, and answer everything with ENODEV until `gone=0` (`cut=1`).
    Cut,
}

impl Faults {
    /// Applies one `key=value`. The error says what is wrong with it.
    pub(crate) fn set(&mut self, line: &str) -> Result<Also, String> {
        let (key, value) = line.split_once('=').ok_or_else(|| format!("\"{line}\" is not key=value"))?;
        let (key, value) = (key.trim(), value.trim());
        let wrong = || format!("{key}: \"{value}\" is not understood");
        let every = || if value == "off" { Some(0) } else { value.parse().ok() }.ok_or_else(wrong);
        let on = || value.parse::<u8>().ok().filter(|n| *n < 2).map(|n| n == 1).ok_or_else(wrong);
        let time = || time(value).ok_or_else(wrong);
        match key {
            "read_delay" => self.read_delay = time()?,
            "write_delay" => self.write_delay = time()?,
            "tail" => self.tails[0] = tail(value).ok_or_else(wrong)?,
            "tail2" => self.tails[1] = tail(value).ok_or_else(wrong)?,
            "rerr_every" => self.read_error_every = every()?,
            "werr_every" => self.write_error_every = every()?,
            "flush_delay" => self.flush_delay = time()?,
            "flush_tail" => self.flush_tail = tail(value).ok_or_else(wrong)?,
            "ferr_every" => self.flush_error_every = every()?,
            "errno" => self.errno = errno(value).ok_or_else(wrong)?,
            "short_every" => self.short_every = every()?,
            "corrupt_every" => self.corrupt_every = every()?,
            "lost_every" => self.lost_every = every()?,
            "misdirect_every" => self.misdirect_every = every()?,
            "torn_every" => self.torn_every = every()?,
            "volatile" => self.volatile = on()?,
            "hang" => self.hang = on()?,
            "gone" => self.gone = on()?,
            "end" => self.end = if value == "off" { None } else { Some(bytes(value).ok_or_else(wrong)?) },
            "stall" => return Ok(Also::Stall(time()?)),
            "cut" => return if on()? { Ok(Also::Cut) } else { Ok(Also::Nothing) },
            "reset" => return if on()? { Ok(Also::Reset) } else { Ok(Also::Nothing) },
            _ => return Err(format!("{key} is not a setting")),
        }
        Ok(Also::Nothing)
    }
}

pub(crate) fn time(text: &str) -> Option<Duration> {
    let text = if text == "off" { "0s" } else { text };
    let at = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    let scale = match &text[at..] {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(text[..at].parse::<f64>().ok()? * scale).ok()
}

/// `1%:5ms`; the inner `None` is "off".
fn tail(text: &str) -> Option<Option<(f64, Duration)>> {
    if text == "off" {
        return Some(None);
    }
    let (share, span) = text.split_once(':')?;
    let share = share.strip_suffix('%')?.parse::<f64>().ok()? / 100.0;
    (0.0..=1.0).contains(&share).then_some(())?;
    Some(Some((share, time(span)?)))
}

/// `EIO` and a few other errors of storage, or a number.
pub(crate) fn errno(text: &str) -> Option<i32> {
    let known = [
        ("EIO", libc::EIO),
        ("ENXIO", libc::ENXIO),
        ("ENODEV", libc::ENODEV),
        ("ENOSPC", libc::ENOSPC),
        ("EROFS", libc::EROFS),
        ("ENODATA", libc::ENODATA),
        ("EILSEQ", libc::EILSEQ),
        ("ETIMEDOUT", libc::ETIMEDOUT),
        ("EACCES", libc::EACCES),
        ("EDQUOT", libc::EDQUOT),
        ("ENOENT", libc::ENOENT),
        ("EPERM", libc::EPERM),
        ("ESTALE", libc::ESTALE),
        ("EREMOTEIO", libc::EREMOTEIO),
    ];
    let named = known.iter().find(|(name, _)| *name == text).map(|(_, number)| *number);
    named.or_else(|| text.parse().ok().filter(|n| (1..4096).contains(n)))
}

/// `256MiB`, `4KiB`, `1GiB` or a plain number.
pub fn bytes(text: &str) -> Option<u64> {
    let scales = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1), ("", 1)];
    let (suffix, scale) = scales.iter().find(|(suffix, _)| text.ends_with(suffix))?;
    text.strip_suffix(suffix)?.parse::<u64>().ok()?.checked_mul(*scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood_or_refused() {
        let mut faults = Faults::default();
        for (line, ok) in [
            ("read_delay=2ms", true),
            ("write_delay=100us", true),
            ("tail = 1%:5ms", true),
            ("tail2=0.1%:20ms", true),
            ("flush_tail=2.5%:15ms", true),
            ("errno=EREMOTEIO", true),
            ("errno=5", true),
            ("errno=EWHAT", false),
            ("rerr_every=97", true),
            ("rerr_every=-1", false),
            ("end=16MiB", true),
            ("end=16 MB", false),
            ("hang=2", false),
            ("tail=101%:5ms", false),
            ("flush_tail=15ms", false),
            ("read_delay=2", false),
            ("colour=red", false),
            ("hang", false),
        ] {
            assert_eq!(faults.set(line).is_ok(), ok, "{line}");
        }
        let tails = [Some((0.01, Duration::from_millis(5))), Some((0.001, Duration::from_millis(20)))];
        let expected = Faults {
            read_delay: Duration::from_millis(2),
            write_delay: Duration::from_micros(100),
            flush_tail: Some((0.025, Duration::from_millis(15))),
            tails,
            read_error_every: 97,
            end: Some(16 << 20),
            ..Faults::default()
        };
        assert_eq!(faults, expected);
        assert_eq!(faults.set("stall=1.5s"), Ok(Also::Stall(Duration::from_millis(1500))));
        assert_eq!(faults.set("reset=1"), Ok(Also::Reset));
        assert_eq!((faults.set("cut=1"), faults.set("cut=0")), (Ok(Also::Cut), Ok(Also::Nothing)));
        assert_eq!(faults.set("volatile=1").map(|_| faults.volatile), Ok(true));
        assert_eq!(faults.set("end=off").map(|_| faults.end), Ok(None));
    }
}
