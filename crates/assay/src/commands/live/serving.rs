//! Follows the log of a run, or those of a procedure, and serves what they say.

use super::table::{CsvTable, is_standard_output};
use crate::args::{LiveLog, OtlpUrl};
use crate::commands::published_logs::{follow_all, refuse_what_is_no_log};
use crate::environment::environment_variable;
use crate::live_page::{Listening, TOKEN};
use crate::screen::print_to_stderr;
use crate::stdout::print_document;
use assay_device::clock::wall_time;
use assay_judge::Options;
use assay_live::push::{Destination, Push, WallTime};
use assay_live::{LineTaker, NoTaker, Publisher};
use assay_run::failure::{Failure, code};
use assay_run::host::threads;
use std::os::fd::AsFd;
use std::time::Duration;

/// Priority at which everything else goes first.
const NICE: i32 = 19;

/// Serves until some time behind the end of what is followed.
pub(super) fn serve_log(args: &LiveLog) -> Result<u8, Failure> {
    refuse_what_is_no_log(&args.dir)?;
    let listening = listen_for(args)?;
    let mut also: Box<dyn LineTaker + Send> = match &args.csv {
        Some(path) => Box::new(CsvTable::begin_table(path)?),
        None => Box::new(NoTaker),
    };
    // What is asked for on standard output is nothing else than the table.
    if is_standard_output(args.csv.as_deref()) {
        print_to_stderr(&format!("live page: {}", listening.url));
    } else if !args.inherited {
        print_document(&format!("{}\n", listening.url));
    }
    let (mut publisher, states) = Publisher::new(Options { judge_on: args.judge_on, ..Options::default() });
    let dir = args.dir.clone();
    let follower = threads::thread_builder("log reader").spawn(move || {
        if let Err(failure) = follow_all(&dir, &mut publisher, &mut *also) {
            print_to_stderr(&format!("error: {}", failure.user_message()));
        }
        publisher.end_all();
    });
    follower.map_err(|e| Failure::host_unable(format!("the thread that reads the log could not be started: {e}")))?;
    let push = args.serving.otlp.clone().map(push_to);
    let linger = Duration::from_nanos(args.serving.linger_time().as_ns());
    let served = assay_live::server::serve(listening.listener, listening.rules, states, linger, push);
    served.map_err(|e| Failure::host_unable(format!("the page cannot be served: {e}")))?;
    Ok(code::DONE)
}

/// Where metrics are sent to, and what they are sent with.
fn push_to(url: OtlpUrl) -> Push {
    let OtlpUrl { host, port, path } = url;
    Push {
        destination: Destination { host, port, path },
        wall_time: WallTime { now_ns, ns_in_text },
        tell: print_to_stderr,
    }
}

fn now_ns() -> u64 {
    let since = wall_time().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(0)
}

fn ns_in_text(text: &str) -> u64 {
    text.parse::<jiff::Timestamp>().ok().and_then(|at| u64::try_from(at.as_nanosecond()).ok()).unwrap_or(0)
}

/// What is listened with: what the process was given that started this one, or an address.
fn listen_for(args: &LiveLog) -> Result<Listening, Failure> {
    if !args.inherited {
        return Listening::listen_on(args.listen, &args.serving);
    }
    // Everything that this process does can wait.
    let _ = rustix::process::setpriority_process(None, NICE);
    let given = std::io::stdin().as_fd().try_clone_to_owned();
    let given = given.map_err(|e| Failure::host_unable(format!("standard input cannot be used: {e}")))?;
    Listening::from_inherited(given, args.serving.host_name.clone(), environment_variable(TOKEN))
}
