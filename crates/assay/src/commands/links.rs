//! `assay links`: creates links with the names of the tools that this program can replace in a directory, which all start this program.
//! `act_latency.py` is a script, because users start it as an argument of Python, which cannot run a program.

use crate::stdout::show;
use assay_run::failure::{Failure, code, shown};
use assay_run::files;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// `assay links`
#[derive(clap::Args, Debug)]
pub(crate) struct Links {
    /// Directory for the links. It is created if it does not exist; existing files are never replaced
    pub dir: PathBuf,
}

/// The names that become links.
const LINKS: [&str; 6] = ["act_storage", "act_index", "act_prep", "act_latency", "pblio", "seekmark"];
/// The name that becomes a script.
const SCRIPT: &str = "act_latency.py";
/// Works as a shell script and in any Python version: the code of one is a string for the other. It starts the link
/// beside it.
const TEXT: &str = r#"#!/bin/sh
# Made by assay links: starts assay in place of ACT's analyzer, called by its name or by python.
''':'
exec "$(dirname -- "$(readlink -f -- "$0")")/act_latency" "$@"
'''
import os
import sys
program = os.path.join(os.path.dirname(os.path.realpath(__file__)), "act_latency")
os.execv(program, [program] + sys.argv[1:])
"#;

/// Creates what does not exist yet. An existing file with other content is never replaced.
pub(crate) fn links(args: &Links) -> Result<u8, Failure> {
    let dir = &args.dir;
    let failed = |path: &Path, e: io::Error| Failure::host(format!("{} cannot be created: {e}", shown(path)));
    let program =
        std::env::current_exe().map_err(|e| Failure::host(format!("the path of this program cannot be found: {e}")))?;
    fs::create_dir_all(dir).map_err(|e| failed(dir, e))?;
    let mut missing = Vec::new();
    for name in LINKS.into_iter().chain([SCRIPT]) {
        let path = dir.join(name);
        match is_ours(&path, name, &program) {
            Some(true) => {}
            None => missing.push((name, path)),
            Some(false) => {
                return Err(Failure::usage(format!(
                    "{} exists already and is not a link to this program; existing files are never replaced, so name another directory",
                    shown(&path)
                )));
            }
        }
    }
    for (name, path) in &missing {
        make(name, path, &program).map_err(|e| failed(path, e))?;
    }
    let names: Vec<&str> = LINKS.into_iter().chain([SCRIPT]).collect();
    show(&format!("{} in {} are {}\n", names.join(", "), shown(dir), shown(&program)));
    Ok(code::DONE)
}

/// Whether the existing file is what this command would create; `None` where nothing exists.
fn is_ours(path: &Path, name: &str, program: &Path) -> Option<bool> {
    path.symlink_metadata().ok()?;
    Some(match name {
        SCRIPT => files::text(path, 1 << 16).is_ok_and(|text| text == TEXT),
        _ => fs::read_link(path).is_ok_and(|to| to == program),
    })
}

fn make(name: &str, path: &Path, program: &Path) -> io::Result<()> {
    if name != SCRIPT {
        return symlink(program, path);
    }
    files::create_with(path, TEXT.as_bytes(), 0o755)
}
