//! All tests of the room through its public interface, as one program: it is linked once.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "helpers of tests, which make files of their own")]

#[path = "browser/chromium.rs"]
mod chromium;
mod common;
mod figures;
#[path = "browser/fixture.rs"]
mod fixture;
mod hostile;
mod html_browser;
mod html_text;
mod lives;
mod marks;
#[path = "browser/pages.rs"]
mod pages;
mod phases;
mod procedures;
mod recorded;
mod render;
mod several_targets;
