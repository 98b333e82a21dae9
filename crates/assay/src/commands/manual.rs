//! `assay completions` and `assay man`: both are made of the command line itself, so that neither can be out of date.

use super::print;
use crate::cli::{self, Cli};
use crate::failure::{Failure, code};
use crate::files;
use clap::CommandFactory;
use std::path::Path;

/// Prints the completions of one shell.
pub fn completions(args: &cli::Completions) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "assay", &mut script);
    print(&String::from_utf8_lossy(&script));
    Ok(code::DONE)
}

/// Prints the page of the program, or writes it and one of each verb into a directory.
pub fn man(args: &cli::Man) -> Result<u8, Failure> {
    let mut command = Cli::command();
    command.build();
    let Some(dir) = &args.dir else {
        print(&page(&command, "assay")?);
        return Ok(code::DONE);
    };
    write(dir, "assay", &page(&command, "assay")?)?;
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let name = format!("assay-{}", verb.get_name());
        write(dir, &name, &page(verb, &name)?)?;
    }
    Ok(code::DONE)
}

fn page(command: &clap::Command, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let rendered = clap_mangen::Man::new(command.clone()).title(name.to_owned()).render(&mut bytes);
    rendered.map_err(|e| Failure::bug(format!("a manual page that cannot be made: {e}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Pages are made, not written: one that is there already is replaced.
fn write(dir: &Path, name: &str, page: &str) -> Result<(), Failure> {
    let path = dir.join(format!("{name}.1"));
    let written = std::fs::create_dir_all(dir).and_then(|()| files::replace(&path, page.as_bytes()));
    written.map_err(|e| Failure::host(format!("the manual page {} cannot be written: {e}", path.display())))
}
