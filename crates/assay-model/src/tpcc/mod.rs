//! A database workload derived from TPC-C: what is loaded, what is asked, and what must come out.
//!
//! Everything here is pure and follows from a seed: the rows of the population, the distributions, the mix, the
//! parameters of each transaction (dates too) as a function of its number, an interpreter over maps that executes the
//! transactions, and the conditions that a database must fulfil. The crate `assay-sql` does the same in databases, and
//! its tests compare them with the interpreter.
//!
//! Source: TPC Benchmark C, revision 5.11. This is not that benchmark: see [`DERIVED`] and [`DEVIATIONS`].

pub mod checks;
pub mod interpreter;
pub mod load;
mod mix;
mod nurand;
mod outcome;
mod pacing;
mod parameters;
mod population;
pub mod rows;
mod scale;
mod seeds;
mod strings;
mod table;

pub use load::Load;
pub use mix::{Deck, Mix, TransactionKind};
pub use nurand::{Constants, NuRand, c_load};
pub use outcome::{Delivered, LastOrder, LineStatus, Ordered, OrderedLine, Outcome, Paid, Status};
pub use pacing::{keying_time, think_time};
pub use parameters::{
    CustomerSelector, Delivery, Home, Line, NewOrder, OrderStatus, Parameters, Payment, StockLevel, Transaction,
    middle_place,
};
pub use population::{LOADED, LoadPart, Population};
pub use scale::Scale;
pub use table::{Column, Kind as ColumnKind, Table, Value};

/// The sentence that every report and result shows.
pub const DERIVED: &str = "This workload is derived from the TPC-C Benchmark and is not comparable to published TPC-C \
     Benchmark results, as this implementation does not comply with all requirements of the TPC-C Benchmark.";

/// The same as a watermark.
pub const WATERMARK: &str = "DERIVED: This workload is derived from the TPC-C Benchmark and is not comparable to published \
     TPC-C Benchmark results, as this implementation does not comply with all requirements of the TPC-C Benchmark.";

/// What is not as the standard requires it.
pub const DEVIATIONS: [&str; 6] = ["terminals", "scale", "length", "pricing", "delivery", "isolation"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watermark_has_the_sentence_verbatim() {
        assert_eq!(WATERMARK.strip_prefix("DERIVED: "), Some(DERIVED));
    }
}
