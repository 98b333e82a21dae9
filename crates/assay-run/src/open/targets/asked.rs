//! What a plan requires of its targets, and what the user allows for them.

use crate::failure::Failure;
use assay_base::Bytes;
use assay_device::safety::{Examination, RuleId, Standing};
use assay_model::page_cache::PageCached;
use std::path::Path;

/// What a plan requires of its targets.
#[derive(Clone, Copy)]
pub struct TargetNeeds<'a> {
    /// Whether they are written.
    pub writes: bool,
    /// The smallest usable size of a target, by its index and its block size.
    pub smallest: &'a dyn Fn(u16, u32) -> u64,
    /// How many of the targets, at the end, are no part of the load: a cache device, which is written, and whose size is
    /// checked by who uses it.
    pub beside: usize,
    /// The directory of the log.
    pub log_dir: &'a Path,
    /// The targets that are used through the page cache of the kernel.
    pub page_cache: &'a [PageCached],
}

/// What the user allows for the targets.
#[derive(Clone, Copy)]
pub struct Allowed<'a> {
    /// Consent tokens of the devices that may lose their data.
    pub tokens: &'a [String],
    /// Consents given in advance.
    pub standing: &'a [Standing],
    /// Safety rules that are overridden.
    pub overrides: &'a [RuleId],
    /// Size of a file that is created where there is none.
    pub create: Option<Bytes>,
    /// The user confirmed that processes outside this container are invisible.
    pub in_container: bool,
    /// Called last, before devices are overwritten; it asks the user at the terminal.
    pub confirm: &'a dyn Fn(&[&Examination]) -> Result<(), Failure>,
}
