//! The text of a distribution: the recorder's decoder never makes room for what a head claims, and what it takes it gives back.
#![no_main]

use assay_record::Times;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(times) = Times::from_text(text, 0) {
        let again = Times::from_text(&times.to_text(), 0).expect("what was written is read");
        assert_eq!(times, again);
        let _ = (times.quantile(0.5), times.quantile(0.999), times.count());
    }
});
