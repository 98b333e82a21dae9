//! Whether parts of targets that are named by size, such as a log at the end, fit on the targets at hand.

use crate::journal;
use crate::plan::{Frame, Plan, Stream};
use assay_base::{Bytes, Geometry};

impl Stream {
    /// Whether its part of a target is one among several that are laid out together, each of them on its own targets.
    pub(crate) fn is_laid_out(&self) -> bool {
        let extent = self.as_block().and_then(|block| block.extent);
        let framed = extent.is_some_and(|extent| extent.of != Frame::Whole || extent.unit.get() > 0);
        framed || self.is_appending() || self.arrival.followed_stream().is_some()
    }
}

impl Plan {
    /// Whether each part fits on its target; the error says which one does not, and what to do.
    pub fn check_fits(&self, targets: &[Geometry]) -> Result<(), String> {
        for (stream, target) in self.load.stream_targets() {
            let Some(geometry) = targets.get(usize::from(target)) else { continue };
            let described = &self.load.streams[usize::from(stream)];
            if !described.is_laid_out() {
                continue;
            }
            let need = self.needed_by(stream, geometry.block);
            if need > geometry.size {
                let own = described
                    .as_block()
                    .and_then(|block| block.extent)
                    .map_or_else(String::new, |extent| format!(" ({extent})"));
                return Err(format!(
                    "the stream {} does not fit on target {}, which has {}: its part{own} needs a target of at least {}\n  = give a larger \
                     target, or smaller parts (of a mail store: a smaller log_size or database_size)",
                    described.name,
                    target + 1,
                    Bytes::new(geometry.size).human_text(),
                    Bytes::new(need)
                ));
            }
            if described.is_appending() {
                journal::check_length(self, stream, target, *geometry)?;
            }
        }
        Ok(())
    }
}
