//! What a running application asks of a block device, from the kernel's own tracepoints: no program is loaded into the
//! kernel, and nothing of the application is touched.
//!
//! A tracefs instance of our own ([`instance`]) has buffers, a filter for the one device, and the events of requests. Their
//! pages are read as they are ([`page`]), decoded by the kernel's description of each event ([`format`]), put in order, and
//! counted by [`assay_model::observed`], which keeps no request ([`session`]). What was counted is held against the
//! kernel's counters of the device.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files of their own"))]

pub mod device;
pub mod format;
pub mod instance;
pub mod page;
mod profile;
pub mod session;
mod trouble;

pub use device::CapturedDevice;
pub use profile::CapturedProfile;
pub use session::{Captured, Progress, Session, Settings};
pub use trouble::Trouble;
