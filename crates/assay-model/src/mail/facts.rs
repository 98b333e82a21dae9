//! The numbers of a mail store that no key changes. \[S\] is the report of a run of Jetstress 2010 with one database over two hours, \[M\] what
//! Microsoft publishes, \[E\] the public source of the database engine (ESE), and \[A\] our own assumption.

use assay_base::{Bytes, Share, Span};

/// A page of a database \[M\].
pub const PAGE: Bytes = Bytes::from_kib(32);
/// Of 10,000 reads so many are of two pages: a read has 1.0116 pages in the mean \[S\].
pub(super) const READS_OF_TWO: u64 = 116;
/// Of 10,000 writes so many are of two pages, \[S\]: with the pages by which a database grows, which are written one by one, a write has
/// 1.0633 in the mean.
pub(super) const WRITES_OF_TWO: u64 = 651;

/// Reads, of the reads and writes of a database \[S\].
pub const USUAL_READS: Share = Share::from_ppb(494_600_000);
/// Writes by which a database grows, of its writes \[S\]: 98,832 pages in two hours.
pub const USUAL_GROWTH: Share = Share::from_ppb(26_800_000);
/// Log writes for each read or write of the database \[S\].
pub const USUAL_LOG_WRITES: Share = Share::from_ppb(161_100_000);
/// The mean size of a log write \[S\].
pub const USUAL_LOG_MEAN: Bytes = Bytes::new(7864);

/// A log file \[M\]. A log is a whole number of them.
pub const LOG_FILE: Bytes = Bytes::from_kib(1024);
/// A log write has at most 126 sectors \[E\].
pub const LARGEST_LOG_WRITE: Bytes = Bytes::new(126 * 512);
/// A copy reads the log in pieces of this size \[A\].
pub(super) const LOG_READ: Bytes = Bytes::from_kib(256);
/// How far behind the writer \[A\].
pub const DISTANCE: Bytes = Bytes::from_kib(64 * 1024);
/// The smallest log that copies read, so that it is not overwritten before they have read it.
pub const LEAST_LOG_OF_COPIES: Bytes = Bytes::from_kib(256 * 1024);

/// What the scan that checks all pages reads at once \[S\].
pub const BLOCK_OF_SCAN: Bytes = Bytes::from_kib(256);
/// How long it rests after each read in the edition of 2010: 1/(20 ms + 19.557 ms) are the 24.8/s of \[S\]; from \[E\].
pub(super) const REST: Span = Span::from_ms(20);
/// How many such reads it does each second in the edition of 2013, 1 MB/s for each copy \[M\].
pub(super) const SCANS_OF_2013: u64 = 4;

/// The share of the space before the log that the database has at the beginning; the rest is room for it to grow \[M\].
pub(super) const DATABASE_PERCENT: u64 = 80;

/// The largest mean of the reads of a database \[M\].
pub(super) const READ_MEAN: Span = Span::from_ms(20);
/// The largest mean of the writes of a log \[M\].
pub(super) const LOG_MEAN: Span = Span::from_ms(10);
/// The largest mean of any sample: in a performance test, and in a stress test \[A\].
pub(super) const SAMPLE_MEAN: [Span; 2] = [Span::from_ms(100), Span::from_ms(200)];
/// The length of a sample \[A\].
pub const SAMPLE: Span = Span::from_secs(15);

/// What stands in every text about such a run.
pub const NOT_COMPARABLE: &str = "Jetstress-like, not comparable with Microsoft's results: the I/O that Jetstress reported, without its database engine";
/// The same as a watermark.
pub const LIKENESS: &str = "JETSTRESS-LIKE: not comparable with Microsoft's results";
/// What is assumed, because nobody has published it.
pub(super) const ASSUMED: &str = "assumed: page and log writes come independently of each other (Poisson); log sizes become rarer by the same \
factor with each block; copies read the log in 256 KiB, 64 MiB behind its writer; the largest means are of samples of 15s, 100ms in a \
performance test and 200ms in a stress test";
