//! What clients on files would do, as `assay explain` shows it: the tree, who works on it, and what they do.

mod service;

use crate::commands::outline::PlanLines;
use assay_base::text::{counted_things, one_line};
use assay_model::files::{CachePolicy, Durable, FilesPace, Layout, PlannedFiles, Sequence, TreeShape, Until};

/// Adds the lines about the tree and its clients.
pub(super) fn add_lines(files: &PlannedFiles, seed: u64, out: &mut PlanLines) {
    let workload = &files.workload;
    if let Some(service) = &workload.service {
        return service::add_lines(workload, service, out);
    }
    out.add_heading("tree");
    match TreeShape::new(&workload.tree, workload.clients, seed).map(|shape| shape.totals()) {
        Some(totals) => out.add_line(format_args!(
            "  {} with {}, {}: {}{}",
            counted_things(totals.files, "file"),
            totals.bytes.human_text(),
            counted_things(totals.directories, "directory"),
            counted_things(totals.inodes(), "inode"),
            if workload.tree.empty { ", made by the phases" } else { "" }
        )),
        None => out.add_line(format_args!("  too many directories: write a larger width")),
    }
    if let Some(source) = &workload.tree.source {
        out.add_line(format_args!("  a copy of {}, in which nothing is written", one_line(&source.path)));
    }
    if let Some(shared) = workload.tree.shared {
        let layout = match shared.layout {
            Layout::Segments => "each client has one piece of it",
            Layout::Interleaved => "the records of the clients take turns",
            Layout::Append => "all clients append records to it",
        };
        out.add_line(format_args!("  {} of the files are shared: {layout}", shared.files));
    }
    out.add_heading("clients");
    let pace = match workload.pace {
        FilesPace::Open { rate, .. } => format!("{:.3} sequences a second, whatever happens", rate.as_f64()),
        FilesPace::Closed => "each begins a sequence when its last one is done".to_owned(),
    };
    out.add_line(format_args!(
        "  {}, with {} for each read or write: {pace}",
        workload.clients,
        workload.io.human_text()
    ));
    out.add_line(format_args!("  reads: {}", cache_in_words(workload.cache)));
    if let Some(durable) = workload.durable {
        out.add_line(format_args!("  durable: {}", durable_in_words(durable)));
    }
    let phase = files.current_phase();
    let who = if phase.collective { "the first of them does for all" } else { "they do" };
    let least = phase.at_least.map_or_else(String::new, |least| format!("; a result of less than {least} is marked"));
    let heading = format!("what {who} in the phase {}, {}{least}", phase.name, end_in_words(phase.until));
    out.add_heading(&heading);
    let whole: u64 = phase.sequences.iter().map(|sequence| sequence.share).sum();
    for sequence in &phase.sequences {
        let share = sequence.share as f64 / whole.max(1) as f64 * 100.0;
        let share = if phase.takes_every_file_once() { "every file".to_owned() } else { format!("{share:.1}%") };
        out.add_line(format_args!("  {:20} {share:>10}  {}", sequence.name, steps_in_words(sequence)));
    }
}

fn cache_in_words(cache: CachePolicy) -> &'static str {
    match cache {
        CachePolicy::Direct => "past the page cache (O_DIRECT), but for the end of a file that is no whole block",
        CachePolicy::Drop => "files are dropped from the page cache before the phase",
        CachePolicy::Warm => "may come from the page cache",
        CachePolicy::DontCache => "through the page cache, which does not keep them (RWF_DONTCACHE)",
    }
}

fn durable_in_words(durable: Durable) -> &'static str {
    match durable {
        Durable::Each => "each sequence that writes waits for what it has written",
        Durable::End => {
            "at the end of a phase that writes, each file is waited for; its time ends with the last of them"
        }
        Durable::None => "no write is waited for; what was written may be lost with the power",
    }
}

fn end_in_words(until: Until) -> &'static str {
    match until {
        Until::Time => "for its time",
        Until::Done => "until every file had its turn",
        Until::Stonewall => "until the first client has done its part, and then until all have done as much",
    }
}

fn steps_in_words(sequence: &Sequence) -> String {
    let mut lists = Vec::new();
    for steps in &sequence.steps {
        let names: Vec<&str> = steps.iter().map(|operation| operation.name()).collect();
        lists.push(names.join(", "));
    }
    lists.join("; on another file ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::files::Operation;

    #[test]
    fn steps_on_several_files_are_told_apart() {
        let one = Sequence::new("s", &[Operation::Create, Operation::Close], 1);
        assert_eq!(steps_in_words(&one), "create, close");
        let two = Sequence { steps: vec![vec![Operation::Stat], vec![Operation::Unlink]], ..one };
        assert_eq!(steps_in_words(&two), "stat; on another file unlink");
    }
}
