//! What the documents for contributors name is there: files, folders and tests in `docs/ARCHITECTURE.md`, decisions in
//! their index, and the place that each link leads to.
#![allow(clippy::disallowed_methods, reason = "a test reads the tree that it belongs to")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The section below a heading of the second level.
fn section(page: &str, heading: &str) -> String {
    let from = page.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no {heading}")).1;
    from.split("\n## ").next().unwrap().to_owned()
}

/// What stands between single backquotes, outside of fenced blocks.
fn quoted(text: &str) -> Vec<String> {
    let outside: Vec<&str> = text.split("\n```").step_by(2).collect();
    let quoted = outside.iter().flat_map(|part| part.split('`').skip(1).step_by(2));
    quoted.map(str::to_owned).collect()
}

/// Everything beneath a directory, as paths from it; folders end in `/`.
fn beneath(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                found.push(format!("{name}/"));
                open.push(path);
            } else {
                found.push(name);
            }
        }
    }
    found
}

#[test]
fn the_answers_to_where_would_i_add_name_files_and_tests_that_are_there() {
    let answers = section(&read("docs/ARCHITECTURE.md"), "Where would I add …");
    let parts: Vec<&str> = answers.split("\n### ").skip(1).collect();
    assert_eq!(parts.len(), 7, "six worked answers, and the rest");
    for part in parts {
        let title = part.lines().next().unwrap();
        let names = quoted(part);
        let paths: Vec<&String> = names.iter().filter(|name| name.contains('/') && !name.contains(' ')).collect();
        assert!(paths.len() >= 5, "{title}: {paths:?}");
        for path in &paths {
            assert!(root().join(path).exists(), "{title}: {path} is named and not there");
        }
        assert!(paths.iter().any(|path| path.contains("tests") || path.ends_with("walk.rs")), "{title} names no test");
        let files: Vec<&&String> = paths.iter().filter(|path| path.ends_with(".rs")).collect();
        let sources: String = files.iter().map(|path| read(path)).collect();
        for name in names.iter().filter(|name| is_test_name(name)) {
            assert!(sources.contains(&format!("fn {name}(")), "{title}: none of its files has the test {name}");
        }
    }
}

/// Names that are said to be in a file, as `one` and `another` in `crates/….rs`, with the file.
fn names_in_files(text: &str) -> Vec<(String, String)> {
    let parts: Vec<&str> = text.split('`').collect();
    let (mut listed, mut found): (Vec<&str>, Vec<(String, String)>) = (Vec::new(), Vec::new());
    for (at, quoted) in parts.iter().enumerate().skip(1).step_by(2) {
        match parts[at - 1] {
            " in " if quoted.starts_with("crates/") && quoted.ends_with(".rs") => {
                found.extend(listed.iter().map(|name| ((*name).to_owned(), (*quoted).to_owned())));
                listed.clear();
            }
            " in " => listed.clear(),
            ", " | " and " | " or " => listed.push(quoted),
            _ => listed = vec![quoted],
        }
    }
    found
}

#[test]
fn what_is_said_to_be_in_a_file_is_in_it() {
    let page = read("docs/ARCHITECTURE.md");
    let named = names_in_files(&section(&page, "Where would I add …"));
    assert!(named.len() >= 20, "{named:?}");
    for (name, path) in named {
        let source = read(&path);
        let is_there = source.match_indices(name.as_str()).any(|(at, _)| {
            let is_part_of_a_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            !is_part_of_a_word(source[..at].chars().next_back())
                && !is_part_of_a_word(source[at + name.len()..].chars().next())
        });
        assert!(is_there, "{path} has no {name}");
    }
    let example = "the `a`, `b` and `c` in `crates/x.rs`, `d`; `e` in `docs/y.md`, `f` in `crates/z.rs`";
    let pairs: Vec<String> = names_in_files(example).iter().map(|(name, path)| format!("{name}:{path}")).collect();
    assert_eq!(pairs, ["a:crates/x.rs", "b:crates/x.rs", "c:crates/x.rs", "f:crates/z.rs"]);
}

/// Four words or more, joined by underscores: nothing but tests has such names in that section.
fn is_test_name(name: &str) -> bool {
    name.split('_').count() >= 4 && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[test]
fn the_inside_of_each_room_names_files_and_folders_that_are_there() {
    let inside = section(&read("docs/ARCHITECTURE.md"), "Inside the rooms");
    let mut rooms: Vec<String> = Vec::new();
    for part in inside.split("\n### `").skip(1) {
        let (room, text) = part.split_once('`').unwrap();
        let there = beneath(&root().join("crates").join(room).join("src"));
        let named = quoted(text).into_iter().filter(|name| name.ends_with(".rs") || name.ends_with('/'));
        let mut count = 0;
        for name in named {
            let is_there = there.iter().any(|path| *path == name || path.ends_with(&format!("/{name}")));
            assert!(is_there, "crates/{room}/src has no {name}");
            count += 1;
        }
        assert!(count >= 3, "{room} names {count} of its files");
        assert!(text.contains("\n```text\n"), "{room} has no picture");
        rooms.push(room.to_owned());
    }
    rooms.sort();
    let mut crates: Vec<String> = std::fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    crates.sort();
    assert_eq!(rooms, crates, "docs/ARCHITECTURE.md has a paragraph for each room");
}

#[test]
fn each_decision_is_in_the_index_once_and_has_a_context() {
    let index = read("docs/decisions/README.md");
    let files = beneath(&root().join("docs/decisions"));
    let decisions: Vec<&String> = files.iter().filter(|file| *file != "README.md").collect();
    assert!(decisions.len() > 70, "{decisions:?}");
    for file in &decisions {
        let number = file.split('-').next().unwrap();
        let rows = index.lines().filter(|line| line.starts_with(&format!("- [{number}]({file}): "))).count();
        assert_eq!(rows, 1, "docs/decisions/README.md lists {file} once");
        assert!(read(&format!("docs/decisions/{file}")).contains("\n## Context\n"), "{file} has no context");
    }
    let listed = index.lines().filter(|line| line.starts_with("- [")).count();
    assert_eq!(listed, decisions.len(), "the index lists what is there");
}

/// The documents, as paths from the root.
fn documents() -> Vec<String> {
    let of_docs = beneath(&root().join("docs")).into_iter().map(|path| format!("docs/{path}"));
    let at_root = std::fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    of_docs.chain(at_root).filter(|path| path.ends_with(".md")).collect()
}

/// The anchor of a heading, as the pages show it: lower case, blanks as hyphens, and no other signs.
fn anchor_of(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect()
}

/// The anchors of a page: its headings, and those that are written out.
fn anchors(page: &str) -> Vec<String> {
    let outside: Vec<&str> = page.split("\n```").step_by(2).collect();
    let headings = outside.iter().flat_map(|part| part.lines()).filter(|line| line.starts_with('#'));
    let headings = headings.map(|line| anchor_of(line.trim_start_matches('#').trim()));
    let written = page.split("<a id=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
    headings.chain(written).collect()
}

/// Where the links of a page lead to; code is left out.
fn links(page: &str) -> Vec<String> {
    let outside: String = page.split("\n```").step_by(2).collect();
    let text: String = outside.lines().flat_map(|line| line.split('`').step_by(2).chain(["\n"])).collect();
    let links = text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap().to_owned());
    links.filter(|link| !link.contains("://")).collect()
}

#[test]
fn every_link_of_every_document_leads_to_a_place_that_is_there() {
    let mut followed = 0;
    for document in documents() {
        let here = root().join(&document);
        for link in links(&read(&document)) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { here.clone() } else { here.parent().unwrap().join(file) };
            assert!(target.exists(), "{document} links to {link}, which is not there");
            if !anchor.is_empty() {
                let page = std::fs::read_to_string(&target).unwrap();
                assert!(anchors(&page).iter().any(|known| known == anchor), "{document}: {link} has no such anchor");
            }
            followed += 1;
        }
    }
    assert!(followed > 300, "{followed} links were followed");
}
