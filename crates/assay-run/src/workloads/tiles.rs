//! Gives a file of tiles the workloads that it names.

use crate::failure::{Failure, one_line};
use assay_model::workload::Workload;

/// Reads the workloads that a file of tiles names by `read`. Any other workload stays as it is.
pub(super) fn add_workloads(
    workload: &mut Workload,
    read: &dyn Fn(&str) -> Result<Workload, Failure>,
) -> Result<(), Failure> {
    if workload.tiles().is_none() {
        return Ok(());
    }
    workload.change_tile_workloads(|member| {
        member.workload = Some(Box::new(read(&member.file)?));
        Ok::<(), Failure>(())
    })?;
    workload.targets.scheduler = common_scheduler(workload)?;
    workload.take_times_of_tiles();
    Ok(())
}

/// The I/O scheduler that the workloads ask for: a device has one only.
fn common_scheduler(workload: &Workload) -> Result<Option<String>, Failure> {
    let members = workload.tiles().into_iter().flat_map(|tiles| tiles.all_members());
    let mut asked = members.filter_map(|member| member.workload.as_ref()).map(|own| own.targets.scheduler.clone());
    let first = asked.next().flatten();
    if asked.any(|other| other != first) {
        return Err(Failure::bad_workload(format!(
            "the workloads of {} ask for different I/O schedulers, but a device has only one: set the same in all",
            one_line(&workload.name)
        )));
    }
    Ok(first)
}

/// The refusal of a file of tiles where it has no meaning.
pub(super) fn tiles_without_meaning(name: &str) -> Failure {
    let shell = assay_judge::for_a_shell(name);
    Failure::bad_usage(format!(
        "{} is a file of tiles, which only run, limit and explain take, and alone\n  = assay run {shell} TARGET --tiles 3 runs three tiles, assay limit {shell} TARGET --tiles searches how many hold; what runs beside them is a [[background]] of the file",
        one_line(name)
    ))
}
