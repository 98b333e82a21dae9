//! The text of a workload file, and faults that show the place in it.

use super::words::explain_message;
use assay_base::Fault;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// The text of a file and the file's name.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    /// The fault at a place, as a result.
    pub(super) fn refuse_span<T>(
        &self,
        span: std::ops::Range<usize>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Result<T, Fault> {
        Err(self.fault_at(span, what, remedy))
    }

    /// A fault at a place of the file.
    pub(super) fn fault_at(
        &self,
        span: std::ops::Range<usize>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Fault {
        Fault::for_span(self.file, self.text, span, what, remedy)
    }

    /// A fault about a key of the file, or about the file as a whole if it does not have that key.
    pub(super) fn fault_of(&self, key: &str, what: &str) -> Fault {
        let keys: BTreeMap<String, toml::Spanned<toml::Value>> = toml::from_str(self.text).unwrap_or_default();
        match keys.get(key) {
            Some(value) => self.fault_at(value.span(), what, ""),
            None => Fault::for_file(self.file, what, ""),
        }
    }

    /// The value of a key, which must be within bounds; none if the key is missing. `what` says in words what it must be.
    pub(super) fn value_within<T: Copy + PartialOrd + Display>(
        &self,
        key: Option<&toml::Spanned<T>>,
        bounds: RangeInclusive<T>,
        what: &str,
    ) -> Result<Option<T>, Fault> {
        let Some(key) = key else { return Ok(None) };
        let value = *key.get_ref();
        if bounds.contains(&value) {
            return Ok(Some(value));
        }
        let (least, most) = (bounds.start(), bounds.end());
        self.refuse_span(key.span(), format!("{value} is not {what}"), format!("write {least} to {most}"))
    }

    pub(super) fn parse_file<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        toml::from_str(self.text).map_err(|error| {
            let (what, remedy) = explain_message(error.message(), self.text, error.span().as_ref());
            match error.span() {
                Some(span) => self.fault_at(span, what, remedy),
                None => Fault::for_file(self.file, what, remedy),
            }
        })
    }
}
