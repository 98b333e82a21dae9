//! `assay workloads`: the workloads that come with the program.

use crate::candidates;
use crate::stdout::{print_document, print_json};
use assay_run::failure::{Failure, code};
use assay_run::workloads::{all_shipped, find_workload, shipped_text};
use clap_complete::engine::ArgValueCandidates;

/// `assay workloads`
#[derive(clap::Args, Debug)]
pub(crate) struct Workloads {
    /// Print the text of this workload, as a start for your own [default: list all]
    #[arg(add = ArgValueCandidates::new(candidates::shipped_workloads))]
    pub name: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// The questions that the shipped workloads answer, each with those that do.
const QUESTIONS: [(&str, &[&str]); 12] = [
    ("Will a drive hold an Aerospike node?", &["act-storage", "act-storage-quick", "act-index"]),
    ("How many transactions does an array carry?", &["oltp", "oltp-cached", "oltp-ramp"]),
    ("How many mailboxes does it carry?", &["mail", "mail-2010"]),
    ("How many orders a minute does a database take?", &["tpcc", "tpcc-hammerdb"]),
    ("Will it hold an application like mine?", &["database-8k", "file-server"]),
    ("How do the tools of database vendors load it?", &["orion-small", "orion-large", "slob-like"]),
    ("Does it return what was written, under everything at once?", &["sqliosim-like"]),
    ("What does a cache hide?", &["random-read", "hot-80-20", "read-miss", "moving-set"]),
    (
        "Which of these mounts carries my application?",
        &["fileserver", "mailspool", "smb", "media", "build", "checkout", "install", "commit", "copy"],
    ),
    (
        "Will a disk hold this service?",
        &[
            "etcd",
            "etcd-heavy",
            "k3s-etcd",
            "k3s-sqlite",
            "postgres-wal",
            "mariadb-redo",
            "rocksdb-sync",
            "redis-always",
            "redis-everysec",
            "kafka",
            "sqlite-commit",
        ],
    ),
    (
        "What do benchmarks of file systems measure?",
        &["bonnie", "metadata", "metadata-private", "io500-like", "io500-like-easy"],
    ),
    ("What do data sheets measure?", &["silly-512", "fio-max-io", "fio-max-bandwidth", "fio-real-life"]),
];

/// Lists the shipped workloads, or prints the text of one.
pub(crate) fn show_workloads(args: &Workloads) -> Result<u8, Failure> {
    if let Some(name) = &args.name {
        let text = shipped_text(name).ok_or_else(|| {
            Failure::bad_workload(format!(
                "there is no shipped workload \"{}\"; there are {}",
                name.escape_debug(),
                all_shipped().map(|(name, _)| name).collect::<Vec<_>>().join(", ")
            ))
        })?;
        if args.json {
            print_json(&serde_json::json!({ "name": name, "text": text }))?
        } else {
            print_document(text)
        }
        return Ok(code::DONE);
    }
    let mut rows = Vec::new();
    for (name, _) in all_shipped() {
        let workload = find_workload(name)?;
        rows.push((name, workload.model, workload.timing.duration.to_string(), workload.description));
    }
    if args.json {
        let mut all = Vec::new();
        for (name, model, duration, description) in &rows {
            all.push(
                serde_json::json!({ "name": name, "model": model, "duration": duration, "description": description }),
            );
        }
        print_json(&all)?;
    } else {
        let width = rows.iter().map(|row| row.0.len()).max().unwrap_or(0);
        for (question, names) in QUESTIONS {
            print_document(&format!("{question}\n"));
            for (name, _, duration, description) in rows.iter().filter(|row| names.contains(&row.0)) {
                print_document(&format!("  {name:width$}  {duration:>5}  {description}\n"));
            }
            print_document("\n");
        }
        print_document("`assay workloads NAME` prints one, to copy and change.\n");
    }
    Ok(code::DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_workload_answers_one_question() {
        let mut asked: Vec<&str> = QUESTIONS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut shipped: Vec<&str> = all_shipped().map(|(name, _)| name).collect();
        asked.sort_unstable();
        shipped.sort_unstable();
        assert_eq!(asked, shipped);
    }
}
