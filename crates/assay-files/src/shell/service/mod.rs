//! The threads of a server, as the shell makes their calls: its files are made, its threads are started for a phase and
//! joined at its end, and what it wrote is compared in the end.

mod calls;
mod making;
mod open;
mod thread;
mod threads;
mod verify;

pub use making::make_service_files;
pub use threads::{LeftOfService, ServiceThreads};
pub use verify::verify_service;
