//! ACT in the program: what its users bring along (configs, logs, command lines) and what they expect back.

pub mod scheduler;
