//! Workload files: TOML in, a plan out. Unknown keys, missing units and impossible values are refused with the line, a caret
//! and what to write instead. `docs/FORMATS.md` lists every key.

mod act;
mod common;
mod criteria;
mod streams;
mod warm_up;

pub use common::{Adjust, LARGEST_BOUND, MOST_STREAMS, Workload};

use assay_base::Fault;
use assay_base::fault::nearest;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// Longest workload file that is read, in bytes.
pub const LONGEST: usize = 1 << 20;

/// The models a workload file can name.
pub const MODELS: [&str; 3] = ["streams", "act-storage", "act-index"];

/// Reads a workload file. `file` is its name, for messages.
pub fn read(file: &str, text: &str) -> Result<Workload, Fault> {
    if text.len() > LONGEST {
        let what = format!("a workload file of {} bytes is longer than any real one", text.len());
        return Err(Fault::whole(file, what, format!("keep it below {LONGEST} bytes")));
    }
    #[derive(serde::Deserialize)]
    struct Model {
        model: Option<toml::Spanned<String>>,
    }
    let source = Source { file, text };
    let model = source.parse::<Model>()?.model;
    let remedy = || format!("write one of {}", MODELS.join(", "));
    let Some(model) = model else {
        return Err(Fault::whole(
            file,
            "the workload names no model",
            format!("add model = \"streams\" ({})", remedy()),
        ));
    };
    match model.get_ref().as_str() {
        "streams" => streams::read(source),
        "act-storage" => act::read_storage(source),
        "act-index" => act::read_index(source),
        other => {
            let meant = nearest(other, &MODELS).map_or_else(remedy, |name| format!("did you mean {name}?"));
            Err(source.fault(model.span(), format!("there is no model \"{}\"", other.escape_debug()), meant))
        }
    }
}

/// A text and its name.
#[derive(Clone, Copy)]
struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn fault(&self, span: std::ops::Range<usize>, what: impl Into<String>, remedy: impl Into<String>) -> Fault {
        Fault::at(self.file, self.text, span, what, remedy)
    }

    /// A fault of what a key of the file says; of the file as a whole where it leaves that key out.
    fn fault_of(&self, key: &str, what: &str) -> Fault {
        let keys: BTreeMap<String, toml::Spanned<toml::Value>> = toml::from_str(self.text).unwrap_or_default();
        match keys.get(key) {
            Some(value) => self.fault(value.span(), what, ""),
            None => Fault::whole(self.file, what, ""),
        }
    }

    fn parse<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        toml::from_str(self.text).map_err(|error| {
            let (what, remedy) = explain(error.message());
            match error.span() {
                Some(span) => self.fault(span, what, remedy),
                None => Fault::whole(self.file, what, remedy),
            }
        })
    }
}

/// Turns a parser's message into what is wrong and what to do. An unknown key gets the nearest known one; our own unit
/// errors already carry their remedy behind a semicolon.
fn explain(message: &str) -> (String, String) {
    let quoted = |text: &str| text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    if message.starts_with("unknown field") || message.starts_with("unknown variant") {
        let names = quoted(message);
        if let Some((written, known)) = names.split_first() {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let kind = if message.starts_with("unknown field") { "key" } else { "value" };
            let remedy = match nearest(written, &known) {
                Some(name) => format!("did you mean {name}?"),
                None => format!("known here: {}", known.join(", ")),
            };
            return (format!("unknown {kind} \"{written}\""), remedy);
        }
    }
    if let Some(name) = message.strip_prefix("missing field ").map(|rest| rest.trim_matches('`')) {
        return (format!("the key {name} is missing"), format!("add {name} = …"));
    }
    if let Some((found, wanted)) =
        message.strip_prefix("invalid type: ").and_then(|m| m.split_once(", expected a quoted "))
    {
        let example = match wanted.trim() {
            "Bytes" => "a size with its unit in quotes, such as \"8KiB\"",
            "Rate" => "a rate in quotes, such as \"2000/s\"",
            "Span" => "a time with its unit in quotes, such as \"30s\"",
            "Share" => "a percentage in quotes, such as \"5%\"",
            other => other,
        };
        return (format!("{found} is not a quantity with its unit"), format!("write {example}"));
    }
    let first = message.lines().next().unwrap_or(message);
    match first.split_once("; ") {
        Some((what, remedy)) => (what.to_owned(), remedy.to_owned()),
        None => (first.to_owned(), String::new()),
    }
}

#[cfg(test)]
mod tests;
