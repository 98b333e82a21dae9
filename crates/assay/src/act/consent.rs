//! Consent for a drop-in, whose command line has no option for it: given in advance (`assay consent`), as tokens in the
//! environment, or typed at the terminal.

use crate::args::Access;
use crate::confirm::{Seat, seat};
use crate::screen::{complain, tell};
use assay_device::safety::{Gate, Refusal, RuleId};
use assay_judge::for_a_shell;
use assay_run::consents::{self, Consents, Kept};
use assay_run::failure::Failure;
use assay_run::targets::{Named, TargetNeeds, Targets};
use std::io::{BufRead, Write};

/// The tokens of the devices that may be destroyed, separated by commas.
const VARIABLE: &str = "ASSAY_DESTROY_DATA";
/// Directory of the run log; without it a drop-in keeps no log.
const RUN_DIR: &str = "ASSAY_RUN_DIR";

/// Opens the targets through the same gate as everything else. When only consent is missing, no token was given and a
/// person is at the terminal, the device is shown and the person is asked for the token.
pub(crate) fn open(named: &[(String, Named)], needs: TargetNeeds<'_>, mut access: Access) -> Result<Targets, Failure> {
    access.destroy_data.extend(tokens(&variable(VARIABLE).unwrap_or_default()));
    let kept = if needs.writes { Consents::host().all(consents::now()) } else { Vec::new() };
    access.standing = kept.iter().filter_map(|kept| kept.standing.clone().ok()).collect();
    let opened = match access.open(named, needs) {
        Err(refused) if refused.lacks_consent_alone() && access.destroy_data.is_empty() && seat() == Seat::Person => {
            complain(&refused);
            access.destroy_data.extend(ask());
            access.typed = true;
            access.open(named, needs)
        }
        other => other,
    };
    match opened {
        Ok(opened) => {
            opened.agreed_earlier().for_each(|(name, words)| tell(&format!("assay: {name} is written {words}")));
            Ok(opened)
        }
        Err(failure) => Err(match failure.refusal() {
            Some(refusal) if needs.writes => in_a_drop_ins_words(refusal, &kept),
            _ => failure,
        }),
    }
}

/// The refusal with advice that can be followed in a drop-in, which has no options.
fn in_a_drop_ins_words(refusal: &Refusal, kept: &[Kept]) -> Failure {
    let name = for_a_shell(&refusal.given.to_string_lossy());
    let overridden: Vec<String> =
        refusal.rules().filter(|rule| rule.overridable()).map(|rule| rule.to_string()).collect();
    let for_good = refusal.rules().find(|rule| *rule != RuleId::Consent && !rule.overridable());
    let in_use = if refusal.rules().any(|rule| rule == RuleId::S6) { "stop that process; or, " } else { "" };
    let to_do = match (for_good, overridden.as_slice()) {
        (Some(rule), _) => rule.remedy().to_owned(),
        (None, []) => format!("if its data may go, agree once: assay consent {name}"),
        (None, rules) => {
            format!("{in_use}if its data may go, agree once: assay consent {name} --override {}", rules.join(","))
        }
    };
    let mut failure = Failure::refused(format!("{}\n  to do: {to_do}; nothing was written", refusal.found()));
    if for_good.is_none() {
        let exam = Gate::host().introduce(&refusal.given);
        for why in kept.iter().filter_map(|kept| kept.why_not(&exam)) {
            failure = failure.advised(&why);
        }
        if seat() == Seat::Background {
            failure = failure.advised("a background process cannot ask for consent at the terminal");
        }
        if overridden.is_empty() {
            failure = failure.advised(&format!(
                "a script may give the tokens (`assay devices` prints them) in {VARIABLE}=TOKEN[,TOKEN], which sudo does not pass on"
            ));
        }
    }
    failure
}

/// The run directory that was asked for.
pub(crate) fn run_dir() -> Option<std::path::PathBuf> {
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
