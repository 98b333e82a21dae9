//! Converts an ACT config file to a workload: the same load, with notes on what ACT does differently.
//!
//! There are two ways. [`native_workload`] is for `assay run act.conf`: exact rates, independent arrivals, no bound except the
//! usual one. [`like_act`] is for a drop-in: the rates that ACT derives, evenly spread arrivals, as many operations in
//! flight as ACT has threads, separately for each kind of thread, and a length that ends with a report. In both, the
//! rates of a config are for all devices together.

use super::conf::{Conf, Kind};
use super::production;
pub use super::unrunnable::Unrunnable;
use crate::note::Note;
use assay_base::{Bytes, Rate, Share, Span};
use assay_model::act::{self, Index, Pace, Rates, Storage, standard_criteria, standard_multiple};
use assay_model::size::Size;
use assay_model::workload::{LARGEST_BOUND, Load, Targets, Workload};

/// Upper bound on the interval of a run log: a run that is cut short loses no more than that.
const INTERVAL_MAX: Span = Span::from_secs(60);
/// Without service-threads in the config, ACT uses five per processor.
const THREADS_PER_CPU: u32 = 5;

/// The workload of `conf`, called `name`. The error says what cannot be run and what to write.
pub fn native_workload(name: &str, conf: &Conf, notes: &[Note]) -> Result<Workload, Unrunnable> {
    let mut workload = lower_conf(name, conf, Rates::Exact, Pace::Poisson)?;
    workload.load.lanes = match conf.kind {
        Kind::Storage => Storage::large_block_lanes(act::storage::LARGE_IN_FLIGHT),
        Kind::Index => Index::cache_lanes(workload.load.in_flight_bound),
    };
    workload.timing.duration = conf.test_duration;
    workload.timing.interval = conf.report_interval.min(INTERVAL_MAX);
    workload.notes.extend(notes.iter().map(|note| note.to_string().trim_start_matches("note: ").to_owned()));
    workload.notes.extend(key_remarks(conf));
    workload.notes.push(
        match workload.load.standard {
            Some(_) => {
                "1x is ACT's: 2000 reads and 1000 writes a second on each device; the load is that many times it"
            }
            None if conf.production.is_some() => "1x is what production does: this config",
            None => "its reads and writes are in another proportion than ACT's 1x, two to one: 1x is this config",
        }
        .to_owned(),
    );
    Ok(workload)
}

/// The workload of `conf` for a drop-in, on a machine with `cpus` processors.
pub fn like_act(conf: &Conf, cpus: u32) -> Result<Workload, Unrunnable> {
    let mut workload = lower_conf(conf.kind.program_name(), conf, Rates::Act, Pace::Steady)?;
    // ACT ends with a report: a test of 10 s with a report every 3 s takes 12 s.
    let reports = conf.test_duration.as_ns().div_ceil(conf.report_interval.as_ns().max(1));
    workload.timing.duration = Span::from_ns(reports.saturating_mul(conf.report_interval.as_ns()));
    workload.timing.interval = Span::from_secs(1);
    let service = conf.service_threads.unwrap_or(cpus.saturating_mul(THREADS_PER_CPU));
    workload.load.in_flight_bound = slots_per_device(conf, service);
    workload.load.lanes = match conf.kind {
        // One thread for each device.
        Kind::Storage => Storage::large_block_lanes(1),
        Kind::Index => Index::cache_lanes(slots_per_device(conf, conf.cache_threads)),
    };
    Ok(workload)
}

/// Operations in flight on one device, where ACT has this many threads for all devices.
fn slots_per_device(conf: &Conf, threads: u32) -> u32 {
    let devices = conf.device_names.len().max(1) as u32;
    threads.div_ceil(devices).clamp(1, LARGEST_BOUND)
}

fn lower_conf(name: &str, conf: &Conf, rates: Rates, pace: Pace) -> Result<Workload, Unrunnable> {
    if let Some(keys) = &conf.production {
        return production::workload_from_production(name, conf, keys, pace)
            .map(|workload| with_settings(workload, conf));
    }
    let (model, streams) = match conf.kind {
        Kind::Storage => ("act-storage", storage_model(conf, rates, pace).lower_to_streams()),
        Kind::Index => ("act-index", index_model(conf, pace).lower_to_streams()),
    };
    let streams = streams?;
    let reads = streams.iter().any(|stream| stream.name == "reads");
    let standard = standard_multiple(conf.read_reqs_per_sec.into(), conf.write_reqs_per_sec.into());
    let load = Load { standard, ..Load::from_streams(streams) };
    let plain =
        Workload::new(name, model, Vec::new(), |window| if reads { standard_criteria(window) } else { Vec::new() });
    Ok(with_settings(Workload { load, ..plain }, conf))
}

/// Applies what a config says besides its load.
fn with_settings(mut workload: Workload, conf: &Conf) -> Workload {
    workload.load.per_target = false;
    workload.timing.max_lag = conf.max_lag;
    let (paths, scheduler) = (conf.device_names.clone(), conf.scheduler_mode.clone());
    Workload { targets: Targets { paths, scheduler, ..workload.targets }, ..workload }
}

fn storage_model(conf: &Conf, rates: Rates, pace: Pace) -> Storage {
    Storage {
        read_rate: Rate::per_second(conf.read_reqs_per_sec.into()),
        write_rate: Rate::per_second(conf.write_reqs_per_sec.into()),
        record: Size::from_range(conf.record_bytes, conf.record_bytes_range_max.unwrap_or(conf.record_bytes)),
        large_block: conf.large_block,
        replication_factor: conf.replication_factor,
        update: Share::from_percent(conf.update_pct.into()),
        defrag_below: Share::from_percent(conf.defrag_lwm_pct.into()),
        defrag_reads: !conf.no_defrag_reads,
        commit_to_device: conf.commit_to_device,
        commit_min: conf.commit_min_bytes.unwrap_or(Bytes::new(0)),
        tomb_raider: conf.tomb_raider,
        tomb_raider_pause: conf.tomb_raider_sleep,
        compress_to: Share::from_percent(conf.compress_pct.into()),
        durable: !conf.disable_odsync,
        rates,
        pace,
    }
}

fn index_model(conf: &Conf, pace: Pace) -> Index {
    Index {
        read_rate: Rate::per_second(conf.read_reqs_per_sec.into()),
        write_rate: Rate::per_second(conf.write_reqs_per_sec.into()),
        replication_factor: conf.replication_factor,
        defrag_below: Share::from_percent(conf.defrag_lwm_pct.into()),
        durable: !conf.disable_odsync,
        pace,
    }
}

/// Notes for the reader of the plan about keys that have less effect here, or a different one.
fn key_remarks(conf: &Conf) -> Vec<String> {
    let mut remarks =
        vec!["rates of an ACT config are for all devices together; derived rates use exact arithmetic".into()];
    if conf.service_threads.is_some() {
        remarks
            .push("service-threads does not matter: every operation has its time, however many are in flight".into());
    }
    if conf.microsecond_histograms {
        remarks.push(
            "microsecond-histograms: milliseconds and microseconds are both counted exactly; export chooses".into(),
        );
    }
    if conf.report_interval > INTERVAL_MAX {
        remarks.push(format!("report-interval-sec: the log has a line every {INTERVAL_MAX}"));
    }
    if let Some(size) = conf.file_size {
        remarks.push(format!("file-size-mbytes: files that do not exist are made with --create {size}"));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::super::conf;
    use super::*;
    use assay_model::workload::Adjust;

    const BASE: &str = "device-names: /dev/a,/dev/b\nread-reqs-per-sec: 2000\nwrite-reqs-per-sec: 1000\n";

    /// Streams with rates over two devices, sizes, and whether writes are durable.
    fn streams(more: &str, like_act: bool) -> Vec<String> {
        let key = |line: &str| line.split(':').next().map(str::to_owned);
        let kept = BASE.lines().filter(|line| !more.lines().any(|other| key(other) == key(line)));
        let text: Vec<&str> = kept.chain([more]).collect();
        let text = text.join("\n");
        let kind = conf::fits_both(&text).then_some(Kind::Storage);
        let (conf, notes) = conf::read_conf("t.conf", &text, kind).unwrap();
        let workload = if like_act { super::like_act(&conf, 2) } else { native_workload("t", &conf, &notes) }.unwrap();
        let plan = workload.make_plan(&Adjust { targets: 2, ..Adjust::default() }).unwrap();
        let shown = |stream: &assay_model::Stream| {
            let rate = stream.arrival.mean_rate().map_or("paced".to_owned(), |rate| format!("{:.2}", rate.as_f64()));
            let block = stream.as_block().unwrap();
            let durable = if block.durable { " sync" } else { "" };
            format!("{} {rate} {} {}{durable}", stream.name, block.size, block.compress_to)
        };
        plan.load.streams.iter().map(shown).collect()
    }

    #[test]
    fn every_key_reaches_its_stream() {
        let base = [
            "reads 2000.00 1536B 100%",
            "large-block-reads 23.44 128KiB 100%",
            "large-block-writes 23.44 128KiB 100% sync",
        ];
        for (more, expected) in [
            ("", &base[..]),
            (
                "replication-factor: 2",
                &[base[0], "large-block-reads 46.88 128KiB 100%", "large-block-writes 46.88 128KiB 100% sync"],
            ),
            ("update-pct: 50", &["reads 2500.00 1536B 100%", base[1], base[2]]),
            (
                "defrag-lwm-pct: 60",
                &[base[0], "large-block-reads 29.30 128KiB 100%", "large-block-writes 29.30 128KiB 100% sync"],
            ),
            ("no-defrag-reads: yes", &[base[0], base[2]]),
            (
                "commit-to-device: yes\nrecord-bytes: 700\nrecord-bytes-range-max: 8100\ncommit-min-bytes: 1024",
                &[
                    "reads 2000.00 704B to 8112B 100%",
                    "large-block-reads 67.26 128KiB 100%",
                    "large-block-writes 33.63 128KiB 100% sync",
                    "writes 1000.00 1KiB to 8KiB 100% sync",
                ],
            ),
            (
                "compress-pct: 50",
                &[
                    "reads 2000.00 1536B 50%",
                    "large-block-reads 23.44 128KiB 50%",
                    "large-block-writes 23.44 128KiB 50% sync",
                ],
            ),
            ("disable-odsync: yes", &[base[0], base[1], "large-block-writes 23.44 128KiB 100%"]),
            ("tomb-raider: yes", &[base[0], base[1], base[2], "tomb-raider-reads paced 128KiB 100%"]),
            (
                "cache-threads: 4",
                &["reads 3000.00 4KiB 100%", "cache-reads 2000.00 4KiB 100%", "writes 2000.00 4KiB 100% sync"],
            ),
            // Blocks with a number of their own instead of a derived one.
            (
                "total-lbw-per-sec: 100\ndirect-frees: 25\nlbw-req-offset: 93\nlbr-req-offset: 80",
                &[base[0], "large-block-reads 60.00 128KiB 100%", "large-block-writes 93.00 128KiB 100% sync"],
            ),
            ("lbw-req-offset: 50", &[base[0], base[1], "large-block-writes 11.72 128KiB 100% sync"]),
            ("write-reqs-per-sec: 0", &[base[0]]),
            ("read-reqs-per-sec: 0", &base[1..]),
        ] {
            assert_eq!(streams(more, false), expected, "{more}");
        }
    }

    #[test]
    fn what_cannot_be_run_is_told_at_its_line() {
        for (more, at, told) in [
            ("commit-to-device: yes\n  disable-odsync: yes\n", (5, 3, 14), "needs durable writes"),
            ("storage-read-histogram: 100,50,0\nread-size-offset: 250\n", (5, 1, 16), "lies outside of the buckets"),
            ("storage-write-histogram: 100,50,0\n\nupdate-pct: 10\n", (6, 1, 10), "count the reads of updates"),
            ("storage-write-histogram: 100,50,0\nreplication-factor: 2\n", (5, 1, 18), "count replicas"),
        ] {
            let text = format!("{BASE}{more}");
            let (conf, notes) = match conf::read_conf("t.conf", &text, None) {
                Ok(read) => read,
                // Refused even earlier, and at its line as well.
                Err(fault) => {
                    assert!(fault.line > 0, "{fault}");
                    continue;
                }
            };
            let fault = native_workload("t", &conf, &notes).unwrap_err().fault_in_text("t.conf", &text);
            assert_eq!((fault.line, fault.column, fault.width), at, "{fault}");
            assert!(fault.what.contains(told), "{fault}");
        }
        let nowhere = Unrunnable { keys: &["none"], message: "m".into(), advice: "a".into() };
        assert_eq!(nowhere.fault_in_text("f", BASE).line, 0);
    }

    #[test]
    fn a_drop_in_has_acts_rates_bound_and_length() {
        assert_eq!(streams("", true)[1], "large-block-reads 23.53 128KiB 100%");
        for (more, bound, seconds) in [
            (
                "test-duration-sec: 10\nreport-interval-sec: 3",
                "5, beside them 1 of large-block-reads, 1 of large-block-writes",
                12,
            ),
            (
                "service-threads: 41\ntest-duration-sec: 2\ntomb-raider: yes\nno-defrag-reads: yes",
                "21, beside them 1 of large-block-writes, 1 of tomb-raider-reads",
                2,
            ),
            (
                "service-threads: 8\ncache-threads: 4\ntest-duration-sec: 1\nreport-interval-sec: 5",
                "4, beside them 2 of cache-reads and writes",
                5,
            ),
        ] {
            let text = format!("{BASE}{more}");
            let (conf, _) = conf::read_conf("t.conf", &text, conf::fits_both(&text).then_some(Kind::Storage)).unwrap();
            let workload = like_act(&conf, 2).unwrap();
            let plan = workload.make_plan(&Adjust { targets: 2, ..Adjust::default() }).unwrap();
            assert_eq!(
                (
                    format!("{}{}", plan.load.in_flight_bound, plan.load.lanes_in_words()).as_str(),
                    workload.timing.duration
                ),
                (bound, Span::from_secs(seconds)),
                "{more}"
            );
        }
    }

    /// The multiple is ACT's: 2000 reads and 1000 writes per second on each device. `--load` selects another multiple.
    #[test]
    fn the_load_of_a_config_is_acts_multiple() {
        for (reads, writes, targets, asked, load, rate) in [
            (6000, 3000, 1, None, "3x", 6000),
            (6000, 3000, 1, Some(30), "30x", 60_000),
            (6000, 3000, 3, None, "1x", 6000),
            (6000, 3000, 3, Some(30), "30x", 180_000),
            (3000, 1500, 1, None, "1.5x", 3000),
            (2000, 1000, 3, None, "1/3x", 2000),
            // Rates in another proportion are not a multiple of ACT's.
            (6000, 1000, 1, None, "1x", 6000),
            (6000, 1000, 1, Some(2), "2x", 12_000),
            (6000, 0, 2, None, "1x", 6000),
        ] {
            let text = format!(
                "device-names: a\nread-reqs-per-sec: {reads}\nwrite-reqs-per-sec: {writes}\ntest-duration-sec: 9\n"
            );
            let (conf, notes) = conf::read_conf("t.conf", &text, Some(Kind::Storage)).unwrap();
            let load_asked = asked.map(assay_base::Multiple::from_whole);
            for workload in [native_workload("t", &conf, &notes).unwrap(), like_act(&conf, 2).unwrap()] {
                let plan = workload.make_plan(&Adjust { targets, load: load_asked, ..Adjust::default() }).unwrap();
                let got = (plan.load.multiple.to_string(), plan.load.streams[0].arrival.mean_rate());
                assert_eq!(
                    got,
                    (load.to_owned(), Some(Rate::per_second(rate))),
                    "{reads} {writes} on {targets} at {asked:?}"
                );
            }
        }
    }

    #[test]
    fn a_file_is_known_by_its_keys() {
        for (text, act) in [
            (BASE, true),
            ("# comment\n\n read-reqs-per-sec 5\nfoo: bar", true),
            ("model = \"act-storage\"\nread-reqs-per-sec = 3", false),
            ("[[stream]]\nname = \"x\"", false),
            ("", false),
            ("\u{feff}device-names: /dev/a", true),
        ] {
            assert_eq!(conf::looks_like(text), act, "{text:?}");
        }
    }
}
