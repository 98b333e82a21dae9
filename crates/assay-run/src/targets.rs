//! What a run is pointed at: real targets with their permits, simulated ones, or nothing at all.

use crate::failure::{Failure, one_line};
use crate::header;
use assay_base::{Bytes, Geometry};
use assay_device::open::Target;
use assay_device::safety::{
    DevNum, Examination, Gate, Kind, Needs, Permit, ReadPass, Request, Roots, RuleId, Standing, Watermark,
};
use assay_device::sim::Spec;
use assay_device::{probe, usage};
use assay_judge::for_a_shell;
use assay_record::TargetHead;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// All targets of a run; they are of one family, because they share one time line.
#[derive(Debug)]
pub enum Targets {
    /// In virtual time.
    Simulated(Vec<(String, Spec)>),
    /// Does nothing, in real time.
    Null(Vec<(String, Geometry)>),
    /// Devices and files.
    Real(Vec<Real>),
}

/// One device or file.
#[derive(Debug)]
pub struct Real {
    /// As the user named it.
    pub name: String,
    /// The opened file, for a device to work on.
    pub target: Target,
    /// The right to use it.
    pub access: Pass,
    /// The block device whose counters tell what reached it; `None` for files, which share theirs.
    pub disk: Option<DevNum>,
    /// That device, or the one under a file's file system.
    under: Option<DevNum>,
    /// A scratch file that this run made and removes.
    pub scratch: bool,
    /// A file that was made for this run (`--create`), and stays.
    made: bool,
}

/// The right to use it.
#[derive(Debug)]
pub enum Pass {
    /// To write.
    Write(Permit),
    /// To read.
    Read(ReadPass),
}

impl Pass {
    fn describe(&self) -> &Examination {
        match self {
            Pass::Write(permit) => permit.describe(),
            Pass::Read(pass) => pass.describe(),
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Pass::Write(permit) => permit.fd(),
            Pass::Read(pass) => pass.fd(),
        }
    }
}

/// What a name on the command line stands for, before anything is opened.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "there are as many as names on a command line")]
pub enum Named {
    /// `sim:…`
    Simulated(Spec),
    /// `null:SIZE`
    Null(Geometry),
    /// A path.
    Path(PathBuf),
}

/// Block size of a null target.
const NULL_BLOCK: u32 = 512;

/// Reads the names of targets. Several families do not mix.
pub fn named(names: &[String]) -> Result<Vec<(String, Named)>, Failure> {
    let read = |name: &String| -> Result<(String, Named), Failure> {
        let shown = one_line(name);
        let named = if name.starts_with("sim:") {
            Named::Simulated(name.parse().map_err(|e| Failure::usage(format!("{e}")))?)
        } else if let Some(size) = name.strip_prefix("null:") {
            let size: Bytes = size.parse().map_err(|e| Failure::usage(format!("target {shown}: {e}")))?;
            if size.get() < u64::from(NULL_BLOCK) {
                return Err(Failure::usage(format!("target {shown} is smaller than a block of {NULL_BLOCK} bytes")));
            }
            Named::Null(Geometry {
                size: size.get() / u64::from(NULL_BLOCK) * u64::from(NULL_BLOCK),
                block: NULL_BLOCK,
            })
        } else {
            Named::Path(PathBuf::from(name))
        };
        Ok((name.clone(), named))
    };
    let all: Vec<(String, Named)> = names.iter().map(read).collect::<Result<_, _>>()?;
    let family = |named: &Named| std::mem::discriminant(named);
    if all.windows(2).any(|pair| family(&pair[0].1) != family(&pair[1].1)) {
        return Err(Failure::usage(
            "simulated, null and real targets keep different times and cannot be mixed in one run",
        ));
    }
    if all.len() > 1024 {
        return Err(Failure::usage("more than 1024 targets"));
    }
    let mut seen = BTreeMap::new();
    for (name, named) in &all {
        if let Named::Path(path) = named
            && let Some(before) = seen.insert(what_is_at(path), name)
        {
            // As of rule S9: one medium by two names would count as two.
            return Err(Failure::refused(format!(
                "{} and {} are the same target: name it once; nothing was written",
                one_line(before),
                one_line(name)
            )));
        }
    }
    Ok(all)
}

/// What tells a target from others, by whatever name: a device's number, a file's place; the path where there is nothing yet.
fn what_is_at(path: &Path) -> (u64, u64, PathBuf) {
    match path.metadata() {
        Ok(found) if found.file_type().is_block_device() => (found.rdev(), u64::MAX, PathBuf::new()),
        Ok(found) => (found.dev(), found.ino(), PathBuf::new()),
        Err(_) => (0, 0, path.to_owned()),
    }
}

/// What a plan asks of its targets.
#[derive(Clone, Copy)]
pub struct Wish<'a> {
    /// Whether they are written.
    pub writes: bool,
    /// The smallest usable size, by block size.
    pub smallest: &'a dyn Fn(u32) -> u64,
    /// Where the log goes.
    pub log_dir: &'a Path,
}

/// What the user allows for the targets.
#[derive(Clone, Copy)]
pub struct Allowed<'a> {
    /// Consent tokens of the devices that may lose their data.
    pub tokens: &'a [String],
    /// Consents given in advance.
    pub standing: &'a [Standing],
    /// Safety rules that are overridden.
    pub overrides: &'a [RuleId],
    /// Size of a file that is made where none is.
    pub create: Option<Bytes>,
    /// Processes outside this container cannot be seen.
    pub in_container: bool,
    /// Has the last word before devices are overwritten: asks whoever sits there.
    pub confirm: &'a dyn Fn(&[&Examination]) -> Result<(), Failure>,
}

/// Files a run holds open beside its targets: log, messages, rings, the gate's looks at /proc and /sys.
const DESCRIPTORS: u64 = 24;
/// For each target: itself, its label, its device.
const DESCRIPTORS_EACH: u64 = 4;

/// Refuses before anything is opened what would fail in the middle.
fn enough_descriptors(targets: usize) -> Result<(), Failure> {
    let (need, may) = (DESCRIPTORS + DESCRIPTORS_EACH * targets as u64, usage::descriptors());
    if may >= need {
        return Ok(());
    }
    Err(Failure::host(format!(
        "a run on {targets} targets opens up to {need} files, this process may open {may}; ulimit -n {need}"
    )))
}

impl Targets {
    /// Opens what was named, through the safety gate.
    pub fn open(names: &[(String, Named)], wish: Wish<'_>, allowed: Allowed<'_>) -> Result<Targets, Failure> {
        enough_descriptors(names.len())?;
        let mut simulated = Vec::new();
        let mut null = Vec::new();
        let mut real = Vec::new();
        for (name, named) in names {
            match named {
                Named::Simulated(spec) => simulated.push((name.clone(), spec.clone())),
                Named::Null(geometry) => null.push((name.clone(), *geometry)),
                Named::Path(path) => match Real::open(name, path, wish, allowed) {
                    Ok(opened) => real.push(opened),
                    Err(failure) => {
                        Targets::Real(real).remove(|real| real.made);
                        return Err(failure);
                    }
                },
            }
        }
        let targets = if !simulated.is_empty() {
            Targets::Simulated(simulated)
        } else if !null.is_empty() {
            Targets::Null(null)
        } else {
            Targets::Real(real)
        };
        for index in 0..targets.count() {
            let Geometry { size, block } = targets.geometry(index);
            let need = (wish.smallest)(block);
            if size < need {
                let failure = Failure::usage(format!(
                    "target {} has {}, the workload needs at least {}; choose a larger target",
                    one_line(targets.name(index)),
                    Bytes::new(size).human(),
                    Bytes::new(need).human()
                ));
                targets.remove(|real| real.made);
                return Err(failure);
            }
        }
        if wish.writes {
            let devices = targets.real().iter().filter(|real| real.disk.is_some());
            let devices: Vec<&Examination> = devices.map(|real| real.access.describe()).collect();
            if let Err(failure) = (allowed.confirm)(&devices) {
                targets.remove(|real| real.made);
                return Err(failure);
            }
        }
        Ok(targets)
    }

    /// How many.
    pub fn count(&self) -> usize {
        match self {
            Targets::Simulated(all) => all.len(),
            Targets::Null(all) => all.len(),
            Targets::Real(all) => all.len(),
        }
    }

    /// As the user named it.
    pub fn name(&self, index: usize) -> &str {
        match self {
            Targets::Simulated(all) => &all[index].0,
            Targets::Null(all) => &all[index].0,
            Targets::Real(all) => &all[index].name,
        }
    }

    /// Size and block size.
    pub fn geometry(&self, index: usize) -> Geometry {
        match self {
            Targets::Simulated(all) => all[index].1.geometry(),
            Targets::Null(all) => all[index].1,
            Targets::Real(all) => all[index].target.geometry(),
        }
    }

    /// The same target set reduced to its first `n` members, where the others stay open.
    pub fn real(&self) -> &[Real] {
        match self {
            Targets::Real(all) => all,
            _ => &[],
        }
    }

    /// Those whose writing was agreed to in advance, each with the words of that.
    pub fn agreed_earlier(&self) -> impl Iterator<Item = (&str, &str)> {
        let agreed = self.real().iter().filter(|real| real.access.describe().agreed_earlier);
        agreed.filter_map(|real| Some((real.name.as_str(), consent(real.access.describe())?)))
    }

    /// Whom they share their drives with, each with who it is.
    pub fn neighbours(&self) -> impl Iterator<Item = (&str, &Watermark)> {
        self.real().iter().flat_map(|real| {
            let marks = match &real.access {
                Pass::Write(permit) => permit.watermarks(),
                Pass::Read(pass) => pass.watermarks(),
            };
            let neighbours = marks.iter().filter(|mark| matches!(mark, Watermark::Neighbour(_)));
            neighbours.map(|mark| (real.name.as_str(), mark))
        })
    }

    /// What the log says of each of the first `n`.
    pub fn heads(&self, n: usize) -> Vec<TargetHead> {
        (0..n).map(|index| self.head(index)).collect()
    }

    /// What tells them from those that a log was made on, in words.
    pub fn differ_from(&self, were: &[TargetHead]) -> Option<String> {
        were.iter().zip(self.heads(were.len())).find_map(|(was, is)| is.differs_from(was))
    }

    fn head(&self, index: usize) -> TargetHead {
        let Geometry { size, block } = self.geometry(index);
        let (kind, facts) = match self {
            Targets::Simulated(all) => {
                ("simulated".to_owned(), BTreeMap::from([("model".to_owned(), all[index].1.to_string())]))
            }
            Targets::Null(_) => ("null".to_owned(), BTreeMap::new()),
            Targets::Real(all) => all[index].facts(),
        };
        TargetHead {
            name: self.name(index).to_owned(),
            kind,
            size_bytes: size,
            block_bytes: block,
            facts,
            prepared: None,
        }
    }

    /// The disks under the first `n`, by the name of the target; those of files too, where they are known.
    pub fn disks(&self, n: usize) -> Vec<(String, DevNum)> {
        self.real().iter().take(n).filter_map(|real| Some((real.name.clone(), real.under?))).collect()
    }

    /// What keeps a result on the first `n` from being a certificate.
    pub fn watermarks(&self, n: usize) -> Vec<String> {
        let mut marks: Vec<String> = match self {
            Targets::Simulated(_) => vec!["SIMULATED: no device was tested".into()],
            Targets::Null(_) => vec!["NON-CERTIFIABLE: the null target does nothing".into()],
            Targets::Real(all) => all.iter().take(n).flat_map(Real::watermarks).collect(),
        };
        marks.sort();
        marks.dedup();
        marks
    }

    /// The safety gate's last question before a phase: still the same targets?
    pub fn recheck(&self) -> Result<(), Failure> {
        for real in self.real() {
            if let Pass::Write(permit) = &real.access {
                permit.recheck().map_err(Failure::gate)?;
            }
        }
        Ok(())
    }

    /// Removes the scratch files this run made.
    pub fn remove_scratch(self) -> Vec<String> {
        self.remove(|real| real.scratch)
    }

    fn remove(self, which: impl Fn(&Real) -> bool) -> Vec<String> {
        let Targets::Real(all) = self else { return Vec::new() };
        let mut told = Vec::new();
        for real in all {
            if let (true, Pass::Write(permit)) = (which(&real), real.access) {
                drop(real.target);
                match permit.remove_scratch() {
                    Ok(_) => {}
                    Err(e) => told.push(format!("the scratch file {} was not removed: {e}", real.name)),
                }
            }
        }
        told
    }
}

/// How a person agreed; `None` where nobody was asked.
fn consent(exam: &Examination) -> Option<&str> {
    exam.rules.iter().find(|rule| rule.id == RuleId::Consent).map(|rule| rule.evidence.as_str())
}

impl Real {
    fn open(name: &str, path: &Path, wish: Wish<'_>, allowed: Allowed<'_>) -> Result<Real, Failure> {
        let request = Request {
            tokens: allowed.tokens,
            standing: allowed.standing,
            overrides: allowed.overrides,
            needs: Needs { extent: 0, alignment: 0 },
            log_dir: Some(wish.log_dir),
            in_container: allowed.in_container,
            ..Request::new(path)
        };
        let gate = Gate::host();
        let made = allowed.create.is_some() && !path.exists();
        if made && !wish.writes {
            return Err(Failure::usage(format!(
                "{} is not there, and --create makes no file for a workload that only reads: it would hold nothing to read; \
                 make it with assay prep {} --create SIZE",
                one_line(name),
                for_a_shell(name)
            )));
        }
        let pass = match allowed.create {
            Some(size) if made => gate.create_scratch(&request, size.get()).map(Pass::Write).map_err(Failure::gate)?,
            _ if wish.writes => gate.admit(&request).map(Pass::Write).map_err(Failure::gate)?,
            _ => gate.admit_read(&request).map(Pass::Read).map_err(Failure::gate)?,
        };
        Ok(Real { made, ..Real::with(name, pass, false)? })
    }

    /// A scratch file that the run makes and removes.
    pub fn scratch(path: &Path, size: Bytes, log_dir: &Path) -> Result<Real, Failure> {
        let request = Request { log_dir: Some(log_dir), ..Request::new(path) };
        let permit = Gate::host().create_scratch(&request, size.get()).map_err(Failure::gate)?;
        Real::with(&path.to_string_lossy(), Pass::Write(permit), true)
    }

    fn with(name: &str, access: Pass, scratch: bool) -> Result<Real, Failure> {
        let target = match &access {
            Pass::Write(permit) => permit.target(),
            Pass::Read(pass) => pass.target(),
        };
        let target = target.map_err(|e| Failure::host(format!("{} cannot be used: {e}", one_line(name))))?;
        let disk = match access.describe().kind {
            Kind::Block(number) => Some(number),
            _ => None,
        };
        let under = disk.or_else(|| probe::disk_under_path(&Roots::host(), &access.describe().real));
        Ok(Real { name: name.to_owned(), target, access, disk, under, scratch, made: false })
    }

    fn facts(&self) -> (String, BTreeMap<String, String>) {
        let exam = self.access.describe();
        let print = probe::target(&Roots::host(), &exam.real);
        let text = |n: Option<u64>| n.map(|n| n.to_string());
        let flag = |b: Option<bool>| b.map(|b| if b { "yes".to_owned() } else { "no".to_owned() });
        let facts = [
            ("path", Some(exam.real.to_string_lossy().into_owned())),
            ("model", print.model),
            ("serial", print.serial),
            ("wwid", print.wwid),
            ("firmware", print.firmware),
            ("diskseq", text(print.diskseq)),
            ("file", self.file()),
            ("file system", print.file_system),
            ("device", print.device),
            ("partition", print.partition),
            ("physical block", text(print.physical_block)),
            ("scheduler", print.scheduler),
            ("nr_requests", text(print.nr_requests)),
            ("write cache", print.write_cache),
            ("fua", flag(print.fua)),
            ("durable write", self.target.is_writable().then(|| self.target.durable().to_string())),
            ("rotational", flag(print.rotational)),
            ("pci link", print.pci_link),
        ];
        let consent = consent(exam).map(|words| ("consent".to_owned(), words.to_owned()));
        let facts = facts.into_iter().map(header::told).chain(consent).collect();
        let kind = match (self.disk, self.scratch) {
            (Some(_), _) => "block device",
            (None, true) => "scratch file",
            (None, false) => "file",
        };
        (kind.to_owned(), facts)
    }

    /// The kernel's number of this very disk.
    pub fn diskseq(&self) -> Option<u64> {
        self.access.describe().diskseq
    }

    /// Discards all of it, as far as the device can.
    pub fn discard(&self) -> Result<(), Failure> {
        let Pass::Write(permit) = &self.access else { return Ok(()) };
        permit.discard().map_err(|e| {
            Failure::host(format!("{} was not discarded: {e}\n  = prepare it without --discard", one_line(&self.name)))
        })
    }

    /// Returns when all that was written has left the device's cache. A durable write does not do for that: a device that can
    /// write around its cache (FUA) does so with this one write alone.
    pub fn sync(&self) -> std::io::Result<()> {
        Ok(rustix::fs::fdatasync(self.access.fd())?)
    }

    /// What its disk says of its health.
    pub fn health(&self) -> BTreeMap<String, String> {
        match self.disk {
            Some(number) => probe::health(&Roots::host(), number, self.access.fd()),
            None => BTreeMap::from([("smart".to_owned(), "absent: a file has none".to_owned())]),
        }
    }

    fn watermarks(&self) -> Vec<String> {
        let marks = match &self.access {
            Pass::Write(permit) => permit.watermarks(),
            Pass::Read(pass) => pass.watermarks(),
        };
        marks.iter().map(|mark| format!("NON-CERTIFIABLE: {mark}")).collect()
    }

    /// The consent token, by which preparation records are kept; the path for files.
    pub fn identity(&self) -> String {
        let exam = self.access.describe();
        exam.token.clone().unwrap_or_else(|| exam.real.to_string_lossy().into_owned())
    }

    /// What tells a file from another that had or gets its path: the inode's number, and when it was made, since a number is
    /// given again. `None` for devices. Where the file system keeps no such time, the number is all there is.
    pub fn file(&self) -> Option<String> {
        if self.disk.is_some() {
            return None;
        }
        let found = File::from(self.access.fd().try_clone_to_owned().ok()?).metadata().ok()?;
        let made = found.created().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let made = made.map(|made| format!(" of {}.{:09}", made.as_secs(), made.subsec_nanos())).unwrap_or_default();
        Some(format!("inode {}{made}", found.ino()))
    }
}
