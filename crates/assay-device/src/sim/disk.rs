//! A rotating disk: one head, requests in the order of their arrival, no elevator and no write cache.
//!
//! A request that begins where the last one ended only takes its transfer time: `length / bandwidth`. Any other is
//! sought first:
//!
//! ```text
//! settle + stroke × √(distance / size)  +  rotation × U  +  length / bandwidth        U uniform in (0, 1]
//! ```
//!
//! `rotation` is 60 s / rpm; the square root is the seek of an arm that accelerates half of the way and brakes the
//! other half (C. Ruemmler and J. Wilkes, "An introduction to disk drive modeling", IEEE Computer 27, 1994). For
//! uniformly drawn addresses the mean of √distance is 8/15, so one random read of 512 B takes `settle + 8/15 × stroke +
//! rotation / 2`: with the defaults (1.3 ms, 15 ms, 7200 rpm) 13.47 ms or 74.2 reads per second, whatever the number in
//! flight. SeekMark's author published about the same for his 7200 rpm SATA disk: 74.27 seeks/s with one thread, 73.26
//! with two.

use assay_base::{Bytes, Op, Prng, Span};

/// The parameters of a disk; see the head of this file.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Parameters {
    pub settle: Span,
    pub stroke: Span,
    pub rpm: u64,
    pub bandwidth: Bytes,
}

impl Parameters {
    /// The disk of `sim:disk`.
    pub(super) fn sata_disk() -> Parameters {
        Parameters {
            settle: Span::from_us(1300),
            stroke: Span::from_ms(15),
            rpm: 7200,
            bandwidth: Bytes::new(150_000_000),
        }
    }

    /// The mean time of one operation at a random address, in seconds.
    pub(super) fn mean_cost(&self, len: u32) -> f64 {
        let seek = self.settle.as_secs_f64() + self.stroke.as_secs_f64() * (8.0 / 15.0);
        seek + 30.0 / self.rpm as f64 + f64::from(len) / self.bandwidth.get() as f64
    }
}

/// A simulated disk. Times are nanoseconds of the disk's own time line.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    prng: Prng,
    settle: f64,
    stroke: f64,
    rotation: f64,
    ns_per_byte: f64,
    size: f64,
    /// The byte after the last one transferred, and when the head is free.
    head: u64,
    free: u64,
}

impl Disk {
    pub(super) fn new(parameters: &Parameters, size: Bytes, prng: Prng) -> Disk {
        Disk {
            prng,
            settle: parameters.settle.as_ns() as f64,
            stroke: parameters.stroke.as_ns() as f64,
            rotation: 60e9 / parameters.rpm as f64,
            ns_per_byte: 1e9 / parameters.bandwidth.get() as f64,
            size: size.get() as f64,
            head: 0,
            free: 0,
        }
    }

    /// The place of its head.
    pub(super) fn head_position(&self) -> u64 {
        self.head
    }

    /// The time at which an operation that arrives at `at` completes.
    #[inline]
    pub(super) fn serve_operation(&mut self, at: u64, op: &Op) -> u64 {
        let distance = op.offset.abs_diff(self.head);
        let mut span = f64::from(op.len) * self.ns_per_byte;
        if distance > 0 {
            let seek = self.settle + self.stroke * (distance as f64 / self.size).sqrt();
            span += seek + self.rotation * self.prng.uniform_unit();
        }
        self.head = op.offset + u64::from(op.len);
        self.free = at.max(self.free) + (span as u64).max(1);
        self.free
    }
}
