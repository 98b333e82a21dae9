//! The cache device of a run: a run takes over the contents of the cache from an earlier run, and leaves them to the
//! next.
//!
//! Between two runs a file says what is in the cache. From the moment when a run takes the cache over until that run
//! has ended without an error, the file says only that the cache is in use, so that after a crash at any moment the
//! cache begins empty. It also begins empty if anything was written to it or to its targets since the last run.

mod kept;

use crate::failure::{Failure, escaped_path, one_line};
use crate::files;
use crate::open::targets::{RealTarget, Targets};
use assay_base::{BlockDevice, Bytes, Code, Geometry, Instant, Span};
use assay_cache::{Cached, Counted, Counters, Index, Range, Setup, Shape};
use assay_model::Plan;
use assay_model::cache::CacheDevice;
use assay_record::{CacheCounters, CacheHead, Event, EventKind, Moved, OnwardReads};
use kept::{KeptCache, Trace};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The number of segments that are kept in memory: 16 MiB.
const BUFFERS: usize = 32;
/// The time for which the end of a run waits for the device of the cache.
const LIMIT: Span = Span::from_secs(30);

/// The cache device of a run.
#[derive(Debug)]
pub(crate) struct Lookaside {
    /// The index of the cache device among the targets.
    target: u16,
    ranges: Vec<Range>,
    /// The content of the cache, before and after the run.
    index: Mutex<Option<Index>>,
    counters: Arc<Counters>,
    head: CacheHead,
    metadata: Option<PathBuf>,
}

/// The number of targets that a plan needs: its own, and its cache device if it has one.
pub fn with_cache(plan: &Plan) -> usize {
    usize::from(plan.load.targets) + usize::from(plan.caches.device.is_some())
}

/// The file that says what is in a cache between two runs.
fn metadata_path(device: &CacheDevice) -> PathBuf {
    if let Some(metadata) = &device.metadata {
        return PathBuf::from(metadata);
    }
    let name = Path::new(&device.path).file_name().unwrap_or_default();
    PathBuf::from(format!("{}.index", name.to_string_lossy()))
}

/// The cache of a plan, if it has one. The cache's device is the target after those of the plan.
pub(crate) fn open_lookaside(plan: &Plan, targets: &Targets) -> Result<Option<Lookaside>, Failure> {
    let Some(device) = &plan.caches.device else { return Ok(None) };
    let at = usize::from(plan.load.targets);
    if targets.target_count() <= at {
        return Err(Failure::bad_usage(format!(
            "the workload {} has a cache device, which run, limit and curve carry; use one of them, or remove [cache]",
            one_line(&plan.name)
        )));
    }
    let geometries: Vec<Geometry> = (0..at).map(|index| targets.target_geometry(index)).collect();
    let shape = cache_shape(device, targets.target_geometry(at))?;
    let ranges = plan.load.cacheable_ranges(&geometries).map_err(Failure::bad_usage)?;
    let heads = targets.target_heads(at + 1);
    let path = (!targets.real_targets().is_empty()).then(|| metadata_path(device));
    let (index, emptied) = match &path {
        None => (None, None),
        Some(path) => {
            let is = KeptCache {
                heads: heads.clone(),
                ranges: ranges.clone(),
                traces: write_traces(targets, at),
                index: Index::new(shape),
            };
            let found = take_over(path, is)?;
            files::replace_file(path, kept::IN_USE).map_err(|e| {
                Failure::host_unable(format!("the cache's metadata {} cannot be written: {e}", escaped_path(path)))
            })?;
            found
        }
    };
    let loaded = index.is_some();
    let index = index.unwrap_or_else(|| Index::new(shape));
    let head = CacheHead {
        device: heads[at].clone(),
        size_bytes: shape.occupied_bytes(),
        block_bytes: shape.block.into(),
        segment_bytes: u64::from(shape.block) * u64::from(shape.blocks),
        loaded,
        blocks: index.len() as u64,
        metadata: path.as_ref().map(|path| path.to_string_lossy().into_owned()),
        emptied,
    };
    let counters = Arc::new(Counters::new(plan.load.targets));
    let index = Mutex::new(Some(index));
    Ok(Some(Lookaside { target: plan.load.targets, ranges, index, counters, head, metadata: path }))
}

fn cache_shape(device: &CacheDevice, Geometry { size, block }: Geometry) -> Result<Shape, Failure> {
    let asked = device.size.map_or(size, Bytes::get);
    if asked > size {
        return Err(Failure::bad_usage(format!(
            "a cache of {} was asked for, and {} has {}",
            Bytes::new(asked).human_text(),
            one_line(&device.path),
            Bytes::new(size).human_text()
        )));
    }
    let own = u32::try_from(device.block.get()).unwrap_or(u32::MAX);
    Shape::new(asked, own, block)
        .map_err(|what| Failure::bad_usage(format!("the cache {}: {what}", one_line(&device.path))))
}

/// The traces that show whether somebody wrote to the targets or to the device of the cache.
fn write_traces(targets: &Targets, at: usize) -> Vec<Option<Trace>> {
    targets.real_targets().iter().take(at + 1).map(Trace::from_target).collect()
}

/// The index that an earlier run kept, if it is certainly still true; otherwise the reason why the cache begins empty.
/// Both are `None` if there is no file.
fn take_over(path: &Path, is: KeptCache) -> Result<(Option<Index>, Option<String>), Failure> {
    let Some(found) = kept::read_kept_cache(path, is.index.shape()).map_err(|what| unusable_metadata(path, &what))?
    else {
        return Ok((None, None));
    };
    let Some(kept) = found else {
        return Ok((None, Some("the run before did not end well".to_owned())));
    };
    let other = kept.heads.iter().zip(&is.heads).find_map(|(was, is)| is.differs_from(was));
    if let Some(what) = other {
        return Err(unusable_metadata(path, &format!("it belongs to another cache or to other storage: {what}")));
    }
    if kept.heads.len() != is.heads.len() || kept.ranges != is.ranges {
        return Err(unusable_metadata(path, "it belongs to a cache of other targets, or of another part of them"));
    }
    let written = kept.traces.iter().zip(&is.traces).position(|(was, is)| was.is_none() || was != is);
    match written {
        None => Ok((Some(kept.index), None)),
        Some(at) => Ok((
            None,
            Some(format!("it cannot be shown that nothing was written to {} since the run before", is.heads[at].name)),
        )),
    }
}

impl Lookaside {
    /// The description of the cache in the header of the run log.
    pub(crate) fn cache_head(&self) -> CacheHead {
        self.head.clone()
    }

    /// Slots that the cache needs in addition to those of the load, and the smallest size in bytes of each slot's
    /// buffer.
    pub(crate) const NEEDS: (u32, u32) = (Cached::<()>::SLOTS, Cached::<()>::BYTES);

    /// The cache in front of the targets of `inner`, with `slots` slots for the load. `clock` tells the time after a
    /// piece of work, given the time before it.
    pub(crate) fn cached_device<D: BlockDevice>(
        &self,
        inner: D,
        slots: u32,
        clock: impl Fn(Instant) -> Instant + 'static,
    ) -> Cached<D> {
        let index = self.index.lock().unwrap_or_else(PoisonError::into_inner).take();
        let index = index.expect("one worker carries a load with a cache");
        let setup = Setup {
            index,
            target: self.target,
            ranges: &self.ranges,
            slots,
            buffers: BUFFERS,
            counters: self.counters.clone(),
            clock: Box::new(clock),
        };
        Cached::new(inner, setup)
    }

    /// Ends the use of the device: everything in the cache is written to it.
    pub(crate) fn write_back<D: BlockDevice>(&self, device: &mut Cached<D>, now: impl Fn() -> Instant) {
        let index = device.finish(now, LIMIT);
        *self.index.lock().unwrap_or_else(PoisonError::into_inner) = index;
    }

    /// The event for the log when the cache's device has failed.
    pub(crate) fn failure_event(&self, now: Instant, code: Code) -> Event {
        let name = one_line(&self.head.device.name);
        let text = format!("the cache {name} failed with {code} and was not used any more");
        Event { at_ns: now.as_ns(), what: EventKind::Warning, text, details: BTreeMap::new() }
    }

    /// Everything that the cache has counted since the beginning of the run.
    pub(crate) fn counted_so_far(&self) -> (Counted, Vec<assay_cache::Onward>) {
        (self.counters.read(), self.counters.onward_reads())
    }

    /// Keeps what is in the cache for the next run.
    pub(crate) fn keep_for_next_run(self, targets: &Targets, tell: impl Fn(&str)) {
        let Some(path) = self.metadata else { return };
        let index = self.index.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Some(index) = index else {
            return tell(&format!(
                "warning: what is in the cache {} is not known for certain; the next run begins with an empty one",
                one_line(&self.head.device.name)
            ));
        };
        let at = usize::from(self.target);
        let synced = targets.real_targets().iter().take(at + 1).try_for_each(RealTarget::sync_cache);
        let kept = KeptCache {
            heads: targets.target_heads(at + 1),
            ranges: self.ranges,
            traces: write_traces(targets, at),
            index,
        };
        let written = synced.and_then(|()| files::replace_file(&path, &kept.to_bytes()?));
        if let Err(e) = written {
            tell(&format!(
                "warning: the cache's metadata {} cannot be written: {e}; the next run begins with an empty cache",
                escaped_path(&path)
            ));
        }
    }
}

/// The counts of a cache between two readings, for the log.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    before: (Counted, Vec<assay_cache::Onward>),
}

impl Meter {
    /// The counts since the last call.
    pub(crate) fn sample_counters(&mut self, cache: &Lookaside) -> CacheCounters {
        let now = cache.counted_so_far();
        let (before, onward_before) = std::mem::replace(&mut self.before, now.clone());
        let since = now.0.since(&before);
        let onward = now.1.iter().enumerate().map(|(target, now)| {
            let before = onward_before.get(target).copied().unwrap_or_default();
            OnwardReads {
                reads: now.operations.saturating_sub(before.operations),
                bytes: now.bytes.saturating_sub(before.bytes),
            }
        });
        CacheCounters {
            reads: since.reads,
            read_hits: since.read_hits,
            ram_hits: since.ram_hits,
            bypassed: since.bypassed,
            invalidations: since.invalidations,
            invalidate_hits: since.invalidate_hits,
            insertions: since.insertions,
            refused: since.refused,
            evictions: since.evictions,
            wraps: since.wraps,
            skipped: since.skipped,
            errors: since.errors,
            device_reads: Moved { count: since.device_reads, sum_ns: since.device_read_ns },
            segment_reads: Moved { count: since.segment_reads, sum_ns: since.segment_read_ns },
            segment_writes: Moved { count: since.segment_writes, sum_ns: since.segment_write_ns },
            onward: onward.collect(),
        }
    }
}

/// Tells the user why the cache begins empty, if an earlier run left something in it.
pub(crate) fn announce_empty_start(cache: &Lookaside, tell: impl Fn(&str)) {
    if let Some(why) = &cache.head.emptied {
        tell(&format!("the cache {} begins empty: {why}", one_line(&cache.head.device.name)));
    }
}

fn unusable_metadata(path: &Path, what: &str) -> Failure {
    Failure::bad_usage(format!(
        "the cache's metadata {}: {what}\n  = remove the file to begin with an empty cache, or name another one with --cache-metadata",
        escaped_path(path)
    ))
}
