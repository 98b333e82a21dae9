//! The log of segments: which one is being filled, which one comes next, and what has to be read and written for that.

use crate::counters::{Counters, add_to_counter};
use crate::index::Index;
use crate::memory::Memory;
use crate::shape::Shape;
use assay_base::Instant;
use assay_base::cached::Place;
use std::collections::{HashMap, VecDeque};

/// The largest request that reads or writes a part of a segment, in bytes.
pub(crate) const PIECE: u32 = 64 << 10;

/// One request on a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Job {
    pub segment: u32,
    /// First byte within the segment.
    pub at: u32,
    pub len: u32,
    /// Whether the request is a write; otherwise it is a read.
    pub is_write: bool,
}

/// A segment that has free slots.
#[derive(Debug)]
struct Filling {
    segment: u32,
    /// The free slots of the segment; the last one is used next.
    free: Vec<u32>,
}

/// The reading or writing of a whole segment: how many of its requests are left, and when the first one began.
#[derive(Clone, Copy, Debug)]
struct Moving {
    left: u32,
    began: Option<Instant>,
}

/// The log of segments.
#[derive(Debug)]
pub(crate) struct Log {
    shape: Shape,
    pub(crate) index: Index,
    pub(crate) memory: Memory,
    /// Reads in flight from each segment on the device.
    pins: Vec<u32>,
    moving: HashMap<u32, Moving>,
    open: Option<Filling>,
    /// The segment that is filled after the open one. It is ready when the blocks that stay in it are in memory.
    next: Option<Filling>,
    /// Requests that were not started yet.
    jobs: VecDeque<Job>,
}

impl Log {
    /// A log over what `index` says is in the cache. If `carries` is false, the devices carry no data, and the log
    /// keeps none.
    pub(crate) fn new(index: Index, carries: bool, buffers: usize) -> Log {
        let shape = index.shape();
        let bytes = if carries { shape.segment_bytes() } else { 0 };
        Log {
            shape,
            index,
            memory: Memory::new(bytes, buffers),
            pins: vec![0; shape.segments as usize],
            moving: HashMap::new(),
            open: None,
            next: None,
            jobs: VecDeque::new(),
        }
    }

    /// A read from this segment on the device begins.
    pub(crate) fn pin_segment(&mut self, segment: u32) {
        self.pins[segment as usize] += 1;
    }

    /// A read from this segment on the device has ended.
    pub(crate) fn unpin_segment(&mut self, segment: u32) {
        self.pins[segment as usize] -= 1;
    }

    /// Puts a block into the cache, unless it is there already or there is no room.
    pub(crate) fn insert_block(&mut self, block: Place, data: &[u8], counters: &Counters) {
        if self.index.slot_of_block(block).is_some() {
            return;
        }
        let Some(slot) = self.free_slot(counters) else { return add_to_counter(&counters.refused, 1) };
        self.index.put_block(block, slot);
        add_to_counter(&counters.insertions, 1);
        let segment = self.shape.segment_of(slot);
        let from = (slot % self.shape.blocks * self.shape.block) as usize;
        let place = self.memory.segment_data(segment, from, self.shape.block as usize);
        if place.len() == data.len() {
            place.copy_from_slice(data);
        }
    }

    /// A free slot of the open segment.
    fn free_slot(&mut self, counters: &Counters) -> Option<u32> {
        if self.open.as_ref().is_none_or(|open| open.free.is_empty()) {
            self.seal_segment();
            self.prepare_segment(counters);
            self.open = Some(self.next.take_if(|next: &mut Filling| self.memory.holds_segment(next.segment))?);
        }
        let slot = self.open.as_mut()?.free.pop();
        // The next segment is prepared when a quarter of the open one is left: early enough that it is ready when it is
        // needed, and not earlier, because the blocks evicted from it could serve reads until then.
        if self.open.as_ref().is_some_and(|open| open.free.len() as u32 == self.shape.blocks / 4) {
            self.prepare_segment(counters);
        }
        slot
    }

    /// Closes the open segment and queues the requests that write it.
    pub(crate) fn seal_segment(&mut self) {
        if let Some(Filling { segment, .. }) = self.open.take() {
            self.move_segment(segment, true);
        }
    }

    /// Makes room in the segment that comes next, and queues the requests that read it if blocks stay in it.
    fn prepare_segment(&mut self, counters: &Counters) {
        if self.next.is_some() {
            return;
        }
        let Log { index, pins, moving, open, .. } = self;
        let open = open.as_ref().map(|open| open.segment);
        let Some(swept) = index.sweep_segment(|segment: u32| {
            pins[segment as usize] > 0 || moving.contains_key(&segment) || open == Some(segment)
        }) else {
            return;
        };
        add_to_counter(&counters.evictions, swept.evicted.into());
        add_to_counter(&counters.skipped, swept.skipped.into());
        add_to_counter(&counters.wraps, swept.wraps.into());
        let moving = &self.moving;
        // Without a buffer the segment cannot be filled now; the hand finds its free slots when it comes round again.
        let Some(in_memory) = self
            .memory
            .take_buffer(swept.segment, |segment: u32| !moving.contains_key(&segment) && open != Some(segment))
        else {
            return;
        };
        match swept.kept {
            _ if in_memory => {}
            0 => self.memory.is_complete(swept.segment),
            _ => self.move_segment(swept.segment, false),
        }
        self.next = Some(Filling { segment: swept.segment, free: swept.free });
    }

    fn move_segment(&mut self, segment: u32, is_write: bool) {
        let bytes = self.shape.segment_bytes();
        let pieces = bytes.div_ceil(PIECE);
        for at in (0..bytes).step_by(PIECE as usize) {
            self.jobs.push_back(Job { segment, at, len: PIECE.min(bytes - at), is_write });
        }
        self.moving.insert(segment, Moving { left: pieces, began: None });
    }

    /// The next request to start.
    pub(crate) fn next_job(&mut self, now: Instant) -> Option<Job> {
        let job = self.jobs.pop_front()?;
        if let Some(moving) = self.moving.get_mut(&job.segment) {
            moving.began.get_or_insert(now);
        }
        Some(job)
    }

    /// Whether requests wait to be started.
    pub(crate) fn has_jobs(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// A request has succeeded.
    pub(crate) fn job_done(&mut self, job: Job, now: Instant, counters: &Counters) {
        let Some(moving) = self.moving.get_mut(&job.segment) else { return };
        moving.left -= 1;
        if moving.left > 0 {
            return;
        }
        let took = moving.began.map_or(0, |began| now.since(began).as_ns());
        self.moving.remove(&job.segment);
        let (count, sum) = if job.is_write {
            (&counters.segment_writes, &counters.segment_write_ns)
        } else {
            (&counters.segment_reads, &counters.segment_read_ns)
        };
        add_to_counter(count, 1);
        add_to_counter(sum, took);
        if !job.is_write {
            self.memory.is_complete(job.segment);
        }
    }

    /// Whether no segment is open and none is being read or written.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.open.is_none() && self.moving.is_empty()
    }

    /// Forgets everything: the device of the cache has failed.
    pub(crate) fn forget_all(&mut self) {
        self.index.remove_all();
        self.memory.forget_all();
        self.moving.clear();
        (self.open, self.next) = (None, None);
        self.jobs.clear();
    }
}
