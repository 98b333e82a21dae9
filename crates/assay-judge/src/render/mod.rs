//! A judgement as text. Renderers take plain data and a writer; none of them decides anything.
//!
//! `text` is the summary at the end of a run, at most 40 lines of 80 columns; `table` lists every slice;
//! `json` is the versioned result.

pub(crate) mod chart;
mod criteria;
pub mod html;
mod junit;
mod markdown;
mod marked;
mod page;
mod room;
mod shown;
mod slices;
mod spark;
mod steady;
mod summary;
mod tested;
mod totals;
mod wrap;

pub use html::write_html;
pub use junit::write_junit;
pub use markdown::write_markdown;
pub use page::Reader;
pub(crate) use page::{Page, cut_to_width};
pub use slices::write_slice_tables;
pub use summary::{Following, text_for, text_with, write_summary};
pub use wrap::continued_lines;

use crate::judgement::Judgement;
use std::fmt;

/// The judgement as JSON, one object over several lines, ending in a line feed.
pub fn write_json(judgement: &Judgement, out: &mut dyn fmt::Write) -> fmt::Result {
    let text = serde_json::to_string_pretty(judgement).map_err(|_| fmt::Error)?;
    out.write_str(&text)?;
    out.write_char('\n')
}
