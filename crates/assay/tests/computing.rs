//! The tests that need no device and no real time, as one program: it is linked once.

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
mod sizing;
mod transactions;
