//! Conditions on a whole config file, in the order in which ACT 6.6 checks them.

use super::keys::{Key, WRITE_BLOCK_MAX};
use super::{Conf, Kind};

/// A condition that does not hold: the key that ACT would name, what is wrong, what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Unfit {
    pub key: Key,
    pub message: &'static str,
    pub advice: &'static str,
}

/// One condition: the key, whether it fails, the message and the advice.
type Condition = (Key, bool, &'static str, &'static str);

impl Conf {
    /// ACT's own checks: returns the first that fails.
    pub(super) fn check_like_act(&self) -> Result<(), Unfit> {
        let conditions = match self.kind {
            Kind::Storage => [self.common_conditions(), self.storage_conditions()].concat(),
            Kind::Index => self.common_conditions(),
        };
        let mut failing = conditions.into_iter().filter(|(_, fails, ..)| *fails);
        match failing.next() {
            Some((key, _, message, advice)) => Err(Unfit { key, message, advice }),
            None => Ok(()),
        }
    }

    /// The checks of both programs, and for an index test the two percentages, which a storage test checks among its
    /// own.
    fn common_conditions(&self) -> Vec<Condition> {
        let index = self.kind == Kind::Index;
        let mut conditions = vec![
            (Key::DeviceNames, self.device_names.is_empty(), "no device is named", "add `device-names: /dev/…`"),
            (Key::CacheThreads, index && self.cache_threads == 0, "cache-threads must not be 0", "write 1 or more"),
            (Key::TestDurationSec, self.test_duration.is_zero(), "the test has no length", "write 1 or more"),
            (Key::ReportIntervalSec, self.report_interval.is_zero(), "the interval has no length", "write 1 or more"),
        ];
        if index {
            conditions.push(self.replication_condition());
            conditions.push(self.threshold_condition());
        }
        conditions
    }

    fn replication_condition(&self) -> Condition {
        let fails = self.replication_factor == 0;
        (Key::ReplicationFactor, fails, "replication-factor must not be 0", "write 1 or more")
    }

    fn threshold_condition(&self) -> Condition {
        (Key::DefragLwmPct, self.defrag_lwm_pct >= 100, "defrag-lwm-pct must be below 100", "write 99 or less")
    }

    fn storage_conditions(&self) -> Vec<Condition> {
        let max = u64::from(WRITE_BLOCK_MAX);
        let record = self.record_bytes.get();
        let profile = self.production.is_some();
        let range = self.record_bytes_range_max.map(|bytes| bytes.get());
        let block = self.large_block.get();
        vec![
            (
                Key::RecordBytes,
                record > max || (record == 0 && !profile),
                "record-bytes must be from 1 to 8388608",
                "write a size in this range",
            ),
            (
                Key::RecordBytesRangeMax,
                range.is_some_and(|range| range <= record || range > max),
                "record-bytes-range-max must be larger than record-bytes, and at most 8388608",
                "write a size in this range, or 0 for records of one size",
            ),
            (
                Key::LargeBlockOpKbytes,
                block > max || (block & block.saturating_sub(1)) != 0,
                "large-block-op-kbytes must be a power of two, at most 8192",
                "write 128, 256, 512, 1024 …",
            ),
            self.replication_condition(),
            (Key::UpdatePct, self.update_pct > 100, "update-pct must be at most 100", "write 100 or less"),
            self.threshold_condition(),
            (Key::CompressPct, self.compress_pct > 100, "compress-pct must be at most 100", "write 100 or less"),
            (
                Key::DisableOdsync,
                self.disable_odsync && self.commit_to_device,
                "disable-odsync contradicts commit-to-device, which commits every write",
                "remove one of the two",
            ),
        ]
    }

    /// The first mistake that ACT accepts although it should not; `None` when the file is sound.
    pub(super) fn first_unsound(&self) -> Option<Unfit> {
        let (_, largest) = self.record_stored();
        if self.kind == Kind::Index {
            return None;
        }
        if self.large_block.get() == 0 {
            let message = "a large block of 0 KB holds nothing";
            return Some(Unfit { key: Key::LargeBlockOpKbytes, message, advice: "write 128" });
        }
        if largest > self.large_block.get() {
            let key = if self.record_bytes_range_max.is_some() { Key::RecordBytesRangeMax } else { Key::RecordBytes };
            let advice = "write a size of at most large-block-op-kbytes";
            return Some(Unfit { key, message: "a record does not fit into a large block", advice });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::{Bytes, Span};

    #[test]
    fn the_first_failing_check_in_acts_order() {
        let mut conf = Conf::new(Kind::Storage);
        conf.test_duration = Span::ZERO;
        conf.record_bytes = Bytes::new(0);
        conf.compress_pct = 101;
        let mut next = |mend: &dyn Fn(&mut Conf)| {
            mend(&mut conf);
            conf.check_like_act().map_err(|unfit| unfit.key)
        };
        assert_eq!(next(&|_| ()), Err(Key::DeviceNames));
        assert_eq!(next(&|c| c.device_names.push("/dev/a".into())), Err(Key::TestDurationSec));
        assert_eq!(next(&|c| c.test_duration = Span::from_secs(1)), Err(Key::RecordBytes));
        assert_eq!(next(&|c| c.record_bytes = Bytes::new(1536)), Err(Key::CompressPct));
        assert_eq!(next(&|c| c.compress_pct = 100), Ok(()));
        assert_eq!(next(&|c| c.large_block = Bytes::from_kib(96)), Err(Key::LargeBlockOpKbytes));
        assert_eq!(next(&|c| c.large_block = Bytes::from_kib(0)), Ok(()));
    }
}
