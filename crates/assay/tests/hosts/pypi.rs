//! Programs from PyPI, for tests that try ours with them.
#![allow(clippy::disallowed_macros, reason = "a test must say what it skipped")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// An environment with these packages, created once and kept with the build; `None`, with a message, where it cannot be
/// created.
pub(crate) fn tools(packages: &[&str]) -> Option<PathBuf> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("python-{}", packages.join("-")));
    let done = home.join("installed");
    if !done.exists() {
        let made = Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home).output();
        let install = || {
            let options = ["install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "20"];
            Command::new(home.join("bin/pip")).args(options).args(packages).output()
        };
        let installed = made.is_ok_and(|made| made.status.success()) && install().is_ok_and(|it| it.status.success());
        if !installed {
            eprintln!("skipped: {} could not be had from PyPI, it was NOT tried with it", packages.join(", "));
            return None;
        }
        std::fs::write(&done, packages.join("\n")).unwrap();
    }
    Some(home.join("bin"))
}
