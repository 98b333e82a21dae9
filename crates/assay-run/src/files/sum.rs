//! Checksums: BLAKE3 of bytes, of a whole input, and of what passes through a reader.

use assay_judge::judgement::LogSum;
use std::io::{self, Read};

/// BLAKE3 of some bytes, in hexadecimal.
pub fn blake3_hex(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// BLAKE3 of a whole input, in hexadecimal.
pub fn sum_of(from: impl Read) -> io::Result<String> {
    let mut hashing = Hashing::new(from);
    io::copy(&mut hashing, &mut io::sink())?;
    Ok(hashing.into_sum().blake3)
}

/// Counts and hashes what is read through it.
pub(crate) struct Hashing<R> {
    inner: R,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl<R> Hashing<R> {
    pub(crate) fn new(inner: R) -> Hashing<R> {
        Hashing { inner, hasher: blake3::Hasher::new(), bytes: 0 }
    }

    pub(crate) fn into_sum(self) -> LogSum {
        LogSum { bytes: self.bytes, blake3: self.hasher.finalize().to_hex().to_string() }
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}
