//! Every key that an ACT config file of version 4 to 6.6 may have: the form of its value, which program knows it, and
//! its limits.
//!
//! Names, limits and defaults come from ACT's README (2020) and the readers of 4.0, 5.0 to 5.3 and 6.0 to 6.6; the keys
//! of the production profile from "Advanced Flash Device Sizing" (2018).

use super::kind::Kind;

/// The setting that a key stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Key {
    DeviceNames,
    FileSizeMbytes,
    ServiceThreads,
    CacheThreads,
    TestDurationSec,
    ReportIntervalSec,
    MicrosecondHistograms,
    ReadReqsPerSec,
    WriteReqsPerSec,
    RecordBytes,
    RecordBytesRangeMax,
    LargeBlockOpKbytes,
    ReplicationFactor,
    UpdatePct,
    DefragLwmPct,
    NoDefragReads,
    CompressPct,
    DisableOdsync,
    CommitToDevice,
    CommitMinBytes,
    TombRaider,
    TombRaiderSleepUsec,
    MaxLagSec,
    SchedulerMode,
    StorageReadHistogram,
    StorageWriteHistogram,
    TotalLbwPerSec,
    DirectFrees,
    LbrReqOffset,
    LbwReqOffset,
    ReadSizeOffset,
    WriteSizeOffset,
    /// A key of an older version, without a meaning today.
    Obsolete,
}

/// The unit of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    PerSecond,
    Seconds,
    Microseconds,
    Bytes,
    Kbytes,
    Mbytes,
    Percent,
    Count,
}

/// The form of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    Devices,
    /// A whole number with its smallest and largest value.
    Number(Unit, u32, u32),
    Flag,
    Word,
    /// Percentages over 2^0, 2^1, … bytes.
    Shares,
}

/// One key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub name: &'static str,
    pub key: Key,
    pub shape: Shape,
    /// The only program that knows it; `None` for both.
    pub only: Option<Kind>,
    /// Whether ACT 6.6 still knows it.
    pub now: bool,
}

/// 8 MiB: the largest record and the largest large block of Aerospike's storage.
pub(super) const WRITE_BLOCK_MAX: u32 = 8 << 20;
const ANY: u32 = u32::MAX;

const fn key_entry(name: &'static str, key: Key, shape: Shape, only: Option<Kind>, now: bool) -> Entry {
    Entry { name, key, shape, only, now }
}

const fn obsolete_entry(name: &'static str, shape: Shape) -> Entry {
    key_entry(name, Key::Obsolete, shape, None, false)
}

const STORAGE: Option<Kind> = Some(Kind::Storage);
const INDEX: Option<Kind> = Some(Kind::Index);

/// All keys.
pub(super) const ENTRIES: [Entry; 41] = [
    key_entry("device-names", Key::DeviceNames, Shape::Devices, None, true),
    key_entry("file-size-mbytes", Key::FileSizeMbytes, Shape::Number(Unit::Mbytes, 0, ANY), None, true),
    key_entry("service-threads", Key::ServiceThreads, Shape::Number(Unit::Count, 1, ANY), None, true),
    key_entry("cache-threads", Key::CacheThreads, Shape::Number(Unit::Count, 1, ANY), INDEX, true),
    key_entry("num-cache-threads", Key::CacheThreads, Shape::Number(Unit::Count, 1, ANY), INDEX, false),
    key_entry("test-duration-sec", Key::TestDurationSec, Shape::Number(Unit::Seconds, 1, ANY), None, true),
    key_entry("report-interval-sec", Key::ReportIntervalSec, Shape::Number(Unit::Seconds, 1, ANY), None, true),
    key_entry("microsecond-histograms", Key::MicrosecondHistograms, Shape::Flag, None, true),
    key_entry("read-reqs-per-sec", Key::ReadReqsPerSec, Shape::Number(Unit::PerSecond, 0, ANY), None, true),
    key_entry("write-reqs-per-sec", Key::WriteReqsPerSec, Shape::Number(Unit::PerSecond, 0, ANY), None, true),
    key_entry("record-bytes", Key::RecordBytes, Shape::Number(Unit::Bytes, 0, WRITE_BLOCK_MAX), STORAGE, true),
    key_entry(
        "record-bytes-range-max",
        Key::RecordBytesRangeMax,
        Shape::Number(Unit::Bytes, 0, WRITE_BLOCK_MAX),
        STORAGE,
        true,
    ),
    key_entry(
        "large-block-op-kbytes",
        Key::LargeBlockOpKbytes,
        Shape::Number(Unit::Kbytes, 1, WRITE_BLOCK_MAX / 1024),
        STORAGE,
        true,
    ),
    key_entry("replication-factor", Key::ReplicationFactor, Shape::Number(Unit::Count, 1, ANY), None, true),
    key_entry("update-pct", Key::UpdatePct, Shape::Number(Unit::Percent, 0, 100), STORAGE, true),
    key_entry("defrag-lwm-pct", Key::DefragLwmPct, Shape::Number(Unit::Percent, 0, 99), None, true),
    key_entry("no-defrag-reads", Key::NoDefragReads, Shape::Flag, STORAGE, true),
    key_entry("compress-pct", Key::CompressPct, Shape::Number(Unit::Percent, 0, 100), STORAGE, true),
    key_entry("disable-odsync", Key::DisableOdsync, Shape::Flag, None, true),
    key_entry("commit-to-device", Key::CommitToDevice, Shape::Flag, STORAGE, true),
    key_entry("commit-min-bytes", Key::CommitMinBytes, Shape::Number(Unit::Bytes, 0, WRITE_BLOCK_MAX), STORAGE, false),
    key_entry("tomb-raider", Key::TombRaider, Shape::Flag, STORAGE, true),
    key_entry(
        "tomb-raider-sleep-usec",
        Key::TombRaiderSleepUsec,
        Shape::Number(Unit::Microseconds, 0, ANY),
        STORAGE,
        true,
    ),
    key_entry("max-lag-sec", Key::MaxLagSec, Shape::Number(Unit::Seconds, 0, ANY), None, true),
    key_entry("scheduler-mode", Key::SchedulerMode, Shape::Word, None, false),
    key_entry("storage-read-histogram", Key::StorageReadHistogram, Shape::Shares, STORAGE, false),
    key_entry("storage-write-histogram", Key::StorageWriteHistogram, Shape::Shares, STORAGE, false),
    key_entry("total-lbw-per-sec", Key::TotalLbwPerSec, Shape::Number(Unit::PerSecond, 0, ANY), STORAGE, false),
    key_entry("direct-frees", Key::DirectFrees, Shape::Number(Unit::PerSecond, 0, ANY), STORAGE, false),
    key_entry("lbr-req-offset", Key::LbrReqOffset, Shape::Number(Unit::Percent, 1, 1000), STORAGE, false),
    key_entry("lbw-req-offset", Key::LbwReqOffset, Shape::Number(Unit::Percent, 1, 1000), STORAGE, false),
    key_entry("read-size-offset", Key::ReadSizeOffset, Shape::Number(Unit::Percent, 1, 1000), STORAGE, false),
    key_entry("write-size-offset", Key::WriteSizeOffset, Shape::Number(Unit::Percent, 1, 1000), STORAGE, false),
    obsolete_entry("num-queues", Shape::Number(Unit::Count, 0, ANY)),
    obsolete_entry("threads-per-queue", Shape::Number(Unit::Count, 0, ANY)),
    obsolete_entry("max-reqs-queued", Shape::Number(Unit::Count, 0, ANY)),
    obsolete_entry("transaction-queues", Shape::Number(Unit::Count, 0, ANY)),
    obsolete_entry("transaction-threads", Shape::Number(Unit::Count, 0, ANY)),
    obsolete_entry("queue-per-device", Shape::Flag),
    obsolete_entry("use-valloc", Shape::Flag),
    obsolete_entry("num-write-buffers", Shape::Number(Unit::Count, 0, ANY)),
];

/// The meaning of the value of a yes-or-no key; `None` where it is not clear. ACT takes for yes what begins with a small y,
/// and everything else for no, so that `Yes`, `true` and `1` mean the opposite of what was written: they are not clear.
pub(super) fn parse_flag(word: &str) -> Option<bool> {
    match word {
        "yes" | "y" => Some(true),
        other => {
            let is_no = ["no", "n", "false", "off", "0", ""].iter().any(|no| no.eq_ignore_ascii_case(other));
            is_no.then_some(false)
        }
    }
}

/// The index in [`ENTRIES`] of a key's name.
pub(super) fn index_of_key(name: &str) -> Option<usize> {
    ENTRIES.iter().position(|entry| entry.name == name)
}

/// The name by which ACT 6.6 knows a key.
pub(super) fn name_of(key: Key) -> &'static str {
    ENTRIES.iter().find(|entry| entry.key == key).map_or("", |entry| entry.name)
}
