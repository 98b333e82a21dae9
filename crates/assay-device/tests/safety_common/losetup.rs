//! Attaches loop devices for all tests that need one, and says why there is none in the words of losetup: it may be a
//! missing node in /dev, a missing right, or a file that cannot be used.

use std::path::Path;
use std::process::Command;

/// Between looking for a free device and taking it another program may take it; then the next one is tried.
const ATTEMPTS: u32 = 20;

/// Attaches a device with these options of losetup to `image`; its node, or what losetup said last.
pub fn attach(image: &Path, options: &[&str]) -> Result<String, String> {
    let mut said = String::new();
    for _ in 0..ATTEMPTS {
        let path = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin";
        let mut command = Command::new("losetup");
        command.args(["-f", "--show"]).args(options).arg(image).env("PATH", path);
        let output = command.output().map_err(|e| format!("losetup cannot be run: {e}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
        }
        said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    }
    Err(format!("no loop device after {ATTEMPTS} attempts; {said}"))
}
