//! The file that says what is in a cache between two runs.
//!
//! The file has a line of JSON, then the numbers of [`Index::to_stored`] as little-endian words of eight bytes, then the
//! BLAKE3 checksum of both.

use crate::certificate::records::Mark;
use crate::files;
use crate::open::targets::RealTarget;
use assay_cache::{Index, Range, Shape};
use assay_record::TargetHead;
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::path::Path;

/// The text of the file while a run uses the cache.
pub(super) const IN_USE: &[u8] = b"in use\n";
/// The version of the format.
const VERSION: u32 = 1;
/// Bytes of the checksum.
const SUM: usize = blake3::OUT_LEN;
/// The longest line of JSON that is read, in bytes.
const LONGEST: u64 = 16 << 20;

/// A value that changes with every write to a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Trace {
    /// The kernel's counter of what was written to a device.
    Device(Mark),
    /// When anything about a file was last changed, in seconds and nanoseconds: unlike the time of its modification, nobody
    /// can set it back.
    Changed(i64, i64),
    /// When a file was last modified, which earlier versions kept. It shows nothing: anybody can set it back.
    File(i64, i64),
}

impl Trace {
    /// The trace of a target; `None` if nothing shows whether somebody wrote to it.
    pub(super) fn from_target(real: &RealTarget) -> Option<Trace> {
        match real.disk {
            Some(_) => Mark::from_target(real).map(Trace::Device),
            None => real.last_change().map(|(seconds, nanoseconds)| Trace::Changed(seconds, nanoseconds)),
        }
    }
}

/// The contents of the file.
#[derive(Clone, Debug)]
pub(super) struct KeptCache {
    /// The targets, and after them the device of the cache.
    pub heads: Vec<TargetHead>,
    /// The parts of the targets that are cached.
    pub ranges: Vec<Range>,
    /// The traces of the targets and of the cache's device, which show whether somebody wrote to them.
    pub traces: Vec<Option<Trace>>,
    pub index: Index,
}

/// The line of JSON.
#[derive(Serialize, Deserialize)]
struct Head {
    assay_cache: u32,
    targets: Vec<TargetHead>,
    ranges: Vec<(u16, u64, u64)>,
    traces: Vec<Option<Trace>>,
    block_bytes: u32,
    segment_blocks: u32,
    segments: u32,
}

impl KeptCache {
    /// The file's bytes.
    pub(super) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let Shape { block, blocks, segments } = self.index.shape();
        let head = Head {
            assay_cache: VERSION,
            targets: self.heads.clone(),
            ranges: self.ranges.iter().map(|range| (range.target, range.start, range.end)).collect(),
            traces: self.traces.clone(),
            block_bytes: block,
            segment_blocks: blocks,
            segments,
        };
        let mut bytes = serde_json::to_vec(&head)?;
        bytes.push(b'\n');
        bytes.extend(self.index.to_stored().flat_map(u64::to_le_bytes));
        bytes.extend(blake3::hash(&bytes).as_bytes());
        Ok(bytes)
    }
}

/// Reads what the file says about a cache of this shape. `None` means that there is no file; `Some(None)` means that a run is
/// using the cache, or was using it when that run was killed. The error says what is wrong with the file.
pub(super) fn read_kept_cache(path: &Path, shape: Shape) -> Result<Option<Option<KeptCache>>, String> {
    let file = match files::open_own_file(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|e| format!("it cannot be read: {e}"))?,
    };
    let longest = LONGEST + 8 * (u64::from(shape.slot_count()) + 1) + SUM as u64;
    let mut bytes = Vec::new();
    file.take(longest + 1).read_to_end(&mut bytes).map_err(|e| format!("it cannot be read: {e}"))?;
    if bytes == IN_USE {
        return Ok(Some(None));
    }
    parse_kept_cache(&bytes, shape).map(|kept| Some(Some(kept)))
}

/// The reason why metadata cannot be used.
const DAMAGED: &str = "it is damaged, or not a cache's metadata";

fn parse_kept_cache(bytes: &[u8], shape: Shape) -> Result<KeptCache, String> {
    let (content, sum) = bytes.split_at_checked(bytes.len().saturating_sub(SUM)).ok_or(DAMAGED)?;
    if blake3::hash(content).as_bytes() != sum {
        return Err(DAMAGED.to_owned());
    }
    let line = content.iter().position(|byte| *byte == b'\n').ok_or(DAMAGED)?;
    let head: Head = serde_json::from_slice(&content[..line]).map_err(|_| DAMAGED)?;
    if head.assay_cache != VERSION {
        return Err(format!("it has version {}, and this program reads version {VERSION}", head.assay_cache));
    }
    let theirs = Shape { block: head.block_bytes, blocks: head.segment_blocks, segments: head.segments };
    if theirs != shape {
        return Err(format!(
            "it belongs to a cache of {} bytes in blocks of {}, and this one has {} bytes in blocks of {}",
            theirs.occupied_bytes(),
            theirs.block,
            shape.occupied_bytes(),
            shape.block
        ));
    }
    let words = content[line + 1..].chunks(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes));
    let index = Index::from_stored(shape, words).ok_or(DAMAGED)?;
    let ranges = head.ranges.into_iter().map(|(target, start, end)| Range { target, start, end }).collect();
    Ok(KeptCache { heads: head.targets, ranges, traces: head.traces, index })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_cache::Shape;

    #[test]
    fn what_is_kept_reads_back_and_no_changed_byte_does() {
        let shape = Shape::new(2 << 20, 4096, 512).unwrap();
        let words = (0..=shape.slot_count()).map(|n| if n == 0 { 3 } else { u64::from(n) * 7 });
        let kept = KeptCache {
            heads: vec![TargetHead { name: "a".into(), ..TargetHead::default() }],
            ranges: vec![Range { target: 0, start: 0, end: 8192 }],
            traces: vec![Some(Trace::Changed(5, 6)), None],
            index: Index::from_stored(shape, words).unwrap(),
        };
        let bytes = kept.to_bytes().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        assert!(matches!(read_kept_cache(&path, shape), Ok(None)));
        files::replace_file(&path, &bytes).unwrap();
        let again = read_kept_cache(&path, shape).unwrap().flatten().unwrap();
        assert!(again.index.to_stored().eq(kept.index.to_stored()));
        assert_eq!((again.heads, again.ranges, again.traces), (kept.heads, kept.ranges, kept.traces));
        let other = Shape::new(3 << 20, 4096, 512).unwrap();
        assert!(read_kept_cache(&path, other).unwrap_err().contains("2097152 bytes"));
        for at in (0..bytes.len()).step_by(97) {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1;
            assert!(parse_kept_cache(&wrong, shape).is_err(), "byte {at}");
        }
        for length in [0, 7, SUM, bytes.len() - 1] {
            assert!(parse_kept_cache(&bytes[..length], shape).is_err(), "{length} bytes");
        }
        files::replace_file(&path, IN_USE).unwrap();
        assert!(matches!(read_kept_cache(&path, shape), Ok(Some(None))));
        std::os::unix::fs::symlink(&path, dir.path().join("link")).unwrap();
        assert!(read_kept_cache(&dir.path().join("link"), shape).is_err(), "no link is followed");
    }
}
