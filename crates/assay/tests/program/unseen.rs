//! What cannot be seen is refused: verbs of a root that may not look into other processes, offered a device that another
//! process uses, with its valid token. Docker starts root so, without the capability SYS_PTRACE. Not one byte changes.

use super::bed::{Place, Said};
use super::live::{Holder, Loop, have, root, sum};
use std::process::{Command, Stdio};

const MIB: u64 = 1 << 20;

/// A way in which processes are kept from the program.
struct Blindness {
    what: &'static str,
    /// A script that ends with the words of the program's command line, `"$@"`.
    script: &'static str,
    /// What a refusal names.
    evidence: &'static str,
}

/// Root without the right to look into processes of others.
const BLIND: [Blindness; 5] = [
    Blindness {
        what: "without SYS_PTRACE",
        script: "exec setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace \"$@\"",
        evidence: "cannot be seen",
    },
    Blindness {
        what: "without the rights to read directories of others",
        script: "exec capsh --drop=cap_dac_override,cap_dac_read_search,cap_sys_ptrace -- -c 'exec \"$@\"' sh \"$@\"",
        evidence: "cannot be seen",
    },
    Blindness {
        what: "hidepid",
        script: "mount -t proc -o hidepid=2 proc /proc && exec setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace \"$@\"",
        evidence: "which hides processes",
    },
    Blindness {
        what: "an empty /proc",
        script: "mount -t tmpfs none /proc && exec \"$@\"",
        // Nothing can be opened there either.
        evidence: "rule S",
    },
    Blindness {
        what: "the /proc of another namespace",
        script: "unshare -pf --kill-child sh -c 'mount -t proc proc /proc && exec sleep 1000' > /dev/null 2>&1 & \
                 while readlink /proc/self > /dev/null; do sleep 0.05; done; \"$@\"; code=$?; kill -9 $!; exit $code",
        evidence: "rule S",
    },
];

/// Runs the program in a mount namespace of its own, made blind.
fn blind(place: &Place, blindness: &Blindness, words: &[&str], token: &str) -> Said {
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", blindness.script, "sh", env!("CARGO_BIN_EXE_assay")]).args(words);
    command.current_dir(place.path(".")).env("XDG_STATE_HOME", place.path("state"));
    command.env("ASSAY_DESTROY_DATA", token).stdin(Stdio::null());
    Said::of(command.output().unwrap(), words)
}

#[test]
fn a_device_whose_user_cannot_be_seen_is_refused() {
    if !(root() && have("setpriv") && have("capsh") && have("unshare")) {
        return;
    }
    let place = Place::new();
    let device = Loop::blank(&place.path("."), "image", 8 * MIB);
    let conf = place
        .write("act.conf", &format!("device-names: {}\ntest-duration-sec: 1\nwrite-reqs-per-sec: 1000\n", device.dev));
    let token = place.assay(&["devices", "--json", &device.dev]).json()[0]["token"].as_str().unwrap().to_owned();
    let _holder = Holder::shell(&format!("exec 3<>{}; echo held; read x", device.dev));
    let before = sum(&device.image);
    let conf = conf.to_str().unwrap();
    for blindness in &BLIND {
        for words in [
            &["run", "act-storage", &device.dev, "--for", "1s", "--destroy-data", &token][..],
            &["prep", &device.dev, "--skip-zero", "--destroy-data", &token],
            &["run", "act-storage", &device.dev, "--for", "1s", "--destroy-data", &token, "--in-container"],
            &["as", "act_storage", conf],
            &["as", "act_prep", &device.dev],
        ] {
            let said = blind(&place, blindness, words, &token);
            let refused = said.code == Some(4) && said.err.contains(blindness.evidence);
            assert!(refused, "{}, {words:?}: {:?}\n{}{}", blindness.what, said.code, said.out, said.err);
            assert_eq!(sum(&device.image), before, "{}, {words:?}: bytes changed", blindness.what);
        }
    }
}
