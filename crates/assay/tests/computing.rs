//! The tests that need no device and no real time, as one program: it is linked once.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "helpers of tests, which make files of their own")]

mod act_logs;
mod act_tools;
mod arrows;
#[path = "arrows/circles.rs"]
mod circles;
mod comparing;
mod contributing;
mod export_tools;
mod exports;
mod formats;
#[path = "../../assay-device/tests/safety_common/losetup.rs"]
mod losetup;
mod manual;
#[path = "hosts/pypi.rs"]
mod pypi;
mod sizing;
mod transactions;
