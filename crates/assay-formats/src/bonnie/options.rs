//! The command line of bonnie++ 2.00a. Options are accepted in the forms of C's getopt (`-x3`, `-x 3`, `-qf`); values that
//! the original ignores or misreads are refused.

use assay_base::text::one_line;

/// The help text.
pub const USAGE: &str = "\
usage: bonnie++ [options]
  -d DIR             directory to test; the run makes one of its own in it, and nothing else [.]
  -s SIZE[:CHUNK[:SEEKS[:CLIENTS]]]
                     the large file: MiB, or 4g; bytes of a read or write, a power of two from 256 to 1m [8192];
                     seeks [8192], and the clients that make them [5]. 0: no large file [twice the memory]
  -n FILES[:MAX[:MIN[:DIRS[:CHUNK]]]]
                     small files in units of 1024 [16], the bytes of each [0], the directories in which they are [1],
                     bytes of a read or write [8192]. 0: no small files
  -m NAME            name of the machine in the output [its own]
  -r MIB             memory of this machine; a file of less than twice as much is refused. 0: do not look [what it has]
  -x N               so many times, as CSV alone [1]
  -u USER[:GROUP]    give up all other rights first; needed as root (-u root keeps them). -g GROUP: the same for the group
  -q                 only the CSV line on standard output, the table on standard error
  -f                 leave out the tests byte by byte
  -b                 make each creation and deletion of a small file durable
  -D                 direct I/O (O_DIRECT)
  -p N, -p -1        make the semaphores for N processes that run with -y s, or remove them
  -y s, -y p         before each test wait for the other processes, or for a key (Enter)
  -z SEED            seed of what is drawn [random]
  -h                 this text
";

/// A parsed command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// The help text is wanted.
    Help,
    /// Semaphores for so many processes are wanted.
    MakeSemaphores(u16),
    /// They shall be removed.
    RemoveSemaphores,
    /// Tests are wanted.
    Run(Box<Arguments>),
}

/// The tests that are wanted, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// The directory.
    pub directory: String,
    /// The large file: none where the command line leaves it out.
    pub block: Option<BlockTests>,
    /// The small files: none where the command line leaves them out.
    pub files: Option<FileTests>,
    /// The name of the machine.
    pub machine: Option<String>,
    /// The memory in MiB; 0 where it does not matter.
    pub memory_mib: Option<u64>,
    /// How often all is done.
    pub times: Option<u32>,
    /// Whose rights are kept.
    pub user: Option<WantedUser>,
    /// Whether the table goes to standard error.
    pub quiet: bool,
    /// How files are read and written.
    pub manner: FileManner,
    /// What to wait for before each test.
    pub synchronisation: Option<Synchronisation>,
    /// The seed.
    pub seed: Option<u64>,
}

/// Whose rights are kept, by names or numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedUser {
    /// The user.
    pub user: String,
    /// The group; the user's own where there is none.
    pub group: Option<String>,
}

/// How files are read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileManner {
    /// Without the tests byte by byte.
    pub fast: bool,
    /// Creations and deletions are made durable.
    pub synchronous: bool,
    /// Files are opened with O_DIRECT.
    pub direct: bool,
}

/// What a test waits for before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronisation {
    /// The other processes, by a semaphore.
    Semaphore,
    /// A line on standard input.
    Prompt,
}

/// The large file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockTests {
    /// Its size in MiB; none where it follows from the memory.
    pub size_mib: Option<u64>,
    /// Bytes of a read or write.
    pub chunk: u64,
    /// Number of seeks; with 0 there is no such test.
    pub seeks: u64,
    /// How many clients make them.
    pub seekers: u32,
}

/// The small files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileTests {
    /// How many.
    pub files: u32,
    /// The most bytes of one.
    pub largest: u64,
    /// The fewest.
    pub smallest: u64,
    /// Directories in which they are.
    pub directories: u32,
    /// Bytes of a read or write.
    pub chunk: u64,
}

/// Options with a value, and options without one.
const WITH_VALUE: &str = "dsnmrxugpyzZc";
const ALONE: &str = "qfbDh";
/// The bounds of a chunk.
const SHORTEST_CHUNK: u64 = 256;
const LONGEST_CHUNK: u64 = 1 << 20;
const USUAL_CHUNK: u64 = 8192;
const USUAL_SEEKS: u64 = 8192;
const USUAL_SEEKERS: u32 = 5;
/// The large file, in MiB: at most 1 PiB, as every file of a tree.
const MOST_MIB: u64 = 1 << 30;
/// Small files in units of 1024, and how many one unit is.
const USUAL_UNITS: u64 = 16;
const MOST_UNITS: u64 = 900_000;
const UNIT: u64 = 1024;
/// The largest seed that a workload file can hold.
const LARGEST_SEED: u64 = i64::MAX as u64;
/// A small file.
const LARGEST_SMALL: u64 = 1 << 40;

/// Reads a command line.
///
/// # Errors
/// The text says what is wrong with it, and what to write.
pub fn parse_args(args: &[String]) -> Result<Command, String> {
    let mut written = Written::default();
    let mut words = args.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty() && !letters.starts_with('-'));
        let letters = letters.ok_or_else(|| unknown_option(word))?;
        read_letters(letters, &mut words, &mut written)?;
    }
    written.into_command()
}

/// Options after one dash: letters without a value, then at most one with a value, which is the rest of the word or the
/// next word.
fn read_letters<'a>(
    letters: &'a str,
    words: &mut impl Iterator<Item = &'a str>,
    written: &mut Written,
) -> Result<(), String> {
    for (at, letter) in letters.char_indices() {
        let rest = &letters[at + letter.len_utf8()..];
        if letter == 'f' && rest.starts_with(|next: char| next.is_ascii_digit()) {
            return Err("-f takes no size: the tests byte by byte are of 20 MiB; write -f to leave them out".to_owned());
        }
        if ALONE.contains(letter) {
            written.flags.push(letter);
        } else if WITH_VALUE.contains(letter) {
            let value = if rest.is_empty() { words.next() } else { Some(rest) };
            let value = value.ok_or_else(|| format!("-{letter} needs a value; -h lists the options"))?;
            return written.take_value(letter, value);
        } else {
            return Err(unknown_option(&format!("-{letter}")));
        }
    }
    Ok(())
}

fn unknown_option(word: &str) -> String {
    format!("there is no option \"{}\"; -h lists them", one_line(word))
}

/// The options as written.
#[derive(Default)]
struct Written {
    flags: Vec<char>,
    values: Vec<(char, String)>,
}

impl Written {
    fn take_value(&mut self, letter: char, value: &str) -> Result<(), String> {
        match letter {
            'Z' => Err("-Z is not there: what is drawn follows from a seed; write -z SEED".to_owned()),
            'c' if value != "1" => Err(format!(
                "-c {} is not there: start several processes with -y s, after -p has made their semaphores",
                one_line(value)
            )),
            _ => {
                self.values.push((letter, value.to_owned()));
                Ok(())
            }
        }
    }

    /// The last value of an option, as for getopt.
    fn value(&self, letter: char) -> Option<&str> {
        self.values.iter().rev().find(|(known, _)| *known == letter).map(|(_, value)| value.as_str())
    }

    fn has(&self, flag: char) -> bool {
        self.flags.contains(&flag)
    }

    fn into_command(self) -> Result<Command, String> {
        if self.has('h') {
            return Ok(Command::Help);
        }
        match self.value('p') {
            Some("-1") => return Ok(Command::RemoveSemaphores),
            Some(number) => {
                let processes = number_within('p', "processes", number, 1..=u64::from(u16::MAX / 2))?;
                return Ok(Command::MakeSemaphores(processes as u16));
            }
            None => {}
        }
        let manner = FileManner { fast: self.has('f'), synchronous: self.has('b'), direct: self.has('D') };
        let arguments = Arguments {
            directory: self.value('d').unwrap_or(".").to_owned(),
            block: block_tests(self.value('s'))?,
            files: file_tests(self.value('n'))?,
            machine: self.value('m').map(one_line),
            memory_mib: self.number('r', "MiB of memory", 0..=MOST_MIB)?,
            times: self.number('x', "a number of times", 1..=1_000_000)?.map(|times| times as u32),
            user: self.wanted_user()?,
            quiet: self.has('q'),
            manner,
            synchronisation: self.value('y').map(synchronisation).transpose()?,
            seed: self.number('z', "a seed", 0..=LARGEST_SEED)?,
        };
        if arguments.block.is_none() && arguments.files.is_none() {
            return Err("-s 0 and -n 0 together leave nothing to test: write a size or a number of files".to_owned());
        }
        if manner.direct && !manner.fast && arguments.block.is_some() {
            return Err("-D cannot move single bytes, which have no direct I/O: add -f".to_owned());
        }
        if arguments.memory_mib == Some(0) && arguments.block.as_ref().is_some_and(|block| block.size_mib.is_none()) {
            return Err("-r 0 says no memory from which the size of the file follows: write it as -s SIZE".to_owned());
        }
        Ok(Command::Run(Box::new(arguments)))
    }

    fn number(&self, letter: char, what: &str, bounds: std::ops::RangeInclusive<u64>) -> Result<Option<u64>, String> {
        self.value(letter).map(|text| number_within(letter, what, text, bounds)).transpose()
    }

    /// The user of `-u`, and the group behind its colon or of `-g`.
    fn wanted_user(&self) -> Result<Option<WantedUser>, String> {
        let own_group = self.value('g').map(str::to_owned);
        let Some(written) = self.value('u') else {
            return match own_group {
                Some(_) => Err("-g names a group, and -u no user: write -u USER:GROUP".to_owned()),
                None => Ok(None),
            };
        };
        let (user, group) = match written.split_once(':') {
            Some((user, group)) => (user, Some(group.to_owned())),
            None => (written, None),
        };
        if user.is_empty() || group.as_deref() == Some("") {
            return Err(format!("-u {} is no user; write USER or USER:GROUP", one_line(written)));
        }
        if group.is_some() && own_group.is_some() {
            return Err("-u and -g both name a group; write one of the two".to_owned());
        }
        Ok(Some(WantedUser { user: user.to_owned(), group: group.or(own_group) }))
    }
}

fn synchronisation(text: &str) -> Result<Synchronisation, String> {
    match text {
        "s" => Ok(Synchronisation::Semaphore),
        "p" => Ok(Synchronisation::Prompt),
        _ => Err(format!("-y {} is neither s (semaphores) nor p (a prompt)", one_line(text))),
    }
}

fn number_within(letter: char, what: &str, text: &str, bounds: std::ops::RangeInclusive<u64>) -> Result<u64, String> {
    let number = text.parse::<u64>().ok().filter(|number| bounds.contains(number));
    number.ok_or_else(|| {
        let (least, most) = (bounds.start(), bounds.end());
        format!("-{letter} {} is not {what}; write {least} to {most}", one_line(text))
    })
}

/// The parts of a value with colons, of which there are at most so many; a part may be left out.
fn parts(letter: char, text: &str, most: usize) -> Result<Vec<Option<&str>>, String> {
    let parts: Vec<Option<&str>> = text.split(':').map(|part| Some(part).filter(|part| !part.is_empty())).collect();
    if parts.len() > most {
        return Err(format!("-{letter} {} has more than {most} parts; -h lists them", one_line(text)));
    }
    Ok(parts)
}

fn block_tests(text: Option<&str>) -> Result<Option<BlockTests>, String> {
    let usual = BlockTests { size_mib: None, chunk: USUAL_CHUNK, seeks: USUAL_SEEKS, seekers: USUAL_SEEKERS };
    let Some(text) = text else { return Ok(Some(usual)) };
    let mut tests = usual;
    let parts = parts('s', text, 4)?;
    if let Some(size) = parts[0] {
        let mib = size_in_mib(size)?;
        if mib == 0 {
            return Ok(None);
        }
        tests.size_mib = Some(mib);
    }
    if let Some(chunk) = parts.get(1).copied().flatten() {
        tests.chunk = chunk_bytes('s', chunk)?;
    }
    if let Some(seeks) = parts.get(2).copied().flatten() {
        tests.seeks = number_within('s', "a number of seeks", seeks, 0..=1_000_000_000_000)?;
    }
    if let Some(seekers) = parts.get(3).copied().flatten() {
        tests.seekers = number_within('s', "a number of clients that seek", seekers, 0..=4096)? as u32;
    }
    if tests.seekers == 0 {
        (tests.seeks, tests.seekers) = (0, 1);
    }
    Ok(Some(tests))
}

/// A size in MiB: without a unit, with `m`, or with `g`. The original takes every other unit for MiB.
fn size_in_mib(text: &str) -> Result<u64, String> {
    let (number, times) = match text.strip_suffix(['g', 'G']) {
        Some(number) => (number, 1024),
        None => (text.strip_suffix(['m', 'M']).unwrap_or(text), 1),
    };
    let mib = number.parse::<u64>().ok().and_then(|number| number.checked_mul(times));
    mib.filter(|mib| *mib <= MOST_MIB).ok_or_else(|| {
        format!("-s {} is no size of a file in MiB; write for example 4096 or 4g, at most 1048576g", one_line(text))
    })
}

fn chunk_bytes(letter: char, text: &str) -> Result<u64, String> {
    let (number, times) = match text.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1024),
        None => match text.strip_suffix(['m', 'M']) {
            Some(number) => (number, 1 << 20),
            None => (text, 1),
        },
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(times));
    let is_chunk = |bytes: &u64| bytes.is_power_of_two() && (SHORTEST_CHUNK..=LONGEST_CHUNK).contains(bytes);
    bytes.filter(is_chunk).ok_or_else(|| {
        format!("-{letter}: {} is no size of a read or write; write a power of two from 256 to 1m", one_line(text))
    })
}

fn file_tests(text: Option<&str>) -> Result<Option<FileTests>, String> {
    let files = (USUAL_UNITS * UNIT) as u32;
    let mut tests = FileTests { files, largest: 0, smallest: 0, directories: 1, chunk: USUAL_CHUNK };
    let Some(text) = text else { return Ok(Some(tests)) };
    let parts = parts('n', text, 5)?;
    if let Some(units) = parts[0] {
        let units = number_within('n', "a number of files in units of 1024", units, 0..=MOST_UNITS)?;
        if units == 0 {
            return Ok(None);
        }
        tests.files = (units * UNIT) as u32;
    }
    match parts.get(1).copied().flatten() {
        Some("-1" | "-2") => {
            return Err(format!(
                "-n {}: links in place of files are not there; write sizes, or a workload of your own with link or symlink",
                one_line(text)
            ));
        }
        Some(largest) => tests.largest = number_within('n', "a size of a small file", largest, 0..=LARGEST_SMALL)?,
        None => {}
    }
    if let Some(smallest) = parts.get(2).copied().flatten() {
        tests.smallest = number_within('n', "a smallest size up to the largest", smallest, 0..=tests.largest)?;
    }
    if let Some(directories) = parts.get(3).copied().flatten() {
        let most = u64::from(tests.files);
        tests.directories = number_within('n', "a number of directories", directories, 0..=most)?.max(1) as u32;
    }
    if let Some(chunk) = parts.get(4).copied().flatten() {
        tests.chunk = chunk_bytes('n', chunk)?;
    }
    Ok(Some(tests))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Command, String> {
        let args: Vec<String> = line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        parse_args(&args)
    }

    fn run(line: &str) -> Arguments {
        match parse(line) {
            Ok(Command::Run(arguments)) => *arguments,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn options_mean_what_they_mean_to_the_original() {
        let usual = run("");
        assert_eq!(
            (usual.directory.as_str(), usual.times, usual.manner, usual.quiet),
            (".", None, FileManner::default(), false)
        );
        let block = BlockTests { size_mib: None, chunk: 8192, seeks: 8192, seekers: 5 };
        assert_eq!((usual.block, usual.files.unwrap().files), (Some(block), 16384));
        let all = run("-qfbD -d/mnt -s 128M:4096:2000:3 -n 4:4096:512:8:4k -m web -r 0 -x3 -u joe:staff -y s -z 42");
        let block = BlockTests { size_mib: Some(128), chunk: 4096, seeks: 2000, seekers: 3 };
        let files = FileTests { files: 4096, largest: 4096, smallest: 512, directories: 8, chunk: 4096 };
        assert_eq!((all.block, all.files), (Some(block), Some(files)));
        assert!(all.quiet && all.manner == FileManner { fast: true, synchronous: true, direct: true });
        assert_eq!((all.directory.as_str(), all.times, all.seed, all.memory_mib), ("/mnt", Some(3), Some(42), Some(0)));
        assert_eq!(all.user, Some(WantedUser { user: "joe".to_owned(), group: Some("staff".to_owned()) }));
        assert_eq!(all.synchronisation, Some(Synchronisation::Semaphore));
        for (text, mib) in [("64", 64), ("64m", 64), ("4g", 4096), ("4G:64k", 4096)] {
            assert_eq!(run(&format!("-s {text}")).block.unwrap().size_mib, Some(mib));
        }
        assert_eq!((run("-s 0").block, run("-n 0").files), (None, None));
        let no_seeks = run("-s 64M:8k:0:0").block.unwrap();
        assert_eq!((no_seeks.seeks, no_seeks.chunk), (0, 8192));
        assert_eq!(run("-u joe -g staff").user, all.user);
        assert_eq!(parse("-p 3 -u root"), Ok(Command::MakeSemaphores(3)));
        assert_eq!(parse("-p -1"), Ok(Command::RemoveSemaphores));
        assert_eq!(parse("-h"), Ok(Command::Help));
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_to_write() {
        for (line, says) in [
            ("-Q", "no option \"-Q\""),
            ("--help", "no option \"--help\""),
            ("-f 4M", "no option \"4M\""),
            ("-f4M", "-f takes no size"),
            ("-s", "-s needs a value"),
            ("-s abc", "write for example 4096 or 4g"),
            ("-s -5", "no size of a file"),
            ("-s 65536k", "no size of a file"),
            ("-s 18446744073709551615g", "no size of a file"),
            ("-s 64:1000", "a power of two from 256 to 1m"),
            ("-s 64:128", "a power of two"),
            ("-s 64:2m", "a power of two"),
            ("-s 64:8k:-1", "a number of seeks"),
            ("-s 64:8k:1:5000", "clients that seek"),
            ("-s 64:8k:1:5:6", "more than 4 parts"),
            ("-n x", "in units of 1024"),
            ("-n -1", "in units of 1024"),
            ("-n 4:-1", "links in place of files"),
            ("-n 4:-2", "links in place of files"),
            ("-n 4:10:11", "up to the largest"),
            ("-n 1:0:0:2000", "a number of directories"),
            ("-n 1:1:1:1:3", "a power of two"),
            ("-n 1000000", "in units of 1024"),
            ("-s 0 -n 0", "nothing to test"),
            ("-x 0", "write 1 to"),
            ("-x many", "write 1 to"),
            ("-r -1", "MiB of memory"),
            ("-u :", "is no user"),
            ("-u joe:", "is no user"),
            ("-u joe:a -g b", "both name a group"),
            ("-g b", "-u no user"),
            ("-p 0", "processes"),
            ("-p -2", "processes"),
            ("-y x", "neither s"),
            ("-c 4", "-y s"),
            ("-Z /dev/random", "-z SEED"),
            ("-z x", "a seed"),
            ("-D", "add -f"),
            ("\u{1b}[2J", "\u{fffd}"),
        ] {
            let refused = parse(line).unwrap_err();
            assert!(refused.contains(says), "{line}: {refused}");
        }
    }
}
