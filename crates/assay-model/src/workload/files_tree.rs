//! The `[tree]` table of `model = "files"`.

use super::address::text_or_table;
use super::source::Source;
use crate::files::{FileSize, LARGEST_FILE, Layout, MOST_DIRECTORIES, MOST_FILES, Shared, Tree, TreeShape};
use assay_base::{Bytes, Fault};
use serde::Deserialize;
use toml::Spanned;

/// Most levels of directories.
const MOST_LEVELS: u32 = 64;
/// Most shared files: each client keeps all of them open.
const MOST_SHARED: u32 = 1024;

/// The keys of the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TreeKeys {
    files: Option<Spanned<u32>>,
    size: Spanned<FileSizeKeys>,
    width: Option<Spanned<u32>>,
    depth: Option<Spanned<u32>>,
    private: Option<bool>,
    empty: Option<bool>,
    shared: Option<Spanned<u32>>,
    layout: Option<Spanned<Layout>>,
}

/// `size`, as written.
enum FileSizeKeys {
    Fixed(Bytes),
    Table(FileSizeTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileSizeTable {
    from: Option<Bytes>,
    to: Option<Bytes>,
    mean: Option<Bytes>,
    shape: Option<f64>,
    log2: Option<Vec<u64>>,
}

text_or_table!(
    FileSizeKeys,
    "a quoted Bytes",
    |text, E| text.parse().map(FileSizeKeys::Fixed).map_err(E::custom),
    |table: FileSizeTable| FileSizeKeys::Table(table)
);

const FORMS: &str = "write \"128KiB\", { from = \"1KiB\", to = \"64KiB\" }, { mean = \"128KiB\", shape = 1.5 } or { log2 = [1, 0, 5, 20] }";

impl FileSizeKeys {
    /// The sizes; the error is what is wrong and what to write.
    fn meant(&self) -> Result<FileSize, (String, String)> {
        let table = match self {
            FileSizeKeys::Fixed(bytes) => return within_largest(FileSize::Fixed(*bytes), *bytes),
            FileSizeKeys::Table(table) => table,
        };
        match (table.from, table.to, table.mean, table.shape, &table.log2) {
            (Some(from), Some(to), None, None, None) if from <= to => {
                within_largest(FileSize::Between { from, to }, to)
            }
            (Some(_), Some(_), None, None, None) => {
                Err(("`from` is above `to`".into(), "write the smaller size as from".into()))
            }
            (None, None, Some(mean), Some(shape), None) => {
                if !(shape.is_finite() && (0.01..=1000.0).contains(&shape)) {
                    return Err((format!("{shape} is not a shape of sizes"), "write 0.01 to 1000".into()));
                }
                within_largest(FileSize::Gamma { mean, shape }, mean)
            }
            (None, None, None, None, Some(weights)) => by_powers(weights),
            _ => Err(("give sizes in exactly one way".into(), FORMS.into())),
        }
    }
}

fn within_largest(size: FileSize, largest: Bytes) -> Result<FileSize, (String, String)> {
    if largest.get() <= LARGEST_FILE {
        return Ok(size);
    }
    let most = Bytes::new(LARGEST_FILE);
    Err((format!("{largest} is larger than any file"), format!("write at most \"{most}\"")))
}

fn by_powers(weights: &[u64]) -> Result<FileSize, (String, String)> {
    let sum = weights.iter().try_fold(0u64, |sum, weight| sum.checked_add(*weight));
    if weights.len() <= 51 && sum.is_some_and(|sum| sum > 0) {
        return Ok(FileSize::Log2(weights.to_vec()));
    }
    Err((
        "these are not weights of sizes by power of two".into(),
        "write up to 51 whole numbers, the first for empty files, the k-th after it for 2^(k-1) to 2^k - 1 bytes; one is above 0"
            .into(),
    ))
}

/// The tree, for this many clients.
pub(super) fn read(source: Source<'_>, table: &Spanned<TreeKeys>, clients: u32) -> Result<Tree, Fault> {
    let keys = table.get_ref();
    let files = number(source, keys.files.as_ref(), 0..=MOST_FILES, "a number of files")?.unwrap_or(0);
    let size = keys.size.get_ref().meant().map_err(|(what, remedy)| source.fault_at(keys.size.span(), what, remedy))?;
    let width = number(source, keys.width.as_ref(), 1..=u32::MAX, "a number of entries of a directory")?;
    let depth = number(source, keys.depth.as_ref(), 0..=MOST_LEVELS, "a number of levels of directories")?;
    if let Some(depth) = keys.depth.as_ref().filter(|_| width.is_none()) {
        return source.refuse_span(depth.span(), "depth says nothing without width", "add width = 20, or remove depth");
    }
    let shared = shared(source, keys)?;
    if files == 0 && shared.is_none() {
        return source.refuse_span(table.span(), "a tree without files", "write files = 10000, or shared = 1");
    }
    let tree = Tree {
        files,
        size,
        width,
        depth,
        private: keys.private.unwrap_or(false),
        empty: keys.empty.unwrap_or(false),
        shared,
    };
    if TreeShape::new(&tree, clients, 0).is_none() {
        let what = format!("this tree has more than {MOST_DIRECTORIES} directories");
        return source.refuse_span(table.span(), what, "write a smaller width or depth");
    }
    Ok(tree)
}

fn shared(source: Source<'_>, keys: &TreeKeys) -> Result<Option<Shared>, Fault> {
    let files = number(source, keys.shared.as_ref(), 1..=MOST_SHARED, "a number of shared files")?;
    match (files, &keys.layout) {
        (Some(files), layout) => {
            Ok(Some(Shared { files, layout: layout.as_ref().map(|layout| *layout.get_ref()).unwrap_or_default() }))
        }
        (None, None) => Ok(None),
        (None, Some(layout)) => {
            source.refuse_span(layout.span(), "layout is that of shared files", "add shared = 1, or remove layout")
        }
    }
}

/// A number within bounds, if it is there.
pub(super) fn number(
    source: Source<'_>,
    key: Option<&Spanned<u32>>,
    bounds: std::ops::RangeInclusive<u32>,
    what: &str,
) -> Result<Option<u32>, Fault> {
    let Some(key) = key else { return Ok(None) };
    if bounds.contains(key.get_ref()) {
        return Ok(Some(*key.get_ref()));
    }
    let (least, most) = (bounds.start(), bounds.end());
    source.refuse_span(key.span(), format!("{} is not {what}", key.get_ref()), format!("write {least} to {most}"))
}
