//! act-storage: record reads, and the large-block writes and reads that the server's write buffers and its
//! defragmentation cause.

use super::{Impossible, Pace, Rates, TOO_LARGE, first_broken, shared_rules, write_amplification};
use crate::plan::{Address, Arrival, Block, Lane, Stream, Work};
use crate::size::Size;
use assay_base::{Bytes, Direction, Rate, Share, Span};

/// Records are stored in multiples of this (ACT README, `record-bytes`).
const STORED_UNIT: u64 = 16;
/// Largest record and large block, as in ACT 6.6.
const LARGEST: Bytes = Bytes::new(8 << 20);

/// The inputs of act-storage, with ACT's defaults in [`Storage::default`]. Rates are over all devices together.
#[derive(Clone, Debug, PartialEq)]
pub struct Storage {
    /// Client reads per second.
    pub read_rate: Rate,
    /// Client writes per second.
    pub write_rate: Rate,
    /// Record sizes.
    pub record: Size,
    /// Size of the server's write buffers; a power of two.
    pub large_block: Bytes,
    /// Copies of each record in the cluster, which multiply the writes.
    pub replication_factor: u32,
    /// Share of writes that read the old version first.
    pub update: Share,
    /// Blocks are defragmented when less than this share of them is used.
    pub defrag_below: Share,
    /// Whether defragmentation reads blocks from the device.
    pub defrag_reads: bool,
    /// Whether each record is also written separately.
    pub commit_to_device: bool,
    /// Smallest such write; zero means the device's block.
    pub commit_min: Bytes,
    /// Whether a sequential walk reads each device from start to end.
    pub tomb_raider: bool,
    /// Its pause between blocks.
    pub tomb_raider_pause: Span,
    /// What written data compresses to.
    pub compress_to: Share,
    /// O_DSYNC.
    pub durable: bool,
    /// How derived rates are computed.
    pub rates: Rates,
    /// How operations are spread over time.
    pub pace: Pace,
}

impl Default for Storage {
    fn default() -> Storage {
        Storage {
            read_rate: super::READ_RATE,
            write_rate: super::WRITE_RATE,
            record: Size::from_fixed(Bytes::new(1536)),
            large_block: Bytes::from_kib(128),
            replication_factor: 1,
            update: Share::default(),
            defrag_below: Share::from_percent(50),
            defrag_reads: true,
            commit_to_device: false,
            commit_min: Bytes::new(0),
            tomb_raider: false,
            tomb_raider_pause: Span::from_ms(1),
            compress_to: Share::WHOLE,
            durable: true,
            rates: Rates::Exact,
            pace: Pace::Poisson,
        }
    }
}

/// Streams that have a thread of their own for each device in ACT, so that none of them waits for another.
const APART: [&str; 3] = ["large-block-reads", "large-block-writes", "tomb-raider-reads"];

/// Default number of slots for each of them. At 100x and 10 ms per block, 24 are in flight.
pub const LARGE_IN_FLIGHT: u32 = 32;

/// A number of bytes, rounded up to a multiple of `unit`.
fn rounded_up(bytes: Bytes, unit: u64) -> Bytes {
    Bytes::new(bytes.get().next_multiple_of(unit))
}

impl Storage {
    /// A lane with `in_flight` slots for each of the streams of large blocks.
    pub fn large_block_lanes(in_flight: u32) -> Vec<Lane> {
        // The tomb raider is a single walk over each device.
        APART.iter().map(|name| Lane::for_stream(name, if name.starts_with("tomb") { 1 } else { in_flight })).collect()
    }

    /// Lowers to streams; the error says which input is impossible and what it may be.
    pub fn lower_to_streams(&self) -> Result<Vec<Stream>, Impossible> {
        self.check_inputs()?;
        let derived = self.derive_load().ok_or(TOO_LARGE)?;
        let (read, write) = (Direction::Read, Direction::Write);
        let (large, large_block) = (Size::from_fixed(self.large_block), self.large_block);
        let mut streams = Vec::new();
        for (name, direction, size, align, rate, per_target) in [
            ("reads", read, self.stored_size(), Bytes::default(), derived.reads, true),
            ("large-block-reads", read, large.clone(), large_block, derived.large_reads, false),
            ("large-block-writes", write, large.clone(), large_block, derived.large_writes, false),
            ("writes", write, self.committed_size(), self.commit_min, derived.writes, true),
        ] {
            if !rate.is_zero() {
                let stream =
                    self.shared_stream(name, direction, size, Address::Uniform { align }, self.pace.arrival_at(rate));
                streams.push(Stream { per_target, ..stream });
            }
        }
        if self.tomb_raider {
            let arrival = Arrival::Paced { pause: self.tomb_raider_pause };
            streams.push(self.shared_stream("tomb-raider-reads", read, large, Address::Sequential, arrival));
        }
        Ok(streams)
    }

    /// A stream whose rate is shared by all targets.
    fn shared_stream(
        &self,
        name: &str,
        direction: Direction,
        size: Size,
        address: Address,
        arrival: Arrival,
    ) -> Stream {
        Stream {
            name: name.to_owned(),
            work: Work::Block(Block {
                direction,
                durable: self.durable && direction == Direction::Write,
                filled_with: None,
                size,
                address,
                extent: None,
                places: None,
                compress_to: self.compress_to,
                duplicates: Share::default(),
            }),
            arrival,
            per_target: false,
            targets: Vec::new(),
            life: crate::Life::default(),
        }
    }

    /// Record sizes as stored: whole multiples of 16 bytes.
    pub fn stored_size(&self) -> Size {
        Size::from_range(rounded_up(self.record.from, STORED_UNIT), rounded_up(self.record.to, STORED_UNIT))
    }

    /// Sizes of committed writes: stored records, rounded up to whole multiples of the smallest write.
    fn committed_size(&self) -> Size {
        let unit = self.commit_min.get().max(1);
        let Size { from, to, .. } = self.stored_size();
        Size::from_range(rounded_up(from, unit), rounded_up(to, unit))
    }

    fn check_inputs(&self) -> Result<(), Impossible> {
        let Size { from, to, .. } = self.record;
        let large = self.large_block;
        first_broken(&[
            (from.get() == 0 || from > LARGEST, "record", "the record size must be from 1B to 8MiB"),
            (
                !large.get().is_power_of_two() || large > LARGEST || large.get() < 512,
                "large_block",
                "the large block must be a power of two from 512B to 8MiB",
            ),
            (
                to < from || to > large,
                "record",
                "the largest record must be at least the smallest and fit a large block",
            ),
            (self.update > Share::WHOLE, "update", "the update share must be at most 100%"),
            (self.compress_to > Share::WHOLE, "compress_to", "data can compress to at most 100%"),
            (
                self.commit_min.get() > 0 && !self.commit_min.get().is_power_of_two(),
                "commit_min",
                "the smallest committed write must be a power of two",
            ),
            (self.commit_min > large, "commit_min", "the smallest committed write must fit a large block"),
            (
                self.commit_to_device && !self.durable,
                "durable",
                "commit_to_device needs durable writes: remove durable = false",
            ),
        ])?;
        let idle = self.read_rate.is_zero() && self.write_rate.is_zero() && !self.tomb_raider;
        first_broken(&shared_rules(self.replication_factor, self.defrag_below, idle))
    }

    fn derive_load(&self) -> Option<Derived> {
        let (operations, seconds) = self.write_rate.as_ratio();
        let copies = self.write_rate.scaled_by(u64::from(self.replication_factor), 1)?;
        let stored = self.stored_size();
        let mean_twice = stored.from.get() + stored.to.get();
        let blocks = match self.rates {
            Rates::Exact => copies.scaled_by(mean_twice, 2 * self.large_block.get())?,
            // ACT 6.6: whole records per block.
            Rates::Act => copies.scaled_by(1, self.large_block.get() / (mean_twice / 2))?,
        };
        let updates = match self.rates {
            Rates::Exact => self.write_rate.scaled_by(self.update.as_ppb(), 1_000_000_000)?,
            Rates::Act => {
                let whole =
                    u128::from(operations) * u128::from(self.update.as_ppb()) / (u128::from(seconds) * 1_000_000_000);
                Rate::per_second(u64::try_from(whole).ok()?)
            }
        };
        let (numerator, denominator) = write_amplification(self.defrag_below);
        let amplified = blocks.scaled_by(numerator, denominator)?;
        let moved = blocks.scaled_by(numerator - denominator, denominator)?;
        Some(Derived {
            reads: self.read_rate.checked_plus(updates)?,
            large_reads: if self.defrag_reads { amplified } else { Rate::ZERO },
            large_writes: if self.commit_to_device { moved } else { amplified },
            writes: if self.commit_to_device { copies } else { Rate::ZERO },
        })
    }
}

/// Rates over all devices together.
struct Derived {
    reads: Rate,
    large_reads: Rate,
    large_writes: Rate,
    writes: Rate,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(storage: &Storage) -> Vec<(String, String)> {
        let rate =
            |stream: &Stream| stream.arrival.mean_rate().map_or("paced".into(), |rate| format!("{:.3}", rate.as_f64()));
        storage.lower_to_streams().unwrap().iter().map(|stream| (stream.name.clone(), rate(stream))).collect()
    }

    #[test]
    fn derived_rates() {
        let base = Storage::default;
        let percent = Share::from_percent;
        let record = |n| Size::from_fixed(Bytes::new(n));
        let commit = Storage { commit_to_device: true, ..base() };
        // Expected: reads, large-block-reads, large-block-writes, writes.
        let table: [(&str, Storage, [&str; 4]); 12] = [
            ("default", base(), ["2000.000", "23.438", "23.438", ""]),
            ("default as ACT", Storage { rates: Rates::Act, ..base() }, ["2000.000", "23.529", "23.529", ""]),
            ("README's example", Storage { record: record(1500), ..base() }, ["2000.000", "22.949", "22.949", ""]),
            (
                "README's, as ACT",
                Storage { record: record(1500), rates: Rates::Act, ..base() },
                ["2000.000", "22.989", "22.989", ""],
            ),
            ("replicated", Storage { replication_factor: 2, ..base() }, ["2000.000", "46.875", "46.875", ""]),
            ("updates", Storage { update: percent(50), ..base() }, ["2500.000", "23.438", "23.438", ""]),
            ("lwm 60", Storage { defrag_below: percent(60), ..base() }, ["2000.000", "29.297", "29.297", ""]),
            ("no defrag reads", Storage { defrag_reads: false, ..base() }, ["2000.000", "", "23.438", ""]),
            ("commit", commit.clone(), ["2000.000", "23.438", "11.719", "1000.000"]),
            ("commit, RF 2", Storage { replication_factor: 2, ..commit }, ["2000.000", "46.875", "23.438", "2000.000"]),
            ("read-only", Storage { write_rate: Rate::ZERO, ..base() }, ["2000.000", "", "", ""]),
            ("write-only", Storage { read_rate: Rate::ZERO, ..base() }, ["", "23.438", "23.438", ""]),
        ];
        for (case, storage, expected) in table {
            let names = ["reads", "large-block-reads", "large-block-writes", "writes"];
            let expected: Vec<(String, String)> = names
                .iter()
                .zip(expected)
                .filter(|(_, rate)| !rate.is_empty())
                .map(|(name, rate)| ((*name).to_owned(), rate.to_owned()))
                .collect();
            assert_eq!(rates(&storage), expected, "{case}");
        }
    }

    #[test]
    fn ranges_use_the_mean_of_stored_sizes() {
        let storage = Storage { record: Size::from_range(Bytes::new(700), Bytes::new(8100)), ..Storage::default() };
        // Stored 704 … 8112, mean 4408: 1000 × 4408 / 131072 × 2.
        assert_eq!(rates(&storage)[1].1, "67.261");
        assert_eq!(storage.stored_size(), Size::from_range(Bytes::new(704), Bytes::new(8112)));
    }

    #[test]
    fn impossible_inputs_say_which() {
        let base = Storage::default;
        for (storage, why) in [
            (Storage { record: Size::from_fixed(Bytes::new(0)), ..base() }, "record size"),
            (Storage { record: Size::from_fixed(Bytes::new(200_000)), ..base() }, "large block"),
            (Storage { large_block: Bytes::new(0), ..base() }, "power of two"),
            (Storage { large_block: Bytes::new(131_073), ..base() }, "power of two"),
            (Storage { replication_factor: 0, ..base() }, "replication"),
            (Storage { defrag_below: Share::WHOLE, ..base() }, "defragmentation"),
            (Storage { compress_to: Share::from_percent(101), ..base() }, "compress"),
            (Storage { commit_to_device: true, durable: false, ..base() }, "durable"),
            (Storage { read_rate: Rate::ZERO, write_rate: Rate::ZERO, ..base() }, "both be zero"),
        ] {
            assert!(storage.lower_to_streams().unwrap_err().what.contains(why), "{why}");
        }
    }
}
