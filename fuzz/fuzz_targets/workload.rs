//! Workload files: every text gets an answer; an accepted one becomes a plan, or an error says why not.
#![no_main]

use assay_model::workload::{Adjust, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match read("fuzz.toml", text) {
        Ok(workload) => {
            for targets in [1, 3] {
                let plan = workload.plan(&Adjust { targets, ..Adjust::default() });
                if let Ok(plan) = plan {
                    let _ = (plan.length(), plan.writes(), plan.smallest_target(512), plan.flows().count());
                }
            }
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
});
