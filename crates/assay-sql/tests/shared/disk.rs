//! A disk that is small, and becomes full.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A small file system in memory that ends with the test.
pub struct Small(pub PathBuf);

impl Small {
    /// Over a directory.
    pub fn mount(path: &Path, options: &str) -> Small {
        assert!(
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(path).status().unwrap().success()
        );
        Small(path.to_owned())
    }

    /// Leaves room for so many bytes more than it holds.
    #[allow(dead_code, reason = "the tests of the program, which share this file, use it")]
    pub fn leave(&self, bytes: u64) {
        let held = rustix::fs::statvfs(&self.0).unwrap();
        self.grow(&((held.f_blocks - held.f_bfree) * held.f_frsize + bytes).to_string());
    }

    pub fn grow(&self, size: &str) {
        let options = format!("remount,size={size}");
        assert!(Command::new("mount").args(["-o", &options]).arg(&self.0).status().unwrap().success());
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
