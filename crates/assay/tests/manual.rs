//! Completions and manual pages, as a user makes them: the shells themselves complete, and every verb has its page.
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a test makes files and says what it leaves out"
)]

use std::path::Path;
use std::process::{Command, Output};

fn called(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay")).args(args).output().unwrap()
}

fn assay(args: &[&str]) -> String {
    let output = called(args);
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

/// The text before the cursor, what must be offered, and what must not.
const OFFERED: [(&str, &[&str], &[&str]); 13] = [
    ("assay cert", &["certify"], &["run"]),
    ("assay run ", &["mine.toml", "act-storage", "random-read"], &["sim:flash", "data.bin", "--load"]),
    ("assay run act-", &["act-storage", "act-storage-quick", "act-index"], &["random-read", "mine.toml"]),
    ("assay run random-read ", &["sim:flash", "sim:disk", "null:1GiB", "data.bin"], &[]),
    ("assay explain ", &["certify", "act-index", "mine.toml"], &["sim:flash"]),
    ("assay explain certify ", &["act-storage", "sim:flash", "data.bin"], &[]),
    ("assay certify ", &["act-index", "sim:flash", "mine.toml"], &[]),
    ("assay limit random-read sim:flash-", &["sim:flash-worn"], &["sim:disk"]),
    ("assay curve mi", &["mine.toml"], &["act-storage"]),
    ("assay prep ", &["data.bin"], &["sim:flash", "act-storage"]),
    ("assay judge sub/", &["sub/run.jsonl"], &[]),
    ("assay man wa", &["watch"], &["certify"]),
    ("assay run --lo", &["--load"], &["act-storage"]),
];

/// A directory in which the shells run, with files that completion can offer.
fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    for name in ["mine.toml", "data.bin", "sub/run.jsonl", "a file.toml"] {
        std::fs::write(dir.path().join(name), "").unwrap();
    }
    dir
}

/// Runs a script in a shell, with `assay` in the path; `None` where the shell is not installed.
fn shell(program: &str, args: &[&str], dir: &Path) -> Option<String> {
    let bin = Path::new(env!("CARGO_BIN_EXE_assay")).parent().unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
    match Command::new(program).args(args).current_dir(dir).env("PATH", path).env("HOME", dir).output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: there is no {program} here");
            None
        }
        Err(e) => panic!("{program}: {e}"),
    }
}

fn offers(shell: &str, line: &str, told: &str, wanted: &[&str], unwanted: &[&str]) {
    let words: Vec<&str> = told.split_whitespace().collect();
    for word in wanted {
        assert!(words.contains(word), "{shell}: \"{line}\" does not offer {word}: {told}");
    }
    for word in unwanted {
        assert!(!words.contains(word), "{shell}: \"{line}\" offers {word}: {told}");
    }
}

/// What bash does when the tab key is pressed. For bash, a colon ends a word.
#[test]
fn bash_completes() {
    let dir = place();
    for (line, wanted, unwanted) in OFFERED {
        let words: Vec<String> = line.replace(':', " : ").split(' ').map(str::to_owned).collect();
        let ask = format!(
            "source <(assay completions bash); COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=({}); \
             COMP_CWORD={}; _assay assay '' ''; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
            words.len() - 1
        );
        let Some(told) = shell("bash", &["--norc", "-c", &ask], dir.path()) else { return };
        // Bash inserts what follows the colon.
        let after = |words: &[&str]| -> Vec<String> {
            let typed = line.rsplit(' ').next().unwrap_or_default();
            let before = typed.rfind(':').map_or(0, |at| at + 1);
            words.iter().map(|word| word[before.min(word.len())..].to_owned()).collect()
        };
        let (wanted, unwanted) = (after(wanted), after(unwanted));
        let refs = |words: &[String]| words.iter().map(String::as_str).map(str::to_owned).collect::<Vec<_>>();
        let (wanted, unwanted) = (refs(&wanted), refs(&unwanted));
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        let unwanted: Vec<&str> = unwanted.iter().map(String::as_str).collect();
        offers("bash", line, &told, &wanted, &unwanted);
    }
    let spaced = "source <(assay completions bash); COMP_LINE='assay run a\\ f'; COMP_POINT=${#COMP_LINE}; \
                  COMP_WORDS=(assay run 'a\\ f'); COMP_CWORD=2; _assay assay '' ''; printf '%s\\n' \"${COMPREPLY[@]}\"";
    assert_eq!(shell("bash", &["--norc", "-c", spaced], dir.path()).unwrap().trim(), "a\\ file.toml");
}

#[test]
fn fish_completes() {
    let dir = place();
    for (line, wanted, unwanted) in OFFERED {
        let ask = format!("assay completions fish | source; complete --do-complete '{line}'");
        let Some(told) = shell("fish", &["--no-config", "-c", &ask], dir.path()) else { return };
        offers("fish", line, &told, wanted, unwanted);
    }
}

/// The visible text of a terminal, without the sequences that move its cursor; such a sequence ends a word as well.
fn plain(told: &str) -> String {
    let mut parts = told.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest =
        parts.map(|part| part.trim_start_matches(|c: char| !c.is_ascii_alphabetic()).get(1..).unwrap_or_default());
    rest.fold(first, |shown, part| shown + " " + part)
}

/// Zsh completes only at a terminal, so it gets one.
#[test]
fn zsh_completes() {
    let dir = place();
    if shell("zsh", &["-f", "-c", ":"], dir.path()).is_none() {
        return;
    }
    let mut ask = "zmodload zsh/zpty; zpty it zsh -f -i; \
        zpty -w it 'PS1=G\"O> \"; LISTMAX=1000; stty cols 200; autoload -U compinit; compinit -u -d $HOME/dump; \
        source <(assay completions zsh); bindkey \"^D\" list-choices'; zpty -r it seen '*GO> *'; sleep 1\n"
        .to_owned();
    // Zsh lists nothing while more is typed: the test waits for each list, and then deletes its line.
    for (line, wanted, _) in OFFERED {
        let last = wanted.last().unwrap();
        ask += &format!(
            "all=; zpty -w -n it $'{line}\\x04'; \
             repeat 200; do while zpty -r -t it more; do all+=$more; done; [[ $all == *'{last}'* ]] && break; sleep 0.1; done; \
             sleep 0.3; while zpty -r -t it more; do all+=$more; done; print -r -- \"$all\"; print -r -- '====='; \
             zpty -w -n it $'\\x15'; sleep 0.2; while zpty -r -t it more; do :; done\n"
        );
    }
    let Some(told) = shell("timeout", &["100", "zsh", "-f", "-c", &ask], dir.path()) else { return };
    let lists: Vec<&str> = told.split("=====").collect();
    assert_eq!(lists.len(), OFFERED.len() + 1, "{told}");
    for ((line, wanted, unwanted), list) in OFFERED.into_iter().zip(lists) {
        offers("zsh", line, &plain(list), wanted, unwanted);
    }
}

/// An unknown shell is refused. A completion script cannot make the program run a command.
#[test]
fn a_question_of_a_shell_runs_nothing() {
    assert_eq!(called(&["completions", "tcsh"]).status.code(), Some(2));
    let dir = place();
    for asks in ["bash", "nonsense"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.args(["run", "random-read", "sim:flash", "--for", "1s", "--out", "made"]).current_dir(dir.path());
        let output = command.env("_ASSAY_COMPLETE", asks).output().unwrap();
        assert!(!dir.path().join("made").exists(), "{asks}: {output:?}");
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(assay(&["completions", shell]).contains("_ASSAY_COMPLETE"), "{shell}");
    }
}

#[test]
fn a_page_for_the_program_and_for_each_verb() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let pages = dir.path().join("man/man1");
    let told = assay(&["man", "--out", pages.to_str().unwrap()]);
    assert!(told.contains(pages.to_str().unwrap()), "{told}");
    let main = std::fs::read_to_string(pages.join("assay.1")).unwrap();
    assert_eq!(main, assay(&["man"]));
    // A hyphen is written as an escape in a manual page.
    let text = |roff: &str| roff.replace("\\-", "-");
    for verb in verbs() {
        assert!(text(&main).contains(&format!("assay-{verb}(1)")), "assay.1 does not lead to {verb}");
        let written = std::fs::read_to_string(pages.join(format!("assay-{verb}.1"))).unwrap();
        assert_eq!(written, assay(&["man", &verb]));
        let page = text(&written);
        assert!(page.contains(".TH") && page.contains(&format!("assay {verb}")), "{verb}: {page}");
    }
    assert!(text(&main).contains("11 INVALID"), "exit codes");
    // Older pages are replaced, and anything else in their place is not written through.
    assay(&["man", "--out", pages.to_str().unwrap()]);
    std::fs::remove_file(pages.join("assay-run.1")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("elsewhere"), pages.join("assay-run.1")).unwrap();
    let refused = called(&["man", "--out", pages.to_str().unwrap()]);
    assert!(refused.status.code() == Some(5) && !dir.path().join("elsewhere").exists(), "{refused:?}");
}

#[test]
fn a_page_that_is_none_says_what_to_write() {
    let said = called(&["man", "/usr/share/man"]);
    let told = String::from_utf8_lossy(&said.stderr).into_owned();
    assert_eq!(said.status.code(), Some(2), "{told}");
    assert!(told.contains("assay man --out /usr/share/man") && said.stdout.is_empty(), "{told}");
    assert!(assay(&["man", "--help"]).contains("assay man --out"));
}
