//! How long it takes to draw an address or an arrival: draws from each form for a while on one core and prints its name
//! and nanoseconds. `bench/draws` runs it.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a measurement reads a clock and prints")]

use assay_base::{Bytes, Geometry, Instant, Prng};
use assay_model::Address;
use assay_model::address::{Offsets, Space};
use assay_model::arrival::Part;
use assay_model::generator::Generator;
use assay_model::oltp::{ReadShares, Sequence};
use assay_model::workload::Adjust;
use std::time::Instant as Clock;

/// The addresses as in a plan.
const ADDRESSES: [(&str, &str); 11] = [
    ("uniform", r#"{"uniform": {"align": "4KiB"}}"#),
    ("zipf 0.8", r#"{"ranked": {"law": {"zipf": {"exponent": 0.8}}, "scatter": false}}"#),
    ("zipf 1.1", r#"{"ranked": {"law": {"zipf": {"exponent": 1.1}}, "scatter": false}}"#),
    ("zipf 1.1, scattered", r#"{"ranked": {"law": {"zipf": {"exponent": 1.1}}, "scatter": true}}"#),
    (
        "hotspot 80/20",
        r#"{"ranked": {"law": {"zones": {"zones": [["80%", "20%"], ["20%", "80%"]]}}, "scatter": false}}"#,
    ),
    ("working set", r#"{"working-set": {"size": "50GiB", "turnover": "10%/h", "inside": "uniform"}}"#),
    ("never seen", r#"{"never-seen": {"unit": "4KiB"}}"#),
    ("never seen, 40% again", r#"{"never-seen": {"unit": "4KiB", "reread": {"share": "40%", "of_last": "1GiB"}}}"#),
    ("once", r#"{"once": {"unit": "4KiB"}}"#),
    ("runs", r#"{"runs": {"length": {"mean": "1MiB"}}}"#),
    ("walk", r#"{"walk": {"reach": "1MiB"}}"#),
];

const ARRIVALS: [(&str, &str); 5] = [
    ("steady", "\"steady\""),
    ("poisson", "\"poisson\""),
    ("bursty", r#"{ bursty = { on = "2s", off = "8s", quiet = "10%" } }"#),
    ("profile", r#"{ profile = [["0h", "30%"], ["9h", "100%"]], every = "24h" }"#),
    ("profile, steady", r#"{ profile = [["0h", "30%"], ["9h", "100%"]], every = "24h", spacing = "steady" }"#),
];

/// Nanoseconds per draw; the smallest of several rounds, because other work on the machine only ever adds time.
fn nanoseconds(seconds: f64, mut draw: impl FnMut() -> u64) -> f64 {
    const ROUNDS: usize = 5;
    const BATCH: u32 = 10_000;
    let round = |draw: &mut dyn FnMut() -> u64| {
        let (begin, mut draws, mut sum) = (Clock::now(), 0u64, 0u64);
        while begin.elapsed().as_secs_f64() < seconds / ROUNDS as f64 {
            sum = sum.wrapping_add(draw());
            draws += u64::from(BATCH);
        }
        std::hint::black_box(sum);
        begin.elapsed().as_nanos() as f64 / draws as f64
    };
    let mut batch = || (0..BATCH).fold(0, |sum: u64, _| sum.wrapping_add(draw()));
    (0..ROUNDS).map(|_| round(&mut batch)).fold(f64::INFINITY, f64::min)
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1.0);
    // Not a power of two, so that an order must skip numbers.
    let length = 3 << 38;
    let space = Space {
        length,
        block: 4096,
        largest: 4096,
        common: 512,
        part: Part { index: 0, of: 1 },
        key: 1,
        zero: Instant::ZERO,
        before: assay_base::Span::ZERO,
        seen: Bytes::default(),
    };
    for (name, address) in ADDRESSES {
        let address: Address = serde_json::from_str(address).expect("an address of this file");
        let (mut offsets, mut prng, mut at) = (Offsets::new(&address, space), Prng::from_seed(1), 0);
        let spent = nanoseconds(seconds, || {
            at += 100;
            offsets.next(4096, Instant::from_ns(at), &mut prng)
        });
        println!("{name}\t{spent:.1}");
    }
    for (name, keys) in ARRIVALS {
        let file = format!(
            "model = \"streams\"\n[[stream]]\nname = \"s\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"100000/s\"\n\
             arrival = {keys}\n"
        );
        let workload = assay_model::workload::read_workload("draws", &file).expect("an arrival of this file");
        let plan = workload.make_plan(&Adjust { seed: 1, ..Adjust::default() }).expect("a plan");
        let geometry = Geometry { size: length, block: 4096 };
        let whole = Part { index: 0, of: 1 };
        let generator = Generator::new(&plan, 0, 0, geometry, whole, Instant::ZERO).expect("a stream on a target");
        let mut schedule = generator.schedule.expect("it has a rate");
        let spent = nanoseconds(seconds, || {
            schedule.advance_to_next();
            schedule.next_due().as_ns()
        });
        println!("{name}\t{spent:.1}");
    }
    // A hundred BSUs on three units of a terabyte together: an operation with its stream, direction, place and length.
    let asus = assay_model::oltp::trimmed_sizes([110 << 20, 110 << 20, 25 << 20], 1).expect("they fit together");
    let mut oltp = Sequence::new(asus, 100, 1, ReadShares::default(), Prng::from_seed(1));
    println!("oltp, an operation\t{:.1}", nanoseconds(seconds, || oltp.next_access().block));
}
