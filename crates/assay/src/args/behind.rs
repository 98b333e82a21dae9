//! A cache that is not there.

use assay_base::Bytes;

/// A simulated cache before each target.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct BehindCache {
    /// Let all operations pass a simulated cache of this size before each target, such as 64GiB: the target gets what misses it. The
    /// table [cache] of a workload file says more of it: its blocks, what makes room, what becomes of writes
    #[arg(long, value_name = "SIZE")]
    pub behind: Option<Bytes>,
}
