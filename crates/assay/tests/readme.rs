//! The commands of the README, run as a reader would: every line of its `sh` blocks, in order, in one directory. Long
//! runs are shortened with `--for`, and `/dev/nvme1n1` is replaced by a loop device where this machine allows one.
#![allow(clippy::disallowed_methods, reason = "a test makes files of its own")]
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "../../assay-device/tests/safety_common/losetup.rs"]
mod losetup;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const DEVICE: &str = "/dev/nvme1n1";
/// Verbs that end with a verdict's exit code.
const VERDICTS: [&str; 5] = ["certify", "run", "judge", "limit", "curve"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).unwrap()
}

/// Lines of all `sh` blocks.
fn commands() -> Vec<String> {
    let (mut inside, mut lines) = (false, Vec::new());
    for line in readme().lines() {
        match line.strip_prefix("```") {
            Some(language) => inside = language == "sh",
            None if inside => lines.push(line.to_owned()),
            None => {}
        }
    }
    lines
}

/// A directory, `assay` in the path, and records of its own only.
struct Reader {
    dir: tempfile::TempDir,
}

impl Reader {
    fn new() -> Reader {
        Reader { dir: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() }
    }

    fn run(&self, line: &str) -> Output {
        let bin = Path::new(env!("CARGO_BIN_EXE_assay")).parent().unwrap();
        let path = format!("{}:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin", bin.display());
        let mut command = Command::new("sh");
        command.args(["-euc", line]).current_dir(self.dir.path()).stdin(Stdio::null()).env("PATH", path);
        command.env("XDG_STATE_HOME", self.dir.path().join("state")).output().unwrap()
    }

    /// Runs one line; its exit code must be one that the command may have.
    fn expect(&self, line: &str) -> String {
        let output = self.run(line);
        let verb = line.split_whitespace().nth(1).unwrap_or_default();
        let verdicts: &[i32] = if VERDICTS.contains(&verb) { &[0, 10, 11] } else { &[0] };
        let code = output.status.code().unwrap();
        assert!(verdicts.contains(&code), "{line}\nexit {code}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn commands_that_need_no_device() {
    let reader = Reader::new();
    let lines: Vec<String> = commands().into_iter().filter(|line| !line.contains(DEVICE)).collect();
    assert!(lines.len() >= 8, "the blocks were found: {lines:?}");
    for line in lines {
        // Twelve simulated hours take seconds in a release build and a minute in a debug build; six hours at a tenth of
        // the load show the same slice.
        let line =
            line.replace("--for 12h", "--for 6h --load 0.1x").replace("--for 30s --slice 10s", "--for 2s --slice 1s");
        let told = reader.expect(&line);
        assert!(!told.is_empty() || line.contains('>'), "{line} told nothing");
        // Other tests have devices at the same time, each of which is told in some lines.
        let lines = told.lines().count();
        assert!(lines < 100 || line.contains("assay devices"), "{line} fills the terminal: {lines} lines");
        if line.contains("flash-worn") {
            assert!(told.starts_with("FAIL") && told.contains("in slice 6 (5 h to 6 h)"), "{told}");
        }
    }
    assert!(reader.dir.path().join("worn/report.html").metadata().unwrap().len() > 10_000);
}

/// A loop device that is removed with the test.
struct Loop {
    device: String,
}

impl Loop {
    fn new(reader: &Reader) -> Option<Loop> {
        let image = reader.dir.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        let attached = losetup::attach(&image, &["--direct-io=on"]);
        let device = attached.map_err(|why| writeln!(std::io::stderr(), "skipped: {why}")).ok()?;
        Some(Loop { device })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.device]).status();
    }
}

#[test]
fn commands_for_a_device() {
    let reader = Reader::new();
    let Some(device) = Loop::new(&reader) else {
        let _ = writeln!(std::io::stderr(), "skipped: no loop device can be made here");
        return;
    };
    let lines: Vec<String> = commands().into_iter().filter(|line| line.contains(DEVICE)).collect();
    assert_eq!(lines.len(), 5, "{lines:?}");
    let all: serde_json::Value =
        serde_json::from_str(&reader.expect(&format!("assay devices {} --json", device.device))).unwrap();
    let token = all[0]["token"].as_str().unwrap();
    for line in lines {
        let line = line.replace(DEVICE, &device.device).replace("TOKEN", token);
        let short = if line.contains("assay certify") { " --at 1x --for 2s --slice 1s" } else { "" };
        let without = line.replace(&format!(" --destroy-data {token}"), "");
        if without != line {
            let refused = reader.run(&without);
            assert_eq!(refused.status.code(), Some(4), "without consent nothing is written: {without}");
        }
        let told = reader.expect(&format!("{line}{short}"));
        assert!(!told.is_empty(), "{line}");
    }
}

/// The two commands exist, and do what the page says.
#[test]
fn the_two_commands() {
    let page = readme();
    for (target, does) in [("demo", "certify --quick"), ("test", "test --quiet --workspace")] {
        assert!(page.contains(&format!("$ make {target}")), "the README shows make {target}");
        let planned = Command::new("make").args(["-n", target]).current_dir(root()).output().unwrap();
        let planned = String::from_utf8(planned.stdout).unwrap();
        assert!(planned.contains(does), "make {target}: {planned}");
    }
    let quick = Reader::new().run("assay certify --quick --for 2s --slice 1s --json --out quick");
    let result: serde_json::Value = serde_json::from_slice(&quick.stdout).unwrap();
    assert!(result["watermarks"][0].as_str().unwrap().contains("not a certification"), "{}", result["watermarks"]);
    assert_eq!(result["steps"].as_array().unwrap().len(), 2);
}

/// Every verb of the program is in the tables of docs/commands.md, every exit code on the page, and every link leads to an existing place.
#[test]
fn the_page_is_complete() {
    let page = readme();
    let help = String::from_utf8(Reader::new().run("assay --help").stdout).unwrap();
    let verbs = help.split_once("Commands:\n").unwrap().1.split("\n\n").next().unwrap();
    let verbs: Vec<&str> = verbs
        .lines()
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(verbs.contains(&"certify"));
    let commands = std::fs::read_to_string(root().join("docs/commands.md")).unwrap();
    for verb in verbs.iter().filter(|verb| **verb != "help") {
        assert!(commands.contains(&format!("\n| `{verb}` |")), "docs/commands.md does not list {verb}");
    }
    for code in help.split_once("Exit codes:").unwrap().1.split("\n\n").next().unwrap().split_whitespace() {
        if code.chars().all(|c| c.is_ascii_digit()) {
            let named = [format!("| {code} |"), format!(" {code} "), format!(" {code},")];
            assert!(named.iter().any(|form| page.contains(form)), "exit code {code} is not in the README");
        }
    }
    for target in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        assert!(root().join(file).exists(), "{target} is linked and not there");
        let text = || std::fs::read_to_string(root().join(file)).unwrap();
        assert!(
            anchor.is_empty() || text().contains(&format!("<a id=\"{anchor}\"></a>")),
            "{target} is linked and not there"
        );
    }
}

/// The entries of the glossary: the text in front of each term, with its anchors, and the term.
fn entries(glossary: &str) -> Vec<(&str, &str)> {
    let terms = glossary.lines().filter_map(|line| line.split_once("</a>**"));
    terms.map(|(anchors, rest)| (anchors, rest.split("**").next().unwrap())).collect()
}

/// Every link to a term leads to its entry, no term has two entries, and the entries are in alphabetical order.
#[test]
fn the_glossary_has_every_term_that_is_linked_in_alphabetical_order() {
    let glossary = std::fs::read_to_string(root().join("docs/GLOSSARY.md")).unwrap();
    let entries = entries(&glossary);
    let terms: Vec<String> = entries.iter().map(|(_, term)| term.to_lowercase()).collect();
    assert!(terms.len() > 90, "{} entries were found", terms.len());
    let paragraphs = glossary.split("\n\n").skip(2).count();
    assert_eq!(terms.len(), paragraphs, "each paragraph after the first one is an entry");
    for pair in terms.windows(2) {
        assert!(pair[0] < pair[1], "\"{}\" must stand behind \"{}\"", pair[0], pair[1]);
    }
    let anchors: Vec<&str> = entries.iter().flat_map(|(text, _)| text.split("id=\"").skip(1)).collect();
    let anchors: Vec<&str> = anchors.into_iter().map(|id| id.split('"').next().unwrap()).collect();
    let links = |text: &str, before: &str| -> Vec<String> {
        text.split(before).skip(1).filter_map(|rest| rest.split(')').next()).map(str::to_owned).collect()
    };
    let commands = std::fs::read_to_string(root().join("docs/commands.md")).unwrap();
    let of_pages = [links(&readme(), "](docs/GLOSSARY.md#"), links(&commands, "](GLOSSARY.md#")].concat();
    let linked = [of_pages, links(&glossary, "](#")].concat();
    assert!(linked.len() > 40, "{} links were found", linked.len());
    for link in linked {
        assert_eq!(anchors.iter().filter(|id| **id == link).count(), 1, "the glossary has one entry for #{link}");
    }
}

/// The figures of a certification are those that the program computes from the plans it runs.
#[test]
fn the_page_has_the_programs_own_figures() {
    let (page, reader) = (readme(), Reader::new());
    let one = reader.expect("assay explain certify sim:flash");
    let several = reader.expect("assay explain certify sim:flash sim:disk");
    for (figure, told) in [
        ("48 h", &one),
        ("7.24 TiB", &one),
        ("14.48 TiB", &one),
        ("21.73 TiB", &one),
        ("24 h", &one),
        ("96 h", &several),
        ("43.45 TiB", &several),
    ] {
        assert!(told.contains(figure) && page.contains(figure), "{figure}: {told}");
    }
    let rate = reader.expect("assay explain act-storage --load 30x");
    for (figure, told) in [("60 000", "60000.000/s"), ("703", "703.125/s"), ("1.5 KiB", "1536B"), ("128 KiB", "128KiB")]
    {
        assert!(rate.contains(told) && page.contains(figure), "{figure}: {rate}");
    }
    let least = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let least = least.split("rust-version = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(page.contains(&format!("Rust {least}")), "the README names Rust {least}");
}
