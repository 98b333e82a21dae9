//! Turns the text of a job file into sections of keys and records the place of each word. The text is not trusted:
//! everything that it can repeat is bounded.

use super::keys::{self, Key};
use super::{Keyword, Surroundings};
use assay_base::Fault;

/// Upper bound on the total length of a job file and all that it includes, in bytes.
const LONGEST: usize = 1 << 20;
/// Upper bounds on the number of sections and on the number of keys in all sections.
const MOST_SECTIONS: usize = 4096;
const MOST_KEYS: usize = 65_536;
/// Upper bound on the number of included files.
const MOST_INCLUDES: usize = 32;
/// Upper bound on the length of a value, in bytes, after its variables were replaced.
const LONGEST_VALUE: usize = 16_384;

/// The place of a word: file, line, first byte and number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub file: usize,
    /// 0-based.
    pub line: usize,
    pub at: usize,
    pub width: usize,
}

/// A key as it is written.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub key: &'static Key,
    pub place: Place,
    /// The text after the equals sign, if there is one.
    pub value: Option<Value>,
}

/// A value.
#[derive(Clone, Debug)]
pub(super) struct Value {
    /// The text with its variables replaced.
    pub text: String,
    pub place: Place,
    /// Whether the text is exactly what is written, so that a part of it has a place of its own in the file.
    verbatim: bool,
    /// Whether a blank stands before the value.
    pub behind_blank: bool,
    /// The fault of a variable in it that is not set. The text then has the variable as it is written.
    pub unset: Option<Box<Fault>>,
}

impl Value {
    /// The place of the bytes `from..to` of the text.
    pub(super) fn part_place(&self, from: usize, to: usize) -> Place {
        if self.verbatim {
            Place { at: self.place.at + from, width: to.saturating_sub(from), ..self.place }
        } else {
            self.place
        }
    }
}

/// A section.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub name: String,
    pub place: Place,
    pub entries: Vec<Entry>,
}

impl Section {
    /// Whether it sets defaults for the sections after it.
    pub(super) fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}

/// A job file whose keys are known, with everything that it includes.
#[derive(Clone, Debug, Default)]
pub struct JobFile {
    /// The name and the lines of each file, the job file first.
    files: Vec<(String, Vec<String>)>,
    pub(super) sections: Vec<Section>,
}

impl JobFile {
    /// A fault at a place.
    pub(super) fn fault_at(&self, place: Place, what: impl Into<String>, remedy: impl Into<String>) -> Fault {
        let (file, lines) = &self.files[place.file];
        let line = lines.get(place.line).map_or("", String::as_str);
        Fault::in_line(file, place.line + 1, line, place.at, place.width).with_reason(what, remedy)
    }

    /// A fault of the job file as a whole.
    pub(super) fn fault_of_file(&self, what: impl Into<String>, remedy: impl Into<String>) -> Fault {
        Fault::for_file(&self.files[0].0, what, remedy)
    }

    /// The name of the file and the number of the line.
    pub(super) fn file_and_line(&self, place: Place) -> (&str, usize) {
        (&self.files[place.file].0, place.line + 1)
    }

    /// The text at a place.
    pub(super) fn text_at(&self, place: Place) -> &str {
        let line = self.files[place.file].1.get(place.line).map_or("", String::as_str);
        line.get(place.at..place.at + place.width).unwrap_or("")
    }
}

/// Whether a text is a job file of fio: it has sections in single brackets, and keys of fio.
pub fn looks_like(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    let Some(first) = lines.next() else { return false };
    if !first.starts_with('[') || first.starts_with("[[") || !first.ends_with(']') {
        return false;
    }
    let usual =
        ["rw", "readwrite", "bs", "blocksize", "ioengine", "iodepth", "filename", "directory", "size", "direct"];
    first == "[global]"
        || lines.any(|line| {
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            usual.contains(&key.trim()) && !value.trim().starts_with(['"', '{'])
        })
}

/// Reads a job file; `name` is its name, for messages.
pub fn read_job_file(name: &str, text: &str, around: &dyn Surroundings) -> Result<JobFile, Fault> {
    let mut reader = Reader { job: JobFile::default(), around, bytes: 0, keys: 0 };
    let file = reader.add_file(name, text)?;
    reader.read_lines(file, false)?;
    let job = reader.job;
    if job.sections.iter().all(Section::is_global) {
        let remedy = "add a section such as [job], with rw= and filename=";
        return Err(match job.sections.first() {
            Some(section) => job.fault_at(section.place, "the file has no job", remedy),
            None => job.fault_of_file("the file has no job", remedy),
        });
    }
    Ok(job)
}

/// A value whose variables and keywords were replaced.
struct Expanded {
    text: String,
    /// Whether it had neither, so that the text is what is written.
    verbatim: bool,
    /// See [`Value::unset`].
    unset: Option<Box<Fault>>,
}

struct Reader<'a> {
    job: JobFile,
    around: &'a dyn Surroundings,
    bytes: usize,
    keys: usize,
}

impl Reader<'_> {
    /// Adds a file and returns its number.
    fn add_file(&mut self, name: &str, text: &str) -> Result<usize, Fault> {
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes > LONGEST || self.job.files.len() > MOST_INCLUDES {
            let what = "this job file and what it includes are longer than any real one";
            let remedy = format!("keep them below {LONGEST} bytes and {MOST_INCLUDES} included files");
            return Err(Fault::for_file(name, what, remedy));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        self.job.files.push((name.to_owned(), text.lines().map(str::to_owned).collect()));
        Ok(self.job.files.len() - 1)
    }

    fn read_lines(&mut self, file: usize, included: bool) -> Result<(), Fault> {
        for line in 0..self.job.files[file].1.len() {
            let text = &self.job.files[file].1[line];
            let code = text.find([';', '#']).map_or(text.as_str(), |end| &text[..end]);
            let at = code.len() - code.trim_start().len();
            let code = code.trim().to_owned();
            let place = Place { file, line, at, width: code.len() };
            match code.as_str() {
                "" => {}
                section if section.starts_with('[') => self.read_section(section, place, included)?,
                key => match key.strip_prefix("include").filter(|rest| rest.starts_with([' ', '\t'])) {
                    Some(name) => self.include_file(name, place)?,
                    None => self.read_key(key, place)?,
                },
            }
        }
        Ok(())
    }

    fn read_section(&mut self, text: &str, place: Place, included: bool) -> Result<(), Fault> {
        let Some(name) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
            let what = "a section ends with a bracket, and nothing stands behind it";
            return Err(self.job.fault_at(place, what, "write [name]"));
        };
        if included {
            let remedy = "write its keys alone, or move the section to the job file";
            return Err(self.job.fault_at(place, "an included file has no sections of its own", remedy));
        }
        if name.trim().is_empty() || name.len() > 255 {
            return Err(self.job.fault_at(place, "not a name of a job", "write 1 to 255 characters"));
        }
        if self.job.sections.len() == MOST_SECTIONS {
            let remedy = format!("write at most {MOST_SECTIONS}");
            return Err(self.job.fault_at(place, "more sections than any real job file has", remedy));
        }
        self.job.sections.push(Section { name: name.to_owned(), place, entries: Vec::new() });
        Ok(())
    }

    fn include_file(&mut self, rest: &str, place: Place) -> Result<(), Fault> {
        let name = rest.trim();
        let place = Place { at: place.at + place.width - name.len(), width: name.len(), ..place };
        let Expanded { text: name, unset, .. } = self.expand_value(name, place)?;
        if let Some(fault) = unset {
            return Err(*fault);
        }
        let beside = self.job.files[place.file].0.clone();
        let text = self.around.read_included(&name, &beside);
        let text = text.map_err(|why| {
            self.job.fault_at(
                place,
                format!("cannot be included: {why}"),
                "name a file from here, or beside the job file",
            )
        })?;
        let over = self.job.fault_at(place, "too much is included", "include each file once");
        let file = self.add_file(&name, &text).map_err(|_| over)?;
        self.read_lines(file, true)
    }

    fn read_key(&mut self, text: &str, place: Place) -> Result<(), Fault> {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name.trim_end(), Some(value)));
        if self.job.sections.is_empty() {
            return Err(self.job.fault_at(
                place,
                "a key before the first section",
                "write [global] above it, or the name of a job",
            ));
        }
        let own = Place { width: name.len(), ..place };
        let Some(key) = keys::find_key(name) else {
            let remedy = keys::meant_key(name)
                .map_or("docs/fio.md names every key".to_owned(), |key| format!("did you mean {key}?"));
            return Err(self.job.fault_at(own, "no such key", remedy));
        };
        self.keys += 1;
        if self.keys > MOST_KEYS {
            return Err(self.job.fault_at(
                own,
                "more keys than any real job file has",
                format!("write at most {MOST_KEYS}"),
            ));
        }
        let value = match value {
            None => None,
            Some(value) => {
                let written = value.trim();
                let at = place.at + place.width - value.trim_start().len();
                let place = Place { at, width: written.len(), ..place };
                let Expanded { text, verbatim, unset } = self.expand_value(written, place)?;
                Some(Value { text, place, verbatim, behind_blank: value.starts_with([' ', '\t']), unset })
            }
        };
        if let Some(section) = self.job.sections.last_mut() {
            section.entries.push(Entry { key, place: own, value });
        }
        Ok(())
    }

    /// Replaces the variables and keywords of a value.
    fn expand_value(&self, text: &str, place: Place) -> Result<Expanded, Fault> {
        let (mut out, mut unset) = (String::new(), None);
        let mut rest = text;
        while let Some(begin) = rest.find("${") {
            let at = text.len() - rest.len() + begin;
            let Some(end) = rest[begin..].find('}') else { break };
            let name = &rest[begin + 2..begin + end];
            let here = Place { at: place.at + at, width: end + 1, ..place };
            out.push_str(&rest[..begin]);
            match self.around.environment_variable(name) {
                Some(value) => out.push_str(&value),
                None => {
                    out.push_str(&rest[begin..=begin + end]);
                    let what = format!("the variable {} is not set", name.escape_debug());
                    let remedy = "set it in front of the command: NAME=value assay …";
                    unset = unset.or_else(|| Some(Box::new(self.job.fault_at(here, what, remedy))));
                }
            }
            if out.len() > LONGEST_VALUE || out.contains('\n') {
                return Err(self.job.fault_at(
                    here,
                    "this value does not fit into a line of a job file",
                    format!("keep it below {LONGEST_VALUE} characters, without line breaks"),
                ));
            }
            rest = &rest[begin + end + 1..];
        }
        out.push_str(rest);
        // Nothing can be computed with a variable that is not set.
        let (text, computed) = if unset.is_none() { self.compute_keywords(&out, place)? } else { (out, false) };
        Ok(Expanded { text, verbatim: !computed && rest.len() == place.width, unset })
    }

    /// The text of a value in which keywords and their arithmetic are replaced by the result, and whether it had
    /// keywords.
    fn compute_keywords(&self, text: &str, place: Place) -> Result<(String, bool), Fault> {
        let words =
            [("$pagesize", Keyword::PageSize), ("$mb_memory", Keyword::Memory), ("$ncpus", Keyword::Processors)];
        if !words.iter().any(|(word, _)| text.contains(word)) {
            return Ok((text.to_owned(), false));
        }
        let mut numbers = text.to_owned();
        for (word, keyword) in words {
            numbers = numbers.replace(word, &self.around.keyword_number(keyword).to_string());
        }
        let value = compute_arithmetic(&numbers).ok_or_else(|| {
            let what = "this is not an expression of whole numbers whose result is a whole number";
            self.job.fault_at(place, what, "write for example $pagesize*4, with + - * / and without brackets")
        })?;
        Ok((value.to_string(), true))
    }
}

/// Computes whole numbers with `+ - * /`, where `*` and `/` bind more strongly. `None` if the text is anything else, or
/// if the result is negative or does not fit into 64 bits.
fn compute_arithmetic(text: &str) -> Option<u64> {
    let (mut sum, mut product, mut sign, mut operator) = (0i128, None::<i128>, 1i128, '*');
    let mut rest = text.trim();
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number: i128 = rest[..end].parse::<u64>().ok()?.into();
        product = Some(match (product, operator) {
            (None, _) => number,
            (Some(product), '*') => product.checked_mul(number)?,
            (Some(product), _) => product.checked_div(number)?,
        });
        rest = rest[end..].trim_start();
        let Some(next) = rest.chars().next() else { break };
        match next {
            '+' | '-' => {
                sum = sum.checked_add(sign.checked_mul(product.take()?)?)?;
                sign = if next == '+' { 1 } else { -1 };
            }
            '*' | '/' => operator = next,
            _ => return None,
        }
        rest = rest[1..].trim_start();
    }
    u64::try_from(sum.checked_add(sign.checked_mul(product?)?)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_of_whole_numbers() {
        for (text, value) in [
            ("4096", Some(4096)),
            ("4096*4", Some(16_384)),
            ("2 + 3*4 - 6/4", Some(13)),
            ("10-3-2", Some(5)),
            ("100/7*7", Some(98)),
            ("1/0", None),
            ("3-4", None),
            ("4k*2", None),
            ("*2", None),
            ("2*", None),
            ("", None),
            ("18446744073709551615*18446744073709551615*18446744073709551615", None),
        ] {
            assert_eq!(compute_arithmetic(text), value, "{text}");
        }
    }

    #[test]
    fn job_files_are_told_from_workloads() {
        for job in [
            "[global]\nioengine=libaio\n[a]\nrw=randread\n",
            "; a job\n[a]\nbs=4k\nrw=read\n",
            "[a]\r\nfilename=/dev/sdb\r\n",
        ] {
            assert!(looks_like(job), "{job}");
        }
        for other in [
            "model = \"streams\"\n[[stream]]\nsize = \"4KiB\"\n",
            "[stream]\nname = \"a\"\nsize = \"4KiB\"\n",
            "[[stream]]\nsize = \"4KiB\"\n",
            "device-names: /dev/sdb\n",
            "",
        ] {
            assert!(!looks_like(other), "{other}");
        }
    }
}
