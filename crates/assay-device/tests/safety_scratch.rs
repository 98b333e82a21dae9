//! Scratch files: created, admitted without a token, undamaged by a workload that writes every usable byte, removed
//! only by their creator. Runs without privileges.
#![allow(clippy::disallowed_methods, reason = "a test makes files of its own")]
#![allow(clippy::unwrap_used, reason = "a helper that cannot go on ends its test")]

use assay_base::stamp::Stamp;
use assay_device::safety::{Gate, Needs, Permit, Request, RuleId::*, Watermark, scratch};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

const MIB: u64 = 1 << 20;

/// A page-aligned block of our own payload.
#[repr(C, align(4096))]
struct Block([u8; 4096]);

fn fill(permit: &Permit) {
    let mut block = Block([0x5c; 4096]);
    for at in (0..permit.full_shape().size).step_by(4096) {
        Stamp { run: 9, generation: at as u32 }.write_to_block(&mut block.0);
        assert_eq!(rustix::io::pwrite(permit.borrow_fd(), &block.0, at).unwrap(), 4096);
    }
}

#[test]
fn made_filled_found_again_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scratch");
    let permit = scratch::create_scratch(&path, 3 * MIB + 1).unwrap();
    assert_eq!(permit.geometry().size, 3 * MIB + 4096, "rounded up to 4 KiB");
    let meta = std::fs::metadata(&path).unwrap();
    assert_eq!((meta.len(), meta.mode() & 0o777), (3 * MIB + 8192, 0o600));
    assert!(meta.blocks() * 512 >= meta.len(), "its space is reserved");
    fill(&permit);
    permit.recheck_target().unwrap();
    let refused = Gate::of_machine().admit_target(&Request::new(&path)).unwrap_err();
    assert_eq!(refused.rule, S13, "one permit at a time: {refused}");
    drop(permit);

    let exam = Gate::of_machine().examine_path(&path);
    assert!(exam.accepted && exam.token.is_none(), "{exam:?}");
    let again = Gate::of_machine().admit_target(&Request::new(&path)).unwrap();
    assert!(!again.remove_scratch().unwrap(), "it was there before");
    assert!(path.exists());

    let other = dir.path().join("other");
    assert!(scratch::create_scratch(&other, MIB).unwrap().remove_scratch().unwrap());
    assert!(!other.exists());
}

#[test]
fn nothing_is_made_over_or_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    let taken = dir.path().join("taken");
    std::fs::write(&taken, b"mine").unwrap();
    let refused = scratch::create_scratch(&taken, MIB).unwrap_err();
    assert_eq!((refused.rule, refused.to_string().contains("exists already")), (S10, true), "{refused}");
    assert_eq!(std::fs::read(&taken).unwrap(), b"mine");
    std::os::unix::fs::symlink(dir.path().join("elsewhere"), dir.path().join("link")).unwrap();
    assert_eq!(scratch::create_scratch(&dir.path().join("link"), MIB).unwrap_err().rule, S10);
    assert!(!dir.path().join("elsewhere").exists());

    let path = dir.path().join("scratch");
    for (size, rule) in [(1 << 62, S10), (u64::MAX, S3)] {
        assert_eq!(scratch::create_scratch(&path, size).unwrap_err().rule, rule, "{size}");
        assert!(!path.exists(), "{size}");
    }
    let needs = Needs { extent: u128::from(MIB) + 4096, alignment: 4096 };
    let refused = Gate::of_machine().create_scratch(&Request { needs, ..Request::new(&path) }, MIB).unwrap_err();
    assert_eq!(refused.rule, S14);
    assert!(!path.exists(), "a refused scratch file is removed again");
    assert_eq!(scratch::create_scratch(&dir.path().join("no/such/dir/file"), MIB).unwrap_err().rule, S10);
}

#[test]
fn only_the_very_file_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scratch");
    let permit = scratch::create_scratch(&path, MIB).unwrap();
    std::fs::rename(&path, dir.path().join("moved")).unwrap();
    std::fs::write(&path, b"somebody's").unwrap();
    let changed = permit.recheck_target().unwrap_err();
    assert_eq!(changed.rule, S12, "{changed}");
    assert!(permit.remove_scratch().is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"somebody's");
}

#[test]
fn a_label_that_was_lost_or_a_file_that_was_cut_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 3] = [
        ("label overwritten", |path| {
            let file = std::fs::File::options().write(true).open(path).unwrap();
            file.write_all_at(&[0; 4096], MIB).unwrap();
        }),
        ("cut", |path| {
            // Without a byte in it, it would be nobody's.
            let file = std::fs::File::options().write(true).open(path).unwrap();
            file.write_all_at(&[0; 4096], 0).unwrap();
            file.set_len(MIB).unwrap();
        }),
        ("second name", |path| std::fs::hard_link(path, path.with_extension("link")).unwrap()),
    ];
    for (what, harm) in harms {
        let path = dir.path().join(what);
        let permit = scratch::create_scratch(&path, MIB).unwrap();
        harm(&path);
        assert_eq!(permit.recheck_target().unwrap_err().rule, S12, "{what}");
        drop(permit);
        assert_eq!(Gate::of_machine().admit_target(&Request::new(&path)).unwrap_err().rule, S10, "{what}");
    }
}

#[test]
fn a_file_in_use_elsewhere_in_its_log_directory_or_too_small() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scratch");
    drop(scratch::create_scratch(&path, MIB).unwrap());
    let request = Request::new(&path);
    let cases = [
        (Request { log_dir: Some(dir.path()), ..request }, S5),
        (Request { needs: Needs { extent: u128::from(MIB) + 1, alignment: 512 }, ..request }, S14),
        (Request { needs: Needs { extent: 0, alignment: 100 }, ..request }, S3),
    ];
    for (request, rule) in cases {
        assert_eq!(Gate::of_machine().admit_target(&request).unwrap_err().rule, rule);
    }
    let beside = dir.path().join("runs");
    let permit = Gate::of_machine().admit_target(&Request { log_dir: Some(&beside), ..request }).unwrap();
    let logged = permit.result_watermarks().contains(&Watermark::LogOnTarget);
    let unknown =
        permit.result_watermarks().iter().any(|m| matches!(m, Watermark::UnknownBacking | Watermark::Memory(_)));
    assert!(logged || unknown, "{:?}", permit.result_watermarks());
}

#[test]
fn a_read_pass_reads_any_file_and_writes_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plain");
    std::fs::write(&path, vec![3; 65536]).unwrap();
    let pass = Gate::of_machine().admit_read(&Request::new(&path)).unwrap();
    assert_eq!(pass.geometry().size, 65536);
    assert!(rustix::io::pwrite(pass.borrow_fd(), &[0; 4096], 0).is_err());
    assert!(!pass.engine_target().unwrap().is_writable());
    let needs = Needs { extent: 65537, alignment: 512 };
    assert_eq!(Gate::of_machine().admit_read(&Request { needs, ..Request::new(&path) }).unwrap_err().rule, S14);

    let ours = dir.path().join("ours");
    let permit = scratch::create_scratch(&ours, MIB).unwrap();
    assert!(permit.engine_target().unwrap().is_writable());
    assert_eq!(permit.discard_all().unwrap_err().kind(), std::io::ErrorKind::Unsupported, "its space stays reserved");
    assert!(permit.overridden_rules().is_empty());
    drop(permit);
    let pass = Gate::of_machine().admit_read(&Request::new(&ours)).unwrap();
    assert_eq!(pass.geometry().size, MIB, "the label is not part of it");
}
