//! Consent for one device and no other, and a device that changes after it was admitted.
#![allow(clippy::disallowed_methods, reason = "a test makes files of its own")]
#![allow(clippy::unwrap_used, reason = "a helper that cannot go on ends its test")]

use crate::safety_common;

use assay_device::safety::{Expect, Gate, Kind, Request, Roots, RuleId::*, Watermark};
use safety_common::live::{Loop, root, run, turn};
use safety_common::offer::{admit, dir, examine};
use safety_common::tree::Tree;
use std::os::unix::fs::symlink;

const MIB: u64 = 1 << 20;

/// A real device in a made-up process table.
#[test]
fn in_a_container_and_on_an_overlay() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "blank", MIB);
    let tree = Tree::new();
    let gate = Gate::new(Roots { proc: tree.path("proc"), ..Roots::of_machine() });
    let tokens: Vec<String> = gate.examine_path(device.path()).token.into_iter().collect();
    let request = Request { tokens: &tokens, ..Request::new(device.path()) };
    assert!(gate.admit_target(&request).is_ok());
    // An overlay names no disk; the exclusive claim on the target shows that the overlay is not on it.
    tree.mounts("1 0 0:30 / / rw - overlay overlay rw\n");
    assert!(gate.admit_target(&request).is_ok());
    std::fs::remove_file(tree.path("proc/self/ns/pid")).unwrap();
    symlink("pid:[4026532222]", tree.path("proc/self/ns/pid")).unwrap();
    let refusal = gate.admit_target(&request).unwrap_err();
    assert_eq!((refusal.rule, refusal.to_string().contains("--in-container")), (S6, true), "{refusal}");
    let permit = gate.admit_target(&Request { in_container: true, ..request }).unwrap();
    assert!(permit.result_watermarks().contains(&Watermark::Container));
}

/// Consent by serial number and size instead of a token: both must be correct.
#[test]
fn consent_by_name() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "blank", MIB);
    let Kind::Block(number) = examine(device.path()).kind else { panic!("a block device") };
    let tree = Tree::new();
    let name = device.dev.strip_prefix("/dev/").unwrap();
    let described = tree.disk("pci0/ata1", name, &number.to_string());
    std::fs::write(described.join("serial"), "S-77\n").unwrap();
    let gate = Gate::new(Roots { sys: tree.path("sys"), ..Roots::of_machine() });
    for (serial, size, rule) in [("S-77", MIB, None), ("S-77", MIB + 512, Some(Consent)), ("S-78", MIB, Some(Consent))]
    {
        let expect = Expect { serial: serial.into(), size };
        let done = gate.admit_target(&Request { expect: Some(&expect), ..Request::new(device.path()) });
        assert_eq!(done.err().map(|refusal| refusal.rule), rule, "{serial} {size}");
    }
    // S12: another serial number for the same name.
    let expect = Expect { serial: "S-77".into(), size: MIB };
    let permit = gate.admit_target(&Request { expect: Some(&expect), ..Request::new(device.path()) }).unwrap();
    assert!(permit.recheck_target().is_ok());
    std::fs::write(described.join("serial"), "S-99\n").unwrap();
    assert_eq!(permit.recheck_target().unwrap_err().rule, S12);
}

#[test]
fn a_change_of_the_device_is_noticed() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let first = Loop::blank(dir.path(), "first", MIB);
    let second = Loop::blank(dir.path(), "second", MIB);
    let link = dir.path().join("link");
    symlink(first.path(), &link).unwrap();
    let permit = admit(&link, &[]).unwrap();
    assert!(permit.recheck_target().is_ok());
    std::fs::remove_file(&link).unwrap();
    let gone = permit.recheck_target().unwrap_err();
    assert_eq!(gone.rule, S12, "{gone}");
    symlink(second.path(), &link).unwrap();
    let moved = permit.recheck_target().unwrap_err();
    assert_eq!((moved.rule, moved.to_string().contains("now")), (S12, true), "{moved}");
    std::fs::remove_file(&link).unwrap();
    symlink(first.path(), &link).unwrap();
    assert!(permit.recheck_target().is_ok());
    std::fs::File::options().write(true).open(&first.image).unwrap().set_len(MIB / 2).unwrap();
    run(&["losetup", "-c", &first.dev]).unwrap();
    let shrunk = permit.recheck_target().unwrap_err();
    assert_eq!((shrunk.rule, shrunk.to_string().contains("its size was")), (S12, true), "{shrunk}");
}
