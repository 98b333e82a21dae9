//! The summary at the end of a run: the verdict first, then what decided it, then the figures, then what to do next.

use crate::judgement::{Judgement, MeasuredTime, Step, StepFigures, TargetTotals};
use crate::render::criteria::add_criteria;
use crate::render::marked::add_parts;
use crate::render::page::{Page, Reader};
use crate::render::room::{LINES, LISTED, ROOMS, Room, WARNINGS};
use crate::render::shown::{Shown, figures_of_step, of_database, throughput_text};
use crate::render::slices::{by_target, shown_streams, slice_table};
use crate::render::spark;
use crate::render::tested::devices_in_words;
use crate::render::totals::{add_figures, add_percentiles, add_phases, by_slice};
use crate::verdict::Verdict;
use crate::words::for_a_shell;
use crate::words::human_time;
use assay_base::Span;
use std::fmt;

/// Columns for the title of a step.
const TITLE: usize = 36;

/// The summary; the next command names the log as `LOG`.
pub fn write_summary(judgement: &Judgement, out: &mut dyn fmt::Write) -> fmt::Result {
    text_for(judgement, "LOG", Reader::default(), out)
}

/// The summary of the log at `log`, which the next command names.
pub fn text_for(judgement: &Judgement, log: &str, reader: Reader, out: &mut dyn fmt::Write) -> fmt::Result {
    text_with(judgement, &Following { log, again: None }, reader, out)
}

/// What the next command is made of.
#[derive(Clone, Copy, Debug)]
pub struct Following<'a> {
    /// The log.
    pub log: &'a str,
    /// The command that continues the run, where it is known.
    pub again: Option<&'a str>,
}

/// The summary, with what its next command is made of.
pub fn text_with(
    judgement: &Judgement,
    following: &Following<'_>,
    reader: Reader,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    let mut page = Page::default();
    for room in ROOMS {
        page = compose_summary(judgement, following, room, reader);
        if page.len() <= LINES || reader == Reader::Pipe {
            break;
        }
    }
    page.write_lines(out)
}

fn compose_summary(judgement: &Judgement, following: &Following<'_>, room: Room, reader: Reader) -> Page {
    let mut page = Page::about_log(following.log, reader);
    add_head(&mut page, judgement, room);
    add_steps(&mut page, judgement, room);
    let mut last = page.empty_beside();
    add_warnings(&mut last, judgement, room);
    next_command(&mut last, judgement, following);
    match reader {
        // Where there is room, each step is shown in full.
        Reader::Pipe if !judgement.steps.is_empty() => {
            for step in &judgement.steps {
                page.add_blank_line();
                page.add_line(step_title(step));
                add_details(&mut page, Shown::from_step(judgement, step), room, last.len());
            }
        }
        _ => {
            let step = judgement.shown_step();
            if step.is_none() || !room.tight {
                page.add_blank_line();
            }
            step.into_iter().for_each(|step| page.add_words("", &step_title(step), room.choose_lines(usize::MAX, 1)));
            add_details(&mut page, Shown::from_judgement(judgement), room, last.len());
        }
    }
    if let Some(answer) = &judgement.answer {
        last.add_blank_line();
        last.add_text("", answer);
    }
    page.append(last);
    page
}

/// Criteria, slices and figures of a result or of a step; `behind` lines follow.
fn add_details(page: &mut Page, shown: Shown<'_>, room: Room, behind: usize) {
    let part = shown.part;
    add_criteria(page, part, room);
    let durable = part.targets.durability.iter().take(room.choose_lines(LISTED, 1));
    durable.for_each(|figures| page.add_words("            ", &figures.in_words(), room.choose_lines(usize::MAX, 2)));
    let mut tail = page.empty_beside();
    add_percentiles(&mut tail, shown, room);
    by_slice(&mut tail, spark::spark_line(part), room);
    add_phases(&mut tail, &part.streams, room);
    add_parts(&mut tail, part, room);
    tail.add_blank_line();
    add_figures(&mut tail, shown, room);
    page.add_blank_line();
    match room.table {
        Some(least) => {
            add_slice_tables(page, shown, LINES.saturating_sub(tail.len() + behind + 1), least, room.targets)
        }
        None => page.add_line(format!("(the slices: {})", page.judge_command("--table"))),
    }
    page.add_blank_line();
    page.append(tail);
}

/// `step 2 of 3, reader`: the heading of its details.
fn step_title(step: &Step) -> String {
    format!("step {} of {}, {}", step.number, step.of, step.title)
}

fn add_head(page: &mut Page, judgement: &Judgement, room: Room) {
    let part = &judgement.part;
    let targets = match part.targets.each.as_slice() {
        [] => "no target".to_owned(),
        [only] => only.head.name.clone(),
        several => format!("{} targets", several.len()),
    };
    let what = format!("{} at {} on {targets}, {}", judgement.name, judgement.load, length_text(&part.time));
    page.add_line(format!("{:<10}  {what}", judgement.verdict.to_string()));
    // Each of several steps has a throughput of its own, in its line.
    let throughput = throughput_text(part).filter(|_| judgement.steps.is_empty());
    let tested = Some(devices_in_words(part)).filter(|tested| !tested.is_empty());
    if let Some(tested) = tested.into_iter().chain(throughput).reduce(|device, done| format!("{device}; {done}")) {
        page.add_words("            ", &tested, room.choose_lines(usize::MAX, 2));
    }
    if let Some(figures) = of_database(part).filter(|_| judgement.steps.is_empty()) {
        page.add_words("            ", &figures, room.choose_lines(usize::MAX, 2));
    }
    page.add_text("            ", &judgement.reason);
    if judgement.watermarks.is_empty() {
        return;
    }
    let note = if is_quick(judgement) { ": quick look, not a certification" } else { "" };
    // What a workload is derived from is a sentence of its own.
    let (derived, others): (Vec<&String>, Vec<&String>) =
        judgement.watermarks.iter().partition(|mark| mark.starts_with("DERIVED"));
    let others: Vec<&str> = others.into_iter().map(String::as_str).collect();
    if !others.is_empty() {
        page.add_text("            ", &format!("{}{note}", others.join(", ")));
    }
    derived.into_iter().for_each(|mark| page.add_text("            ", mark));
}

fn is_quick(judgement: &Judgement) -> bool {
    judgement.watermarks.iter().any(|mark| mark.starts_with("QUICK"))
}

fn length_text(time: &MeasuredTime) -> String {
    let measured = time.measured_ns.min(time.planned_ns);
    if measured < time.planned_ns {
        format!("{} of {} measured", human_time(measured), human_time(time.planned_ns))
    } else {
        format!("{} measured", human_time(measured))
    }
}

fn add_steps(page: &mut Page, judgement: &Judgement, room: Room) {
    if judgement.steps.is_empty() {
        return;
    }
    page.add_blank_line();
    // The verdict depends on the last steps.
    let left_out = judgement.steps.len().saturating_sub(room.choose_lines(LISTED, 3));
    if left_out > 0 {
        page.add_line(format!("… {left_out} earlier steps"));
    }
    for step in &judgement.steps[left_out..] {
        step_lines(page, step, room);
    }
}

/// A step and its figures; where there is hardly any room, on one line.
fn step_lines(page: &mut Page, step: &Step, room: Room) {
    let (number, load, verdict, measured) = (step.number, &step.load, step.verdict, length_text(&step.part.time));
    let in_one_line = room.table.is_none();
    if in_one_line {
        let title = page.reader.cut_name(&step.title, 12);
        let done = throughput_text(&step.part).map(|done| format!(", {done}")).unwrap_or_default();
        page.add_line(format!("step {number}  {title:<12}  {load:>7}  {verdict:<10}  {measured}{done}"));
    } else {
        let row = format!("  {load:>7}  {verdict:<10}  {measured}");
        page.add_row(&format!("step {number}  "), &step.title, TITLE, &row);
    }
    if let Some(gain) = &step.gain {
        page.add_line(format!("        {}", gain.in_words()));
    }
    let figures = figures_of_step(&step.part);
    if !in_one_line && !figures.is_empty() {
        page.add_words("        ", &figures, room.choose_lines(usize::MAX, 1));
    }
}

fn add_slice_tables(page: &mut Page, shown: Shown<'_>, most: usize, least: usize, with_targets: bool) {
    let part = shown.part;
    let mut streams = shown_streams(part);
    // There may be space for one stream only: the one that decided.
    let decided = shown.deciding.and_then(|place| place.stream.as_ref());
    streams.sort_by_key(|stream| decided.is_some_and(|decided| decided != stream));
    for (index, stream) in streams.iter().enumerate() {
        let targets = if with_targets { by_target(part, stream) } else { Page::default() };
        let room = most.saturating_sub(page.len() + targets.len() + 1);
        if index > 0 && room < least {
            page.add_line(format!(
                "(tables of {} more streams: {})",
                streams.len() - index,
                page.judge_command("--table")
            ));
            return;
        }
        page.add_blank_line();
        let share = if streams.len() - index > 1 { room / (streams.len() - index) } else { room };
        page.append(slice_table(part, stream, None, share.max(least), shown.averages));
        page.add_blank_line();
        page.append(targets);
    }
}

fn add_warnings(page: &mut Page, judgement: &Judgement, room: Room) {
    let listed = room.choose_lines(WARNINGS, 1);
    for warning in judgement.warnings.iter().take(listed) {
        page.add_words("warning: ", warning, room.warning);
    }
    if judgement.warnings.len() > listed {
        page.add_line(format!("warning: {} more in the JSON", judgement.warnings.len() - listed));
    }
    if let Some(damage) = judgement.damage.first() {
        let more = if judgement.damage.len() > 1 {
            format!(" and {} more", judgement.damage.len() - 1)
        } else {
            String::new()
        };
        page.add_words(
            "damage: ",
            &format!("line {}: {}{more}", damage.line, damage.what),
            room.choose_lines(usize::MAX, 1),
        );
    }
    for gap in judgement.part.course.gaps.iter().take(room.choose_lines(2, 1)) {
        let what = format!("at {} ({}), went on {}", Span::from_ns(gap.at_ns).human_text(), gap.before, gap.resumed);
        page.add_words("gap: ", &what, room.choose_lines(usize::MAX, 1));
    }
}

/// What to do next, and the exit code. A command is one line, however long its path is: a terminal breaks it without a
/// line feed, and it can be copied.
fn next_command(page: &mut Page, judgement: &Judgement, following: &Following<'_>) {
    let code = format!("(exit code {})", judgement.verdict.exit_code());
    let command = format!("next: {}", next(judgement, following));
    if command.chars().count() + 2 + code.len() <= page.reader.text_width() {
        return page.add_line(format!("{command}  {code}"));
    }
    page.add_wide_line(command);
    page.add_line(code);
}

/// The command that fills the targets whose reads met blocks that were never written.
fn preparation_command(part: &StepFigures) -> Option<String> {
    let blank: Vec<&TargetTotals> = part.targets.each.iter().filter(|target| target.is_blank()).collect();
    let names: Vec<String> = blank.iter().map(|target| for_a_shell(&target.head.name)).collect();
    // A device needs consent; a file of ours needs none.
    let is_device = blank.iter().any(|target| target.head.kind == "block device");
    let consent = if is_device { " --destroy-data TOKEN" } else { "" };
    (!names.is_empty()).then(|| format!("assay prep {}{consent}", names.join(" ")))
}

fn next(judgement: &Judgement, following: &Following<'_>) -> String {
    let log = for_a_shell(following.log);
    match judgement.verdict {
        Verdict::Pass | Verdict::Fail => format!("assay report {log}"),
        Verdict::Invalid => preparation_command(&judgement.part).unwrap_or_else(|| "assay doctor".to_owned()),
        // A quick look takes only a minute, and its scratch file has been removed.
        Verdict::Incomplete if is_quick(judgement) => "the same command again".to_owned(),
        // Nobody continues it.
        Verdict::Incomplete if !judgement.part.generator.ranks.is_empty() => {
            "the same command with another --out".to_owned()
        }
        Verdict::Incomplete => {
            following.again.map_or_else(|| format!("the same command with --resume {log}"), str::to_owned)
        }
    }
}
