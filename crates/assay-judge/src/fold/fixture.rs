//! A header for the tests of this crate's state machines: two streams on one target, an hour in slices of ten minutes.

use crate::fold::counters::Counters;
use crate::fold::layout::Layout;
use crate::fold::window::Window;
use assay_record::Header;

/// See the module.
pub(crate) fn header() -> Header {
    let stream = |name: &str, direction: &str| serde_json::json!({"name": name, "direction": direction, "arrival": "closed", "size": "4KiB"});
    let header = serde_json::json!({
        "format": 1, "tool": "assay", "created": "1970-01-01T00:00:00Z", "name": "test", "seed": 1,
        "model": "streams", "load": "1x", "slice_ns": 600_000_000_000u64, "interval_ns": 1_000_000_000u64,
        "phases": [{"name": "measure", "kind": "measure", "span_ns": 3_600_000_000_000u64}],
        "streams": [stream("reads", "read"), stream("writes", "write")],
        "flows": [{"stream": 0, "target": 0}, {"stream": 1, "target": 0}],
        "targets": [{"name": "disk", "kind": "simulated", "size_bytes": 1 << 30, "block_bytes": 512}],
        "thresholds_ns": [1_000_000, 8_000_000], "criteria": [], "max_lag_ns": 0,
        "engine": {}, "host": {}, "plan": {},
    });
    serde_json::from_value(header).expect("the header above is a header")
}

/// The second window, of ten seconds, complete and valid, in which nothing was counted.
pub(crate) fn window(layout: &Layout) -> Window {
    let nothing = Counters::new(layout.times.thresholds.bucket_count());
    Window {
        number: 2,
        start_ns: 10_000_000_000,
        end_ns: 20_000_000_000,
        complete: true,
        invalid: None,
        intervals: 10,
        mixed: false,
        repeated: false,
        flows: vec![nothing.clone(); layout.flows.len()],
        streams: vec![nothing; layout.streams.len()],
        late: Vec::new(),
        loops: vec![Default::default(); layout.loops.len()],
        disturbed: None,
        processor_pressure: None,
    }
}
