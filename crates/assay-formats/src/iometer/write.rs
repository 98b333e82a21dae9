//! Writes a step of a configuration as a workload: TOML that a person reads and edits.

use super::config::{Config, Line, Spec};
use super::lower::{Loop, Step};
use assay_base::text::one_line;
use assay_base::{Bytes, Share, Span};
use std::fmt::{Display, Write};

/// Upper bound on the streams of a workload.
const MOST_STREAMS: usize = 256;
/// The slice of the workload, unless its run is shorter.
const SLICE: Span = Span::from_secs(60);

/// The workload of a step. `file` is where it comes from. The error says what is wrong, and what to do.
pub fn write_workload(config: &Config, step: &Step, name: &str, file: &str) -> Result<String, (String, String)> {
    if config.run_time.is_zero() {
        let what = "the configuration has no run time: IOmeter runs it until a person stops it";
        return Err((what.to_owned(), "say how long it shall run: --for 5min".to_owned()));
    }
    let mut out = file_head(config, step, name, file);
    let several = step.loops.len() > 1;
    let mut streams = 0;
    for worker_loop in &step.loops {
        let spec = &config.specs[worker_loop.spec];
        out += &loop_section(worker_loop, spec);
        let prefix = if several { format!("{}.", worker_loop.name) } else { String::new() };
        for stream in streams_of(worker_loop, spec, &prefix) {
            streams += 1;
            out += &stream;
        }
    }
    if streams > MOST_STREAMS {
        let what = format!("{streams} kinds of operations run at the same time; a workload has at most {MOST_STREAMS}");
        return Err((what, "import one access specification with --spec, or use fewer lines".to_owned()));
    }
    Ok(out)
}

/// A value in quotes, as TOML requires.
fn quoted_value(value: impl Display) -> String {
    let mut out = String::from("\"");
    for c in one_line(value).chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out + "\""
}

fn file_head(config: &Config, step: &Step, name: &str, file: &str) -> String {
    let mut lines = vec![format!(
        "# Imported from {} of IOmeter {}: {}",
        one_line(file),
        one_line(&config.version),
        one_line(&step.title)
    )];
    let criteria =
        "# It has no criteria: it is measured and not held against any. docs/formats/streams.md lists the keys.";
    lines.push(criteria.to_owned());
    lines.push(format!("name     = {}", quoted_value(name)));
    lines.push("model    = \"streams\"".to_owned());
    if !config.description.is_empty() {
        lines.push(format!("description = {}", quoted_value(&config.description)));
    }
    if let Some(note) = difference_note(config, step) {
        lines.push(format!("note     = {}", quoted_value(note)));
    }
    lines.push(format!("duration = {}", quoted_value(config.run_time)));
    if !config.ramp_up.is_zero() {
        lines.push(format!("warm_up  = {}", quoted_value(config.ramp_up)));
    }
    lines.push(format!("slice    = {}", quoted_value(config.run_time.min(SLICE))));
    if let Some(seed) = step.loops.iter().find_map(|looped| looped.settings.seed) {
        // Integers of TOML have 63 bits.
        lines.push(format!("seed     = {}", seed & i64::MAX as u64));
    }
    if step.targets.len() > 1 {
        let names: Vec<String> = step.targets.iter().map(quoted_value).collect();
        lines.push(format!("targets  = [{}]", names.join(", ")));
    }
    lines.join("\n") + "\n"
}

/// A note on how the workload differs from what IOmeter does.
fn difference_note(config: &Config, step: &Step) -> Option<String> {
    let specs = step.loops.iter().map(|looped| (looped, &config.specs[looped.spec]));
    let [repeating, random] = [0, 1].map(|pattern| {
        specs.clone().any(|(looped, spec)| spec.has_writes() && looped.settings.pattern == Some(pattern))
    });
    let mut seeds: Vec<u64> = step.loops.iter().filter_map(|looped| looped.settings.seed).collect();
    seeds.dedup();
    let notes = [
        (
            repeating,
            "IOmeter would write repeating bytes, which compress and deduplicate well; this writes unique data that do not compress",
        ),
        (
            random,
            "IOmeter would write the same random data again and again, which deduplicate well; this writes unique data",
        ),
        (
            step.targets.len() > 1
                && specs.clone().any(|(_, spec)| spec.lines.iter().any(|line| !line.delay.is_zero())),
            "the delay before a burst holds for each target by itself; IOmeter has one for all targets of a worker",
        ),
        (
            specs.clone().any(|(looped, spec)| {
                let start = looped.settings.start.get();
                spec.lines.iter().any(|line| !start.is_multiple_of(line.align.get()))
            }),
            "random places are aligned from the starting sector on; IOmeter aligns them from the beginning of the target",
        ),
        (!seeds.is_empty(), "the seed is that of IOmeter, and draws other places than IOmeter does"),
        (seeds.len() > 1, "the workers have different seeds, of which the first one is used"),
    ];
    let notes: Vec<&str> = notes.iter().filter(|(is_so, _)| *is_so).map(|(_, note)| *note).collect();
    (!notes.is_empty()).then(|| notes.join(". "))
}

fn loop_section(worker_loop: &Loop, spec: &Spec) -> String {
    let mut out = format!(
        "\n[[loop]]\nname      = {}\nin_flight = {}\n",
        quoted_value(&worker_loop.name),
        worker_loop.settings.in_flight
    );
    if worker_loop.copies > 1 {
        let _ = writeln!(out, "copies    = {}", worker_loop.copies);
    }
    if is_plain(spec) {
        return out;
    }
    for (line, number) in spec.lines.iter().zip(1..) {
        let Line { share, burst, delay, .. } = line;
        let _ = write!(out, "\n[[loop.line]]\nname  = \"line-{number}\"\nshare = \"{share}%\"\nburst = {burst}\n");
        if !delay.is_zero() {
            let _ = writeln!(out, "delay = {}", quoted_value(delay));
        }
    }
    out
}

/// Whether the lines of a specification differ only in size and share: then they become one stream with several sizes.
fn is_plain(spec: &Spec) -> bool {
    let mut rests = spec.lines.iter().map(|line| Line { size: Bytes::default(), share: 0, ..*line });
    rests.next().is_some_and(|first| (first.burst, first.delay) == (1, Span::ZERO) && rests.all(|rest| rest == first))
}

fn streams_of(worker_loop: &Loop, spec: &Spec, prefix: &str) -> Vec<String> {
    // If all operations have one size and none is random, the streams share a cursor, so that several workers can
    // divide the walk.
    let first = spec.lines[0];
    let walks = spec
        .lines
        .iter()
        .all(|line| line.random == 0 && line.size == first.size && line.size.get().is_multiple_of(line.align.get()));
    let lines = if is_plain(spec) { &spec.lines[..1] } else { &spec.lines[..] };
    let mut streams = Vec::new();
    for (line, number) in lines.iter().zip(1..) {
        for (direction, reads) in [("read", line.reads), ("write", 100 - line.reads)] {
            for (order, part) in [("random", line.random), ("sequential", 100 - line.random)] {
                if reads * part == 0 {
                    continue;
                }
                let own = if is_plain(spec) { String::new() } else { format!("line-{number}.") };
                let mut out = format!(
                    "\n[[stream]]\nname      = {}\n",
                    quoted_value(format!("{prefix}{own}{order}-{direction}s"))
                );
                let _ = writeln!(
                    out,
                    "direction = \"{direction}\"\nsize      = {}\nloop      = {}",
                    stream_size(spec, line),
                    quoted_value(&worker_loop.name)
                );
                if !is_plain(spec) {
                    let _ = writeln!(out, "line      = \"line-{number}\"");
                }
                // The product of two shares in percent: 10^4 stands for the whole, which is 10^9 parts per billion.
                let _ = writeln!(out, "share     = \"{}\"", Share::from_ppb(reads * part * 100_000));
                if let Some(target) = &worker_loop.target {
                    let _ = writeln!(out, "target    = {}", quoted_value(target));
                }
                out += &range_line(worker_loop);
                let _ = match (order, walks) {
                    ("random", _) => writeln!(out, "address   = {{ uniform = {} }}", quoted_value(line.align)),
                    (_, true) => {
                        writeln!(out, "address   = \"sequential\"\nplaces    = {}", quoted_value(&worker_loop.name))
                    }
                    (_, false) => writeln!(out, "address   = {{ behind = {} }}", quoted_value(line.align)),
                };
                streams.push(out);
            }
        }
    }
    streams
}

/// The size of a stream for a line, or for all lines if they become one stream.
fn stream_size(spec: &Spec, line: &Line) -> String {
    if is_plain(spec) && spec.lines.len() > 1 {
        let shares = spec.lines.iter().map(|line| format!("[\"{}\", \"{}%\"]", line.size, line.share));
        format!("{{ shares = [{}] }}", shares.collect::<Vec<_>>().join(", "))
    } else {
        quoted_value(line.size)
    }
}

fn range_line(looped: &Loop) -> String {
    let (start, length) = (looped.settings.start, looped.settings.length);
    match (start.get(), length.get()) {
        (0, 0) => String::new(),
        (_, 0) => format!("range     = {{ from = {} }}\n", quoted_value(start)),
        (0, _) => format!("range     = {{ size = {} }}\n", quoted_value(length)),
        _ => format!("range     = {{ from = {}, size = {} }}\n", quoted_value(start), quoted_value(length)),
    }
}
