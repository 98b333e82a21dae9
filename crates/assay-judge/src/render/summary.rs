//! The summary at the end of a run: the verdict first, then what decided it, then the figures, then what to do next.

use crate::judgement::{
    CriterionOutcome, Integrity, Judgement, Outcome, Part, StreamTotals, TargetTotals, TimesSummary,
};
use crate::render::page::{Page, Reader};
use crate::render::slices::{by_target, one, shown_streams};
use crate::render::{spark, steady};
use crate::verdict::Verdict;
use crate::words::{broken_on, for_a_shell};
use assay_base::{Bytes, Span};
use std::fmt;

/// The most lines of a summary.
const LINES: usize = 40;
/// The least lines a table of slices takes: with a few rows, and with one.
const LEAST_TABLE: usize = 10;
const LEANEST_TABLE: usize = 8;
/// Criteria, streams, steps and warnings that are listed.
const LISTED: usize = 8;
const WARNINGS: usize = 3;
/// Models of several targets that are named.
const MODELS: usize = 3;

/// The summary; the next command names the log as `LOG`.
pub fn text(judgement: &Judgement, out: &mut dyn fmt::Write) -> fmt::Result {
    text_for(judgement, "LOG", Reader::default(), out)
}

/// How much a summary says. One that would be too long is made again with less, until it fits.
#[derive(Clone, Copy)]
struct Room {
    /// The least lines that a table of slices takes; without any it is only named.
    table: Option<usize>,
    /// Lines of what else stands slice by slice.
    by_slice: usize,
    /// The worst slice of each target.
    targets: bool,
    /// Lines of the targets that broke a criterion; the reason names those of the one that decided.
    broken_on: usize,
    /// Lines of a warning.
    warning: usize,
    /// Every list and text is cut to what comes first in it.
    tight: bool,
}

/// From everything to what must be said. A verdict is explained by texts first: of the slices some go before a text is cut.
const ROOMS: [Room; 5] = [
    Room { table: Some(LEAST_TABLE), by_slice: usize::MAX, targets: true, broken_on: 2, warning: 2, tight: false },
    Room { table: Some(LEANEST_TABLE), by_slice: 2, targets: true, broken_on: 1, warning: 2, tight: false },
    Room { table: Some(LEANEST_TABLE), by_slice: 2, targets: false, broken_on: 1, warning: 2, tight: false },
    Room { table: Some(LEANEST_TABLE), by_slice: 2, targets: false, broken_on: 0, warning: 2, tight: true },
    Room { table: None, by_slice: 0, targets: false, broken_on: 0, warning: 1, tight: true },
];

impl Room {
    /// Of a list or a text, so many lines.
    fn of(self, ample: usize, tight: usize) -> usize {
        if self.tight { tight } else { ample }
    }
}

/// The summary of the log at `log`, which the next command names.
pub fn text_for(judgement: &Judgement, log: &str, reader: Reader, out: &mut dyn fmt::Write) -> fmt::Result {
    let mut page = Page::default();
    for room in ROOMS {
        page = composed(judgement, log, (room, reader));
        if page.len() <= LINES || reader == Reader::Pipe {
            break;
        }
    }
    page.write(out)
}

fn composed(judgement: &Judgement, log: &str, (room, reader): (Room, Reader)) -> Page {
    let part = &judgement.part;
    let mut page = Page::of(reader);
    head(&mut page, judgement, room);
    steps(&mut page, judgement, room);
    page.blank();
    criteria(&mut page, part, room);
    let mut tail = Page::of(reader);
    percentiles(&mut tail, judgement, room);
    by_slice(&mut tail, spark::line(part), room);
    tail.blank();
    figures(&mut tail, judgement, room);
    warnings(&mut tail, judgement, room);
    last(&mut tail, judgement, log);
    page.blank();
    match room.table {
        Some(least) => tables(&mut page, judgement, LINES.saturating_sub(tail.len() + 1), least, room.targets),
        None => page.line("(the slices: assay judge --table)"),
    }
    page.blank();
    page.append(tail);
    page
}

fn head(page: &mut Page, judgement: &Judgement, room: Room) {
    let part = &judgement.part;
    let targets = match part.targets.as_slice() {
        [] => "no target".to_owned(),
        [only] => only.head.name.clone(),
        several => format!("{} targets", several.len()),
    };
    let what = format!("{} at {} on {targets}, {}", judgement.name, judgement.load, length(part));
    page.line(format!("{:<10}  {what}", judgement.verdict.to_string()));
    if let Some(device) = device(part) {
        page.words("            ", &device, 2);
    }
    page.words("            ", &judgement.reason, room.of(4, if room.table.is_some() { 3 } else { 2 }));
    if judgement.watermarks.is_empty() {
        return;
    }
    let note = if is_quick(judgement) { ": quick look, not a certification" } else { "" };
    page.words("            ", &format!("{}{note}", judgement.watermarks.join(", ")), room.of(2, 1));
}

/// What was tested, and what it did: `Samsung PM9A3 S64FNE0R600123, 1.75 TiB; 61400 IOPS, 372.4 MB/s`; of several targets
/// `2 × Samsung PM9A3, 1 × Kioxia CM7, 5.24 TiB; …`.
fn device(part: &Part) -> Option<String> {
    let fact =
        |target: &TargetTotals, name: &str| target.head.facts.get(name).filter(|fact| *fact != "absent").cloned();
    let known = match part.targets.as_slice() {
        [only] => ["model", "serial"].iter().filter_map(|name| fact(only, name)).collect::<Vec<_>>().join(" "),
        several => {
            let mut models: Vec<(String, u64)> = Vec::new();
            for model in several.iter().filter_map(|target| fact(target, "model")) {
                match models.iter_mut().find(|(known, _)| *known == model) {
                    Some((_, count)) => *count += 1,
                    None => models.push((model, 1)),
                }
            }
            // "1 more" takes as much room as its name.
            let more = if models.len() > MODELS { models.len() - (MODELS - 1) } else { 0 };
            let listed = models.iter().take(models.len() - more).map(|(model, count)| format!("{count} × {model}"));
            listed.chain((more > 0).then(|| format!("{more} more models"))).collect::<Vec<_>>().join(", ")
        }
    };
    let size = part.targets.iter().fold(0u64, |sum, target| sum.saturating_add(target.head.size_bytes));
    let size = (size > 0).then(|| Bytes::new(size).human());
    let what = Some(known).filter(|known| !known.is_empty()).into_iter().chain(size).collect::<Vec<_>>().join(", ");
    Some(what).into_iter().chain(throughput(part)).filter(|text| !text.is_empty()).reduce(|a, b| format!("{a}; {b}"))
}

/// Operations and bytes a second over all streams and targets, while the load was offered.
fn throughput(part: &Part) -> Option<String> {
    let whole = || part.streams.iter().filter(|stream| is_whole(part, stream));
    let iops: f64 = whole().filter_map(|stream| stream.rate_achieved).sum();
    let bytes = whole().filter_map(|stream| {
        let counts = &stream.counts;
        Some(stream.rate_achieved? * counts.bytes as f64 / counts.operations.max(1) as f64)
    });
    (iops > 0.0).then(|| format!("{iops:.0} IOPS, {:.1} MB/s", bytes.sum::<f64>() / 1e6))
}

fn is_quick(judgement: &Judgement) -> bool {
    judgement.watermarks.iter().any(|mark| mark.starts_with("QUICK"))
}

fn length(part: &Part) -> String {
    let human = |ns| Span::from_ns(ns).human();
    let measured = part.measured_ns.min(part.planned_ns);
    if measured < part.planned_ns {
        format!("{} of {} measured", human(measured), human(part.planned_ns))
    } else {
        format!("{} measured", human(measured))
    }
}

fn steps(page: &mut Page, judgement: &Judgement, room: Room) {
    if judgement.steps.is_empty() {
        return;
    }
    page.blank();
    // The last ones are those that the verdict hangs on.
    let left_out = judgement.steps.len().saturating_sub(room.of(LISTED, 3));
    if left_out > 0 {
        page.line(format!("… {left_out} earlier steps"));
    }
    for step in &judgement.steps[left_out..] {
        let title = page.reader.cut(&step.title, 36);
        let line = format!(
            "step {}  {title:<36}  {:>7}  {:<10}  {}",
            step.number,
            step.load,
            step.verdict,
            length(&step.part)
        );
        page.line(line);
    }
}

fn criteria(page: &mut Page, part: &Part, room: Room) {
    page.line(format!("{:<12}{:<37}{:>9} {:>9}  {}", "", "criterion", "bound", "measured", "where"));
    // Where only some are listed, those that decide come first.
    let listed = room.of(LISTED, LISTED / 2);
    let mut criteria: Vec<&CriterionOutcome> = part.criteria.iter().collect();
    if criteria.len() > listed {
        criteria.sort_by_key(|criterion| criterion.outcome == Outcome::Pass);
    }
    for criterion in criteria.into_iter().take(listed) {
        let measured = criterion.measured.as_ref().map_or("-", |figure| figure.text.as_str());
        let title = page.reader.cut(&criterion.asked.title, 36);
        let mark = mark(criterion.outcome);
        page.line(format!(
            "{mark:<12}{title:<37}{:>9} {measured:>9}  {}",
            criterion.asked.bound,
            place(criterion, part)
        ));
        // One that stands in its row already needs no line.
        let told =
            criterion.broken_on.len() == 1 && criterion.measured.as_ref().is_some_and(|figure| figure.target.is_some());
        if !criterion.broken_on.is_empty() && !told && room.broken_on > 0 {
            page.words("            ", &broken_on(&criterion.broken_on, part.targets.len()), room.broken_on);
        }
    }
    if part.criteria.len() > listed {
        page.line(format!("            … {} more criteria", part.criteria.len() - listed));
    }
    let mut notes: Vec<&String> = part.criteria.iter().filter_map(|criterion| criterion.note.as_ref()).collect();
    notes.dedup();
    notes.iter().take(room.of(2, 1)).for_each(|note| page.line(format!("            {note}")));
}

fn mark(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "ok",
        Outcome::Fail => "FAIL",
        Outcome::Invalid => "INVALID",
        Outcome::Incomplete => "INCOMPLETE",
        Outcome::NotApplied => "not applied",
    }
}

/// `slice 6, sim:c`; nothing where the window is the whole run.
fn place(criterion: &CriterionOutcome, part: &Part) -> String {
    let Some(figure) = &criterion.measured else { return String::new() };
    let window = match criterion.asked.window_ns {
        length if length >= part.planned_ns => None,
        length if length == part.slice_ns => Some(format!("slice {}", figure.window)),
        length => Some(format!("{} no. {}", Span::from_ns(length).human(), figure.window)),
    };
    window.into_iter().chain(figure.target.clone()).collect::<Vec<_>>().join(", ")
}

fn tables(page: &mut Page, judgement: &Judgement, most: usize, least: usize, with_targets: bool) {
    let part = &judgement.part;
    let mut streams = shown_streams(part);
    // There may be room for one only: that of the stream that decided.
    let decided = judgement.deciding.as_ref().and_then(|place| place.stream.as_ref());
    streams.sort_by_key(|stream| decided.is_some_and(|decided| decided != stream));
    for (index, stream) in streams.iter().enumerate() {
        let targets = if with_targets { by_target(part, stream) } else { Page::default() };
        let room = most.saturating_sub(page.len() + targets.len() + 1);
        if index > 0 && room < least {
            page.line(format!("(tables of {} more streams: assay judge --table)", streams.len() - index));
            return;
        }
        page.blank();
        let share = if streams.len() - index > 1 { room / (streams.len() - index) } else { room };
        page.append(one(part, stream, None, share.max(least)));
        page.blank();
        page.append(targets);
    }
}

fn percentiles(page: &mut Page, judgement: &Judgement, room: Room) {
    let part = &judgement.part;
    page.line(format!("{:<31}{:>9}{:>9}{:>9}{:>9}{:>9}", "", "mean", "p50", "p99", "p99.9", "max"));
    // Over all targets where there are several, else the one there is.
    let mut streams: Vec<&StreamTotals> = Vec::new();
    for stream in part.streams.iter().filter(|stream| !is_idle(stream)) {
        if streams.iter().all(|seen| seen.name != stream.name) {
            streams.push(stream);
        }
    }
    let listed = if page.reader == Reader::Pipe { usize::MAX } else { room.of(LISTED / 2, 2) };
    let left_out = streams.len().saturating_sub(listed);
    if left_out > 0 {
        // The worst one is what the reader looks for, wherever it stands in the plan.
        let worst = worst(judgement, &streams);
        let kept = streams.iter().position(|stream| stream.name == worst).unwrap_or(0);
        streams.swap(kept, (listed - 1).min(kept));
        streams.truncate(listed);
    }
    for stream in streams {
        let name = page.reader.cut(&stream.name, 21);
        page.line(times(&format!("{name} response"), &stream.response));
        page.line(times(&format!("{name} service"), &stream.service));
    }
    if left_out > 0 && room.table.is_some() {
        let streams = if left_out == 1 { "stream" } else { "streams" };
        page.line(format!("… {left_out} more {streams}: assay judge --json"));
    }
}

/// The stream that decided; where none did, the one with the longest p99.
fn worst<'a>(judgement: &'a Judgement, streams: &[&'a StreamTotals]) -> &'a str {
    let decided = judgement.deciding.as_ref().and_then(|place| place.stream.as_deref());
    let known = decided.filter(|name| streams.iter().any(|stream| stream.name == *name));
    let slowest = || streams.iter().max_by_key(|stream| stream.response.p99_ns).map_or("", |stream| &stream.name);
    known.unwrap_or_else(slowest)
}

fn times(name: &str, times: &TimesSummary) -> String {
    let cell = |ns: Option<u64>| format!("{:>9}", ns.map_or_else(|| "-".to_owned(), |ns| Span::from_ns(ns).human()));
    let values = [times.mean_ns, times.p50_ns, times.p99_ns, times.p99_9_ns, times.max_ns];
    format!("{name:<31}{}", values.map(cell).concat())
}

/// What stands slice by slice beside the table.
fn by_slice(page: &mut Page, lines: impl IntoIterator<Item = String>, room: Room) {
    lines.into_iter().take(room.by_slice).for_each(|line| page.line(line));
}

/// In flight, lag, CPU; errors; bytes.
fn figures(page: &mut Page, judgement: &Judgement, room: Room) {
    let part = &judgement.part;
    let together = || part.streams.iter().filter(|stream| is_whole(part, stream));
    let most = |of: fn(&StreamTotals) -> u64| together().map(of).max().unwrap_or(0);
    let lag = together().filter_map(|stream| stream.lag.p99_ns).max();
    let own = together().filter_map(|stream| stream.own_lag.max_ns).max();
    let human = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| Span::from_ns(ns).human());
    let cpu = part
        .generator
        .filter(|cost| cost.sampled_ns > 0)
        .map(|cost| format!(", CPU {:.0}% of one", cost.cpu_ns as f64 * 100.0 / cost.sampled_ns as f64));
    let load = format!(
        "in flight up to {}, waiting up to {}; lag p99 {}, own lag max {}{}",
        most(|stream| stream.in_flight_max),
        most(|stream| stream.waiting_max),
        human(lag),
        human(own),
        cpu.unwrap_or_default()
    );
    page.words("", &load, 2);
    let (rates, errors) = (rates(judgement), errors(part));
    // What failed has room in any case.
    let both = if errors.starts_with("errors") { [errors, rates] } else { [rates, errors] };
    let both: Vec<String> = both.into_iter().filter(|said| !said.is_empty()).collect();
    page.words("", &both.join("; "), 2);
    page.line(bytes(part));
    by_slice(page, steady::lines(part, &judgement.reason), room);
    integrity(page, part, room);
}

/// What was verified, and the first places that are damaged.
fn integrity(page: &mut Page, part: &Part, room: Room) {
    let Some(integrity) = &part.integrity else { return };
    let Integrity { verified_reads, unverified_reads, damaged, places } = integrity;
    let found = match damaged {
        0 => "every one as written".to_owned(),
        n => format!("DAMAGED: {n} place{}", if *n == 1 { "" } else { "s" }),
    };
    let open = match unverified_reads {
        0 => String::new(),
        n => format!(" ({n} more could not be: never written, or being written)"),
    };
    page.words("", &format!("{verified_reads} reads verified{open}, {found}"), 2);
    let listed = room.of(LISTED, 1);
    places.iter().take(listed).for_each(|place| page.words("  ", &place.text(), room.of(2, 1)));
    if *damaged > listed as u64 {
        page.line("  … more in the JSON and the run log");
    }
}

/// True for the entry of a stream over all targets, or the only one it has.
fn is_whole(part: &Part, stream: &StreamTotals) -> bool {
    stream.target.is_none() || part.streams.iter().filter(|other| other.name == stream.name).count() == 1
}

/// True for a stream that has no part in what is measured, such as reading back.
fn is_idle(stream: &StreamTotals) -> bool {
    stream.rate_asked.is_none() && stream.counts.issued == 0 && stream.counts.scheduled == 0
}

/// Of many streams the worst stands first: the others may have no room.
fn rates(judgement: &Judgement) -> String {
    let part = &judgement.part;
    let mut whole: Vec<_> = part.streams.iter().filter(|stream| is_whole(part, stream) && !is_idle(stream)).collect();
    if whole.len() > LISTED / 2 {
        let worst = worst(judgement, &whole).to_owned();
        whole.sort_by_key(|stream| stream.name != worst);
    }
    let rate = |stream: &StreamTotals| {
        let achieved = stream.rate_achieved?;
        let asked = stream.rate_asked.map(|asked| format!(" of {asked:.1}")).unwrap_or_default();
        Some(format!("{} {achieved:.1}{asked}/s", stream.name))
    };
    whole.into_iter().filter_map(rate).take(LISTED / 2).collect::<Vec<_>>().join(", ")
}

/// What failed while it was measured; nothing is said where no stream was there to fail.
fn errors(part: &Part) -> String {
    if part.streams.is_empty() {
        return String::new();
    }
    let whole = part.streams.iter().filter(|stream| is_whole(part, stream));
    let mut met: Vec<String> = Vec::new();
    for stream in whole {
        let counts = &stream.counts;
        met.extend(counts.errors.iter().map(|(name, n)| format!("{n} {name} in {}", stream.name)));
        met.extend((counts.short > 0).then(|| format!("{} short in {}", counts.short, stream.name)));
        met.extend((counts.stuck > 0).then(|| format!("{} stuck in {}", counts.stuck, stream.name)));
    }
    if met.is_empty() { "no errors while measured".to_owned() } else { format!("errors: {}", met.join(", ")) }
}

fn bytes(part: &Part) -> String {
    let sum =
        |of: fn(&TargetTotals) -> u64| part.targets.iter().fold(0u64, |sum, target| sum.saturating_add(of(target)));
    let (read, written, size) = (sum(|t| t.read_bytes), sum(|t| t.written_bytes), sum(|t| t.head.size_bytes));
    let full = if size > 0 { format!(" ({:.2} drive writes)", written as f64 / size as f64) } else { String::new() };
    format!("read {}, wrote {}{full}, warm-up included", Bytes::new(read).human(), Bytes::new(written).human())
}

fn warnings(page: &mut Page, judgement: &Judgement, room: Room) {
    let listed = room.of(WARNINGS, 1);
    for warning in judgement.warnings.iter().take(listed) {
        page.words("warning: ", warning, room.warning);
    }
    if judgement.warnings.len() > listed {
        page.line(format!("warning: {} more in the JSON", judgement.warnings.len() - listed));
    }
    if let Some(damage) = judgement.damage.first() {
        let more = if judgement.damage.len() > 1 {
            format!(" and {} more", judgement.damage.len() - 1)
        } else {
            String::new()
        };
        page.words("damage: ", &format!("line {}: {}{more}", damage.line, damage.what), room.of(2, 1));
    }
    for gap in judgement.part.gaps.iter().take(room.of(2, 1)) {
        page.words(
            "gap: ",
            &format!("at {} ({}), went on {}", Span::from_ns(gap.at_ns).human(), gap.before, gap.resumed),
            1,
        );
    }
}

/// What to do next, and the exit code, which a long path does not push off the line.
fn last(page: &mut Page, judgement: &Judgement, log: &str) {
    let code = format!("(exit code {})", judgement.verdict.exit_code());
    let command = format!("next: {}", next(judgement, log));
    if command.chars().count() + 2 + code.len() <= page.reader.columns() {
        return page.line(format!("{command}  {code}"));
    }
    page.line(command);
    page.line(code);
}

fn next(judgement: &Judgement, log: &str) -> String {
    let log = for_a_shell(log);
    match judgement.verdict {
        Verdict::Pass | Verdict::Fail => format!("assay report {log}"),
        Verdict::Invalid => "assay doctor".to_owned(),
        // It takes a minute, and its scratch file is gone.
        Verdict::Incomplete if is_quick(judgement) => "the same command again".to_owned(),
        Verdict::Incomplete => format!("the same command with --resume {log}"),
    }
}
