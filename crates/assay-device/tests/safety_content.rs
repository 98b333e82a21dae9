//! What a device contains, on real loop devices: blank and our own data is accepted, everything else is refused, and
//! then not one byte of it may change.
#![allow(clippy::disallowed_methods, reason = "a test makes files of its own")]
#![allow(clippy::unwrap_used, reason = "a helper that cannot go on ends its test")]

use crate::safety_common;

use assay_base::stamp::Stamp;
use assay_device::safety::{Gate, Needs, Request, RuleId::*, Standing, Watermark};
use safety_common::live::losetup::attach;
use safety_common::live::{Holder, Loop, have, root, run, skip, sum, turn};
use safety_common::offer::{admit, dir, examine, protected};
use std::os::unix::fs::FileExt;

const MIB: u64 = 1 << 20;

/// A block aligned for direct I/O.
#[repr(C, align(4096))]
struct Block([u8; 4096]);

#[test]
fn a_blank_device_is_accepted_with_its_token_only() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "blank", 16 * MIB);
    let exam = examine(device.path());
    assert!(exam.accepted, "{exam:?}");
    assert_eq!(exam.watermarks.first(), Some(&Watermark::Loop(device.dev[5..].to_owned())));
    let token = exam.token.clone().unwrap();
    assert_eq!(token.len(), 8);
    let gate = Gate::of_machine();
    let request = Request::new(device.path());
    for tokens in [vec![], vec!["00000000".to_owned()], vec![String::new()], vec![token[..7].to_owned()]] {
        let refusal = gate.admit_target(&Request { tokens: &tokens, ..request }).unwrap_err();
        let why = if tokens.is_empty() { "no token was given" } else { "none of the given tokens" };
        assert!(refusal.to_string().contains(why), "{tokens:?}: {refusal}");
        assert_eq!(refusal.rule, Consent, "{refusal}");
    }
    let tokens = ["deadbeef".to_owned(), token];
    let permit = gate.admit_target(&Request { tokens: &tokens, ..request }).unwrap();
    assert_eq!(permit.full_shape().size, 16 * MIB);
    assert!(
        permit.full_shape().direct
            && permit.covers_range(16 * MIB - 512, 512)
            && !permit.covers_range(16 * MIB - 512, 513)
    );
    assert!(!permit.covers_range(u64::MAX, 512));
    assert!(permit.recheck_target().is_ok() && permit.overridden_rules().is_empty());
    // The control: one byte written through a permit changes the checksum that all other cases rely on.
    let before = sum(&device.image);
    let mut block = Block([0; 4096]);
    block.0[77] = 1;
    assert_eq!(rustix::io::pwrite(permit.borrow_fd(), &block.0, 8 * MIB).unwrap(), 4096);
    rustix::fs::fsync(permit.borrow_fd()).unwrap();
    assert_ne!(sum(&device.image), before);
    assert!(!permit.remove_scratch().unwrap(), "a device is no scratch file");
}

#[test]
fn the_workload_must_fit_in_size_and_blocks() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "blank", MIB);
    let tokens = [examine(device.path()).token.unwrap()];
    for (extent, alignment, rule) in [
        (u128::from(MIB), 512, None),
        (u128::from(MIB) + 1, 512, Some(S14)),
        (u128::from(u64::MAX) + 1 + u128::from(MIB), 512, Some(S14)),
        (0, 100, Some(S3)),
    ] {
        let needs = Needs { extent, alignment };
        let done = Gate::of_machine().admit_target(&Request { tokens: &tokens, needs, ..Request::new(device.path()) });
        assert_eq!(done.err().map(|refusal| refusal.rule), rule, "{extent} {alignment}");
    }
}

#[test]
fn a_device_we_prepared_is_known_again() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "ours", 8 * MIB);
    let mut block = vec![0xabu8; 4096];
    Stamp { run: 1, generation: 2 }.write_to_block(&mut block);
    for i in 0..8 * MIB / 4096 {
        std::fs::File::options().write(true).open(&device.image).unwrap().write_all_at(&block, i * 4096).unwrap();
    }
    run(&["sync", "-f", device.image.to_str().unwrap()]).unwrap();
    drop(admit(device.path(), &[]).unwrap());
    // Somebody created a partition table on it since: its first sector still begins with our stamp.
    if have("sfdisk") {
        run(&["sh", "-c", &format!("echo ',,83' | sfdisk -q --label dos {}", device.dev)]).unwrap();
        protected("a table over our data", device.path(), &[&device.image], S7, "DOS partition table");
    }
}

/// What a permit can do to a whole device; and a file, which it leaves as it is.
#[test]
fn a_device_is_discarded_to_its_end() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "device", MIB);
    let permit = admit(device.path(), &[]).unwrap();
    assert_eq!((permit.geometry().size, permit.gate_examination().size), (MIB, Some(MIB)));
    device.write(0, &vec![0xff; MIB as usize]);
    permit.discard_all().unwrap();
    drop(permit);
    let left = std::fs::read(device.path()).unwrap();
    assert_eq!((left.len() as u64, left.iter().position(|byte| *byte != 0)), (MIB, None));
    let pass = Gate::of_machine().admit_read(&Request::new(device.path())).unwrap();
    assert_eq!((pass.full_shape().size, pass.gate_examination().size), (MIB, Some(MIB)));
    let flags = rustix::fs::fcntl_getfl(pass.borrow_fd()).unwrap();
    assert!(flags.contains(rustix::fs::OFlags::DIRECT), "past the cache: {flags:?}");
    assert_eq!(pass.result_watermarks(), [Watermark::Loop(device.dev[5..].to_owned())]);
}

/// Signatures written by hand where the tool may be missing; the rest of the medium is blank.
#[test]
fn signatures() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let size = 8 * MIB;
    let device = Loop::blank(dir.path(), "marked", size);
    let uberblock = 0x00ba_b10cu64.to_le_bytes();
    let bcache = b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";
    let marks: &[(&str, u64, &[u8])] = &[
        ("LVM physical volume", 512, b"LABELONE"),
        ("GPT", 512, b"EFI PART"),
        ("GPT second header", size - 512, b"EFI PART"),
        ("md RAID 1.2", 4096, &[0xfc, 0x4e, 0x2b, 0xa9]),
        ("md RAID 1.0", size - 8192, &[0xfc, 0x4e, 0x2b, 0xa9]),
        ("md RAID 0.90", size - 65536, &[0xfc, 0x4e, 0x2b, 0xa9]),
        ("LUKS", 0, b"LUKS\xba\xbe"),
        ("bcache", 4120, bcache),
        ("ZFS", 256 * 1024 + 128 * 1024 + 7 * 1024, &uberblock),
        ("ZFS", size - 256 * 1024 + 128 * 1024, &uberblock),
        ("swap", 4086, b"SWAPSPACE2"),
        ("btrfs", 0x1_0040, b"_BHRfS_M"),
        ("xfs", 0, b"XFSB"),
        ("Oracle ASM", 32, b"ORCLDISK"),
        ("Intel RAID", size - 1024, b"Intel Raid ISM Cfg Sig. "),
        ("DOS partition table", 510, &[0x55, 0xaa]),
    ];
    for (name, offset, bytes) in marks {
        device.write(*offset, bytes);
        protected(name, device.path(), &[&device.image], S7, name);
        // Overriding only the signature is not enough: the data is unknown too.
        assert_eq!(admit(device.path(), &[S7]).unwrap_err().rule, S8, "{name}");
        let permit = admit(device.path(), &[S7, S8]).unwrap();
        assert_eq!(permit.overridden_rules(), [S7, S8], "{name}");
        drop(permit);
        device.write(*offset, &vec![0; bytes.len()]);
    }
    assert!(admit(device.path(), &[]).is_ok(), "blank again");
    for (command, name) in
        [(vec!["mkswap", &device.dev], "swap"), (vec!["mkfs.ext4", "-q", "-F", &device.dev], "ext2/3/4")]
    {
        if have(command[0]) {
            run(&command).unwrap();
            protected(command[0], device.path(), &[&device.image], S7, name);
            device.write(0, &vec![0; size as usize]);
        }
    }
}

#[test]
fn unknown_data() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    // Not a multiple of 4 KiB: the last sectors are read too.
    let size = 64 * MIB + 1536;
    let device = Loop::blank(dir.path(), "unknown", size);
    for (what, from, to) in
        [("the first MiB", 700_000, 700_010), ("the last sector", size - 3, size), ("the middle", 2 * MIB, 62 * MIB)]
    {
        device.write(from, &vec![0x5a; (to - from) as usize]);
        protected(what, device.path(), &[&device.image], S8, "unknown data");
        assert!(admit(device.path(), &[S8]).is_ok(), "{what}: it is for a person to say");
        device.write(from, &vec![0; (to - from) as usize]);
    }
    assert!(admit(device.path(), &[]).is_ok());
}

#[test]
fn devices_that_cannot_be_written() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let image = dir.path().join("image");
    std::fs::File::create(&image).unwrap().set_len(MIB).unwrap();
    let fixed = Loop::over(&image, &["-r"]);
    protected("read-only", fixed.path(), &[&image], S3, "read-only");
    drop(fixed);
    let empty = dir.path().join("empty");
    std::fs::File::create(&empty).unwrap();
    match attach(&empty, &[]) {
        Ok(dev) => {
            let device = Loop { image: empty, dev };
            protected("size 0", device.path(), &[], S3, "size is 0");
        }
        Err(why) => skip(&why),
    }
}

/// What ACT writes: the outputs of its generator, for any seed.
fn acts(seed: (u64, u64), bytes: usize) -> Vec<u8> {
    let (mut a, mut b) = seed;
    let mut draw = || {
        let mut next = a ^ (a << 23);
        next ^= b ^ (next >> 17) ^ (b >> 26);
        (a, b) = (b, next);
        a.wrapping_add(b)
    };
    (0..bytes / 8).flat_map(|_| draw().to_le_bytes()).collect()
}

#[test]
fn a_device_that_act_wrote_is_known_and_what_lies_among_it_is_not() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let size = 16 * MIB + 512;
    let device = Loop::blank(dir.path(), "act", size);
    // Each thread of act_prep has its own seed and an eighth of the device; a test writes blocks with other seeds; the
    // tail stays zero.
    for part in 0..8 {
        device.write(part * 2 * MIB, &acts((part + 1, 77), 2 * MIB as usize));
    }
    device.write(5 * MIB, &acts((99, 1), 128 << 10));
    let exam = examine(device.path());
    let said = exam.rules.iter().find(|answer| answer.id == S8).unwrap();
    assert!(exam.accepted && said.evidence.contains("written by ACT"), "{said:?}");
    assert!(admit(device.path(), &[]).unwrap().overridden_rules().is_empty());
    assert_eq!(
        Gate::of_machine().admit_target(&Request::new(device.path())).unwrap_err().rule,
        Consent,
        "known is not agreed to"
    );
    device.write(16 * MIB, b"somebody's");
    protected("foreign data behind ACT's", device.path(), &[&device.image], S8, "unknown data");
    device.write(16 * MIB, &[0; 512]);
    device.write(300 * 512, &[0x55; 512]);
    protected("foreign data among ACT's", device.path(), &[&device.image], S8, "near byte 153600");
}

#[test]
fn a_consent_given_earlier_is_of_one_device_and_of_what_was_seen_on_it() {
    if !root() {
        return;
    }
    let (_turn, dir) = (turn(), dir());
    let device = Loop::blank(dir.path(), "device", 8 * MIB);
    device.write(0, b"XFSB");
    let seen = examine(device.path());
    let evidence = |id| seen.rules.iter().find(|answer| answer.id == id).unwrap().evidence.clone();
    let given = Standing {
        in_container: false,
        record: None,
        marks: seen.marks.clone(),
        overrides: vec![(S7, evidence(S7)), (S8, evidence(S8))],
        words: "by the consent of yesterday".into(),
    };
    let offer = |standing: Standing| {
        Gate::of_machine().admit_target(&Request { standing: &[standing], ..Request::new(device.path()) })
    };
    let permit = offer(given.clone()).unwrap();
    assert_eq!(permit.overridden_rules(), [S7, S8]);
    let told = permit.gate_examination().rules.iter().find(|answer| answer.id == Consent).unwrap();
    assert_eq!(told.evidence, "by the consent of yesterday");
    drop(permit);
    // Consents for no device, for another device, without the overrides, for another signature.
    let other = |change: &dyn Fn(&mut Standing)| {
        let mut standing = given.clone();
        change(&mut standing);
        offer(standing).unwrap_err().rule
    };
    assert_eq!(other(&|it| it.marks.clear()), S7);
    assert_eq!(other(&|it| drop(it.marks.insert("serial".into(), "S1".into()))), S7);
    assert_eq!(other(&|it| drop(it.marks.insert("size in bytes".into(), "1".into()))), S7);
    assert_eq!(other(&|it| it.overrides.truncate(1)), S8);
    assert_eq!(other(&|it| it.overrides[0].1 = "ext4 at byte 1080".into()), S7);
    // It does not allow taking the device from a process.
    let _open = Holder::shell(&format!("exec 3<>{}; echo held; read x", device.dev));
    assert_eq!(other(&|it| it.overrides.push((S6, String::new()))), S6);
    assert_eq!(other(&|it| it.overrides.push((S6, "postgres".to_owned()))), S6);
    // Unless it names the process.
    let mut named = given.clone();
    named.overrides.push((S6, "collectd\nsh".to_owned()));
    assert!(offer(named).unwrap().overridden_rules().contains(&S6));
}
