//! Passwords in words that look like URLs, or like what else names a database and its password.
//!
//! A URL with a password is refused where a database is expected. But the same word can stand anywhere on a command line,
//! for instance where a workload is forgotten, and it may be malformed. Therefore every text that is shown passes through
//! here. What is hidden may be too much; it must not be too little.

mod words;

use std::borrow::Cow;
use std::ops::Range;
use words::{HIDDEN, SCHEMES};

/// The text with three stars in place of each password of a URL, of a pair `password=…`, and before a host.
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    // Nearly all texts that are shown have nothing of it.
    if !text.contains("//")
        && !text.contains(['=', '@'])
        && !SCHEMES.iter().any(|scheme| find_ignoring_case(text, scheme).is_some())
    {
        return Cow::Borrowed(text);
    }
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(line_without_passwords).collect();
    if lines.iter().any(|line| matches!(line, Cow::Owned(_))) {
        Cow::Owned(lines.join("\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// As [`without_passwords`], of one line.
fn line_without_passwords(text: &str) -> Cow<'_, str> {
    match of_urls(text) {
        Cow::Borrowed(text) => of_words(text),
        Cow::Owned(text) => Cow::Owned(of_words(&text).into_owned()),
    }
}

/// A line without the passwords of words that are no URLs.
fn of_words(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut done = 0;
    while let Some(secret) = words::next_password(text, done) {
        shown.push_str(&text[done..secret.start]);
        shown.push_str(HIDDEN);
        done = secret.end;
    }
    if done == 0 { Cow::Borrowed(text) } else { Cow::Owned(shown + &text[done..]) }
}

/// A line without the passwords of URLs.
fn of_urls(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut done = 0;
    while let Some(url) = next_url(text, done) {
        let end = match url.password_range(text) {
            Some(secret) => {
                shown.push_str(&text[done..secret.start]);
                shown.push_str(HIDDEN);
                secret.end
            }
            None => {
                shown.push_str(&text[done..url.rest]);
                url.rest
            }
        };
        done = end;
    }
    let is_same = done == 0 || shown == text[..done];
    if is_same { Cow::Borrowed(text) } else { Cow::Owned(shown + &text[done..]) }
}

/// How a text was recognised as a URL.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// By its scheme.
    Url,
    /// By two slashes only, or because it may be a file of SQLite: it has a password only if it has an at sign.
    Perhaps,
}

/// The place in a line where something that may be a URL goes on behind its scheme and slashes.
struct FoundUrl {
    rest: usize,
    form: Form,
    /// Whether the line begins with it. Then it is a word of the user's, which may have blanks in it.
    is_first: bool,
}

/// The next URL in a line from a place on.
fn next_url(text: &str, from: usize) -> Option<FoundUrl> {
    let part = &text[from..];
    let slashes = part.find("//").map(|at| {
        let form = if part[..at].ends_with(':') { Form::Url } else { Form::Perhaps };
        (at, at + 2, form)
    });
    let named = SCHEMES.iter().filter_map(|scheme| {
        let at = find_ignoring_case(part, scheme)?;
        let rest = at + scheme.len();
        // The name of a file that begins like a path is not mistaken for a user.
        let is_path = *scheme == "sqlite:" && part[rest..].starts_with(['/', '.']) && !part[rest..].starts_with("//");
        let form = if *scheme == "sqlite:" { Form::Perhaps } else { Form::Url };
        (!is_path).then_some((at, rest, form))
    });
    let (_, rest, form) = named.chain(slashes).min_by_key(|(at, rest, _)| (*at, *rest))?;
    let more = part[rest..].len() - part[rest..].trim_start_matches('/').len();
    let scheme = text[..from + rest].trim_end_matches('/');
    let is_first = scheme.trim_end_matches(':').chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let form = if more > 1 && scheme.ends_with(':') { Form::Url } else { form };
    Some(FoundUrl { rest: from + rest + more, form, is_first })
}

impl FoundUrl {
    /// Where its password is, if it has one.
    fn password_range(&self, text: &str) -> Option<Range<usize>> {
        let rest = &text[self.rest..];
        let token = rest.split(char::is_whitespace).next().unwrap_or_default();
        let secret = in_front(rest, token, self.form).or_else(|| password_in_query(rest, token, self.is_first))?;
        let secret = self.rest + secret.start..self.rest + secret.end;
        let is_hidden = text[secret.start..].strip_prefix(HIDDEN).is_some_and(|behind| {
            behind.is_empty() || behind.starts_with(['@', '%', '&']) || behind.starts_with(char::is_whitespace)
        });
        (!is_hidden).then_some(secret)
    }
}

/// What stands between a colon and an at sign, or in place of a port. `token` is `rest` up to its first blank.
fn in_front(rest: &str, token: &str, form: Form) -> Option<Range<usize>> {
    let colon = first_colon(token)?;
    let behind = &token[colon.end..];
    let digits = behind.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_port = digits.chars().next().is_none_or(|c| "/?#:,;)'\"`".contains(c));
    let in_authority = !token[..colon.start].contains(['/', '?', '#']);
    if is_port || !in_authority || form == Form::Perhaps {
        return token.rfind('@').and_then(|end| not_empty(colon.end, end));
    }
    // A password may have blanks in it, so that the last at sign counts of all that stands before another URL.
    let before = &rest[..rest.find("://").unwrap_or(rest.len())];
    let ends = [before, token].into_iter().filter_map(last_at_sign);
    let secret = ends.filter_map(|end| not_empty(colon.end, end)).max_by_key(|secret| secret.end);
    secret.or_else(|| not_empty(colon.end, token.len()))
}

/// The last at sign, which may be written as `%40`.
fn last_at_sign(text: &str) -> Option<usize> {
    text.rfind('@').or_else(|| find_last(text, "%40"))
}

/// A range that has at least one byte.
fn not_empty(begin: usize, end: usize) -> Option<Range<usize>> {
    (end > begin).then_some(begin..end)
}

/// The first colon, which may be written as `%3A`, but for those of an address in brackets.
fn first_colon(token: &str) -> Option<Range<usize>> {
    let host = token.rfind('@').map_or(0, |at| at + 1);
    let bracketed = token[host..].strip_prefix('[').and_then(|behind| behind.split_once(']'));
    let address = bracketed.map(|(address, _)| address);
    let address = address.filter(|address| address.chars().all(|c| c.is_ascii_hexdigit() || ":.%".contains(c)));
    let brackets = address.map(|address| host..host + address.len() + 2);
    let mut plain = token.char_indices().filter(|(_, c)| *c == ':').map(|(at, _)| at..at + 1);
    let plain = plain.find(|at| brackets.as_ref().is_none_or(|brackets| !brackets.contains(&at.start)));
    let encoded = find_ignoring_case(token, "%3a").map(|at| at..at + 3);
    [plain, encoded].into_iter().flatten().min_by_key(|colon| colon.start)
}

/// The value of an option that is a password.
fn password_in_query(rest: &str, token: &str, is_first: bool) -> Option<Range<usize>> {
    let scope = if is_first { rest } else { token };
    let mut at = scope.find('?')? + 1;
    for option in scope[at..].split('&') {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let name_of = name.to_ascii_lowercase();
        let is_file = ["password_file", "passfile"].contains(&name_of.as_str());
        if !value.is_empty() && !is_file && ["pass", "pwd"].iter().any(|word| name_of.contains(word)) {
            let begin = at + name.len() + 1;
            return Some(begin..begin + value.len());
        }
        at += option.len() + 1;
    }
    None
}

/// Where ASCII text stands in another one, whatever its letters' case.
fn find_ignoring_case(text: &str, wanted: &str) -> Option<usize> {
    text.as_bytes().windows(wanted.len()).position(|part| part.eq_ignore_ascii_case(wanted.as_bytes()))
}

fn find_last(text: &str, wanted: &str) -> Option<usize> {
    text.as_bytes().windows(wanted.len()).rposition(|part| part.eq_ignore_ascii_case(wanted.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_left_in_whatever_looks_like_a_url() {
        for (text, shown) in [
            ("postgres://me:canary@host/db", "postgres://me:***@host/db"),
            ("postgres://me:canary@host:5432/db", "postgres://me:***@host:5432/db"),
            ("POSTGRES://me:canary@host/db", "POSTGRES://me:***@host/db"),
            ("pgsql://me:canary@host/db", "pgsql://me:***@host/db"),
            ("redis://:canary@host", "redis://:***@host"),
            ("postgres://me:can?canary@host/db", "postgres://me:***@host/db"),
            ("postgres://me:can/canary@host/db", "postgres://me:***@host/db"),
            ("postgres://me:can#canary@host/db", "postgres://me:***@host/db"),
            ("postgres://me:can@canary@host/db", "postgres://me:***@host/db"),
            ("postgres://me:can canary@host/db", "postgres://me:***@host/db"),
            ("postgres://me:1234@host/db", "postgres://me:***@host/db"),
            ("postgres://me:5432/canary@host/db", "postgres://me:***@host/db"),
            ("postgres://me:canary%40host/db", "postgres://me:***%40host/db"),
            ("postgres://me%3Acanary@host/db", "postgres://me%3A***@host/db"),
            ("postgres://me:canary", "postgres://me:***"),
            ("postgres://me@host:canary", "postgres://me@host:***"),
            ("postgres://me@server:canary x@host", "postgres://me@server:***@host"),
            ("postgres:///me:canary@host/db", "postgres:///me:***@host/db"),
            ("postgres:/me:canary@host/db", "postgres:/me:***@host/db"),
            ("postgres:me:canary@host/db", "postgres:me:***@host/db"),
            ("postgres//me:canary@host/db", "postgres//me:***@host/db"),
            ("sqlite://me:canary@host/db", "sqlite://me:***@host/db"),
            ("sqlite:me:canary@host/db", "sqlite:me:***@host/db"),
            ("mysql://host/db?password=canary", "mysql://host/db?password=***"),
            ("mysql://host/db?tls=off&Pwd=canary x&port=1", "mysql://host/db?tls=off&Pwd=***&port=1"),
            ("error: postgres://me:canary@host/db is none", "error: postgres://me:***@host/db is none"),
            ("\"postgres://me:can canary@host\": no", "\"postgres://me:***@host\": no"),
            ("the file a://b:canary@c and x://y:canary@z", "the file a://b:***@c and x://y:***@z"),
            (
                "'a://me@host:canary/db' is none: \"a://me@host:canary/db\"",
                "'a://me@host:*** is none: \"a://me@host:***",
            ),
            ("a://me:x//canary@host/db", "a://me:***@host/db"),
            ("one\ntwo a://b:canary@c\nthree", "one\ntwo a://b:***@c\nthree"),
            ("mysql://host/db?password=canary&sslpassword=canary", "mysql://host/db?password=***&sslpassword=***"),
            ("password=canary", "password=***"),
            ("host=h password=canary dbname=shop", "host=h password=*** dbname=shop"),
            ("host=h PASSWORD = canary dbname=shop", "host=h PASSWORD = *** dbname=shop"),
            ("host=h password= canary", "host=h password= ***"),
            ("password='can canary' host=h", "password=*** host=h"),
            ("password='can\\' canary' user='me'", "password=***"),
            ("the file password=\\'can canary\\' is not there", "the file password=*** is not there"),
            ("password='can canary", "password=***"),
            ("password=\"can canary\": no", "password=*** no"),
            ("postgresql:host=h password=canary", "postgresql:host=h password=***"),
            ("sslpassword=canary PGPASSWORD=canary", "sslpassword=*** PGPASSWORD=***"),
            ("Server=h;Uid=me;Pwd=canary;Port=1", "Server=h;Uid=me;Pwd=***"),
            ("jdbc:x;user=me;db.pass=canary", "jdbc:x;user=me;db.pass=***"),
            ("grö,password=canary@host", "grö,password=***"),
            ("passfile=/root/p password=canary", "passfile=/root/p password=***"),
            ("me:canary@host/db", "me:***@host/db"),
            ("me:can/canary@tcp(host:3306)/db", "me:***@tcp(host:3306)/db"),
            ("the target 'me:can@canary@host' is none", "the target 'me:***@host' is none"),
            ("database=me:canary@host password=canary", "database=me:***@host password=***"),
        ] {
            let found = without_passwords(text);
            assert_eq!(found, shown, "{text}");
            assert_eq!(without_passwords(&found), shown, "a second time: {text}");
        }
    }

    #[test]
    fn what_has_no_password_stays_as_it_is() {
        for text in [
            "",
            "/dev/sda",
            "/dev/disk/by-path/pci-0000:00:1f.2@x",
            "postgres://me@host:5432/db%40x?schema=other&tls=off",
            "postgres://m%40e@[2001:db8::1]:6000/a%20b",
            "postgres://me@/shop?host=/run/pg&port=6000: the server cannot be reached: is it running?",
            "postgres://host:5432: no role is named",
            "mysql://me@/shop?password_file=/root/secret is read",
            "sqlite:shop.db: 1 warehouse",
            "sqlite:/data/a:b@c.db",
            "server postgresql: log 3.83 MiB/s, see https://example.com/a:b",
            "(postgres://me@host:5432), and me@example.com",
            "/tmp//a:b",
            "größe // a: b @ c",
            "password=",
            "a password is read from password_file=/root/secret, passfile=p, sslpasswordfile=q",
            "passed=5 bypass=on passes = 3",
            "me@host, me:@host, :x@host, ./me:x@host, me:x@",
        ] {
            assert!(matches!(without_passwords(text), Cow::Borrowed(it) if it == text), "{text}");
        }
    }
}
