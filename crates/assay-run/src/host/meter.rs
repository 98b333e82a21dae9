//! What counts by itself while a load runs, such as a disk or a server.

use assay_record::MeterHead;

/// Something that counts by itself.
pub trait Reading {
    /// Its description, with the names of its counters.
    fn meter_head(&self) -> MeterHead;
    /// Its counters since it began to count, in the order of their names; none where they are not known now. It must not
    /// wait: the thread that writes the log calls it.
    fn read_totals(&mut self) -> Option<Vec<u64>>;
}
