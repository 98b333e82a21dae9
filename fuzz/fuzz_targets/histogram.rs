//! The text of a distribution: the decoder allocates no memory because of a number in the header, and an accepted text is written back unchanged.
#![no_main]

use assay_record::Times;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(times) = Times::from_text(text, 0) {
        let again = Times::from_text(&times.to_text(), 0).expect("what was written is read");
        assert_eq!(times, again);
        let _ = (times.quantile(0.5), times.quantile(0.999), times.total_count());
    }
});
