//! `durable`: when clients wait until what they wrote is durable. It changes the sequences of the file, and adds others.

use super::names::is_name;
use super::source::Source;
use crate::files::{DURABLE_PHASE, Durable, FilesPhase, FilesWorkload, MAKE_DURABLE, Sequence};
use assay_base::Fault;
use toml::Spanned;

/// What the result says where nobody waits.
pub(super) const NOT_DURABLE: &str = "NOT DURABLE: durable = \"none\": no write is waited for, so that the figures may be those of memory, and what was written may be lost with the power";

/// The workload as the key wants it. It fitted to its own phases before.
pub(super) fn apply(
    source: Source<'_>,
    key: Option<&Spanned<Durable>>,
    workload: FilesWorkload,
) -> Result<FilesWorkload, Fault> {
    let Some(key) = key else { return Ok(workload) };
    let durable = *key.get_ref();
    let refuse = |(what, remedy): (String, &str)| source.refuse_span(key.span(), what, remedy);
    let changed = match durable {
        Durable::Each => with_syncs(&workload).map(|()| workload),
        Durable::End => sync_at_end(workload),
        Durable::None => without_syncs(workload),
    };
    changed.map_or_else(refuse, |workload| Ok(FilesWorkload { durable: Some(durable), ..workload }))
}

/// What is wrong, and what can be done.
type Misfit = (String, &'static str);

fn with_syncs(workload: &FilesWorkload) -> Result<(), Misfit> {
    for phase in workload.all_phases() {
        let mut writing = phase.sequences.iter().filter(|sequence| sequence.needs_sync());
        if let Some(sequence) = writing.find(|sequence| !sequence.waits_for_its_data()) {
            let what = format!("durable = \"each\", and {} writes without waiting for it", sequence.name);
            return Err((what, "add fsync behind its last write, or write \"end\" or \"none\""));
        }
    }
    Ok(())
}

fn without_syncs(workload: FilesWorkload) -> Result<FilesWorkload, Misfit> {
    let phases: Vec<FilesPhase> = workload.all_phases().iter().map(FilesPhase::without_syncs).collect();
    refuse_empty(&phases)?;
    Ok(with_phases(workload, phases))
}

fn sync_at_end(workload: FilesWorkload) -> Result<FilesWorkload, Misfit> {
    if workload.phases.is_empty() {
        let what = "durable = \"end\" waits at the end of phases, and there are none".to_owned();
        return Err((what, "add a [[phase]], or write \"each\" or \"none\""));
    }
    let mut phases = Vec::new();
    for phase in workload.all_phases() {
        check_end(&phase)?;
        phases.extend(phase.with_sync_at_end());
    }
    refuse_empty(&phases)?;
    Ok(with_phases(workload, phases))
}

/// Whether a phase can wait for all of its files at its end.
fn check_end(phase: &FilesPhase) -> Result<(), Misfit> {
    let name = &phase.name;
    if !phase.sequences.iter().any(Sequence::needs_sync) {
        return Ok(());
    }
    if phase.writes_shared_files() {
        let what = format!("durable = \"end\" waits for each file of the tree, and {name} writes to shared files");
        return Err((what, "write \"each\" or \"none\""));
    }
    if phase.takes_every_file_once() && phase.span.is_some() {
        let what = format!("durable = \"end\", and {name} may be over before all of its files are durable");
        return Err((what, "remove its for, or write \"each\" or \"none\""));
    }
    if phase.sequences.iter().any(|sequence| sequence.name == MAKE_DURABLE) {
        let what = format!("durable = \"end\" adds the sequence {MAKE_DURABLE}, and {name} has one of this name");
        return Err((what, "give yours another name"));
    }
    if !is_name(&format!("{name}{DURABLE_PHASE}")) {
        return Err((format!("durable = \"end\" adds a phase {name}{DURABLE_PHASE}"), "give the phase a shorter name"));
    }
    Ok(())
}

/// A phase that only waits has nothing to do where nobody waits, and the names of phases differ.
fn refuse_empty(phases: &[FilesPhase]) -> Result<(), Misfit> {
    for (index, phase) in phases.iter().enumerate() {
        let name = &phase.name;
        if phase.sequences.is_empty() {
            let what = format!("the phase {name} only waits until data are durable, and durable takes that away");
            return Err((what, "remove the phase, or write \"each\""));
        }
        if phases[..index].iter().any(|before| before.name == *name) {
            return Err((
                format!("durable = \"end\" adds a phase {name}, and one has this name"),
                "give yours another",
            ));
        }
    }
    Ok(())
}

/// The same with these phases, which have sequences of their own; without phases, its sequences are the only ones.
fn with_phases(workload: FilesWorkload, mut phases: Vec<FilesPhase>) -> FilesWorkload {
    if workload.phases.is_empty() {
        return FilesWorkload { sequences: phases.swap_remove(0).sequences, ..workload };
    }
    FilesWorkload { sequences: Vec::new(), phases, ..workload }
}
