//! The state of one unit of a target: how often the run has written it, and which of those writes a read may
//! return.
//!
//! Several writes to one unit may be in flight at the same time; then the device may keep any of them, or sectors of
//! several, and each result is correct. Such writes form a *group*, which begins with a write that is alone and ends
//! when none is in flight. Once one write of a group has completed, a read may not return anything older than the
//! group. A write that failed may have left any data; the unit is *unknown* until a write of a later group completes.
//!
//! All of it fits into one word, so that workers share a target's units without locks, and the rules are functions from
//! word to word.

/// The state of a unit. The default is a unit that this run has never written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Unit(u64);

/// The age of a generation that was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GenerationAge {
    /// A read may return it.
    Current,
    /// A write that completed before the read was issued has replaced it.
    Stale,
    /// Unknown: too many writes were in flight, or one failed.
    Unknown,
}

/// Fields of the word: 32 bits for the generation; 10 bits for how many older generations may also be returned; 10 bits
/// for the number of writes in the group; 9 bits for writes in flight; and three flags.
const DISTANCE: Field = Field { at: 32, bits: 10 };
const GROUP: Field = Field { at: 42, bits: 10 };
const FLYING: Field = Field { at: 52, bits: 9 };
const UNKNOWN: Field = Field { at: 61, bits: 1 };
/// A write of this group failed, or there were too many to count.
const SPOILED: Field = Field { at: 62, bits: 1 };
const TOLD: Field = Field { at: 63, bits: 1 };

#[derive(Clone, Copy)]
struct Field {
    at: u32,
    bits: u32,
}

impl Field {
    const fn max_value(self) -> u64 {
        (1 << self.bits) - 1
    }
    const fn bit_mask(self) -> u64 {
        self.max_value() << self.at
    }
    const fn value_in(self, word: u64) -> u64 {
        word >> self.at & self.max_value()
    }
    const fn with_value(self, word: u64, value: u64) -> u64 {
        word & !self.bit_mask() | value << self.at
    }
}

impl Unit {
    /// The state encoded in `word`.
    pub(crate) const fn from_word(word: u64) -> Unit {
        Unit(word)
    }

    /// The state as a word.
    pub(crate) const fn encoded_word(self) -> u64 {
        self.0
    }

    /// Number of writes that this run has issued; wraps.
    #[inline]
    pub(crate) const fn generation(self) -> u32 {
        self.0 as u32
    }

    /// Whether this run has issued a write.
    pub(crate) const fn was_written(self) -> bool {
        self.generation() != 0
    }

    /// A write is about to be handed over; its generation is that of the returned state.
    #[inline]
    pub(crate) fn with_write_issued(self) -> Unit {
        let generation = self.generation().wrapping_add(1).max(1);
        let alone = FLYING.value_in(self.0) == 0;
        let group = if alone { 1 } else { GROUP.value_in(self.0) + 1 };
        let distance = DISTANCE.value_in(self.0) + 1;
        let too_many = group > GROUP.max_value() || distance > DISTANCE.max_value();
        let mut word = self.0 & !u64::from(u32::MAX) | u64::from(generation);
        word = GROUP.with_value(word, group.min(GROUP.max_value()));
        word = DISTANCE.with_value(word, distance.min(DISTANCE.max_value()));
        word = FLYING.with_value(word, (FLYING.value_in(word) + 1).min(FLYING.max_value()));
        word = TOLD.with_value(word, 0);
        if alone || too_many {
            word = SPOILED.with_value(word, u64::from(too_many));
        }
        if too_many {
            word = UNKNOWN.with_value(word, 1);
        }
        Unit(word)
    }

    /// A write completed, in full or not.
    #[inline]
    pub(crate) fn with_write_completed(self, in_full: bool) -> Unit {
        let flying = FLYING.value_in(self.0);
        // When the counter is at its maximum, the real number is unknown: the counter stays there, and so does the
        // group.
        let left = if flying == FLYING.max_value() { flying } else { flying.saturating_sub(1) };
        let word = FLYING.with_value(self.0, left);
        if !in_full {
            return Unit(UNKNOWN.with_value(SPOILED.with_value(word, 1), 1));
        }
        if SPOILED.value_in(word) == 1 {
            return Unit(word);
        }
        Unit(UNKNOWN.with_value(DISTANCE.with_value(word, GROUP.value_in(word).saturating_sub(1)), 0))
    }

    /// A damage here was reported; the next write resets this.
    pub(crate) const fn with_damage_reported(self) -> Unit {
        Unit(TOLD.with_value(self.0, 1))
    }

    /// Whether a damage here was reported since it was last written.
    pub(crate) const fn was_told(self) -> bool {
        TOLD.value_in(self.0) == 1
    }

    /// Whether a read issued now must return a write of this run, and not data from before the run.
    #[inline]
    pub(crate) const fn is_held(self) -> bool {
        UNKNOWN.value_in(self.0) == 0 && DISTANCE.value_in(self.0) < self.generation() as u64
    }

    /// Whether a read that was issued at `self` and completed at `now` may have returned data in an intermediate state:
    /// of several writes, or of one that failed.
    #[inline]
    pub(crate) const fn is_unsettled(self, now: Unit) -> bool {
        self.0 & (UNKNOWN.bit_mask() | FLYING.bit_mask() | DISTANCE.bit_mask()) != 0
            || self.generation() != now.generation()
    }

    /// Whether `found` may be read from a unit that was in this state when the read was issued and is in state `now`.
    #[inline]
    pub(crate) fn age_of_generation(self, now: Unit, found: u32) -> GenerationAge {
        let newest = now.generation();
        if UNKNOWN.value_in(self.0) == 1 {
            return GenerationAge::Unknown;
        }
        let oldest = self.generation().wrapping_sub(DISTANCE.value_in(self.0) as u32);
        if found.wrapping_sub(oldest) <= newest.wrapping_sub(oldest) {
            GenerationAge::Current
        } else {
            GenerationAge::Stale
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies a history and returns the state: `w` issues a write, `.` completes one, `x` fails one.
    fn after(history: &str) -> Unit {
        history.chars().fold(Unit::default(), |unit, event| match event {
            'w' => unit.with_write_issued(),
            '.' => unit.with_write_completed(true),
            _ => unit.with_write_completed(false),
        })
    }

    #[test]
    fn what_a_read_may_find() {
        use GenerationAge::{Current, Stale, Unknown};
        // (before the read is issued, while it is in flight, expected ages of generations 0 to 4, held, unsettled)
        for (before, during, ages, held, unsettled) in [
            ("", "", [Current, Stale, Stale, Stale, Stale], false, false),
            ("w", "", [Current, Current, Stale, Stale, Stale], false, true),
            ("", "w.", [Current, Current, Stale, Stale, Stale], false, true),
            ("w.", "", [Stale, Current, Stale, Stale, Stale], true, false),
            ("w.w.", "", [Stale, Stale, Current, Stale, Stale], true, false),
            ("w.w", ".", [Stale, Current, Current, Stale, Stale], true, true),
            ("w.", "w.", [Stale, Current, Current, Stale, Stale], true, true),
            // Two at once: either may remain, also after both have completed.
            ("w.ww", "", [Stale, Current, Current, Current, Stale], true, true),
            ("w.ww.", "", [Stale, Stale, Current, Current, Stale], true, true),
            ("w.ww..", "", [Stale, Stale, Current, Current, Stale], true, true),
            ("w.ww..w.", "", [Stale, Stale, Stale, Stale, Current], true, false),
            // After a failure anything is possible until a later group has completed.
            ("w.wx", "", [Unknown; 5], false, true),
            ("w.wwx.", "", [Unknown; 5], false, true),
            ("w.wxw", "", [Unknown; 5], false, true),
            ("w.wxw.", "", [Stale, Stale, Stale, Current, Stale], true, false),
        ] {
            let issued = after(before);
            let now = after(&format!("{before}{during}"));
            let case = format!("{before}|{during}");
            assert_eq!(std::array::from_fn(|found| issued.age_of_generation(now, found as u32)), ages, "{case}");
            assert_eq!((issued.is_held(), issued.is_unsettled(now)), (held, unsettled), "{case}");
        }
    }

    #[test]
    fn counters_at_their_ends_make_it_unknown_not_wrong() {
        // More writes in one group than can be counted: unknown until a later group.
        let crowd = format!("w.{}", "ww.".repeat(2000));
        assert_eq!(after(&crowd).age_of_generation(after(&crowd), 1), GenerationAge::Unknown);
        // More writes in flight than can be counted: unknown for ever.
        let mut unit = Unit::default();
        (0..600).for_each(|_| unit = unit.with_write_issued());
        (0..600).for_each(|_| unit = unit.with_write_completed(true));
        unit = unit.with_write_issued().with_write_completed(true);
        assert!(unit.is_unsettled(unit), "{unit:?}");
        assert_ne!(unit.age_of_generation(unit, unit.generation()), GenerationAge::Stale);
    }

    #[test]
    fn generations_wrap_over_zero() {
        let mut unit = Unit::from_word(u64::from(u32::MAX) - 1).with_write_issued().with_write_completed(true);
        assert_eq!((unit.generation(), unit.age_of_generation(unit, u32::MAX)), (u32::MAX, GenerationAge::Current));
        unit = unit.with_write_issued().with_write_completed(true);
        assert_eq!(unit.generation(), 1, "0 is what was never written");
        assert_eq!(
            (unit.age_of_generation(unit, 1), unit.age_of_generation(unit, u32::MAX)),
            (GenerationAge::Current, GenerationAge::Stale)
        );
    }

    #[test]
    fn a_damage_is_told_once_for_each_write() {
        let unit = after("w.").with_damage_reported();
        assert!(unit.was_told() && unit.is_held() && !unit.with_write_issued().was_told());
    }
}
