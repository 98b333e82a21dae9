//! The parts into which marks divide a run, side by side.

use crate::judgement::{Outcome, PartFigures, PartStream, StepFigures};
use crate::render::page::{Page, Reader};
use crate::render::room::{LISTED, Room};
use crate::words::{human_time, measured_sentence};
use assay_base::Span;

/// The figures of each stream in each part, then what was found in each part, then how long recoveries took.
pub(crate) fn add_parts(page: &mut Page, part: &StepFigures, room: Room) {
    let parts = &part.course.parts;
    if parts.is_empty() {
        return;
    }
    page.add_blank_line();
    page.add_line(format!("{:<31}{:>9}{:>9}{:>9}{:>9}{:>9}", "part", "rate/s", "mean", "p99 <", "max", "failed"));
    let listed = if page.reader == Reader::Pipe { usize::MAX } else { room.choose_lines(LISTED, 3) };
    let rows: Vec<(usize, &PartFigures, &PartStream)> = (parts.iter().enumerate())
        .flat_map(|(at, part)| part.streams.iter().map(move |stream| (at + 1, part, stream)))
        .filter(|(_, _, stream)| stream.operations > 0 || stream.failed > 0)
        .collect();
    for (number, part, stream) in rows.iter().take(listed) {
        let name = page.reader.cut_name(&stream.name, 17);
        page.add_line(format!("{:<31}{}", format!("{number} {} {name}", part.kind), figures_of(stream)));
    }
    if rows.len() > listed {
        page.add_line(format!("… {} more rows: {}", rows.len() - listed, page.judge_command("--json")));
    }
    let most = room.choose_lines(usize::MAX, 1);
    for (at, part) in parts.iter().enumerate().take(room.choose_lines(LISTED, 3)) {
        page.add_words("", &part_in_one_line(at + 1, part), most);
    }
    let recoveries = parts.iter().enumerate().filter_map(|(at, part)| Some((at + 1, part, part.recovery.as_ref()?)));
    for (number, part, recovery) in recoveries.take(room.choose_lines(LISTED, 1)) {
        page.add_words("", &format!("recovery in {}: {}", part.part_in_words(number), recovery.in_words()), most);
    }
}

fn figures_of(stream: &PartStream) -> String {
    let rate = stream.rate_achieved.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
    let times = [stream.response.mean_ns, stream.response_p99_below_ns, stream.response.max_ns]
        .map(|ns| format!("{:>9}", ns.map_or_else(|| "-".to_owned(), |ns| Span::from_ns(ns).human_text())))
        .concat();
    format!("{rate:>9}{times}{:>9}", stream.failed)
}

/// `part 2 (disturbed, "scrub begins"), 13 s from 12 s on: broken: 8.00% of reads had a response over 1 ms`
pub(crate) fn part_in_one_line(number: usize, part: &PartFigures) -> String {
    let from = if part.start_ns == 0 { "0".to_owned() } else { human_time(part.start_ns) };
    let time = format!("{} from {from} on", human_time(part.measured_ns));
    format!("{}, {time}: {}", part.part_in_words(number), found_in_words(part))
}

/// What was found in a part by itself.
pub(crate) fn found_in_words(part: &PartFigures) -> String {
    let broken = part.criteria.iter().find(|criterion| criterion.outcome == Outcome::Fail);
    match part.outcome {
        None if part.measured_ns == 0 => "nothing was measured in it".to_owned(),
        None => "no criterion names it".to_owned(),
        Some(Outcome::Fail) => format!("broken: {}", broken.map(criterion_in_words).unwrap_or_default()),
        Some(Outcome::Pass | Outcome::NotApplied) => "every bound held".to_owned(),
        Some(Outcome::Invalid) => "it proves nothing".to_owned(),
        Some(Outcome::Incomplete) => "not complete".to_owned(),
    }
}

fn criterion_in_words(outcome: &crate::judgement::CriterionOutcome) -> String {
    let (asked, text) = (&outcome.asked, outcome.measured.as_ref().map_or("-", |figure| figure.text.as_str()));
    match (&asked.stream, asked.measure, asked.exact_bound) {
        (Some(stream), Some(measure), Some(bound)) => {
            format!("{}, bound {}", measured_sentence(stream, measure, &bound, text), asked.bound)
        }
        _ => format!("{} {text}, bound {}", asked.title, asked.bound),
    }
}
