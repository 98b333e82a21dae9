//! Moves a plan that was made for targets as large as a range to the range: each part of such a target becomes the same part of the
//! range.

use super::range::TileRange;
use crate::extent::{Amount, Extent};
use crate::oltp::Oltp;
use crate::plan::{Plan, Work};
use assay_base::{Bytes, Geometry};

/// The blocks that parts of a range are whole numbers of, on targets of smaller blocks too: the same places on any target.
const BLOCK: u32 = 4096;

impl TileRange {
    /// A target that is as large as the range.
    pub(crate) fn as_target(self) -> Geometry {
        Geometry { size: self.size.get(), block: BLOCK }
    }

    /// A part of a target that is as large as the range, as a part of the range.
    fn part_within(self, part: Option<Extent>) -> Extent {
        let (begin, length) = part.map_or((0, self.size.get()), |part| part.range_within(self.size.get(), BLOCK));
        let begin = Bytes::new(self.begin.get() + begin);
        Extent::new(Amount::Bytes(begin), Some(Amount::Bytes(Bytes::new(length))))
    }

    /// Moves the streams of a plan, which must fit, to the range.
    pub(crate) fn move_plan(self, plan: &mut Plan) {
        for stream in &mut plan.load.streams {
            if let Work::Block(block) = &mut stream.work {
                block.extent = Some(self.part_within(block.extent));
            }
        }
    }

    /// Moves the storage of an OLTP load to the range.
    pub(crate) fn move_oltp(self, oltp: &mut Oltp) {
        for storage in oltp.asus.iter_mut().flatten() {
            storage.extent = Some(self.part_within(storage.extent));
        }
    }
}
