//! The directory in which everything happens, and the gate before it. Nothing is made in a place that a person names but
//! one directory of our own, `assay-` and eight digits, with a marker in it; and nothing is opened below but through
//! [`OwnDir`], which only the gate makes, after it has examined the place and found that the workload fits.
//!
//! A place is opened once ([`Place`]). Below our directory no link is followed, no mount is entered and no `..` leads out
//! (`resolve.rs`). Every name carries a check ([`Names`]), by which cleaning ([`clean()`]) tells what is ours.

mod claim;
mod clean;
mod directory;
mod gate;
mod guard;
mod locked;
mod maker;
mod manifest;
mod marker;
mod memory;
mod names;
mod place;
mod resolve;
mod torn;
mod views;

pub use claim::Claim;
pub use clean::{DEEPEST, Left, Report, State, Why, clean, list};
pub use directory::{Directory, Foreign, Known, OpenError, Unexamined};
pub use gate::{OwnDir, Request};
pub use guard::{Reserve, ReserveWatch, Room, Touched, Wants};
pub use manifest::{Manifest, Way};
pub use marker::{LONGEST_RUN_NAME, MARKER, Marker};
pub use memory::{directory_in_memory, mount_for_this_process, point_for_memory};
pub use names::{Entry, EntryKind, Names};
pub use place::{Conditions, Place};
pub use resolve::Resolution;
pub(crate) use resolve::{OwnMount, StartingPoint};
