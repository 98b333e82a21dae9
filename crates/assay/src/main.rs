//! `assay`: certifies storage for the workload that will really run on it.
//!
//! The binary consists of arguments, wiring and exit codes. `commands` carries out each verb, one file per verb; the
//! crate `assay-run` runs plans, opens targets and stores what was measured.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

mod act;
mod again;
mod args;
mod bonnie;
mod candidates;
mod cli;
mod commands;
mod complete;
mod confirm;
mod detach;
mod elsewhere;
mod environment;
mod help;
#[cfg(feature = "live")]
mod live_page;
#[cfg(not(feature = "live"))]
#[path = "live_page_absent.rs"]
mod live_page;
mod pblio;
mod progress;
mod screen;
mod seekmark;
mod stdout;
mod terminal;
mod tools;

use assay_run::failure::{Failure, code};
use assay_run::host::{signals, threads};
use clap::CommandFactory;
use std::process::ExitCode;

fn main() -> ExitCode {
    signals::survive_file_size_limit();
    terminal::report_panics_without_block();
    let outcome = threads::on_a_stack_of_its_own(|| match tools::called_as() {
        Some((tool, args)) => tool.run_with_arguments(&args),
        None if complete::answer_shell(cli::Cli::command) => Ok(code::DONE),
        None => cli::run_command(elsewhere::parse_command_line()),
    });
    let code = match outcome {
        Some(Ok(code)) => code,
        Some(Err(failure)) => {
            screen::report_failure(&failure);
            failure.code
        }
        // The panic's own message has been printed already.
        None => {
            screen::report_failure(&Failure::internal_bug("this is a bug in assay; the run log up to here is valid"));
            code::BUG
        }
    };
    ExitCode::from(code)
}
