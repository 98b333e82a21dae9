//! Translates the parser's messages to the words of a workload file: what is wrong, and what to write instead.

use assay_base::fault::nearest_known_name;
use std::ops::Range;

/// Keys that users know from other tools, with our equivalents.
const ELSEWHERE: [(&str, &str); 35] = [
    ("bs", "the size of an operation is size = \"4KiB\""),
    ("blocksize", "the size of an operation is size = \"4KiB\""),
    ("block_size", "the size of an operation is size = \"4KiB\""),
    ("iodepth", "a queue depth is in_flight = 32, a closed loop; a rate needs none"),
    ("queue_depth", "a queue depth is in_flight = 32, a closed loop; a rate needs none"),
    ("qd", "a queue depth is in_flight = 32, a closed loop; a rate needs none"),
    ("rw", "write direction = \"read\" or \"write\", and address = \"uniform\" or \"sequential\""),
    ("readwrite", "write direction = \"read\" or \"write\", and address = \"uniform\" or \"sequential\""),
    ("iops", "a rate is rate = \"2000/s\""),
    ("rate_iops", "a rate is rate = \"2000/s\""),
    ("runtime", "the measured time is duration = \"24h\", for the whole workload"),
    ("ramp_time", "time before measuring is warm_up = \"1min\", for the whole workload"),
    ("thinktime", "a pause after each completion is pause = \"1ms\", with in_flight = 1"),
    ("think_time", "a pause after each completion is pause = \"1ms\", with in_flight = 1"),
    ("filename", "targets are named on the command line: assay run FILE TARGET"),
    ("numjobs", "write a rate, or in_flight for the depth of all together; --workers sets the threads"),
    ("bssplit", "shares of sizes are size = { shares = [[\"4KiB\", \"60%\"], [\"64KiB\", \"40%\"]] }"),
    ("bsrange", "sizes between two are size = { from = \"4KiB\", to = \"64KiB\" }"),
    ("blockalign", "places are multiples of address = { uniform = \"4KiB\" }"),
    ("random_distribution", "write address = { zipf = 1.1 }, { hotspot = [\"80%\", \"20%\"] } or { zones = … }"),
    ("zipf", "write address = { zipf = 1.1 }"),
    ("zoned", "write address = { zones = [[\"60%\", \"10%\"], [\"40%\", \"90%\"]] }"),
    ("hotspot", "write address = { hotspot = [\"80%\", \"20%\"] }"),
    ("offset", "a part of a target is range = { from = \"50%\", size = \"10GiB\" }"),
    (
        "io_size",
        "a part of a target is range = { size = \"10GiB\" }; the measured time is duration, for the whole workload",
    ),
    ("filesize", "a part of a target is range = { size = \"10GiB\" }"),
    ("bandwidth", "a rate may be bytes: rate = \"500MiB/s\""),
    ("throughput", "a rate may be bytes: rate = \"500MiB/s\""),
    ("bw", "a rate may be bytes: rate = \"500MiB/s\""),
    ("rwmixread", "write a stream of reads and one of writes, each with its rate"),
    ("rwmixwrite", "write a stream of reads and one of writes, each with its rate"),
    ("dedupe_percentage", "blocks that repeat others are content = { duplicates = \"30%\" }"),
    (
        "buffer_compress_percentage",
        "write content = { compress_to = \"40%\" }: what is left of the data, not what is saved",
    ),
    ("ioengine", "the engine is chosen on the command line: --engine"),
    ("sync", "a write that is on stable media when it completes is durable = true"),
];

/// What is wrong at a place, which is in bytes of `text`, and what to do; the latter may be empty.
pub(super) fn explain_message(message: &str, text: &str, place: Option<&Range<usize>>) -> (String, String) {
    place
        .and_then(|place| bracket_or_value_missing(message, text, place.start))
        .unwrap_or_else(|| translate_message(message))
}

/// Where the parser went on in the next line, because a bracket was open or nothing stood behind the `=`.
fn bracket_or_value_missing(message: &str, text: &str, at: usize) -> Option<(String, String)> {
    let (before, behind) = (text.get(..at)?, text.get(at..)?);
    let mut lines = before.rsplit('\n');
    let is_first = lines.next().is_some_and(|line| line.trim().is_empty());
    let above = lines.find(|line| !line.trim().is_empty());
    if is_first && above.is_some_and(ends_within_bracket) {
        let remedy = "close the bracket with ] or } in the line above, or write a comma there";
        return Some(("the line above ends within a bracket, without a comma".to_owned(), remedy.to_owned()));
    }
    let value = behind.lines().next().and_then(|line| line.split('#').next()).unwrap_or_default();
    let is_missing = value.trim().is_empty() && message.starts_with("string values must be quoted");
    is_missing.then(|| ("a key without a value".to_owned(), "write key = value".to_owned()))
}

/// Whether a bracket of this line is open at its end, behind which no comma stands.
fn ends_within_bracket(line: &str) -> bool {
    let mut open = 0_i64;
    // What stands in quotes is every second piece.
    for piece in line.split(['"', '\'']).step_by(2) {
        let code = piece.split('#').next().unwrap_or_default();
        open += code.matches(['[', '{']).count() as i64 - code.matches([']', '}']).count() as i64;
        if code.len() < piece.len() {
            break;
        }
    }
    open > 0 && !line.trim_end().ends_with([',', '[', '{'])
}

fn translate_message(message: &str) -> (String, String) {
    explain_unknown_key(message)
        .or_else(|| explain_missing_key(message))
        .or_else(|| explain_missing_unit(message))
        .or_else(|| explain_wrong_type(message))
        .or_else(|| explain_grammar(message))
        .unwrap_or_else(|| split_own_message(message))
}

/// For an unknown key: the nearest known one, or our equivalent.
fn explain_unknown_key(message: &str) -> Option<(String, String)> {
    let kind = match message {
        _ if message.starts_with("unknown field") => "key",
        _ if message.starts_with("unknown variant") => "value",
        _ => return None,
    };
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let (written, known) = names.split_first()?;
    let elsewhere = ELSEWHERE.iter().find(|(key, _)| kind == "key" && key == written);
    let remedy = match (elsewhere, nearest_known_name(written, known)) {
        (Some((_, ours)), _) => (*ours).to_owned(),
        (None, Some(name)) => format!("did you mean {name}?"),
        (None, None) => format!("known here: {}", known.join(", ")),
    };
    Some((format!("unknown {kind} \"{}\"", written.escape_debug()), remedy))
}

fn explain_missing_key(message: &str) -> Option<(String, String)> {
    let name = message.strip_prefix("missing field ")?.trim_matches('`');
    Some((format!("the key {name} is missing"), format!("add {name} = …")))
}

/// For a number without a unit where a quantity is required.
fn explain_missing_unit(message: &str) -> Option<(String, String)> {
    let (found, wanted) = message.strip_prefix("invalid type: ")?.split_once(", expected a quoted ")?;
    let example = match wanted.trim() {
        "Bytes" => "a size with its unit in quotes, such as \"8KiB\"",
        "Rate" => "a rate in quotes, such as \"2000/s\"",
        "Span" => "a time with its unit in quotes, such as \"30s\"",
        "Share" => "a percentage in quotes, such as \"5%\"",
        "Measure" => "measure = \"response\" or measure = \"service\"",
        other => other,
    };
    Some((format!("{} is not a quantity with its unit", named_value(found)), format!("write {example}")))
}

/// For a value of another type.
fn explain_wrong_type(message: &str) -> Option<(String, String)> {
    let rest = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "))?;
    let (found, wanted) = rest.lines().next()?.split_once(", expected ")?;
    let wanted = match wanted.trim() {
        "u16" | "u32" | "u64" | "usize" => "a whole number, such as 32",
        "f64" => "a number, such as 1.1",
        "a boolean" => "true or false, without quotes",
        "a string" => "a text in quotes",
        "a sequence" if found == "map" => {
            return Some((
                "this table can stand several times, and its name is in single brackets".into(),
                "write it in double brackets, such as [[stream]]".into(),
            ));
        }
        "a sequence" => "a list in brackets",
        "a map" => "a table, such as { from = \"512B\", to = \"64KiB\" }",
        other => other,
    };
    Some((format!("{} does not belong here", named_value(found)), format!("write {wanted}")))
}

/// `integer `100`` as a person would write it.
fn named_value(found: &str) -> String {
    match found {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        _ => match found.split_once(' ') {
            Some(("integer" | "floating", value)) => value.trim_start_matches("point ").replace('`', ""),
            Some(("string", value)) => format!("the text {value}"),
            Some(("boolean", value)) => value.replace('`', ""),
            _ => found.to_owned(),
        },
    }
}

/// What is wrong and what to do, for text that is not valid TOML: how the parser's message begins comes first.
const GRAMMAR: [(&str, &str, &str); 22] = [
    ("string values must be quoted", "a value of letters stands without quotes", "put it in quotes, such as \"8KiB\""),
    ("key with no value", "a key without a value", "write key = value"),
    ("missing value", "a key without a value", "write key = value"),
    ("missing assignment", "a key without a value", "write key = value"),
    ("missing key for", "a value without a key", "write key = value"),
    ("extra assignment", "a second = sign", "write key = value"),
    ("extra `=`", "a second = sign", "write key = value"),
    ("unexpected `=` in array", "a key in a list", "a list has only values; keys stand in a table: { key = value }"),
    ("extra comma", "a comma with nothing before it", "remove it"),
    ("missing comma", "no comma between two entries", "write a comma before this one"),
    ("duplicate key", "duplicate key: this key stands here a second time", "remove one of the two"),
    ("invalid basic string", "a text without its closing quote", "close it with \""),
    ("invalid literal string", "a text without its closing quote", "close it with '"),
    ("invalid key-value pair", NO_ENTRY, ENTRIES),
    ("invalid key", NO_ENTRY, ENTRIES),
    ("invalid inline table element", NO_ENTRY, "write { key = value }"),
    ("unclosed", NOT_CLOSED, "close it with ] or }"),
    ("missing array opening", "a bracket that was never opened", "remove it"),
    ("missing inline table opening", "a bracket that was never opened", "remove it"),
    ("missing table open", "a bracket that was never opened", "remove it"),
    ("unexpected leading zero", "a number that begins with 0", "remove the 0"),
    ("unexpected key or value", BEHIND, ONE_A_LINE),
];
const NO_ENTRY: &str = "neither a key = value nor a [table]";
const ENTRIES: &str = "a workload file is TOML: key = value, one a line";
const NOT_CLOSED: &str = "a bracket is not closed";
const BEHIND: &str = "something stands behind the value";
const ONE_A_LINE: &str = "write one key = value a line; a value with a unit stands in quotes";

/// For text that is not valid TOML.
fn explain_grammar(message: &str) -> Option<(String, String)> {
    let message = message.lines().next()?;
    let known = GRAMMAR.iter().find(|(begin, ..)| message.starts_with(begin)).map(|(_, what, remedy)| (*what, *remedy));
    let not_closed = message.contains("expected `]`") || message.contains("expected `}`");
    let behind = message.contains("expected newline");
    let known = known.or_else(|| not_closed.then_some((NOT_CLOSED, "close it with ] or }")));
    let (what, remedy) = known.or_else(|| behind.then_some((BEHIND, ONE_A_LINE)))?;
    Some((what.to_owned(), remedy.to_owned()))
}

/// Our own errors have their remedy after a semicolon.
fn split_own_message(message: &str) -> (String, String) {
    let first = message.lines().next().unwrap_or(message);
    match first.split_once("; ") {
        Some((what, remedy)) => (what.to_owned(), remedy.to_owned()),
        None => (first.to_owned(), String::new()),
    }
}
