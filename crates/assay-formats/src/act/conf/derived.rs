//! The rates that ACT derives from a config file, in ACT's own arithmetic: records are rounded up to 16 bytes, records
//! per large block are a whole number, updates are whole reads. (The exact rates are in the model; these are for a log
//! that must say what ACT would say, and for doing what ACT would do.)

use super::{Conf, Kind};

/// The derived rates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Derived {
    /// For a storage test.
    Storage(StorageRates),
    /// For an index test.
    Index(IndexRates),
}

/// Rates of `act_storage`, per second over all devices.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StorageRates {
    /// Bytes of the smallest stored record.
    pub record_stored: u64,
    /// Bytes of the largest stored record.
    pub record_stored_max: u64,
    /// Client reads and the reads of updates.
    pub internal_reads: u64,
    /// Writes that go to the device separately; 0 without commit-to-device.
    pub internal_writes: u64,
    /// Large blocks read; infinite where no record fits into a block.
    pub large_block_reads: f64,
    /// Large blocks written.
    pub large_block_writes: f64,
}

/// Rates of `act_index`, per second over all devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexRates {
    /// Reads of the service threads.
    pub service_reads: u64,
    /// Reads, and as many writes, of the cache threads.
    pub cache_reads_and_writes: u64,
}

/// Aerospike stores records in units of 16 bytes.
const RECORD_UNIT: u64 = 16;

impl Conf {
    /// The figures that ACT 6.6 derives from this file.
    pub fn derived_figures(&self) -> Derived {
        match self.kind {
            Kind::Storage => Derived::Storage(self.storage_rates()),
            Kind::Index => Derived::Index(self.index_rates()),
        }
    }

    /// Smallest and largest stored record in bytes.
    pub(crate) fn record_stored(&self) -> (u64, u64) {
        let smallest = self.record_bytes.get().next_multiple_of(RECORD_UNIT);
        let largest = self.record_bytes_range_max.map(|max| max.get().next_multiple_of(RECORD_UNIT));
        (smallest, largest.unwrap_or(smallest))
    }

    /// Whole records of average size that fit into a large block, in ACT's arithmetic.
    pub(crate) fn records_per_large_block(&self) -> u64 {
        let (smallest, largest) = self.record_stored();
        self.large_block.get().checked_div((smallest + largest) / 2).unwrap_or(0)
    }

    /// Writes per second including those of replicas.
    pub(crate) fn replicated_writes(&self) -> u64 {
        u64::from(self.replication_factor).saturating_mul(u64::from(self.write_reqs_per_sec))
    }

    fn write_amplification(&self) -> f64 {
        100.0 / f64::from(100 - self.defrag_lwm_pct.min(99))
    }

    fn storage_rates(&self) -> StorageRates {
        let (record_stored, record_stored_max) = self.record_stored();
        let updates = u64::from(self.write_reqs_per_sec) * u64::from(self.update_pct) / 100;
        let original = self.replicated_writes() as f64 / self.records_per_large_block() as f64;
        let all = original * self.write_amplification();
        StorageRates {
            record_stored,
            record_stored_max,
            internal_reads: u64::from(self.read_reqs_per_sec) + updates,
            internal_writes: if self.commit_to_device { self.replicated_writes() } else { 0 },
            large_block_reads: if self.no_defrag_reads { 0.0 } else { all },
            // Committed writes are done one by one; only what defragmentation moves is written in large blocks.
            large_block_writes: if self.commit_to_device { original * (self.write_amplification() - 1.0) } else { all },
        }
    }

    fn index_rates(&self) -> IndexRates {
        let writes = self.replicated_writes();
        IndexRates {
            service_reads: u64::from(self.read_reqs_per_sec).saturating_add(writes),
            cache_reads_and_writes: (writes as f64 * self.write_amplification()) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Bytes;

    fn storage(change: impl Fn(&mut Conf)) -> StorageRates {
        let mut conf = Conf::new(Kind::Storage);
        (conf.read_reqs_per_sec, conf.write_reqs_per_sec) = (2000, 1000);
        change(&mut conf);
        match conf.derived_figures() {
            Derived::Storage(rates) => rates,
            Derived::Index(_) => panic!("an index test"),
        }
    }

    #[test]
    fn acts_own_arithmetic() {
        let blocks = |rates: StorageRates| {
            (format!("{:.2}", rates.large_block_reads), format!("{:.2}", rates.large_block_writes))
        };
        for (got, reads, writes) in [
            (storage(|_| ()), "23.53", "23.53"),
            (storage(|c| c.record_bytes = Bytes::new(1500)), "22.99", "22.99"),
            (storage(|c| c.commit_to_device = true), "23.53", "11.76"),
            (storage(|c| c.no_defrag_reads = true), "0.00", "23.53"),
            (storage(|c| c.defrag_lwm_pct = 60), "29.41", "29.41"),
            (storage(|c| c.record_bytes = Bytes::new(200_000)), "inf", "inf"),
            (storage(|c| c.replication_factor = 2), "47.06", "47.06"),
        ] {
            assert_eq!(blocks(got), (reads.to_owned(), writes.to_owned()));
        }
        assert_eq!(storage(|c| c.update_pct = 33).internal_reads, 2330);
        assert_eq!(storage(|c| c.record_bytes_range_max = Some(Bytes::new(8100))).record_stored_max, 8112);
    }

    #[test]
    fn index_rates_are_whole() {
        let mut conf = Conf::new(Kind::Index);
        (conf.read_reqs_per_sec, conf.write_reqs_per_sec, conf.replication_factor, conf.defrag_lwm_pct) =
            (2000, 1000, 2, 40);
        let expected = IndexRates { service_reads: 4000, cache_reads_and_writes: 3333 };
        assert_eq!(conf.derived_figures(), Derived::Index(expected));
    }
}
