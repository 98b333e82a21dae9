//! The grammar of simulated targets: what is parsed and written back, and the message of every refusal.

use crate::sim_common;

use assay_device::sim::Spec;
use sim_common::spec;

#[test]
fn text_reads_back() {
    for text in [
        "sim:flash",
        "sim:flash-worn",
        "sim:disk",
        "sim:flash?size=200GiB&read=95us&iops=300000&seed=18446744073709551615",
        "sim:flash?channels=8&read=50us&write=10us&iops=1&read_bandwidth=1GiB/s&write_bandwidth=1KiB/s&spread=0.5%",
        "sim:flash?cache=0s&program=0s&gc=10ms/64MiB",
        "sim:flash?fresh=60%/10min",
        "sim:flash-worn?after=30min&slow=6.5%&slow_read=2ms",
        "sim:flash-worn?fresh=12.5%/1h&after=30min",
        "sim:disk?size=1TiB&block=4KiB&settle=1ms&stroke=10ms&rpm=15000&bandwidth=200MiB/s",
        "sim:disk?stall=2s@10s&stall=500ms@20s&errors=1/100000&hang=1@30s&hang=2@40s&gone@1min",
    ] {
        let parsed = spec(text);
        assert_eq!(parsed.to_string(), text.replace("@1min", "@60s").replace("@60s", "@1min"));
        assert_eq!(spec(&parsed.to_string()), parsed);
    }
}

#[test]
fn defaults_and_order_do_not_matter() {
    for (text, shown) in [
        ("sim:flash?iops=400000", "sim:flash"),
        ("sim:flash?read=0.09ms&size=894GiB", "sim:flash"),
        ("sim:flash?iops=5&size=1GiB", "sim:flash?size=1GiB&iops=5"),
        ("sim:disk?stall=1s@20s&stall=1s@10s", "sim:disk?stall=1s@10s&stall=1s@20s"),
        ("sim:disk?gone=60s", "sim:disk?gone@1min"),
        ("sim:disk?bandwidth=150MB/s&rpm=7_200", "rpm: not a whole number"),
    ] {
        let got = text.parse::<Spec>().map_or_else(|error| error.to_string(), |spec| spec.to_string());
        assert!(got == shown || (shown.starts_with("rpm") && got.contains(shown)), "{text}: {got}");
    }
}

#[test]
fn refusals_say_what_to_write() {
    for (text, why) in [
        ("", "write sim:flash, sim:flash-worn, sim:disk"),
        ("flash", "no such simulated device"),
        ("sim:", "no such simulated device"),
        ("sim:tape", "no such simulated device"),
        ("sim:flash?", "write name=value"),
        ("sim:flash?iops", "write name=value"),
        ("sim:flash?iops=", "not a whole number; write for example 400000"),
        ("sim:flash?iops=60k", "not a whole number"),
        ("sim:flash?iops=0", "write 1 to 1000000000"),
        ("sim:flash?iop=5", "did you mean iops?"),
        ("sim:flash?Size=1GiB", "did you mean size?"),
        ("sim:flash?qqqqqq=1", "sim:flash has size, block, seed"),
        ("sim:flash?after=5h", "only sim:flash-worn has it"),
        ("sim:disk?channels=5", "only sim:flash and sim:flash-worn has it"),
        ("sim:flash?size=200", "the unit is missing"),
        ("sim:flash?size=0B", "write 512B to"),
        ("sim:flash?size=1000B", "is not a multiple of block"),
        ("sim:flash?block=1000B", "not a power of two"),
        ("sim:flash?block=1MiB", "out of range"),
        ("sim:flash?read=90", "the unit is missing"),
        ("sim:flash?read=0s", "out of range; write 1ns to 1min"),
        ("sim:flash?read=2min", "out of range"),
        ("sim:flash?read_bandwidth=3GiB", "bytes per second"),
        ("sim:flash?spread=300%", "out of range"),
        ("sim:flash?gc=2ms", "such as 2ms/1GiB"),
        ("sim:flash?iops=5&iops=6", "iops is written twice"),
        ("sim:flash?stall=2s", "such as 2s@10s"),
        ("sim:flash?stall=2s@10s&stall=1s@11s", "stalls 2s@10s and 1s@11s overlap"),
        ("sim:flash?stall=0s@10s", "out of range"),
        ("sim:flash?errors=5%", "such as 1/100000"),
        ("sim:flash?errors=2/1", "out of range; write 1 to 1"),
        ("sim:flash?errors=0/1", "out of range"),
        ("sim:flash?hang=30s", "such as 1@30s"),
        ("sim:flash?gone@x", "gone: "),
        ("sim:flash?\u{1b}[31m=1", "\\u{1b}[31m"),
    ] {
        let error = text.parse::<Spec>().expect_err(text).to_string();
        assert!(error.contains(why), "{text}: {error}");
        assert!(error.len() < 500 && !error.contains('\u{1b}'), "{error}");
    }
    let long = format!("sim:flash?{}=1", "x".repeat(100_000));
    assert!(long.parse::<Spec>().expect_err("unknown").to_string().len() < 600);
}
