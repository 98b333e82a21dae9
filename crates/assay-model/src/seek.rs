//! SeekMark's model: threads that read or write at random places, each with one operation in flight.
//!
//! A thread is a closed loop of its own: it waits for its operation, pauses if a pause is configured, and begins the
//! next one. The number of threads that a device serves before they slow each other down is the number of places that
//! it can access at the same time. SeekMark was written to find this number (mlsorensen, SeekMark 0.9.2).

use crate::act::Impossible;
use crate::extent::{Amount, Extent};
use crate::life::Life;
use crate::mix::{Loop, Spread, Think};
use crate::plan::{Address, Arrival, Block, Lane, Stream, Work};
use crate::size::Size;
use assay_base::{Bytes, Direction, Share, Span};

/// SeekMark's default number of threads.
pub const THREADS: u32 = 1;
/// SeekMark's default number of operations of each thread.
pub const SEEKS: u64 = 5000;
/// SeekMark's default size of an operation.
pub const SIZE: Bytes = Bytes::new(512);
/// Upper bound on the threads: each is a stream of the workload.
pub const MOST_THREADS: u32 = crate::plan::MOST_STREAMS as u32;

/// The inputs. The defaults are SeekMark's, except that the number of operations is not limited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seek {
    /// The number of threads on each target.
    pub threads: u32,
    /// The size of an operation.
    pub size: Bytes,
    /// Operations begin at multiples of this; if it is zero, at multiples of the target's blocks.
    pub align: Bytes,
    /// The number of operations of each thread on each target; without a number the threads end with the run.
    pub seeks: Option<u64>,
    /// The pause of a thread before each operation.
    pub pause: Span,
    /// The part of each target that the threads use.
    pub range: Option<Extent>,
    /// What an operation does. Writes are on stable media when they complete.
    pub direction: Direction,
    /// The byte that written data consist of; without it written data are unique.
    pub filled_with: Option<u8>,
}

impl Default for Seek {
    fn default() -> Seek {
        Seek {
            threads: THREADS,
            size: SIZE,
            align: Bytes::new(0),
            seeks: None,
            pause: Span::ZERO,
            range: None,
            direction: Direction::Read,
            filled_with: None,
        }
    }
}

/// The largest operation.
const LARGEST: Bytes = Bytes::new(64 << 20);

impl Seek {
    /// The threads as streams: `thread-0`, `thread-1` …
    ///
    /// # Errors
    /// Which input is impossible.
    pub fn lower_to_streams(&self) -> Result<Vec<Stream>, Impossible> {
        if !(1..=MOST_THREADS).contains(&self.threads) {
            return impossible_value("threads", "not a number of threads: write 1 to 256");
        }
        if self.size.get() == 0 || self.size > LARGEST {
            return impossible_value("size", "not a size an operation can have: write 1B to 64MiB");
        }
        if self.align > LARGEST {
            return impossible_value("align", "not an alignment: write 1B to 64MiB");
        }
        if self.seeks == Some(0) {
            return impossible_value("seeks", "a thread without an operation does nothing: write 1 or more");
        }
        let length = self.range.and_then(|range| range.length);
        if matches!(length, Some(Amount::Bytes(length)) if length < self.size) {
            return impossible_value(
                "range",
                "an operation does not fit into this part of the target: write a larger one",
            );
        }
        Ok((0..self.threads).map(|thread| self.thread_stream(thread)).collect())
    }

    /// As many threads as it says, as copies of one loop: the loop, its stream, and the slots that they have.
    ///
    /// # Errors
    /// Which input is impossible.
    pub fn lower_to_loop(&self) -> Result<(Loop, Stream, Lane), Impossible> {
        self.lower_to_streams()?;
        let name = format!("{}-threads", self.threads);
        let think = (!self.pause.is_zero()).then_some(Think {
            time: self.pause,
            every: 1,
            spread: Spread::None,
            together: false,
        });
        let life = Life::of_operations(self.seeks);
        let (copies, lines) = (self.threads, Vec::new());
        let looped = Loop { name: name.clone(), in_flight: 1, copies, think, lines, turns: None, life };
        let arrival = Arrival::Looped { looped: name.clone(), share: Share::WHOLE, line: None };
        let stream = Stream { name: name.clone(), arrival, life: Life::default(), ..self.thread_stream(0) };
        let lane = Lane { streams: vec![name], in_flight_bound: looped.slot_count() };
        Ok((looped, stream, lane))
    }

    fn thread_stream(&self, thread: u32) -> Stream {
        Stream {
            name: format!("thread-{thread}"),
            work: Work::Block(Block {
                direction: self.direction,
                durable: self.direction == Direction::Write,
                filled_with: self.filled_with,
                size: Size::from_fixed(self.size),
                address: Address::Uniform { align: self.align },
                extent: self.range,
                places: None,
                compress_to: Share::WHOLE,
                duplicates: Share::default(),
            }),
            arrival: match self.pause {
                Span::ZERO => Arrival::Closed { in_flight: 1 },
                pause => Arrival::Paced { pause },
            },
            per_target: false,
            targets: Vec::new(),
            life: Life::of_operations(self.seeks),
        }
    }
}

/// The error for a value of a key that is not possible.
fn impossible_value<T>(key: &'static str, what: &'static str) -> Result<T, Impossible> {
    Err(Impossible { key, what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrival::Part;
    use crate::generator::Generator;
    use crate::workload::{Adjust, Workload};
    use assay_base::{Geometry, Instant};

    fn part(begin: u64, length: u64) -> Option<Extent> {
        let bytes = |n| Amount::Bytes(Bytes::new(n));
        Some(Extent::new(bytes(begin), Some(bytes(length))))
    }

    /// 1000 offsets of each thread on a target of `size` bytes in blocks of 512.
    fn offsets(seek: &Seek, size: u64) -> Vec<Vec<u64>> {
        let workload = Workload::new("t", "seek", seek.lower_to_streams().unwrap(), |_| Vec::new());
        let plan = workload.make_plan(&Adjust { seed: 7, ..Adjust::default() }).unwrap();
        let geometry = Geometry { size, block: 512 };
        let of = |stream| {
            let whole = Part { index: 0, of: 1 };
            let mut generator = Generator::new(&plan, stream, 0, geometry, whole, Instant::ZERO).unwrap();
            (0..1000).map(|_| generator.next_operation(Instant::ZERO).offset).collect()
        };
        (0..plan.load.streams.len() as u16).map(of).collect()
    }

    #[test]
    fn every_place_that_fits_is_as_likely_as_the_others() {
        // 63 degrees of freedom: 103.4 is the 0.1 % point.
        for (size, align, range) in [
            (64 * 4096, 4096, None),
            (1 << 40, 4096, None),
            // The last place is that where the operation just fits: 64 places of 512 B before 3584 B that follow them.
            (63 * 512 + 4096, 512, None),
            (1 << 40, 512, part(1 << 30, 63 * 512 + 4096)),
        ] {
            let seek = Seek { threads: 64, size: Bytes::new(4096), align: Bytes::new(align), range, ..Seek::default() };
            let (begin, length) = range.map_or((0, size), |range| range.range_within(size, 512));
            let places = (length - 4096) / align + 1;
            let (mut cells, mut aligned_to_64k) = ([0f64; 64], 0);
            for offset in offsets(&seek, size).concat() {
                assert!(offset >= begin && offset + 4096 <= begin + length && (offset - begin) % align == 0);
                cells[(u128::from((offset - begin) / align) * 64 / u128::from(places)) as usize] += 1.0;
                aligned_to_64k += u32::from((offset - begin) % 65_536 == 0);
            }
            let chi: f64 = cells.iter().map(|n| (n - 1000.0).powi(2) / 1000.0).sum();
            assert!(chi < 103.4, "{size} {align}: {chi}");
            // One in sixteen of 4 KiB places is a multiple of 64 KiB; a position of too few digits would be far more
            // often.
            let sixteenth = f64::from(aligned_to_64k) / 64_000.0;
            assert!(align != 4096 || (sixteenth - 0.0625).abs() < 0.005, "{sixteenth}");
        }
    }

    #[test]
    fn no_thread_goes_where_another_one_goes() {
        let threads = offsets(&Seek { threads: 3, ..Seek::default() }, 1 << 40);
        assert!(threads[0] != threads[1] && threads[1] != threads[2] && threads[0] != threads[2]);
    }

    #[test]
    fn what_cannot_be_is_named() {
        let broken = |seek: Seek| seek.lower_to_streams().unwrap_err().key;
        for threads in [0, MOST_THREADS + 1] {
            assert_eq!(broken(Seek { threads, ..Seek::default() }), "threads");
        }
        assert_eq!(broken(Seek { size: Bytes::new(0), ..Seek::default() }), "size");
        assert_eq!(broken(Seek { align: Bytes::new(65 << 20), ..Seek::default() }), "align");
        assert_eq!(broken(Seek { seeks: Some(0), ..Seek::default() }), "seeks");
        let range = part(0, 511);
        assert_eq!(broken(Seek { range, ..Seek::default() }), "range");
    }
}
