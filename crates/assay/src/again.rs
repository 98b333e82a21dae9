//! The command that continues what was cut short: the one that was typed, with `--resume`, so that it can be pasted.

use assay_base::text::without_passwords;
use assay_judge::for_a_shell;
use std::path::Path;

/// Options that name the directory of a run; one of them takes the place of all.
const OF_THE_DIRECTORY: [&str; 2] = ["--out", "--resume"];

/// What is done where nobody can continue what was cut short.
pub(crate) const FROM_THE_BEGINNING: &str = "the same command with another --out";

/// A line that says that the work in `dir` was cut short, with the command that continues it.
pub(crate) fn cut_short(dir: &Path) -> String {
    format!("cut short; next: {}", resume_command(dir))
}

/// The command that continues what lies in `dir`. Where the words that were typed cannot be repeated on a screen, because
/// there is a password among them, what is to be done is said instead.
#[allow(clippy::disallowed_methods, reason = "the binary reads its arguments")]
pub(crate) fn resume_command(dir: &Path) -> String {
    let words: Option<Vec<String>> = std::env::args_os().map(|word| word.into_string().ok()).collect();
    let dir = for_a_shell(&dir.to_string_lossy());
    words
        .and_then(|words| command_that_resumes(&words, &dir))
        .unwrap_or_else(|| format!("the same command with --resume {dir}"))
}

/// These words of a command line with `--resume`; `dir` is quoted for a shell. `None` if they must not be repeated, or if
/// something stands behind `--`, where no option can follow.
fn command_that_resumes(words: &[String], dir: &str) -> Option<String> {
    // A password must stay hidden.
    if words.iter().any(|word| *without_passwords(word) != **word || word == "--") {
        return None;
    }
    let mut kept: Vec<String> = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if OF_THE_DIRECTORY.contains(&word.as_str()) {
            rest.next();
            continue;
        }
        if !names_the_directory(word) {
            kept.push(quote_word(word));
        }
    }
    Some(format!("{} --resume {dir}", kept.join(" ")))
}

/// `--out=DIR` or `--resume=DIR`.
fn names_the_directory(word: &str) -> bool {
    word.split_once('=').is_some_and(|(option, _)| OF_THE_DIRECTORY.contains(&option))
}

/// A word as a shell reads it. Options keep their hyphens, which a name of a file must not begin with.
fn quote_word(word: &str) -> String {
    match word.strip_prefix('-') {
        Some(_) => for_a_shell(word).replacen("./-", "-", 1),
        None => for_a_shell(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_typed_command_goes_on_in_the_directory() {
        for (typed, expected) in [
            (
                &["assay", "run", "w.toml", "a.img", "--out", "x", "--for", "4s"][..],
                Some("assay run w.toml a.img --for 4s --resume out"),
            ),
            (&["assay", "run", "w.toml", "--out=x", "-q"], Some("assay run w.toml -q --resume out")),
            (&["assay", "limit", "w.toml", "--resume", "out"], Some("assay limit w.toml --resume out")),
            (&["/usr/bin/assay", "limit", "--resume=out", "w.toml"], Some("/usr/bin/assay limit w.toml --resume out")),
            (
                &["assay", "run", "my job.fio", "--criterion", "reads p99 at most 5ms", "--criterion=all p50 < 1ms"],
                Some(
                    "assay run 'my job.fio' --criterion 'reads p99 at most 5ms' '--criterion=all p50 < 1ms' --resume out",
                ),
            ),
            (&["assay", "run", "tpcc", "postgres://me:secret@host/shop"], None),
            (&["assay", "run", "tpcc", "postgres:host=db password=secret"], None),
            (&["assay", "run", "w.toml", "--", "a.img"], None),
        ] {
            let words: Vec<String> = typed.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(command_that_resumes(&words, "out").as_deref(), expected, "{typed:?}");
        }
    }
}
