//! The figures of a whole part in the summary: percentiles, rates, errors, bytes, what was verified.

use crate::judgement::{Integrity, StreamFigures, StreamTotals, TargetFigures, TimesSummary};
use crate::render::page::{Page, Reader};
use crate::render::room::{LISTED, Room};
use crate::render::shown::{Shown, of_database, rate_text};
use crate::render::steady;
use assay_base::text::counted_things;
use assay_base::{Bytes, Span};

/// Number of streams whose rates are named: all the kinds of a database's transactions.
const RATES: usize = 5;

/// Mean and percentiles of each stream.
pub(crate) fn add_percentiles(page: &mut Page, shown: Shown<'_>, room: Room) {
    let part = shown.part;
    page.add_line(format!("{:<31}{:>9}{:>9}{:>9}{:>9}{:>9}", "", "mean", "p50", "p99", "p99.9", "max"));
    // Over all targets where there are several, otherwise the only one.
    let mut streams: Vec<&StreamTotals> = Vec::new();
    let groups = part.streams.groups_beside_all().map(|(_, totals)| totals);
    let named = part.streams.together.iter().chain(groups);
    for stream in named.chain(&part.streams.each).filter(|stream| !is_idle(stream)) {
        if streams.iter().all(|seen| seen.name != stream.name) {
            streams.push(stream);
        }
    }
    let listed = if page.reader == Reader::Pipe { usize::MAX } else { room.choose_lines(LISTED / 2, 2) };
    let left_out = streams.len().saturating_sub(listed);
    if left_out > 0 {
        // The reader looks for the worst stream, wherever it is in the plan.
        let worst = worst_stream(shown, &streams);
        let kept = streams.iter().position(|stream| stream.name == worst).unwrap_or(0);
        streams.swap(kept, (listed - 1).min(kept));
        streams.truncate(listed);
    }
    for stream in streams {
        let name = page.reader.cut_name(&stream.name, 21);
        page.add_line(times_line(&format!("{name} response"), &stream.response));
        page.add_line(times_line(&format!("{name} service"), &stream.service));
    }
    if left_out > 0 && room.table.is_some() {
        let streams = if left_out == 1 { "stream" } else { "streams" };
        page.add_line(format!("… {left_out} more {streams}: {}", page.judge_command("--json")));
    }
}

/// Each phase with the streams that did something in it, where a run has several phases.
pub(crate) fn add_phases(page: &mut Page, streams: &StreamFigures, room: Room) {
    if streams.phases.is_empty() {
        return;
    }
    page.add_blank_line();
    page.add_line(format!("{:<31}{:>9}{:>9}{:>9}{:>9}{:>9}", "phase", "rate/s", "mean", "p50", "p99", "max"));
    let rows: usize = streams
        .phases
        .iter()
        .map(|phase| phase.streams.iter().filter(|stream| stream.response.operations > 0).count())
        .sum();
    let listed = if page.reader == Reader::Pipe { usize::MAX } else { room.choose_lines(LISTED, 2) };
    let all = streams.phases.iter().flat_map(|phase| phase.streams.iter().map(move |stream| (phase, stream)));
    for (phase, stream) in all.filter(|(_, stream)| stream.response.operations > 0).take(listed) {
        let [of, name] = [&phase.name, &stream.name].map(|name| page.reader.cut_name(name, 14));
        let rate = stream.rate_achieved.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
        let times = &stream.response;
        let times = [times.mean_ns, times.p50_ns, times.p99_ns, times.max_ns]
            .map(|ns| format!("{:>9}", ns.map_or_else(|| "-".to_owned(), |ns| Span::from_ns(ns).human_text())))
            .concat();
        page.add_line(format!("{:<31}{rate:>9}{times}", format!("{of} {name}")));
    }
    if rows > listed {
        page.add_line(format!("… {} more rows: {}", rows - listed, page.judge_command("--json")));
    }
}

/// The stream that decided; where none did, the one with the longest p99.
fn worst_stream<'a>(shown: Shown<'a>, streams: &[&'a StreamTotals]) -> &'a str {
    let decided = shown.deciding.and_then(|place| place.stream.as_deref());
    let known = decided.filter(|name| streams.iter().any(|stream| stream.name == *name));
    known
        .unwrap_or_else(|| streams.iter().max_by_key(|stream| stream.response.p99_ns).map_or("", |stream| &stream.name))
}

fn times_line(name: &str, times: &TimesSummary) -> String {
    let values = [times.mean_ns, times.p50_ns, times.p99_ns, times.p99_9_ns, times.max_ns];
    format!(
        "{name:<31}{}",
        values
            .map(|ns| format!("{:>9}", ns.map_or_else(|| "-".to_owned(), |ns| Span::from_ns(ns).human_text())))
            .concat()
    )
}

/// Other figures slice by slice, beside the table.
pub(crate) fn by_slice(page: &mut Page, lines: impl IntoIterator<Item = String>, room: Room) {
    lines.into_iter().take(room.by_slice).for_each(|line| page.add_line(line));
}

/// Shows operations in flight, lag and CPU, then errors, then bytes.
pub(crate) fn add_figures(page: &mut Page, shown: Shown<'_>, room: Room) {
    let part = shown.part;
    add_database(page, shown, room);
    let lag = part.streams.streams_over_all_targets().filter_map(|stream| stream.lag.p99_ns).max();
    let own = part.streams.streams_over_all_targets().filter_map(|stream| stream.own_lag.max_ns).max();
    let cpu = part
        .generator
        .cost
        .filter(|cost| cost.sampled_ns > 0)
        .map(|cost| format!(", CPU {:.0}% of one", cost.cpu_ns as f64 * 100.0 / cost.sampled_ns as f64));
    let queues = if part.lacks_in_flight() {
        "what was in flight is not in this log".to_owned()
    } else {
        format!(
            "in flight up to {}, waiting up to {}",
            part.streams.streams_over_all_targets().map(|stream| stream.in_flight_max).max().unwrap_or(0),
            part.streams.streams_over_all_targets().map(|stream| stream.waiting_max).max().unwrap_or(0)
        )
    };
    let load = format!(
        "{queues}; lag p99 {}, own lag max {}{}",
        time_or_dash(lag),
        time_or_dash(own),
        cpu.unwrap_or_default()
    );
    page.add_words("", &load, room.choose_lines(usize::MAX, 2));
    let listed = room.choose_lines(LISTED, 1);
    part.streams
        .loops
        .iter()
        .take(listed)
        .for_each(|looped| page.add_words("", &looped.in_words(), room.choose_lines(usize::MAX, 1)));
    let (rates, errors) = (rates_line(shown), error_lines(&part.streams));
    let failed = match &errors {
        // Without streams no operation could fail, so nothing is said.
        _ if part.streams.each.is_empty() => String::new(),
        errors if errors.is_empty() => "no errors while measured".to_owned(),
        errors => format!("errors: {}", errors.join(", ")),
    };
    // Errors are always shown, whatever else has to be left out.
    let both = if errors.is_empty() { [rates, failed] } else { [failed, rates] };
    let both: Vec<String> = both.into_iter().filter(|said| !said.is_empty()).collect();
    page.add_words("", &both.join("; "), room.choose_lines(usize::MAX, 2));
    if part.databases.is_empty() {
        page.add_line(if part.lacks_bytes() {
            "how many bytes were moved is not in this log".to_owned()
        } else {
            bytes_line(&part.targets)
        });
    }
    let enlarged: Vec<String> = part
        .streams
        .streams_over_all_targets()
        .filter_map(|stream| Some(format!("{} {}", stream.name, stream.enlarged_size()?)))
        .collect();
    if !enlarged.is_empty() {
        page.add_words("in whole blocks of the target: ", &enlarged.join(", "), room.choose_lines(usize::MAX, 1));
    }
    if let Some(cache) = &part.targets.cache {
        page.add_words("", &cache.in_words(), room.choose_lines(usize::MAX, 2));
    }
    part.targets
        .meters
        .iter()
        .for_each(|meter| page.add_words("", &meter.in_words(), room.choose_lines(usize::MAX, 2)));
    by_slice(page, steady::steadiness_lines(shown), room);
    add_integrity(page, &part.targets, room);
}

/// A time in words, or a dash.
fn time_or_dash(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| Span::from_ns(ns).human_text())
}

/// A database: its figures per minute, unless they stand at the top, what else was counted, what it is, and what its checks
/// found.
fn add_database(page: &mut Page, shown: Shown<'_>, room: Room) {
    let part = shown.part;
    if let Some(figures) = of_database(part).filter(|_| !shown.is_headed) {
        page.add_words("", &figures, room.choose_lines(usize::MAX, 2));
    }
    let counted = part
        .streams
        .streams_over_all_targets()
        .flat_map(|stream| stream.counts.counted.iter().map(move |(name, n)| format!("{} {name} {n}", stream.name)));
    let counted: Vec<String> = counted.collect();
    if !counted.is_empty() {
        page.add_words("", &format!("of these: {}", counted.join(", ")), room.choose_lines(usize::MAX, 1));
    }
    for (target, database) in part.databases.iter().enumerate() {
        let own: Vec<String> =
            part.streams.per_minute.iter().filter_map(|figure| figure.figure_on_target(target)).collect();
        let (words, checked) = (database.in_words(), database.in_words_of_check());
        if own.is_empty() {
            [words, checked].iter().for_each(|said| page.add_words("", said, room.choose_lines(usize::MAX, 2)))
        } else {
            page.add_words(
                "",
                &format!("{}: {}; {words}; {checked}", database.head.url, own.join(", ")),
                room.choose_lines(usize::MAX, 3),
            )
        }
    }
    if let Some(deviations) =
        part.databases.iter().map(|database| &database.head.deviations).find(|all| !all.is_empty())
    {
        page.add_words(
            "",
            &format!("deviations from the standard: {}", deviations.join(", ")),
            room.choose_lines(usize::MAX, 2),
        );
    }
}

/// What was verified, and the first damaged places.
fn add_integrity(page: &mut Page, targets: &TargetFigures, room: Room) {
    let Some(integrity) = &targets.integrity else { return };
    let Integrity { verified_reads, unverified_reads, damaged, places } = integrity;
    let found = match damaged {
        0 => "every one as written".to_owned(),
        n => format!("DAMAGED: {}", counted_things(*n, "place")),
    };
    let open = match unverified_reads {
        0 => String::new(),
        n => format!(" ({n} more could not be: never written, or being written)"),
    };
    page.add_words("", &format!("{verified_reads} reads verified{open}, {found}"), room.choose_lines(usize::MAX, 2));
    let listed = room.choose_lines(LISTED, 1);
    places
        .iter()
        .take(listed)
        .for_each(|place| page.add_words("  ", &place.in_words(), room.choose_lines(usize::MAX, 1)));
    if *damaged > listed as u64 {
        page.add_line("  … more in the JSON and the run log");
    }
}

/// True for a stream without operations in the measured time, such as the read-back.
fn is_idle(stream: &StreamTotals) -> bool {
    stream.rate_asked.is_none() && stream.counts.issued == 0 && stream.counts.scheduled == 0
}

/// With many streams, the worst comes first: there may be no space for the others, which are counted.
fn rates_line(shown: Shown<'_>) -> String {
    let mut whole: Vec<_> = shown.part.streams.streams_over_all_targets().filter(|stream| !is_idle(stream)).collect();
    if whole.len() > RATES {
        let worst = worst_stream(shown, &whole).to_owned();
        whole.sort_by_key(|stream| stream.name != worst);
    }
    let all: Vec<String> = whole.into_iter().filter_map(|stream| rate_text(shown.part, stream)).collect();
    let more = match all.len().saturating_sub(RATES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    all.into_iter().take(RATES).collect::<Vec<_>>().join(", ") + &more
}

/// The errors while measuring.
fn error_lines(streams: &StreamFigures) -> Vec<String> {
    let mut met: Vec<String> = Vec::new();
    for stream in streams.streams_over_all_targets() {
        let counts = &stream.counts;
        met.extend(counts.errors.iter().map(|(name, n)| format!("{n} {name} in {}", stream.name)));
        met.extend((counts.short > 0).then(|| format!("{} short in {}", counts.short, stream.name)));
        met.extend((counts.stuck > 0).then(|| format!("{} stuck in {}", counts.stuck, stream.name)));
    }
    met
}

fn bytes_line(targets: &TargetFigures) -> String {
    let (read, written, size) = (
        targets.sum_over_targets(|target| target.read_bytes),
        targets.sum_over_targets(|target| target.written_bytes),
        targets.sum_over_targets(|target| target.head.size_bytes),
    );
    let full = if size > 0 { format!(" ({:.2} drive writes)", written as f64 / size as f64) } else { String::new() };
    format!(
        "read {}, wrote {}{full}, warm-up included",
        Bytes::new(read).human_text(),
        Bytes::new(written).human_text()
    )
}
