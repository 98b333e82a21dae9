//! act-index: 4 KiB reads and writes of an index kept on flash ("All Flash"), including those of defragmentation.

use super::{Impossible, Pace, TOO_LARGE, first_broken, shared_rules, write_amplification};
use crate::plan::{Address, Block, Lane, Stream, Work};
use crate::size::Size;
use assay_base::{Bytes, Direction, Rate, Share};

/// Every operation of act-index has this size (ACT README, "Methodology for act_index").
const PAGE: Bytes = Bytes::from_kib(4);

/// The inputs of act-index. Rates are over all devices together, and the whole load is delivered on any number of
/// devices (ACT 6.6 delivers 1/n of the cache load on n devices).
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    /// Client reads per second.
    pub read_rate: Rate,
    /// Client writes per second.
    pub write_rate: Rate,
    /// Copies of each record in the cluster.
    pub replication_factor: u32,
    /// Blocks are defragmented when less than this share of them is used.
    pub defrag_below: Share,
    /// O_DSYNC.
    pub durable: bool,
    /// How operations are spread over time.
    pub pace: Pace,
}

impl Default for Index {
    fn default() -> Index {
        Index {
            read_rate: super::READ_RATE,
            write_rate: super::WRITE_RATE,
            replication_factor: 1,
            defrag_below: Share::from_percent(50),
            durable: true,
            pace: Pace::Poisson,
        }
    }
}

impl Index {
    /// The lane for the operations of ACT's cache threads, separate from those of its service threads.
    pub fn cache_lanes(in_flight: u32) -> Vec<Lane> {
        let streams = ["cache-reads", "writes"].map(str::to_owned).to_vec();
        vec![Lane { streams, in_flight_bound: in_flight }]
    }

    /// Lowers to streams: service reads (one for each read and each replicated write), cache reads and cache writes.
    /// The error says which input is impossible.
    pub fn lower_to_streams(&self) -> Result<Vec<Stream>, Impossible> {
        let idle = self.read_rate.is_zero() && self.write_rate.is_zero();
        first_broken(&shared_rules(self.replication_factor, self.defrag_below, idle))?;
        let (service, cache) = self.derive_rates().ok_or(TOO_LARGE)?;
        let mut streams = Vec::new();
        for (name, direction, rate, per_target) in [
            ("reads", Direction::Read, service, true),
            ("cache-reads", Direction::Read, cache, false),
            ("writes", Direction::Write, cache, true),
        ] {
            if !rate.is_zero() {
                streams.push(Stream { per_target, ..self.page_stream(name, direction, rate) });
            }
        }
        Ok(streams)
    }

    /// A stream of single pages whose rate is shared by all targets.
    fn page_stream(&self, name: &str, direction: Direction, rate: Rate) -> Stream {
        Stream {
            name: name.to_owned(),
            work: Work::Block(Block {
                direction,
                durable: self.durable && direction == Direction::Write,
                filled_with: None,
                size: Size::from_fixed(PAGE),
                address: Address::Uniform { align: PAGE },
                extent: None,
                places: None,
                compress_to: Share::WHOLE,
                duplicates: Share::default(),
            }),
            arrival: self.pace.arrival_at(rate),
            per_target: false,
            targets: Vec::new(),
            life: crate::Life::default(),
        }
    }

    fn derive_rates(&self) -> Option<(Rate, Rate)> {
        let copies = self.write_rate.scaled_by(u64::from(self.replication_factor), 1)?;
        let (numerator, denominator) = write_amplification(self.defrag_below);
        Some((self.read_rate.checked_plus(copies)?, copies.scaled_by(numerator, denominator)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_rates() {
        for (index, expected) in [
            (Index::default(), [3000.0, 2000.0]),
            (
                Index { replication_factor: 2, defrag_below: Share::from_percent(60), ..Index::default() },
                [4000.0, 5000.0],
            ),
            (Index { defrag_below: Share::default(), ..Index::default() }, [3000.0, 1000.0]),
        ] {
            let streams = index.lower_to_streams().unwrap();
            let rate = |i: usize| streams[i].arrival.mean_rate().unwrap().as_f64();
            assert_eq!([rate(0), rate(1)], expected);
            assert_eq!(rate(1), rate(2), "as many cache reads as writes");
        }
        assert_eq!(Index { write_rate: Rate::ZERO, ..Index::default() }.lower_to_streams().unwrap().len(), 1);
        assert!(Index { replication_factor: 0, ..Index::default() }.lower_to_streams().is_err());
    }
}
