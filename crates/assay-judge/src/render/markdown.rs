//! The judgement as Markdown, to be pasted into an issue or a wiki: verdict, criteria, percentiles, and the table of slices.

use crate::judgement::{Judgement, Outcome, StepFigures, TimesSummary};
use crate::render::marked::part_in_one_line;
use crate::render::shown::{ran_after, throughput_text};
use crate::render::slices;
use crate::words::broken_on;
use assay_base::Span;
use std::fmt::{self, Write};

/// Number of slices that are listed; when there are more, the broken ones and the first.
const SLICES: usize = 48;

/// Writes the page.
pub fn write_markdown(judgement: &Judgement, out: &mut dyn Write) -> fmt::Result {
    let (name, load) = (escaped_text(&judgement.name), escaped_text(&judgement.load));
    writeln!(out, "# {}: {name} at {load}\n\n{}\n", judgement.verdict, escaped_text(&judgement.reason))?;
    for mark in &judgement.watermarks {
        writeln!(out, "- **{}**", escaped_text(mark))?;
    }
    for warning in &judgement.warnings {
        writeln!(out, "- warning: {}", escaped_text(warning))?;
    }
    writeln!(
        out,
        "- seed {}, {}, {}",
        judgement.seed,
        escaped_text(&judgement.tool),
        escaped_text(&judgement.created)
    )?;
    if judgement.steps.is_empty() {
        return write_part(&judgement.part, out);
    }
    for step in &judgement.steps {
        let (title, reason) = (escaped_text(&step.title), escaped_text(&step.reason));
        writeln!(
            out,
            "\n## {}: step {}, {title} at {}\n\n{reason}",
            step.verdict,
            step.number,
            escaped_text(&step.load)
        )?;
        if let Some(gain) = &step.gain {
            writeln!(out, "\n{}", gain.in_words())?;
        }
        write_part(&step.part, out)?;
    }
    Ok(())
}

fn write_part(part: &StepFigures, out: &mut dyn Write) -> fmt::Result {
    for target in &part.targets.each {
        let (name, kind) = (escaped_text(&target.head.name), escaped_text(&target.head.kind));
        // The size of a database is among its facts.
        match target.head.size_bytes {
            0 => writeln!(out, "- {name}: {kind}")?,
            size => writeln!(out, "- {name}: {kind}, {size} bytes")?,
        }
    }
    if let Some(throughput) = throughput_text(part) {
        writeln!(out, "- {}", escaped_text(&throughput))?;
    }
    for stream in part.streams.streams_over_all_targets() {
        if let Some(enlarged) = stream.enlarged_size() {
            writeln!(
                out,
                "- {}: {}, in whole blocks of the target",
                escaped_text(&stream.name),
                escaped_text(&enlarged)
            )?;
        }
    }
    if let Some(cache) = &part.targets.cache {
        writeln!(out, "- {}", escaped_text(&cache.in_words()))?;
    }
    for meter in &part.targets.meters {
        writeln!(out, "- {}", escaped_text(&meter.in_words()))?;
    }
    for figure in &part.streams.per_minute {
        writeln!(out, "- {}", escaped_text(&figure.in_words_with_extremes(&part.slices)))?;
    }
    for (target, database) in part.databases.iter().enumerate() {
        let own: Vec<String> =
            part.streams.per_minute.iter().filter_map(|figure| figure.figure_on_target(target)).collect();
        if !own.is_empty() {
            writeln!(out, "- on {}: {}", escaped_text(&database.head.url), escaped_text(&own.join(", ")))?;
        }
        for (name, value) in database.rows() {
            writeln!(out, "- {}: {}", escaped_text(&name), escaped_text(&value))?;
        }
    }
    writeln!(out, "\n| | criterion | bound | measured | slices broken |\n|---|---|---|---|---|")?;
    for criterion in &part.criteria {
        let measured = criterion.measured.as_ref().map_or("-", |figure| figure.text.as_str());
        let (title, bound) = (escaped_text(&criterion.asked.title), escaped_text(&criterion.asked.bound));
        let (broken, windows) = (criterion.broken, criterion.windows);
        let on = match broken_on(&criterion.broken_on, part.targets.each.len()) {
            on if on.is_empty() => on,
            on => format!(" {}", escaped_text(&on)),
        };
        writeln!(
            out,
            "| {} | {title} | {bound} | {} | {broken} of {windows}{on} |",
            outcome_mark(criterion.outcome),
            escaped_text(measured)
        )?;
    }
    write_parts(part, out)?;
    writeln!(
        out,
        "\n| stream | length | rate | operations | mean | p50 | p90 | p99 | p99.9 | max |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    )?;
    let groups = part.streams.groups_beside_all().map(|(_, totals)| totals);
    for stream in part.streams.together.iter().chain(groups).chain(&part.streams.each) {
        let target = stream.target.as_ref().map_or(String::new(), |target| format!(" on {target}"));
        let name = escaped_text(&format!("{}{target}", stream.name));
        let rate =
            stream.rate_achieved.map_or("-".to_owned(), |rate| format!("{rate:.1}/s{}", ran_after(part, stream)));
        write_row([&name, "response", &rate], &stream.response, out)?;
        write_row([&name, "service", ""], &stream.service, out)?;
    }
    slices::shown_streams(part).iter().try_for_each(|stream| slices_of(part, stream, out))
}

/// The parts into which marks divide the run.
fn write_parts(part: &StepFigures, out: &mut dyn Write) -> fmt::Result {
    let parts = &part.course.parts;
    if parts.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    for (at, own) in parts.iter().enumerate() {
        writeln!(out, "- {}", escaped_text(&part_in_one_line(at + 1, own)))?;
        if let Some(recovery) = &own.recovery {
            writeln!(out, "- recovery in it: {}", escaped_text(&recovery.in_words()))?;
        }
    }
    writeln!(
        out,
        "\n| part | stream | operations | rate | mean | p99 below | max |\n|---|---|---:|---:|---:|---:|---:|"
    )?;
    for (at, own) in parts.iter().enumerate() {
        for stream in &own.streams {
            let rate = stream.rate_achieved.map_or("-".to_owned(), |rate| format!("{rate:.1}/s"));
            let times = [stream.response.mean_ns, stream.response_p99_below_ns, stream.response.max_ns];
            let times = times.map(|ns| ns.map_or("-".to_owned(), |ns| Span::from_ns(ns).human_text())).join(" | ");
            let (number, kind, name) = (at + 1, own.kind, escaped_text(&stream.name));
            writeln!(out, "| {number} {kind} | {name} | {} | {rate} | {times} |", stream.operations)?;
        }
    }
    Ok(())
}

fn outcome_mark(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "ok",
        Outcome::Fail => "**FAIL**",
        Outcome::Invalid => "**INVALID**",
        Outcome::Incomplete => "INCOMPLETE",
        Outcome::NotApplied => "not applied",
    }
}

fn write_row([name, length, rate]: [&str; 3], times: &TimesSummary, out: &mut dyn Write) -> fmt::Result {
    write!(out, "| {name} | {length} | {rate} | {} |", times.operations)?;
    let figures = [times.mean_ns, times.p50_ns, times.p90_ns, times.p99_ns, times.p99_9_ns, times.max_ns];
    figures
        .iter()
        .try_for_each(|ns| write!(out, " {} |", ns.map_or("-".into(), |ns| Span::from_ns(ns).human_text())))?;
    writeln!(out)
}

fn slices_of(part: &StepFigures, stream: &str, out: &mut dyn Write) -> fmt::Result {
    let thresholds = slices::shown_thresholds(part, stream);
    write!(out, "\n{}, share over (%), all targets together\n\n| slice |", escaped_text(stream))?;
    for length in ["response", "service"] {
        thresholds.iter().try_for_each(|threshold| write!(out, " {length} {threshold} |"))?;
    }
    writeln!(out, " |\n|---:|{}---|", "---:|".repeat(2 * thresholds.len()))?;
    let many = part.slices.listed.len() > SLICES;
    let shown = part.slices.listed.iter().filter(|slice| !many || !slice.within || slice.number as usize <= SLICES);
    for slice in shown {
        let Some(figures) = slice.figures_of_stream(stream, None) else { continue };
        write!(out, "| {} |", slice.number)?;
        for times in [&figures.response, &figures.service] {
            for threshold in &thresholds {
                let percent = times.percent_over(*threshold);
                write!(out, " {} |", percent.map_or("-".into(), |percent| format!("{percent:.2}")))?;
            }
        }
        let word = if !slice.within {
            "broken"
        } else if !slice.valid {
            "invalid"
        } else if !slice.complete {
            "incomplete"
        } else {
            ""
        };
        writeln!(out, " {word} |")?;
    }
    if many {
        writeln!(out, "\nOf {} slices the first {SLICES} and the broken ones are listed.", part.slices.listed.len())?;
    }
    Ok(())
}

/// Text without a meaning in Markdown or HTML: special characters are escaped, line feeds become spaces.
fn escaped_text(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                safe.push('\\');
                safe.push(c);
            }
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::escaped_text;

    #[test]
    fn a_name_is_text() {
        assert_eq!(escaped_text("a|b\n# <img> [x](y)"), "a\\|b \\# &lt;img&gt; \\[x\\](y)");
    }
}
