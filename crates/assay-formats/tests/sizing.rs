//! From the files of `examples/` to a plan: the worked example of "Advanced Flash Device Sizing" with exact numbers,
//! and an invented cluster of two nodes.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use assay_formats::collect::assemble::{Assembled, Kind, assemble_profile};
use assay_formats::collect::{Collector, Options};
use assay_model::profile::write_profile;
use assay_model::workload::{Adjust, Workload, read_workload};
use std::path::Path;

fn assembled(files: &[&str]) -> Assembled {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut collector = Collector::new(Options::default());
    for file in files {
        collector.begin_file(file, "", file.rsplit_once('/').unwrap().0);
        collector.feed_bytes(&std::fs::read(root.join(file)).unwrap());
        collector.end_file();
    }
    let found = collector.finish();
    assert!(found.files.iter().all(|file| file.other <= 8), "{:?}", found.files);
    assemble_profile(&found, Kind::Aerospike)
}

fn workload(profile: &str) -> Workload {
    read_workload("profile.toml", profile).unwrap_or_else(|fault| panic!("{fault}\n{profile}"))
}

fn worked() -> Assembled {
    assembled(&["worked/asloglatency.txt", "worked/aerospike.log", "worked/iostat.txt"])
}

/// Each number of the example, as in its text.
#[test]
fn the_worked_example_to_the_number() {
    let out = worked();
    assert_eq!((out.missing, out.contradictions), (vec![], vec![]));
    let part = &out.profile.parts[0];
    assert_eq!((part.name.as_str(), part.drives.as_slice()), ("ycsb", ["nvme0n1".to_owned()].as_slice()));
    let text = write_profile(&out.profile, "ycsb", &[]);
    let in_words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in [
        "rate = \"10427/s\" # worked/asloglatency.txt:58, asloglatency, average of 5 slices",
        "rate = \"5916/s\" # worked/asloglatency.txt:43, asloglatency, average of 5 slices",
        "larger_than = [[\"1KiB\", \"100%\"], [\"2KiB\", \"83.97%\"], [\"4KiB\", \"68.26%\"], [\"8KiB\", \"52.89%\"], [\"16KiB\", \"38.48%\"], [\"32KiB\", \"25.52%\"], [\"64KiB\", \"12.65%\"], [\"128KiB\", \"0%\"]]",
        "larger_than = [[\"512B\", \"100%\"], [\"1KiB\", \"85.72%\"], [\"2KiB\", \"85.72%\"], [\"4KiB\", \"71.44%\"], [\"8KiB\", \"57.11%\"], [\"16KiB\", \"42.9%\"], [\"32KiB\", \"28.44%\"], [\"64KiB\", \"14.26%\"], [\"128KiB\", \"0%\"]]",
        "writes = \"1543/s\" # worked/aerospike.log:1, drv_ssd, as printed",
        "direct_frees = \"369/s\" # worked/aerospike.log:2, drv_ssd, as printed",
        "reads = \"1172.8/s\" # worked/aerospike.log:1, drv_ssd, as printed",
        "reads = \"11806/s\" # worked/iostat.txt:7, iostat, 1 report",
        "writes = \"1547.5/s\" # worked/iostat.txt:7, iostat, 1 report",
        "read_bytes = \"344970.25KiB\" # worked/iostat.txt:7, iostat, 1 report",
        "write_bytes = \"198080KiB\" # worked/iostat.txt:7, iostat, 1 report",
        "reads_over = [[\"1ms\", \"14.9%\"], [\"2ms\", \"7.8%\"], [\"4ms\", \"0.08%\"], [\"8ms\", \"0%\"]]",
        "writes_over = [[\"1ms\", \"25.77%\"], [\"2ms\", \"12.17%\"], [\"4ms\", \"0.87%\"], [\"8ms\", \"0%\"]]",
    ] {
        assert!(in_words.contains(line), "{line}\n{text}");
    }
    let workload = workload(&text);
    let steps: Vec<String> = workload.derivation.iter().map(ToString::to_string).collect();
    let tables = "asloglatency, average of 5 slices";
    assert_eq!(
        steps,
        [
            format!("reads = 10427/s  [worked/asloglatency.txt:58, {tables}]"),
            format!("writes = 5916/s  [worked/asloglatency.txt:43, {tables}]"),
            "read ratio = 10427/s / (10427/s + 5916/s) = 63.80%".into(),
            "write ratio = 5916/s / (10427/s + 5916/s) = 36.20%".into(),
            format!("mean read size = mean of its histogram at position 100%, stored in multiples of 16 B = 16927 B  [worked/asloglatency.txt:58, {tables}]"),
            "large blocks written in all = 1543/s  [worked/aerospike.log:1, drv_ssd, as printed]".into(),
            "large-block reads = (1543/s − 369/s freed directly) × 100% = 1174/s  [worked/aerospike.log:2, drv_ssd, as printed]".into(),
            "large-block writes = 1543/s × 100% = 1543/s".into(),
        ]
    );
    let rates: Vec<(String, f64)> =
        workload.load.streams.iter().map(|one| (one.name.clone(), one.arrival.mean_rate().unwrap().as_f64())).collect();
    let expected = [("reads", 10_427.0), ("large-block-reads", 1174.0), ("large-block-writes", 1543.0)];
    assert_eq!(rates, expected.map(|(name, rate)| (name.to_owned(), rate)));
}

/// The example's drive without the log: blocks are derived from the writes.
#[test]
fn without_the_log_blocks_are_derived() {
    let out = assembled(&["worked/asloglatency.txt", "worked/iostat.txt"]);
    assert!(out.missing.iter().any(|one| one.what.contains("large blocks written")));
    let workload = workload(&write_profile(&out.profile, "ycsb", &[]));
    let steps: Vec<String> = workload.derivation.iter().map(ToString::to_string).collect();
    // 5916 writes of 18,660 B fill 842 blocks of 128 KiB, and defragmentation of half-full blocks doubles them.
    let filled = steps.iter().find(|step| step.starts_with("large blocks that clients fill")).unwrap();
    assert!(filled.contains("5916/s × ") && filled.contains(" / 128KiB = 8"), "{filled}");
    let all = steps.iter().find(|step| step.starts_with("large blocks written in all")).unwrap();
    assert!(all.contains("× 1 / (1 − 50%)"), "{all}");
}

#[test]
fn the_load_is_multiplied_as_a_whole() {
    let workload = workload(&write_profile(&worked().profile, "ycsb", &[]));
    let plan = |load: u64| {
        let adjust = Adjust { load: Some(assay_base::Multiple::from_whole(load)), targets: 2, ..Adjust::default() };
        let plan = workload.make_plan(&adjust).unwrap();
        plan.load.streams.iter().map(|stream| stream.arrival.mean_rate().unwrap().as_f64()).collect::<Vec<f64>>()
    };
    // On each of two targets.
    assert_eq!(plan(1), [20_854.0, 2348.0, 3086.0]);
    assert_eq!(plan(2), [41_708.0, 4696.0, 6172.0]);
}

const CLUSTER: [&str; 8] = [
    "cluster/alpha/aerospike.log",
    "cluster/alpha/asloglatency.txt",
    "cluster/alpha/asinfo.txt",
    "cluster/alpha/iostat.txt",
    "cluster/beta/aerospike.log",
    "cluster/beta/asloglatency.txt",
    "cluster/beta/asinfo.txt",
    "cluster/beta/iostat.txt",
];

#[test]
fn a_cluster_of_two_nodes_two_namespaces_and_two_drives() {
    let out = assembled(&CLUSTER);
    assert_eq!((out.missing, out.contradictions), (vec![], vec![]));
    let parts: Vec<String> = out
        .profile
        .parts
        .iter()
        .map(|part| format!("{} of {} on {}", part.name, part.node, part.drives.join(" ")))
        .collect();
    let expected = [
        "orders of alpha on nvme0n1 nvme1n1",
        "sessions of alpha on nvme0n1 nvme1n1",
        "orders of beta on nvme0n1 nvme1n1",
        "sessions of beta on nvme0n1 nvme1n1",
    ];
    assert_eq!(parts, expected);
    assert_eq!(out.profile.drives.len(), 4);
    assert!(out.profile.drives.iter().all(|drive| drive.reports == 12), "the first of 13 is dropped");
    let text = write_profile(&out.profile, "cluster", &[]);
    let busiest = workload(&text);
    assert!(busiest.notes[0].contains("each target stands for alpha/nvme"), "{:?}", busiest.notes);
    let names: Vec<&str> = busiest.load.streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "orders.reads",
            "orders.large-block-reads",
            "orders.large-block-writes",
            "sessions.reads",
            "sessions.large-block-reads",
            "sessions.large-block-writes"
        ]
    );
    let rate = |workload: &Workload, name: &str| {
        workload.load.streams.iter().find(|stream| stream.name == name).unwrap().arrival.mean_rate().unwrap().as_f64()
    };
    // Half of the load on the node's two drives.
    assert!((rate(&busiest, "orders.reads") / 6000.0 - 1.0).abs() < 0.01);
    assert!((rate(&busiest, "sessions.large-block-writes") / 18.3 - 1.0).abs() < 0.02);
    assert_eq!(busiest.criteria.len(), 6);
    let other = workload(&text.replace("model = \"profile\"", "model = \"profile\"\ndrive = \"beta/nvme0n1\""));
    assert!((rate(&other, "orders.reads") / 5400.0 - 1.0).abs() < 0.01);
}

/// A written profile is read back unchanged, including the last comment.
#[test]
fn a_profile_is_read_as_it_was_written() {
    for out in [worked(), assembled(&CLUSTER)] {
        let text = write_profile(&out.profile, "name", &["head".into()]);
        let read = assay_model::workload::read_profile("p.toml", &text).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(read, out.profile);
        assert_eq!(write_profile(&read, "name", &["head".into()]), text);
    }
}

/// The position at which the example's histogram gives production's bytes, on a drive with blocks of 512 B;
/// `docs/sizing.md` states it.
#[test]
fn where_the_examples_sizes_lie() {
    let text = write_profile(&worked().profile, "ycsb", &[]);
    // What iostat read per second, without the large blocks that defragmentation read.
    let wanted = (344_970.25 - 1172.8 * 128.0) * 1024.0 / 10_427.0;
    let mean = |percent: u64| {
        let text = text.replacen("position = \"100%\"", &format!("position = \"{percent}%\""), 1);
        workload(&text).load.streams[0].as_block().unwrap().size.in_blocks(512).mean_size()
    };
    let fits = (100..200).find(|&percent| mean(percent) >= wanted).unwrap();
    assert_eq!(fits, 112);
    assert!((mean(fits) / wanted - 1.0).abs() < 0.01, "{} and {wanted}", mean(fits));
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sizing.md")).unwrap();
    assert!(page.contains(&format!("fit the example's histogram at about {fits} %")));
}

/// The response times of clients are at the end as criteria in comments, which a person may enable.
#[test]
fn production_can_be_asked_of_a_drive() {
    let text = write_profile(&worked().profile, "ycsb", &[]);
    let (before, proposed) = text.split_once("remove the # signs:\n").unwrap();
    let taken = format!("{before}\n{}", proposed.replace("# ", ""));
    let criteria: Vec<String> = workload(&taken).criteria.iter().map(ToString::to_string).collect();
    let expected = ["1ms at most 14.9%", "2ms at most 7.8%", "4ms at most 0.08%"];
    assert_eq!(criteria, expected.map(|bound| format!("reads response over {bound} per 1h")));
    let cluster = write_profile(&assembled(&CLUSTER).profile, "cluster", &[]);
    let (before, proposed) = cluster.split_once("remove the # signs:\n").unwrap();
    let taken = workload(&format!("{before}\n{}", proposed.replace("# ", "")));
    assert!(taken.criteria.iter().any(|criterion| criterion.stream == "sessions.reads"));
}
