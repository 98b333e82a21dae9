//! Job files of fio as workloads: what their text asks of this machine, read here, where files and the environment may be read.

use crate::failure::{Failure, one_line};
use crate::open::targets;
use assay_formats::collect::Played;
use assay_formats::fio::{self, Choice, Keyword, Lowered, Surroundings};
use assay_model::workload::{self, Workload};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// The jobs of a file as a workload that is named after it.
pub(crate) fn read_jobs(file: &str, text: &str, choice: &Choice) -> Result<Lowered, Failure> {
    let stem = Path::new(file).file_stem().map_or_else(|| "job".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let jobs = fio::read_job_file(&one_line(file), text, &ThisMachine).map_err(Failure::bad_workload)?;
    let lowered = fio::lower_job_file(&stem, &jobs, choice, &ThisMachine).map_err(Failure::bad_workload)?;
    files_only(&lowered.workload)?;
    Ok(lowered)
}

/// Refuses the page cache on what is a block device, before anything is opened. The safety gate refuses it too.
fn files_only(workload: &Workload) -> Result<(), Failure> {
    for cached in &workload.caches.page {
        let Some(name) = workload.targets.paths.get(usize::from(cached.target)) else { continue };
        if Path::new(name).metadata().is_ok_and(|found| found.file_type().is_block_device()) {
            return Err(Failure::refused_for_safety(format!(
                "{} is a block device, and only files are used through the page cache; leave out --page-cache, or map a file; nothing was opened",
                one_line(name)
            )));
        }
    }
    Ok(())
}

/// This machine.
struct ThisMachine;

impl Surroundings for ThisMachine {
    fn read_included(&self, name: &str, beside: &str) -> Result<String, String> {
        let beside = Path::new(beside).parent().map(|dir| dir.join(name));
        let here = Path::new(name).to_owned();
        // What is there and cannot be read is not looked for elsewhere.
        let path = beside.filter(|_| here.symlink_metadata().is_err()).unwrap_or(here);
        let file = crate::files::open_named_file(&path).map_err(|e| e.to_string())?;
        let mut text = String::new();
        file.take(workload::LONGEST as u64 + 1).read_to_string(&mut text).map_err(|e| e.to_string())?;
        Ok(text)
    }

    fn read_recording(&self, name: &str, beside: &str) -> Result<Played, String> {
        crate::workloads::recordings::of_job(name, Path::new(beside))
    }

    #[allow(clippy::disallowed_methods, reason = "a job file names variables of the environment")]
    fn environment_variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn keyword_number(&self, keyword: Keyword) -> u64 {
        match keyword {
            Keyword::PageSize => rustix::param::page_size() as u64,
            Keyword::Memory => {
                rustix::system::sysinfo().totalram.saturating_mul(u64::from(rustix::system::sysinfo().mem_unit)) >> 20
            }
            Keyword::Processors => std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
        }
    }

    fn size_of(&self, target: &str) -> Option<u64> {
        let named = targets::parse_block_targets(&[target.to_owned()]).ok()?;
        named.first()?.1.known_geometry().map(|(size, _)| size)
    }
}
