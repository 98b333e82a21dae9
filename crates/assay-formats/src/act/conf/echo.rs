//! What `act_storage` and `act_index` print before they touch a device: banner, usage, and the configuration as they
//! understood it. The texts are identical to ACT 6.6's, so that its analyzer and users' scripts find what they expect.

use super::{Conf, Derived, Kind};
use std::fmt::{self, Write};

/// The version whose output format is written.
pub(crate) const VERSION: &str = "6.6";

/// The first lines of every run.
pub fn write_banner(kind: Kind, out: &mut dyn Write) -> fmt::Result {
    let what = match kind {
        Kind::Storage => "Storage",
        Kind::Index => "Index",
    };
    writeln!(out, "\nACT version {VERSION}\n{what} device IO test")?;
    writeln!(out, "Copyright 2020 by Aerospike. All rights reserved.\n")
}

/// The line printed for a wrong number of arguments (after the banner; exit code 255).
pub fn write_usage(kind: Kind, out: &mut dyn Write) -> fmt::Result {
    writeln!(out, "usage: {} [config filename]", kind.program_name())
}

/// The line printed for a config file that cannot be opened (after the banner; exit code 255). `text` is the operating
/// system's own, such as `No such file or directory`.
pub fn open_failed(path: &str, errno: i32, text: &str) -> String {
    format!("ERROR: couldn't open config file {path} errno {errno} '{text}'\n")
}

/// Both configuration blocks, each with the empty line at its end.
pub(crate) fn write_configuration(conf: &Conf, out: &mut dyn Write) -> fmt::Result {
    let title = match conf.kind {
        Kind::Storage => "ACT-STORAGE CONFIGURATION",
        Kind::Index => "ACT-INDEX CONFIGURATION",
    };
    writeln!(out, "{title}")?;
    for (name, value) in items_in_order(conf) {
        writeln!(out, "{name}: {value}")?;
    }
    writeln!(out, "\nDERIVED CONFIGURATION")?;
    match conf.derived_figures() {
        Derived::Storage(rates) => {
            writeln!(out, "record-stored-bytes: {} ... {}", rates.record_stored, rates.record_stored_max)?;
            writeln!(out, "internal-read-reqs-per-sec: {}", rates.internal_reads)?;
            writeln!(out, "internal-write-reqs-per-sec: {}", rates.internal_writes)?;
            writeln!(out, "large-block-reads-per-sec: {:.2}", rates.large_block_reads)?;
            writeln!(out, "large-block-writes-per-sec: {:.2}\n", rates.large_block_writes)
        }
        Derived::Index(rates) => {
            writeln!(out, "service-thread-reads-per-sec: {}", rates.service_reads)?;
            writeln!(out, "cache-thread-reads-and-writes-per-sec: {}\n", rates.cache_reads_and_writes)
        }
    }
}

/// The items in ACT's order.
fn items_in_order(conf: &Conf) -> Vec<(&'static str, String)> {
    let storage = conf.kind == Kind::Storage;
    let mut items =
        vec![("device-names", conf.device_names.join(" ")), ("num-devices", conf.device_names.len().to_string())];
    if let Some(size) = conf.file_size {
        items.push(("file-size-mbytes", (size.get() >> 20).to_string()));
    }
    items.push(("service-threads", conf.service_threads.unwrap_or(0).to_string()));
    if !storage {
        items.push(("cache-threads", conf.cache_threads.to_string()));
    }
    items.push(("test-duration-sec", seconds_text(conf.test_duration)));
    items.push(("report-interval-sec", seconds_text(conf.report_interval)));
    items.push(("microsecond-histograms", yes_no(conf.microsecond_histograms)));
    items.push(("read-reqs-per-sec", conf.read_reqs_per_sec.to_string()));
    items.push(("write-reqs-per-sec", conf.write_reqs_per_sec.to_string()));
    if storage {
        items.push(("record-bytes", conf.record_bytes.get().to_string()));
        items.push(("record-bytes-range-max", conf.record_bytes_range_max.map_or(0, |max| max.get()).to_string()));
        items.push(("large-block-op-kbytes", (conf.large_block.get() / 1024).to_string()));
    }
    items.push(("replication-factor", conf.replication_factor.to_string()));
    if storage {
        items.push(("update-pct", conf.update_pct.to_string()));
    }
    items.push(("defrag-lwm-pct", conf.defrag_lwm_pct.to_string()));
    if storage {
        items.push(("no-defrag-reads", yes_no(conf.no_defrag_reads)));
        items.push(("compress-pct", conf.compress_pct.to_string()));
    }
    items.push(("disable-odsync", yes_no(conf.disable_odsync)));
    if storage {
        items.push(("commit-to-device", yes_no(conf.commit_to_device)));
        items.push(("tomb-raider", yes_no(conf.tomb_raider)));
        items.push(("tomb-raider-sleep-usec", (conf.tomb_raider_sleep.as_ns() / 1000).to_string()));
    }
    items.push(("max-lag-sec", seconds_text(conf.max_lag)));
    items
}

fn seconds_text(span: assay_base::Span) -> String {
    (span.as_ns() / 1_000_000_000).to_string()
}

fn yes_no(flag: bool) -> String {
    if flag { "yes" } else { "no" }.to_owned()
}
