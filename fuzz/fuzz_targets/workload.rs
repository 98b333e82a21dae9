//! Workload files: every text gets an answer; an accepted one becomes a plan, or an error says why not. A profile can be written
//! with other knobs, or an error says why not.
#![no_main]

use assay_base::{Knobs, Share};
use assay_model::workload::{Adjust, fitted_text, read_profile, read_workload};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let knobs = Knobs { read_position: Share::from_percent(150), read_scale: Share::from_percent(90), ..Knobs::default() };
    if let Ok(written) = fitted_text("fuzz.toml", text, &knobs, &["fitted".to_owned()]) {
        assert!(read_profile("fuzz.toml", &written).is_ok(), "{written}");
    }
    match read_workload("fuzz.toml", text) {
        Ok(workload) => {
            for targets in [1, 3] {
                let plan = workload.make_plan(&Adjust { targets, ..Adjust::default() });
                if let Ok(plan) = plan {
                    let _ = (plan.timing.total_length(), plan.load.writes_targets(), plan.smallest_target(0, 512), plan.load.stream_targets().count());
                }
            }
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
});
