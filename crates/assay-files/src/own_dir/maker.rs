//! Who makes or cleans a directory: this host since its last start, this process, and its user.

use crate::trouble::Trouble;

/// Who makes a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Maker {
    /// The host.
    pub(super) host: String,
    /// Its boot.
    pub(super) boot: String,
    /// The process.
    pub(super) process: u32,
    /// Its user.
    pub(super) user: u32,
}

/// Where the kernel tells the boot (proc_sys_kernel(5)).
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

impl Maker {
    /// This process.
    pub(super) fn here() -> Result<Maker, Trouble> {
        let boot = std::fs::read_to_string(BOOT).map_err(|why| {
            Trouble::host(format!(
                "{BOOT} cannot be read, by which a directory is known to be ours: {why}; mount proc at /proc"
            ))
        })?;
        Ok(Maker {
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            boot: boot.trim().to_owned(),
            process: std::process::id(),
            user: rustix::process::geteuid().as_raw(),
        })
    }
}
