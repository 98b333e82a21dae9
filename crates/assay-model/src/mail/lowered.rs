//! The streams, criteria and derivation of a mail store on one target.

use super::facts::{
    ASSUMED, BLOCK_OF_SCAN, DISTANCE, LARGEST_LOG_WRITE, LOG_MEAN, LOG_READ, NOT_COMPARABLE, PAGE, READ_MEAN,
    READS_OF_TWO, SAMPLE, SAMPLE_MEAN, USUAL_DATABASE, USUAL_GROWTH, USUAL_LOG_WRITES, USUAL_READS, WRITES_OF_TWO,
};
use super::meant::{LogPlace, Mail, Maintenance, Test};
use crate::extent::{Amount, Extent, Frame};
use crate::life::Life;
use crate::plan::{Address, Arrival, Block, Stream, Work};
use crate::profile::Derivation;
use crate::size::{Size, Sizes};
use assay_base::{Bound, Bytes, Criterion, Direction, Measure, Rate, Share};

/// The names of the streams.
pub(super) const READS: &str = "db-reads";
pub(super) const LOG_WRITES: &str = "log-writes";
pub(super) const LOG_READS: &str = "log-reads";
pub(super) const MAINTENANCE: &str = "maintenance";

/// The room of a database to grow is its size divided by this.
const GROWS_BY_ONE_IN: u64 = 4;

/// The whole, in parts per billion.
const WHOLE: u64 = 1_000_000_000;

/// The sizes and places of the operations of a stream.
struct Places {
    size: Size,
    address: Address,
    extent: Extent,
}

impl Places {
    fn new(size: Size, address: Address, extent: Extent) -> Places {
        Places { size, address, extent }
    }
}

/// Sizes of one page, and of two pages for `two` of ten thousand operations.
fn page_sizes(two: u64) -> Size {
    let mut bars = Vec::new();
    for (pages, weight) in [(1, 10_000 - two), (2, two)] {
        let size = Bytes::new(pages * PAGE.get());
        bars.push(Sizes { from: size, to: size, weight });
    }
    Size::from_histogram(bars).unwrap_or(Size::from_fixed(PAGE))
}

impl Mail {
    /// The streams of one database at 1x, on the target that it shares with its log. `None` if a rate cannot be
    /// represented.
    pub(crate) fn database_streams(&self) -> Option<Vec<Stream>> {
        let rates = self.derive_rates()?;
        let database = self.database_extent();
        let writes = match self.flow.write_batch {
            0 | 1 => Arrival::Poisson { rate: rates.writes },
            batch => Arrival::Batches { rate: rates.writes, batch },
        };
        let uniform = Address::Uniform { align: PAGE };
        let reads = Arrival::Poisson { rate: rates.reads };
        let mut streams = vec![
            self.stream_at(
                READS,
                Direction::Read,
                reads,
                Places::new(page_sizes(READS_OF_TWO), uniform.clone(), database),
            ),
            self.stream_at(
                "db-writes",
                Direction::Write,
                writes,
                Places::new(page_sizes(WRITES_OF_TWO), uniform, database),
            ),
        ];
        if !rates.extends.is_zero() {
            let reserve = Places::new(Size::from_fixed(PAGE), Address::Sequential, self.reserve_extent());
            let extends = Arrival::Poisson { rate: rates.extends };
            streams.push(self.stream_at("db-extends", Direction::Write, extends, reserve));
        }
        let sizes = Size::from_geometric(self.flow.log_mean, LARGEST_LOG_WRITE);
        let log = Places::new(sizes, Address::Appended, self.log_extent());
        streams.push(self.stream_at(LOG_WRITES, Direction::Write, Arrival::Poisson { rate: rates.log }, log));
        if self.copies > 1 {
            let arrival = Arrival::Following {
                rate: rates.log_reads,
                stream: LOG_WRITES.to_owned(),
                distance: DISTANCE,
                copies: self.copies - 1,
            };
            let places = Places::new(Size::from_fixed(LOG_READ), Address::Sequential, self.log_extent());
            streams.push(self.stream_at(LOG_READS, Direction::Read, arrival, places));
        }
        let scan = match self.maintenance {
            Maintenance::Off => return Some(streams),
            Maintenance::Paced => Arrival::Paced { pause: Maintenance::REST },
            Maintenance::Rate(rate) => Arrival::Steady { rate },
        };
        let places = Places::new(Size::from_fixed(BLOCK_OF_SCAN), Address::Sequential, database);
        streams.push(self.stream_at(MAINTENANCE, Direction::Read, scan, places));
        Some(streams)
    }

    fn stream_at(&self, name: &str, direction: Direction, arrival: Arrival, places: Places) -> Stream {
        let Places { size, address, extent } = places;
        Stream {
            name: name.to_owned(),
            work: Work::Block(Block {
                direction,
                durable: self.storage.durable && direction == Direction::Write,
                filled_with: None,
                size,
                address,
                extent: Some(extent),
                places: None,
                compress_to: Share::WHOLE,
                duplicates: Share::default(),
            }),
            arrival,
            per_target: false,
            targets: Vec::new(),
            life: Life::default(),
        }
    }

    fn derive_rates(&self) -> Option<Rates> {
        let all = self.transactional_rate()?;
        let (reads, growth) = (self.flow.reads.as_ppb(), self.flow.growth.as_ppb());
        let written = WHOLE.checked_sub(reads)?;
        let extends = (u128::from(written) * u128::from(growth) / u128::from(WHOLE)) as u64;
        let log = all.scaled_by(self.flow.log_writes.as_ppb(), WHOLE)?;
        let shipped = self.flow.log_mean.get().checked_mul(u64::from(self.copies).saturating_sub(1))?;
        Some(Rates {
            reads: all.scaled_by(reads, WHOLE)?,
            writes: all.scaled_by(written.checked_sub(extends)?, WHOLE)?,
            extends: all.scaled_by(extends, WHOLE)?,
            log,
            log_reads: log.scaled_by(shipped, LOG_READ.get())?,
        })
    }

    /// The part of a target that a database and its room to grow divide between them.
    fn database_frame(&self) -> Frame {
        match self.storage.log {
            LogPlace::Same => Frame::ButLast(self.storage.log_size),
            LogPlace::Last => Frame::Whole,
        }
    }

    /// The space for a database and its room to grow on a target of this many bytes in blocks of `block`.
    pub fn database_space(&self, target: u64, block: u32) -> u64 {
        Extent::new(Amount::ZERO, None).with_frame(self.database_frame(), PAGE).range_within(target, block).1
    }

    fn database_extent(&self) -> Extent {
        Extent::new(Amount::ZERO, Some(self.storage.database_size)).with_frame(self.database_frame(), PAGE)
    }

    /// The room of a database to grow, which follows it: a quarter of its size.
    fn reserve_extent(&self) -> Extent {
        let room = match self.storage.database_size {
            // All that is left, with nothing lost to rounding.
            Amount::Share(share) if share == USUAL_DATABASE => None,
            Amount::Share(share) => Some(Amount::Share(Share::from_ppb(share.as_ppb() / GROWS_BY_ONE_IN))),
            Amount::Bytes(bytes) => Some(Amount::Bytes(Bytes::new(bytes.get() / GROWS_BY_ONE_IN))),
        };
        Extent::new(self.storage.database_size, room).with_frame(self.database_frame(), PAGE)
    }

    /// The part of a target for the log, at its end.
    fn log_extent(&self) -> Extent {
        Extent::new(Amount::ZERO, Some(Amount::Bytes(self.storage.log_size)))
            .with_frame(Frame::Last(self.storage.log_size), Bytes::new(0))
    }

    /// The part for the log of a database on a target that has only logs. Databases are counted from 0.
    pub(super) fn log_among_others(&self, database: u16) -> Extent {
        let begin = self.storage.log_size.get().saturating_mul(database.into());
        Extent::new(Amount::Bytes(Bytes::new(begin)), Some(Amount::Bytes(self.storage.log_size)))
    }

    /// The criteria that decide the verdict.
    pub(crate) fn standard_criteria(&self) -> Vec<Criterion> {
        let sample = SAMPLE_MEAN[usize::from(self.test == Test::Stress)];
        let mut criteria = Vec::new();
        for (stream, whole) in [(READS, READ_MEAN), (LOG_WRITES, LOG_MEAN)] {
            for (mean, window) in [(whole, None), (sample, Some(SAMPLE))] {
                criteria.push(Criterion {
                    stream: stream.to_owned(),
                    measure: Measure::Response,
                    bound: Bound::MeanAtMost(mean),
                    window,
                    least_operations: 0,
                    parts: assay_base::MarkedParts::EVERY,
                });
            }
        }
        criteria
    }

    /// What the reader of the results must know.
    pub(crate) fn reader_notes(&self) -> Vec<String> {
        vec![NOT_COMPARABLE.to_owned(), ASSUMED.to_owned()]
    }

    /// How the numbers were computed, and which sources they come from.
    pub(crate) fn derivation_steps(&self) -> Vec<Derivation> {
        let Some((rates, all)) = self.derive_rates().zip(self.transactional_rate()) else { return Vec::new() };
        let flow = &self.flow;
        let mut steps = vec![
            derived_rate(
                "transactional I/O",
                format!("{} mailboxes × {}", self.mailboxes, self.iops_per_mailbox),
                all,
                "the workload's own",
            ),
            derived_rate(READS, format!("{} of that", flow.reads), rates.reads, source_of(flow.reads, USUAL_READS)),
            derived_rate(
                "db-writes and db-extends",
                format!("the rest; {} of them extend the database", flow.growth),
                rates.writes.checked_plus(rates.extends).unwrap_or(rates.writes),
                source_of(flow.growth, USUAL_GROWTH),
            ),
            derived_rate(
                LOG_WRITES,
                format!("{} of transactional I/O, {} in the mean", flow.log_writes, flow.log_mean),
                rates.log,
                source_of(flow.log_writes, USUAL_LOG_WRITES),
            ),
        ];
        if self.copies > 1 {
            let formula = format!("{} × {} of log / {LOG_READ}", self.copies - 1, flow.log_mean);
            steps.push(derived_rate(LOG_READS, formula, rates.log_reads, "assumed"));
        }
        steps
    }
}

/// A rate, and where it comes from.
fn derived_rate(what: &str, formula: String, rate: Rate, source: &str) -> Derivation {
    Derivation::new(what, formula, format!("{:.3}/s", rate.as_f64()), source)
}

/// Where a share comes from: the report, if it is the one of the report.
fn source_of(own: Share, usual: Share) -> &'static str {
    if own == usual { "report of Jetstress 2010" } else { "the workload's own" }
}

/// Operations per second of one database at 1x.
struct Rates {
    reads: Rate,
    writes: Rate,
    extends: Rate,
    log: Rate,
    log_reads: Rate,
}
