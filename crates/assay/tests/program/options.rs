//! Wrong values of every option, at a terminal and in a pipe: one error, in whole words, that names the option or the value,
//! and nothing is done. The options are those that the help of each verb lists.

use super::bed::Place;
use super::console::Console;
use std::collections::BTreeSet;
use std::process::Stdio;

/// The names of values that are texts or names of files, where no value is wrong by its form.
const FREE: [&str; 13] =
    ["DEVICE", "DIR", "FILE", "FILES", "KEY", "NAME", "NAME=TARGET", "PATH", "RULE", "TEXT", "TOKEN", "URL", "COMMAND"];
/// Texts that no option takes in which a quantity, a number or one of several words is asked for.
const WRONG: [&str; 4] = ["wrong", "", "-1", "99999999999999999999999999999x"];
/// The exit codes for a wrong command line and for a wrong workload, which a criterion is a part of.
const CODES: [i32; 2] = [2, 3];

/// An option of a verb that asks for a value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Asks {
    verb: Vec<String>,
    option: String,
    value: String,
}

/// The commands that the help of a command lists.
fn commands(place: &Place, of: &[&str]) -> Vec<String> {
    let help = place.assay(&[of, &["--help"]].concat()).out;
    let Some(listed) = help.split("Commands:\n").nth(1) else { return Vec::new() };
    let lines = listed.split("\n\n").next().unwrap().lines();
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

/// Every verb, and what stands below verbs.
fn verbs(place: &Place) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for verb in commands(place, &[]) {
        let below = commands(place, &[&verb]);
        all.push(vec![verb.clone()]);
        all.extend(below.into_iter().map(|name| vec![verb.clone(), name]));
    }
    all
}

/// The options of a verb with their values, as `--load <LOAD>` stands in its help.
fn options(place: &Place, verb: &[String]) -> Vec<Asks> {
    let words: Vec<&str> = verb.iter().map(String::as_str).chain(["--help"]).collect();
    let help = place.assay(&words).out;
    let parsed = help.lines().filter_map(|line| {
        let begin =
            line.trim_start().split_once("--").filter(|(short, _)| short.is_empty() || short.ends_with(", "))?.1;
        let (option, rest) = begin.split_once(" <").or_else(|| begin.split_once("[=<"))?;
        let is_name = option.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let value = rest.split('>').next()?.to_owned();
        is_name.then(|| Asks { verb: verb.to_vec(), option: format!("--{option}"), value })
    });
    parsed.collect()
}

/// What must stand on the command line beside the option.
fn arguments<'a>(asks: &'a Asks, setting: &'a str) -> Vec<&'a str> {
    let verb = asks.verb.iter().map(String::as_str);
    verb.chain(std::iter::once(setting)).collect()
}

/// What is wrong with the answer to a wrong value; nothing where it is as it should be.
fn fault(asks: &Asks, wrong: &str, (code, out, err): (Option<i32>, &str, &str)) -> Option<String> {
    let names = err.contains(&asks.option) || (!wrong.is_empty() && err.contains(wrong));
    let refused = code.is_some_and(|code| CODES.contains(&code));
    let once = err.matches("error:").count() == 1 && err.starts_with("error: ");
    let whole = !err.contains('…') && !err.contains("panicked");
    if refused && out.is_empty() && once && names && whole {
        return None;
    }
    Some(format!("assay {} {}={wrong:?}: {code:?}\n{out}{err}", asks.verb.join(" "), asks.option))
}

fn all_options(place: &Place) -> Vec<Asks> {
    verbs(place)
        .iter()
        .flat_map(|verb| options(place, verb))
        .filter(|asks| !FREE.contains(&asks.value.as_str()))
        .collect()
}

#[test]
fn a_wrong_value_of_any_option_is_one_error_that_names_it() {
    let place = Place::new();
    let all = all_options(&place);
    assert!(all.len() > 80, "{} options were found", all.len());
    let (mut seen, mut wrong) = (BTreeSet::new(), Vec::new());
    for asks in &all {
        // An option that several verbs share is read by the same function.
        let is_new = seen.insert((asks.option.clone(), asks.value.clone()));
        for value in WRONG.iter().take(if is_new { WRONG.len() } else { 1 }) {
            let setting = format!("{}={value}", asks.option);
            let said = place.assay(&arguments(asks, &setting));
            wrong.extend(fault(asks, value, (said.code, &said.out, &said.err)));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(place.left(&[]), [""; 0], "nothing was done");
}

/// The words of an error are those that a pipe gets, and none is cut.
#[test]
fn at_a_terminal_the_error_is_the_same() {
    let place = Place::new();
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for asks in all_options(&place).iter().filter(|asks| seen.insert(asks.value.clone())) {
        let setting = format!("{}=wrong", asks.option);
        let arguments = arguments(asks, &setting);
        let piped = place.assay(&arguments);
        let mut command = place.command(&arguments);
        command.stdin(Stdio::null());
        let (code, lines) = Console::start(command, (24, 80)).end();
        let shown = lines.join("\n");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        if words(&shown) != words(&piped.err) || code != piped.code {
            wrong.push(format!("{asks:?}: {code:?}\n{shown}\n-- piped: {:?}\n{}", piped.code, piped.err));
        }
    }
    assert!(seen.len() > 10 && wrong.is_empty(), "{} kinds, {}\n{}", seen.len(), wrong.len(), wrong.join("\n"));
}

/// In the help of a preparation, options that also concern disks do not stand below *Databases*.
#[test]
fn the_help_of_a_preparation_lists_what_databases_alone_need_apart() {
    let help = Place::new().assay(&["prep", "--help"]).out;
    let (common, databases) = help.split_once("\nDatabases:\n").expect("a heading for databases");
    let names = |text: &str| -> Vec<String> {
        let words = text.lines().map(str::trim_start).filter(|line| line.starts_with("--"));
        words.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
    };
    assert_eq!(names(databases), ["--warehouses", "--seed", "--clear", "--loaders"]);
    for option in ["--destroy-data", "--create", "--json", "--engine", "--in-container"] {
        assert!(names(common).iter().any(|name| name == option), "{option}: {common}");
    }
}

/// Texts have a form of their own, which is looked at later: one error there too.
#[test]
fn a_wrong_text_is_one_error_as_well() {
    let place = Place::new();
    for (arguments, what) in [
        (&["run", "act-storage", "sim:flash", "--criterion", "wrong"][..], "is not a criterion"),
        (&["run", "act-storage", "sim:flash", "--criterion", "raeds p99 at most 5ms"], "did you mean reads?"),
        (&["run", "act-storage", "sim:flash", "--criterion", "reads p99 < 5"], "5"),
        (&["run", "act-storage", "sim:flash", "--resume", "nowhere"], "there is no run directory nowhere"),
        (&["run", "act-storage", "sim:flash", "--sign", "nowhere.key"], "nowhere.key"),
        (&["judge", "nowhere"], "nowhere"),
        (&["new", "--bursts", "wrong"], "--bursts wrong"),
        (&["new", "--hot", "wrong"], "--hot wrong"),
    ] {
        let said = place.assay(arguments);
        assert!(said.code.is_some_and(|code| (2..=5).contains(&code)), "{arguments:?}: {said:?}");
        assert!(
            said.err.starts_with("error: ") && said.err.matches("error:").count() == 1,
            "{arguments:?}: {}",
            said.err
        );
        assert!(said.out.is_empty() && said.err.contains(what), "{arguments:?}: {}", said.err);
    }
    assert_eq!(place.left(&[]), [""; 0], "nothing was done");
}
