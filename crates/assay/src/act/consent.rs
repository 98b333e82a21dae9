//! Consent for a drop-in, whose command line has no option for it: given in advance (`assay consent`), as tokens in the
//! environment, or typed at the terminal.

use crate::args::Access;
use crate::confirm::{TerminalReader, find_seat};
use crate::environment::environment_variable;
use crate::screen::{print_to_stderr, report_failure};
use crate::terminal;
use assay_device::safety::{Gate, Refusal, RuleId};
use assay_judge::for_a_shell;
use assay_run::failure::Failure;
use assay_run::open::consents::{self, Consents, StoredConsent};
use assay_run::open::targets::{Named, TargetNeeds, Targets};
use std::io::BufRead;

/// The tokens of the devices that may be destroyed, separated by commas.
const VARIABLE: &str = "ASSAY_DESTROY_DATA";
/// Directory of the run log; without it a drop-in keeps no log.
const RUN_DIR: &str = "ASSAY_RUN_DIR";

/// Whether processes outside this container may stay unseen.
const IN_CONTAINER: &str = "ASSAY_IN_CONTAINER";

/// Whether a tool shares its devices with others of its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Company {
    /// It has them for itself.
    None,
    /// It shares them with others that run under the same consent, as people start `act_storage` twice.
    UnderTheSameConsent,
}

/// Opens the targets through the same gate as everything else. When only consent is missing, no token was given and a
/// person is at the terminal, the device is shown and the person is asked for the token.
pub(crate) fn open_with_consent(
    named: &[(String, Named)],
    needs: TargetNeeds<'_>,
    mut access: Access,
    company: Company,
) -> Result<Targets, Failure> {
    access.destroy_data.extend(split_tokens(&environment_variable(VARIABLE).unwrap_or_default()));
    access.in_container |= is_confirmed(environment_variable(IN_CONTAINER).as_deref())?;
    let mut kept = if needs.writes { Consents::for_host().all_stored(consents::current_time()) } else { Vec::new() };
    if company == Company::UnderTheSameConsent {
        Consents::lock_for_sharing(&mut kept);
    }
    access.standing = kept.iter().filter_map(|kept| kept.standing.clone().ok()).collect();
    let opened = match access.open_targets(named, needs) {
        Err(refused)
            if refused.lacks_consent_alone()
                && access.destroy_data.is_empty()
                && find_seat() == TerminalReader::Person =>
        {
            report_failure(&refused);
            access.destroy_data.extend(ask_for_tokens());
            access.typed = true;
            access.open_targets(named, needs)
        }
        other => other,
    };
    match opened {
        Ok(opened) => {
            opened
                .agreed_earlier()
                .for_each(|(name, words)| print_to_stderr(&format!("assay: {name} is written {words}")));
            Ok(opened)
        }
        Err(failure) => Err(match failure.gate_refusal() {
            Some(refusal) if needs.writes => in_a_drop_ins_words(refusal, &kept),
            _ => failure,
        }),
    }
}

/// Reads a variable that is set to 1 to confirm something.
fn is_confirmed(value: Option<&str>) -> Result<bool, Failure> {
    match value {
        None | Some("0" | "no") => Ok(false),
        Some("1" | "yes") => Ok(true),
        Some(other) => Err(Failure::bad_usage(format!(
            "{IN_CONTAINER} is \"{}\"; write 1 to proceed in a container, where processes outside it are invisible",
            other.escape_debug()
        ))),
    }
}

/// The refusal with advice that can be followed in a drop-in, which has no options.
fn in_a_drop_ins_words(refusal: &Refusal, kept: &[StoredConsent]) -> Failure {
    let for_good = refusal.failed_rules().find(|rule| *rule != RuleId::Consent && !rule.may_override());
    let to_do = for_good.map_or_else(|| how_to_agree(refusal), |rule| rule.remedy().to_owned());
    let mut failure =
        Failure::refused_for_safety(format!("{}\n  to do: {to_do}; nothing was written", refusal.finding_text()));
    if for_good.is_some() {
        return failure;
    }
    let exam = Gate::of_machine().introduce_path(&refusal.given);
    for why in kept.iter().filter_map(|kept| kept.why_not(&exam)) {
        failure = failure.with_advice(&why);
    }
    let is_token_enough = overridden_rules(refusal).is_empty();
    match find_seat() {
        // A person at this terminal would have been asked, so that no token takes the place of that here.
        TerminalReader::Background => failure.with_advice(
            "a background process cannot ask for consent at the terminal, and takes no token there: give consent first, or start it in the foreground",
        ),
        TerminalReader::Person | TerminalReader::Nobody if is_token_enough => failure.with_advice(&in_a_script(refusal.is_in_container)),
        TerminalReader::Person | TerminalReader::Nobody => failure,
    }
}

/// The rules that a consent has to override.
fn overridden_rules(refusal: &Refusal) -> Vec<String> {
    let rules = refusal.failed_rules().filter(|rule| rule.may_override());
    // In a container this rule is confirmed by another option.
    let rules = rules.filter(|rule| *rule != RuleId::S6 || !refusal.is_in_container);
    rules.map(|rule| rule.to_string()).collect()
}

/// The command that gives the missing consent.
fn how_to_agree(refusal: &Refusal) -> String {
    let name = for_a_shell(&refusal.given.to_string_lossy());
    let rules = overridden_rules(refusal);
    let stop = if rules.iter().any(|rule| rule == "S6") { "stop that process; or, " } else { "" };
    let overriding = if rules.is_empty() { String::new() } else { format!(" --override {}", rules.join(",")) };
    let (unseen, container) = if refusal.is_in_container {
        (" and nothing outside this container uses it", " --in-container")
    } else {
        ("", "")
    };
    format!("{stop}if its data may go{unseen}, agree once: assay consent {name}{container}{overriding}")
}

/// The advice for a script.
fn in_a_script(in_container: bool) -> String {
    let container = if in_container { format!(", and {IN_CONTAINER}=1") } else { String::new() };
    format!(
        "a script may give the tokens (`assay devices` prints them) in {VARIABLE}=TOKEN[,TOKEN]{container}, which sudo does not pass on"
    )
}

/// The run directory that was asked for.
pub(crate) fn run_dir() -> Option<std::path::PathBuf> {
    environment_variable(RUN_DIR).map(Into::into)
}

fn split_tokens(text: &str) -> Vec<String> {
    text.split([',', ' ']).filter(|token| !token.is_empty()).map(str::to_owned).collect()
}

fn ask_for_tokens() -> Vec<String> {
    terminal::write_question("To destroy all data on these devices, type their tokens: ");
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(_) => split_tokens(line.trim()),
        Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_container_is_confirmed_by_one_word_only() {
        for (value, confirmed) in [
            (None, Some(false)),
            (Some("1"), Some(true)),
            (Some("yes"), Some(true)),
            (Some("0"), Some(false)),
            (Some("no"), Some(false)),
            (Some("true"), None),
            (Some(" 1"), None),
        ] {
            assert_eq!(super::is_confirmed(value).ok(), confirmed, "{value:?}");
        }
    }

    #[test]
    fn tokens_are_split() {
        assert_eq!(super::split_tokens("ab12cd34, 00ff00ff,"), ["ab12cd34", "00ff00ff"]);
        assert!(super::split_tokens("").is_empty());
    }
}
