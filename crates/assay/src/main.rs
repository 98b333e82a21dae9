//! `assay`: certifies storage for the workload that will really run on it.
//!
//! The binary is arguments, wiring and exit codes. What is meant by a command line is made in `commands`, one file a verb;
//! `drive` runs a plan, `targets` opens what it runs on, `rundir` keeps what was measured.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

mod act;
mod ahead;
mod certificate;
mod cli;
mod commands;
mod complete;
mod confirm;
mod consents;
mod detach;
mod drive;
mod elsewhere;
mod engine;
mod failure;
mod files;
mod fio_job;
mod header;
mod integrity;
mod logfile;
mod observer;
mod prepare;
mod procedure;
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
    let outcome = threads::on_a_stack_of_its_own(|| match act::called_as() {
        Some((tool, args)) => tool.run(&args),
        None if complete::answered() => Ok(code::DONE),
        None => commands::run(elsewhere::parse()),
    });
    let code = match outcome {
        Some(Ok(code)) => code,
        Some(Err(failure)) => {
            screen::complain(&failure);
            failure.code
        }
        // The panic's own message has been printed already.
        None => {
            screen::complain(&Failure::bug("this is a bug in assay; the run log up to here is valid"));
            code::BUG
        }
    };
    ExitCode::from(code)
}
