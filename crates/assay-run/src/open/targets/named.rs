//! The meaning of the target names on a command line, before anything is opened.

use crate::databases::NamedDatabase;
use crate::directories::NamedDirectory;
use crate::failure::{Failure, one_line};
use assay_base::{Bytes, Geometry};
use assay_device::probe;
use assay_device::safety::{self, Roots};
use assay_device::sim::Spec;
use assay_model::cache::CacheDevice;
use std::collections::BTreeMap;
use std::mem::discriminant;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The meaning of a name on the command line, before anything is opened.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "there are as many as names on a command line")]
pub enum Named {
    /// `sim:…`
    Simulated(Spec),
    /// `null:SIZE`
    Null(Geometry),
    /// A database, by its URL.
    Database(NamedDatabase),
    /// A directory.
    Directory(NamedDirectory),
    /// A path.
    Path(PathBuf),
}

impl Named {
    /// The path that it is, where it is one.
    pub fn as_path(&self) -> Option<&Path> {
        match self {
            Named::Path(path) => Some(path),
            _ => None,
        }
    }

    /// Size and block size, where these are known before it is created.
    pub fn known_geometry(&self) -> Option<(u64, u32)> {
        match self {
            Named::Simulated(spec) => Some((spec.geometry().size, spec.geometry().block)),
            Named::Null(geometry) => Some((geometry.size, geometry.block)),
            Named::Database(_) | Named::Directory(_) => None,
            Named::Path(path) => {
                let print = probe::read_target(&Roots::of_machine(), path);
                let size = print.size?;
                // The label behind the data of a file of ours is no part of what a run uses.
                let file = path
                    .metadata()
                    .is_ok_and(|found| found.is_file())
                    .then(|| crate::files::open_named_file(path).ok())
                    .flatten();
                let size = file.map_or(size, |file| safety::usable_bytes(&file, size));
                Some((size, print.logical_block.and_then(|b| u32::try_from(b).ok()).unwrap_or(USUAL_BLOCK)))
            }
        }
    }
}

impl Named {
    /// Whether it is a file of which nothing was ever written: its space is only reserved. Reads of it reach no medium. (What a
    /// device holds cannot be found out without reading it.)
    pub fn holds_nothing(&self) -> bool {
        let Named::Path(path) = self else { return false };
        // Opening anything else than a regular file may have effects.
        if !path.metadata().is_ok_and(|found| found.is_file()) {
            return false;
        }
        let Ok(file) = crate::files::open_named_file(path) else { return false };
        let Ok(found) = file.metadata() else { return false };
        // Behind the data of a file of ours is its label, which is written.
        safety::holds_nothing(&file, safety::usable_bytes(&file, found.len()))
    }
}

/// The databases that are named; none where the targets are something else.
pub fn named_databases(named: &[(String, Named)]) -> Vec<&NamedDatabase> {
    let mut databases = Vec::new();
    for (_, named) in named {
        if let Named::Database(database) = named {
            databases.push(database);
        }
    }
    databases
}

/// The block size assumed where no target has one of its own.
pub const USUAL_BLOCK: u32 = 512;

/// Block size of a null target.
const NULL_BLOCK: u32 = 512;

/// Parses the names of targets with blocks; a database is refused.
pub fn parse_block_targets(names: &[String]) -> Result<Vec<(String, Named)>, Failure> {
    if names.iter().any(|name| assay_sql::Url::is_one(name)) {
        // The name is not repeated: somebody may have written a password into it.
        return Err(Failure::bad_usage(
            "a target is a database, and this command is for devices and files: for a file of this name write ./ before it",
        ));
    }
    let mut all = parse_targets(names)?;
    all.iter_mut().for_each(|(name, named)| directory_as_path(name, named));
    if let Some((name, _)) = all.iter().find(|(_, named)| matches!(named, Named::Directory(_))) {
        return Err(Failure::bad_usage(format!(
            "{} is a directory, and this command is for devices and files",
            one_line(name)
        )));
    }
    Ok(all)
}

/// From now on the directories among the targets must be on this file system.
pub fn expect_file_system(named: &mut [(String, Named)], file_system: Option<&str>) {
    for (_, named) in named {
        if let Named::Directory(directory) = named {
            directory.file_system = file_system.map(str::to_owned);
        }
    }
}

/// Takes a directory that is not called one for a path, where only what has blocks makes sense: its gate refuses it.
fn directory_as_path(name: &str, named: &mut Named) {
    if let Named::Directory(directory) = named
        && !NamedDirectory::is_called_one(name)
    {
        *named = Named::Path(directory.path().to_owned());
    }
}

/// Parses the name of a target.
fn parse_target(name: &str) -> Result<(String, Named), Failure> {
    let shown = one_line(name);
    let named = if name.starts_with("sim:") {
        Named::Simulated(name.parse().map_err(|e| Failure::bad_usage(format!("{e}")))?)
    } else if let Some(size) = name.strip_prefix("null:") {
        let size: Bytes = size.parse().map_err(|e| Failure::bad_usage(format!("target {shown}: {e}")))?;
        if size.get() < u64::from(NULL_BLOCK) {
            return Err(Failure::bad_usage(format!("target {shown} is smaller than a block of {NULL_BLOCK} bytes")));
        }
        Named::Null(Geometry { size: size.get() / u64::from(NULL_BLOCK) * u64::from(NULL_BLOCK), block: NULL_BLOCK })
    } else if assay_sql::Url::is_one(name) {
        Named::Database(NamedDatabase::from_url(name)?)
    } else if let Some(directory) = NamedDirectory::from_name(name) {
        Named::Directory(directory)
    } else {
        Named::Path(PathBuf::from(name))
    };
    // A URL is shown as its parts say: nothing that must stay secret is repeated.
    let name = match &named {
        Named::Database(database) => database.to_string(),
        _ => name.to_owned(),
    };
    Ok((name, named))
}

/// Parses the names of targets, which may be databases. Targets of different kinds cannot be mixed.
pub fn parse_targets(names: &[String]) -> Result<Vec<(String, Named)>, Failure> {
    let mut all: Vec<(String, Named)> = names.iter().map(|name| parse_target(name)).collect::<Result<_, _>>()?;
    if all.len() > 1 {
        all.iter_mut().for_each(|(name, named)| directory_as_path(name, named));
    }
    let databases = all.iter().filter(|(_, named)| matches!(named, Named::Database(_))).count();
    if databases > 0 && databases < all.len() {
        return Err(Failure::bad_usage("a run drives databases or other targets, and not both: use two commands"));
    }
    if all.len() > 1 && all.iter().any(|(_, named)| matches!(named, Named::Directory(_))) {
        return Err(Failure::bad_usage("a run works on one directory: start a run for each, and compare them"));
    }
    if all.windows(2).any(|pair| discriminant(&pair[0].1) != discriminant(&pair[1].1)) {
        return Err(Failure::bad_usage(
            "simulated, null and real targets use different clocks and cannot be mixed in one run",
        ));
    }
    if all.len() > 1024 {
        return Err(Failure::bad_usage("more than 1024 targets"));
    }
    let mut seen = BTreeMap::new();
    for (name, named) in &all {
        if let Named::Database(_) = named
            && all.iter().filter(|(other, _)| other == name).count() > 1
        {
            return Err(Failure::bad_usage(format!("{} is named twice; give it only once", one_line(name))));
        }
        if let Named::Path(path) = named
            && let Some(before) = seen.insert(what_is_at(path), name)
        {
            // Rule S9: one medium under two names would count as two.
            return Err(Failure::refused_for_safety(format!(
                "{} and {} are the same target; give it only once; nothing was written",
                one_line(before),
                one_line(name)
            )));
        }
    }
    Ok(all)
}

/// Parses the names of targets and of the cache device before them, which comes last.
pub fn parse_with_cache_device(names: &[String], cache: Option<&CacheDevice>) -> Result<Vec<(String, Named)>, Failure> {
    let names: Vec<String> = names.iter().cloned().chain(cache.map(|device| device.path.clone())).collect();
    parse_targets(&names)
}

/// The targets of a run, of which `targets` are known already, and its cache device.
pub fn with_cache_device(
    names: &[String],
    targets: &[(String, Named)],
    cache: Option<&CacheDevice>,
) -> Result<Vec<(String, Named)>, Failure> {
    match targets.first() {
        // What is loaded in it was looked up already.
        Some((_, Named::Database(_))) => Ok(targets.to_vec()),
        // What its file system must be is known.
        Some((_, Named::Directory(_))) if cache.is_none() => Ok(targets.to_vec()),
        _ => parse_with_cache_device(names, cache),
    }
}

/// What identifies a target, whatever its name: the number of a device, the inode of a file; the path where nothing
/// exists yet.
fn what_is_at(path: &Path) -> (u64, u64, PathBuf) {
    match path.metadata() {
        Ok(found) if found.file_type().is_block_device() => (found.rdev(), u64::MAX, PathBuf::new()),
        Ok(found) => (found.dev(), found.ino(), PathBuf::new()),
        Err(_) => (0, 0, path.to_owned()),
    }
}
