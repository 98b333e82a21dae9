//! Continues reading after a fault, so that a person sees all faults of a file at once: the faulty place is replaced by
//! something valid, and the text is read again. Only faults in the person's own text are reported; a fault caused by
//! our replacement is not.

use assay_base::Fault;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A valid value for each key that a table must have.
const EXAMPLES: [(&str, &str); 11] = [
    ("direction", "\"read\""),
    ("size", "\"4KiB\""),
    ("rate", "\"1/s\""),
    ("in_flight", "1"),
    ("from", "\"4KiB\""),
    ("to", "\"4KiB\""),
    ("until", "\"steady\""),
    ("limit", "\"1h\""),
    ("larger_than", "[[\"1KiB\", \"100%\"], [\"2KiB\", \"0%\"]]"),
    ("sizes", "[[\"4KiB\", \"100%\"]]"),
    ("position", "\"100%\""),
];

/// What a stream needs besides its name.
const STREAM: &str = "\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"1/s\"\n";

/// A byte of the current text: its position in the person's text, and whether we inserted it.
#[derive(Clone, Copy, Debug)]
struct Origin {
    at: usize,
    ours: bool,
}

/// A text while it is being made valid.
#[derive(Debug)]
pub(super) struct Mended {
    text: String,
    origin: Vec<Origin>,
    names: usize,
}

impl Mended {
    /// The original text.
    pub(super) fn new(text: &str) -> Mended {
        let origin = (0..text.len()).map(|at| Origin { at, ours: false }).collect();
        Mended { text: text.to_owned(), origin, names: 0 }
    }

    /// The current text.
    pub(super) fn current_text(&self) -> &str {
        &self.text
    }

    /// The position in the person's text for a position in the current text.
    pub(super) fn original_place(&self, span: &Range<usize>) -> Range<usize> {
        let from = self.origin.get(span.start).map_or(0, |origin| origin.at);
        let to = span.end.checked_sub(1).and_then(|last| self.origin.get(last)).map_or(from, |origin| origin.at + 1);
        from..to.max(from)
    }

    /// Whether we inserted the text at a position, or something in the table there.
    pub(super) fn is_ours(&self, span: &Range<usize>) -> bool {
        let span = self.table_at(span).map_or(span.clone(), |table| self.body_of(table));
        self.origin.get(span).is_some_and(|bytes| bytes.iter().any(|origin| origin.ours))
    }

    /// Replaces the faulty place by something valid; the whole table where that is not enough. False when nothing is
    /// left to replace.
    pub(super) fn mend_fault(&mut self, fault: &Fault, whole_table: bool) -> bool {
        let Some(span) = fault.span.clone().filter(|span| span.end <= self.text.len()) else { return false };
        if let Some(header) = self.table_at(&span).or_else(|| whole_table.then(|| self.table_around(&span)).flatten()) {
            return self.mend_table(header, fault);
        }
        let Ok(table) = DeTable::parse(&self.text) else { return false };
        let Some(entry) = find_entry(table.get_ref(), &span) else { return false };
        match EXAMPLES.iter().find(|(key, _)| *key == entry.name && entry.value.start <= span.start) {
            Some((_, example)) => self.replace_span(entry.value, example),
            None if entry.name == "name" => self.rename_stream(entry.value),
            None => self.replace_span(self.with_comma(entry.key.start..entry.value.end), ""),
        }
        true
    }

    /// An entry with a comma beside it, if there is one: two of them would be left beside each other in an inline table.
    fn with_comma(&self, entry: Range<usize>) -> Range<usize> {
        let behind = &self.text[entry.end..];
        let skipped = behind.len() - behind.trim_start().len();
        if behind[skipped..].starts_with(',') {
            return entry.start..entry.end + skipped + 1;
        }
        let before = self.text[..entry.start].trim_end();
        match before.strip_suffix(',') {
            Some(rest) => rest.len()..entry.end,
            None => entry,
        }
    }

    /// Adds a missing key; a table that is wrong as a whole keeps only its name, and a criterion is removed.
    fn mend_table(&mut self, header: Range<usize>, fault: &Fault) -> bool {
        let missing = fault.what.strip_prefix("the key ").and_then(|rest| rest.strip_suffix(" is missing"));
        if let Some((key, example)) = EXAMPLES.iter().find(|(key, _)| Some(*key) == missing) {
            self.replace_span(header.end..header.end, &format!("\n{key} = {example}\n"));
            return true;
        }
        let body = self.body_of(header.clone());
        let all_ours = self.origin[body.clone()].iter().all(|origin| origin.ours);
        if all_ours || body.is_empty() {
            return false;
        }
        let is_stream = self.text[header].contains("stream");
        let name = self.text[body.clone()].lines().find(|line| line.trim_start().starts_with("name")).unwrap_or("");
        let name = if missing == Some("name") || name.is_empty() { self.new_name() } else { name.to_owned() };
        let with = if is_stream { format!("[[stream]]\n{name}{STREAM}") } else { String::new() };
        self.replace_span(body, &with);
        true
    }

    /// Gives the stream another name, also in criteria that use the old one.
    fn rename_stream(&mut self, value: Range<usize>) {
        let old = self.text[value.clone()].to_owned();
        let name = self.new_name();
        let new = name.trim_start_matches("name = ");
        self.replace_span(value, new);
        while let Some(at) = self.text.find(&old).filter(|_| old.len() > 2) {
            self.replace_span(at..at + old.len(), new);
        }
    }

    fn new_name(&mut self) -> String {
        self.names += 1;
        format!("name = \"mended-{}\"", self.names)
    }

    fn replace_span(&mut self, span: Range<usize>, with: &str) {
        let at = self.origin.get(span.start).or(self.origin.last()).map_or(0, |origin| origin.at);
        // An empty replacement leaves a mark, so that the table does not count as the person's own any more.
        let with = if with.is_empty() { " " } else { with };
        self.text.replace_range(span.clone(), with);
        self.origin.splice(span, std::iter::repeat_n(Origin { at, ours: true }, with.len()));
    }

    /// The header line of a table, if the position begins with one.
    fn table_at(&self, span: &Range<usize>) -> Option<Range<usize>> {
        let rest = self.text.get(span.start..)?;
        let header = rest.lines().next()?;
        header.starts_with("[[").then(|| span.start..span.start + header.len())
    }

    /// The header line of the table that contains the position.
    fn table_around(&self, span: &Range<usize>) -> Option<Range<usize>> {
        let before = self.text.get(..span.start)?;
        let start = before.rfind("\n[[").map(|at| at + 1).or(before.starts_with("[[").then_some(0))?;
        self.table_at(&(start..start))
    }

    /// From a table's header to the next one.
    fn body_of(&self, header: Range<usize>) -> Range<usize> {
        let end = self.text[header.end..].find("\n[").map_or(self.text.len(), |at| header.end + at);
        header.start..end
    }
}

/// A key and its value.
struct KeyAndValue {
    name: String,
    key: Range<usize>,
    value: Range<usize>,
}

/// The innermost entry that contains the position.
fn find_entry(table: &DeTable<'_>, span: &Range<usize>) -> Option<KeyAndValue> {
    table.iter().find_map(|(key, value)| {
        let entry = KeyAndValue { name: key.get_ref().to_string(), key: key.span(), value: value.span() };
        let holds = entry.key.start <= span.start && span.start < entry.value.end.max(entry.key.end);
        find_inside(value, span).or(holds.then_some(entry))
    })
}

/// The same within a value.
fn find_inside(value: &Spanned<DeValue<'_>>, span: &Range<usize>) -> Option<KeyAndValue> {
    match value.get_ref() {
        DeValue::Table(table) => find_entry(table, span),
        DeValue::Array(array) => array.iter().find_map(|value| find_inside(value, span)),
        _ => None,
    }
}
