//! The targets of a run: real ones with their permits, simulated ones, or null targets.

mod altered;
mod named;
mod needs;
mod real;
mod room;

pub(crate) use altered::{Altered, FileStamp};
pub use named::{
    Named, USUAL_BLOCK, expect_file_system, named_databases, parse_block_targets, parse_targets,
    parse_with_cache_device, with_cache_device,
};
pub use needs::{Allowed, SmallestTarget, TargetNeeds};
pub use real::{RealTarget, TargetPermit};
pub(crate) use room::refuse_number_on;
pub use room::refuse_tiles_beyond;

use crate::databases::{Database, durability_watermarks};
use crate::directories::Directory;
use crate::failure::{Failure, one_line};
use assay_base::{Bytes, Geometry};
use assay_device::safety::{DevNum, Examination, Watermark};
use assay_device::sim::Spec;
use assay_device::usage;
use assay_record::TargetHead;
use real::consent_kind;
use std::collections::BTreeMap;

/// All targets of a run; they are of one kind, because they share one time line.
#[derive(Debug)]
pub enum Targets {
    /// In virtual time.
    Simulated(Vec<(String, Spec)>),
    /// Null targets, in real time.
    Null(Vec<(String, Geometry)>),
    /// Databases, in real time.
    Databases(Vec<Database>),
    /// A directory, in real time.
    Directory(Box<Directory>),
    /// Devices and files.
    Real(Vec<RealTarget>),
}

/// Number of files that a run has open besides its targets: log, messages, rings, the gate's files in /proc and /sys.
const DESCRIPTORS: u64 = 24;
/// Number of files for each target: itself, its label, its device.
const DESCRIPTORS_EACH: u64 = 4;

/// Refuses, before anything is opened, a number of targets that would fail during the run.
fn enough_descriptors(targets: usize) -> Result<(), Failure> {
    let (need, may) = (DESCRIPTORS + DESCRIPTORS_EACH * targets as u64, usage::raise_descriptor_limit());
    if may >= need {
        return Ok(());
    }
    Err(Failure::host_unable(format!(
        "a run on {targets} targets opens up to {need} files, but this process may open only {may}; run ulimit -n {need} first"
    )))
}

impl Targets {
    /// Opens the named targets through the safety gate.
    pub fn open_named(
        names: &[(String, Named)],
        needs: TargetNeeds<'_>,
        allowed: Allowed<'_>,
    ) -> Result<Targets, Failure> {
        let named = named_databases(names);
        if !named.is_empty() {
            return named.into_iter().map(Database::open_named).collect::<Result<_, _>>().map(Targets::Databases);
        }
        if let [(name, Named::Directory(named))] = names {
            let opened = Directory::open_named(name, named, needs.log_dir)?;
            return Ok(Targets::Directory(Box::new(opened)));
        }
        enough_descriptors(names.len())?;
        let own = names.len() - needs.beside.min(names.len());
        let targets = Targets::open_each(names, own, needs, allowed)?;
        match targets.admit_targets(own, needs, allowed) {
            Ok(()) => Ok(targets),
            Err(failure) => {
                targets.remove_files(|real| real.made);
                Err(failure)
            }
        }
    }

    /// Opens targets that are no databases, of which the first `own` are those of the load.
    fn open_each(
        names: &[(String, Named)],
        own: usize,
        needs: TargetNeeds<'_>,
        allowed: Allowed<'_>,
    ) -> Result<Targets, Failure> {
        let mut simulated = Vec::new();
        let mut null = Vec::new();
        let mut real = Vec::new();
        for (at, (name, named)) in names.iter().enumerate() {
            let needs = TargetNeeds { writes: needs.writes || at >= own, ..needs };
            match named {
                Named::Simulated(spec) => simulated.push((name.clone(), spec.clone())),
                Named::Null(geometry) => null.push((name.clone(), *geometry)),
                Named::Database(_) | Named::Directory(_) => {
                    return Err(Failure::internal_bug("a database or a directory among other targets"));
                }
                Named::Path(path) => match RealTarget::open_indexed(at, name, path, needs, allowed) {
                    Ok(opened) => real.push(opened),
                    Err(failure) => {
                        Targets::Real(real).remove_files(|real| real.made);
                        return Err(failure);
                    }
                },
            }
        }
        Ok(if !simulated.is_empty() {
            Targets::Simulated(simulated)
        } else if !null.is_empty() {
            Targets::Null(null)
        } else {
            Targets::Real(real)
        })
    }

    /// Refuses open targets that are too small for what is to be done with them, then asks a person who may be there.
    fn admit_targets(&self, own: usize, needs: TargetNeeds<'_>, allowed: Allowed<'_>) -> Result<(), Failure> {
        self.refuse_too_small(own, needs)?;
        self.fit_file_size_limit()?;
        if !needs.writes && needs.beside == 0 {
            return Ok(());
        }
        let written = self.real_targets().iter().enumerate().filter(|(at, _)| needs.writes || *at >= own);
        let devices = written.map(|(_, real)| real).filter(|real| real.disk.is_some());
        let devices: Vec<&Examination> = devices.map(|real| real.access.gate_examination()).collect();
        (allowed.confirm)(&devices)
    }

    fn refuse_too_small(&self, own: usize, needs: TargetNeeds<'_>) -> Result<(), Failure> {
        for index in 0..own {
            let Geometry { size, block } = self.target_geometry(index);
            if let Some(tiles) = needs.smallest.planned_tiles() {
                refuse_number_on(tiles, self.target_name(index), size)?;
            }
            let need = needs.smallest.size_bytes(index as u16, block);
            if size < need {
                return Err(Failure::bad_usage(format!(
                    "target {} has {}, the workload needs at least {}; choose a larger target",
                    one_line(self.target_name(index)),
                    Bytes::new(size).human_text(),
                    Bytes::new(need).human_text()
                )));
            }
        }
        Ok(())
    }

    /// Refuses files that reach beyond the largest size that this process may give a file: writes there would fail, and the
    /// storage would be blamed for it.
    fn fit_file_size_limit(&self) -> Result<(), Failure> {
        let Some(largest) = usage::largest_file() else { return Ok(()) };
        let written = self.real_targets().iter().filter(|real| real.disk.is_none() && real.is_written());
        for real in written {
            let size = real.target.geometry().size;
            if size > largest {
                return Err(Failure::host_unable(format!(
                    "target {} has {}, and this process may write files of {} only; raise the limit (ulimit -f)",
                    one_line(&real.name),
                    Bytes::new(size).human_text(),
                    Bytes::new(largest).human_text()
                )));
            }
        }
        Ok(())
    }

    /// Number of targets.
    pub fn target_count(&self) -> usize {
        match self {
            Targets::Simulated(all) => all.len(),
            Targets::Null(all) => all.len(),
            Targets::Databases(all) => all.len(),
            Targets::Directory(_) => 1,
            Targets::Real(all) => all.len(),
        }
    }

    /// As the user named it.
    pub fn target_name(&self, index: usize) -> &str {
        match self {
            Targets::Simulated(all) => &all[index].0,
            Targets::Null(all) => &all[index].0,
            Targets::Databases(all) => all[index].url_name(),
            Targets::Directory(directory) => directory.directory_name(),
            Targets::Real(all) => &all[index].name,
        }
    }

    /// Size and block size.
    pub fn target_geometry(&self, index: usize) -> Geometry {
        match self {
            Targets::Simulated(all) => all[index].1.geometry(),
            Targets::Null(all) => all[index].1,
            Targets::Databases(_) | Targets::Directory(_) => Geometry { size: 0, block: 1 },
            Targets::Real(all) => all[index].target.geometry(),
        }
    }

    /// Those of so many first targets.
    pub fn geometries_of_first(&self, count: u16) -> Vec<Geometry> {
        (0..usize::from(count)).map(|index| self.target_geometry(index)).collect()
    }

    /// The databases; none where the targets are something else.
    pub fn all_databases(&self) -> &[Database] {
        match self {
            Targets::Databases(all) => all,
            _ => &[],
        }
    }

    /// The real targets; none where targets are simulated or null.
    pub fn real_targets(&self) -> &[RealTarget] {
        match self {
            Targets::Real(all) => all,
            _ => &[],
        }
    }

    /// Targets whose overwriting was agreed to in advance, each with the words of that consent.
    pub fn agreed_earlier(&self) -> impl Iterator<Item = (&str, &str)> {
        let agreed = self.real_targets().iter().filter(|real| real.access.gate_examination().agreed_earlier);
        agreed.filter_map(|real| Some((real.name.as_str(), consent_kind(real.access.gate_examination())?)))
    }

    /// Targets that somebody else reads, or whose drive somebody else uses, each with who it is.
    pub fn shared_targets(&self) -> impl Iterator<Item = (&str, &Watermark)> {
        self.real_targets().iter().flat_map(|real| {
            let marks = real.access.gate_watermarks().iter();
            marks.filter(|mark| mark.is_company()).map(|mark| (real.name.as_str(), mark))
        })
    }

    /// The log entries of the first `n` targets.
    pub fn target_heads(&self, n: usize) -> Vec<TargetHead> {
        (0..n).map(|index| self.target_head(index)).collect()
    }

    /// The difference from the targets that a log was made on, in words.
    pub fn differ_from(&self, were: &[TargetHead]) -> Option<String> {
        were.iter().zip(self.target_heads(were.len())).find_map(|(was, is)| is.differs_from(was))
    }

    fn target_head(&self, index: usize) -> TargetHead {
        match self {
            Targets::Databases(all) => return all[index].target_head(),
            Targets::Directory(directory) => return directory.target_head(),
            _ => {}
        }
        let Geometry { size, block } = self.target_geometry(index);
        let (kind, facts) = match self {
            Targets::Simulated(all) => {
                ("simulated".to_owned(), BTreeMap::from([("model".to_owned(), all[index].1.to_string())]))
            }
            Targets::Null(_) | Targets::Databases(_) | Targets::Directory(_) => ("null".to_owned(), BTreeMap::new()),
            Targets::Real(all) => all[index].target_facts(),
        };
        TargetHead {
            name: self.target_name(index).to_owned(),
            kind,
            size_bytes: size,
            block_bytes: block,
            facts,
            prepared: None,
        }
    }

    /// The disks under the first `n` targets, by the name of the target; also under files, where they are known.
    pub fn disks_beneath(&self, n: usize) -> Vec<(String, DevNum)> {
        self.real_targets().iter().take(n).filter_map(|real| Some((real.name.clone(), real.under?))).collect()
    }

    /// What keeps a result on the first `n` targets from being a certificate.
    pub fn result_watermarks(&self, n: usize) -> Vec<String> {
        let mut marks: Vec<String> = match self {
            Targets::Simulated(_) => vec!["SIMULATED: no device was tested".into()],
            Targets::Databases(all) => durability_watermarks(all.iter().take(n)),
            Targets::Directory(directory) => directory.result_watermarks(),
            Targets::Null(_) => vec!["NON-CERTIFIABLE: the null target does nothing".into()],
            Targets::Real(all) => all.iter().take(n).flat_map(RealTarget::watermark_texts).collect(),
        };
        marks.sort();
        marks.dedup();
        marks
    }

    /// The last check of the safety gate before a phase: are they still the same targets?
    pub fn recheck_gate(&self) -> Result<(), Failure> {
        self.real_targets().iter().try_for_each(RealTarget::recheck_gate)
    }

    /// Removes the scratch files that this run created.
    pub fn remove_scratch(self) -> Vec<String> {
        self.remove_files(|real| real.scratch)
    }

    fn remove_files(self, which: impl Fn(&RealTarget) -> bool) -> Vec<String> {
        let Targets::Real(all) = self else { return Vec::new() };
        let mut failures = Vec::new();
        for real in all {
            if let (true, TargetPermit::Write(permit)) = (which(&real), real.access) {
                drop(real.target);
                match permit.remove_scratch() {
                    Ok(_) => {}
                    Err(e) => failures.push(format!("the scratch file {} was not removed: {e}; delete it", real.name)),
                }
            }
        }
        failures
    }
}
