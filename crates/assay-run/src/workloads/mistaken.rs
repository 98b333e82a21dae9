//! Files that are given as a workload and are something else that this program knows: which command takes them.

use crate::failure::{Failure, escaped_path};
use crate::log::reading::runs_in;
use assay_formats::act::{import, latency};
use assay_judge::for_a_shell;
use std::path::Path;

/// The number of lines at its beginning by which a file is recognised.
const LINES: usize = 200;

/// A kind of file that is not a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MistakenKind {
    RunDirectory,
    RunLog,
    ActLog,
    ActTable,
    Iometer,
    Iostat,
    Biosnoop,
    FioIolog,
}

impl MistakenKind {
    /// Recognises a file by its content, if it is one of these.
    fn in_text(text: &str) -> Option<MistakenKind> {
        let first = text.lines().next()?;
        let signs = [
            (first.starts_with("{\"crc\":"), MistakenKind::RunLog),
            (first.starts_with("fio version ") && first.contains("iolog"), MistakenKind::FioIolog),
            (import::looks_like(text.as_bytes()), MistakenKind::ActLog),
            (has_line(text, "'ACCESS SPECIFICATIONS"), MistakenKind::Iometer),
            (first.starts_with("Linux ") && has_line(text, "Device"), MistakenKind::Iostat),
            (has_line(text, "TIME(s) "), MistakenKind::Biosnoop),
            (latency::is_table(text.as_bytes()), MistakenKind::ActTable),
        ];
        signs.into_iter().find(|(is_there, _)| *is_there).map(|(_, known)| known)
    }

    fn kind_name(self) -> &'static str {
        match self {
            MistakenKind::RunDirectory => "the directory of a run",
            MistakenKind::RunLog => "the log of a run",
            MistakenKind::ActLog => "a log of ACT",
            MistakenKind::ActTable => "a table that act_latency made from a log",
            MistakenKind::Iometer => "a configuration of IOmeter",
            MistakenKind::Iostat => "output of iostat",
            MistakenKind::Biosnoop => "output of biosnoop",
            MistakenKind::FioIolog => "an iolog of fio",
        }
    }

    /// The advice for `file`, which is quoted for a shell.
    fn remedy_for(self, file: &str) -> String {
        let import = match self {
            MistakenKind::RunDirectory | MistakenKind::RunLog | MistakenKind::ActLog => {
                return format!("judge it: assay judge {file}");
            }
            MistakenKind::ActTable => return "judge the log that it was made from: assay judge LOG".to_owned(),
            MistakenKind::Iometer => "iometer",
            MistakenKind::Iostat => "iostat",
            MistakenKind::Biosnoop => "biosnoop",
            MistakenKind::FioIolog => "fio-iolog",
        };
        format!("make a workload of it: assay import {import} {file} > workload.toml")
    }
}

/// The refusal of a directory that is given as a workload, if it is that of a run or of a procedure of several runs.
pub(crate) fn refuse_directory(path: &Path) -> Result<(), Failure> {
    if path.join("run.jsonl").is_file() {
        return Err(mistaken_file(path, MistakenKind::RunDirectory));
    }
    // The last run of a search or a curve is the one that decided, or the one that was interrupted.
    let Some(run) = runs_in(path).pop() else { return Ok(()) };
    let typed = for_a_shell(&escaped_path(&run).to_string());
    let what = format!("{} is the directory of several runs, not a workload", escaped_path(path));
    Err(Failure::bad_workload(format!("{what}\n  = judge one of them: assay judge {typed}")))
}

/// The refusal of a file that is given as a workload, if its content is something else that this program knows.
pub(crate) fn refuse_other_files(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let known = std::str::from_utf8(content).ok().and_then(MistakenKind::in_text);
    known.map_or(Ok(()), |known| Err(mistaken_file(path, known)))
}

fn mistaken_file(path: &Path, known: MistakenKind) -> Failure {
    let remedy = known.remedy_for(&for_a_shell(&escaped_path(path).to_string()));
    Failure::bad_workload(format!("{} is {}, not a workload\n  = {remedy}", escaped_path(path), known.kind_name()))
}

/// True if one of the first lines begins like this.
fn has_line(text: &str, beginning: &str) -> bool {
    text.lines().take(LINES).any(|line| line.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_is_follows_from_its_content() {
        for (text, expected) in [
            ("{\"crc\":\"7475e281\",\"seq\":0,\"kind\":\"header\"}\n", Some(MistakenKind::RunLog)),
            ("fio version 3 iolog\n10 data.img add\n", Some(MistakenKind::FioIolog)),
            ("\nACT version 6.6\nStorage device IO test\n", Some(MistakenKind::ActLog)),
            ("Version 1.1.0 \n'ACCESS SPECIFICATIONS ====\n", Some(MistakenKind::Iometer)),
            ("Linux 6.1.0 (host) \t11/27/2026\n\nDevice r/s w/s\nsda 1.0 2.0\n", Some(MistakenKind::Iostat)),
            ("What we saw:\nTIME(s)     COMM           PID    DISK\n", Some(MistakenKind::Biosnoop)),
            ("out.txt is ACT version 6.6\n", Some(MistakenKind::ActTable)),
            ("name = \"mine\"\nmodel = \"streams\"\n", None),
            ("[a]\nrw=read\n", None),
            ("device-names: /dev/sdb\n", None),
            ("", None),
        ] {
            assert_eq!(MistakenKind::in_text(text), expected, "{text}");
        }
    }
}
