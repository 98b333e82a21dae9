//! What the kernel is told about a file that is used through its page cache.

use crate::open::Target;
use rustix::fs::{Advice, fadvise, fdatasync};
use rustix::io::Errno;
use std::num::NonZeroU64;

/// The order of the operations on a file; the kernel reads ahead accordingly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nothing is known.
    Any,
    /// Mostly sequential.
    Sequential,
    /// Mostly random.
    Random,
}

/// Tells the kernel in which order the operations on `target` come.
///
/// # Errors
/// The file system takes no advice.
pub fn advise_order(target: &Target, order: Order) -> Result<(), Errno> {
    let advice = match order {
        Order::Any => Advice::Normal,
        Order::Sequential => Advice::Sequential,
        Order::Random => Advice::Random,
    };
    advise_whole_target(target, advice)
}

/// Asks the kernel to drop what it has of `target`. It keeps what has not been written to the disk yet.
///
/// # Errors
/// The file system takes no advice.
pub fn drop_clean(target: &Target) -> Result<(), Errno> {
    advise_whole_target(target, Advice::DontNeed)
}

/// Writes everything to the disk that the kernel has of `target`, then asks it to drop that: what is read afterwards
/// comes from the disk.
///
/// # Errors
/// Something could not be written, and is lost.
pub fn write_and_drop(target: &Target) -> Result<(), Errno> {
    fdatasync(target.borrow_fd())?;
    drop_clean(target)
}

fn advise_whole_target(target: &Target, advice: Advice) -> Result<(), Errno> {
    fadvise(target.borrow_fd(), 0, None::<NonZeroU64>, advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::safety::{Gate, Request, Watermark};
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    /// How many pages of the first `len` bytes of a file are in memory.
    fn resident(file: &File, len: usize) -> usize {
        let mut pages = vec![0u8; len.div_ceil(4096)];
        // SAFETY: the mapping is only looked at by mincore, which stores one byte for each page of it in `pages`.
        unsafe {
            let map = libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
            assert_ne!(map, libc::MAP_FAILED);
            assert_eq!(libc::mincore(map, len, pages.as_mut_ptr()), 0);
            assert_eq!(libc::munmap(map, len), 0);
        }
        pages.iter().filter(|page| **page & 1 == 1).count()
    }

    #[test]
    fn what_was_written_reaches_the_disk_and_leaves_memory() {
        const LEN: usize = 1 << 20;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        drop(Gate::of_machine().create_scratch(&Request::new(&path), LEN as u64).unwrap());
        let permit = Gate::of_machine().admit_target(&Request { page_cache: true, ..Request::new(&path) }).unwrap();
        assert!(
            permit.result_watermarks().contains(&Watermark::PageCache) && !permit.full_shape().direct,
            "{permit:?}"
        );
        let target = permit.engine_target().unwrap();
        let file = File::from(target.borrow_fd().try_clone_to_owned().unwrap());
        file.write_all_at(&[7; LEN], 0).unwrap();
        assert!(resident(&file, LEN) > 0);
        for order in [Order::Sequential, Order::Random, Order::Any] {
            advise_order(&target, order).unwrap();
        }
        write_and_drop(&target).unwrap();
        // A file system in memory has no other place for it.
        let in_memory = permit.result_watermarks().iter().any(|mark| matches!(mark, Watermark::Memory(_)));
        assert_eq!(resident(&file, LEN) == 0, !in_memory);
        let mut back = vec![0; LEN];
        file.read_exact_at(&mut back, 0).unwrap();
        assert!(back.iter().all(|byte| *byte == 7));
    }
}
