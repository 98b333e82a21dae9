//! Logs that ACT wrote: as act_latency.py reads them, and judged.
#![no_main]

use assay_base::Span;
use assay_formats::act::import;
use assay_formats::act::log::Log;
use assay_formats::act::slices::tabulate_slices;
use assay_judge::{Fold, Options, render};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(mut log) = Log::open("fuzz.log", bytes) {
        let names = log.histogram_names().to_vec();
        let _ = tabulate_slices(&mut log, &names, Span::from_secs(10));
    }
    let mut fold = Fold::new(Options::default());
    let mut entries = 0u32;
    let read = import::import_entries("fuzz.log", bytes, Span::from_secs(10), &mut |entry| {
        entries += 1;
        fold.take_entry(&entry);
    });
    if let (Ok(()), Ok(judgement)) = (read, fold.finish()) {
        let mut text = String::new();
        render::write_summary(&judgement, &mut text).expect("a judgement is text");
        render::write_slice_tables(&judgement, &mut text).expect("a judgement is a table");
    }
});
