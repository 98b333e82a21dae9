//! The caches between a load and its targets.

use crate::cache::{CacheDevice, Caching};
use crate::page_cache::PageCached;

/// The caches between a load and its targets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Caches {
    /// The simulated cache before each target: what passes it is what the target sees.
    pub simulated: Option<Caching>,
    /// The look-aside cache on a device of its own before the targets.
    pub device: Option<CacheDevice>,
    /// The targets that are used through the page cache of the kernel.
    pub page: Vec<PageCached>,
}
