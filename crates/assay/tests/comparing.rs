//! `assay compare` on simulated runs, as a user calls it.
#![allow(clippy::unwrap_used, reason = "a test")]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn assay(dir: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay")).args(line.split(' ')).current_dir(dir).output().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

#[test]
fn the_same_drive_twice_and_a_slower_one() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let dir = dir.path();
    for (name, target, more) in [
        ("a", "sim:flash", "--seed 1"),
        ("b", "sim:flash", "--seed 2"),
        ("slow", "sim:disk", "--seed 3"),
        ("2x", "sim:flash", "--load 0.02x"),
    ] {
        let load = if name == "2x" { "" } else { " --load 0.01x" };
        let output = assay(dir, &format!("run act-storage {target} --for 100s --slice 10s {more}{load} --out {name}"));
        assert!(dir.join(name).join("run.jsonl").exists(), "{}", told(&output));
    }
    let output = assay(dir, "compare a b slow --label slow=Disk --json --html c.html");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["labels"], serde_json::json!(["a", "b", "Disk"]));
    let p99 = &result["comparison"]["streams"][0]["figures"][1];
    assert_eq!((&p99["what"], &p99["against_first"][1]["answer"]), (&"p99".into(), &"differs".into()), "{p99}");
    let last = result["comparison"]["ranking"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["label"], "Disk");
    let page = std::fs::read_to_string(dir.join("c.html")).unwrap();
    assert!(page.contains("<td>Disk</td>") && !page.contains("<script"));
    assert!(told(&assay(dir, "compare a slow")).contains("DIFFERS"));

    let refused = assay(dir, "compare a 2x");
    assert!(
        refused.status.code() == Some(3) && told(&refused).contains("load is 0.01x there and 0.02x here"),
        "{}",
        told(&refused)
    );
    let anyway = assay(dir, "compare a 2x --anyway");
    assert!(anyway.status.code() == Some(0) && told(&anyway).contains("NOT THE SAME PLAN"), "{}", told(&anyway));
    for (line, code) in
        [("compare a", 2), ("compare a b --label c=x", 2), ("compare a b --label x", 2), ("compare a none", 3)]
    {
        let output = assay(dir, line);
        assert_eq!(output.status.code(), Some(code), "{line}: {}", told(&output));
    }
}
