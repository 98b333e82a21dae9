//! The live page and the metrics, as those see them who read them: over HTTP, in a browser, in a Prometheus.
//!
//! The logs are of simulated runs. A test appends their lines one after another to a file that it holds as a run holds its log, so that
//! it knows what was there when something was shown. What is shown is compared with what `assay judge` says of the same lines.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests drive real processes and real time"
)]

#[path = "../program/bed.rs"]
#[allow(dead_code, reason = "the tests of the program use more of it")]
mod bed;

#[path = "../program/console.rs"]
#[allow(dead_code, reason = "the tests of the program use more of it")]
mod console;

mod beside;
mod browser;
mod chromedriver;
mod figures;
mod growing;
mod http;
mod prometheus;
mod pushing;
mod rules;
mod table;
mod terminal;
