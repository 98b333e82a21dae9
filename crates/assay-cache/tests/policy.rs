//! The hit rate of the cache device under an OLTP load, compared with the curve of a simulated cache of the same policy.
#![allow(clippy::unwrap_used, reason = "tests")]

use assay_base::cached::Ranges;
use assay_base::{BlockDevice, Completion, Device, Done, Geometry, Instant, Op, Span, Ticket};
use assay_cache::{Cached, Counters, Index, Setup, Shape};
use assay_model::arrival::Part;
use assay_model::cache::{CacheCurve, CacheDevice, Policy, Settings, Writes};
use assay_model::oltp::{Load, ReadShares};
use assay_model::workload::{Adjust, oltp_workload};
use std::sync::Arc;

/// A device that completes every operation at once, without data.
struct Immediate(Done);

impl Device for Immediate {
    type Request = Op;
    fn submit_request(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        self.0.push(Completion { ticket, result: Ok(op.len), issued: now, accepted: now, completed: now });
    }
    fn poll_completions(&mut self, _now: Instant, done: &mut Done) {
        done.append(&mut self.0);
    }
    fn next_wakeup(&self) -> Option<Instant> {
        None
    }
    fn wait_for_completion(&mut self, _span: Span) {}
}

impl BlockDevice for Immediate {
    fn target_geometry(&self, _target: u16) -> Geometry {
        Geometry { size: 1 << 40, block: 512 }
    }
    fn slot_buffer(&mut self, _ticket: Ticket) -> &mut [u8] {
        &mut []
    }
}

const BLOCK: u32 = 4096;

/// Hit rates of reads in the cache device and on the curve, from an empty cache on, on stores and a log of these sizes.
fn rates(size: u64, [store, log]: [u64; 2], operations: u64) -> [f64; 2] {
    let mut workload = oltp_workload("oltp", 10, (ReadShares::Published, 1), None).unwrap();
    workload.caches.device = Some(CacheDevice::on_path("cache"));
    let adjust = Adjust { targets: 3, seed: 5, measure: Some(Span::from_secs(3600 * 24 * 30)), ..Adjust::default() };
    let plan = workload.make_plan(&adjust).unwrap();
    let geometry = |size| Geometry { size, block: 512 };
    let geometries = [geometry(store), geometry(store), geometry(log)];
    let ranges = plan.load.cacheable_ranges(&geometries).unwrap();
    assert_eq!(ranges.len(), 2, "the log is not cached");
    let shape = Shape::new(size, BLOCK, 512).unwrap();
    let counters = Arc::new(Counters::new(3));
    let setup = Setup {
        index: Index::new(shape),
        target: 3,
        ranges: &ranges,
        slots: 1,
        buffers: 32,
        counters: counters.clone(),
        clock: Box::new(|now| now),
    };
    let mut device = Cached::new(Immediate(Done::new()), setup);
    let segment = u64::from(shape.slot_count() / shape.segments);
    let settings = Settings { policy: Policy::Log, writes: Writes::Allocate, one_of: 1, segment };
    let mut curve = CacheCurve::new(settings, vec![shape.slot_count().into()]);
    let taken = Ranges::new(&ranges, 3, BLOCK);
    let mut load = Load::new(&plan, None, &geometries, Part { index: 0, of: 1 }, Instant::ZERO).unwrap();
    for _ in 0..operations {
        let op = load.next_wanted().unwrap().op;
        curve.follow_operation(&taken, &op);
        device.submit_request(Instant::ZERO, Ticket(0), &op);
        let mut done = Done::new();
        for _ in 0..40 {
            device.poll_completions(Instant::ZERO, &mut done);
        }
        assert_eq!(done.len(), 1, "{op:?}");
    }
    let counted = counters.read();
    assert_eq!(counted.reads, curve.reads_followed(), "what one takes the other takes");
    assert!(counted.evictions > 0 || size > 512 << 20, "the log has come round: {counted:?}");
    [counted.read_hits as f64 / counted.reads as f64, curve.curve_points()[0].hits]
}

/// The stores of the page of OLTP loads and large ones, of which a cache holds much or little.
#[test]
fn the_hit_rate_is_that_of_the_simulated_policy() {
    for (storage, sizes) in [
        ([45 << 20, 10 << 20], [8 << 20, 16 << 20, 32 << 20]),
        ([900 << 20, 200 << 20], [8 << 20, 64 << 20, 768 << 20]),
    ] {
        for size in sizes {
            let [device, simulated] = rates(size, storage, 400_000);
            let off = (device - simulated).abs();
            assert!(off < 0.002, "{size} bytes: {device:.4} of the device, {simulated:.4} simulated");
        }
    }
}
