//! A cache on a device of its own before the targets.

use assay_base::Bytes;
use assay_model::cache::CacheDevice;
use assay_model::workload::Workload;
use assay_run::failure::Failure;
use std::path::PathBuf;

/// A cache before the targets.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct Lookaside {
    /// Put a cache of blocks before the targets, on this device or file, which is overwritten; of an OLTP load before data store
    /// and user store. `none`: without the cache that the workload names
    #[arg(long, value_name = "PATH", help_heading = "Cache")]
    pub cache: Option<String>,
    /// Use only this much of the cache's device, such as 64GiB [default: all of it]
    #[arg(long, value_name = "SIZE", help_heading = "Cache")]
    pub cache_size: Option<Bytes>,
    /// File that says between two runs what is in the cache. A run that finds it goes on with that cache; without it, the cache
    /// begins empty [default: the name of the cache's device with .index, in this directory]
    #[arg(long, value_name = "FILE", help_heading = "Cache")]
    pub cache_metadata: Option<PathBuf>,
}

/// The word for no cache.
const NONE: &str = "none";

impl Lookaside {
    /// Gives the workload the cache that was asked for.
    pub(crate) fn apply_to_workload(&self, workload: &mut Workload) -> Result<(), Failure> {
        match self.cache.as_deref() {
            Some(NONE) => workload.caches.device = None,
            Some("") => return Err(Failure::bad_usage("--cache names no device: give a path, or none")),
            Some(path) => {
                let usual = workload.caches.device.take().unwrap_or_else(|| CacheDevice::on_path(path));
                workload.caches.device = Some(CacheDevice { path: path.to_owned(), ..usual });
            }
            None => {}
        }
        let metadata = self.cache_metadata.as_ref().map(|path| path.to_string_lossy().into_owned());
        let asked = [(self.cache_size.is_some(), "--cache-size"), (metadata.is_some(), "--cache-metadata")];
        let asked = asked.into_iter().find(|(is, _)| *is);
        match (&mut workload.caches.device, asked) {
            (Some(device), _) => {
                device.size = self.cache_size.or(device.size);
                device.metadata = metadata.or(device.metadata.take());
                Ok(())
            }
            (None, Some((_, option))) => Err(Failure::bad_usage(format!(
                "{option} is about a cache, and there is none: give one with --cache PATH"
            ))),
            (None, None) => Ok(()),
        }
    }
}
