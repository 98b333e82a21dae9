//! The program as a user runs it: runs that are killed, logs that are damaged, disks without space, and certificates
//! that are compared with their logs. The thousand kills of a fast writer are in `src/logfile_tests.rs`, the ten
//! thousand mutations in `src/certificate_tests.rs`.
#![allow(clippy::disallowed_methods, reason = "a test makes files of its own")]
#![allow(clippy::unwrap_used, reason = "a test")]

use assay_base::Prng;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Short intervals, so that a short run has many lines.
const FINE: &str = r#"
name     = "fine"
model    = "streams"
duration = "1min"
slice    = "1s"
interval = "10ms"
max_lag  = "0s"

[[stream]]
name      = "reads"
direction = "read"
size      = "4KiB"
rate      = "2000/s"

[[stream]]
name      = "writes"
direction = "write"
size      = "4KiB"
rate      = "1000/s"
"#;

fn assay(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay")).args(args).current_dir(dir).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The output of the judge, and its exit code.
fn judged(dir: &Path, log: &str) -> (Option<i32>, Value) {
    let said = assay(dir, &["judge", log, "--json"]);
    (said.status.code(), serde_json::from_slice(&said.stdout).unwrap_or(Value::Null))
}

#[test]
fn kill_9_in_the_middle_of_real_runs() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("fine.toml"), FINE).unwrap();
    let mut prng = Prng::from_seed(1);
    for kill in 0..6 {
        let out = format!("run-{kill}");
        let log = dir.path().join(&out).join("run.jsonl");
        let mut run = Command::new(env!("CARGO_BIN_EXE_assay"))
            .args(["run", "fine.toml", "null:1GiB", "--for", "1min", "--out", &out])
            .current_dir(dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The run is killed once its log has a random number of bytes. The kernel has acknowledged what is in the file
        // then, so that a kill cannot lose it.
        let enough = 6_000 + prng.uniform_below(60_000);
        while fs::metadata(&log).map_or(0, |meta| meta.len()) < enough {
            assert!(run.try_wait().unwrap().is_none(), "the run ended by itself");
            std::thread::yield_now();
        }
        let before = fs::read(&log).unwrap();
        run.kill().unwrap();
        run.wait().unwrap();
        let after = fs::read(&log).unwrap();
        assert!(after.starts_with(&before), "nothing that was written is lost");
        let whole = before.split(|byte| *byte == b'\n').filter(|line| is_interval(line)).count() as u64;
        let (code, judgement) = judged(dir.path(), &out);
        assert_eq!((code, &judgement["verdict"]), (Some(12), &"INCOMPLETE".into()), "{judgement}");
        let present = judgement["intervals"]["present"].as_u64().unwrap();
        assert!(present >= whole.saturating_sub(1) && present > 0, "{present} of {whole}");
        assert!(judgement.get("closed").is_none() && judgement.get("contradictions").is_none());
        let verified = assay(dir.path(), &["verify", &out]);
        assert_eq!(verified.status.code(), Some(2), "there is no certificate");
    }
}

fn is_interval(line: &[u8]) -> bool {
    line.ends_with(b"}") && line.windows(18).any(|part| part == b"\"kind\":\"interval\",")
}

/// A finished simulated run in `run`.
fn finished(dir: &Path, more: &[&str]) {
    let args = ["run", "random-read", "sim:flash", "--for", "20s", "--slice", "5s", "--out", "run"];
    let said = assay(dir, &[&args[..], more].concat());
    assert_eq!(said.status.code(), Some(0), "{}", text(&said.stderr));
}

#[test]
fn one_damaged_byte_anywhere_is_noticed_by_judge() {
    let dir = tempfile::tempdir().unwrap();
    finished(dir.path(), &[]);
    let good = fs::read(dir.path().join("run/run.jsonl")).unwrap();
    let whole = judged(dir.path(), "run").1["intervals"]["present"].as_u64().unwrap();
    let header = good.iter().position(|byte| *byte == b'\n').unwrap();
    let mut prng = Prng::from_seed(2);
    for trial in 0..60 {
        let mut bad = good.clone();
        let at = prng.uniform_below(bad.len() as u64) as usize;
        bad[at] ^= 1 << prng.uniform_below(8);
        fs::write(dir.path().join("bad.jsonl"), &bad).unwrap();
        let (code, judgement) = judged(dir.path(), "bad.jsonl");
        if at <= header {
            assert!(matches!(code, Some(3 | 11)), "byte {at} of the header: {code:?}");
            continue;
        }
        assert!(matches!(code, Some(11 | 12)), "trial {trial}, byte {at}: {code:?}");
        assert!(!judgement["damage"].as_array().unwrap().is_empty(), "byte {at}: {judgement}");
        let present = judgement["intervals"]["present"].as_u64().unwrap();
        assert!(present + 2 >= whole, "byte {at}: the undamaged lines are read: {present} of {whole}");
    }
}

#[test]
fn a_torn_tail_is_reported_and_incomplete() {
    let dir = tempfile::tempdir().unwrap();
    finished(dir.path(), &[]);
    let good = fs::read(dir.path().join("run/run.jsonl")).unwrap();
    fs::write(dir.path().join("torn.jsonl"), &good[..good.len() - 300]).unwrap();
    let (code, judgement) = judged(dir.path(), "torn.jsonl");
    assert_eq!((code, &judgement["damage"][0]["torn_tail"]), (Some(12), &true.into()), "{judgement}");
}

#[test]
fn a_certificate_is_held_against_its_log() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    let keys = minisign::KeyPair::generate_unencrypted_keypair().unwrap();
    let other = minisign::KeyPair::generate_unencrypted_keypair().unwrap();
    fs::write(place.join("key"), keys.sk.to_box(None).unwrap().into_string()).unwrap();
    fs::write(place.join("key.pub"), keys.pk.to_box().unwrap().into_string()).unwrap();
    finished(place, &["--sign", "key"]);
    let verify = |args: &[&str], code: i32, words: &str| {
        let said = assay(place, &[&["verify"], args].concat());
        let all = text(&said.stdout) + &text(&said.stderr);
        assert_eq!(said.status.code(), Some(code), "{args:?}: {all}");
        assert!(all.contains(words), "{args:?}: {all}");
    };
    verify(&["run"], 3, "SIMULATED");
    verify(&["run", "--key", "key.pub"], 3, "signature: valid");
    verify(&["run/verdict.json", "run/run.jsonl", "--key", &keys.pk.to_base64()], 3, "signature: valid");
    verify(&["run", "--key", &other.pk.to_base64()], 2, "signature");
    verify(&["run", "--json"], 3, "\"standing\": \"record\"");
    // The certificate itself names its key, in the notation of minisign.
    let told = fs::read_to_string(place.join("run/verdict.json")).unwrap();
    let named = serde_json::from_str::<Value>(&told).unwrap()["signer"].as_str().unwrap().to_owned();
    assert!(fs::read_to_string(place.join("key.pub")).unwrap().contains(&named), "{named}");
    verify(&["run", "--key", &other.pk.to_base64()], 2, "signature is not that of this key");
    verify(&["run", "--key", "nowhere"], 2, "cannot be used");
    let html = fs::read_to_string(place.join("run/report.html")).unwrap();
    let certificate = fs::read_to_string(place.join("run/verdict.json")).unwrap();
    let parsed: Value = serde_json::from_str(&certificate).unwrap();
    let sum = parsed["log"]["blake3"].as_str().unwrap();
    assert!(sum.len() == 64 && html.contains(sum), "the report shows the sum of the log");
    // Refused: the same judgement in other bytes, another verdict, another log, no log, and a file that is no
    // certificate.
    fs::write(place.join("run/verdict.json"), certificate.replace("  ", " ")).unwrap();
    verify(&["run"], 2, "same bytes");
    fs::write(place.join("run/verdict.json"), certificate.replace("\"PASS\"", "\"FAIL\"")).unwrap();
    verify(&["run"], 2, "it says FAIL, the log says PASS");
    verify(&["run", "--key", "key.pub"], 2, "signature");
    fs::write(place.join("run/verdict.json"), &certificate).unwrap();
    let mut log = fs::read(place.join("run/run.jsonl")).unwrap();
    log.push(b'\n');
    fs::write(place.join("other.jsonl"), log).unwrap();
    verify(&["run/verdict.json", "other.jsonl"], 2, "checksum differs");
    verify(&["run/verdict.json", "missing.jsonl"], 2, "missing.jsonl");
    fs::write(place.join("run/verdict.json"), "{}").unwrap();
    verify(&["run"], 2, "not a certificate");
    let refused = assay(place, &["run", "random-read", "sim:flash", "--sign", "key.pub", "--out", "never"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    assert!(!place.join("never").exists(), "a key that cannot sign is known before anything is done");
}

/// A small file system in memory, unmounted at the end of the test.
struct Small(tempfile::TempDir);

impl Small {
    fn mounted(size: &str) -> Option<Small> {
        let dir = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "assay-test"])
            .arg(dir.path())
            .stderr(Stdio::null())
            .status();
        mounted.is_ok_and(|status| status.success()).then_some(Small(dir))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn without_room_for_the_log_nothing_begins() {
    let Some(small) = Small::mounted("4m") else {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: mounting needs root");
        return;
    };
    let place = small.0.path();
    let refused = assay(place, &["run", "random-read", "null:1GiB", "--for", "24h", "--out", "long"]);
    let told = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(5), "{told}");
    assert!(told.contains("cannot be reserved") && told.contains("--out"), "{told}");
    assert!(!place.join("long").exists(), "nothing is left of what could not begin");
    // A run whose log fits begins, even if the disk has no room for anything else.
    let said = assay(place, &["run", "random-read", "sim:flash", "--for", "20s", "--out", "short"]);
    assert_eq!(said.status.code(), Some(0), "{}", text(&said.stderr));
}

/// The disk of the log fills up during a run. Space for the log is reserved, but there is none for the results; the
/// verdict that is printed is that of the log nevertheless.
#[test]
fn without_room_for_the_results_the_verdict_is_said_all_the_same() {
    use std::io::Write;
    let Some(small) = Small::mounted("1m") else {
        let _ = writeln!(std::io::stderr(), "skipped: mounting needs root");
        return;
    };
    let place = small.0.path();
    for json in [true, false] {
        let name = if json { "machine" } else { "person" };
        let mut args = vec!["run", "random-read", "null:1GiB", "--for", "2s", "--slice", "1s", "--out", name];
        args.extend(json.then_some("--json"));
        let mut run = Command::new(env!("CARGO_BIN_EXE_assay"));
        run.args(args).current_dir(place).stdout(Stdio::piped()).stderr(Stdio::piped());
        let run = run.spawn().unwrap();
        let log = place.join(name).join("run.jsonl");
        while fs::metadata(&log).map_or(0, |meta| meta.len()) < 1000 {
            std::thread::yield_now();
        }
        let mut filler = fs::File::create(place.join("filler")).unwrap();
        while filler.write_all(&[1; 4096]).is_ok() {}
        let said = run.wait_with_output().unwrap();
        let (out, err) = (text(&said.stdout), text(&said.stderr));
        let told = match json {
            true => serde_json::from_str::<Value>(&out).unwrap()["verdict"].as_str().unwrap().to_owned(),
            false => out.split_whitespace().next().unwrap().to_owned(),
        };
        let code = ["PASS", "FAIL", "INVALID", "INCOMPLETE"].into_iter().zip([0, 10, 11, 12]).find(|it| it.0 == told);
        assert_eq!(said.status.code(), code.map(|it| it.1), "{out}{err}");
        for file in ["verdict.json", "report.html"] {
            assert!(err.contains(&format!("{file} cannot be written: No space left")), "{err}");
        }
        assert!(err.contains(&format!("assay judge {name}")), "{err}");
        let left: Vec<_> = fs::read_dir(place.join(name)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["run.jsonl"], "nothing that is empty or half");
        fs::remove_file(place.join("filler")).unwrap();
        assert_eq!(assay(place, &["judge", name]).status.code(), said.status.code(), "the log is whole");
    }
}
