//! Consent for a drop-in, whose command line has no place for it: tokens from the environment, or typed at the terminal.

use crate::cli::Access;
use crate::confirm::at_terminal;
use crate::failure::{Failure, code};
use crate::targets::{Named, Targets, Wish};
use std::io::{BufRead, Write};

/// The tokens of the devices that may be destroyed, separated by commas.
const VARIABLE: &str = "ASSAY_DESTROY_DATA";
/// Where the run log is kept; without it a drop-in keeps none.
const RUN_DIR: &str = "ASSAY_RUN_DIR";

/// Opens the targets by the same gate as everything else. When it refuses, no token was given and a person sits at the
/// terminal, the person is shown why and asked for the token.
pub fn open(named: &[(String, Named)], wish: Wish<'_>, mut access: Access) -> Result<Targets, Failure> {
    access.destroy_data = tokens(&variable(VARIABLE).unwrap_or_default());
    match Targets::open(named, wish, &access) {
        Err(refused)
            if refused.code == code::REFUSED && wish.writes && access.destroy_data.is_empty() && at_terminal() =>
        {
            refused.print();
            access.destroy_data.extend(ask());
            access.typed = true;
            Targets::open(named, wish, &access)
        }
        Err(refused) if refused.code == code::REFUSED => Err(refused.advised(&format!(
            "a drop-in takes the tokens (`assay devices` prints them) from {VARIABLE}=TOKEN[,TOKEN]"
        ))),
        other => other,
    }
}

/// The run directory that was asked for.
pub fn run_dir() -> Option<std::path::PathBuf> {
    variable(RUN_DIR).map(Into::into)
}

#[allow(clippy::disallowed_methods, reason = "the binary reads the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn tokens(text: &str) -> Vec<String> {
    text.split([',', ' ']).filter(|token| !token.is_empty()).map(str::to_owned).collect()
}

#[allow(clippy::disallowed_macros, reason = "the binary asks")]
fn ask() -> Vec<String> {
    eprint!("To destroy all data on these devices, type their tokens: ");
    let _ = std::io::stderr().flush();
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(_) => tokens(line.trim()),
        Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn tokens_are_split() {
        assert_eq!(super::tokens("ab12cd34, 00ff00ff,"), ["ab12cd34", "00ff00ff"]);
        assert!(super::tokens("").is_empty());
    }
}
