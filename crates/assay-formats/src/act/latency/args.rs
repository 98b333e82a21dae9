//! The analyzer's command line: Python's `getopt` rules (short options may be joined to their value, long ones may be cut
//! to a unique prefix, the first word that is not an option ends them), its messages, and the values of the options.

use crate::act::number;

/// The options that were given.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Options {
    pub log: Option<String>,
    pub histograms: Vec<String>,
    pub slice: i128,
    pub start_bucket: i128,
    pub num_buckets: i128,
    pub every_nth: i128,
    pub extra: bool,
}

/// Why the command line is invalid.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum ArgsFault {
    /// `getopt`'s own message; usage follows.
    Getopt(String),
    /// A value that is not an integer; the original ends with a traceback.
    NotInteger { option: String, value: String },
}

/// The options by their letter; `true` where a value follows.
const SHORT: [(char, bool); 7] =
    [('l', true), ('h', true), ('t', true), ('s', true), ('n', true), ('e', true), ('x', false)];
/// The same options by their long names.
const LONG: [(&str, char, bool); 7] = [
    ("log", 'l', true),
    ("histogram", 'h', true),
    ("slice", 't', true),
    ("start_bucket", 's', true),
    ("num_buckets", 'n', true),
    ("every_nth", 'e', true),
    ("extra", 'x', false),
];

impl Options {
    /// Reads the words after the program's name.
    pub(super) fn parse_args(args: &[String]) -> Result<Options, ArgsFault> {
        let mut options = Options {
            log: None,
            histograms: Vec::new(),
            slice: 3600,
            start_bucket: 0,
            num_buckets: 7,
            every_nth: 1,
            extra: false,
        };
        for (letter, value) in parse_like_getopt(args).map_err(ArgsFault::Getopt)? {
            options.set_option(letter, value)?;
        }
        Ok(options)
    }

    fn set_option(&mut self, letter: char, value: String) -> Result<(), ArgsFault> {
        match letter {
            'l' => self.log = Some(value),
            'h' => self.histograms.push(value),
            't' => self.slice = parse_integer(letter, value)?,
            's' => self.start_bucket = parse_integer(letter, value)?,
            'n' => self.num_buckets = parse_integer(letter, value)?,
            'e' => self.every_nth = parse_integer(letter, value)?,
            _ => self.extra = true,
        }
        Ok(())
    }
}

/// The value of an option that takes an integer.
fn parse_integer(letter: char, value: String) -> Result<i128, ArgsFault> {
    number::int_like_python(&value).ok_or(ArgsFault::NotInteger { option: format!("-{letter}"), value })
}

/// The options in order, each with its value (empty for a flag).
fn parse_like_getopt(args: &[String]) -> Result<Vec<(char, String)>, String> {
    let mut found = Vec::new();
    let mut words = args.iter();
    while let Some(word) = words.as_slice().first() {
        if !word.starts_with('-') || word == "-" {
            break;
        }
        words.next();
        if word == "--" {
            break;
        }
        match word.strip_prefix("--") {
            Some(long) => found.push(long_option(long, &mut words)?),
            None => short_options(&word[1..], &mut words, &mut found)?,
        }
    }
    Ok(found)
}

fn long_option(text: &str, words: &mut std::slice::Iter<String>) -> Result<(char, String), String> {
    let (name, given) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    let fitting: Vec<_> = LONG.iter().filter(|(long, ..)| long.starts_with(name)).collect();
    let (long, letter, takes_value) = match (fitting.iter().find(|(long, ..)| *long == name), fitting.as_slice()) {
        (Some(exact), _) => **exact,
        (None, []) => return Err(format!("option --{name} not recognized")),
        (None, [one]) => **one,
        _ => return Err(format!("option --{name} not a unique prefix")),
    };
    match (takes_value, given) {
        (true, Some(value)) => Ok((letter, value)),
        (true, None) => {
            let value = words.next().ok_or(format!("option --{long} requires argument"))?;
            Ok((letter, value.clone()))
        }
        (false, Some(_)) => Err(format!("option --{long} must not have an argument")),
        (false, None) => Ok((letter, String::new())),
    }
}

fn short_options(
    cluster: &str,
    words: &mut std::slice::Iter<String>,
    found: &mut Vec<(char, String)>,
) -> Result<(), String> {
    let mut letters = cluster.chars();
    while let Some(letter) = letters.next() {
        let known = SHORT.iter().find(|(known, _)| *known == letter);
        let (_, takes_value) = known.ok_or(format!("option -{letter} not recognized"))?;
        if !takes_value {
            found.push((letter, String::new()));
            continue;
        }
        let joined = letters.as_str();
        let value = if joined.is_empty() {
            words.next().ok_or(format!("option -{letter} requires argument"))?.clone()
        } else {
            joined.to_owned()
        };
        found.push((letter, value));
        break;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Options, ArgsFault> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Options::parse_args(&words)
    }

    #[test]
    fn all_ways_to_write_an_option() {
        let expected = read("-l f -h reads -h writes -t 10 -s 1 -n 3 -e 2 -x").unwrap();
        for same in [
            "-lf -hreads -hwrites -t10 -s1 -n3 -e2 -x",
            "-xlf -h reads -h writes -t 1_0 -s 1 -n 3 -e 2",
            "--log f --histogram reads --histogram=writes --slice 10 --start_bucket 1 --num_buckets=3 --every_nth 2 --extra",
            "--l=f --h reads --hist writes --sl 10 --st 1 --n 3 --ev=2 --ex rest -n 9",
            "-l g -l f -h reads -h writes -t 10 -s 1 -n 3 -e 2 -x -- -n 9",
        ] {
            assert_eq!(read(same).unwrap(), expected, "{same}");
        }
        assert_eq!(read("- -l f").unwrap().log, None);
    }

    #[test]
    fn getopts_own_messages() {
        for (text, message) in [
            ("-z", "option -z not recognized"),
            ("-:", "option -: not recognized"),
            ("-l", "option -l requires argument"),
            ("-xl", "option -l requires argument"),
            ("--log", "option --log requires argument"),
            ("--lo", "option --log requires argument"),
            ("--s=1", "option --s not a unique prefix"),
            ("--e 1", "option --e not a unique prefix"),
            ("--=1", "option -- not a unique prefix"),
            ("--nothing", "option --nothing not recognized"),
            ("--extra=1", "option --extra must not have an argument"),
            ("-t x -z", "option -z not recognized"),
        ] {
            assert_eq!(read(text), Err(ArgsFault::Getopt(message.to_owned())), "{text}");
        }
        assert_eq!(read("-t x"), Err(ArgsFault::NotInteger { option: "-t".into(), value: "x".into() }));
    }
}
