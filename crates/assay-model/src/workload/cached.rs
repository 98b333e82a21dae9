//! `[cache]`: a simulated cache in front of each target, and which streams cannot be behind one; with `path`, a cache
//! on a device of its own.

use super::source::Source;
use crate::address::Address;
use crate::cache::{CacheDevice, Caching, EVICTIONS, LONGEST_EVICTION, Onward, Policy};
use crate::life::Life;
use crate::plan::{Arrival, Block, Stream, Work};
use crate::size::Size;
use assay_base::{Bytes, Direction, Fault, Rate, Share};
use serde::Deserialize;
use toml::Spanned;

/// The size of a block, unless the file says otherwise.
const BLOCK: Bytes = Bytes::from_kib(4);
/// The largest block in bytes. No operation is longer.
const LARGEST: u64 = 64 << 20;
/// The most operations that fill the cache before the run. This many take a minute.
const MOST_WARM: u64 = 1_000_000_000;

/// `[cache]`, as the workload file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CacheKeys {
    path: Option<String>,
    metadata: Option<String>,
    size: Option<Bytes>,
    block: Option<Bytes>,
    policy: Option<Policy>,
    writes: Option<Onward>,
    warm: Option<u64>,
}

/// What a `[cache]` asks for: a simulated cache, or one on a device.
pub(super) enum CacheKind {
    Simulated(Caching),
    Device(CacheDevice),
}

impl Caching {
    /// A simulated cache of this size, with defaults for everything else.
    pub fn with_size(size: Bytes) -> Caching {
        Caching { size, block: BLOCK, policy: Policy::default(), writes: Onward::default(), warm: 0 }
    }

    /// Whether the cache can be simulated; the error says what is wrong.
    pub fn is_possible(&self) -> Result<(), String> {
        let block = self.block.get();
        if !block.is_power_of_two() || !(512..=LARGEST).contains(&block) {
            return Err("the block of a cache is a power of two from 512B to 64MiB".to_owned());
        }
        if self.size.get() / block > u64::from(u32::MAX) - 1 {
            return Err("a cache has at most 4294967294 blocks: write a larger block".to_owned());
        }
        if self.warm > MOST_WARM {
            return Err(format!("at most {MOST_WARM} operations pass a cache before the run"));
        }
        Ok(())
    }
}

pub(super) fn read_cache(source: Source<'_>, keys: &Spanned<CacheKeys>) -> Result<CacheKind, Fault> {
    let kind = match &keys.get_ref().path {
        Some(path) => cache_device(path, keys.get_ref()).map(CacheKind::Device),
        None => simulated_cache(keys.get_ref()).map(CacheKind::Simulated),
    };
    kind.map_err(|(what, remedy)| source.fault_at(keys.span(), what, remedy))
}

fn simulated_cache(keys: &CacheKeys) -> Result<Caching, (String, &'static str)> {
    const REMEDY: &str = "write for example size = \"64GiB\" and block = \"4KiB\"";
    let CacheKeys { metadata, size, block, policy, writes, warm, .. } = keys;
    if metadata.is_some() {
        return Err(("metadata is kept of a cache that has a path".to_owned(), "write path, or remove metadata"));
    }
    let size = size.ok_or(("a simulated cache has a size".to_owned(), REMEDY))?;
    let caching = Caching {
        size,
        block: block.unwrap_or(BLOCK),
        policy: policy.unwrap_or_default(),
        writes: writes.unwrap_or_default(),
        warm: warm.unwrap_or(0),
    };
    caching.is_possible().map(|()| caching).map_err(|what| (what, REMEDY))
}

fn cache_device(path: &str, keys: &CacheKeys) -> Result<CacheDevice, (String, &'static str)> {
    let CacheKeys { metadata, size, block, policy, writes, warm, .. } = keys;
    if policy.is_some_and(|policy| !matches!(policy, Policy::Clock | Policy::Log)) {
        return Err((
            "on a cache device blocks make room by CLOCK: another order would need a write for each read".to_owned(),
            "write policy = \"clock\", or remove path for a simulated cache",
        ));
    }
    if writes.is_some_and(|writes| writes != Onward::Through) {
        return Err((
            "writes go through a cache device to their target: what is only in the cache would be lost with it"
                .to_owned(),
            "write writes = \"through\", or remove path for a simulated cache",
        ));
    }
    if warm.is_some() {
        return Err((
            "warm is about simulated caches; a cache device gets warm by what it carries".to_owned(),
            "remove warm, and give the workload a warm_up",
        ));
    }
    if path.is_empty() || metadata.as_ref().is_some_and(String::is_empty) {
        return Err(("an empty name names no file".to_owned(), "write for example path = \"/dev/nvme1n1\""));
    }
    let (path, metadata) = (path.to_owned(), metadata.clone());
    Ok(CacheDevice { path, size: *size, block: block.unwrap_or(BLOCK), metadata })
}

/// The streams of a load behind a cache: the load's own streams, and the one that writes evicted blocks.
pub(super) fn streams_behind_cache(
    caching: &Caching,
    mut streams: Vec<Stream>,
    verify: bool,
) -> Result<Vec<Stream>, String> {
    caching.is_possible()?;
    if verify {
        return Err(
            "behind a simulated cache nothing can be verified: there are no data in it; remove verify or the cache"
                .into(),
        );
    }
    for stream in &streams {
        let name = &stream.name;
        if stream.as_flush().is_some() {
            return Err(format!(
                "the stream {name} flushes, and a simulated cache does not say what it would write then: remove it, or run it without the \
                 cache"
            ));
        }
        if let Some(other) = stream.arrival.followed_stream() {
            return Err(format!(
                "the stream {name} follows {other}, and how far that has come behind a cache is not known: remove it (of a mail store: \
                 copies = 1), or run it without the cache"
            ));
        }
        if stream.arrival.mean_rate().is_none() {
            return Err(format!(
                "the stream {name} is a closed loop: how often it comes round behind a cache depends on how fast the cache is; \
                 give it a rate, or run it without the cache"
            ));
        }
        if !stream.life.is_whole() {
            return Err(format!(
                "the stream {name} begins or ends within the run, and the order behind a cache is that of all streams together: remove \
                 start, for, operations, bytes and after, or run it without the cache"
            ));
        }
        if *name == EVICTIONS || stream.as_block().is_none() {
            return Err(format!("the stream {name} cannot lie behind a cache: rename it, or run it without the cache"));
        }
    }
    let written: Vec<Rate> =
        streams.iter().filter(|stream| stream.writes_blocks()).filter_map(|it| it.arrival.mean_rate()).collect();
    if caching.writes == Onward::Back
        && let Some(rate) = written.iter().copied().reduce(|a, b| if a.as_f64() >= b.as_f64() { a } else { b })
    {
        streams.push(eviction_stream(caching, rate));
    }
    Ok(streams)
}

/// The stream that writes evicted blocks. How often it writes follows from the other streams. The rate only says that
/// the stream has a schedule.
fn eviction_stream(caching: &Caching, rate: Rate) -> Stream {
    let longest = Bytes::new(LONGEST_EVICTION.max(caching.block.get()));
    Stream {
        name: EVICTIONS.to_owned(),
        work: Work::Block(Block {
            direction: Direction::Write,
            durable: false,
            filled_with: None,
            size: Size::from_range(caching.block, longest),
            address: Address::Uniform { align: caching.block },
            extent: None,
            places: None,
            compress_to: Share::WHOLE,
            duplicates: Share::default(),
        }),
        arrival: Arrival::Poisson { rate },
        per_target: true,
        targets: Vec::new(),
        life: Life::default(),
    }
}
