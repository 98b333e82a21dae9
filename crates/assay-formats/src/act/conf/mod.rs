//! ACT config files: their meaning ([`Conf`]), and two ways to read them.
//!
//! [`read`] is ours: it knows the dialects of 6.x, 5.x and 4.x, and where ACT would misread a value (`60x60`, `Yes`, an
//! overflow) it refuses and shows the place. [`read_like_act`] is for a drop-in: it reads as ACT 6.6 does, with ACT's
//! own messages, and refuses in its own words only where ACT would have run something that nobody asked for, or
//! crashed.
//!
//! Sources: ACT's README (2020), "Advanced Flash Device Sizing" (2018) for the keys of a production profile, and ACT 6.6 as
//! observed.

mod check;
mod derived;
mod echo;
mod keys;
mod kind;
mod like_act;
mod strict;
mod suggest;

pub use derived::{Derived, IndexRates, StorageRates};
pub(crate) use echo::write_configuration;
pub use echo::{open_failed, write_banner, write_usage};
pub use kind::Kind;
pub use like_act::{Outcome, read_like_act};
pub use strict::{fits_both, read_bytes, read_conf};

use assay_base::{Bytes, Share, Span};
use keys::Key;

/// Whether `text` is an ACT config file, decided by its keys. A file that sets a `model` is a workload of ours;
/// otherwise one line that begins with a key of ACT is sufficient, so that the right reader reports a mistake in the
/// file.
pub fn looks_like(text: &str) -> bool {
    let keys: Vec<(&str, bool)> = text.lines().take(10_000).map(key_of_line).collect();
    let ours = keys.iter().any(|(key, equals)| *equals && *key == "model");
    !ours && keys.iter().any(|(key, _)| keys::index_of_key(key).is_some())
}

/// The first word of a line, and whether an equals sign follows it.
fn key_of_line(line: &str) -> (&str, bool) {
    let content = line.split('#').next().unwrap_or("").trim_start_matches('\u{feff}').trim_start();
    let end = content.find(|c: char| c == ':' || c == '=' || c.is_whitespace()).unwrap_or(content.len());
    (&content[..end], content[end..].trim_start().starts_with('='))
}

/// The meaning of an ACT config file. Rates are for all devices together.
#[derive(Clone, PartialEq, Debug)]
pub struct Conf {
    /// The program it is for.
    pub kind: Kind,
    /// Paths in the order written.
    pub device_names: Vec<String>,
    /// Undocumented: use files of this size instead of devices.
    pub file_size: Option<Bytes>,
    /// Bound on concurrent small operations; ACT's default is 5 per CPU.
    pub service_threads: Option<u32>,
    /// Bound on concurrent cache operations (index).
    pub cache_threads: u32,
    /// Length of the test.
    pub test_duration: Span,
    /// Time between two reports.
    pub report_interval: Span,
    /// Histograms in microseconds instead of milliseconds.
    pub microsecond_histograms: bool,
    /// Client reads per second.
    pub read_reqs_per_sec: u32,
    /// Client writes per second.
    pub write_reqs_per_sec: u32,
    /// Size of a record, or the smallest size; 0 only where a production profile gives the sizes.
    pub record_bytes: Bytes,
    /// Largest size of a record, where sizes vary.
    pub record_bytes_range_max: Option<Bytes>,
    /// Size of a large block, a power of two.
    pub large_block: Bytes,
    /// Copies of each record in the cluster.
    pub replication_factor: u32,
    /// Percentage of writes that read the old record first.
    pub update_pct: u32,
    /// Defragmentation threshold in percent, below 100.
    pub defrag_lwm_pct: u32,
    /// Defragmentation reads come from memory, not from the device.
    pub no_defrag_reads: bool,
    /// Size to which written data compresses, in percent; 100 is random data.
    pub compress_pct: u32,
    /// Open without O_DSYNC.
    pub disable_odsync: bool,
    /// Each write goes to the device separately.
    pub commit_to_device: bool,
    /// Writes are rounded up to this, a power of two (up to ACT 6.3).
    pub commit_min_bytes: Option<Bytes>,
    /// Read each device from start to end, repeatedly.
    pub tomb_raider: bool,
    /// Pause between these reads.
    pub tomb_raider_sleep: Span,
    /// The test stops when it lags more than this; zero never stops it.
    pub max_lag: Span,
    /// I/O scheduler to set for the devices (up to ACT 6.4).
    pub scheduler_mode: Option<String>,
    /// Sizes and large-block rates taken from a production cluster.
    pub production: Option<Production>,
}

/// The keys of "Advanced Flash Device Sizing": sizes from the storage histograms of a cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Production {
    /// Share of reads that are larger than 2^i bytes, for i = 0, 1, …; never rises, and ends with 0.
    pub read_over: Vec<Share>,
    /// The same for writes.
    pub write_over: Vec<Share>,
    /// Large blocks written per second, defragmentation included.
    pub total_lbw_per_sec: Option<u32>,
    /// Large blocks freed per second without being read.
    pub direct_frees: Option<u32>,
    /// Scales large-block reads.
    pub lbr_req_offset: Share,
    /// Scales large-block writes.
    pub lbw_req_offset: Share,
    /// Scales read sizes.
    pub read_size_offset: Share,
    /// Scales write sizes.
    pub write_size_offset: Share,
}

impl Default for Production {
    fn default() -> Production {
        Production {
            read_over: Vec::new(),
            write_over: Vec::new(),
            total_lbw_per_sec: None,
            direct_frees: None,
            lbr_req_offset: Share::WHOLE,
            lbw_req_offset: Share::WHOLE,
            read_size_offset: Share::WHOLE,
            write_size_offset: Share::WHOLE,
        }
    }
}

impl Conf {
    /// ACT's defaults according to its README: no devices, no load, 24 hours, 1536-byte records, 128 KiB blocks.
    pub fn new(kind: Kind) -> Conf {
        Conf {
            kind,
            device_names: Vec::new(),
            file_size: None,
            service_threads: None,
            cache_threads: 8,
            test_duration: Span::from_secs(24 * 60 * 60),
            report_interval: Span::from_secs(1),
            microsecond_histograms: false,
            read_reqs_per_sec: 0,
            write_reqs_per_sec: 0,
            record_bytes: Bytes::new(1536),
            record_bytes_range_max: None,
            large_block: Bytes::from_kib(128),
            replication_factor: 1,
            update_pct: 0,
            defrag_lwm_pct: 50,
            no_defrag_reads: false,
            compress_pct: 100,
            disable_odsync: false,
            commit_to_device: false,
            commit_min_bytes: None,
            tomb_raider: false,
            tomb_raider_sleep: Span::from_us(1000),
            max_lag: Span::from_secs(10),
            scheduler_mode: None,
            production: None,
        }
    }

    /// Sets the value of a key with a number. Where ACT treats zero as "not set", so does this.
    fn set_number(&mut self, key: Key, value: u32) {
        let wide = u64::from(value);
        let bytes_unless_zero = (value != 0).then(|| Bytes::new(wide));
        match key {
            Key::FileSizeMbytes => self.file_size = (value != 0).then(|| Bytes::new(wide << 20)),
            Key::ServiceThreads => self.service_threads = (value != 0).then_some(value),
            Key::CacheThreads => self.cache_threads = value,
            Key::TestDurationSec => self.test_duration = Span::from_secs(wide),
            Key::ReportIntervalSec => self.report_interval = Span::from_secs(wide),
            Key::ReadReqsPerSec => self.read_reqs_per_sec = value,
            Key::WriteReqsPerSec => self.write_reqs_per_sec = value,
            Key::RecordBytes => self.record_bytes = Bytes::new(wide),
            Key::RecordBytesRangeMax => self.record_bytes_range_max = bytes_unless_zero,
            Key::LargeBlockOpKbytes => self.large_block = Bytes::from_kib(wide),
            Key::ReplicationFactor => self.replication_factor = value,
            Key::UpdatePct => self.update_pct = value,
            Key::DefragLwmPct => self.defrag_lwm_pct = value,
            Key::CompressPct => self.compress_pct = value,
            Key::CommitMinBytes => self.commit_min_bytes = bytes_unless_zero,
            Key::TombRaiderSleepUsec => self.tomb_raider_sleep = Span::from_us(wide),
            Key::MaxLagSec => self.max_lag = Span::from_secs(wide),
            Key::Obsolete => {}
            _ => self.set_production(key, value),
        }
    }

    fn set_production(&mut self, key: Key, value: u32) {
        let share = Share::from_percent(u64::from(value));
        let production = self.production.get_or_insert_with(Production::default);
        match key {
            Key::TotalLbwPerSec => production.total_lbw_per_sec = Some(value),
            Key::DirectFrees => production.direct_frees = Some(value),
            Key::LbrReqOffset => production.lbr_req_offset = share,
            Key::LbwReqOffset => production.lbw_req_offset = share,
            Key::ReadSizeOffset => production.read_size_offset = share,
            Key::WriteSizeOffset => production.write_size_offset = share,
            _ => {}
        }
    }

    fn set_flag(&mut self, key: Key, value: bool) {
        match key {
            Key::MicrosecondHistograms => self.microsecond_histograms = value,
            Key::NoDefragReads => self.no_defrag_reads = value,
            Key::DisableOdsync => self.disable_odsync = value,
            Key::CommitToDevice => self.commit_to_device = value,
            Key::TombRaider => self.tomb_raider = value,
            _ => {}
        }
    }
}
