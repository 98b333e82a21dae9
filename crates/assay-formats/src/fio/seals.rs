//! What the jobs verify: `verify` and `do_verify`. The seals are this program's own, whatever the method.

use super::job::Job;
use super::order::Mode;
use super::text::Entry;
use assay_base::Fault;
use assay_model::workload::Sealing;

/// The seals that a job writes into its data, or looks for in them.
pub(super) fn read_sealing(job: &Job<'_>, mode: Mode) -> Result<Option<Sealing>, Fault> {
    let left = entry_against_read_back(job)?;
    let Some((method, _)) =
        job.value_of_key("verify")?.filter(|(_, value)| !["0", "null", "none"].contains(&value.text.as_str()))
    else {
        if let Some(entry) = job.find_entry("do_verify") {
            job.note_difference(entry, "without effect: verify is absent or says none");
        }
        return Ok(None);
    };
    job.note_difference(method, method.key.told);
    Ok(match (mode.writes, left) {
        (true, None) => Some(Sealing::ReadBack),
        (true, Some(_)) => Some(Sealing::Left),
        (false, None) => Some(Sealing::Compared),
        (false, Some(_)) => None,
    })
}

/// Whether the job only reads and compares what an earlier run of it has written (`verify_only`).
pub(super) fn reads_instead_of_writing(job: &Job<'_>, mode: Mode) -> Result<bool, Fault> {
    let Some(entry) = job.find_entry("verify_only") else { return Ok(false) };
    if !job.is_switched_on("verify_only")? {
        return Ok(false);
    }
    if mode.reads_and_writes() {
        let what = "verify_only of a job that reads and writes";
        return Err(job.not_yet(entry, what, "write the job that reads, with verify="));
    }
    let told = if mode.writes { entry.key.told } else { "without effect: the job writes nothing" };
    job.note_difference(entry, told);
    Ok(mode.writes)
}

/// Adds a note to a job whose data are read back although it says that they are not: all jobs of a step have one
/// read-back. `others` is what is done with the data of all jobs of its step.
pub(super) fn note_shared_read_back(job: &Job<'_>, own: Sealing, others: &[Sealing]) -> Result<(), Fault> {
    if let Some(entry) =
        entry_against_read_back(job)?.filter(|_| own == Sealing::Left && others.contains(&Sealing::ReadBack))
    {
        job.note_difference(
            entry,
            "what was written is read back nevertheless, because another job of the step asks for that",
        );
    }
    Ok(())
}

/// `do_verify` if it says that nothing is read back.
fn entry_against_read_back<'a>(job: &Job<'a>) -> Result<Option<&'a Entry>, Fault> {
    let back = job.find_entry("do_verify").is_none() || job.is_switched_on("do_verify")?;
    Ok(job.find_entry("do_verify").filter(|_| !back))
}
