//! The workloads that come with the program, and finding the one that the user means.

mod fio_job;
pub(crate) mod meant;
mod mistaken;
pub mod production;
mod recordings;
mod source;
mod tiles;

use crate::failure::{Failure, escaped_path, one_line};
use assay_base::fault::nearest_known_name;
use assay_formats::act::conf::{self, Kind};
use assay_formats::act::lower;
use assay_formats::fio::{self, Choice};
use assay_model::workload::{self, Workload};
use assay_sql::Url;
use std::path::{Path, PathBuf};

/// Name and text, embedded from `workloads/`.
pub const SHIPPED: [(&str, &str); 24] = [
    ("act-storage", include_str!("../../../workloads/act-storage.toml")),
    ("act-storage-quick", include_str!("../../../workloads/act-storage-quick.toml")),
    ("act-index", include_str!("../../../workloads/act-index.toml")),
    ("fio-max-bandwidth", include_str!("../../../workloads/fio-max-bandwidth.toml")),
    ("fio-max-io", include_str!("../../../workloads/fio-max-io.toml")),
    ("fio-real-life", include_str!("../../../workloads/fio-real-life.toml")),
    ("random-read", include_str!("../../../workloads/random-read.toml")),
    ("database-8k", include_str!("../../../workloads/database-8k.toml")),
    ("oltp", include_str!("../../../workloads/oltp.toml")),
    ("oltp-cached", include_str!("../../../workloads/oltp-cached.toml")),
    ("oltp-ramp", include_str!("../../../workloads/oltp-ramp.toml")),
    ("mail", include_str!("../../../workloads/mail.toml")),
    ("mail-2010", include_str!("../../../workloads/mail-2010.toml")),
    ("file-server", include_str!("../../../workloads/file-server.toml")),
    ("hot-80-20", include_str!("../../../workloads/hot-80-20.toml")),
    ("read-miss", include_str!("../../../workloads/read-miss.toml")),
    ("moving-set", include_str!("../../../workloads/moving-set.toml")),
    ("orion-small", include_str!("../../../workloads/orion-small.toml")),
    ("orion-large", include_str!("../../../workloads/orion-large.toml")),
    ("slob-like", include_str!("../../../workloads/slob-like.toml")),
    ("sqliosim-like", include_str!("../../../workloads/sqliosim-like.toml")),
    ("tpcc", include_str!("../../../workloads/tpcc.toml")),
    ("tpcc-hammerdb", include_str!("../../../workloads/tpcc-hammerdb.toml")),
    ("silly-512", include_str!("../../../workloads/silly-512.toml")),
];

/// The same for workloads that are carried out in a directory, embedded from `workloads/files/` and
/// `workloads/services/`.
pub const SHIPPED_FOR_DIRECTORIES: [(&str, &str); 25] = [
    ("bonnie", include_str!("../../../workloads/files/bonnie.toml")),
    ("metadata", include_str!("../../../workloads/files/metadata.toml")),
    ("metadata-private", include_str!("../../../workloads/files/metadata-private.toml")),
    ("io500-like", include_str!("../../../workloads/files/io500-like.toml")),
    ("io500-like-easy", include_str!("../../../workloads/files/io500-like-easy.toml")),
    ("build", include_str!("../../../workloads/files/build.toml")),
    ("checkout", include_str!("../../../workloads/files/checkout.toml")),
    ("install", include_str!("../../../workloads/files/install.toml")),
    ("media", include_str!("../../../workloads/files/media.toml")),
    ("fileserver", include_str!("../../../workloads/files/fileserver.toml")),
    ("mailspool", include_str!("../../../workloads/files/mailspool.toml")),
    ("smb", include_str!("../../../workloads/files/smb.toml")),
    ("commit", include_str!("../../../workloads/files/commit.toml")),
    ("copy", include_str!("../../../workloads/files/copy.toml")),
    ("etcd", include_str!("../../../workloads/services/etcd.toml")),
    ("etcd-heavy", include_str!("../../../workloads/services/etcd-heavy.toml")),
    ("k3s-etcd", include_str!("../../../workloads/services/k3s-etcd.toml")),
    ("k3s-sqlite", include_str!("../../../workloads/services/k3s-sqlite.toml")),
    ("postgres-wal", include_str!("../../../workloads/services/postgres-wal.toml")),
    ("mariadb-redo", include_str!("../../../workloads/services/mariadb-redo.toml")),
    ("rocksdb-sync", include_str!("../../../workloads/services/rocksdb-sync.toml")),
    ("redis-always", include_str!("../../../workloads/services/redis-always.toml")),
    ("redis-everysec", include_str!("../../../workloads/services/redis-everysec.toml")),
    ("kafka", include_str!("../../../workloads/services/kafka.toml")),
    ("sqlite-commit", include_str!("../../../workloads/services/sqlite-commit.toml")),
];

/// All workloads that come with the program, each with its name and its text.
pub fn all_shipped() -> impl Iterator<Item = (&'static str, &'static str)> {
    SHIPPED.into_iter().chain(SHIPPED_FOR_DIRECTORIES)
}

/// The text of a workload that comes with the program.
pub fn shipped_text(name: &str) -> Option<&'static str> {
    all_shipped().find(|(shipped, _)| *shipped == name).map(|(_, text)| text)
}

/// Reads a workload that a file names: one that comes with the program, or else a file that is looked for from here, and then beside
/// that file.
fn find_beside(name: &str, file: &Path) -> Result<Workload, Failure> {
    let beside = file.parent().unwrap_or(Path::new("")).join(name);
    match beside.to_str().filter(|_| shipped_text(name).is_none() && !Path::new(name).exists()) {
        Some(beside) => find_workload(beside),
        None => find_workload(name),
    }
}

/// Reads a workload: a file if there is one with that name, otherwise a shipped one.
pub fn find_workload(name: &str) -> Result<Workload, Failure> {
    read_named(name, &Reading::default()).map(|found| found.workload)
}

/// The options of the command line for reading files of workloads.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The jobs that are chosen of a job file of fio.
    pub jobs: Choice,
    /// The test that an ACT configuration is for, where its keys do not say.
    pub model: Option<Kind>,
    /// The verb, for the commands of messages; empty for `run`.
    pub verb: &'static str,
    /// Whether a file of tiles has a meaning there.
    pub tiles: bool,
}

/// A workload, and what became of the keys of a job file of fio where it is one.
#[derive(Debug)]
pub struct FoundWorkload {
    /// The workload.
    pub workload: Workload,
    /// Empty for every other kind of workload.
    pub keys: Vec<fio::Line>,
    /// Whether it is an ACT configuration.
    pub is_act: bool,
}

/// Reads several workloads, as [`read_named`] does.
///
/// # Errors
/// Also if a model is named and none of them is an ACT configuration.
pub fn read_all(names: &[&str], reading: &Reading) -> Result<Vec<FoundWorkload>, Failure> {
    let found = names.iter().map(|name| read_named(name, reading)).collect::<Result<Vec<_>, _>>()?;
    if reading.model.is_some() && !found.iter().any(|found| found.is_act) {
        let names: Vec<String> = names.iter().map(|name| one_line(name).to_string()).collect();
        return Err(Failure::bad_usage(format!("--model is for ACT configurations, and {} is none", names.join(", "))));
    }
    Ok(found)
}

/// Like [`find_workload`], as the command line asks for. A file is read once: it may be a pipe.
pub fn read_named(name: &str, reading: &Reading) -> Result<FoundWorkload, Failure> {
    let choice = &reading.jobs;
    let path = Path::new(name);
    let shipped = shipped_text(name);
    if Url::is_one(name) {
        return Err(Failure::bad_usage(format!(
            "{} is a database, not a workload: put a workload such as tpcc in front of it",
            one_line(name)
        )));
    }
    let bytes = match shipped {
        Some(text) => text.as_bytes().to_vec(),
        None => {
            mistaken::refuse_directory(path)?;
            let bytes = bytes_of(path)?;
            mistaken::refuse_other_files(path, &bytes)?;
            bytes
        }
    };
    if shipped.is_none() && is_job_file(path, &bytes) {
        let text = String::from_utf8(bytes).map_err(|_| unreadable_file(path, &"it is not text"))?;
        let fio::Lowered { workload, keys } = fio_job::read_jobs(name, &text, choice)?;
        return Ok(FoundWorkload { workload, keys, is_act: false });
    }
    if !choice.sections.is_empty() || !choice.maps.is_empty() || choice.page_cache {
        return Err(Failure::bad_usage(format!(
            "--section, --map and --page-cache are for fio job files, and {} is none",
            one_line(name)
        )));
    }
    let is_act = shipped.is_none() && is_act(name, &bytes);
    let mut workload = match shipped {
        Some(text) => parse_workload(&format!("{name}.toml (shipped)"), text)?,
        None if is_act => read_act(name, &bytes, reading)?,
        None => parse_workload(name, &String::from_utf8(bytes).map_err(|_| unreadable_file(path, &"it is not text"))?)?,
    };
    crate::workloads::recordings::add_recording(&mut workload, path)?;
    crate::workloads::source::add_source(&mut workload)?;
    if workload.tiles().is_some() && !reading.tiles {
        return Err(tiles::tiles_without_meaning(name));
    }
    tiles::add_workloads(&mut workload, &|name| find_beside(name, path))?;
    Ok(FoundWorkload { workload, keys: Vec::new(), is_act })
}

/// Whether a file is a job file of fio: it is called one, or has its sections and keys.
fn is_job_file(path: &Path, bytes: &[u8]) -> bool {
    let called = path.extension().is_some_and(|end| end == "fio");
    called || std::str::from_utf8(bytes).is_ok_and(fio::looks_like)
}

/// Divides the words of a command line into workloads and targets: `first` is a workload, and so are the words directly
/// after it that look like one. A word that is mistaken for a workload is never written to.
pub fn split_workloads_and_targets<'a>(first: &'a str, rest: &'a [String]) -> (Vec<&'a str>, &'a [String]) {
    let more = rest.iter().take_while(|word| is_workload(word)).count();
    (std::iter::once(first).chain(rest[..more].iter().map(String::as_str)).collect(), &rest[more..])
}

/// Whether the first word of a command line that may begin with a workload is one: a shipped name, a name with the
/// ending of workloads and configurations, or a file with ACT's keys or fio's. Anything else is a target.
pub fn is_workload(name: &str) -> bool {
    let path = Path::new(name);
    let ends = path.extension().is_some_and(|end| end == "toml" || end == "conf" || end == "fio");
    shipped_text(name).is_some() || ends || has_keys_of_a_workload(path)
}

/// True for a file with ACT's keys or fio's. One as large as a target is not read.
fn has_keys_of_a_workload(path: &Path) -> bool {
    let is_small = path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= workload::LONGEST as u64);
    is_small
        && bytes_of(path).is_ok_and(|bytes| {
            let text = String::from_utf8_lossy(&bytes);
            conf::looks_like(&text) || fio::looks_like(&text)
        })
}

/// Whether a file is an ACT configuration: decided by its keys, and if it has none of them, by its name.
fn is_act(name: &str, bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let ours = text.lines().any(|line| line.trim_start().starts_with("model"));
    conf::looks_like(&text) || (!ours && Path::new(name).extension().is_some_and(|end| end == "conf"))
}

/// Parses an ACT configuration as a workload, named after its file.
fn read_act(file: &str, bytes: &[u8], reading: &Reading) -> Result<Workload, Failure> {
    let fits_both = reading.model.is_none() && conf::fits_both(&String::from_utf8_lossy(bytes));
    // Its mistakes are shown first, whichever test it is for.
    let kind = reading.model.or(fits_both.then_some(Kind::Storage));
    let (conf, notes) = conf::read_bytes(&one_line(file), bytes, kind).map_err(Failure::bad_workload)?;
    if fits_both {
        return Err(choose_model(file, reading.verb));
    }
    let stem = Path::new(file).file_stem().map_or_else(|| "act".to_owned(), |stem| stem.to_string_lossy().into_owned());
    lower::native_workload(&stem, &conf, &notes).map_err(|why| {
        let text = String::from_utf8_lossy(bytes);
        Failure::bad_workload(why.fault_in_text(&one_line(file), &text))
    })
}

/// The refusal of an ACT configuration that fits both of ACT's tests, with both commands.
fn choose_model(file: &str, verb: &str) -> Failure {
    let verb = if verb.is_empty() { "run" } else { verb };
    let command = format!("assay {verb} {} --model", assay_judge::for_a_shell(file));
    Failure::bad_workload(format!(
        "{} fits both of ACT's tests, which are different loads: no key of it is for act_index or for act_storage alone\n  = \
         the index test:   {command} {}\n  = the storage test: {command} {}",
        one_line(file),
        Kind::Index.model_name(),
        Kind::Storage.model_name()
    ))
}

fn parse_workload(file: &str, text: &str) -> Result<Workload, Failure> {
    workload::read_workload(&one_line(file), text).map_err(Failure::bad_workload)
}

/// The bytes of a workload file, up to the maximum size of a workload.
fn bytes_of(path: &Path) -> Result<Vec<u8>, Failure> {
    use std::io::Read;
    let file = crate::files::open_named_file(path).map_err(|e| unreadable_file(path, &e))?;
    let mut bytes = Vec::new();
    file.take(workload::LONGEST as u64 + 1).read_to_end(&mut bytes).map_err(|e| unreadable_file(path, &e))?;
    Ok(bytes)
}

fn unreadable_file(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    let names: Vec<&str> = all_shipped().map(|(name, _)| name).collect();
    let remedy = match similar_workload(path, &names) {
        Some(meant) => {
            format!("did you mean {}? (assay workloads lists those that come with the program)", escaped_path(&meant))
        }
        None => format!("name a file, or one of {}", names.join(", ")),
    };
    Failure::bad_workload(format!("the workload {} cannot be read: {why}\n  = {remedy}", escaped_path(path)))
}

/// The name that was probably meant by one that leads nowhere: a workload that comes with the program, or a file beside it.
fn similar_workload(path: &Path, shipped: &[&str]) -> Option<PathBuf> {
    if path.symlink_metadata().is_ok() {
        return None;
    }
    let bare = path.to_str().filter(|name| !name.contains('/'));
    bare.and_then(|name| nearest_known_name(name, shipped)).map(PathBuf::from).or_else(|| meant::similar_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload::Adjust;

    #[test]
    fn every_shipped_workload_makes_a_plan() {
        for (name, text) in SHIPPED {
            assert!(mistaken::refuse_other_files(Path::new(name), text.as_bytes()).is_ok(), "{name} is a workload");
            let workload = find_workload(name).map_err(|f| format!("{f:?}")).unwrap();
            assert_eq!(workload.name, name);
            assert!(!workload.description.is_empty());
            let targets = match name {
                name if name.starts_with("oltp") => 3,
                name if name.starts_with("tpcc") => 1,
                _ => 2,
            };
            let plan = workload.make_plan(&Adjust { targets, ..Adjust::default() }).unwrap();
            // A closed loop measures what a device gives: there is no load that it could fail to hold.
            assert!(!plan.criteria.is_empty() || !plan.load.can_be_scaled(), "{name} has criteria");
        }
    }

    #[test]
    fn every_phase_of_a_shipped_workload_for_directories_makes_a_plan() {
        for (name, text) in SHIPPED_FOR_DIRECTORIES {
            assert!(mistaken::refuse_other_files(Path::new(name), text.as_bytes()).is_ok(), "{name} is a workload");
            let workload = find_workload(name).map_err(|f| format!("{f:?}")).unwrap();
            assert!(workload.name == name && !workload.description.is_empty());
            for part in workload.in_steps() {
                let plan = part.make_plan(&Adjust::default()).unwrap();
                assert!(plan.load.files().is_some() && !plan.load.streams.is_empty(), "{name}");
            }
        }
    }
}
