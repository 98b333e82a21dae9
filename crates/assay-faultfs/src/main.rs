//! `faultfs MOUNTPOINT --size 256MiB`: the disk as a program, until its standard input closes or SIGTERM arrives.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, reason = "a program prints and waits")]

use assay_faultfs::{FaultDisk, bytes};
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let size = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_] => Some(256 << 20),
        [_, "--size", size] => bytes(size),
        _ => None,
    };
    let (Some(size), Some(mountpoint)) = (size, args.first()) else {
        eprintln!("usage: faultfs MOUNTPOINT [--size 256MiB]");
        return ExitCode::from(2);
    };
    block_ends();
    match FaultDisk::mount(size, Path::new(mountpoint)) {
        Ok(disk) => {
            println!("{}", disk.disk().display());
            until_the_end();
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("{mountpoint} cannot be mounted: {e}");
            ExitCode::from(5)
        }
    }
}

/// The signals that end it.
fn ends() -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::uninit();
    // SAFETY: the set is initialised by the first call; both signals are valid.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
        libc::sigaddset(set.as_mut_ptr(), libc::SIGINT);
        set.assume_init()
    }
}

/// Blocks them in every thread, so that they can be waited for.
fn block_ends() {
    let ends = ends();
    // SAFETY: a valid set; no old mask is asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const ends, std::ptr::null_mut()) };
}

fn until_the_end() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        // SAFETY: a signal to ourselves.
        unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
    });
    let (ends, mut signal) = (ends(), 0);
    // SAFETY: both pointers live across the call.
    unsafe { libc::sigwait(&raw const ends, &raw mut signal) };
}
