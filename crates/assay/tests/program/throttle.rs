//! The kernel's throttle (cgroup v1, blkio), which makes a slow device of a quick one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A control group with limits on one device; removed when dropped.
pub struct Throttle(PathBuf);

impl Throttle {
    /// Limits such as `write_bps` for the device whose number is in this file; `None` where there are no such groups.
    pub fn new(number: &Path, limits: &[(&str, u64)]) -> Option<Throttle> {
        let name = format!("assay-{}-{}", std::process::id(), number.parent()?.file_name()?.to_str()?);
        let group = Throttle(Path::new("/sys/fs/cgroup/blkio").join(name));
        if std::fs::create_dir(&group.0).is_err() {
            eprintln!("no blkio control groups here: nothing is tested");
            return None;
        }
        let number = std::fs::read_to_string(number).unwrap();
        for (limit, value) in limits {
            let file = group.0.join(format!("blkio.throttle.{limit}_device"));
            std::fs::write(file, format!("{} {value}", number.trim())).ok()?;
        }
        Some(group)
    }

    /// Another limit for the device whose number is in this file; 0 is none.
    #[allow(dead_code, reason = "not every test program has a throttle that comes and goes")]
    pub fn limit(&self, number: &Path, limit: &str, value: u64) {
        let number = std::fs::read_to_string(number).unwrap();
        let file = self.0.join(format!("blkio.throttle.{limit}_device"));
        std::fs::write(file, format!("{} {value}", number.trim())).unwrap();
    }

    /// `command`, started within the group.
    pub fn within(&self, command: &Command) -> Command {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "echo $$ > \"$0\" && exec \"$@\""])
            .arg(self.0.join("cgroup.procs"))
            .arg(command.get_program());
        shell.args(command.get_args()).stdin(Stdio::null());
        command.get_envs().for_each(|(name, value)| {
            shell.env(name, value.unwrap_or_default());
        });
        shell
    }

    /// Brings the calling thread into the group.
    #[allow(dead_code, reason = "not every test program has a neighbour of its own")]
    pub fn enter(&self) {
        // SAFETY: gettid has no conditions.
        let thread = unsafe { libc::gettid() };
        std::fs::write(self.0.join("tasks"), thread.to_string()).unwrap();
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}
