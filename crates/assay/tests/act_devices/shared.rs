//! `act_storage` twice on one device, as people start it: two drop-ins under the same consent share the device, each log
//! names the other, and so does the verdict. Whoever has not the same consent is refused while one of them runs.

use super::bed::{Loop, assay, config, text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Two runs under one consent.
struct Bench {
    dir: tempfile::TempDir,
    device: Loop,
}

impl Bench {
    fn new() -> Option<Bench> {
        Some(Bench { device: Loop::of(64 << 20)?, dir: tempfile::tempdir().unwrap() })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(assay());
        command.args(words).env("XDG_STATE_HOME", self.path("state")).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn agree(&self) {
        let given =
            self.command(&["consent", self.device.name(), "--destroy-data", &self.device.token()]).output().unwrap();
        assert_eq!(given.status.code(), Some(0), "{}", text(&given.stderr));
    }

    fn start(&self, seconds: u32, run: &str) -> Child {
        let keys = format!("test-duration-sec: {seconds}\nread-reqs-per-sec: 200\nwrite-reqs-per-sec: 500\n");
        std::fs::create_dir(self.path(&format!("{run}.d"))).unwrap();
        let conf = config(&self.path(&format!("{run}.d")), &[&self.device], &keys);
        self.command(&["as", "act_storage", conf.to_str().unwrap()])
            .env("ASSAY_RUN_DIR", self.path(run))
            .spawn()
            .unwrap()
    }

    fn log(&self, run: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path(run).join("run.jsonl")).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Waits until a run has written this many intervals.
    fn begun(&self, child: &mut Child, run: &str, intervals: usize) {
        let begin = Instant::now();
        while self.log(run).iter().filter(|line| line["kind"] == "interval").count() < intervals {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none() && begin.elapsed() < Duration::from_secs(120), "{run}: {ended:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The watermarks of a run: those of its header, and those that came later.
    fn marks(&self, run: &str) -> Vec<String> {
        let mut marks = Vec::new();
        for line in self.log(run) {
            let listed = line["watermarks"].as_array().into_iter().flatten();
            marks.extend(listed.filter_map(|mark| mark.as_str().map(str::to_owned)));
            if line["kind"] == "event" && line["what"] == "watermark" {
                marks.extend(line["text"].as_str().map(str::to_owned));
            }
        }
        marks
    }

    fn names(&self, run: &str, process: u32) -> bool {
        let who = format!("process {process} ");
        self.marks(run).iter().any(|mark| mark.starts_with("SHARED DEVICE: ") && mark.contains(&who))
    }
}

fn ended(child: Child) -> Output {
    child.wait_with_output().unwrap()
}

#[test]
fn two_runs_under_one_consent_share_a_device_and_name_each_other() {
    let Some(bench) = Bench::new() else { return };
    bench.agree();
    let mut first = bench.start(20, "first");
    bench.begun(&mut first, "first", 1);
    let mut second = bench.start(16, "second");
    bench.begun(&mut second, "second", 1);
    let pids = [first.id(), second.id()];
    // Neither a run without the consent, nor a preparation under it, nor anything else gets the device.
    let token = bench.device.token();
    let run =
        ["run", "act-storage", bench.device.name(), "--for", "1s", "--destroy-data", &token, "--override", "S6,S7,S8"];
    for words in [&run[..], &["as", "act_prep", bench.device.name()]] {
        let said = bench.command(words).env("ASSAY_DESTROY_DATA", &token).output().unwrap();
        assert_eq!(said.status.code(), Some(4), "{words:?}: {}", text(&said.stderr));
    }
    let made = Command::new("mkfs.ext4").args(["-q", "-F", bench.device.name()]).output();
    assert!(made.is_ok_and(|made| !made.status.success()), "a file system was made under two runs");
    let outputs = [ended(first), ended(second)];
    for (run, other, output) in [("first", pids[1], &outputs[0]), ("second", pids[0], &outputs[1])] {
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{run}: {said}");
        assert!(bench.names(run, other), "{run} does not name process {other}: {:?}\n{said}", bench.marks(run));
        let judged = bench.command(&["judge", bench.path(run).to_str().unwrap(), "--json"]).output().unwrap();
        let judged: Value = serde_json::from_slice(&judged.stdout).unwrap();
        assert!(judged["watermarks"].to_string().contains("SHARED DEVICE"), "{run}: {judged}");
    }
    assert!(text(&outputs[1].stderr).contains(&format!("process {} ", pids[0])), "told before it began");
    // What was issued by each is its own schedule.
    for run in ["first", "second"] {
        let close = bench.log(run).into_iter().find(|line| line["kind"] == "close").unwrap();
        assert_eq!(close["reason"], "completed", "{run}");
    }
}

/// The claim is one for both: the device stays taken until the last of them ends, whichever that is.
#[test]
fn the_claim_lasts_until_the_last_run_ends() {
    let Some(bench) = Bench::new() else { return };
    bench.agree();
    let mut first = bench.start(60, "first");
    bench.begun(&mut first, "first", 1);
    let mut second = bench.start(60, "second");
    bench.begun(&mut second, "second", 1);
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(!is_free(&bench.device.path), "the second run has it");
    let written = bench.log("second").len();
    bench.begun(&mut second, "second", written.min(2) + 2);
    // A third one joins the second.
    let mut third = bench.start(60, "third");
    bench.begun(&mut third, "third", 1);
    assert!(bench.names("third", second.id()), "{:?}", bench.marks("third"));
    second.kill().unwrap();
    second.wait().unwrap();
    assert!(!is_free(&bench.device.path), "the third run has it");
    third.kill().unwrap();
    third.wait().unwrap();
    let begin = Instant::now();
    while !is_free(&bench.device.path) {
        assert!(begin.elapsed() < Duration::from_secs(60), "it is given back");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Without the same consent nothing is shared: two runs with tokens, and a run with a token beside one with a consent.
#[test]
fn without_one_consent_for_both_the_second_run_is_refused() {
    let Some(bench) = Bench::new() else { return };
    let token = bench.device.token();
    for consent in [false, true] {
        let (one, other) = (format!("one-{consent}"), format!("other-{consent}"));
        if consent {
            bench.agree();
        }
        let keys = "test-duration-sec: 60\nwrite-reqs-per-sec: 500\n";
        let conf = config(bench.dir.path(), &[&bench.device], keys);
        let start = |run: &str, state: &Path| {
            let mut command = bench.command(&["as", "act_storage", conf.to_str().unwrap()]);
            command
                .env("ASSAY_DESTROY_DATA", &token)
                .env("ASSAY_RUN_DIR", bench.path(run))
                .env("XDG_STATE_HOME", state);
            command.spawn().unwrap()
        };
        let mut first = start(&one, &bench.path("state"));
        bench.begun(&mut first, &one, 1);
        let second = ended(start(&other, &bench.path("no-state")));
        let said = text(&second.stderr);
        first.kill().unwrap();
        first.wait().unwrap();
        assert!(
            second.status.code() == Some(4) && said.contains(&format!("process {} ", first.id())),
            "{consent}: {said}"
        );
        assert!(bench.marks(&one).iter().all(|mark| !mark.starts_with("SHARED DEVICE")), "{:?}", bench.marks(&one));
        while !is_free(&bench.device.path) {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn is_free(device: &Path) -> bool {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(device).is_ok()
}
