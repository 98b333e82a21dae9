//! ACT configs, read strictly and as ACT itself reads them, and lowered to workloads.
#![no_main]

use assay_formats::act::conf::{Kind, Outcome, read_bytes, read_like_act};
use assay_formats::act::lower;
use assay_model::workload::Adjust;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for kind in [None, Some(Kind::Storage), Some(Kind::Index)] {
        if let Ok((conf, notes)) = read_bytes("fuzz.conf", bytes, kind) {
            if let Ok(workload) = lower::native_workload("fuzz", &conf, &notes) {
                let _ = workload.make_plan(&Adjust { targets: 1, ..Adjust::default() });
            }
        }
    }
    for kind in [Kind::Storage, Kind::Index] {
        if let Outcome::Accepted { conf, .. } = read_like_act(bytes, kind, 4) {
            let _ = lower::like_act(&conf, 4);
        }
    }
});
