//! The lines of a configuration of IOmeter: labels, which begin with an apostrophe, and data, which are indented.

use assay_base::Fault;

/// Upper bound on the length of a text, in bytes.
const LONGEST: usize = 1 << 20;

/// The kind of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LineKind {
    /// A label in lower case, without the apostrophe and the equals signs.
    Label(String),
    /// Data, or the line with the version.
    Data,
    /// An empty line.
    Blank,
}

/// A line of the file. The caller takes the lines one by one.
#[derive(Clone, Debug)]
struct Line<'a> {
    number: usize,
    text: &'a str,
    kind: LineKind,
}

/// A word of a line, with its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub text: &'a str,
    pub place: Place,
}

/// A part of a line: the number of the line, from 1, and the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    line: usize,
    at: usize,
    width: usize,
}

/// The lines, and the position of the next one.
#[derive(Debug)]
pub(super) struct Text<'a> {
    file: &'a str,
    lines: Vec<Line<'a>>,
    at: usize,
}

/// A label in the form in which labels are compared: in lower case, without repeated blanks, and without the equals
/// signs after the name of a section.
fn normalized_label(text: &str) -> String {
    let words = text.trim_end_matches(['=', ' ', '\t']).split_whitespace();
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}

impl<'a> Text<'a> {
    /// Splits a file into its lines.
    pub(super) fn new(file: &'a str, text: &'a str) -> Result<Text<'a>, Fault> {
        if text.len() > LONGEST {
            let remedy = format!("check that this is a configuration of IOmeter; it may have at most {LONGEST} bytes");
            return Err(Fault::for_file(file, "the file is longer than any configuration of IOmeter", remedy));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = Vec::new();
        for (text, number) in text.split('\n').zip(1..) {
            let text = text.trim_end_matches('\r');
            let kind = match text.strip_prefix('\'') {
                Some(rest) => LineKind::Label(normalized_label(rest)),
                None if text.trim().is_empty() => LineKind::Blank,
                None => LineKind::Data,
            };
            lines.push(Line { number, text, kind });
        }
        Ok(Text { file, lines, at: 0 })
    }

    /// A fault at a place.
    pub(super) fn fault_at(&self, place: Place, what: impl Into<String>, remedy: impl Into<String>) -> Fault {
        let line = place.line.checked_sub(1).and_then(|at| self.lines.get(at));
        let source = line.map_or("", |line| line.text);
        Fault::in_line(self.file, place.line, source, place.at, place.width).with_reason(what, remedy)
    }

    /// A fault of the file as a whole.
    pub(super) fn fault_of_file(&self, what: impl Into<String>, remedy: impl Into<String>) -> Fault {
        Fault::for_file(self.file, what, remedy)
    }

    /// A fault at the line that is read next, or at the end of the file.
    pub(super) fn fault_here(&mut self, what: impl Into<String>, remedy: impl Into<String>) -> Fault {
        self.skip_blank();
        match self.lines.get(self.at) {
            Some(line) => self.fault_at(whole_line(line), what, remedy),
            None => self.fault_of_file(format!("{}; the file ends here", what.into()), remedy),
        }
    }

    fn skip_blank(&mut self) {
        while self.lines.get(self.at).is_some_and(|line| line.kind == LineKind::Blank) {
            self.at += 1;
        }
    }

    /// Whether all lines were read.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.skip_blank();
        self.at >= self.lines.len()
    }

    /// The label on the next line, if there is one. It is not taken.
    pub(super) fn peek_label(&mut self) -> Option<&str> {
        self.skip_blank();
        match &self.lines.get(self.at)?.kind {
            LineKind::Label(label) => Some(label),
            LineKind::Data | LineKind::Blank => None,
        }
    }

    /// Takes the label on the next line.
    pub(super) fn take_label(&mut self) -> Result<(String, Place), Fault> {
        self.skip_blank();
        match self.lines.get(self.at) {
            Some(Line { kind: LineKind::Label(label), .. }) => {
                let found = (label.clone(), whole_line(&self.lines[self.at]));
                self.at += 1;
                Ok(found)
            }
            Some(_) => Err(self.fault_here(
                "no label says what these data are",
                "IOmeter writes a label, which begins with ', above them",
            )),
            None => {
                Err(self.fault_of_file("the file ends within a section", "the configuration is cut off: save it again"))
            }
        }
    }

    /// Skips this label if it is on the next line, and returns whether it was.
    pub(super) fn skip_label(&mut self, known: &str) -> bool {
        let is_next = self.peek_label() == Some(known);
        self.at += usize::from(is_next);
        is_next
    }

    /// Takes the version, which is the only line of data that is not indented.
    pub(super) fn take_version(&mut self) -> Option<&'a str> {
        self.skip_blank();
        let rest = self.lines.get(self.at)?.text.strip_prefix("Version")?;
        let is_version = rest.starts_with([' ', '\t']) && !rest.trim().is_empty();
        self.at += usize::from(is_version);
        is_version.then(|| rest.trim())
    }

    /// Takes the data on the next line; `of` says what they are, for messages.
    pub(super) fn take_data(&mut self, of: &str) -> Result<Word<'a>, Fault> {
        match self.optional_data()? {
            Some(word) => Ok(word),
            None => Err(self.fault_here(
                format!("the data of \"{of}\" are missing"),
                "IOmeter writes them below their label, indented",
            )),
        }
    }

    /// Takes the data on the next line, if there are any before the next label.
    pub(super) fn optional_data(&mut self) -> Result<Option<Word<'a>>, Fault> {
        self.skip_blank();
        let Some(line) = self.lines.get(self.at).filter(|line| line.kind == LineKind::Data) else { return Ok(None) };
        if !line.text.starts_with(['\t', ' ']) {
            let what = "this line is neither a label nor indented data";
            return Err(self.fault_here(what, "labels begin with ', and data with a tab"));
        }
        let word =
            trimmed_word(Word { text: line.text, place: Place { line: line.number, at: 0, width: line.text.len() } });
        self.at += 1;
        Ok(Some(word))
    }
}

fn whole_line(line: &Line<'_>) -> Place {
    Place { line: line.number, at: 0, width: line.text.len() }
}

fn trimmed_word(word: Word<'_>) -> Word<'_> {
    let begin = word.text.len() - word.text.trim_start().len();
    let text = word.text.trim();
    Word { text, place: Place { at: word.place.at + begin, width: text.len(), ..word.place } }
}

impl<'a> Word<'a> {
    /// The parts between commas.
    pub(super) fn split_fields(self) -> Vec<Word<'a>> {
        self.split_with(|text| text.split(',').collect())
    }

    /// The parts between blanks.
    pub(super) fn split_words(self) -> Vec<Word<'a>> {
        self.split_with(|text| text.split_whitespace().collect())
    }

    /// The text before the last comma, and the text after it.
    pub(super) fn last_field(self) -> Option<(Word<'a>, Word<'a>)> {
        let at = self.text.rfind(',')?;
        Some((self.sub_word(0, at), self.sub_word(at + 1, self.text.len())))
    }

    /// The bytes `from..to` of the text.
    fn sub_word(self, from: usize, to: usize) -> Word<'a> {
        trimmed_word(Word {
            text: &self.text[from..to],
            place: Place { at: self.place.at + from, width: to - from, ..self.place },
        })
    }

    fn split_with(self, split: impl Fn(&'a str) -> Vec<&'a str>) -> Vec<Word<'a>> {
        let begin = self.text.as_ptr() as usize;
        let mut parts = Vec::new();
        for text in split(self.text) {
            let at = self.place.at + (text.as_ptr() as usize - begin);
            parts.push(trimmed_word(Word { text, place: Place { at, width: text.len(), ..self.place } }));
        }
        parts
    }
}
