//! Turns the text of a configuration into what it means. A label that does not affect the load is skipped, but only if
//! it is known. A value that affects the load and that no workload can express is refused, and so is text that IOmeter
//! itself would read as 0.

use super::config::{Config, Line, Settings, Spec, Worker};
use super::text::{Text, Word};
use assay_base::{Bytes, Fault, Span};

/// Upper bound on the number of specifications, of lines in one, of workers, and of steps of a worker.
const MOST: usize = 1024;
/// Upper bound on how many numbers of outstanding I/Os are tried.
const MOST_DEPTHS: usize = 256;
/// The largest operation that a workload can have, in bytes.
const LARGEST: u64 = 64 << 20;
/// Upper bound on the outstanding I/Os on a target.
const DEEPEST: u64 = 16_384;
/// The size of a sector in bytes, in IOmeter as well.
const SECTOR: u64 = 512;
/// Upper bound on the length of a test, in seconds: a year.
const LONGEST: u64 = 366 * 86_400;
/// The built-in specification of IOmeter that does nothing.
const IDLE: &str = "Idle";
/// The remedy for a label or a word that is not known.
const OTHERS: &str = "save the configuration again with IOmeter 2004 to 1.1.0, or remove what it adds";

/// Reads a configuration; `file` is its name, for messages.
pub fn read_config(file: &str, text: &str) -> Result<Config, Fault> {
    let mut text = Text::new(file, text)?;
    let Some(version) = text.take_version().map(str::to_owned) else {
        let what = "a configuration of IOmeter begins with \"Version\" and a number";
        return Err(text.fault_here(what, "name a file that IOmeter saved, with the ending .icf"));
    };
    let mut reader = Reader { text, config: empty_config(version), has_setup: false };
    while !reader.text.is_at_end() {
        if reader.text.take_version().is_none() {
            reader.read_section()?;
        }
    }
    if reader.config.specs.is_empty() {
        return Err(reader
            .text
            .fault_of_file("the configuration has no access specification", "save it again with one"));
    }
    Ok(reader.config)
}

fn empty_config(version: String) -> Config {
    Config {
        version,
        description: String::new(),
        run_time: Span::ZERO,
        ramp_up: Span::ZERO,
        depths: Vec::new(),
        specs: Vec::new(),
        workers: Vec::new(),
    }
}

struct Reader<'a> {
    text: Text<'a>,
    config: Config,
    has_setup: bool,
}

impl<'a> Reader<'a> {
    fn read_section(&mut self) -> Result<(), Fault> {
        let (label, place) = self.text.take_label()?;
        match label.as_str() {
            "test setup" if !std::mem::replace(&mut self.has_setup, true) => self.read_setup(),
            "results display" => self.skip_display(),
            "access specifications" => self.read_specs(),
            "manager list" => self.read_managers(),
            _ => Err(self.text.fault_at(place, "a section that is not known, or is there twice", OTHERS)),
        }
    }

    /// Skips the section about what IOmeter shows while it runs: it does not change the load.
    fn skip_display(&mut self) -> Result<(), Fault> {
        while !self.text.skip_label("end results display") {
            if self.text.optional_data()?.is_none() {
                self.text.take_label()?;
            }
        }
        Ok(())
    }

    fn read_setup(&mut self) -> Result<(), Fault> {
        let mut cycling = Vec::new();
        let mut cycles = false;
        while !self.text.skip_label("end test setup") {
            let (label, place) = self.text.take_label()?;
            match label.as_str() {
                "test description" => {
                    while let Some(line) = self.text.optional_data()? {
                        let between = if self.config.description.is_empty() { "" } else { " " };
                        self.config.description += between;
                        self.config.description += line.text;
                    }
                }
                "run time" => {
                    self.text.skip_label("hours minutes seconds");
                    self.config.run_time = self.run_time()?;
                }
                "ramp up time (s)" => {
                    let data = self.text.take_data(&label)?;
                    self.config.ramp_up = parse_seconds(&self.text, data, 1)?;
                }
                // The number of workers of a new manager, and which results are kept, do not change the load.
                "default disk workers to spawn" | "default network workers to spawn" | "record results" => {
                    self.text.take_data(&label)?;
                }
                // These labels are present even if the test does not cycle.
                "worker cycling" | "disk cycling" => {
                    self.text.skip_label("start step step type");
                    self.text.take_data(&label)?;
                }
                "queue depth cycling" => {
                    self.text.skip_label("start end step step type");
                    cycling = self.text.take_data(&label)?.split_words();
                }
                "test type" => cycles = self.test_type()?,
                _ => return Err(self.text.fault_at(place, "a label that is not known here", OTHERS)),
            }
        }
        if cycles {
            self.config.depths = parse_depths(&mut self.text, &cycling)?;
        }
        Ok(())
    }

    fn run_time(&mut self) -> Result<Span, Fault> {
        let data = self.text.take_data("run time")?;
        let [hours, minutes, secs] = data.split_words()[..] else {
            return Err(self.text.fault_at(
                data.place,
                "not a run time",
                "write hours, minutes and seconds, such as 0 5 0",
            ));
        };
        let parts = [(hours, 3600), (minutes, 60), (secs, 1)];
        let parts = parts.map(|(word, unit)| parse_seconds(&self.text, word, unit));
        let mut sum = Span::ZERO;
        for part in parts {
            sum = sum + part?;
        }
        if sum > Span::from_secs(LONGEST) {
            Err(self.text.fault_at(data.place, "a test lasts at most a year", "write a shorter time"))
        } else {
            Ok(sum)
        }
    }

    /// Reads whether the numbers of outstanding I/Os are tried one after another.
    fn test_type(&mut self) -> Result<bool, Fault> {
        let data = self.text.take_data("test type")?;
        match data.text {
            "NORMAL" => Ok(false),
            "CYCLE_OUTSTANDING_IOS" => Ok(true),
            _ => Err(self.text.fault_at(
                data.place,
                "a test that changes its targets or workers as it goes on is not one load",
                "set NORMAL or CYCLE_OUTSTANDING_IOS, and import one configuration for each number of targets or workers",
            )),
        }
    }

    fn read_specs(&mut self) -> Result<(), Fault> {
        while !self.text.skip_label("end access specifications") {
            let (label, place) = self.text.take_label()?;
            if label != "access specification name,default assignment" {
                return Err(self.text.fault_at(place, "a label that is not known among access specifications", OTHERS));
            }
            let data = self.text.take_data(&label)?;
            let Some((name, assigned)) = data.last_field().filter(|(name, _)| !name.text.is_empty()) else {
                return Err(self.text.fault_at(
                    data.place,
                    "not a name and an assignment",
                    "write for example 8K OLTP,NONE",
                ));
            };
            if !["NONE", "ALL", "DISK", "NET"].contains(&assigned.text) {
                return Err(self.text.fault_at(
                    assigned.place,
                    "not a default assignment",
                    "write NONE, ALL, DISK or NET",
                ));
            }
            if self.config.specs.iter().any(|spec| spec.name == name.text) || self.config.specs.len() == MOST {
                let what = "another specification has this name, or there are too many";
                return Err(self.text.fault_at(name.place, what, format!("give each its own name, at most {MOST}")));
            }
            let lines = self.read_lines(name)?;
            self.config.specs.push(Spec { name: name.text.to_owned(), lines });
        }
        Ok(())
    }

    fn read_lines(&mut self, name: Word<'a>) -> Result<Vec<Line>, Fault> {
        const COLUMNS: &str = "size,% of size,% reads,% random,delay,burst,align,reply";
        if !self.text.skip_label(COLUMNS) {
            return Err(self
                .text
                .fault_here("the columns of the specification are missing or others", format!("write '{COLUMNS}")));
        }
        let mut lines = Vec::new();
        while let Some(data) = self.text.optional_data()? {
            if lines.len() == MOST {
                return Err(self.text.fault_at(
                    data.place,
                    "too many lines",
                    format!("a specification has at most {MOST}"),
                ));
            }
            lines.push(parse_line(&self.text, data)?);
        }
        let sum: u64 = lines.iter().map(|line| line.share).sum();
        match sum {
            100 => Ok(lines),
            _ => Err(self.text.fault_at(
                name.place,
                format!("the lines of this specification make {sum} % of its sizes"),
                "change \"% of size\" so that its lines make 100",
            )),
        }
    }

    fn read_managers(&mut self) -> Result<(), Fault> {
        while !self.text.skip_label("end manager list") {
            self.expect_label("manager id, manager name")?;
            self.text.take_data("manager id, manager name")?;
            if self.text.skip_label("manager network address") {
                self.text.optional_data()?;
            }
            while !self.text.skip_label("end manager") {
                self.expect_label("worker")?;
                let worker = self.read_worker()?;
                if self.config.workers.len() == MOST {
                    return Err(self
                        .text
                        .fault_here("too many workers", format!("a configuration has at most {MOST}")));
                }
                self.config.workers.push(worker);
            }
        }
        Ok(())
    }

    fn expect_label(&mut self, known: &str) -> Result<(), Fault> {
        if self.text.skip_label(known) {
            Ok(())
        } else {
            Err(self.text.fault_here(format!("\"{known}\" is missing here"), OTHERS))
        }
    }

    fn read_worker(&mut self) -> Result<Worker, Fault> {
        let name = self.text.take_data("worker")?;
        let mut worker = Worker {
            name: name.text.to_owned(),
            settings: Settings::default(),
            specs: Vec::new(),
            targets: Vec::new(),
        };
        while !self.text.skip_label("end worker") {
            let (label, place) = self.text.take_label()?;
            match label.as_str() {
                "worker type" => {
                    let data = self.text.take_data(&label)?;
                    self.is_disk(data)?;
                }
                "default target settings for worker" => worker.settings = self.read_settings()?,
                "assigned access specs" => worker.specs = self.read_assigned()?,
                "target assignments" => worker.targets = self.read_targets()?,
                _ => return Err(self.text.fault_at(place, "a label that is not known in a worker", OTHERS)),
            }
        }
        Ok(worker)
    }

    fn is_disk(&self, data: Word<'_>) -> Result<(), Fault> {
        match data.text {
            "DISK" => Ok(()),
            _ => Err(self.text.fault_at(
                data.place,
                "only workers and targets of disks are a load on storage",
                "remove the others, then save it again",
            )),
        }
    }

    /// Each label names its columns, so files of versions with fewer columns are read as well.
    fn read_settings(&mut self) -> Result<Settings, Fault> {
        let mut settings = Settings::default();
        while !self.text.skip_label("end default target settings for worker") {
            let (label, place) = self.text.take_label()?;
            let data = self.text.take_data(&label)?;
            let (columns, fields) = (label.split(',').map(str::trim), data.split_fields());
            if columns.clone().count() != fields.len() {
                return Err(self.text.fault_at(
                    data.place,
                    "other fields than the label above names",
                    "write one for each column",
                ));
            }
            let mut fixed = false;
            for (column, field) in columns.zip(fields) {
                match column {
                    "number of outstanding ios" => {
                        settings.in_flight = parse_whole(&self.text, field, 1, DEEPEST)? as u32
                    }
                    "test connection rate" => self.is_disabled(field)?,
                    // It matters only for a test of the connection rate, which is refused.
                    "transactions per connection" => {
                        parse_whole(&self.text, field, 0, u64::MAX)?;
                    }
                    "use fixed seed" => fixed = self.read_switch(field)?,
                    "fixed seed value" => {
                        let seed = parse_whole(&self.text, field, 0, u64::MAX)?;
                        settings.seed = fixed.then_some(seed);
                    }
                    "disk maximum size" => settings.length = parse_sectors(&self.text, field)?,
                    "starting sector" => settings.start = parse_sectors(&self.text, field)?,
                    "data pattern" => settings.pattern = Some(parse_whole(&self.text, field, 0, 2)?),
                    _ => return Err(self.text.fault_at(place, "a column that is not known", OTHERS)),
                }
            }
        }
        Ok(settings)
    }

    fn read_switch(&self, field: Word<'_>) -> Result<bool, Fault> {
        match field.text {
            "ENABLED" => Ok(true),
            "DISABLED" => Ok(false),
            _ => Err(self.text.fault_at(field.place, "neither on nor off", "write ENABLED or DISABLED")),
        }
    }

    fn is_disabled(&self, field: Word<'_>) -> Result<(), Fault> {
        if self.read_switch(field)? {
            Err(self.text.fault_at(
                field.place,
                "targets are not closed and opened again while they are measured",
                "write DISABLED",
            ))
        } else {
            Ok(())
        }
    }

    fn read_assigned(&mut self) -> Result<Vec<Option<usize>>, Fault> {
        let mut assigned = Vec::new();
        while !self.text.skip_label("end assigned access specs") {
            let data = self.text.take_data("assigned access specs")?;
            let known = self.config.specs.iter().position(|spec| spec.name == data.text);
            if known.is_none() && data.text != IDLE {
                let names: Vec<&str> = self.config.specs.iter().map(|spec| spec.name.as_str()).take(20).collect();
                let remedy = format!("write one of: {}; or {IDLE}", names.join("; "));
                return Err(self.text.fault_at(
                    data.place,
                    "the file has no access specification of this name",
                    remedy,
                ));
            }
            if assigned.len() == MOST {
                return Err(self.text.fault_at(
                    data.place,
                    "too many specifications",
                    format!("a worker has at most {MOST}"),
                ));
            }
            assigned.push(known);
        }
        Ok(assigned)
    }

    fn read_targets(&mut self) -> Result<Vec<String>, Fault> {
        let mut targets: Vec<String> = Vec::new();
        while !self.text.skip_label("end target assignments") {
            self.expect_label("target")?;
            let name = self.text.take_data("target")?;
            if targets.iter().any(|known| known == name.text) || targets.len() == MOST {
                let what = "the worker has this target already, or too many targets";
                return Err(self.text.fault_at(name.place, what, "name each target once"));
            }
            targets.push(name.text.to_owned());
            self.expect_label("target type")?;
            let kind = self.text.take_data("target type")?;
            self.is_disk(kind)?;
            self.expect_label("end target")?;
        }
        Ok(targets)
    }
}

/// A line of an access specification.
fn parse_line(text: &Text<'_>, data: Word<'_>) -> Result<Line, Fault> {
    let fields = data.split_fields();
    let [size, share, reads, random, delay, burst, align, reply] = fields[..] else {
        let what = "a line of an access specification has 8 fields";
        return Err(text.fault_at(data.place, what, "write size,% of size,% reads,% random,delay,burst,align,reply"));
    };
    if parse_whole(text, reply, 0, u64::MAX)? > 0 {
        return Err(text.fault_at(reply.place, "replies are of networks", "write 0, as for disks"));
    }
    let aligned = match parse_whole(text, align, 0, LARGEST)? {
        0 => SECTOR,
        bytes => bytes,
    };
    if !aligned.is_multiple_of(SECTOR) {
        return Err(text.fault_at(
            align.place,
            "disks are read and written in whole sectors",
            "write 0 or a multiple of 512",
        ));
    }
    Ok(Line {
        size: Bytes::new(parse_whole(text, size, 1, LARGEST)?),
        share: parse_whole(text, share, 1, 100)?,
        reads: parse_whole(text, reads, 0, 100)?,
        random: parse_whole(text, random, 0, 100)?,
        delay: Span::from_ms(parse_whole(text, delay, 0, 86_400_000)?),
        burst: parse_whole(text, burst, 1, 1_000_000_000)? as u32,
        align: Bytes::new(aligned),
    })
}

/// A whole number within bounds. Anything else is refused: IOmeter reads it as 0, or only up to the first letter.
fn parse_whole(text: &Text<'_>, word: Word<'_>, least: u64, most: u64) -> Result<u64, Fault> {
    let digits = !word.text.is_empty() && word.text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits {
        let what = "not a whole number; IOmeter reads such text as 0, or as the digits that it begins with";
        return Err(text.fault_at(word.place, what, "write digits only"));
    }
    match word.text.parse() {
        Ok(value) if (least..=most).contains(&value) => Ok(value),
        _ => Err(text.fault_at(word.place, "this number is out of range", format!("write {least} to {most}"))),
    }
}

fn parse_seconds(text: &Text<'_>, word: Word<'_>, unit: u64) -> Result<Span, Fault> {
    Ok(Span::from_secs(parse_whole(text, word, 0, LONGEST / unit)? * unit))
}

fn parse_sectors(text: &Text<'_>, word: Word<'_>) -> Result<Bytes, Fault> {
    Ok(Bytes::new(parse_whole(text, word, 0, u64::MAX / SECTOR)? * SECTOR))
}

/// The numbers of outstanding I/Os from the first to the last; each is the one before plus a step, or times a factor.
fn parse_depths(text: &mut Text<'_>, words: &[Word<'_>]) -> Result<Vec<u32>, Fault> {
    let [start, end, step, kind] = *words else {
        let what = "the test cycles the outstanding I/Os, and does not say which";
        return Err(text.fault_of_file(what, "add 'Queue Depth Cycling with start, end, step and step type"));
    };
    let (first, last) = (parse_whole(text, start, 1, DEEPEST)?, parse_whole(text, end, 1, DEEPEST)?);
    let least = match kind.text {
        "LINEAR" => 1,
        "EXPONENTIAL" => 2,
        _ => return Err(text.fault_at(kind.place, "not a type of step", "write LINEAR or EXPONENTIAL")),
    };
    let by = parse_whole(text, step, least, DEEPEST)?;
    if last < first {
        return Err(text.fault_at(end.place, "the last number is below the first", "write a larger one"));
    }
    let depths = std::iter::successors(Some(first), |depth| Some(if least == 1 { depth + by } else { depth * by }));
    let depths = depths.take_while(|depth| *depth <= last);
    let depths: Vec<u32> = depths.take(MOST_DEPTHS + 1).map(|depth| depth as u32).collect();
    if depths.len() > MOST_DEPTHS {
        Err(text.fault_at(
            step.place,
            "too many steps",
            format!("write a larger step: at most {MOST_DEPTHS} numbers are tried"),
        ))
    } else {
        Ok(depths)
    }
}
