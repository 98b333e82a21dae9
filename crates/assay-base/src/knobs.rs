//! The numbers of a profile that a fit changes, so that a drive under test does what production's drive did.

use crate::Share;

/// The four numbers that a profile's measurements leave open, for one drive. Each is a key of ACT's guide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Knobs {
    /// Position of the size of a read in its bucket of a histogram: 100 % is the lower bound (`read-size-offset`).
    pub read_position: Share,
    /// The same for a write (`write-size-offset`).
    pub write_position: Share,
    /// Factor on the rate of large-block reads (`lbr-req-offset`).
    pub read_scale: Share,
    /// Factor on the rate of large-block writes (`lbw-req-offset`).
    pub write_scale: Share,
}

impl Default for Knobs {
    /// A profile as it was imported.
    fn default() -> Knobs {
        let whole = Share::WHOLE;
        Knobs { read_position: whole, write_position: whole, read_scale: whole, write_scale: whole }
    }
}

impl Knobs {
    /// Each knob with its name in words.
    pub fn named(&self) -> [(&'static str, Share); 4] {
        [
            ("position of reads", self.read_position),
            ("position of writes", self.write_position),
            ("large-block reads", self.read_scale),
            ("large-block writes", self.write_scale),
        ]
    }
}
