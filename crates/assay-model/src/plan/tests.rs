//! Plans read back, and streams keep to their targets and extents.

use super::*;
use crate::arrival::Part;
use crate::generator::Generator;
use crate::size::Size;
use crate::size::Sizes;
use crate::workload::{self, Adjust, Workload};
use assay_base::{Bytes, Geometry, Instant, Op, Rate};

const MIX: &str = r#"model = "streams"
warm_up = { until = "steady", limit = "10min", round = "1min" }
verify = true
[[stream]]
name = "reads"
direction = "read"
size = { from = "512B", to = "64KiB" }
rate = "2000/s"
in_flight_bound = 7
[[stream]]
name = "log"
direction = "write"
size = "8KiB"
address = "sequential"
in_flight = 1
pause = "3ms"
[[criterion]]
stream = "reads"
p99_at_most = "5ms"
"#;

fn mix() -> Workload {
    workload::read_workload("mix.toml", MIX).unwrap()
}

fn plan(targets: u16, change: impl FnOnce(&mut Workload)) -> Result<Plan, String> {
    let mut workload = mix();
    change(&mut workload);
    workload.make_plan(&Adjust { targets, seed: 3, ..Adjust::default() })
}

#[test]
fn a_plan_reads_back_from_what_it_is_written_as() {
    let kib = |n| Bytes::from_kib(n);
    let bar = |at: u64, weight| Sizes { from: kib(at), to: kib(2 * at), weight };
    let several = plan(3, |workload| {
        let Work::Block(block) = &mut workload.load.streams[0].work else { panic!("it reads") };
        block.size = Size::from_histogram(vec![bar(1, 3), bar(4, 2)]).unwrap();
        block.extent = Some(Extent::new(Amount::Bytes(kib(64)), Some(Amount::Bytes(kib(4096)))));
        workload.load.streams[1].targets = vec![0, 2];
        workload.load.streams.push(Stream {
            name: "orders".into(),
            work: Work::Other { operation: "new-order".into() },
            arrival: Arrival::Closed { in_flight: 8 },
            per_target: true,
            targets: Vec::new(),
            life: crate::Life::default(),
        });
    });
    let models = ["act-storage", "act-index"].map(|model| {
        let file = format!("model = \"{model}\"");
        workload::read_workload("t", &file).unwrap().make_plan(&Adjust { seed: 1, ..Adjust::default() }).unwrap()
    });
    let mut several = several.unwrap();
    several.load.streams[2].life = crate::Life::of_operations(Some(7));
    for plan in models.into_iter().chain([plan(1, |_| {}).unwrap(), several]) {
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan, "{text}");
    }
}

#[test]
fn what_is_no_plan_does_not_read_back() {
    let mut text = serde_json::to_value(plan(1, |_| {}).unwrap()).unwrap();
    text["streams"][0].as_object_mut().unwrap().remove("size");
    assert!(serde_json::from_value::<Plan>(text).is_err(), "it neither reads blocks nor says what it does");
}

#[test]
fn a_stream_on_some_targets_has_its_rate_there_and_nowhere_else() {
    let one = plan(3, |workload| workload.load.streams[0].targets = vec![1]).unwrap();
    assert_eq!(one.load.streams[0].arrival.mean_rate(), Some(Rate::per_second(2000)));
    let flows: Vec<_> = one.load.stream_targets().collect();
    assert_eq!(flows, [(0, 1), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]);
    let geometry = Geometry { size: 1 << 30, block: 512 };
    let whole = Part { index: 0, of: 1 };
    assert!(Generator::new(&one, 0, 0, geometry, whole, Instant::ZERO).is_none(), "it is not there");
    let due = |plan: &Plan, worker| {
        let mut schedule = Generator::new(plan, 0, 1, geometry, worker, Instant::ZERO).unwrap().schedule.unwrap();
        (0..2000).for_each(|_| schedule.advance_to_next());
        schedule.next_due().as_ns() as f64 * 1e-9
    };
    assert!((due(&one, whole) - 1.0).abs() < 0.1, "2000 in a second on one target");
    assert!((due(&one, Part { index: 1, of: 2 }) - 2.0).abs() < 0.2, "of two workers each has half");
    let told = plan(2, |workload| workload.load.streams[0].targets = vec![2]).unwrap_err();
    assert!(told.contains("reads names a target beyond the 2"), "{told}");
}

#[test]
fn an_extent_is_kept_to() {
    let plan = plan(1, |workload| {
        workload.verification.verify = false;
        for stream in &mut workload.load.streams {
            let Work::Block(block) = &mut stream.work else { panic!("blocks") };
            block.extent =
                Some(Extent::new(Amount::Bytes(Bytes::new(1_000_000)), Some(Amount::Bytes(Bytes::from_kib(99)))));
        }
    });
    let plan = plan.unwrap();
    let geometry = Geometry { size: 1 << 30, block: 4096 };
    let begin = 1_000_000u64.next_multiple_of(4096);
    for stream in 0..2 {
        let part = Part { index: 0, of: 1 };
        let mut generator = Generator::new(&plan, stream, 0, geometry, part, Instant::ZERO).unwrap();
        let ops: Vec<Op> = (0..5000).map(|_| generator.next_operation(Instant::ZERO)).collect();
        let ends = ops.iter().map(|op| op.offset + u64::from(op.len)).max().unwrap();
        assert_eq!(ops.iter().map(|op| op.offset).min(), Some(begin), "stream {stream}");
        assert_eq!(ends, begin + 24 * 4096, "stream {stream}");
        assert!(ops.iter().all(|op| op.offset % 4096 == 0));
    }
    assert_eq!(plan.smallest_target(0, 4096), begin + 24 * 4096);
}
