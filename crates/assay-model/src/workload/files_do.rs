//! The `[[do]]` tables of `model = "files"`: what clients do.

use super::names::{NAMES, is_name};
use super::source::Source;
use crate::files::{LARGEST_FILE, Layout, Operation, Pick, Place, Sequence, SequenceFiles, Tree};
use assay_base::fault::nearest_known_name;
use assay_base::{Bytes, Fault, Share};
use serde::{Deserialize, Deserializer};
use std::ops::RangeInclusive;
use toml::Spanned;

/// Most sequences of a mix.
const MOST_SEQUENCES: usize = 64;
/// Most steps of a sequence.
const MOST_STEPS: usize = 1000;
/// Bytes of one read or write.
pub(super) const IO: RangeInclusive<Bytes> = Bytes::new(1)..=Bytes::from_kib(1 << 20);
/// The same in words.
pub(super) const IO_IN_WORDS: &str = "a size of a read or write";
/// The largest share that is a whole number: the sum of all fits into 64 bits.
const MOST_WEIGHT: u64 = 1_000_000_000_000;
/// The shortest record of a file that all clients append to: it begins with what it says about itself.
const SHORTEST_RECORD: Bytes = Bytes::new(32);

/// The keys of one table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DoKeys {
    name: Spanned<String>,
    steps: Spanned<StepsKeys>,
    share: Option<Spanned<ShareKeys>>,
    pick: Option<Spanned<Pick>>,
    on: Option<Spanned<SequenceFiles>>,
    io: Option<Spanned<Bytes>>,
    size: Option<Spanned<Bytes>>,
    at: Option<Place>,
    order: Option<Spanned<OrderKeys>>,
}

/// `steps`: a list, or a list for each of several files.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a list of steps, such as [\"create\", \"write\", \"fsync\", \"close\"]")]
enum StepsKeys {
    OneFile(Vec<String>),
    SeveralFiles(Vec<Vec<String>>),
}

/// `order` in a phase that takes every file once.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OrderKeys {
    Number,
    Random,
}

/// `share`: a number that is compared with those of the others, or a percentage.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShareKeys {
    Weight(u64),
    Percent(Share),
}

impl<'de> Deserialize<'de> for ShareKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ShareKeys, D::Error> {
        struct Either;
        impl serde::de::Visitor<'_> for Either {
            type Value = ShareKeys;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a whole number, such as 3, or a percentage in quotes, such as \"20%\"")
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<ShareKeys, E> {
                let weight = u64::try_from(number).map_err(|_| E::custom("a share below 0; write 1 or more"))?;
                Ok(ShareKeys::Weight(weight))
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ShareKeys, E> {
                text.parse().map(ShareKeys::Percent).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// What the sequences of a phase must fit to.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub source: Source<'a>,
    pub tree: &'a Tree,
    pub io: Bytes,
}

/// The sequences of a mix.
pub(super) fn read(around: Around<'_>, tables: &[Spanned<DoKeys>]) -> Result<Vec<Sequence>, Fault> {
    let source = around.source;
    if let Some(beyond) = tables.get(MOST_SEQUENCES) {
        return source.refuse_span(beyond.span(), "too many sequences", format!("write at most {MOST_SEQUENCES}"));
    }
    let mut sequences: Vec<Sequence> = Vec::new();
    for table in tables {
        let sequence = one(around, table.get_ref())?;
        if sequences.iter().any(|other| other.name == sequence.name) {
            let what = "two sequences of one phase have this name";
            return source.refuse_span(table.get_ref().name.span(), what, "give each a name of its own");
        }
        sequences.push(sequence);
    }
    check_shares(source, tables)?;
    Ok(sequences)
}

/// Either all shares are percentages, which make the whole, or none is.
fn check_shares(source: Source<'_>, tables: &[Spanned<DoKeys>]) -> Result<(), Fault> {
    let shares = tables.iter().filter_map(|table| table.get_ref().share.as_ref());
    let percents: Vec<&Spanned<ShareKeys>> =
        shares.filter(|share| matches!(share.get_ref(), ShareKeys::Percent(_))).collect();
    let Some(first) = percents.first() else { return Ok(()) };
    if percents.len() < tables.len() {
        return source.refuse_span(
            first.span(),
            "a percentage beside shares that are none",
            "write all as \"20%\", or all as 20",
        );
    }
    let mut sum = 0u64;
    for share in &percents {
        if let ShareKeys::Percent(share) = share.get_ref() {
            sum = sum.saturating_add(share.as_ppb());
        }
    }
    let sum = Share::from_ppb(sum);
    if sum == Share::WHOLE {
        return Ok(());
    }
    source.refuse_span(first.span(), format!("the shares of the sequences make {sum}"), "write shares that make 100%")
}

fn one(around: Around<'_>, keys: &DoKeys) -> Result<Sequence, Fault> {
    let source = around.source;
    let name = keys.name.get_ref().clone();
    if !is_name(&name) {
        return source.refuse_span(keys.name.span(), "not a valid name of a sequence", NAMES);
    }
    let steps = steps(source, &keys.steps)?;
    let is_alone = steps.iter().map(Vec::len).sum::<usize>() == 1 && steps[0][0].name() == name;
    if Operation::from_name(&name).is_some() && !is_alone {
        let what = format!("{name} is an operation, and would be the name of two streams");
        return source.refuse_span(keys.name.span(), what, format!("write another name, such as \"{name}s\""));
    }
    let share = match keys.share.as_ref().map(|share| (share.span(), *share.get_ref())) {
        None => 1,
        Some((span, ShareKeys::Weight(0))) => {
            return source.refuse_span(span, "a share of 0 is never done", "write 1 or more, or remove the sequence");
        }
        Some((span, ShareKeys::Weight(weight))) if weight > MOST_WEIGHT => {
            let what = format!("share = {weight} is too large to be compared with others");
            return source.refuse_span(span, what, format!("write 1 to {MOST_WEIGHT}"));
        }
        Some((_, ShareKeys::Weight(weight))) => weight,
        Some((span, ShareKeys::Percent(share))) if share == Share::default() || share > Share::WHOLE => {
            return source.refuse_span(span, format!("{share} is not a share"), "write more than 0% and at most 100%");
        }
        Some((_, ShareKeys::Percent(share))) => share.as_ppb(),
    };
    let sequence = Sequence {
        name,
        steps,
        share,
        pick: keys.pick.as_ref().map(|pick| *pick.get_ref()).unwrap_or_default(),
        on: keys.on.as_ref().map(|on| *on.get_ref()).unwrap_or_default(),
        io: source.value_within(keys.io.as_ref(), IO, IO_IN_WORDS)?,
        size: size_of_written(source, keys.size.as_ref())?,
        at: keys.at,
        random_order: keys.order.as_ref().is_some_and(|order| *order.get_ref() == OrderKeys::Random),
    };
    sequence.check().map_err(|misfit| source.fault_at(keys.steps.span(), misfit.what, misfit.remedy))?;
    check_shared(around, keys, &sequence)?;
    check_size(source, keys, &sequence)?;
    Ok(sequence)
}

/// How large files become that the sequence writes as a whole.
fn size_of_written(source: Source<'_>, key: Option<&Spanned<Bytes>>) -> Result<Option<Bytes>, Fault> {
    let Some(key) = key else { return Ok(None) };
    if key.get_ref().get() <= LARGEST_FILE {
        return Ok(Some(*key.get_ref()));
    }
    let most = Bytes::new(LARGEST_FILE);
    source.refuse_span(
        key.span(),
        format!("{} is larger than any file", key.get_ref()),
        format!("write at most \"{most}\""),
    )
}

/// A size is that of a step `write` on files of the tree.
fn check_size(source: Source<'_>, keys: &DoKeys, sequence: &Sequence) -> Result<(), Fault> {
    match &keys.size {
        Some(size) if sequence.on == SequenceFiles::Shared || !sequence.has(Operation::Write) => source.refuse_span(
            size.span(),
            "size is that of files of the tree which the step write writes",
            "remove size, or add write to the steps",
        ),
        _ => Ok(()),
    }
}

fn steps(source: Source<'_>, keys: &Spanned<StepsKeys>) -> Result<Vec<Vec<Operation>>, Fault> {
    let lists: Vec<&Vec<String>> = match keys.get_ref() {
        StepsKeys::OneFile(steps) => vec![steps],
        StepsKeys::SeveralFiles(lists) => lists.iter().collect(),
    };
    if lists.iter().map(|list| list.len()).sum::<usize>() > MOST_STEPS {
        return source.refuse_span(keys.span(), "too many steps", format!("write at most {MOST_STEPS}"));
    }
    let mut steps = Vec::new();
    for list in lists {
        let mut operations = Vec::new();
        for name in list {
            let operation = Operation::from_name(name).ok_or_else(|| unknown_step(source, keys, name))?;
            operations.push(operation);
        }
        steps.push(operations);
    }
    Ok(steps)
}

fn unknown_step(source: Source<'_>, keys: &Spanned<StepsKeys>, name: &str) -> Fault {
    let known: Vec<&str> = Operation::ALL.into_iter().map(Operation::name).collect();
    let remedy = match nearest_known_name(name, &known) {
        Some(name) => format!("did you mean {name}?"),
        None => format!("the operations are {}", known.join(", ")),
    };
    source.fault_at(keys.span(), format!("there is no operation \"{}\"", name.escape_debug()), remedy)
}

/// Steps on shared files fit to the layout of these.
fn check_shared(around: Around<'_>, keys: &DoKeys, sequence: &Sequence) -> Result<(), Fault> {
    let source = around.source;
    let Some(on) = keys.on.as_ref().filter(|on| *on.get_ref() == SequenceFiles::Shared) else {
        if around.tree.files > 0 || around.tree.source.is_some() {
            return Ok(());
        }
        return source.refuse_span(
            keys.name.span(),
            "the tree has no files but shared ones",
            "write on = \"shared\", or files in [tree]",
        );
    };
    let Some(shared) = around.tree.shared else {
        return source.refuse_span(on.span(), "the tree has no shared files", "write shared = 1 in [tree]");
    };
    let is_append = shared.layout == Layout::Append;
    if is_append && around.io < SHORTEST_RECORD {
        let what = format!("records of {} are shorter than what they say about themselves", around.io);
        return source.refuse_span(
            on.span(),
            what,
            format!("write io = \"{SHORTEST_RECORD}\" or more, for the workload"),
        );
    }
    let places_bytes = |operation: &Operation| operation.moves_bytes() && *operation != Operation::Append;
    if is_append && let Some(operation) = sequence.operations().find(places_bytes) {
        let what = format!("{operation} needs places, and records are where their append put them");
        return source.refuse_span(keys.steps.span(), what, "write append, or another layout in [tree]");
    }
    if !is_append && sequence.has(Operation::Append) {
        let what = "append to a shared file, in which each client has places of its own";
        return source.refuse_span(keys.steps.span(), what, "write write, or layout = \"append\" in [tree]");
    }
    Ok(())
}

/// Whether sequences fit to a phase that takes every file once, or to one that lasts a time.
pub(super) fn check_phase(
    source: Source<'_>,
    tables: &[Spanned<DoKeys>],
    sequences: &[Sequence],
    every_file: bool,
) -> Result<(), Fault> {
    for (table, sequence) in tables.iter().zip(sequences) {
        let keys = table.get_ref();
        let keeps_open = sequence.steps.iter().any(|steps| crate::files::keeps_file_open(steps));
        match (&keys.share, &keys.order, &keys.pick) {
            (Some(share), _, _) if every_file => {
                let what = "share in a phase that takes every file once: its sequences follow each other";
                return source.refuse_span(share.span(), what, "remove share, or write until = \"time\"");
            }
            (_, Some(order), _) if !every_file => {
                let what = "order is for a phase that takes every file once";
                return source.refuse_span(order.span(), what, "remove order, or write until = \"done\"");
            }
            (_, _, Some(pick)) if every_file && sequence.pick == Pick::Any => {
                let what = "pick = \"any\" in a phase that takes every file once";
                return source.refuse_span(pick.span(), what, "write own or next");
            }
            _ if every_file && keeps_open && sequence.on == SequenceFiles::Tree => {
                let what = "the steps keep one file open, in a phase that takes every file once";
                return source.refuse_span(keys.steps.span(), what, "begin with open or create, and end with close");
            }
            _ => {}
        }
    }
    Ok(())
}

/// The place of a sequence in the file.
pub(super) fn span_of(tables: &[Spanned<DoKeys>], name: &str) -> Option<std::ops::Range<usize>> {
    let found = tables.iter().find(|table| table.get_ref().name.get_ref() == name);
    found.map(|table| table.get_ref().pick.as_ref().map_or_else(|| table.get_ref().name.span(), Spanned::span))
}
