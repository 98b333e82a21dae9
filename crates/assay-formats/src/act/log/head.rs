//! The head of a log: banner, configuration, derived items, devices, histogram names.

use super::block::parse_event;
use super::items::{DeviceLine, HEAD_MAX, HISTOGRAMS_MAX, Header, LogError, Program, Unit};
use super::source::{Source, parse_after_seconds, parse_banner};
use assay_base::Span;
use std::io::BufRead;

/// The list that the lines belong to.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    None,
    Items,
    Derived,
    Names,
}

/// Reads up to the first block; returns the head and that block's time, `None` where the log has no block.
pub(super) fn read_head<R: BufRead>(source: &mut Source<R>) -> Result<(Header, Option<u64>), LogError> {
    let mut header = read_banner(source)?;
    let first_line = source.line;
    let mut section = Section::None;
    while source.advance_line()? {
        if source.line - first_line > HEAD_MAX {
            return Err(source.fault_here("the head of the log does not end", "is it an ACT log?").into());
        }
        if let Some(seconds) = parse_after_seconds(&source.text) {
            take_unit_and_interval(source, &mut header)?;
            return Ok((header, Some(seconds)));
        }
        section = take_line(source, &mut header, section)?;
    }
    take_unit_and_interval(source, &mut header)?;
    Ok((header, None))
}

fn read_banner<R: BufRead>(source: &mut Source<R>) -> Result<Header, LogError> {
    let advice = "give the output of act_storage, act_index or act";
    while source.line < HEAD_MAX && source.advance_line()? {
        let Some((version, old)) = parse_banner(&source.text) else {
            continue;
        };
        let version = version.to_owned();
        let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        let Some(major) = major.filter(|major| if old { (3..=4).contains(major) } else { (5..=6).contains(major) })
        else {
            let message = format!("version \"{}\" is not one of 3.0 to 6.x", short_text(&version).escape_debug());
            return Err(source.fault_here(message, "this reader does not know its grammar").into());
        };
        return Ok(Header {
            version: short_text(&version),
            major,
            program: if old { Program::Act } else { Program::Storage },
            items: Vec::new(),
            derived: Vec::new(),
            devices: Vec::new(),
            listed: Vec::new(),
            unit: Unit::Milliseconds,
            interval: Span::ZERO,
            remarks: Vec::new(),
        });
    }
    source.text.clear();
    Err(source.fault_here("there is no line \"ACT version …\"", advice).into())
}

fn short_text(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Takes one line of the head; returns the section that the next one belongs to.
fn take_line<R: BufRead>(source: &Source<R>, header: &mut Header, section: Section) -> Result<Section, LogError> {
    let line = source.text.as_str();
    let title = match line {
        "ACT CONFIGURATION" | "ACT-STORAGE CONFIGURATION" => Some(Section::Items),
        "ACT-INDEX CONFIGURATION" => {
            header.program = Program::Index;
            Some(Section::Items)
        }
        "DERIVED CONFIGURATION" => Some(Section::Derived),
        "HISTOGRAM NAMES" => Some(Section::Names),
        "" => Some(Section::None),
        _ => None,
    };
    if let Some(section) = title {
        return Ok(section);
    }
    if line.starts_with("ERROR: ") || parse_banner(line).is_some() {
        header.remarks.push(parse_event(source));
        return Ok(section);
    }
    match section {
        Section::Items => header.items.push(split_pair(line)),
        Section::Derived => header.derived.push(split_pair(line)),
        Section::Names if header.listed.len() == HISTOGRAMS_MAX => {
            return Err(source.fault_here("the log names too many histograms", "is it an ACT log?").into());
        }
        Section::Names => header.listed.push(line.to_owned()),
        Section::None => header.devices.extend(parse_device(line)),
    }
    Ok(section)
}

fn split_pair(line: &str) -> (String, String) {
    let (key, value) = line.split_once(':').unwrap_or((line, ""));
    (key.trim().to_owned(), value.trim().to_owned())
}

/// `D size = N bytes[, …, M large blocks[, minimum IO size = K bytes]]`.
fn parse_device(line: &str) -> Option<DeviceLine> {
    let (name, rest) = line.split_once(" size = ")?;
    let mut parts = rest.split(", ");
    let size = parts.next()?.strip_suffix(" bytes")?.parse().ok()?;
    let (mut large_blocks, mut minimum_io) = (None, None);
    for part in parts {
        let blocks = part.strip_suffix(" large blocks");
        large_blocks = large_blocks.or(blocks.and_then(|digits| digits.parse().ok()));
        let minimum = part.strip_prefix("minimum IO size = ").and_then(|rest| rest.strip_suffix(" bytes"));
        minimum_io = minimum_io.or(minimum.and_then(|digits| digits.parse().ok()));
    }
    Some(DeviceLine { name: name.to_owned(), size, large_blocks, minimum_io })
}

/// Takes unit and interval from the items.
fn take_unit_and_interval<R: BufRead>(source: &Source<R>, header: &mut Header) -> Result<(), LogError> {
    let interval = header.item_value("report-interval-sec").and_then(|value| value.parse::<u32>().ok());
    let Some(interval) = interval.filter(|interval| *interval > 0) else {
        let fault = source.fault_here("the log's configuration has no report-interval-sec", "is its head complete?");
        return Err(fault.into());
    };
    header.interval = Span::from_secs(u64::from(interval));
    if header.item_value("microsecond-histograms").is_some_and(|value| value.starts_with('y')) {
        header.unit = Unit::Microseconds;
    }
    Ok(())
}
