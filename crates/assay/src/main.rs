//! `assay`: certifies storage for the workload that will really run on it.
//!
//! The binary is arguments, wiring and exit codes. What is meant by a command line is made in `commands`, one file a verb;
//! `drive` runs a plan, `targets` opens what it runs on, `rundir` keeps what was measured.

mod act;
mod ahead;
mod certificate;
mod cli;
mod commands;
mod confirm;
mod detach;
mod drive;
mod elsewhere;
mod engine;
mod failure;
mod header;
mod integrity;
mod logfile;
mod prepare;
mod progress;
mod pulse;
mod records;
mod resume;
mod rundir;
mod screen;
mod signals;
mod signing;
mod targets;
mod threads;
mod watch;
mod workloads;

use failure::{Failure, code};
use std::process::ExitCode;

fn main() -> ExitCode {
    let outcome = std::panic::catch_unwind(|| match act::called_as() {
        Some((tool, args)) => tool.run(&args),
        None => commands::run(elsewhere::parse()),
    });
    let code = match outcome {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => {
            failure.print();
            failure.code
        }
        // The panic's own message has been printed already.
        Err(_) => {
            Failure::bug("this is a bug in assay; the run log up to here is valid").print();
            code::BUG
        }
    };
    ExitCode::from(code)
}
