//! What a shell offers while a command line is typed: the shipped workloads, files, devices and simulated targets where they belong.
//!
//! The shell's script (`assay completions SHELL`) asks the program itself, with the words typed so far, so that what it offers is
//! what this version knows. Nothing is opened: names of devices are those that the kernel lists.

use crate::cli::Cli;
use crate::failure::Failure;
use crate::workloads::{self, SHIPPED};
use assay_device::probe;
use assay_device::safety::Roots;
use clap::CommandFactory;
use clap_complete::CompleteEnv;
use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::Shells;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The variable by which a shell's script asks, with the shell's name.
const ASKS: &str = "_ASSAY_COMPLETE";
/// Targets that need no device.
const INVENTED: [(&str, &str); 4] = [
    ("sim:flash", "a simulated drive that holds its load"),
    ("sim:flash-worn", "a simulated drive that degrades after five hours"),
    ("sim:disk", "a simulated disk that turns"),
    ("null:1GiB", "nothing at all: what this machine can issue"),
];
/// In place of a workload: the whole certification.
pub const CERTIFY: &str = "certify";

/// Answers the shell, if it is one that asks; true where it did.
#[allow(clippy::disallowed_methods, reason = "the binary reads the environment")]
pub fn answered() -> bool {
    if std::env::var_os(ASKS).is_none() {
        return false;
    }
    let dir = std::env::current_dir().ok();
    let option = std::env::args_os().next_back().is_some_and(|word| word.as_encoded_bytes().starts_with(b"-"));
    let command = || if option { Cli::command() } else { without_options(Cli::command()) };
    let asked = CompleteEnv::with_factory(command).var(ASKS).try_complete(std::env::args_os(), dir.as_deref());
    // A question that cannot be understood is not answered, and nothing is run for it.
    !matches!(asked, Ok(false))
}

/// Some thirty options would bury what the next word may be: they are offered to who types a hyphen, or where nothing else is.
fn without_options(command: clap::Command) -> clap::Command {
    let positional = |arg: clap::Arg| if arg.is_positional() { arg } else { arg.hide(true) };
    command.mut_subcommands(|verb| verb.mut_args(positional))
}

/// The script that a shell reads. `program` is what it shall ask: the name in the path, or where the program was called by one.
pub fn script(shell: &str, program: &str) -> Result<String, Failure> {
    if shell == "bash" {
        return Ok(BASH.replace("PROGRAM", &assay_judge::for_a_shell(program)).replace("ASKS", ASKS));
    }
    let shells = Shells::builtins();
    let shell = shells.completer(shell).ok_or_else(|| Failure::bug(format!("no completions for {shell}")))?;
    let mut script = Vec::new();
    let written = shell.write_registration(ASKS, "assay", "assay", program, &mut script);
    written.map_err(|e| Failure::bug(format!("completions that cannot be made: {e}")))?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// Bash takes a colon for the end of a word, also within `sim:flash`: words are joined again before the program is asked, and of
/// the answers only what follows the last colon is put in.
const BASH: &str = r#"_assay() {
    local rest=${COMP_LINE:0:COMP_POINT} words=() word joined before= i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        joined=; ((i > 0)) && [[ $rest != [[:space:]]* ]] && joined=1
        rest=${rest#"${rest%%[![:space:]]*}"}
        word=${COMP_WORDS[i]}; ((i == COMP_CWORD)) && word=$rest
        if [[ $joined ]]; then words[${#words[@]} - 1]+=$word; else words+=("$word"); fi
        rest=${rest#"$word"}
    done
    words=("${words[@]//\\/}")
    word=${words[${#words[@]} - 1]}
    [[ $COMP_WORDBREAKS == *:* && $word == *:* ]] && before=${word%"${word##*:}"}
    COMPREPLY=()
    while IFS= read -r word || [[ $word ]]; do
        printf -v word '%q' "${word#"$before"}"
        COMPREPLY+=("$word")
    done < <(_CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((${#words[@]} - 1)) ASKS=bash PROGRAM -- "${words[@]}" 2>/dev/null)
    ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} != *[/:=] ]] && compopt +o nospace 2>/dev/null
    return 0
}
complete -o nospace -o nosort -F _assay assay 2>/dev/null || complete -o nospace -F _assay assay
"#;

/// Names that come with the program.
pub fn shipped() -> Vec<CompletionCandidate> {
    let candidate = |name: &str| {
        let described = workloads::find(name).map(|workload| workload.description).unwrap_or_default();
        CompletionCandidate::new(name).help(Some(described.into()))
    };
    SHIPPED.iter().map(|(name, _)| candidate(name)).collect()
}

/// The verbs that have a page.
pub fn verbs() -> Vec<CompletionCandidate> {
    Cli::command().get_subcommands().map(|verb| CompletionCandidate::new(verb.get_name())).collect()
}

/// A shipped workload, or a file.
pub fn workloads(current: &OsStr) -> Vec<CompletionCandidate> {
    beginning(current, shipped()).into_iter().chain(files(current, is_workload)).collect()
}

/// As [`workloads`], and what stands for the whole certification.
pub fn explained(current: &OsStr) -> Vec<CompletionCandidate> {
    let certify = CompletionCandidate::new(CERTIFY).help(Some("what a certification would do".into()));
    beginning(current, vec![certify]).into_iter().chain(workloads(current)).collect()
}

/// A device, a file, or one of the invented ones.
pub fn targets(current: &OsStr) -> Vec<CompletionCandidate> {
    let invented = INVENTED.map(|(name, what)| CompletionCandidate::new(name).help(Some(what.into())));
    beginning(current, invented.into()).into_iter().chain(devices(current)).collect()
}

/// What may follow the first workload, or stand alone where a workload may be left out.
pub fn workloads_and_targets(current: &OsStr) -> Vec<CompletionCandidate> {
    beginning(current, shipped()).into_iter().chain(targets(current)).collect()
}

/// A device that the kernel lists, or a file.
pub fn devices(current: &OsStr) -> Vec<CompletionCandidate> {
    let within_dev = current.to_string_lossy().starts_with("/dev/");
    let listed = probe::candidates(&Roots::host()).into_iter().map(OsString::from).map(CompletionCandidate::new);
    // In /dev itself the files are the devices.
    let listed = if within_dev { Vec::new() } else { beginning(current, listed.collect()) };
    listed.into_iter().chain(files(current, |_| true)).collect()
}

fn beginning(current: &OsStr, candidates: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    let begins = |candidate: &CompletionCandidate| {
        candidate.get_value().as_encoded_bytes().starts_with(current.as_encoded_bytes())
    };
    candidates.into_iter().filter(begins).collect()
}

fn files(current: &OsStr, which: fn(&Path) -> bool) -> Vec<CompletionCandidate> {
    let mut found = PathCompleter::any().filter(which).complete(current);
    found.retain(|candidate| candidate.get_value() != ".");
    found
}

/// What ends as workloads and configurations do; directories lead to more.
fn is_workload(path: &Path) -> bool {
    path.is_dir() || path.extension().is_some_and(|end| end == "toml" || end == "conf")
}
