//! What a medium holds (rule S8): its first and last MiB and 62 samples between them, each either zero, ours, or of
//! ACT's generator.

use super::{generator, label};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const EDGE: u64 = 1 << 20;
const SAMPLES: u64 = 62;
const BLOCK: u64 = 4096;
/// What is read on either side of a sample that may be ACT's: enough even for data of which only a twentieth is random.
const AROUND: u64 = 32 << 10;

/// A page-aligned buffer, as direct I/O requires.
pub(super) struct Aligned {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Aligned {
    /// `len` zero bytes.
    pub(super) fn new(len: usize) -> Aligned {
        let bytes = vec![0; len + 4096];
        let start = bytes.as_ptr().align_offset(4096);
        Aligned { bytes, start, len }
    }

    /// The bytes.
    pub(super) fn as_bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

/// Fills `buffer` from `offset` as far as the file reaches. Returns the bytes read.
pub(super) fn read_at_most(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    fill_buffer(buffer, offset, |rest, at| file.read_at(rest, at))
}

/// Fills `buffer` from `offset` with what `read` gets.
fn fill_buffer(
    buffer: &mut [u8],
    offset: u64,
    mut read: impl FnMut(&mut [u8], u64) -> io::Result<usize>,
) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match read(&mut buffer[got..], offset + got as u64) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        // After a partial sector only the end of the file can follow, and direct I/O could not read there.
        if !got.is_multiple_of(512) {
            break;
        }
    }
    Ok(got)
}

/// The findings about the content of a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Content {
    /// The first byte seen that is neither zero nor ours nor ACT's.
    pub foreign: Option<u64>,
    /// Bytes looked at.
    pub read: u64,
    /// Whether any block carries our stamp.
    pub ours: bool,
    /// Whether any sector comes from ACT's generator.
    pub of_act: bool,
}

/// Examines the first `size` bytes of the file.
///
/// # Errors
/// A part could not be read, or the medium ends before `size`.
pub(super) fn examine_content(file: &File, size: u64) -> io::Result<Content> {
    let mut content = Content { foreign: None, read: 0, ours: false, of_act: false };
    for (offset, len) in sample_places(size) {
        let mut buffer = read_all(file, size, offset, len)?;
        let data = &buffer.as_bytes()[..len as usize];
        content.read += len;
        content.ours |= data.chunks(BLOCK as usize).any(label::is_stamped);
        let foreign: Vec<usize> = label::foreign_sectors(data).collect();
        if foreign.is_empty() {
            continue;
        }
        content.of_act = true;
        if let Some(at) = not_of_act(file, size, offset, len, &foreign)? {
            content.foreign = Some(offset + at);
            break;
        }
    }
    Ok(content)
}

/// A digest of the samples.
///
/// # Errors
/// As of [`examine_content`].
pub(super) fn digest_samples(file: &File, size: u64) -> io::Result<[u8; 32]> {
    let mut digest = blake3::Hasher::new();
    for (offset, len) in sample_places(size) {
        digest.update(&read_all(file, size, offset, len)?.as_bytes()[..len as usize]);
    }
    Ok(digest.finalize().into())
}

/// The first of these sectors, given as positions within a place that was read, that does not come from ACT's generator.
/// The surroundings of the place are read too: a single sector proves nothing.
fn not_of_act(file: &File, size: u64, offset: u64, len: u64, sectors: &[usize]) -> io::Result<Option<u64>> {
    let from = offset.saturating_sub(AROUND);
    let to = (offset + len).saturating_add(AROUND).min(size);
    let len = to - from;
    let known = generator::of_act(&read_all(file, size, from, len)?.as_bytes()[..len as usize]);
    let is_known = |at: u64| known.get(((offset + at - from) / 512) as usize) == Some(&true);
    Ok(sectors.iter().map(|at| *at as u64).find(|at| !is_known(*at)))
}

fn read_all(file: &File, size: u64, offset: u64, len: u64) -> io::Result<Aligned> {
    let mut buffer = Aligned::new((len as usize).next_multiple_of(BLOCK as usize));
    let got = read_at_most(file, buffer.as_bytes(), offset)? as u64;
    if got < len {
        Err(io::Error::other(format!("it ends at byte {}, before its size of {size}", offset + got)))
    } else {
        Ok(buffer)
    }
}

/// Block-aligned offsets and lengths of what is read: both ends, and evenly spread samples between them.
fn sample_places(size: u64) -> Vec<(u64, u64)> {
    if size <= 2 * EDGE {
        return (0..size.div_ceil(EDGE)).map(|i| (i * EDGE, EDGE.min(size - i * EDGE))).collect();
    }
    let tail = (size - EDGE) / BLOCK * BLOCK;
    let step = (tail - EDGE) / (SAMPLES + 1);
    let sample = |i: u64| ((EDGE + step * i) / BLOCK * BLOCK, BLOCK);
    let between = (1..=SAMPLES).map(sample).filter(|(offset, _)| *offset >= EDGE && offset + BLOCK <= tail);
    std::iter::once((0, EDGE)).chain(between).chain([(tail, size - tail)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_lie_inside_and_reach_both_ends() {
        for size in [512, 4096, 5000, EDGE, 2 * EDGE + 512, 100 << 20, 1 << 44, (1 << 30) + 1536] {
            let places = sample_places(size);
            assert_eq!(places[0].0, 0);
            let last = places[places.len() - 1];
            assert_eq!(last.0 + last.1, size, "{size}");
            assert!(places.iter().all(|(o, l)| o.is_multiple_of(BLOCK) && *l > 0 && o + l <= size), "{size}");
            assert!(places.len() <= 64);
            let ends = || places.windows(2).map(|pair| (pair[0].0 + pair[0].1, pair[1].0));
            assert!(ends().all(|(end, next)| end <= next), "{size}: none is read twice");
            if size <= 2 * EDGE {
                assert!(ends().all(|(end, next)| end == next), "{size}: a small medium is read whole");
            } else if size > 1 << 24 {
                let gaps: Vec<u64> = ends().map(|(end, next)| next - end).collect();
                let (least, most) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
                assert!(most - least <= 2 * BLOCK + SAMPLES, "{size}: evenly, {least} to {most}");
            }
            if size > 1 << 22 {
                assert_eq!(places.len() as u64, SAMPLES + 2, "{size}");
            }
        }
    }

    /// Each row: what the reads return one after the other, and what comes of it. A negative number is an error.
    #[test]
    fn an_interrupted_read_is_repeated_and_a_partial_sector_is_the_end() {
        use rustix::io::Errno;
        let (interrupted, failed) = (-1, -2);
        for (reads, expected, tried) in [
            (&[2048][..], Some(2048), 1),
            (&[512, 1024, 512], Some(2048), 3),
            (&[512, interrupted, interrupted, 1536], Some(2048), 4),
            (&[1024, 0], Some(1024), 2),
            (&[0], Some(0), 1),
            (&[100], Some(100), 1),
            (&[512, 100], Some(612), 2),
            (&[512, failed], None, 2),
            (&[failed], None, 1),
        ] {
            let (mut buffer, mut places) = ([0; 2048], Vec::new());
            let found = fill_buffer(&mut buffer, 4096, |rest, at| {
                let read = reads[places.len()];
                places.push(at);
                assert_eq!(at as usize - 4096 + rest.len(), 2048, "the rest of the buffer");
                match usize::try_from(read) {
                    Ok(n) => Ok(n),
                    Err(_) if read == interrupted => Err(Errno::INTR.into()),
                    Err(_) => Err(Errno::IO.into()),
                }
            });
            assert_eq!((found.ok(), places.len()), (expected, tried), "{reads:?}");
        }
    }

    #[test]
    fn everything_that_is_looked_at_counts() {
        let size = 3 * EDGE / 2;
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        let content = examine_content(&file, size).unwrap();
        assert_eq!(content, Content { foreign: None, read: size, ours: false, of_act: false });
        let act: Vec<u8> = generator::Act(3, 4).take(1024).flat_map(u64::to_le_bytes).collect();
        for (at, foreign) in [(0, None), (EDGE - 4096, None), (size - 8192, None)] {
            file.set_len(0).unwrap();
            file.set_len(size).unwrap();
            file.write_all_at(&act, at).unwrap();
            let content = examine_content(&file, size).unwrap();
            assert_eq!((content.foreign, content.of_act, content.read), (foreign, true, size), "{at}");
        }
        file.write_all_at(&assay_base::stamp::MAGIC, size - 4096).unwrap();
        assert!(examine_content(&file, size).unwrap().ours, "one block of ours at the end");
        file.write_all_at(&assay_base::stamp::MAGIC, 0).unwrap();
        file.write_all_at(&[0; 8192], size - 8192).unwrap();
        assert!(examine_content(&file, size).unwrap().ours, "one at the beginning");
        file.write_all_at(b"other", EDGE + 512).unwrap();
        assert_eq!(examine_content(&file, size).unwrap().foreign, Some(EDGE + 512));
    }

    /// Six words in each sector are too few to prove anything within a sample; with what lies around it they do.
    #[test]
    fn a_sample_of_mostly_zeros_is_known_by_its_surroundings() {
        let size = 8 * EDGE;
        let mut act = generator::Act(5, 6);
        let word = |at: u64| if at % 64 < 58 { 0 } else { act.next().unwrap() };
        let bytes: Vec<u8> = (0..size / 8).map(word).flat_map(u64::to_le_bytes).collect();
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        let content = examine_content(&file, size).unwrap();
        assert_eq!((content.foreign, content.of_act, content.read < size), (None, true, true));
    }

    #[test]
    fn one_foreign_byte_at_an_edge_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("medium");
        let size = 8u64 << 20;
        for (at, expected) in
            [(None, None), (Some(0), Some(0)), (Some(size - 1), Some(size - 512)), (Some(EDGE - 1), Some(EDGE - 512))]
        {
            let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
            file.set_len(size).unwrap();
            if let Some(at) = at {
                file.write_all_at(&[1], at).unwrap();
            }
            assert_eq!(examine_content(&file, size).unwrap().foreign, expected);
        }
        let file = File::options().write(true).read(true).truncate(true).open(&path).unwrap();
        file.set_len(size).unwrap();
        assert!(examine_content(&file, size + 4096).is_err());
    }
}
