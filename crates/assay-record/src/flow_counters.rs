//! The plain counts of one flow in one interval: the list of them stands here once. The engine and the recorder count
//! them, and the line of an interval has a member for each.

use crate::interval::FlowInterval;

/// Defines [`FlowCounters`] by the list of its counts, and how it becomes a line of the log.
macro_rules! flow_counters {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// The plain counts of one flow in one interval.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct FlowCounters {
            $($(#[doc = $doc])* pub $name: u64,)*
        }

        impl FlowCounters {
            /// Adds the counts of another worker.
            pub(crate) fn add(&mut self, other: &FlowCounters) {
                $(self.$name += other.$name;)*
            }
        }

        impl FlowInterval {
            /// An interval with these counts, and with nothing else counted.
            pub(crate) fn from_counters(counters: &FlowCounters) -> FlowInterval {
                FlowInterval { $($name: counters.$name,)* ..FlowInterval::default() }
            }
        }
    };
}

flow_counters! {
    /// Operations whose intended time is in the interval.
    scheduled,
    /// Operations that were handed over to the device.
    issued,
    /// Operations that completed in full.
    ok,
    /// Bytes of those that completed in full.
    bytes,
    /// Operations that completed with fewer bytes than requested.
    short,
    /// Operations in flight at the end of the interval.
    in_flight,
    /// The most that were in flight at any time; 0 where that is not counted.
    in_flight_max,
    /// Operations that wait at the end of the interval.
    waiting,
    /// Operations that are stuck at the end of the interval.
    stuck,
    /// Reads of whole aligned blocks that were checked for blank blocks.
    sampled,
    /// The checked reads whose data began with zeros: the block was never written.
    blank,
    /// Reads whose data were compared with what was written and are correct.
    verified,
    /// Reads of which a part could not be compared: never written, or being written meanwhile.
    unverified,
    /// Damaged places, each counted once for each time it was written.
    damaged,
}
