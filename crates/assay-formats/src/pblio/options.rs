//! Pblio's command line. Options are accepted in the forms of Go's flags: `-bsu=2`, `-bsu 2`, `--bsu=2`.

/// The help text.
pub const USAGE: &str = "\
Usage of pblio:
  -asu1 string
    \tASU1 - Data Store, files or devices separated by commas
  -asu2 string
    \tASU2 - User Store, files or devices separated by commas
  -asu3 string
    \tASU3 - Log, files or devices separated by commas
  -bsu int
    \tNumber of BSUs (Business Scaling Units), 50 operations a second each (default 50)
  -runlen int
    \tRun time in seconds (default 300)
  -cache string
    \tCache device or file in front of ASU1 and ASU2
  -cachemeta string
    \tPersistent cache metadata location (default \"cache.pbl\")
  -blocksize int
    \tCache block size in KB (default 4)
  -data string
    \tStatistics file in JSON format (default \"pblio.data\")
  -dataperiod int
    \tNumber of seconds for each line of the statistics file (default 60)
  -version
    \tVersion
not of the original:
  -destroy-data TOKEN
    \tAgree that all data on the device with this token are destroyed (`assay devices` prints it)
not offered here, and refused:
  -directio=false, -mock_reads, -mock_writes, -cpuprofile
";

/// A parsed command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// The help text is requested.
    Help,
    /// The version is requested.
    Version,
    /// A benchmark is requested.
    Run(Asked),
}

/// A benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The devices or files of each ASU.
    pub asus: [Vec<String>; 3],
    /// Number of BSUs.
    pub bsu: u64,
    /// Run time in seconds.
    pub runlen: u64,
    /// The device or file of a cache.
    pub cache: Option<String>,
    /// The file that says what is in the cache between two runs.
    pub cachemeta: String,
    /// The size of a block of the cache, in KiB.
    pub blocksize: u64,
    /// Name of the statistics file.
    pub data: String,
    /// Seconds that each line of the statistics file stands for.
    pub dataperiod: u64,
    /// Tokens of devices that may be destroyed.
    pub tokens: Vec<String>,
}

/// The longest run and the longest period in seconds: a year.
const LONGEST: u64 = 366 * 86_400;
/// The most BSUs: more than any array carries.
const MOST_BSUS: u64 = 1_000_000;

/// The options with a value.
const NAMES: [&str; 11] =
    ["asu1", "asu2", "asu3", "bsu", "runlen", "cache", "cachemeta", "blocksize", "data", "dataperiod", "destroy-data"];
/// The largest block of a cache, in KiB.
const LARGEST_BLOCK: u64 = 1024;

/// Reads a command line.
///
/// # Errors
/// The error says what is wrong with the command line, and what to write instead.
pub fn parse_args(args: &[String]) -> Result<Command, String> {
    let none = Vec::new;
    let mut asked = Asked {
        asus: [none(), none(), none()],
        bsu: 50,
        runlen: 300,
        cache: None,
        cachemeta: "cache.pbl".to_owned(),
        blocksize: 4,
        data: "pblio.data".to_owned(),
        dataperiod: 60,
        tokens: Vec::new(),
    };
    let mut words = args.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-')).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| unknown_option(word))?;
        let (name, given) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
        match name {
            "h" | "help" => return Ok(Command::Help),
            "version" => return Ok(Command::Version),
            // In Go, a flag without a value is on.
            "directio" if matches!(given, None | Some("true" | "1" | "t" | "T" | "TRUE" | "True")) => continue,
            _ => {}
        }
        if let Some(why) = refusal_of_option(name) {
            return Err(why);
        }
        if !NAMES.contains(&name) {
            return Err(unknown_option(word));
        }
        let value = given.or_else(|| words.next()).filter(|value| !value.is_empty());
        asked.set_option(name, value.ok_or_else(|| format!("-{name} needs a value"))?)?;
    }
    match asked.asus.iter().position(Vec::is_empty) {
        Some(asu) => Err(format!("-asu{} is missing: name a file or a device, several separated by commas", asu + 1)),
        None => Ok(Command::Run(asked)),
    }
}

impl Asked {
    fn set_option(&mut self, name: &str, value: &str) -> Result<(), String> {
        let number = |most: u64| {
            let number = value.parse().ok().filter(|number| (1..=most).contains(number));
            let shown: String = value.chars().take(40).collect();
            number.ok_or_else(|| format!("-{name}={}: write a whole number from 1 to {most}", shown.escape_debug()))
        };
        match name {
            "asu1" => self.asus[0] = split_list(value),
            "asu2" => self.asus[1] = split_list(value),
            "asu3" => self.asus[2] = split_list(value),
            "bsu" => self.bsu = number(MOST_BSUS)?,
            "runlen" => self.runlen = number(LONGEST)?,
            "dataperiod" => self.dataperiod = number(LONGEST)?,
            "cache" => self.cache = Some(value.to_owned()),
            "cachemeta" => self.cachemeta = value.to_owned(),
            "blocksize" => self.blocksize = number(LARGEST_BLOCK)?,
            "data" => self.data = value.to_owned(),
            _ => self.tokens.extend(split_list(value)),
        }
        Ok(())
    }
}

/// Splits a list at its commas; empty parts are left out.
fn split_list(value: &str) -> Vec<String> {
    value.split(',').filter(|one| !one.is_empty()).map(str::to_owned).collect()
}

/// Why an option of pblio is not offered, and what to do instead.
fn refusal_of_option(name: &str) -> Option<String> {
    Some(match name {
        "directio" => "-directio=false would test the page cache and not the storage: leave it out".to_owned(),
        "mock_reads" | "mock_writes" => {
            format!(
                "-{name}: use targets that do nothing instead, such as -asu1=null:1GiB -asu2=null:1GiB -asu3=null:1GiB"
            )
        }
        "cpuprofile" => "-cpuprofile is about the original's own program: leave it out".to_owned(),
        _ => return None,
    })
}

fn unknown_option(word: &str) -> String {
    let shown: String = word.chars().take(60).collect();
    format!("there is no option \"{}\"; -help lists them", shown.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Command, String> {
        parse_args(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_in_each_form_of_gos_flags() {
        let names = |names: &str| -> Vec<String> { names.split(',').map(str::to_owned).collect() };
        for line in [
            "-asu1=a,b -asu2=c -asu3=d -bsu=2 -runlen=30 -data=x -dataperiod=5 -cache=ssd -cachemeta=m -blocksize=8",
            "--asu1 a,b --asu2=c -asu3 d -bsu 2 -runlen 30 --data=x -dataperiod 5 -directio -cache ssd --cachemeta=m -blocksize 8",
            "-asu1=z -asu1=a,,b -asu2=c -asu3=d -directio=true -bsu=2 -runlen=30 -data x -dataperiod=5 -cache=z -cache=ssd -cachemeta m -blocksize=8",
        ] {
            let expected = Asked {
                asus: [names("a,b"), names("c"), names("d")],
                bsu: 2,
                runlen: 30,
                cache: Some("ssd".into()),
                cachemeta: "m".into(),
                blocksize: 8,
                data: "x".into(),
                dataperiod: 5,
                tokens: Vec::new(),
            };
            assert_eq!(of(line), Ok(Command::Run(expected)), "{line}");
        }
        let Ok(Command::Run(usual)) = of("-asu1=a -asu2=b -asu3=c") else { panic!("it is a run") };
        assert_eq!((usual.cache, usual.cachemeta.as_str(), usual.blocksize), (None, "cache.pbl", 4));
        assert_eq!((usual.bsu, usual.runlen, usual.dataperiod, usual.data.as_str()), (50, 300, 60, "pblio.data"));
        assert_eq!([of("-help"), of("-asu1=a -h")], [Ok(Command::Help), Ok(Command::Help)]);
        assert_eq!(of("-version"), Ok(Command::Version));
    }

    #[test]
    fn what_is_wrong_is_said_with_the_option() {
        for (line, words) in [
            ("", "-asu1 is missing"),
            ("-asu1=a -asu3=b", "-asu2 is missing"),
            ("-asu1=, -asu2=b -asu3=c", "-asu1 is missing"),
            ("-asu1", "-asu1 needs a value"),
            ("-asu1= -asu2=b", "-asu1 needs a value"),
            ("-bsu=0", "-bsu=0: write a whole number from 1"),
            ("-bsu=2.5", "-bsu=2.5"),
            ("-runlen=99999999999", "write a whole number from 1 to 31622400"),
            ("-cache=", "-cache needs a value"),
            ("-blocksize=0", "from 1 to 1024"),
            ("-blocksize=4K", "-blocksize=4K"),
            ("-directio=false", "leave it out"),
            ("-mock_reads", "null:1GiB"),
            ("-cpuprofile", "leave it out"),
            ("-asu4=a", "there is no option \"-asu4=a\""),
            ("file1", "there is no option \"file1\""),
            ("-", "there is no option"),
        ] {
            let found = of(line);
            assert!(found.as_ref().is_err_and(|why| why.contains(words)), "{line}: {found:?}");
        }
    }
}
