//! The plain counts of one flow in one interval: the list of them stands here once. The engine and the recorder count
//! them, the line of an interval has a member for each, and the judge adds up those that add up over time.

use crate::interval::FlowInterval;

/// Defines [`FlowCounters`] and [`FlowWork`] by the list of the counts, and how they become a line of the log and come
/// out of it.
macro_rules! flow_counters {
    (
        work: { $($(#[doc = $work_doc:literal])* $work:ident,)* }
        others: { $($(#[doc = $doc:literal])* $name:ident,)* }
    ) => {
        /// The plain counts of one flow in one interval.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct FlowCounters {
            $($(#[doc = $work_doc])* pub $work: u64,)*
            $($(#[doc = $doc])* pub $name: u64,)*
        }

        /// The counts of one flow that add up over time.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct FlowWork {
            $($(#[doc = $work_doc])* pub $work: u64,)*
        }

        impl FlowCounters {
            /// Adds the counts of another worker.
            pub(crate) fn add(&mut self, other: &FlowCounters) {
                $(self.$work += other.$work;)*
                $(self.$name += other.$name;)*
            }
        }

        impl FlowWork {
            /// Adds other counts. A log may claim any numbers: they stop at their maximum.
            pub fn add(&mut self, other: &FlowWork) {
                $(self.$work = self.$work.saturating_add(other.$work);)*
            }

            /// Takes counts off. A log may claim any numbers: they stop at zero.
            pub fn subtract(&mut self, other: &FlowWork) {
                $(self.$work = self.$work.saturating_sub(other.$work);)*
            }
        }

        impl FlowInterval {
            /// An interval with these counts, and with nothing else counted.
            pub(crate) fn from_counters(counters: &FlowCounters) -> FlowInterval {
                FlowInterval {
                    $($work: counters.$work,)*
                    $($name: counters.$name,)*
                    ..FlowInterval::default()
                }
            }

            /// Passes each count, in the order of the list.
            pub(crate) fn for_each_count(&mut self, mut pass: impl FnMut(&mut u64)) {
                $(pass(&mut self.$work);)*
                $(pass(&mut self.$name);)*
            }

            /// The counts that add up over time.
            pub fn work(&self) -> FlowWork {
                FlowWork { $($work: self.$work,)* }
            }
        }
    };
}

flow_counters! {
    work: {
        /// Operations whose intended time is in the interval.
        scheduled,
        /// Operations that were handed over to the device.
        issued,
        /// Operations that completed in full.
        ok,
        /// Bytes of those that completed in full.
        bytes,
        /// What those listed, such as entries of directories.
        items,
        /// Operations that completed with fewer bytes than requested.
        short,
    }
    others: {
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
}
