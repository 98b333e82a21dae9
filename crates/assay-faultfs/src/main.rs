//! `faultfs MOUNTPOINT --size 256MiB`: the disk as a program, until its standard input closes or SIGTERM arrives;
//! `faultfs MOUNTPOINT --tree`: the tree.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, reason = "a program prints and waits")]

use assay_faultfs::{FaultDisk, FaultTree, bytes};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What is mounted, as long as it is.
enum Mounted {
    Disk(FaultDisk),
    Tree(FaultTree),
}

impl Mounted {
    /// Mounts what the words behind the mount point ask for; `None` where they are not understood.
    fn from_words(mountpoint: &Path, words: &[&str]) -> Option<io::Result<Mounted>> {
        let size = match words {
            ["--tree"] => return Some(FaultTree::mount(mountpoint).map(Mounted::Tree)),
            [] => 256 << 20,
            ["--size", size] => bytes(size)?,
            _ => return None,
        };
        Some(FaultDisk::mount(size, mountpoint).map(Mounted::Disk))
    }

    /// What a client uses.
    fn path(&self) -> PathBuf {
        match self {
            Mounted::Disk(disk) => disk.disk(),
            Mounted::Tree(tree) => tree.path().to_path_buf(),
        }
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().skip(1).map(String::as_str).collect();
    block_ends();
    let mounted = args.first().and_then(|mountpoint| Mounted::from_words(Path::new(mountpoint), &words));
    match mounted {
        None => {
            eprintln!("usage: faultfs MOUNTPOINT [--size 256MiB | --tree]");
            ExitCode::from(2)
        }
        Some(Ok(mounted)) => {
            println!("{}", mounted.path().display());
            until_the_end();
            ExitCode::SUCCESS
        }
        Some(Err(e)) => {
            eprintln!("{} cannot be mounted: {e}", args[0]);
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
