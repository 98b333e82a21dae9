//! `scripts/trace-files`: what a program did to files, counted, and as `[[do]]` of a workload that the program reads.

use super::bed::Place;
use std::path::Path;
use std::process::Command;

/// Three times: a file is made durable, gets its name, is read and removed. One look at what is not there.
const TRACED: &str = r#"
import os
for n in range(3):
    fd = os.open(f"data/a{n}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    os.write(fd, b"x" * 100)
    os.write(fd, b"y" * 1000)
    os.fsync(fd)
    os.close(fd)
    os.rename(f"data/a{n}", f"data/b{n}")
    fd = os.open(f"data/b{n}", os.O_RDONLY)
    os.read(fd, 2000)
    os.close(fd)
    os.stat(f"data/b{n}")
    os.unlink(f"data/b{n}")
try:
    os.stat("data/none")
except OSError:
    pass
"#;

/// What it did as it must be told: a call, how often, and its bytes.
const CALLS: [(&str, &str); 9] = [
    ("write", "6 | 18.2 % | 3,300 |"),
    ("close", "6 | 18.2 % |  |"),
    ("create", "3 | 9.1 % |  |"),
    ("fsync", "3 | 9.1 % |  |"),
    ("rename", "3 | 9.1 % |  |"),
    ("open", "3 | 9.1 % |  |"),
    ("read", "3 | 9.1 % | 3,300 |"),
    ("stat", "3 | 9.1 % |  | 1 ENOENT |"),
    ("unlink", "3 | 9.1 % |  |"),
];

#[test]
fn what_a_program_does_to_files_becomes_a_workload() {
    let works = |program: &str| Command::new(program).arg("-V").output().is_ok_and(|said| said.status.success());
    if !works("strace") || !works("python3") {
        return super::devices::passed_over("strace or python3 is not installed");
    }
    let place = Place::new();
    place.write("traced.py", TRACED);
    std::fs::create_dir(place.path("data")).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/trace-files");
    let mut traced = Command::new("python3");
    traced.arg(script).args(["--below", "data", "--out", "calls.md", "--do", "do.toml", "--", "python3", "traced.py"]);
    let said = traced.current_dir(place.path(".")).output().unwrap();
    if String::from_utf8_lossy(&said.stderr).contains("PTRACE") {
        return super::devices::passed_over("this process may trace no other one");
    }
    assert!(said.status.success(), "{said:?}");
    let calls = std::fs::read_to_string(place.path("calls.md")).unwrap();
    for (call, expected) in CALLS {
        assert!(calls.contains(&format!("| {call} | {expected}")), "{call}: {calls}");
    }
    assert!(calls.contains("| create write fsync close | 3 |") && calls.contains("| open read close | 3 |"), "{calls}");
    let sequences = std::fs::read_to_string(place.path("do.toml")).unwrap();
    let head = "model = \"files\"\nclosed = true\n[tree]\nfiles = 100\nsize = \"4KiB\"\n";
    place.write("w.toml", &format!("{head}{sequences}"));
    let explained = place.assay(&["explain", "w.toml", "data"]);
    assert!(explained.code == Some(0) && explained.out.contains("create-write-fsync"), "{explained:?}");
}
