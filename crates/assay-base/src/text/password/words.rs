//! Passwords in words that are no URLs: the pairs of names and values that libraries of databases take (`host=h password=secret`,
//! `Server=h;Pwd=secret`), and a user's name and password before a host whose scheme was forgotten (`me:secret@host`).

use std::ops::Range;

/// What is shown in place of a password.
pub(super) const HIDDEN: &str = "***";
/// Words that name a database also without slashes behind them.
pub(super) const SCHEMES: [&str; 6] = ["postgresql:", "postgres:", "pgsql:", "mariadb:", "mysql:", "sqlite:"];
/// Names of simulated targets, whose options may have an at sign: `sim:flash?stall=300ms@7s`.
const SIMULATED: [&str; 2] = ["sim", "null"];

/// What a name contains whose value is a password.
const NAMES: [&str; 4] = ["password", "passwd", "passphrase", "pwd"];

/// The next password in a line from a place on.
pub(super) fn next_password(line: &str, from: usize) -> Option<Range<usize>> {
    [next_value(line, from), next_account(line, from)].into_iter().flatten().min_by_key(|secret| secret.start)
}

/// The value of the next pair whose name is that of a password.
fn next_value(line: &str, from: usize) -> Option<Range<usize>> {
    let signs = line[from..].match_indices('=').map(|(at, _)| from + at);
    let named = signs.filter(|at| names_password(&line[..*at]));
    named.map(|at| value_range(line, at + 1)).find(|secret| !is_hidden(&line[secret.clone()]))
}

/// Whether a line's beginning ends with the name of a password. A file that holds one is none.
fn names_password(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    let begin = before
        .rfind(|c| !is_part_of_name(c))
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let name = before[begin..].to_ascii_lowercase();
    let last = name.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    !name.ends_with("file") && (last == "pass" || NAMES.iter().any(|word| name.contains(word)))
}

/// The value that begins at a place: up to the next blank, or in quotation marks up to the last of them in the line, because one
/// within the value may be marked in any way.
fn value_range(line: &str, from: usize) -> Range<usize> {
    let begin = from + line[from..].len() - line[from..].trim_start_matches([' ', '\t']).len();
    let quoted = line[begin..].trim_start_matches('\\');
    let mark = quoted.chars().next().filter(|c| matches!(c, '\'' | '"' | '`'));
    match mark {
        Some(mark) => {
            let first = begin + line[begin..].len() - quoted.len();
            let last = line.rfind(mark).filter(|last| *last > first);
            begin..last.map_or(line.len(), |last| last + length_to_blank(&line[last..]))
        }
        None => begin..begin + length_to_blank(&line[begin..]),
    }
}

/// Whether a character may be in the name of a value or of an account.
fn is_part_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.".contains(c)
}

/// How many bytes of a text stand before its first blank.
fn length_to_blank(text: &str) -> usize {
    text.find(char::is_whitespace).unwrap_or(text.len())
}

/// The password of the next `user:password@host`.
fn next_account(line: &str, from: usize) -> Option<Range<usize>> {
    let starts = line[from..].char_indices().map(|(at, _)| from + at).filter(|at| begins_word(line, *at));
    starts
        .filter_map(|at| account_range(line, at))
        .find(|secret| secret.start >= from && !is_hidden(&line[secret.clone()]))
}

/// Whether a word begins at a place of a line.
fn begins_word(line: &str, at: usize) -> bool {
    let before = line[..at].chars().next_back();
    before.is_none_or(|c| c.is_whitespace() || "'\"`(=".contains(c))
}

/// As [`next_account`], of the word that begins at a place.
fn account_range(line: &str, at: usize) -> Option<Range<usize>> {
    let word = line[at..].split(char::is_whitespace).next().unwrap_or_default();
    let user = word.find(|c| !is_part_of_name(c))?;
    let end = word.rfind('@').filter(|end| *end > user + 1 && *end + 1 < word.len())?;
    let is_scheme =
        SCHEMES.iter().any(|scheme| word[..end].get(..=user).is_some_and(|user| user.eq_ignore_ascii_case(scheme)));
    let is_simulated = SIMULATED.contains(&&word[..user]);
    let is_account =
        user > 0 && !is_simulated && word[user..].starts_with(':') && !word[user..].starts_with("://") && !is_scheme;
    is_account.then_some(at + user + 1..at + end)
}

fn is_hidden(secret: &str) -> bool {
    secret.is_empty() || secret.starts_with(HIDDEN)
}
