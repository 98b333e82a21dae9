//! The pages of `docs/formats` show workload files, a line of a log, a few lines of Python, and commands with what they
//! print. These are tested here, and that each page is in the index, `docs/FORMATS.md`.
#![allow(clippy::disallowed_methods, reason = "a test makes files of its own")]
#![allow(clippy::unwrap_used, reason = "a test")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The page of a format, by its name.
fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(format!("docs/formats/{name}.md"))).unwrap()
}

/// The names of all pages.
fn pages() -> Vec<String> {
    let files = std::fs::read_dir(root().join("docs/formats")).unwrap();
    let mut names: Vec<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .map(|file| file.strip_suffix(".md").unwrap_or_else(|| panic!("{file} is no page")).to_owned())
        .collect();
    names.sort();
    names
}

fn golden() -> PathBuf {
    root().join("crates/assay-record/tests/golden/run-v1.jsonl")
}

/// The fenced blocks of one language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(name)) => open = Some((name == language, String::new())),
            (Some((wanted, text)), Some(_)) => {
                if *wanted {
                    found.push(std::mem::take(text));
                }
                open = None;
            }
            (Some((_, text)), None) => *text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    found
}

fn assay(args: &[&str], dir: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay")).args(args).current_dir(dir).output().unwrap()
}

#[test]
fn the_workload_files_shown_are_workloads() {
    let dir = tempfile::tempdir().unwrap();
    let files: Vec<String> = pages().iter().flat_map(|name| blocks(&page(name), "toml")).collect();
    std::fs::write(dir.path().join("trace.txt"), "fio version 3 iolog\n5 f read 0 4096\n90 f write 8192 512\n")
        .unwrap();
    assert!(files.len() >= 3, "one for each model");
    for (number, text) in files.iter().enumerate() {
        let name = format!("{number}.toml");
        std::fs::write(dir.path().join(&name), text).unwrap();
        // A workload that names its targets is for two targets.
        let targets = match text {
            two if two.contains("\ntargets") => &["sim:flash", "sim:flash"][..],
            // Its target is a database, which need not be there to explain it.
            transactions if transactions.contains("\"tpcc\"") => &[],
            // Nor need its directory.
            files if files.contains("= \"files\"") || files.contains("= \"service\"") => &[],
            _ => &["sim:flash"],
        };
        let explained = assay(&[&["explain", &name, "--json"], targets].concat(), dir.path());
        assert!(explained.status.success(), "{text}\n{}", String::from_utf8_lossy(&explained.stderr));
        let plan: Value = serde_json::from_slice(&explained.stdout).unwrap();
        assert!(text.contains(&format!("\"{}\"", plan["model"].as_str().unwrap())));
        // `model = "seek"` has no criteria: like SeekMark, it only counts seeks.
        assert!(plan["model"] == "seek" || !plan["criteria"].as_array().unwrap().is_empty(), "{plan}");
    }
}

/// The reader knows every key that the page lists in a table of workload keys, and the page lists every key that the
/// reader knows: for an unknown key, the reader lists those it knows.
#[test]
fn the_keys_listed_are_the_keys_known() {
    let dir = tempfile::tempdir().unwrap();
    let (models, profile) = (page("models"), page("profile"));
    let common = listed(&page("workload"), "## Keys of every model");
    for (model, section) in [
        ("act-storage", listed(&models, "## `model = \"act-storage\"`")),
        ("act-index", listed(&models, "## `model = \"act-index\"`")),
        ("profile", listed(&profile, "# `model = \"profile\"`")),
    ] {
        let mut keys = section;
        keys.extend(common.iter().cloned());
        keys.sort();
        assert_eq!(known(&format!("model = \"{model}\"\nq = 1\n"), dir.path()), keys, "{model}");
    }
    let mut keys = listed(&page("streams"), "# `model = \"streams\"`");
    keys.sort();
    assert_eq!(known("model = \"streams\"\n[[stream]]\nq = 1\n", dir.path()), keys);
    for (heading, table) in [
        ("## Keys of a `[[namespace]]` and of an `[[application]]`", "[[namespace]]"),
        ("## Keys of a `[[namespace]]` and of an `[[application]]`", "[[application]]"),
        ("## Keys of `[….reads]` and `[….writes]`", "[[namespace]]\n[namespace.reads]"),
        ("## Keys of `[namespace.large_blocks]`", "[[namespace]]\n[namespace.large_blocks]"),
        ("## Keys of `[namespace.others]`", "[[namespace]]\n[namespace.others]"),
        ("## Keys of an `[[iostat]]`", "[[iostat]]"),
    ] {
        let mut keys = listed(&profile, heading);
        keys.sort();
        assert_eq!(known(&format!("model = \"profile\"\n{table}\nq = 1\n"), dir.path()), keys, "{table}");
    }
    for (heading, text) in [
        ("### `[[tile]]`", "[[tile]]\nq = 1\n"),
        ("### An entry of `use`, and `[[background]]`", "model = \"tiles\"\n[[background]]\nq = 1\n"),
    ] {
        let mut keys = listed(&models, heading);
        keys.sort();
        assert_eq!(known(text, dir.path()), keys, "{text}");
    }
    let mut keys = listed(&models, "## `model = \"tiles\"`");
    keys.extend(["model", "name", "description", "note", "seed"].map(str::to_owned));
    keys.sort();
    assert_eq!(known("model = \"tiles\"\nq = 1\n", dir.path()), keys);
    let mut keys = listed(&page("workload"), "## `[[criterion]]`");
    keys.sort();
    assert_eq!(known("model = \"act-index\"\n[[criterion]]\nq = 1\n", dir.path()), keys);
}

/// The first column of the table after `heading`, up to the next heading.
fn listed(page: &str, heading: &str) -> Vec<String> {
    let page = format!("\n{page}");
    let section = page.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no {heading}")).1;
    let section = section.split("\n##").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`').map(|(key, _)| key));
    rows.map(|key| key.trim_matches(['[', ']']).to_owned()).collect()
}

/// The keys that the reader names when it finds an unknown one.
fn known(text: &str, dir: &Path) -> Vec<String> {
    std::fs::write(dir.join("unknown.toml"), text).unwrap();
    let refused = assay(&["explain", "unknown.toml"], dir);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(3), "{told}");
    let list = told.split_once("known here: ").unwrap_or_else(|| panic!("{told}")).1;
    let mut keys: Vec<String> = list.split([',', '\n']).map(|key| key.trim().to_owned()).collect();
    keys.retain(|key| !key.is_empty());
    keys.sort();
    keys
}

#[test]
fn the_line_shown_is_a_line_of_the_golden_log() {
    let golden = std::fs::read_to_string(golden()).unwrap();
    let shown = blocks(&page("log"), "text").into_iter().find(|text| text.starts_with("{\"crc\"")).unwrap();
    assert!(golden.contains(&shown), "{shown}");
}

#[test]
fn the_python_shown_checks_a_log_and_finds_damage() {
    if Command::new("python3").arg("--version").output().is_err() {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: python3 is not installed");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let scripts = blocks(&page("log"), "python");
    assert_eq!(scripts.len(), 1);
    std::fs::write(dir.path().join("check.py"), &scripts[0]).unwrap();
    let check = |log: &[u8]| {
        let path = dir.path().join("log.jsonl");
        std::fs::write(&path, log).unwrap();
        let output = Command::new("python3").arg("check.py").arg(&path).current_dir(dir.path()).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let log = std::fs::read(golden()).unwrap();
    let (ok, told, errors) = check(&log);
    assert!(ok, "{errors}");
    assert_eq!(told.lines().count(), 29);
    assert!(told.starts_with("0 header ") && told.lines().last().unwrap().starts_with("28 close "), "{told}");
    let mut damaged = log.clone();
    let at = damaged.len() / 2;
    damaged[at] = if damaged[at] == b'1' { b'2' } else { b'1' };
    assert!(!check(&damaged).0, "a damaged byte is noticed");
    assert!(check(&log[..log.len() - 9]).2.contains("torn tail") || !check(&log[..log.len() - 9]).0);
}

/// The result of the golden log has the members the page lists, and no others.
#[test]
fn the_members_of_the_result_are_the_members_listed() {
    let dir = tempfile::tempdir().unwrap();
    let judged = assay(&["judge", golden().to_str().unwrap(), "--json"], dir.path());
    assert_eq!(judged.status.code(), Some(10), "{}", String::from_utf8_lossy(&judged.stderr));
    let result: Value = serde_json::from_slice(&judged.stdout).unwrap();
    let section = page("verdict");
    let first = section.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split('|').nth(1));
    let names: Vec<&str> = first.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    for member in result.as_object().unwrap().keys() {
        assert!(names.contains(&member.as_str()), "{member} is not in docs/formats/verdict.md");
    }
    let optional = [
        "steps",
        "answer",
        "answered_by",
        "durability",
        "slices_left_out",
        "deciding",
        "generator",
        "judged_on",
        "contradictions",
        "integrity",
        "clocks",
        "signer",
        "environment_changes",
        "cache",
        "meters",
        "together",
        "groups",
        "phases",
        "parts",
        "ranks",
        "databases",
        "per_minute",
        "loops",
        "throughput",
    ];
    for name in names.iter().filter(|name| !optional.contains(name)) {
        assert!(result.get(*name).is_some(), "docs/formats/verdict.md lists {name}, which is not in the result");
    }
    let inside = |value: &Value| {
        for member in value.as_object().unwrap().keys() {
            assert!(section.contains(&format!("`{member}`")), "{member} is not in docs/formats/verdict.md");
        }
    };
    inside(&result["criteria"][0]);
    inside(&result["criteria"][1]["measured"]);
    inside(&result["slices"][0]);
    inside(&result["slices"][0]["streams"][0]);
    inside(&result["streams"][0]);
    inside(&result["streams"][0]["response"]);
    inside(&result["deciding"]);
}

/// The result that a run writes is the one that can be computed from its log alone.
#[test]
fn the_verdict_is_a_fold_over_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let run =
        assay(&["run", "act-storage-quick", "sim:flash", "--for", "4s", "--slice", "1s", "--out", "run"], dir.path());
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    std::fs::rename(dir.path().join("run/run.jsonl"), dir.path().join("alone.jsonl")).unwrap();
    let judged = assay(&["judge", "alone.jsonl", "--json"], dir.path());
    let kept = std::fs::read_to_string(dir.path().join("run/verdict.json")).unwrap();
    assert_eq!(String::from_utf8(judged.stdout).unwrap(), kept);
}

#[test]
fn the_members_of_a_search_are_the_members_listed() {
    let dir = tempfile::tempdir().unwrap();
    let line = ["limit", "act-storage", "sim:flash", "--for", "1s", "--slice", "1s", "--to", "20x", "--out", "found"];
    let searched = assay(&line, dir.path());
    assert_eq!(searched.status.code(), Some(0), "{}", String::from_utf8_lossy(&searched.stderr));
    let kept = std::fs::read_to_string(dir.path().join("found/limit.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    let section = page("limit");
    let members = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for member in [members(&kept), members(&kept["runs"][0]), members(&kept["outcome"])].concat() {
        assert!(section.contains(&format!("`{member}`")), "{member} is not in docs/formats/limit.md");
    }
    for run in kept["runs"].as_array().unwrap() {
        assert!(dir.path().join(run["directory"].as_str().unwrap()).join("run.jsonl").exists());
    }
}

/// The index lists every page, each page once, and the heading of a page is followed by what it is.
#[test]
fn every_page_is_in_the_index_and_has_an_example() {
    let index = std::fs::read_to_string(root().join("docs/FORMATS.md")).unwrap();
    assert!(pages().len() > 20);
    for name in pages() {
        let link = format!("| [{name}.md](formats/{name}.md) |");
        assert_eq!(index.matches(&link).count(), 1, "docs/FORMATS.md has one row for {name}");
        let page = page(&name);
        assert!(page.starts_with("# "), "{name} begins with its title");
        assert!(page.contains("\n```"), "{name} has no example");
    }
}

/// The commands of a block and what the page shows of their output, which is the block behind it.
struct Example {
    commands: Vec<String>,
    language: String,
    shown: String,
}

fn examples(page: &str) -> Vec<Example> {
    let parts = page.split("\n```sh\n").skip(1);
    let example = |part: &str| {
        let (commands, rest) = part.split_once("\n```\n").unwrap();
        let (language, shown) = rest.trim_start().strip_prefix("```").unwrap().split_once('\n').unwrap();
        Example {
            commands: commands.lines().map(str::to_owned).collect(),
            language: language.to_owned(),
            shown: shown.split("\n```").next().unwrap().to_owned(),
        }
    };
    parts.map(example).collect()
}

/// A directory in which the commands of the pages can be run.
fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(golden(), dir.path().join("run-v1.jsonl")).unwrap();
    std::os::unix::fs::symlink(root().join("examples").canonicalize().unwrap(), dir.path().join("examples")).unwrap();
    dir
}

/// What the last command prints.
fn printed(commands: &[String], dir: &Path) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_assay")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut last = String::new();
    for command in commands {
        let output = Command::new("sh").args(["-c", command]).current_dir(dir).env("PATH", &path).output().unwrap();
        last = String::from_utf8(output.stdout).unwrap();
        assert!(!last.is_empty() || output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    last
}

/// Every member that is shown has this value, and the elements of a list that is shown are its first ones.
fn compare_shown(shown: &Value, actual: &Value, place: &str) {
    match (shown, actual) {
        (Value::Object(shown), Value::Object(actual)) => {
            for (name, value) in shown {
                let there = actual.get(name).unwrap_or_else(|| panic!("{place} has no {name}"));
                compare_shown(value, there, &format!("{place}.{name}"));
            }
        }
        (Value::Array(shown), Value::Array(actual)) => {
            assert!(shown.len() <= actual.len(), "{place}: {shown:?} is longer than {actual:?}");
            for (number, (shown, actual)) in shown.iter().zip(actual).enumerate() {
                compare_shown(shown, actual, &format!("{place}[{number}]"));
            }
        }
        _ => assert_eq!(shown, actual, "{place}"),
    }
}

#[test]
fn the_examples_are_what_the_program_prints() {
    let mut tried = 0;
    for name in pages() {
        for Example { commands, language, shown } in examples(&page(&name)) {
            let dir = place();
            let printed = printed(&commands, dir.path());
            match language.as_str() {
                "json" => {
                    let [shown, actual] = [&shown, &printed].map(|text| serde_json::from_str(text).unwrap());
                    compare_shown(&shown, &actual, &name);
                }
                _ => assert!(printed.replace("\r\n", "\n").contains(&shown), "{name}: {printed}"),
            }
            tried += 1;
        }
    }
    assert!(tried >= 10, "{tried} examples were found");
}

/// What an example shows of a document is named on its page, also where no test can make the document again.
#[test]
fn the_members_shown_are_members_listed() {
    for name in pages() {
        let page = page(&name);
        for shown in blocks(&page, "json") {
            let value: Value = serde_json::from_str(&shown).unwrap();
            let first = value.as_array().map_or(&value, |list| &list[0]);
            for member in first.as_object().unwrap().keys() {
                assert!(page.contains(&format!("`{member}`")), "docs/formats/{name}.md does not name {member}");
            }
        }
    }
}
