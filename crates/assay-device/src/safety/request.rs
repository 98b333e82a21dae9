//! A request to use a target: what a person asks for, and what they agree to.

use super::rule::RuleId;
use super::standing::Standing;
use std::path::Path;

/// How the workload will use the target.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Needs {
    /// The end of the last byte that it will ever touch.
    pub extent: u128,
    /// Every size and offset is a multiple of this; 0: not known, not checked.
    pub alignment: u32,
}

/// Consent by naming the device instead of its token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expect {
    /// Its serial number, exactly.
    pub serial: String,
    /// Its size in bytes, exactly.
    pub size: u64,
}

/// A question to the gate.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The target as it was given.
    pub path: &'a Path,
    /// Consent tokens (`--destroy-data`).
    pub tokens: &'a [String],
    /// Consents given earlier; the one of this device counts.
    pub standing: &'a [Standing],
    /// Consent by serial number and size.
    pub expect: Option<&'a Expect>,
    /// Rules that a person overrides.
    pub overrides: &'a [RuleId],
    /// How the workload will use it.
    pub needs: Needs,
    /// The directory in which the run log will be written.
    pub log_dir: Option<&'a Path>,
    /// A person asks to use a file through the page cache of the kernel. A block device is never used so.
    pub page_cache: bool,
    /// A person confirmed that this is a container, and that processes outside it are invisible.
    pub in_container: bool,
    /// The processes of the other ranks of the same run on this host: where one of them holds the target, it is shared with it.
    pub ranks: &'a [u32],
}

impl<'a> Request<'a> {
    /// A request with no consent, no override and no needs.
    pub fn new(path: &'a Path) -> Request<'a> {
        let needs = Needs::default();
        Request {
            path,
            tokens: &[],
            standing: &[],
            expect: None,
            overrides: &[],
            needs,
            log_dir: None,
            page_cache: false,
            in_container: false,
            ranks: &[],
        }
    }
}
