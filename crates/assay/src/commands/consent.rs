//! `assay consent`: root agrees in advance that a device may be overwritten, for drop-ins that cannot ask at the time
//! of the run.

use crate::candidates;
use crate::confirm::{TerminalReader, ask_for_agreement, find_seat};
use crate::stdout::{print_json, show_text};
use assay_base::Span;
use assay_device::safety::{Examination, Gate, Kind, Request, RuleId};
use assay_judge::for_a_shell;
use assay_run::failure::{Failure, code, escaped_path, one_line};
use assay_run::open::consents::{Consents, ExitCodes, Given, StoredConsent, Terms, current_time};
use clap_complete::engine::ArgValueCompleter;
use jiff::{SignedDuration, Timestamp};
use std::path::Path;

/// `assay consent`
#[derive(clap::Args, Debug)]
#[command(after_help = "\
The drop-ins (act_storage, act_index, act_prep) do not take the options of this program. They write only to a device for
which root has given consent here, also under sudo and in the background. A consent is valid for one device as it is now:
not for a replacement, not after a change of size or partition, and for a virtual device or one without a serial number only
until the next boot. It never covers a device that is mounted or part of the system, and one that a process has open for
writing only with --override S6. All other verbs take --destroy-data instead.")]
pub(crate) struct Consent {
    /// Devices that may be overwritten. With --list or --revoke, the devices to list or revoke [default there: all]
    #[arg(add = ArgValueCompleter::new(candidates::device_candidates))]
    pub targets: Vec<String>,
    /// Also ignore this safety rule: S6 (the processes that use it now, by their names), S7 (the file system or other signature
    /// that is there now) or S8 (unknown data)
    #[arg(long = "override", value_name = "RULE", value_delimiter = ',')]
    pub overrides: Vec<RuleId>,
    /// How long the consent is valid, 1min to 30d. By default as long as the certification of 96h takes, and a day more
    #[arg(long = "for", value_name = "TIME", default_value = "5d", value_parser = length_of_consent)]
    pub length: Span,
    /// Tokens of the devices, from `assay devices`, separated by commas. Without a terminal they are required; with one the
    /// command asks for them
    #[arg(long, value_name = "TOKEN", value_delimiter = ',')]
    pub destroy_data: Vec<String>,
    /// Proceed in a container, although processes outside the container are invisible and may be using the device. The drop-ins
    /// proceed there too
    #[arg(long)]
    pub in_container: bool,
    /// Whose exit codes the drop-ins end with on these devices: act (0 also after an overload and after I/O errors, as scripts
    /// that are written for ACT expect) or assay
    #[arg(long, value_name = "WHOSE")]
    pub exit_codes: Option<ExitCodes>,
    /// List the consents, and whether each is still valid
    #[arg(long, conflicts_with_all = ["overrides", "destroy_data", "revoke"])]
    pub list: bool,
    /// Revoke the consents for the named devices, or all consents if no device is named
    #[arg(long, conflicts_with_all = ["overrides", "destroy_data"])]
    pub revoke: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// A shorter consent would end before it can be used, a longer one would be forgotten.
fn length_of_consent(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|e: assay_base::UnitError| e.to_string())?;
    if (Span::from_secs(60)..=Span::from_secs(30 * 86_400)).contains(&span) {
        Ok(span)
    } else {
        Err("write 1min to 30d".to_owned())
    }
}

/// Gives, lists or revokes consents.
pub(crate) fn manage_consents(args: &Consent) -> Result<u8, Failure> {
    if !rustix::process::geteuid().is_root() {
        return Err(Failure::host_unable(
            "only root can give, list and revoke consents\n  = run the command with sudo",
        ));
    }
    let store = Consents::for_host();
    match (args.list, args.revoke) {
        (true, _) => list_consents(&chosen_consents(&store, &args.targets)?, args.json),
        (_, true) => revoke_consents(&store, args),
        _ => give_consents(&store, args),
    }
}

fn give_consents(store: &Consents, args: &Consent) -> Result<u8, Failure> {
    if args.targets.is_empty() {
        return Err(Failure::bad_usage(
            "consent needs the names of the devices that may be overwritten; assay consent --list shows the consents",
        ));
    }
    let exams = args.targets.iter().map(|target| examine_admissible(target, args)).collect::<Result<Vec<_>, _>>()?;
    require_agreement(&exams, args)?;
    let (from, until) = begin_and_end(args.length)?;
    let mut given = Vec::new();
    for exam in &exams {
        let terms = Terms { in_container: args.in_container, exit_codes: args.exit_codes };
        let consent = Given::new(exam, terms, from, until);
        store.store_consent(exam.token.as_deref().unwrap_or_default(), &consent)?;
        given.push(consent);
    }
    if args.json {
        print_json(&given)?;
        return Ok(code::DONE);
    }
    for (consent, exam) in given.iter().zip(&exams) {
        show_text(&format!(
            "{} may be overwritten by act_storage, act_index and act_prep until {}\n",
            consent.target, consent.until
        ));
        for overridden in &consent.overrides {
            show_text(&format!("  overriding {}: {}\n", overridden.rule, overridden.seen.replace('\n', ", ")));
        }
        for rule in args.overrides.iter().filter(|rule| !consent.overrides_rule(**rule)) {
            show_text(&format!("  {rule} holds now ({}), and is not overridden\n", rule.meaning()));
        }
        if exam.marks.contains_key("boot") {
            show_text(
                "  for a virtual device or one without a serial number: only until the next boot or until it is set up again\n",
            );
        }
    }
    show_text("to revoke it: assay consent --revoke\n");
    Ok(code::DONE)
}

/// The present answers of all rules for a device, as far as they can be evaluated in advance.
fn examine_admissible(target: &str, args: &Consent) -> Result<Examination, Failure> {
    let path = Path::new(target);
    let request = Request { overrides: &args.overrides, in_container: args.in_container, ..Request::new(path) };
    let exam = Gate::of_machine().examine_request(&request).map_err(Failure::from_gate_refusal)?;
    if matches!(exam.kind, Kind::Block(_)) {
        return Ok(exam);
    }
    Err(Failure::bad_usage(format!(
        "{} is not a block device. Files need no consent: only files that this program created are written",
        one_line(target)
    )))
}

/// Asks at a terminal; otherwise requires the tokens.
fn require_agreement(exams: &[Examination], args: &Consent) -> Result<(), Failure> {
    let all: Vec<&Examination> = exams.iter().collect();
    match find_seat() {
        TerminalReader::Person => ask_for_agreement(&all),
        _ => match all.iter().find(|exam| !is_token_given(exam, args)) {
            None => Ok(()),
            Some(exam) => Err(Failure::refused_for_safety(format!(
                "there is no terminal to ask whether {} may be overwritten, and no token given is for it; no consent was recorded\n  = \
                 run it at a terminal, or add --destroy-data TOKEN (assay devices {} prints it)",
                escaped_path(&exam.given),
                for_a_shell(&exam.given.to_string_lossy())
            ))),
        },
    }
}

fn is_token_given(exam: &Examination, args: &Consent) -> bool {
    exam.token.as_ref().is_some_and(|token| args.destroy_data.iter().any(|given| given.eq_ignore_ascii_case(token)))
}

fn begin_and_end(length: Span) -> Result<(Timestamp, Timestamp), Failure> {
    let from = current_time();
    let length = SignedDuration::from_nanos(i64::try_from(length.as_ns()).unwrap_or(i64::MAX));
    let until =
        from.checked_add(length).map_err(|e| Failure::host_unable(format!("the system clock cannot be read: {e}")))?;
    Ok((from, until))
}

/// All consents, or those of the named devices: by the name they were given for, or the path it resolves to.
fn chosen_consents(store: &Consents, targets: &[String]) -> Result<Vec<StoredConsent>, Failure> {
    let mut all = store.all_stored(current_time());
    for target in targets {
        if !all.iter().any(|kept| is_of(kept, target)) {
            let target = one_line(target);
            return Err(Failure::bad_usage(format!(
                "there is no consent for {target}; assay consent --list shows all"
            )));
        }
    }
    all.retain(|kept| targets.is_empty() || targets.iter().any(|target| is_of(kept, target)));
    Ok(all)
}

fn is_of(kept: &StoredConsent, target: &str) -> bool {
    let real = Path::new(target).canonicalize().ok();
    kept.given.as_ref().is_some_and(|given| given.target == target || Some(&given.path) == real.as_ref())
}

fn revoke_consents(store: &Consents, args: &Consent) -> Result<u8, Failure> {
    let chosen = chosen_consents(store, &args.targets)?;
    for kept in &chosen {
        store.revoke_consent(kept)?;
    }
    let names: Vec<String> = chosen.iter().map(consent_name).collect();
    if args.json {
        print_json(&serde_json::json!({ "revoked": names }))?;
    } else if names.is_empty() {
        show_text("there was no consent\n");
    } else {
        show_text(&format!("revoked: {}\n", names.join(", ")));
    }
    Ok(code::DONE)
}

fn consent_name(kept: &StoredConsent) -> String {
    kept.given.as_ref().map_or_else(|| kept.file.to_string_lossy().into_owned(), |given| given.target.clone())
}

fn list_consents(all: &[StoredConsent], json: bool) -> Result<u8, Failure> {
    if json {
        print_json(&all.iter().map(as_json).collect::<Vec<_>>())?;
        return Ok(code::DONE);
    }
    if all.is_empty() {
        show_text("nothing was agreed to\n");
    }
    for kept in all {
        let of = kept
            .given
            .as_ref()
            .map(|given| format!("from {} until {}, overrides {}", given.given, given.until, given.rule_names()));
        show_text(&format!("{}  {}\n", consent_name(kept), of.unwrap_or_else(|| "cannot be read".to_owned())));
        if let Err(why) = state_of(kept) {
            show_text(&format!("    not valid: {why}\n"));
        }
    }
    Ok(code::DONE)
}

/// Whether a consent counts now; the error is why it does not.
fn state_of(kept: &StoredConsent) -> Result<(), String> {
    match (&kept.standing, &kept.given) {
        (Err(why), _) => Err(why.clone()),
        // The path may name another device by now.
        (Ok(_), Some(given)) => match Gate::of_machine().introduce_path(&given.path) {
            exam if exam.marks.is_empty() => Err(format!("{} is not there now", escaped_path(&given.path))),
            exam => kept.why_not(&exam).map_or(Ok(()), Err),
        },
        (Ok(_), None) => Ok(()),
    }
}

fn as_json(kept: &StoredConsent) -> serde_json::Value {
    let state = state_of(kept);
    serde_json::json!({ "file": kept.file, "consent": kept.given, "counts": state.is_ok(), "why": state.err() })
}
