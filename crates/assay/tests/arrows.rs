//! Which room may use which ([`ARROWS`]), compared with the manifests: a crate that depends on a room that it may not use
//! fails here, and so does a dependency without a documented reason.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::circles;

use circles::Room;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What each room may use. The reasons are in `docs/decisions` (0031, 0059, 0061). Test dependencies are not restricted,
/// except for the rooms named in `ALONE`.
const ARROWS: &[(&str, &[&str])] = &[
    ("assay-base", &[]),
    ("assay-model", &["assay-base"]),
    ("assay-record", &["assay-base"]),
    ("assay-device", &["assay-base"]),
    ("assay-cache", &["assay-base"]),
    ("assay-engine", &["assay-base", "assay-model", "assay-record"]),
    ("assay-judge", &["assay-base", "assay-record"]),
    ("assay-formats", &["assay-base", "assay-model", "assay-record"]),
    (
        "assay-run",
        &[
            "assay-base",
            "assay-model",
            "assay-record",
            "assay-device",
            "assay-cache",
            "assay-engine",
            "assay-judge",
            "assay-formats",
            "assay-sql",
            "assay-files",
            "assay-hosts",
        ],
    ),
    ("assay-sql", &["assay-base", "assay-model", "assay-record", "assay-judge"]),
    ("assay-files", &["assay-base", "assay-model", "assay-record", "assay-judge"]),
    ("assay-hosts", &["assay-base", "assay-record"]),
    ("assay-live", &["assay-base", "assay-record", "assay-judge"]),
    ("assay-capture", &["assay-base", "assay-model", "assay-device"]),
    // The disk that fails on demand. It uses no other room, so that it cannot share a mistake with the code it tests.
    ("assay-faultfs", &[]),
];
/// For tests only: nothing that is shipped links it.
const NEVER_SHIPPED: &str = "assay-faultfs";
/// The judge may not use an engine even in its tests, and the vocabulary may not use any other room.
const ALONE: &[&str] = &["assay-base", "assay-judge"];
/// Crates that give access to the operating system; only these rooms may have them.
const SYSTEM: (&[&str], &[&str]) = (
    &["io-uring", "libc", "rusqlite", "rustix", "signal-hook"],
    &[
        "assay-device",
        "assay-run",
        "assay",
        "assay-faultfs",
        "assay-sql",
        "assay-files",
        "assay-hosts",
        "assay-live",
        "assay-capture",
    ],
);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The facts of a Cargo.toml.
struct Package {
    name: String,
    /// Name of every direct dependency, and whether it is for tests only.
    dependencies: Vec<(String, bool)>,
}

/// Every package of the workspace, whose members are all directories below `crates`.
fn packages() -> Vec<Package> {
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all.iter().map(|dir| package(&std::fs::read_to_string(dir.join("Cargo.toml")).unwrap())).collect()
}

/// Understands only these forms of a manifest; anything else fails.
fn package(text: &str) -> Package {
    let manifest: toml::Table = text.parse().unwrap();
    assert!(!manifest.contains_key("target"), "dependencies by target are not looked at here");
    let mut dependencies = Vec::new();
    for (table, test_only) in [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)] {
        for (name, how) in manifest.get(table).and_then(toml::Value::as_table).into_iter().flatten() {
            assert!(how.get("package").is_none(), "{name} is another package's name");
            dependencies.push((name.clone(), test_only));
        }
    }
    Package { name: manifest["package"]["name"].as_str().unwrap().to_owned(), dependencies }
}

#[test]
fn a_manifest_is_read_with_all_its_dependencies() {
    let read = package(
        "[package]\nname='a'\n[dependencies]\nb={workspace=true}\n[build-dependencies]\nc='1'\n[dev-dependencies]\nd='1'",
    );
    let found: Vec<(&str, bool)> = read.dependencies.iter().map(|(name, test)| (name.as_str(), *test)).collect();
    assert_eq!((read.name.as_str(), found), ("a", vec![("b", false), ("c", false), ("d", true)]));
}

#[test]
fn no_room_knows_what_it_may_not() {
    let rooms: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let packages = packages();
    assert!(packages.len() > rooms.len(), "the whole workspace was looked at");
    for package in &packages {
        let room = package.name.as_str();
        let shipped =
            package.dependencies.clone().into_iter().any(|(name, test_only)| name == NEVER_SHIPPED && !test_only);
        assert!(!shipped, "{room} links {NEVER_SHIPPED}");
        let Some(allowed) = rooms.get(room) else {
            assert_eq!(
                room, "assay",
                "{room} is a new room: enter it in ARROWS, and give the reasons in docs/decisions"
            );
            continue;
        };
        for (name, test_only) in package.dependencies.clone() {
            let free = test_only && !ALONE.contains(&room);
            let ok = !name.starts_with("assay") || free || allowed.contains(&name.as_str());
            assert!(ok, "{room} may not use {name}: it is not in ARROWS of this test");
        }
    }
}

#[test]
fn the_operating_system_has_its_rooms() {
    let (crates, rooms) = SYSTEM;
    let mut seen = 0;
    for package in packages() {
        let room = package.name.clone();
        for (name, _) in
            package.dependencies.clone().into_iter().filter(|(name, test)| !test && crates.contains(&name.as_str()))
        {
            seen += 1;
            assert!(rooms.contains(&room.as_str()), "{room} may not touch the operating system through {name}");
        }
    }
    assert!(seen >= crates.len(), "each of {crates:?} is used somewhere, {seen} uses were found");
}

#[test]
fn every_dependency_has_its_reason() {
    let reasons = std::fs::read_to_string(root().join("docs/decisions/0002-dependencies.md")).unwrap();
    for package in packages() {
        let room = package.name.clone();
        for (name, _) in package.dependencies.clone().into_iter().filter(|(name, _)| !name.starts_with("assay")) {
            let named = reasons.lines().any(|line| line.starts_with('|') && line.contains(&format!("`{name}`")));
            assert!(named, "{room} uses {name}, which has no reason in docs/decisions/0002-dependencies.md");
        }
    }
}

/// Rooms that decide and perform no I/O.
const PURE: [&str; 7] =
    ["assay-base", "assay-model", "assay-record", "assay-cache", "assay-engine", "assay-judge", "assay-formats"];

/// Every source file of a room, with its text.
fn sources(room: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut dirs = vec![root().join("crates").join(room).join("src")];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push((path.clone(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(!found.is_empty(), "{room} has sources");
    found
}

/// What two files of a circle both need belongs into a file below both: see `arrows/circles.rs`.
#[test]
fn no_files_of_a_room_use_each_other_in_a_circle() {
    let room_of = |package: &Package| package.name.clone();
    let (mut looked, mut wrong) = (0, Vec::new());
    for room in packages().iter().map(room_of) {
        let is_test = |path: &Path| path.file_stem().is_some_and(|name| name.to_string_lossy().ends_with("tests"));
        let files: Vec<_> = sources(&room).into_iter().filter(|(path, _)| !is_test(path)).collect();
        looked += files.len();
        let circles = Room::of(&root().join("crates").join(&room).join("src"), files).circles();
        if !circles.is_empty() {
            let lines: Vec<String> = circles.iter().map(|circle| format!("  {}", circle.join(" · "))).collect();
            wrong.push(format!("{room} has {} circles:\n{}", circles.len(), lines.join("\n")));
        }
    }
    assert!(looked > 200, "{looked} files were looked at");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// clippy.toml does not ban these functions, because the other rooms use them all the time.
#[test]
fn pure_rooms_open_nothing_start_nothing_and_ask_nobody() {
    for room in PURE {
        for (path, text) in sources(room) {
            for way in ["std::fs", "std::net", "std::process", "std::env", "std::thread", "unsafe "] {
                let line = text.lines().position(|line| line.contains(way) && !line.trim_start().starts_with("//"));
                assert_eq!(line, None, "{} uses {way}", path.display());
            }
        }
    }
}

#[test]
fn one_file_reads_the_clock() {
    let rooms =
        PURE.into_iter().chain(["assay-device", "assay-run", "assay-sql", "assay-files", "assay-capture", "assay"]);
    let reads =
        |text: &str| ["clock_gettime", "Instant::now(", "SystemTime::now("].iter().any(|way| text.contains(way));
    let all: Vec<PathBuf> = rooms.flat_map(sources).filter(|(_, text)| reads(text)).map(|(path, _)| path).collect();
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].ends_with("assay-device/src/clock.rs"), "{all:?}");
}

/// A procedure that made its runs itself would have its own rules for what is repeated and what is replaced. (The drop-ins make one
/// run each.)
#[test]
fn one_runner_makes_the_runs_of_procedures() {
    let is_shipped = |(path, _): &(PathBuf, String)| !path.to_string_lossy().ends_with("_tests.rs");
    let without_tests = |text: String| text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
    let shipped = sources("assay-run").into_iter().filter(is_shipped);
    let all: Vec<(PathBuf, String)> = shipped.map(|(path, text)| (path, without_tests(text))).collect();
    for (way, expected) in [
        (".make_run(", &["assay-run/src/procedure/runner.rs"][..]),
        (
            ".run_tasks(",
            &[
                // Each rank of a run with several has the run's tasks.
                "assay-run/src/host/ranks/carrying.rs",
                "assay-run/src/procedure/several.rs",
                "assay-run/src/procedure/certifying.rs",
                "assay-run/src/procedure/certainty.rs",
            ],
        ),
        (" drive_plan(&plan,", &["assay-run/src/procedure/steps.rs"]),
    ] {
        let callers: Vec<&PathBuf> = all.iter().filter(|(_, text)| text.contains(way)).map(|(path, _)| path).collect();
        let known = |path: &&PathBuf| expected.iter().any(|known| path.ends_with(known));
        assert!(callers.len() == expected.len() && callers.iter().all(known), "{way}: {callers:?}");
    }
    for (path, text) in all.iter().filter(|(_, text)| text.contains("Attempts::new(")) {
        let is_carried_out = text.contains("runner::carry_out(") || text.contains("runner::carry_out_on(");
        assert!(is_carried_out, "{} has a loop of its own", path.display());
    }
}

/// What the engine may import of `assay-model`: the plan, the sources of requests, and what their data consist of. No model
/// and no workload is among it.
const IMPORTS_OF_THE_ENGINE: &[&str] = &[
    "PhaseKind",
    "Plan",
    "WarmUp",
    "arrival",
    "closed_loops",
    "content",
    "generator",
    "plan",
    "regions",
    "seal",
    "source",
];

/// The first names behind each `assay_model::` of a file: one, or those within braces.
fn imports_of_the_model(text: &str) -> Vec<String> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut names = Vec::new();
    for path in code.split("assay_model::").skip(1) {
        let Some(group) = path.strip_prefix('{') else {
            names.push(first_name(path));
            continue;
        };
        let mut depth = 0;
        let whole = group.split(|c| match c {
            '{' => {
                depth += 1;
                false
            }
            '}' => {
                depth -= 1;
                depth < 0
            }
            ',' => depth == 0,
            _ => false,
        });
        names.extend(whole.map(first_name).take_while(|name| !name.is_empty()));
    }
    names
}

/// The name at the beginning of a path.
fn first_name(path: &str) -> String {
    path.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn imports_are_found_in_every_form() {
    let text =
        "use assay_model::Plan;\nuse assay_model::{a::{b, c}, D};\n// assay_model::x\nfn f(e: assay_model::e::E) {}";
    assert_eq!(imports_of_the_model(text), ["Plan", "a", "D", "e"]);
}

#[test]
fn the_engine_knows_no_workload_by_name() {
    let mut seen = 0;
    let is_shipped = |(path, _): &(PathBuf, String)| !path.to_string_lossy().ends_with("_tests.rs");
    for (path, text) in sources("assay-engine").into_iter().filter(is_shipped) {
        // Its tests may use any workload.
        let text = text.split("#[cfg(test)]").next().unwrap();
        for name in imports_of_the_model(text) {
            seen += 1;
            assert!(IMPORTS_OF_THE_ENGINE.contains(&name.as_str()), "{} imports {name}", path.display());
        }
        let named = ["act-storage", "act-index", "large-block"].iter().find(|name| text.contains(**name));
        assert_eq!(named, None, "{}", path.display());
    }
    assert!(seen > 10, "{seen} imports were found");
}

/// The name of a file may contain any character: messages show paths through `failure::shown`, so that a path cannot
/// begin a new line.
#[test]
fn paths_in_messages_are_shown_safely() {
    for (path, text) in sources("assay").into_iter().chain(sources("assay-run")) {
        let shows = path.ends_with("failure.rs");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let line =
            code.lines().position(|line| line.contains(".display()") && !path.to_string_lossy().ends_with("_tests.rs"));
        assert!(shows || line.is_none(), "{}:{} shows a path as it is", path.display(), line.unwrap_or(0) + 1);
    }
}

/// The rooms that carry out what was asked are libraries: their caller decides what is shown, and when the process ends.
#[test]
fn what_runs_prints_nothing() {
    let tested = |path: &Path| path.to_string_lossy().ends_with("_tests.rs");
    for (path, text) in ["assay-run", "assay-sql", "assay-files", "assay-capture"]
        .into_iter()
        .flat_map(sources)
        .filter(|(path, _)| !tested(path))
    {
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        for way in ["println!", "eprint", "print!(", "stdout()", "stderr()", "stdin()", "process::exit", "env::args"] {
            let line = text.lines().position(|line| line.contains(way) && !line.trim_start().starts_with("//"));
            assert_eq!(line, None, "{} uses {way}", path.display());
        }
    }
}

/// The live block can be erased without what was printed only by the file that knows everything that is printed.
#[test]
fn one_file_writes_to_the_terminal() {
    let ways = ["println!", "eprint", "print!(", "stdout()", "stderr()"];
    for (path, text) in sources("assay").into_iter().filter(|(path, _)| !path.ends_with("src/terminal.rs")) {
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        for way in ways {
            let line = text.lines().position(|line| line.contains(way) && !line.trim_start().starts_with("//"));
            assert_eq!(line, None, "{} uses {way}", path.display());
        }
    }
}

/// `docs/HACKING.md` says what the tests of each file show. A file that is missing there fails this test, and so does an
/// entry whose file no longer exists.
#[test]
fn every_test_program_is_listed_with_what_it_shows() {
    let text = std::fs::read_to_string(root().join("docs/HACKING.md")).unwrap();
    let (_, table) = text.split_once("| crate | tests | what they show |").unwrap();
    let rows = table.split("\n\n").next().unwrap().lines().skip(2);
    let mut listed: Vec<(String, String)> = rows
        .map(|row| {
            let mut cells = row.trim_matches('|').split('|').map(str::trim);
            (cells.next().unwrap().to_owned(), cells.next().unwrap().trim_matches('`').to_owned())
        })
        .collect();
    listed.sort();
    let mut there: Vec<(String, String)> = packages().iter().flat_map(|package| programs_of(&package.name)).collect();
    there.sort();
    assert_eq!(listed, there, "the table of docs/HACKING.md, and the directories `tests` of the crates");
}

/// Files that only list others, which are one program together.
const LISTS: [&str; 2] = ["all.rs", "computing.rs"];

/// The tests of a package: each file of `tests`, and each directory with a `main.rs`.
fn programs_of(package: &str) -> Vec<(String, String)> {
    let Ok(entries) = std::fs::read_dir(root().join("crates").join(package).join("tests")) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    let programs = paths.filter(|path| path.extension().is_some_and(|it| it == "rs") || path.join("main.rs").exists());
    let programs = programs.filter(|path| !LISTS.iter().any(|list| path.ends_with(list)));
    let short = package.strip_prefix("assay-").unwrap_or(package);
    programs.map(|path| (short.to_owned(), path.file_stem().unwrap().to_str().unwrap().to_owned())).collect()
}
