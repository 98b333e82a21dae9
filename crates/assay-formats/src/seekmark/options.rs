//! SeekMark's command line. Options are accepted in the forms of C's getopt (`-t4`, `-t 4`, `-qe`); values that
//! SeekMark ignores or misreads are refused.

use assay_base::Span;

/// The help text.
pub const USAGE: &str = "\
usage: seekmark -f FILE [options]
  -f FILE          file or device to read from, or to write to (at most 255 characters)
  -t THREADS       threads, each with one operation in flight [1]
  -s SEEKS         operations of each thread [5000]
  -i BYTES         size of an operation, 1 to 1048577 [512]
  -a N             operations begin at multiples of 2^N bytes [0: the target's blocks]
  -S BYTES         use only the first BYTES of the target
  -d MS            pause of each thread before its next operation, 1 to 10000
  -e               endless: run until a signal ends it
  -w destroy-data  write. A device also needs --destroy-data TOKEN
  -R               write one character over and over, not unique data
  -q               print the total alone
  -h               this text
not of the original:
  -t 1,2,4,8             one run for each number of threads, and at the end what each gains over the first
  --destroy-data TOKEN   agree that all data on the device with this token are destroyed (`assay devices` prints it)
";

/// A parsed command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// The help text is requested.
    Help,
    /// Benchmarks are requested, one after another: one for each number of threads.
    Run(Vec<Asked>),
}

/// The kind of operations of the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Read.
    Read,
    /// Write unique data.
    Write,
    /// Write one character.
    WriteRepeated,
}

impl Mode {
    /// Its name in the output.
    pub fn output_word(self) -> &'static str {
        if self == Mode::Read { "READ" } else { "WRITE" }
    }
}

/// A benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Name of the target.
    pub file: String,
    /// Number of threads.
    pub threads: u32,
    /// Number of operations of each thread; `None` for an endless run.
    pub seeks: Option<u64>,
    /// The value of `-s`, which SeekMark also prints for an endless run.
    pub seeks_printed: u64,
    /// Size of an operation in bytes.
    pub size: u64,
    /// Alignment of offsets in bytes.
    pub align: u64,
    /// The size in bytes of the part that is used, which begins at the start of the target.
    pub limit: Option<u64>,
    /// Pause before each operation.
    pub pause: Span,
    /// The kind of operations of the threads.
    pub mode: Mode,
    /// Whether only the total is printed.
    pub quiet: bool,
    /// Tokens of devices that may be destroyed.
    pub tokens: Vec<String>,
}

/// The options with a value.
const WITH_VALUE: &str = "ftsiaSdw";
/// The options without a value.
const ALONE: &str = "eRqh";
/// An option with a value that SeekMark does not have.
const TOKEN: &str = "--destroy-data";
/// Upper bound on the numbers of threads in a list.
const MOST_RUNS: usize = 64;
/// Upper bound on threads: each is a stream of the workload.
const MOST_THREADS: u64 = assay_model::seek::MOST_THREADS as u64;

/// Reads a command line.
///
/// # Errors
/// The text says what is wrong with it, and what to write.
pub fn parse_args(args: &[String]) -> Result<Command, String> {
    let mut written = Written::default();
    let mut words = args.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if let Some(rest) = word.strip_prefix(TOKEN) {
            let token = match rest.strip_prefix('=') {
                Some(token) => token,
                None if rest.is_empty() => words.next().ok_or(format!("{TOKEN} needs a token"))?,
                None => return Err(unknown_option(word)),
            };
            written.tokens.extend(token.split(',').filter(|token| !token.is_empty()).map(str::to_owned));
            continue;
        }
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty() && !letters.starts_with('-'))
        else {
            return Err(unknown_option(word));
        };
        parse_cluster(letters, &mut words, &mut written)?;
        if written.help {
            return Ok(Command::Help);
        }
    }
    written.into_runs().map(Command::Run)
}

/// Options after one dash: letters without a value, then at most one with a value, which is the rest of the word or the
/// next word.
fn parse_cluster<'a>(
    letters: &'a str,
    words: &mut impl Iterator<Item = &'a str>,
    written: &mut Written,
) -> Result<(), String> {
    for (at, letter) in letters.char_indices() {
        if ALONE.contains(letter) {
            written.set_flag(letter);
        } else if WITH_VALUE.contains(letter) {
            let rest = &letters[at + letter.len_utf8()..];
            let value = if rest.is_empty() { words.next() } else { Some(rest) };
            return written.set_value(letter, value.ok_or(format!("-{letter} needs a value"))?);
        } else {
            return Err(unknown_option(&format!("-{letter}")));
        }
    }
    Ok(())
}

fn unknown_option(word: &str) -> String {
    format!("there is no option \"{}\"; -h lists them", word.escape_debug())
}

/// The options as written.
#[derive(Default)]
struct Written {
    file: Option<String>,
    numbers: Numbers,
    writes: bool,
    repeated: bool,
    endless: bool,
    quiet: bool,
    help: bool,
    tokens: Vec<String>,
}

#[derive(Default)]
struct Numbers {
    threads: Vec<u64>,
    seeks: Option<u64>,
    size: Option<u64>,
    bits: Option<u64>,
    limit: Option<u64>,
    pause_ms: Option<u64>,
}

impl Written {
    fn set_flag(&mut self, letter: char) {
        match letter {
            'e' => self.endless = true,
            'R' => self.repeated = true,
            'q' => self.quiet = true,
            _ => self.help = true,
        }
    }

    fn set_value(&mut self, letter: char, value: &str) -> Result<(), String> {
        let number = |least: u64, most: u64| whole_number(letter, value, least, most).map(Some);
        let numbers = &mut self.numbers;
        match letter {
            't' if value.split(',').count() > MOST_RUNS => {
                return Err(format!("-t has more than {MOST_RUNS} numbers of threads; write fewer"));
            }
            't' => {
                let each = value.split(',').map(|word| whole_number(letter, word, 1, MOST_THREADS));
                numbers.threads = each.collect::<Result<_, _>>()?;
            }
            's' => numbers.seeks = number(1, i32::MAX as u64)?,
            'i' => numbers.size = number(1, 1_048_577)?,
            'a' => numbers.bits = number(0, 26)?,
            'S' => numbers.limit = number(1, i64::MAX as u64)?,
            'd' => numbers.pause_ms = number(1, 10_000)?,
            'w' if value == "destroy-data" => self.writes = true,
            'w' => return Err("-w destroys what the target holds: write -w destroy-data".to_owned()),
            _ if value.is_empty() || value.len() > 255 => return Err("-f needs a name of 1 to 255 characters".into()),
            _ => self.file = Some(value.to_owned()),
        }
        Ok(())
    }

    /// A run for each number of threads.
    fn into_runs(mut self) -> Result<Vec<Asked>, String> {
        let threads = match std::mem::take(&mut self.numbers.threads) {
            none if none.is_empty() => vec![assay_model::seek::THREADS.into()],
            threads => threads,
        };
        if self.endless && threads.len() > 1 {
            return Err("-e never comes to the second number of threads: give one to -t, or leave -e out".to_owned());
        }
        let first = self.into_asked()?;
        Ok(threads.into_iter().map(|threads| Asked { threads: threads as u32, ..first.clone() }).collect())
    }

    /// The run, but for its number of threads.
    fn into_asked(self) -> Result<Asked, String> {
        let Written { file, numbers, writes, repeated, endless, quiet, tokens, .. } = self;
        let seeks = numbers.seeks.unwrap_or(assay_model::seek::SEEKS);
        Ok(Asked {
            file: file.ok_or("which file or device? Name it: -f FILE")?,
            threads: 0,
            seeks: (!endless).then_some(seeks),
            seeks_printed: seeks,
            size: numbers.size.unwrap_or(assay_model::seek::SIZE.get()),
            align: 1 << numbers.bits.unwrap_or(0),
            limit: numbers.limit,
            pause: Span::from_ms(numbers.pause_ms.unwrap_or(0)),
            mode: match (writes, repeated) {
                (false, _) => Mode::Read,
                (true, false) => Mode::Write,
                (true, true) => Mode::WriteRepeated,
            },
            quiet,
            tokens,
        })
    }
}

/// The value of an option, within bounds.
fn whole_number(letter: char, word: &str, least: u64, most: u64) -> Result<u64, String> {
    let number = word.parse().ok().filter(|number| (least..=most).contains(number));
    let shown: String = word.chars().take(40).collect();
    number.ok_or_else(|| format!("-{letter} {}: write a whole number from {least} to {most}", shown.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_line(line: &str) -> Result<Command, String> {
        parse_args(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn asked(line: &str) -> Asked {
        match read_line(line) {
            Ok(Command::Run(runs)) if runs.len() == 1 => runs[0].clone(),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn each_number_of_threads_is_a_run() {
        let Ok(Command::Run(runs)) = read_line("-f x -t 1,2,8 -s 9 -q") else { panic!() };
        let threads: Vec<u32> = runs.iter().map(|run| run.threads).collect();
        assert_eq!(threads, [1, 2, 8]);
        assert!(runs.iter().all(|run| (run.seeks, run.quiet, run.file.as_str()) == (Some(9), true, "x")));
    }

    #[test]
    fn options_as_c_programs_take_them() {
        let plain = asked("-f x");
        assert_eq!((plain.threads, plain.seeks, plain.size, plain.align), (1, Some(5000), 512, 1));
        assert_eq!((plain.limit, plain.pause, plain.mode, plain.quiet), (None, Span::ZERO, Mode::Read, false));
        for line in ["-t2 -f./x -s50", "-t 2 -f ./x -s 50", "-s 9 -f y -s 50 -f ./x -t2"] {
            let asked = asked(line);
            assert_eq!((asked.threads, asked.file.as_str(), asked.seeks), (2, "./x", Some(50)), "{line}");
        }
        let all =
            asked("-qef x -a12 -S 10485760 -d5 -w destroy-data -R -i 1048577 --destroy-data ab,cd --destroy-data=ef");
        assert_eq!((all.quiet, all.seeks, all.seeks_printed), (true, None, 5000));
        assert_eq!((all.align, all.limit, all.pause), (4096, Some(10_485_760), Span::from_ms(5)));
        assert_eq!(
            (all.mode, all.size, all.tokens),
            (Mode::WriteRepeated, 1_048_577, ["ab", "cd", "ef"].map(String::from).to_vec())
        );
        assert_eq!(asked("-f x -R").mode, Mode::Read, "nothing is written");
        assert_eq!(read_line("-f x -h -z"), Ok(Command::Help));
    }

    #[test]
    fn what_it_would_ignore_or_misread_is_refused() {
        for (line, word) in [
            ("", "-f FILE"),
            ("-t1", "-f FILE"),
            ("-f x -t 0", "-t 0: write a whole number from 1 to 256"),
            ("-f x -t 257", "1 to 256"),
            ("-f x -t 1,,2", "-t : write a whole number from 1 to 256"),
            ("-f x -t 1,2,", "-t : write"),
            ("-f x -t 1,2x", "-t 2x: write"),
            ("-f x -e -t 1,2", "-e never comes to the second number of threads"),
            ("-f x -s 0", "-s 0"),
            ("-f x -s 3000000000", "2147483647"),
            ("-f x -s 5k", "-s 5k"),
            ("-f x -i 0", "-i 0"),
            ("-f x -i 1048578", "1048577"),
            ("-f x -a 27", "-a 27"),
            ("-f x -S -5", "-S -5"),
            ("-f x -S 99999999999999999999", "-S"),
            ("-f x -d 0", "-d 0"),
            ("-f x -d 10001", "10000"),
            ("-f x -w yes", "-w destroy-data"),
            ("-f x -w", "-w needs a value"),
            ("-f x -z", "no option \"-z\""),
            ("-f x -qz", "no option \"-z\""),
            ("-f x extra", "no option \"extra\""),
            ("-f x --destroy-dat t", "no option \"--destroy-dat\""),
            ("-f x --destroy-datas t", "no option"),
            ("-f x --destroy-data", "needs a token"),
            ("-f x -", "no option \"-\""),
            ("-f x -é", "no option"),
        ] {
            let told = read_line(line).unwrap_err();
            assert!(told.contains(word), "{line}: {told}");
        }
        assert!(
            parse_args(&["-f".into(), "x".repeat(256)]).is_err() && parse_args(&["-f".into(), String::new()]).is_err()
        );
        assert!(parse_args(&["-f".into(), "x".repeat(255)]).is_ok());
    }
}
