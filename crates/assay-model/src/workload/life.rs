//! `start`, `for`, `operations`, `bytes`, `after`: when a stream or a loop begins and ends.

use super::definition::LONGEST_RUN;
use super::source::Source;
use crate::life::Life;
use assay_base::{Bytes, Fault, Span};
use toml::Spanned;

/// The keys of a life, as written in the table of a stream or of a loop.
#[derive(Clone, Copy)]
pub(super) struct LifeKeys<'a> {
    pub start: Option<&'a Spanned<Span>>,
    pub lasts: Option<&'a Spanned<Span>>,
    pub operations: Option<&'a Spanned<u64>>,
    pub bytes: Option<&'a Spanned<Bytes>>,
    pub after: Option<&'a Spanned<AfterKeys>>,
}

/// What a stream or a loop waits for.
#[derive(serde::Deserialize, Clone)]
#[serde(
    untagged,
    expecting = "the name of a stream or loop, such as \"load\", or a list, such as [\"load\", \"index\"]"
)]
pub(super) enum AfterKeys {
    /// One.
    One(String),
    /// Several, all of which have to have ended.
    All(Vec<String>),
}

impl AfterKeys {
    fn awaited_names(&self) -> Vec<String> {
        match self {
            AfterKeys::One(name) => vec![name.clone()],
            AfterKeys::All(names) => names.clone(),
        }
    }
}

/// Reads the keys of the table of `what`, a stream or a loop.
pub(super) fn read_life(source: Source<'_>, keys: LifeKeys<'_>, what: &str) -> Result<Life, Fault> {
    let LifeKeys { start, lasts, operations, bytes, after } = keys;
    if let Some(operations) = operations.filter(|operations| *operations.get_ref() == 0) {
        let remedy = format!("write 1 or more, or remove the {what}");
        return Err(source.fault_at(operations.span(), format!("a {what} without operations does nothing"), remedy));
    }
    if let Some(bytes) = bytes.filter(|bytes| bytes.get_ref().get() == 0) {
        let remedy = format!("write bytes = \"10GiB\", or remove the {what}");
        return Err(source.fault_at(bytes.span(), format!("a {what} that moves no bytes does nothing"), remedy));
    }
    let unfit_length = lasts.filter(|lasts| lasts.get_ref().is_zero() || *lasts.get_ref() > LONGEST_RUN);
    let unfit_start = start.filter(|start| *start.get_ref() > LONGEST_RUN);
    if let Some(span) = unfit_length.or(unfit_start) {
        let remedy = "write for = \"1min\" and start = \"30s\", each at most 366d";
        return Err(source.fault_at(span.span(), format!("a {what} cannot begin or end then"), remedy));
    }
    let names = after.map(|after| after.get_ref().awaited_names()).unwrap_or_default();
    if let Some(after) =
        after.filter(|_| names.is_empty() || (1..names.len()).any(|at| names[..at].contains(&names[at])))
    {
        let remedy = format!("write each name once, or remove after if the {what} waits for nothing");
        return Err(source.fault_at(after.span(), format!("what the {what} waits for is not a list of names"), remedy));
    }
    let life = Life {
        start: start.map_or(Span::ZERO, |start| *start.get_ref()),
        lasts: lasts.map(|lasts| *lasts.get_ref()),
        operations: operations.map(|operations| *operations.get_ref()),
        bytes: bytes.map(|bytes| *bytes.get_ref()),
        ..Life::default()
    };
    Ok(life.beginning_after(names))
}

impl LifeKeys<'_> {
    /// The place in the file of the first of these keys that is present.
    pub(super) fn first_place(&self) -> Option<std::ops::Range<usize>> {
        let LifeKeys { start, lasts, operations, bytes, after } = self;
        let places = [start.map(Spanned::span), lasts.map(Spanned::span), operations.map(Spanned::span)];
        let others = [bytes.map(Spanned::span), after.map(Spanned::span)];
        places.into_iter().chain(others).flatten().next()
    }
}
