//! The completions that a shell offers while a command line is typed.
//!
//! The shell's script (`assay completions SHELL`) calls the program itself with the words typed so far, so the
//! completions always belong to this version. The candidates for arguments are in `candidates`.

use assay_run::failure::Failure;
use clap::Command;
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::Shells;

/// The environment variable by which a shell's script asks for completions; its value is the shell's name.
const ASKS: &str = "_ASSAY_COMPLETE";
/// Answers the shell, if it asked for completions; returns true then. `cli` is the whole command line definition.
#[allow(clippy::disallowed_methods, reason = "the binary reads the environment")]
pub(crate) fn answer_shell(cli: fn() -> Command) -> bool {
    if std::env::var_os(ASKS).is_none() {
        return false;
    }
    let dir = std::env::current_dir().ok();
    let option = std::env::args_os().next_back().is_some_and(|word| word.as_encoded_bytes().starts_with(b"-"));
    let completing = CompleteEnv::with_factory(|| {
        let command = with_pages(cli());
        if option { command } else { without_options(command) }
    });
    let asked = completing.var(ASKS).try_complete(std::env::args_os(), dir.as_deref());
    // A request that cannot be understood is not answered, and no command is run for it.
    !matches!(asked, Ok(false))
}

/// Limits the argument of `man` to the verbs that have a page.
fn with_pages(command: Command) -> Command {
    let verbs: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let pages = move || verbs.iter().map(CompletionCandidate::new).collect::<Vec<_>>();
    command.mut_subcommand("man", |man| man.mut_arg("verb", |verb| verb.add(ArgValueCandidates::new(pages))))
}

/// Some thirty options would hide the candidates for the next word: they are offered only after a hyphen, or where
/// there is nothing else.
fn without_options(command: Command) -> Command {
    command.mut_subcommands(|verb| verb.mut_args(|arg| if arg.is_positional() { arg } else { arg.hide(true) }))
}

/// The script that a shell reads. `program` is the command it calls: the name in the path, or the path by which the
/// program was called.
pub(crate) fn completion_script(shell: &str, program: &str) -> Result<String, Failure> {
    if shell == "bash" {
        return Ok(BASH.replace("PROGRAM", &assay_judge::for_a_shell(program)).replace("ASKS", ASKS));
    }
    let shells = Shells::builtins();
    let shell = shells.completer(shell).ok_or_else(|| Failure::internal_bug(format!("no completions for {shell}")))?;
    let mut script = Vec::new();
    let written = shell.write_registration(ASKS, "assay", "assay", program, &mut script);
    written.map_err(|e| Failure::internal_bug(format!("completions that cannot be made: {e}")))?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// Bash treats a colon as the end of a word, also within `sim:flash`: words are joined again before the program is
/// called, and from each answer only the part after the last colon is inserted.
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
