//! The hit rate of the cache device under an OLTP load, compared with that of a simulated cache of the same policy.
#![allow(clippy::unwrap_used, reason = "tests")]

use assay_base::{BlockDevice, Completion, Device, Direction, Done, Geometry, Instant, Op, Span, Ticket};
use assay_cache::{Cached, Counters, Index, Place, Range, Setup, Shape};
use assay_model::arrival::Part;
use assay_model::cache::{Cache, CacheDevice, Policy, Writes};
use assay_model::oltp::{Load, ReadShares};
use assay_model::workload::{Adjust, oltp};
use std::sync::Arc;

/// A device that completes every operation at once, without data.
struct Immediate(Done);

impl Device for Immediate {
    type Request = Op;
    fn submit(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        self.0.push(Completion { ticket, result: Ok(op.len), issued: now, accepted: now, completed: now });
    }
    fn poll(&mut self, _now: Instant, done: &mut Done) {
        done.append(&mut self.0);
    }
    fn next_wakeup(&self) -> Option<Instant> {
        None
    }
    fn wait(&mut self, _span: Span) {}
}

impl BlockDevice for Immediate {
    fn geometry(&self, _target: u16) -> Geometry {
        Geometry { size: 1 << 40, block: 512 }
    }
    fn buffer(&mut self, _ticket: Ticket) -> &mut [u8] {
        &mut []
    }
}

const BLOCK: u32 = 4096;

/// Hit rates of reads in the cache device and in the simulated cache, counted after the log has come round.
fn rates(size: u64, operations: u64) -> [f64; 2] {
    let mut workload = oltp("oltp", 10, (ReadShares::Published, 1), None).unwrap();
    workload.caches.device = Some(CacheDevice::on("cache"));
    let adjust = Adjust { targets: 3, seed: 5, measure: Some(Span::from_secs(3600 * 24 * 30)), ..Adjust::default() };
    let plan = workload.plan(&adjust).unwrap();
    let geometry = |size| Geometry { size, block: 512 };
    let geometries = [geometry(900 << 20), geometry(900 << 20), geometry(200 << 20)];
    let ranges: Vec<Range> = plan
        .cached(&geometries)
        .unwrap()
        .into_iter()
        .map(|(target, start, end)| Range { target, start, end })
        .collect();
    assert_eq!(ranges.len(), 2, "the log is not cached");
    let shape = Shape::of(size, BLOCK, 512).unwrap();
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
    let mut simulated = Cache::new(Policy::Log, Writes::Allocate, shape.slots().into());
    let mut load = Load::new(&plan, None, &geometries, (Part { index: 0, of: 1 }, Instant::ZERO)).unwrap();
    let (mut reads, mut hits) = (0u64, 0u64);
    let mut before = counters.read();
    for n in 0..operations {
        if n == operations / 2 {
            (reads, hits, before) = (0, 0, counters.read());
        }
        let op = load.next_wanted().unwrap().op;
        if op.target < 2 {
            for at in (0..op.len).step_by(BLOCK as usize) {
                let block = Place::of(op.target, op.offset + u64::from(at), BLOCK);
                let hit = simulated.access(block.0, op.direction);
                reads += u64::from(op.direction == Direction::Read);
                hits += u64::from(op.direction == Direction::Read && hit);
            }
        }
        device.submit(Instant::ZERO, Ticket(0), &op);
        let mut done = Done::new();
        for _ in 0..40 {
            device.poll(Instant::ZERO, &mut done);
        }
        assert_eq!(done.len(), 1, "{op:?}");
    }
    let counted = counters.read().since(&before);
    assert_eq!(counted.reads, reads);
    assert!(counted.evictions > 0 || size > 512 << 20, "the log has come round: {counted:?}");
    [counted.read_hits as f64 / counted.reads as f64, hits as f64 / reads as f64]
}

#[test]
fn the_hit_rate_is_that_of_the_simulated_policy() {
    for size in [8 << 20, 64 << 20, 256 << 20, 768 << 20] {
        let [device, simulated] = rates(size, 600_000);
        assert!((device - simulated).abs() < 0.01, "{size} bytes: {device:.4} of the device, {simulated:.4} simulated");
    }
}
