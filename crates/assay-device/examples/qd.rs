//! Reads 4 KiB blocks at random with a fixed number in flight and prints what the engine achieves: operations per
//! second, user and system CPU per operation, and the service times. For comparing engines and devices by hand:
//!
//! ```text
//! qd ENGINE DEPTH SECONDS PATH        ENGINE: auto, io_uring, threads or null (PATH is then unused)
//! ```

use assay_base::{BlockDevice, Direction, Done, Geometry, Op, Prng, Span, Ticket};
use assay_device::clock::Clock;
use assay_device::facts::Slots;
use assay_device::null::Null;
use assay_device::safety::{Gate, Request};
use assay_device::select::{AnyDevice, start_engine};
use std::error::Error;
use std::io::Write;
use std::path::Path;

/// Bytes of each read.
const BLOCK: u32 = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, engine, depth, seconds, path] = args.as_slice() else {
        return Err("usage: qd ENGINE DEPTH SECONDS PATH".into());
    };
    let clock = Clock::start();
    let mut device = device(engine, depth.parse()?, Path::new(path), clock)?;
    let mut report = Report::default();
    let before = cpu();
    let span = Span::from_secs(seconds.parse()?);
    match &mut device {
        // One arm for each engine, so that the code is compiled for that engine.
        AnyDevice::Uring(uring) => report.run(&mut **uring, depth.parse()?, span, clock),
        AnyDevice::Threads(threads) => report.run(threads, depth.parse()?, span, clock),
        AnyDevice::Inline(inline) => report.run(inline, depth.parse()?, span, clock),
        AnyDevice::Null(null) => report.run(null, depth.parse()?, span, clock),
    }
    let after = cpu();
    report.print(&device, span, [0, 1].map(|i| after[i] - before[i]))
}

fn device(engine: &str, depth: u32, path: &Path, clock: Clock) -> Result<AnyDevice, Box<dyn Error>> {
    if engine == "null" {
        return Ok(AnyDevice::Null(Null::new(vec![Geometry { size: 1 << 40, block: BLOCK }])));
    }
    let pass = Gate::of_machine().admit_read(&Request::new(path)).map_err(|refusal| refusal.to_string())?;
    Ok(start_engine(
        engine.parse()?,
        vec![pass.engine_target()?],
        Slots { count: depth, spare: 0, bytes: BLOCK },
        clock,
    )?)
}

#[derive(Default)]
struct Report {
    completed: u64,
    failed: u64,
    service_ns: Vec<u32>,
}

impl Report {
    /// Keeps `depth` reads in flight for `span`, then drains.
    fn run(&mut self, device: &mut impl BlockDevice, depth: u32, span: Span, clock: Clock) {
        let blocks = device.target_geometry(0).size / u64::from(BLOCK);
        let mut prng = Prng::from_seed(1);
        let mut op = Op { target: 0, direction: Direction::Read, durable: false, offset: 0, len: BLOCK };
        let mut free: Vec<Ticket> = (0..depth).map(Ticket).collect();
        let mut done = Done::with_capacity(depth as usize);
        self.service_ns.reserve(1 << 22);
        let end = clock.now() + span;
        let mut now = clock.now();
        while now < end || free.len() < depth as usize {
            while now < end
                && let Some(ticket) = free.pop()
            {
                op.offset = prng.uniform_below(blocks) * u64::from(BLOCK);
                device.submit_request(now, ticket, &op);
            }
            device.poll_completions(now, &mut done);
            if done.is_empty() {
                device.wait_for_completion(Span::from_ms(100));
                device.poll_completions(now, &mut done);
            }
            now = clock.now();
            for completion in done.drain(..) {
                self.completed += 1;
                self.failed += u64::from(completion.result != Ok(BLOCK));
                if self.service_ns.len() < self.service_ns.capacity() {
                    self.service_ns.push(completion.completed.since(completion.issued).as_ns() as u32);
                }
                free.push(completion.ticket);
            }
        }
    }

    fn print(&mut self, device: &AnyDevice, span: Span, cpu_s: [f64; 2]) -> Result<(), Box<dyn Error>> {
        self.service_ns.sort_unstable();
        let at = |share: f64| f64::from(self.service_ns[((self.service_ns.len() - 1) as f64 * share) as usize]) / 1e3;
        let [user, system] = cpu_s.map(|s| s * 1e9 / self.completed as f64);
        let rate = self.completed as f64 / span.as_secs_f64();
        writeln!(
            std::io::stdout(),
            "{:8} {rate:9.0}/s failed {} user {user:.0} ns system {system:.0} ns  service p50 {:.1} p99 {:.1} p99.9 {:.1} us  {:?}",
            device.engine_facts().name,
            self.failed,
            at(0.5),
            at(0.99),
            at(0.999),
            device.engine_facts().notes,
        )?;
        Ok(())
    }
}

/// User and system CPU of this process in seconds.
fn cpu() -> [f64; 2] {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    // Fields 14 and 15 of the file, in hundredths of a second (proc_pid_stat(5)).
    [11, 12].map(|i| fields.get(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0) / 100.0)
}
