//! The four answers, their order and their exit codes.
//!
//! The order follows from what can be proven: what a device was seen to do wrong stays true whatever happened to the
//! run later, so FAIL outweighs INVALID, which outweighs INCOMPLETE. PASS remains when there is no reason against it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a run proves. Ordered by weight: with several, the greatest decides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Every bound held in every slice, and the load asked for was the load delivered.
    Pass,
    /// The run was cut short; the part that was measured decides nothing about the target.
    Incomplete,
    /// The test proves nothing: the generator was the bottleneck, the log does not add up, a cache or another user of the device
    /// interfered.
    Invalid,
    /// The target did not hold.
    Fail,
}

impl Verdict {
    /// The verdict that is written this way in results.
    pub fn from_word(word: &str) -> Option<Verdict> {
        [Verdict::Pass, Verdict::Incomplete, Verdict::Invalid, Verdict::Fail]
            .into_iter()
            .find(|verdict| verdict.to_string() == word)
    }

    /// The exit code of the program.
    pub const fn exit_code(self) -> u8 {
        match self {
            Verdict::Pass => 0,
            Verdict::Fail => 10,
            Verdict::Invalid => 11,
            Verdict::Incomplete => 12,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Pass => "PASS",
            Verdict::Fail => "FAIL",
            Verdict::Invalid => "INVALID",
            Verdict::Incomplete => "INCOMPLETE",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_decides_and_each_has_its_code() {
        use Verdict::*;
        let mut all = [Fail, Pass, Incomplete, Invalid];
        all.sort();
        assert_eq!(all, [Pass, Incomplete, Invalid, Fail]);
        assert_eq!(all.map(Verdict::exit_code), [0, 12, 11, 10]);
        assert_eq!(serde_json::to_string(&Fail).unwrap(), "\"FAIL\"");
    }
}
