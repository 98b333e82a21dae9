//! What this process cost, once per interval.

use assay_device::safety::Roots;
use assay_device::{probe, usage};
use assay_record::HostSample;

/// The cost of this process, as differences since the last reading.
pub(crate) struct Meters {
    host: HostSample,
}

impl Meters {
    /// Starts counting now.
    pub(crate) fn new() -> Meters {
        Meters { host: read_host() }
    }

    /// The counts since the last call, and the memory in use now.
    pub(crate) fn sample_host(&mut self) -> HostSample {
        let now = read_host();
        let before = std::mem::replace(&mut self.host, now);
        HostSample {
            cpu_ns: now.cpu_ns.saturating_sub(before.cpu_ns),
            run_queue_ns: now.run_queue_ns.saturating_sub(before.run_queue_ns),
            steal_ns: now.steal_ns.saturating_sub(before.steal_ns),
            resident_bytes: now.resident_bytes,
            throttled_ns: now.throttled_ns.saturating_sub(before.throttled_ns),
            throttled_periods: now.throttled_periods.saturating_sub(before.throttled_periods),
            cpu_pressure_ns: 0,
        }
    }
}

fn read_host() -> HostSample {
    let throttled = probe::throttled(&Roots::of_machine());
    HostSample {
        cpu_ns: usage::cpu_ns(),
        run_queue_ns: usage::run_queue_ns(),
        steal_ns: usage::steal_ns(),
        resident_bytes: usage::resident_bytes(),
        throttled_ns: throttled.ns,
        throttled_periods: throttled.periods,
        cpu_pressure_ns: 0,
    }
}
