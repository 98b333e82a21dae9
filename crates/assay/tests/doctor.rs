//! `assay doctor` on the machine that the tests run on: it always answers, with the same content in both formats, and
//! opens nothing for writing.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a test, which must say what it skipped"
)]

#[path = "hosts/fake_library.rs"]
mod fake_library;
#[path = "hosts/faults.rs"]
mod faults;
#[path = "hosts/host_targets.rs"]
mod host_targets;
mod hosts;
#[path = "hosts/joint_runs.rs"]
mod joint_runs;
#[path = "../../assay-device/tests/safety_common/losetup.rs"]
mod losetup;
#[path = "hosts/networks.rs"]
mod networks;
#[path = "hosts/procedures.rs"]
mod procedures;
#[path = "hosts/pypi.rs"]
mod pypi;
#[path = "hosts/rank_logs.rs"]
mod rank_logs;
#[path = "hosts/real_targets.rs"]
mod real_targets;
#[path = "hosts/shared_directories.rs"]
mod shared_directories;

use serde_json::Value;
use std::process::Command;

fn doctor(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_assay")).arg("doctor").args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn both_forms_say_the_same() {
    let json: Value = serde_json::from_str(&doctor(&["/nowhere/at\u{1b}all", "--json"])).unwrap();
    let text = doctor(&["/nowhere/at\u{1b}all"]);
    let checks = json["checks"].as_array().unwrap();
    assert_eq!(
        (checks.len(), &json["ok"]),
        (12, &Value::from(false)),
        "eleven of the host, and a name that leads nowhere"
    );
    for check in checks {
        assert!(text.contains(check["id"].as_str().unwrap()), "{check}");
        assert_eq!(check["ok"].as_bool().unwrap(), check["remedy"].is_null(), "{check}");
        if let Some(remedy) = check["remedy"].as_str() {
            assert!(text.contains(remedy), "{remedy} is not in {text}");
        }
    }
    assert!(!text.contains('\u{1b}'), "a name is text");
}

#[test]
fn the_page_names_every_check() {
    let page =
        std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/doctor.md"));
    let page = page.unwrap();
    let json: Value = serde_json::from_str(&doctor(&["--json"])).unwrap();
    for check in json["checks"].as_array().unwrap() {
        assert!(page.contains(&format!("`{}`", check["id"].as_str().unwrap())), "{check}");
    }
}
