//! The caches between a run and its targets: the cache device of the run itself, and the page cache of the kernel.

pub(crate) mod caching;
pub(crate) mod lookaside;
pub(crate) mod page_cache;
