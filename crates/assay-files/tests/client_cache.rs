//! Where reads come from: dropped, warm, direct and without staying in the page cache, each proven by the page cache
//! itself.

use crate::bed;
use crate::client_bed::bench;
use crate::mixes::{sequence, workload};
use assay_base::{Bytes, Span};
use assay_files::Kind;
use assay_files::shell::{CacheWitness, drop_cached_pages, look_at_cache, refuse_missing_way};
use assay_model::files::{CachePolicy, FileSize, FilesPhase, FilesWorkload, Operation, Until};

fn reading(cache: CachePolicy) -> FilesWorkload {
    let read = sequence("read", "open read close", 1);
    let mut reading = workload(256, 2, Vec::new());
    reading.tree.size = FileSize::Fixed(Bytes::from_kib(64));
    reading.io = Bytes::from_kib(16);
    reading.phases = vec![FilesPhase {
        name: "read".to_owned(),
        until: Until::Done,
        sequences: vec![read],
        ..FilesPhase::default()
    }];
    FilesWorkload { cache, ..reading }
}

#[test]
fn what_is_dropped_is_not_cached_and_each_way_of_reading_leaves_what_it_should() {
    if !bed::root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    for (kind, _mounted) in bed::file_systems(place.path()) {
        let point = place.path().join(kind);
        for (cache, kept) in [(CachePolicy::Warm, true), (CachePolicy::Direct, false), (CachePolicy::DontCache, false)]
        {
            let mut bench = bench(&point, &reading(cache), Span::from_secs(1));
            if let Err(why) = refuse_missing_way(&bench.tree, cache) {
                assert!(why.kind == Kind::Host && why.to_string().ends_with("write cache = \"drop\""), "{why}");
                bed::skip(&format!("{kind}: {why}"));
                bench.verify_and_clean();
                continue;
            }
            // The script is with the clients: another one of the same workload knows the same files.
            let script = crate::client_bed::script(&reading(cache));
            drop_cached_pages(&bench.tree, &script, 2).unwrap();
            let before = look_at_cache(&bench.tree, &script).unwrap();
            let report = bench.run_phase(0);
            let after = look_at_cache(&bench.tree, &script).unwrap();
            assert_eq!(report.operations[&Operation::Read].bytes, 256 << 16, "{kind} {cache:?}");
            if kind == "tmpfs" {
                assert_eq!((before.witness, before.share()), (CacheWitness::Memory, Some(1.0)));
            } else if kind == "overlay" {
                // Its upper layer is in memory: nothing can be dropped, and it is told so.
                assert_eq!(before.share(), Some(1.0), "{cache:?}: {before:?}");
            } else if before.share().is_some() {
                assert_eq!((before.files, before.pages, before.cached), (4, 64, 0), "{kind} {cache:?}");
                assert_eq!(after.share(), Some(if kept { 1.0 } else { 0.0 }), "{kind} {cache:?}: {after:?}");
            }
            bench.verify_and_clean();
        }
    }
}
