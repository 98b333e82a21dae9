//! `assay completions` and `assay man`: both are generated from the command line definition, so neither can be out of
//! date.

use crate::complete;
use crate::screen::print_to_stderr;
use crate::stdout::{print_document, show_text};
use crate::terminal;
use assay_judge::for_a_shell;
use assay_run::failure::{Failure, code, escaped_path};
use assay_run::files;
use std::path::{Path, PathBuf};

/// `assay completions`
#[derive(clap::Args, Debug)]
pub(crate) struct Completions {
    /// Shell to print the completions for
    pub shell: clap_complete::Shell,
}

/// `assay man`
#[derive(clap::Args, Debug)]
#[command(after_help = "\
To read one page now: assay man certify | man -l -
To install all pages: assay man --out ~/.local/share/man/man1 (as root: /usr/local/share/man/man1); then: man assay-certify")]
pub(crate) struct Man {
    /// Verb whose page is printed [default: the page of the program]
    #[arg(conflicts_with = "out")]
    pub verb: Option<String>,
    /// Write the page of the program and of every verb to this directory. It is created if needed; older pages are replaced
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Prints the script by which a shell asks this program for completions.
pub(crate) fn print_completions(args: &Completions) -> Result<u8, Failure> {
    print_document(&complete::completion_script(&args.shell.to_string(), &program_command())?);
    Ok(code::DONE)
}

/// The command that a shell calls: the program's name, or its path where the user called it by a path.
#[allow(clippy::disallowed_methods, reason = "the binary reads its own arguments")]
fn program_command() -> String {
    let called = std::env::args_os().next().map(PathBuf::from).filter(|called| called.components().count() > 1);
    let place = called.and_then(|called| std::path::absolute(called).ok());
    place.map_or_else(|| "assay".to_owned(), |place| place.to_string_lossy().into_owned())
}

/// Prints the page of the program or of a verb, or writes all pages into a directory. `command` is the whole command
/// line definition.
pub(crate) fn print_manual(args: &Man, mut command: clap::Command) -> Result<u8, Failure> {
    command.build();
    let verbs: Vec<&clap::Command> = command.get_subcommands().filter(|verb| verb.get_name() != "help").collect();
    let Some(dir) = &args.out else {
        let page = match &args.verb {
            None => manual_page(&command, "assay")?,
            Some(name) => {
                let verb = verbs.iter().find(|verb| verb.get_name() == name).ok_or_else(|| unknown_verb(name))?;
                manual_page(verb, &format!("assay-{name}"))?
            }
        };
        if terminal::shows_output() {
            print_to_stderr(
                "note: this is the page's source; assay man ... | man -l -  shows it, assay man --out DIR writes all pages",
            );
        }
        print_document(&page);
        return Ok(code::DONE);
    };
    std::fs::create_dir_all(dir)
        .map_err(|e| Failure::host_unable(format!("the directory {} cannot be made: {e}", escaped_path(dir))))?;
    write_page(dir, "assay", &manual_page(&command, "assay")?)?;
    for verb in &verbs {
        let name = format!("assay-{}", verb.get_name());
        write_page(dir, &name, &manual_page(verb, &name)?)?;
    }
    let name = for_a_shell(&dir.join("assay.1").to_string_lossy());
    show_text(&format!("{} pages in {}; man {name} shows the first\n", 1 + verbs.len(), escaped_path(dir)));
    Ok(code::DONE)
}

/// An earlier version took a directory here, without `--out`.
fn unknown_verb(verb: &str) -> Failure {
    let typed = for_a_shell(verb);
    Failure::bad_usage(format!(
        "there is no verb \"{}\"\n  = assay man certify prints the page of certify, assay man --out {typed} writes all pages into a directory",
        verb.escape_debug()
    ))
}

fn manual_page(command: &clap::Command, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let rendered = clap_mangen::Man::new(command.clone()).title(name.to_owned()).render(&mut bytes);
    rendered.map_err(|e| Failure::internal_bug(format!("a manual page that cannot be made: {e}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Pages are generated, so an existing one is replaced.
fn write_page(dir: &Path, name: &str, page: &str) -> Result<(), Failure> {
    let path = dir.join(format!("{name}.1"));
    files::replace_file(&path, page.as_bytes())
        .map_err(|e| Failure::host_unable(format!("the manual page {} cannot be written: {e}", escaped_path(&path))))
}
