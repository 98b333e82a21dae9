//! The `[tree]` table of `model = "files"`.

use super::address::text_or_table;
use super::source::Source;
use crate::files::{
    DEEPEST_DIRECTORY, DirectoryGroup, FileSize, GroupFault, LARGEST_FILE, LONGEST_NAME, Layout, LengthWeight,
    MOST_DIRECTORIES, MOST_FILES, NameLengths, Shared, SourceTree, Tree, TreeShape, check_groups,
};
use assay_base::{Bytes, Fault, Share};
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
    size: Option<Spanned<FileSizeKeys>>,
    width: Option<Spanned<u32>>,
    depth: Option<Spanned<u32>>,
    directories: Option<Spanned<Vec<[u64; 3]>>>,
    names: Option<Spanned<NameKeys>>,
    symlinks: Option<Spanned<Share>>,
    links: Option<Spanned<Share>>,
    private: Option<Spanned<bool>>,
    empty: Option<bool>,
    shared: Option<Spanned<u32>>,
    shared_size: Option<Spanned<Bytes>>,
    layout: Option<Spanned<Layout>>,
    source: Option<Spanned<String>>,
}

/// `names`: lengths with their weights, or all lengths between two.
#[derive(Deserialize)]
#[serde(untagged, expecting = "lengths with their weights, such as [[5, 1], [12, 30]], or { from = 13, to = 21 }")]
enum NameKeys {
    Weights(Vec<[u64; 2]>),
    Between(NameRange),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NameRange {
    from: u32,
    to: u32,
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
    if let Some(path) = &keys.source {
        return copied_tree(source, keys, path);
    }
    let files = source.value_within(keys.files.as_ref(), 0..=MOST_FILES, "a number of files")?.unwrap_or(0);
    let Some(size) = &keys.size else {
        return source.refuse_span(table.span(), "nothing says how large the files are", format!("add size: {FORMS}"));
    };
    let size = size.get_ref().meant().map_err(|(what, remedy)| source.fault_at(size.span(), what, remedy))?;
    let width = source.value_within(keys.width.as_ref(), 1..=u32::MAX, "a number of entries of a directory")?;
    let depth = source.value_within(keys.depth.as_ref(), 0..=MOST_LEVELS, "a number of levels of directories")?;
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
        directories: directory_groups(source, keys)?,
        names: name_lengths(source, keys)?,
        symlinks: share_of_files(source, keys.symlinks.as_ref())?,
        links: share_of_files(source, keys.links.as_ref())?,
        private: keys.is_private(),
        empty: keys.empty.unwrap_or(false),
        shared,
        source: None,
    };
    if TreeShape::new(&tree, clients, 0).is_none() {
        let what = format!("this tree has more than {MOST_DIRECTORIES} directories");
        return source.refuse_span(table.span(), what, "write a smaller width or depth");
    }
    Ok(tree)
}

/// The copy of a real tree, which says by itself what is in it.
fn copied_tree(source: Source<'_>, keys: &TreeKeys, path: &Spanned<String>) -> Result<Tree, Fault> {
    if !std::path::Path::new(path.get_ref()).is_absolute() {
        let what = format!("{:?} is no absolute path", path.get_ref());
        return source.refuse_span(
            path.span(),
            what,
            "write the whole path of a directory, such as \"/usr/share/doc\"",
        );
    }
    if let Some((name, span)) = keys.first_beside_source() {
        let what = format!("{name} is said by what is in the source");
        return source.refuse_span(span, what, format!("remove {name}, or source"));
    }
    let tree = Tree::flat(0, FileSize::Fixed(Bytes::new(0)));
    let copied = SourceTree { path: path.get_ref().clone(), found: None };
    Ok(Tree { empty: keys.empty.unwrap_or(false), source: Some(Box::new(copied)), ..tree })
}

impl TreeKeys {
    fn is_private(&self) -> bool {
        self.private.as_ref().is_some_and(|private| *private.get_ref())
    }

    /// A key that a tree with a source does not have.
    fn first_beside_source(&self) -> Option<(&'static str, std::ops::Range<usize>)> {
        fn placed_key<T>(
            name: &'static str,
            key: Option<&Spanned<T>>,
        ) -> Option<(&'static str, std::ops::Range<usize>)> {
            key.map(|key| (name, key.span()))
        }
        placed_key("files", self.files.as_ref())
            .or(placed_key("size", self.size.as_ref()))
            .or(placed_key("width", self.width.as_ref()))
            .or(placed_key("depth", self.depth.as_ref()))
            .or(placed_key("directories", self.directories.as_ref()))
            .or(placed_key("names", self.names.as_ref()))
            .or(placed_key("symlinks", self.symlinks.as_ref()))
            .or(placed_key("links", self.links.as_ref()))
            .or(placed_key("private", self.private.as_ref()))
            .or(placed_key("shared", self.shared.as_ref()))
            .or(placed_key("shared_size", self.shared_size.as_ref()))
            .or(placed_key("layout", self.layout.as_ref()))
    }
}

/// The directories of a tree that was counted.
fn directory_groups(source: Source<'_>, keys: &TreeKeys) -> Result<Vec<DirectoryGroup>, Fault> {
    let Some(written) = &keys.directories else { return Ok(Vec::new()) };
    if keys.width.is_some() || keys.depth.is_some() || keys.is_private() {
        let what = "directories says which directories there are, and so do width, depth and private";
        return source.refuse_span(written.span(), what, "remove directories, or the others");
    }
    let mut groups = Vec::new();
    for [depth, directories, files] in written.get_ref() {
        let depth = u32::try_from(*depth).unwrap_or(u32::MAX);
        groups.push(DirectoryGroup { depth, directories: *directories, files: *files });
    }
    let what = match check_groups(&groups) {
        Ok(()) => return Ok(groups),
        Err(GroupFault::MissingDepth(depth)) => {
            format!("there are directories below depth {depth}, and none of that depth")
        }
        Err(GroupFault::SeveralRoots) => "depth 0 is the directory of the run alone, and there is more than one".into(),
        Err(GroupFault::NoFiles) => "no directory has files".into(),
        Err(GroupFault::Beyond) => format!("a group without directories, or a depth above {DEEPEST_DIRECTORY}"),
    };
    let remedy = "write [depth, number of directories, number of files in them] for each group, such as [[0, 1, 5], [1, 20, 300]]";
    source.refuse_span(written.span(), what, remedy)
}

/// The lengths of names.
fn name_lengths(source: Source<'_>, keys: &TreeKeys) -> Result<Option<NameLengths>, Fault> {
    let Some(written) = &keys.names else { return Ok(None) };
    let mut weights = Vec::new();
    match written.get_ref() {
        NameKeys::Weights(list) => {
            for [length, weight] in list {
                weights.push(LengthWeight { length: u32::try_from(*length).unwrap_or(u32::MAX), weight: *weight });
            }
        }
        NameKeys::Between(range) => {
            for length in range.from..=range.to.min(LONGEST_NAME + 1) {
                weights.push(LengthWeight { length, weight: 1 });
            }
        }
    }
    match NameLengths::new(weights) {
        Some(lengths) => Ok(Some(lengths)),
        None => source.refuse_span(
            written.span(),
            "these are not lengths of names",
            format!("write [length, weight] for each length from 1 to {LONGEST_NAME}, or {{ from = 13, to = 21 }}; one weight is above 0"),
        ),
    }
}

/// A share of the number of files.
fn share_of_files(source: Source<'_>, key: Option<&Spanned<Share>>) -> Result<Share, Fault> {
    match key {
        Some(key) if *key.get_ref() > Share::WHOLE => {
            let what = format!("{} is more than one for each file", key.get_ref());
            source.refuse_span(key.span(), what, "write at most \"100%\" of the number of files")
        }
        Some(key) => Ok(*key.get_ref()),
        None => Ok(Share::default()),
    }
}

fn shared(source: Source<'_>, keys: &TreeKeys) -> Result<Option<Shared>, Fault> {
    let files = source.value_within(keys.shared.as_ref(), 1..=MOST_SHARED, "a number of shared files")?;
    let Some(files) = files else {
        let layout = keys.layout.as_ref().map(|layout| (layout.span(), "layout"));
        let size = keys.shared_size.as_ref().map(|size| (size.span(), "shared_size"));
        return match layout.or(size) {
            None => Ok(None),
            Some((span, key)) => source.refuse_span(
                span,
                format!("{key} is that of shared files"),
                format!("add shared = 1, or remove {key}"),
            ),
        };
    };
    let size = keys.shared_size.as_ref().map(|size| *size.get_ref());
    if let (Some(size), Some(written)) = (size, &keys.shared_size) {
        within_largest(FileSize::Fixed(size), size)
            .map_err(|(what, remedy)| source.fault_at(written.span(), what, remedy))?;
    }
    let layout = keys.layout.as_ref().map(|layout| *layout.get_ref()).unwrap_or_default();
    Ok(Some(Shared { files, layout, size }))
}
