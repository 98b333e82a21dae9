//! Passes the commit that a binary is built from to the run log. A build outside a git checkout has "unknown".

use std::process::Command;

#[allow(clippy::disallowed_macros, reason = "printing is how a build script speaks to cargo")]
fn main() {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".into());
    println!("cargo::rustc-env=ASSAY_COMMIT={commit}");
    if let Some(head) = git(&["rev-parse", "--git-path", "HEAD"]) {
        println!("cargo::rerun-if-changed={head}");
    }
    if let Some(branch) = git(&["symbolic-ref", "-q", "HEAD"]).and_then(|name| git(&["rev-parse", "--git-path", &name]))
    {
        println!("cargo::rerun-if-changed={branch}");
    }
}
