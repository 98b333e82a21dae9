//! Completions and manual pages, as a user makes them: every verb is named in each, and the tools that read them do.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::process::Command;

fn assay(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_assay")).args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The verbs as `--help` lists them.
fn verbs() -> Vec<String> {
    let help = assay(&["--help"]);
    let list = help.split_once("Commands:\n").unwrap().1.split("\n\n").next().unwrap();
    let of_line = |line: &str| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')).map(str::to_owned);
    let first = |line: String| line.split_whitespace().next().map(str::to_owned);
    let verbs: Vec<String> = list.lines().filter_map(of_line).filter_map(first).filter(|verb| verb != "help").collect();
    assert!(verbs.len() >= 14 && verbs.contains(&"certify".to_owned()), "{verbs:?}");
    verbs
}

#[test]
fn completions_name_every_verb() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = assay(&["completions", shell]);
        for verb in verbs() {
            assert!(script.contains(&verb), "{shell} does not know {verb}");
        }
    }
    let unknown = Command::new(env!("CARGO_BIN_EXE_assay")).args(["completions", "tcsh"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn bash_completes() {
    let script = assay(&["completions", "bash"]);
    let ask =
        format!("{script}\nCOMP_WORDS=(assay cert); COMP_CWORD=1; _assay assay cert assay; echo \"${{COMPREPLY[@]}}\"");
    let told = Command::new("bash").args(["-c", &ask]).output().unwrap();
    assert_eq!(String::from_utf8(told.stdout).unwrap().trim(), "certify", "{}", String::from_utf8_lossy(&told.stderr));
}

#[test]
fn a_page_for_the_program_and_for_each_verb() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let pages = dir.path().join("man/man1");
    assay(&["man", pages.to_str().unwrap()]);
    let main = std::fs::read_to_string(pages.join("assay.1")).unwrap();
    assert_eq!(main, assay(&["man"]));
    // A hyphen is written as an escape in a manual page.
    let text = |roff: &str| roff.replace("\\-", "-");
    for verb in verbs() {
        assert!(text(&main).contains(&format!("assay-{verb}(1)")), "assay.1 does not lead to {verb}");
        let page = text(&std::fs::read_to_string(pages.join(format!("assay-{verb}.1"))).unwrap());
        assert!(page.contains(".TH") && page.contains(&format!("assay {verb}")), "{verb}: {page}");
    }
    assert!(text(&main).contains("11 INVALID"), "exit codes");
}
