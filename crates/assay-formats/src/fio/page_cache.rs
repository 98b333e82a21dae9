//! Which files of a job are used through the page cache: `direct`, `buffered`, `invalidate`, `fadvise_hint`, and whether
//! the user agreed.

use super::files::Files;
use super::job::Job;
use super::order::Mode;
use super::text::Entry;
use assay_base::Fault;
use assay_model::page_cache::{Advice, PageCached};
use std::collections::BTreeMap;

/// The wishes of the jobs by target: the name of the job, and `None` for direct I/O.
#[derive(Debug, Default)]
pub(super) struct Ways(BTreeMap<u16, (String, Option<PageCached>)>);

impl Ways {
    /// The targets that are used through the page cache.
    pub(super) fn cached_targets(self) -> Vec<PageCached> {
        self.0.into_values().filter_map(|(_, cached)| cached).collect()
    }

    /// Adds what a job asks for on its `targets`.
    pub(super) fn add_job(
        &mut self,
        job: &Job<'_>,
        mode: Mode,
        files: &Files<'_>,
        targets: &[u16],
    ) -> Result<(), Fault> {
        let buffered = is_buffered(job)?;
        if let (true, Some(entry)) = (job.is_switched_on("pre_read")?, job.find_entry("pre_read")) {
            if buffered && files.may_be_cached() {
                let remedy = "remove it, or leave out --page-cache";
                return Err(job.not_yet(entry, "a page cache that holds the files from the beginning", remedy));
            }
            job.note_difference(entry, entry.key.told);
        }
        if !files.may_be_cached() {
            return remark_without_consent(job, buffered);
        }
        let keep = job.find_entry("invalidate").is_some() && !job.is_switched_on("invalidate")?;
        let advice = read_advice(job, mode)?;
        for target in targets.iter().copied() {
            let cached = buffered.then_some(PageCached { target, advice, keep });
            let cached = cached.filter(|_| files.is_cached(target));
            match (cached, files.is_cached(target)) {
                (Some(_), _) => job.add_note(format!(
                    "{}: uses {} through the page cache: what memory holds is read from there, and a write is complete when memory has it",
                    job.name,
                    files.target_name(target)
                )),
                (None, false) if buffered => job.add_note(format!("{}: there is no page cache before {}", job.name, files.target_name(target))),
                (None, _) => {}
            }
            match self.0.get_mut(&target) {
                None => {
                    self.0.insert(target, (job.name.clone(), cached));
                }
                Some((_, before)) if before.is_some() == cached.is_some() => {
                    *before = before.zip(cached).map(|(before, cached)| before.combined_with(cached));
                }
                Some((other, _)) => return Err(both_ways_fault(job, other, files.target_name(target))),
            }
        }
        Ok(())
    }
}

/// Whether a job asks for the page cache, which is the default of fio.
pub(super) fn is_buffered(job: &Job<'_>) -> Result<bool, Fault> {
    let (direct, buffered) = (job.is_switched_on("direct")?, job.is_switched_on("buffered")?);
    Ok(match (job.find_entry("direct"), job.find_entry("buffered")) {
        (Some(_), Some(_)) if job.is_later("buffered", "direct") => buffered,
        (Some(_), _) => !direct,
        (None, Some(_)) => buffered,
        (None, None) => true,
    })
}

/// The key that decides it.
fn deciding_entry<'a>(job: &Job<'a>) -> Option<&'a Entry> {
    let (direct, buffered) = (job.find_entry("direct"), job.find_entry("buffered"));
    if job.is_later("buffered", "direct") { buffered } else { direct }
}

/// Without consent the page cache is left out, whatever a job says.
fn remark_without_consent(job: &Job<'_>, buffered: bool) -> Result<(), Fault> {
    let told = "O_DIRECT is used nevertheless: the page cache is not tested; --page-cache uses it";
    match deciding_entry(job).filter(|_| buffered) {
        Some(entry) => job.note_difference(entry, told),
        None if buffered => job.add_note(format!("{}: direct is absent: {told}", job.name)),
        None => {}
    }
    Ok(())
}

/// The advice to the kernel about the order of a job's operations.
fn read_advice(job: &Job<'_>, mode: Mode) -> Result<Advice, Fault> {
    let by_mode = if mode.random { Advice::Random } else { Advice::Sequential };
    let Some((entry, value)) = job.value_of_key("fadvise_hint")? else { return Ok(by_mode) };
    Ok(match value.text.as_str() {
        "1" => by_mode,
        "0" | "none" => Advice::None,
        "sequential" => Advice::Sequential,
        "random" => Advice::Random,
        _ => {
            let remedy = "write 1 (by rw), 0, sequential or random";
            return Err(job.fault_at_entry(entry, "not an order that the kernel is told here", remedy));
        }
    })
}

fn both_ways_fault(job: &Job<'_>, other: &str, name: &str) -> Fault {
    let what = format!(
        "{name} used directly by one of the jobs {other} and {}, and through the page cache by the other,",
        job.name
    );
    let remedy = "write direct= alike in both, or run one of them with --section";
    match deciding_entry(job) {
        Some(entry) => job.not_yet(entry, &what, remedy),
        None => job.file.fault_at(job.section.place, format!("{what} is not driven yet"), remedy),
    }
}
