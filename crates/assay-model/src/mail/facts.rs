//! The numbers of a mail store that are fixed or are defaults, each with its source: \[S\] is the report of a run of
//! Jetstress 2010 with one database over two hours, \[M\] is what Microsoft publishes, \[E\] is the public source code
//! of the database engine (ESE), and \[A\] is our own assumption.

use assay_base::{Bytes, Share, Span};

/// The size of a page of a database \[M\].
pub const PAGE: Bytes = Bytes::from_kib(32);
/// How many of 10,000 reads are of two pages, so that the mean read has 1.0116 pages \[S\].
pub(super) const READS_OF_TWO: u64 = 116;
/// How many of 10,000 writes are of two pages \[S\]. Together with the pages by which a database grows, which are
/// written one by one, the mean write has 1.0633 pages.
pub(super) const WRITES_OF_TWO: u64 = 651;

/// The share of reads in the reads and writes of a database \[S\].
pub(crate) const USUAL_READS: Share = Share::from_ppb(494_600_000);
/// The share of a database's writes by which it grows \[S\]: 98,832 pages in two hours.
pub(crate) const USUAL_GROWTH: Share = Share::from_ppb(26_800_000);
/// The number of log writes, as a share of the number of reads and writes of the database \[S\].
pub(crate) const USUAL_LOG_WRITES: Share = Share::from_ppb(161_100_000);
/// The mean size of a log write \[S\].
pub(crate) const USUAL_LOG_MEAN: Bytes = Bytes::new(7864);

/// The size of a log file \[M\]. A log consists of a whole number of log files.
pub(crate) const LOG_FILE: Bytes = Bytes::from_kib(1024);
/// The largest log write: 126 sectors \[E\].
pub(crate) const LARGEST_LOG_WRITE: Bytes = Bytes::new(126 * 512);
/// The size of the reads by which a copy reads the log \[A\].
pub(super) const LOG_READ: Bytes = Bytes::from_kib(256);
/// How far behind the writer of the log a copy reads it \[A\].
pub const DISTANCE: Bytes = Bytes::from_kib(64 * 1024);
/// The smallest log that copies may read. A smaller one could be overwritten before they have read it.
pub(crate) const LEAST_LOG_OF_COPIES: Bytes = Bytes::from_kib(256 * 1024);

/// The size of the reads of the scan that checks all pages \[S\].
pub(crate) const BLOCK_OF_SCAN: Bytes = Bytes::from_kib(256);
/// The pause of the scan after each of its reads in the edition of 2010 \[E\]. \[S\] agrees: its mean read of 19.557 ms
/// gives 1/(20 ms + 19.557 ms), which is 25.3 reads/s, and it reports 24.8 reads/s.
pub(super) const REST: Span = Span::from_ms(20);
/// How many reads the scan does each second in the edition of 2013: 1 MB/s for each copy \[M\].
pub(super) const SCANS_OF_2013: u64 = 4;

/// The share of the space for a database that it has at the beginning, unless the file says otherwise; the rest is room
/// for it to grow, a quarter of its size \[M\].
pub(crate) const USUAL_DATABASE: Share = Share::from_percent(80);

/// The mix of operations whose I/O was reported, and the share of commits that do not wait for the log \[S\].
pub const MIX: [(&str, u64); 5] = [
    ("Insert Operations", 40),
    ("Delete Operations", 20),
    ("Replace Operations", 5),
    ("Read Operations", 35),
    ("Lazy Commits", 70),
];

/// The bound on the mean response of the reads of a database \[M\].
pub(super) const READ_MEAN: Span = Span::from_ms(20);
/// The bound on the mean response of the writes of a log \[M\].
pub(super) const LOG_MEAN: Span = Span::from_ms(10);
/// The bound on the mean response of each sample, in a performance test and in a stress test \[A\].
pub(super) const SAMPLE_MEAN: [Span; 2] = [Span::from_ms(100), Span::from_ms(200)];
/// The length of a sample \[A\].
pub const SAMPLE: Span = Span::from_secs(15);

/// The sentence that stands in every text about such a run.
pub const NOT_COMPARABLE: &str = "Jetstress-like, not comparable with Microsoft's results: the I/O that Jetstress reported, without its database engine";
/// The watermark that says the same.
pub(crate) const LIKENESS: &str = "JETSTRESS-LIKE: not comparable with Microsoft's results";
/// The sentence that says what is assumed, because nobody has published it.
pub(super) const ASSUMED: &str = "assumed: page and log writes come independently of each other (Poisson); log sizes become rarer by the same \
factor with each block; copies read the log in 256 KiB, 64 MiB behind its writer; the largest means are of samples of 15s, 100ms in a \
performance test and 200ms in a stress test";
