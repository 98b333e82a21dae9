//! What a cache counts, readable by another thread while it runs.

use std::sync::atomic::{AtomicU64, Ordering};

/// Declares [`Counters`] and [`Counted`], which have the same fields.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Sums since the beginning of the run.
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
        pub struct Counted {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counted {
            /// What was counted since `before`.
            pub fn since(&self, before: &Counted) -> Counted {
                Counted { $($name: self.$name.saturating_sub(before.$name),)* }
            }

            /// The names and values, in their order.
            pub fn values(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }
        }

        /// See the module.
        #[derive(Default, Debug)]
        pub struct Counters {
            $(pub(crate) $name: AtomicU64,)*
            onward: Vec<[AtomicU64; 2]>,
        }

        impl Counters {
            /// All sums at this moment.
            pub fn read(&self) -> Counted {
                Counted { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counters! {
    /// Blocks that reads asked for.
    reads,
    /// Of these, blocks that were in the cache.
    read_hits,
    /// Of the hits, those found in the memory of segments that were filled lately.
    ram_hits,
    /// Of the hits, those that were read from the device of the cache.
    device_hits,
    /// Blocks that were put in.
    insertions,
    /// Blocks that could not be put in, because no segment had room at that moment.
    refused,
    /// Blocks that had to make room.
    evictions,
    /// Blocks that writes changed.
    invalidations,
    /// Of these, blocks that were in the cache.
    invalidate_hits,
    /// How often the log came back to its beginning.
    wraps,
    /// Segments that were passed, because all their blocks were used or they were busy.
    skipped,
    /// Errors of the device of the cache.
    errors,
    /// Reads of the device of the cache for hits.
    device_reads,
    /// The nanoseconds that they took together.
    device_read_ns,
    /// Segments that were read, because blocks in them stay when they are written again.
    segment_reads,
    /// The nanoseconds that it took together.
    segment_read_ns,
    /// Segments that were written.
    segment_writes,
    /// The nanoseconds that it took together.
    segment_write_ns,
}

/// Reads that went on to a target.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Onward {
    /// Number of operations.
    pub operations: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Counters {
    /// Counters of a cache before this many targets.
    pub fn new(targets: u16) -> Counters {
        Counters { onward: (0..targets).map(|_| Default::default()).collect(), ..Counters::default() }
    }

    /// The reads that went on to each target.
    pub fn onward(&self) -> Vec<Onward> {
        let read = |[operations, bytes]: &[AtomicU64; 2]| Onward {
            operations: operations.load(Ordering::Relaxed),
            bytes: bytes.load(Ordering::Relaxed),
        };
        self.onward.iter().map(read).collect()
    }

    pub(crate) fn goes_on(&self, target: u16, bytes: u32) {
        let [operations, sum] = &self.onward[usize::from(target)];
        add(operations, 1);
        add(sum, bytes.into());
    }
}

/// Adds to a counter that only this thread changes.
pub(crate) fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}
