//! A file of tiles: `[[tile]]` and `[[background]]` name the workloads, whose own files are read afterwards.

use super::definition::{Application, Load, TileMember, TilePart, TileTimes, Tiles, Workload};
use super::names::{NAMES, is_name};
use super::source::Source;
use super::warm_up::WarmUpKeys;
use crate::tiles::RANGE_UNIT;
use assay_base::{Bytes, Fault, Multiple, Span};
use serde::Deserialize;
use std::collections::BTreeSet;
use toml::Spanned;

/// Most workloads in one file of tiles.
const MOST_MEMBERS: usize = 64;

/// The keys of a file of tiles.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[allow(dead_code, reason = "read before, to choose this struct")]
    model: Option<String>,
    name: Option<String>,
    description: Option<String>,
    note: Option<String>,
    duration: Option<Span>,
    warm_up: Option<Spanned<WarmUpKeys>>,
    slice: Option<Span>,
    seed: Option<u64>,
    #[serde(default)]
    tile: Vec<Spanned<TileKeys>>,
    #[serde(default)]
    background: Vec<Spanned<MemberKeys>>,
}

/// The keys of a `[[tile]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TileKeys {
    size: Spanned<Bytes>,
    #[serde(rename = "use")]
    members: Vec<Spanned<MemberKeys>>,
}

/// The keys of a workload: of an entry of `use`, or of a `[[background]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemberKeys {
    name: Option<Spanned<String>>,
    workload: Spanned<String>,
    load: Option<Multiple>,
}

pub(super) fn read_tiles(source: Source<'_>) -> Result<Workload, Fault> {
    let file: File = source.parse_file()?;
    if file.tile.is_empty() {
        let remedy =
            "write [[tile]], with size = \"200GiB\" and use = [{ name = \"orders\", workload = \"orders.toml\" }]";
        return Err(Fault::for_file(source.file, "a file of tiles without a tile", remedy));
    }
    let mut names = NamesOfMembers::default();
    let parts = file.tile.iter().map(|keys| read_part(source, keys, &mut names)).collect::<Result<Vec<_>, _>>()?;
    let background = file.background.iter().map(|keys| names.read_member(source, keys));
    let background = background.collect::<Result<Vec<_>, _>>()?;
    let warm_up = file.warm_up.as_ref().map(|keys| keys.get_ref().meant_warm_up());
    let tiles = Tiles { parts, background, times: TileTimes { duration: file.duration, warm_up, slice: file.slice } };
    let load = Load { application: Some(Application::Tiles(tiles)), ..Load::from_streams(Vec::new()) };
    Ok(Workload {
        name: file.name.unwrap_or_else(|| source.file.to_owned()),
        description: file.description.unwrap_or_default(),
        notes: file.note.into_iter().collect(),
        seed: file.seed,
        load,
        ..Workload::new(source.file, "tiles", Vec::new(), |_| Vec::new())
    })
}

/// A range of each tile, and what runs on it.
fn read_part(source: Source<'_>, keys: &Spanned<TileKeys>, names: &mut NamesOfMembers) -> Result<TilePart, Fault> {
    let TileKeys { size, members } = keys.get_ref();
    let (unit, bytes) = (RANGE_UNIT.get(), size.get_ref().get());
    if bytes == 0 || !bytes.is_multiple_of(unit) {
        let what = format!("a tile of {} does not begin and end at whole MiB of its targets", size.get_ref());
        return source.refuse_span(size.span(), what, "write a multiple of 1MiB, such as \"200GiB\"");
    }
    if members.is_empty() {
        let remedy = "write use = [{ name = \"orders\", workload = \"orders.toml\" }]";
        return source.refuse_span(keys.span(), "nothing runs in this tile", remedy);
    }
    let members = members.iter().map(|keys| names.read_member(source, keys)).collect::<Result<Vec<_>, _>>()?;
    Ok(TilePart { size: *size.get_ref(), members })
}

/// The names of the workloads that were read so far.
#[derive(Default)]
struct NamesOfMembers(BTreeSet<String>);

impl NamesOfMembers {
    /// A workload, whose name no other one has.
    fn read_member(&mut self, source: Source<'_>, keys: &Spanned<MemberKeys>) -> Result<TileMember, Fault> {
        let MemberKeys { name, workload, load } = keys.get_ref();
        let (file, span) = (workload.get_ref(), name.as_ref().map_or_else(|| workload.span(), Spanned::span));
        if file.is_empty() {
            let remedy = "write workload = \"orders.toml\", or the name of a workload that comes with the program";
            return source.refuse_span(workload.span(), "a workload without a file", remedy);
        }
        let name = name.as_ref().map_or_else(|| name_of_file(file), |name| name.get_ref().clone());
        if !is_name(&name) {
            let what = format!("\"{}\" cannot be the name of a workload in a tile", name.escape_debug());
            return source.refuse_span(span, what, format!("add name = \"orders\": {NAMES}"));
        }
        if !self.0.insert(name.clone()) {
            let what = format!("two workloads are called {name}");
            return source.refuse_span(span, what, "give one of them another name, such as name = \"orders-2\"");
        }
        if self.0.len() > MOST_MEMBERS {
            let what = format!("more than {MOST_MEMBERS} workloads");
            return source.refuse_span(span, what, "write fewer");
        }
        Ok(TileMember { name, file: file.clone(), load: *load, workload: None })
    }
}

/// The name of a workload that has none here: that of its file, without folders and ending.
fn name_of_file(file: &str) -> String {
    let last = file.rsplit('/').next().unwrap_or(file);
    last.rsplit_once('.').map_or(last, |(stem, _)| stem).to_owned()
}
