//! What a cache counts. Another thread may read the counters while the cache runs.

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
            /// The counts since `before`.
            pub fn since(&self, before: &Counted) -> Counted {
                Counted { $($name: self.$name.saturating_sub(before.$name),)* }
            }
        }

        /// The counters of a cache. The cache changes them; any thread may read them.
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
    /// The blocks in `reads` that were in the cache.
    read_hits,
    /// Of the hits, those found in memory, which keeps the segments that were filled most recently; the others were read from the
    /// device of the cache.
    ram_hits,
    /// Reads that went past the cache, because they do not consist of whole blocks.
    bypassed,
    /// Blocks that were put into the cache.
    insertions,
    /// Blocks that were not put into the cache, because no segment had room at that moment.
    refused,
    /// Blocks that were evicted to make room.
    evictions,
    /// Cacheable blocks that writes changed on their targets.
    invalidations,
    /// The blocks in `invalidations` that were in the cache.
    invalidate_hits,
    /// How often the hand came back to the first segment.
    wraps,
    /// Segments that the hand skipped, because all their blocks had been used or the segment was busy.
    skipped,
    /// Errors of the device of the cache.
    errors,
    /// Reads from the device of the cache that answered hits.
    device_reads,
    /// Total time of these reads, in nanoseconds.
    device_read_ns,
    /// Segments that were read before being written again, because some of their blocks stay.
    segment_reads,
    /// Total time of these reads, in nanoseconds.
    segment_read_ns,
    /// Segments that were written.
    segment_writes,
    /// Total time of these writes, in nanoseconds.
    segment_write_ns,
}

/// Reads that the cache did not answer and that went on to a target.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Onward {
    /// Number of operations.
    pub operations: u64,
    /// Total bytes of these operations.
    pub bytes: u64,
}

impl Counters {
    /// Counters of a cache in front of this many targets.
    pub fn new(targets: u16) -> Counters {
        Counters { onward: (0..targets).map(|_| Default::default()).collect(), ..Counters::default() }
    }

    /// The reads that went on to each target.
    pub fn onward_reads(&self) -> Vec<Onward> {
        self.onward
            .iter()
            .map(|[operations, bytes]: &[AtomicU64; 2]| Onward {
                operations: operations.load(Ordering::Relaxed),
                bytes: bytes.load(Ordering::Relaxed),
            })
            .collect()
    }

    pub(crate) fn count_onward(&self, target: u16, bytes: u32) {
        let [operations, sum] = &self.onward[usize::from(target)];
        add_to_counter(operations, 1);
        add_to_counter(sum, bytes.into());
    }
}

/// Adds to a counter. Only one thread may change it.
pub(crate) fn add_to_counter(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}
