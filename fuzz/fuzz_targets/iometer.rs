//! Configurations of IOmeter, read and written as workloads, which are read again.
#![no_main]

use assay_formats::iometer::{all_steps, read_config, write_workload};
use assay_model::workload;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let Ok(config) = read_config("fuzz.icf", &text) else { return };
    let specs = config.specs.first().map(|spec| spec.name.clone());
    for chosen in [None, specs.as_deref()] {
        let Ok(steps) = all_steps(&config, chosen) else { continue };
        for step in steps.iter().take(4) {
            let Ok(text) = write_workload(&config, step, "fuzz", "fuzz.icf") else { continue };
            if let Err(fault) = workload::read_workload("fuzz.toml", &text) {
                panic!("{fault}\n{text}");
            }
        }
    }
});
