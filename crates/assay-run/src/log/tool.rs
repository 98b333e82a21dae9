//! Which program this is.

/// Version and commit, as `--version` shows them.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("ASSAY_COMMIT"), ")");

/// Tool version and commit.
pub fn tool_version() -> String {
    format!("assay {VERSION}")
}

/// BLAKE3 of this program's file, which is more precise than a version; `None` where it cannot be read.
pub fn program_checksum() -> Option<String> {
    crate::files::sum::sum_of(std::fs::File::open("/proc/self/exe").ok()?).ok()
}
