//! Where operations go: byte offsets on one target, aligned, never beyond its end. Each form is a small pure value with
//! its formula and its source in its file. [`Address`] is an address as configured; [`Offsets`] draws the offsets.

mod bands;
mod behind;
mod fresh;
mod grid;
mod heat;
mod law;
mod meant;
mod offsets;
mod once;
mod order;
mod pattern;
mod ranked;
mod repeated;
mod runs;
mod sequential;
mod step;
mod strided;
mod uniform;
mod walk;
mod working_set;
mod zipf;

pub use bands::{Bands, Inside, Layout};
pub use behind::BehindLastOperation;
pub use fresh::{Fresh, Reread};
pub use grid::Grid;
pub use heat::{Heat, HeatMap, HeatSpace, INTERLEAVED_MAX, LARGEST_AREA};
pub use law::{Exponent, Law, Ranks};
pub use meant::Address;
pub use offsets::Offsets;
pub use once::Once;
pub use order::Order;
pub use pattern::{Pattern, Space};
pub use runs::{RunLength, Runs};
pub use sequential::Sequential;
pub(crate) use step::common_power;
pub use uniform::Uniform;
pub use walk::Walk;
pub use working_set::{Turnover, WorkingSet};
pub use zipf::Zipf;
