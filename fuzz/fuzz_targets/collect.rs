//! Everything that is collected on production hosts: tables of asloglatency, the server's log, asinfo, iostat as text and as
//! JSON, blkparse, biosnoop, fio's iologs. The findings become a profile, and the profile a text that is read back unchanged.
#![no_main]

use assay_formats::collect::assemble::{Kind, assemble_profile};
use assay_formats::collect::{Collector, Options};
use assay_model::profile::write_profile;
use assay_model::workload::{read_profile, read_workload};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut collector = Collector::new(Options { keep_first_report: bytes.len() % 2 == 0, ..Options::default() });
    // Two files, the second in small pieces.
    let (one, two) = bytes.split_at(bytes.len() / 2);
    collector.begin_file("a/one", "", "a");
    collector.feed_bytes(bytes);
    collector.end_file();
    collector.begin_file("b/two", "", "b");
    one.chunks(13).chain(two.chunks(5)).for_each(|piece| collector.feed_bytes(piece));
    collector.end_file();
    let found = collector.finish();
    for kind in [Kind::Aerospike, Kind::Application] {
        let out = assemble_profile(&found, kind);
        let text = write_profile(&out.profile, "fuzz", &[]);
        if let Ok(profile) = read_profile("fuzz.toml", &text) {
            assert_eq!(profile, out.profile, "{text}");
        }
        let _ = read_workload("fuzz.toml", &text);
    }
});
