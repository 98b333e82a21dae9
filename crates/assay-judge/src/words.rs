//! Times, changes and names in words, used by reasons and by every renderer.

use crate::judgement::{BrokenTarget, Change, Figure, Steadiness};
use assay_base::text::printable_char;
use assay_base::{Bound, Measure, Share, Span};
use assay_record::EventKind;

/// The name of a file or target, quoted so that a shell reads it as one word, for commands that the user may type.
pub fn for_a_shell(name: &str) -> String {
    if name.chars().any(|c| printable_char(c) != c) {
        // In the syntax of bash and zsh: such a name can still be copied, and does nothing to a terminal.
        let escaped = name.chars().map(|c| match c {
            '\'' | '\\' => format!("\\{c}"),
            c if printable_char(c) != c && c.is_ascii() => format!("\\x{:02x}", u32::from(c)),
            c if printable_char(c) != c => format!("\\u{:04x}", u32::from(c)),
            c => c.to_string(),
        });
        return format!("$'{}'", escaped.collect::<String>());
    }
    // An option would be read in its place.
    let place = if name.starts_with('-') { "./" } else { "" };
    let name = &format!("{place}{name}");
    if name.chars().all(|c| c.is_alphanumeric() || "/._-+,:=@%".contains(c)) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', "'\\''"))
    }
}

/// So many streams of a loop are named; of more, the first ones.
const NAMED_IN_LOOP: usize = 3;

/// `a and b`; of many names the first ones: `a, b, c and 9 more`.
pub(crate) fn loop_streams_text(names: &[&str]) -> String {
    match names.len().saturating_sub(NAMED_IN_LOOP) {
        0 => names.join(" and "),
        more => format!("{} and {more} more", names[..NAMED_IN_LOOP].join(", ")),
    }
}

/// `1, 2 and 3`
pub(crate) fn list_in_words(all: &[String]) -> String {
    match all.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => all.concat(),
    }
}

/// A time for people, with three digits: `1.23 ms`.
pub(crate) fn human_time(ns: u64) -> String {
    Span::from_ns(ns).human_text()
}

/// Adds what is not known yet, such as the watermarks of one more run.
pub(crate) fn add_new<'a>(known: &mut Vec<String>, more: impl IntoIterator<Item = &'a String>) {
    for one in more {
        if !known.contains(one) {
            known.push(one.clone());
        }
    }
}

/// Number of targets that a sentence names; further ones are counted.
const NAMED: usize = 8;

/// `on 2 of 4 targets, the worst first: sim:c 20.00%, sim:b 8.00%`; empty where no target broke anything by itself.
pub(crate) fn broken_on(broken: &[BrokenTarget], of: usize) -> String {
    let named: Vec<String> =
        broken.iter().take(NAMED).map(|broken| format!("{} {}", broken.target, broken.worst.text)).collect();
    let more = match broken.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = named.join(", ") + &more;
    match broken.len() {
        0 => String::new(),
        1 => format!("on 1 of {of} targets: {named}"),
        n if n == of => format!("on all {of} targets, the worst first: {named}"),
        n => format!("on {n} of {of} targets, the worst first: {named}"),
    }
}

/// A bound as it was given: `80 s` where three digits of the next unit would be another time (`1.33 min`).
pub(crate) fn exact_bound(bound: Span) -> String {
    let rounded = bound.human_text();
    let reads_back = rounded.replace(' ', "").parse() == Ok(bound);
    let exact = bound.to_string();
    let unit = exact.trim_start_matches(|c: char| c.is_ascii_digit());
    if reads_back { rounded } else { format!("{} {}", &exact[..exact.len() - unit.len()], unit.replace("us", "µs")) }
}

/// A place in measured time: `5:12:00`, with milliseconds where it is not a whole second.
pub(crate) fn clock_text(ns: u64) -> String {
    let (seconds, ms) = (ns / 1_000_000_000, ns / 1_000_000 % 1000);
    let text = format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if ms == 0 { text } else { format!("{text}.{ms:03}") }
}

/// `96.8 µs`, or `1200.0/s`.
pub(crate) fn level_text(steadiness: &Steadiness, value: f64) -> String {
    match steadiness.measure.as_str() {
        "throughput" => format!("{value:.1}/s"),
        _ => Span::from_ns(value as u64).human_text(),
    }
}

/// `mean response of reads rose 45% (96.8 µs to 140 µs)`.
pub(crate) fn change_sentence(steadiness: &Steadiness, change: &Change) -> String {
    let share = change.after / change.before - 1.0;
    format!(
        "{} of {} {} {:.0}% ({} to {})",
        steadiness.measure,
        steadiness.stream,
        if share < 0.0 { "fell" } else { "rose" },
        share.abs() * 100.0,
        level_text(steadiness, change.before),
        level_text(steadiness, change.after)
    )
}

/// How often an event happened, in words: `3 I/O errors`, `the run was stopped because of lag`.
pub(crate) fn event_in_words(kind: &EventKind, times: u64) -> String {
    let (one, many) = match kind {
        EventKind::IoError => ("I/O error", "I/O errors"),
        EventKind::ShortIo => ("short transfer", "short transfers"),
        EventKind::Stuck => ("stuck operation", "stuck operations"),
        EventKind::StreamEnd => ("stream that has done its operations", "streams that have done their operations"),
        EventKind::StreamBegin => ("stream that has begun after another one", "streams that have begun after others"),
        EventKind::LateCompletion => ("late completion of a stuck operation", "late completions of stuck operations"),
        EventKind::Damage => ("read of damaged data", "reads of damaged data"),
        EventKind::TargetLost => ("lost target", "lost targets"),
        EventKind::LagStop => return "the run was stopped because of lag".to_owned(),
        EventKind::NotSteady => return "the load did not become steady".to_owned(),
        EventKind::EngineFailed => return "the engine failed".to_owned(),
        EventKind::Mark => ("mark", "marks"),
        EventKind::RankJudged => ("rank judged by itself", "ranks judged by themselves"),
        EventKind::RankSilent => ("silence of a rank", "silences of ranks"),
        EventKind::RankLost => ("loss of a rank", "losses of ranks"),
        EventKind::EngineHealth => ("engine problem", "engine problems"),
        EventKind::Environment => ("remark about the machine", "remarks about the machine"),
        EventKind::EnvironmentChanged => ("change of the machine", "changes of the machine"),
        EventKind::TornTail => return "the log was continued after an unfinished last line".to_owned(),
        EventKind::Steady => return "the load became steady".to_owned(),
        EventKind::Neighbours => ("look at other programs", "looks at other programs"),
        EventKind::Health => ("health report", "health reports"),
        EventKind::Warning => ("warning", "warnings"),
        EventKind::ConditionBroken => ("broken condition", "broken conditions"),
        EventKind::Disturbed => ("change by somebody else", "changes by somebody else"),
        EventKind::Undisturbed => return "nobody else changed anything until the run was cut short".to_owned(),
        EventKind::Unchecked => ("check that was not possible", "checks that were not possible"),
        EventKind::Checked => ("check after the run", "checks after the run"),
        EventKind::Watermark => ("watermark", "watermarks"),
        EventKind::Settings => ("reading of settings", "readings of settings"),
        EventKind::Other(_) => return format!("{times} × {}", kind.as_str()),
    };
    format!("{times} {}", if times == 1 { one } else { many })
}

/// `in slice 6 (5 h to 6 h)` or `in 10 s slice 5 (40 s to 50 s)`, with the target if it is about one.
pub(crate) fn place_in_words(figure: &Figure, planned: u64, own_ns: Option<u64>) -> String {
    let target = figure.target.as_ref().map(|target| format!(" on {target}")).unwrap_or_default();
    if planned <= 1 {
        return format!("over the measured {}{target}", human_time(figure.end_ns.saturating_sub(figure.start_ns)));
    }
    let from = if figure.start_ns == 0 { "0".to_owned() } else { human_time(figure.start_ns) };
    let slice = match own_ns {
        None => format!("slice {}", figure.window),
        Some(ns) => format!("{} slice {}", human_time(ns), figure.window),
    };
    format!("in {slice} ({from} to {}){target}", human_time(figure.end_ns))
}

/// `2.70%`; small shares keep enough digits to differ from zero.
pub(crate) fn percent_text(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.01 { format!("{percent:.4}%") } else { format!("{percent:.2}%") }
}

/// Like [`percent_text`], with more digits where two would look like the bound itself.
pub(crate) fn share_text(share: f64, limit: Share) -> String {
    let text = percent_text(share);
    if text == percent_text(limit.as_f64()) && share != limit.as_f64() {
        format!("{:.5}%", share * 100.0)
    } else {
        text
    }
}

/// The bound's own digits, where three are not enough for it.
fn exact_digits(span: Span) -> String {
    let short = span.human_text();
    let same = short.replace(' ', "").replace('µ', "u").parse() == Ok(span);
    if same { short } else { span.to_string() }
}

/// The bound in words: `< 5%`.
pub(crate) fn bound_text(bound: &Bound) -> String {
    match bound {
        Bound::Over { below, .. } => format!("< {below}"),
        Bound::OverAtMost { at_most, .. } => format!("<= {at_most}"),
        Bound::MeanAtMost(span) => format!("<= {}", exact_digits(*span)),
        Bound::RateAtLeast(rate) => format!(">= {rate}"),
        Bound::ThroughputAtLeast(bytes) => format!(">= {bytes}/s"),
        Bound::ErrorsAtMost(share) => format!("<= {share}"),
    }
}

/// What is measured, in words: `reads response over 1 ms`.
pub(crate) fn measure_title(stream: &str, measure: Measure, bound: &Bound) -> String {
    match bound {
        Bound::Over { over, .. } | Bound::OverAtMost { over, .. } => {
            format!("{stream} {measure} over {}", exact_bound(*over))
        }
        Bound::MeanAtMost(_) => format!("{stream} {measure} mean"),
        Bound::RateAtLeast(_) => format!("{stream} rate"),
        Bound::ThroughputAtLeast(_) => format!("{stream} throughput"),
        Bound::ErrorsAtMost(_) => format!("{stream} errors"),
    }
}

/// What was measured, as a sentence: `8.00% of reads had a response over 1 ms`, `the mean response of reads was 31 ms`.
pub(crate) fn measured_sentence(stream: &str, measure: Measure, bound: &Bound, measured: &str) -> String {
    match bound {
        Bound::Over { over, .. } | Bound::OverAtMost { over, .. } => {
            format!("{measured} of {stream} had a {measure} over {}", exact_bound(*over))
        }
        Bound::MeanAtMost(_) => format!("the mean {measure} of {stream} was {measured}"),
        Bound::RateAtLeast(_) => format!("{stream} ran at {measured}"),
        Bound::ThroughputAtLeast(_) => format!("{stream} moved {measured}"),
        Bound::ErrorsAtMost(_) => format!("{measured} of {stream} failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_the_time_that_was_given() {
        let bound = |text: &str| exact_bound(text.parse().unwrap());
        let shown = ["80s", "90s", "1ms", "1500us", "1h", "2500us", "1234567ns", "100s"].map(bound);
        let expected = ["80 s", "1.50 min", "1 ms", "1.50 ms", "1 h", "2.50 ms", "1234567 ns", "100 s"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_name_can_be_typed_again() {
        for (name, typed) in [
            ("run-1", "run-1"),
            ("my run", "'my run'"),
            ("-x", "./-x"),
            ("-my run", "'./-my run'"),
            ("~x", "'~x'"),
            ("it's", "'it'\\''s'"),
            ("a\nb'\u{1b}\u{202e}", "$'a\\x0ab\\'\\x1b\\u202e'"),
        ] {
            assert_eq!(for_a_shell(name), typed);
        }
    }

    #[test]
    fn places_in_measured_time() {
        assert_eq!(
            [clock_text(0), clock_text(18_720_000_000_000), clock_text(1_500_000_000)],
            ["0:00:00", "5:12:00", "0:00:01.500"]
        );
    }
}
