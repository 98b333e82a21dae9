//! Somebody who swaps what lies in our directory, again and again, while we write and clean there: outside no byte and no
//! name changes. Outside lies a tree with the same names and the same owner, so that every slip would show.

use crate::bed::{make_with, open, picture, plant, root, run};
use assay_files::own_dir::{Known, Names, OpenError, OwnDir, Resolution, list};
use rustix::fs::OFlags;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

const WAYS: [Resolution; 2] = [Resolution::Openat2, Resolution::ByComponent];
/// How often something must have been opened, and refused, before a race counts.
const ENOUGH: u32 = 50;
/// How often a tree is cleaned beneath a race.
const CLEANED: u32 = 60;

/// A place, and beside it what must not change, on one file system.
struct Bed {
    directory: tempfile::TempDir,
    names: Names,
}

impl Bed {
    fn new() -> Bed {
        let bed = Bed { directory: tempfile::tempdir().unwrap(), names: Names::for_run("run 1") };
        for directory in ["place", "outside", "aside"] {
            std::fs::create_dir(bed.at(directory)).unwrap();
        }
        std::fs::create_dir(bed.at("outside/tree")).unwrap();
        plant(&bed.at("outside/tree"), &bed.names);
        bed
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A planted directory of ours.
    fn planted(&self, resolution: Resolution) -> (OwnDir, PathBuf) {
        let own = make_with(&self.at("place"), "run 1", Some(resolution));
        let path = self.at("place").join(own.name());
        plant(&path, own.names());
        (own, path)
    }

    /// Removes whatever a race left in the place.
    fn sweep(&self) {
        for directory in ["place", "aside"] {
            std::fs::remove_dir_all(self.at(directory)).unwrap();
            std::fs::create_dir(self.at(directory)).unwrap();
        }
    }
}

/// Runs a swap again and again in a thread of its own, while `act` works.
fn beneath<T>(swap: impl Fn() + Sync, act: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap();
            }
        });
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        done.store(true, Ordering::Relaxed);
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Puts a link to the outside in the place of a directory of ours, and then the directory back.
fn swap_link(bed: &Bed, own: &Path) {
    let (ours, aside) = (own.join(bed.names.directory(0)), bed.at("aside/directory"));
    let outside = bed.at("outside/tree").join(bed.names.directory(0));
    let _ = std::fs::rename(&ours, &aside);
    let _ = symlink(outside, &ours);
    let _ = std::fs::remove_file(&ours);
    let _ = std::fs::rename(&aside, &ours);
}

/// Puts a further name of a file outside in the place of a file of ours, and then that file back.
fn swap_hard_link(bed: &Bed, own: &Path) {
    let ours = own.join(bed.names.directory(0)).join(bed.names.file(1));
    let outside = bed.at("outside/tree").join(bed.names.directory(0)).join(bed.names.file(1));
    let aside = bed.at("aside/file");
    let _ = std::fs::rename(&ours, &aside);
    let _ = std::fs::hard_link(outside, &ours);
    let _ = std::fs::rename(&aside, &ours);
}

/// Mounts the outside over a directory of ours, and unmounts it.
fn swap_mount(bed: &Bed, own: &Path) {
    let ours = own.join(bed.names.directory(0));
    let outside = bed.at("outside/tree").join(bed.names.directory(0));
    let _ = run(&["mount", "--bind", outside.to_str().unwrap(), ours.to_str().unwrap()]);
    let _ = run(&["umount", "-l", ours.to_str().unwrap()]);
}

type Swap = fn(&Bed, &Path);

/// Writes to files of ours until enough of them were opened and enough were refused.
fn written_beneath(swap: Swap) {
    let bed = Bed::new();
    let before = picture(&bed.at("outside"));
    for resolution in WAYS {
        let (own, path) = bed.planted(resolution);
        let file = format!("{}/{}", bed.names.directory(0), bed.names.file(1));
        let inode = path.join(&file).metadata().unwrap().ino();
        let (mut opened, mut refused) = (0, 0);
        beneath(
            || swap(&bed, &path),
            || {
                while opened < ENOUGH || refused < ENOUGH {
                    match own.directory().open_file(&file, OFlags::WRONLY | OFlags::TRUNC, Known::Inode(inode)) {
                        Ok(file) => {
                            opened += 1;
                            rustix::io::write(&file, b"written").unwrap();
                        }
                        Err(OpenError::Kernel(rustix::io::Errno::NOENT)) => {}
                        Err(_) => refused += 1,
                    }
                }
            },
        );
        assert_eq!(picture(&bed.at("outside")), before, "{resolution:?}");
        own.keep();
        bed.sweep();
    }
}

/// Lists and cleans trees of ours.
fn cleaned_beneath(swap: Swap, times: u32) {
    let bed = Bed::new();
    let before = picture(&bed.at("outside"));
    for turn in 0..times {
        let resolution = WAYS[turn as usize % 2];
        let (own, path) = bed.planted(resolution);
        beneath(
            || swap(&bed, &path),
            || {
                list(&open(&bed.at("place"))).unwrap();
                own.clean()
            },
        );
        assert_eq!(picture(&bed.at("outside")), before, "{resolution:?}");
        bed.sweep();
    }
}

#[test]
fn links_that_are_swapped_in_lead_nowhere() {
    written_beneath(swap_link);
    cleaned_beneath(swap_link, CLEANED);
}

#[test]
fn hard_links_that_are_swapped_in_are_not_written_through() {
    written_beneath(swap_hard_link);
    cleaned_beneath(swap_hard_link, CLEANED);
}

#[test]
fn mounts_that_are_swapped_in_are_not_entered() {
    if root() {
        written_beneath(swap_mount);
        cleaned_beneath(swap_mount, CLEANED / 6);
    }
}

/// The control: what goes by paths changes the outside.
#[test]
fn by_a_path_the_outside_would_be_changed() {
    let bed = Bed::new();
    let before = picture(&bed.at("outside"));
    let (own, path) = bed.planted(Resolution::Openat2);
    let file = path.join(bed.names.directory(0)).join(bed.names.file(1));
    beneath(
        || swap_link(&bed, &path),
        || {
            while picture(&bed.at("outside")) == before {
                let _ = std::fs::write(&file, "written");
            }
        },
    );
    own.keep();
}
