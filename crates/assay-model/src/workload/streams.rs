//! `model = "streams"`: the streams themselves. Rates and numbers in flight are for each target.

use super::address::LARGEST;
use super::arrival::{PhaseKeys, read_phases};
use super::common::{LARGEST_BOUND, workload_file};
use super::definition::{Load, Timing, Workload};
use super::flush;
use super::looped::{LoopKeys, Membership, complete_loops, read_loops};
use super::names::{NAMES, is_name};
use super::pace::RateKeys;
use super::recorded::{self, RecordedData};
use super::source::Source;
use super::step::Step;
use super::stream_keys::{ContentKeys, DirectionKey, RangeKeys, StreamKeys, own_life};
use crate::lives;
use crate::mix::Loop;
use crate::plan::{Address, Amount, Arrival, Block, Extent, Lane, MOST_STREAMS, Stream, Work};
use crate::size::Size;
use assay_base::{Bytes, Direction, Fault, Rate, Share, Span};
use toml::Spanned;

/// Upper bound on the steps of a workload.
const MOST_STEPS: u32 = 256;

workload_file! {
    struct File {
        #[serde(default)]
        targets: Vec<Spanned<String>>,
        #[serde(default)]
        phase: Vec<Spanned<PhaseKeys>>,
        #[serde(default, rename = "loop")]
        looped: Vec<Spanned<LoopKeys>>,
        #[serde(default)]
        stream: Vec<Spanned<StreamKeys>>,
    }
}

pub(super) fn read_streams(source: Source<'_>) -> Result<Workload, Fault> {
    let mut file: File = source.parse_file()?;
    if file.stream.is_empty() {
        return Err(Fault::for_file(source.file, "the workload has no stream", "add a [[stream]] table"));
    }
    let names = target_names(source, &file.targets)?;
    let loops = read_loops(source, &file.looped)?;
    let (mut streams, mut lanes): (Vec<Stream>, Vec<Lane>) = Default::default();
    for table in &file.stream {
        let keys = table.get_ref();
        if streams.iter().any(|stream| stream.name == *keys.name.get_ref()) {
            return Err(source.fault_at(keys.name.span(), "two streams have this name", "give each its own"));
        }
        let stream = Stream { targets: read_targets(source, keys, &names)?, ..read_stream(source, table, &loops)? };
        shares_places(source, keys, &stream, &streams)?;
        lanes.extend(own_lane(source, keys, &stream)?);
        streams.push(stream);
    }
    let (phases, curve) = read_phases(source, &file.phase)?;
    for (stream, table) in streams.iter_mut().zip(&file.stream).filter(|_| curve.is_some()) {
        let along = curve.as_ref().and_then(|curve| stream.arrival.along_curve(curve));
        stream.arrival = along.ok_or_else(|| {
            let span = table.get_ref().arrival.as_ref().map_or(table.span(), Spanned::span);
            source.fault_at(
                span,
                "in phases the load changes by them",
                "write \"steady\" or \"poisson\", or no [[phase]]",
            )
        })?;
    }
    keeps_phases(source, &file)?;
    let steps = read_steps(source, &file)?;
    few_enough(source, &file.stream, &steps)?;
    flush::follow_writes(source, &file.stream, &streams, &steps, names.len())?;
    lanes.extend(complete_loops(source, &file.looped, &loops, &mut streams)?);
    let mut workload = Workload::new(source.file, "streams", streams, |_| Vec::new());
    let common = file.common();
    let said = common.duration.is_some() && !phases.is_empty();
    // If all streams end at times that are known, the last of these is the duration of the workload.
    let duration = lives::all_over(&workload.load.streams, &loops).unwrap_or(workload.timing.duration);
    workload.load = Load { lanes, loops, ..workload.load };
    workload.targets.names = names;
    workload.timing = Timing { duration, steps, ..workload.timing };
    let mut workload = workload.with_common_keys(source, common)?;
    if said {
        return Err(source.fault_of("duration", "the phases say how long the workload measures: remove duration"));
    }
    if !phases.is_empty() {
        let duration = phases.iter().fold(Span::ZERO, |sum, phase| sum + phase.span);
        workload.timing = Timing { duration, phases, ..workload.timing };
    }
    Ok(workload)
}

/// The names of the targets, in the order in which they stand on the command line.
fn target_names(source: Source<'_>, targets: &[Spanned<String>]) -> Result<Vec<String>, Fault> {
    let mut names: Vec<String> = Vec::new();
    for target in targets {
        let name = target.get_ref();
        if !is_name(name) || names.contains(name) {
            let what = format!("\"{}\" is not a valid name for a target, or is used twice", name.escape_debug());
            return Err(source.fault_at(target.span(), what, NAMES));
        }
        names.push(name.clone());
    }
    Ok(names)
}

/// The targets that a stream runs on, in the order of the targets.
fn read_targets(source: Source<'_>, keys: &StreamKeys, names: &[String]) -> Result<Vec<u16>, Fault> {
    let Some(target) = &keys.target else { return Ok(Vec::new()) };
    let mut places: Vec<u16> = Vec::new();
    for wanted in &target.get_ref().0 {
        let place = names.iter().position(|name| name == wanted).and_then(|place| u16::try_from(place).ok());
        let place = place.ok_or_else(|| {
            let remedy = match names {
                [] => "name them first, before the streams and in the order of the command line: targets = [\"data\", \"log\"]".to_owned(),
                names => format!("write one of {}", names.join(", ")),
            };
            source.fault_at(target.span(), format!("no target is called \"{}\"", wanted.escape_debug()), remedy)
        })?;
        places.push(place);
    }
    places.sort_unstable();
    if places.is_empty() || places.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(source.fault_at(target.span(), "no target, or the same one twice", "name each target once"));
    }
    Ok(places)
}

/// The unit of a stream's places, or its largest operation where it has no unit.
fn unit_of_places(block: &Block) -> Bytes {
    if block.address.offset_unit().get() == 0 { block.size.to } else { block.address.offset_unit() }
}

/// The loop of a stream, as the file describes it.
fn loop_of<'a>(file: &'a File, keys: &StreamKeys) -> Option<&'a LoopKeys> {
    let name = keys.looped.as_ref()?.get_ref();
    file.looped.iter().map(Spanned::get_ref).find(|known| known.loop_name() == name)
}

/// Checks that streams with the same `places` can go to the same places: what decides about places must be equal in all
/// of them.
fn shares_places(source: Source<'_>, keys: &StreamKeys, stream: &Stream, before: &[Stream]) -> Result<(), Fault> {
    let Some((places, own)) = keys.places.as_ref().zip(stream.as_block()) else { return Ok(()) };
    if own.address.rank_law().is_none() && (!own.address.has_cursor() || keys.looped.is_none()) {
        return source.refuse_span(
            places.span(),
            "this address has no places that streams could share",
            "places go with zipf, pareto, normal, hotspot, zones and working_set: streams of one name have the same hot places; in one \
             loop also with sequential, skip, back, once, runs, walk and bands: they have one cursor",
        );
    }
    let alike = before.iter().filter(|it| it.as_block().is_some_and(|block| block.places == own.places));
    if own.address.has_cursor() && alike.clone().any(|it| it.arrival.loop_name() != stream.arrival.loop_name()) {
        let remedy = "write other places, or the same loop";
        return source.refuse_span(places.span(), "a cursor is shared within one loop only", remedy);
    }
    let others = alike.filter_map(Stream::as_block);
    for other in others {
        if (&other.address, other.extent, unit_of_places(other)) != (&own.address, own.extent, unit_of_places(own)) {
            return source.refuse_span(
                places.span(),
                "another stream of these places has another address, range or largest size",
                "write the same for all of them, with a unit in address where sizes differ",
            );
        }
    }
    Ok(())
}

/// The lane of a stream that has an in-flight bound of its own: the bound that it names, or what a closed loop has in
/// flight, which no other stream may take from it.
fn own_lane(source: Source<'_>, keys: &StreamKeys, stream: &Stream) -> Result<Option<Lane>, Fault> {
    let Some(bound) = &keys.in_flight_bound else {
        return Ok(stream.arrival.slots_per_target().map(|slots| Lane::for_stream(keys.name.get_ref(), slots)));
    };
    if keys.rate.is_none() {
        let what = "a closed loop (in_flight) has no other bound";
        return source.refuse_span(bound.span(), what, "remove in_flight_bound");
    }
    if !(1..=LARGEST_BOUND).contains(bound.get_ref()) {
        let remedy = format!("write 1 to {LARGEST_BOUND}");
        return source.refuse_span(bound.span(), "the in-flight bound is out of range", remedy);
    }
    Ok(Some(Lane::for_stream(keys.name.get_ref(), *bound.get_ref())))
}

fn read_stream(source: Source<'_>, table: &Spanned<StreamKeys>, loops: &[Loop]) -> Result<Stream, Fault> {
    let keys = table.get_ref();
    let name = keys.name.get_ref();
    if !is_name(name) {
        return Err(source.fault_at(keys.name.span(), "not a stream name", NAMES));
    }
    let DirectionKey::Data(direction) = *keys.direction.get_ref() else {
        let none = Size::from_fixed(Bytes::default());
        return flush::flush_stream(source, keys, loops, || read_arrival(source, table, &none, loops));
    };
    let reads_only = direction == Direction::Read && (keys.content.is_some() || keys.durable.is_some());
    if reads_only {
        return Err(source.fault_at(
            keys.direction.span(),
            "content and durable belong to writes",
            "remove them, or write direction = \"write\"",
        ));
    }
    let durable = keys.durable.as_ref().is_some_and(|durable| *durable.get_ref());
    if let Some(recorded) =
        keys.arrival.as_ref().and_then(|arrival| Some((arrival.span(), arrival.get_ref().recorded_keys()?)))
    {
        let (compress_to, duplicates) = read_content(source, table)?;
        let what = RecordedData { direction, durable, compress_to, duplicates };
        return recorded::read_recorded_stream(source, keys, what, &Spanned::new(recorded.0, recorded.1));
    }
    let size = read_size(source, table)?;
    if let Some(every) = &keys.every {
        return Err(source.fault_at(
            every.span(),
            "only a flush comes after writes",
            "remove it, or write direction = \"flush\"",
        ));
    }
    let address = read_address(source, keys, &size)?;
    let arrival = read_arrival(source, table, &size, loops)?;
    if matches!(address, Address::NeverSeen { .. }) && arrival.mean_rate().is_none() {
        return Err(source.fault_at(
            keys.address.as_ref().map_or(table.span(), Spanned::span),
            "a closed loop may go through any number of blocks that were never seen",
            "write rate instead of in_flight: then it is known how many the run needs",
        ));
    }
    if address.is_behind() && keys.looped.is_none() {
        return Err(source.fault_at(
            keys.address.as_ref().map_or(table.span(), Spanned::span),
            "only a stream of a loop can go on behind the operations of others",
            "write \"sequential\", or loop = \"NAME\" with a [[loop]] table",
        ));
    }
    let (compress_to, duplicates) = read_content(source, table)?;
    Ok(Stream {
        name: name.clone(),
        work: Work::Block(Block {
            direction,
            durable,
            filled_with: None,
            size,
            address,
            extent: read_range(source, &keys.range)?,
            places: read_places_name(source, keys)?,
            compress_to,
            duplicates,
        }),
        arrival,
        per_target: true,
        targets: Vec::new(),
        life: own_life(source, keys)?,
    })
}

/// The sizes of the operations of a stream that moves data.
fn read_size(source: Source<'_>, table: &Spanned<StreamKeys>) -> Result<Size, Fault> {
    let Some(keys) = &table.get_ref().size else {
        return Err(source.fault_at(table.span(), "the key size is missing", "add size = …"));
    };
    let size = keys.get_ref().meant_size().map_err(|(what, remedy)| source.fault_at(keys.span(), what, remedy))?;
    if size.from.get() == 0 || size.to < size.from || size.to > LARGEST {
        let order = if size.to < size.from { ", with `from` not above `to`" } else { "" };
        return Err(source.fault_at(
            keys.span(),
            "not a size an operation can have",
            format!("write 1B to {LARGEST}{order}"),
        ));
    }
    Ok(size)
}

/// Phases change the load of all streams together, so none of the streams may begin or end on its own.
fn keeps_phases(source: Source<'_>, file: &File) -> Result<(), Fault> {
    let Some(phase) = file.phase.first() else { return Ok(()) };
    let streams = file.stream.iter().map(|table| table.get_ref().life_keys());
    let own =
        streams.chain(file.looped.iter().map(|table| table.get_ref().life_keys())).find_map(|keys| keys.first_place());
    own.map_or(Ok(()), |_| {
        Err(source.fault_at(
            phase.span(),
            "a workload whose streams begin or end within it has no phases",
            "remove the phases, or start, for, operations, bytes and after from the streams and loops",
        ))
    })
}

/// Refuses more streams at the same time than a run can have.
fn few_enough(source: Source<'_>, streams: &[Spanned<StreamKeys>], steps: &[Step]) -> Result<(), Fault> {
    let largest = steps.iter().map(|step| step.streams.len()).max().unwrap_or(streams.len());
    if largest > MOST_STREAMS {
        let where_they_are = if steps.is_empty() { "" } else { " in a step" };
        let remedy = format!("write at most {MOST_STREAMS}, or more steps with fewer of them");
        return Err(Fault::for_file(source.file, format!("too many streams{where_they_are}: {largest}"), remedy));
    }
    Ok(())
}

/// The streams of each step. Steps are numbered from 1, without a gap.
fn read_steps(source: Source<'_>, file: &File) -> Result<Vec<Step>, Fault> {
    let mut of: Vec<(&Spanned<u32>, &String)> = Vec::new();
    for keys in file.stream.iter().map(Spanned::get_ref) {
        if let Some(step) = keys.step.as_ref().filter(|_| keys.looped.is_some()) {
            return Err(source.fault_at(
                step.span(),
                "a stream of a loop is in the loop's step",
                "write step into the [[loop]]",
            ));
        }
        let step = keys.step.as_ref().or_else(|| loop_of(file, keys).and_then(LoopKeys::step_key));
        of.extend(step.map(|step| (step, keys.name.get_ref())));
    }
    let Some((first, _)) = of.first() else { return Ok(Vec::new()) };
    if let Some(phase) = file.phase.first() {
        return Err(source.fault_at(
            phase.span(),
            "a workload has steps or phases",
            "remove the phases, or step from the streams",
        ));
    }
    if of.len() < file.stream.len() {
        let mut all = file.stream.iter().map(Spanned::get_ref);
        let without = all.find(|keys| !of.iter().any(|(_, name)| *name == keys.name.get_ref()));
        let span = without.map_or(first.span(), |keys| keys.name.span());
        return Err(source.fault_at(
            span,
            "this stream is in no step, and others are",
            "add step = 1, or remove step from the others",
        ));
    }
    let last = of.iter().map(|(step, _)| *step.get_ref()).max().unwrap_or(1);
    let empty = (1..=last.min(MOST_STEPS)).find(|number| of.iter().all(|(step, _)| step.get_ref() != number));
    let wrong = of.iter().find(|(step, _)| !(1..=MOST_STEPS).contains(step.get_ref()));
    if let Some((step, _)) = wrong {
        return Err(source.fault_at(step.span(), "not a number of a step", format!("write 1 to {MOST_STEPS}")));
    }
    if let Some(empty) = empty {
        let (step, _) = of.iter().find(|(step, _)| *step.get_ref() > empty).unwrap_or(&of[0]);
        return Err(source.fault_at(
            step.span(),
            format!("step {empty} has no stream"),
            "number the steps 1, 2, 3 without a gap",
        ));
    }
    let mut steps = Vec::new();
    for number in 1..=last {
        let own = of.iter().filter(|(step, _)| *step.get_ref() == number);
        steps.push(Step { streams: own.map(|(_, name)| (*name).clone()).collect(), notes: Vec::new() });
    }
    Ok(steps)
}

fn read_address(source: Source<'_>, keys: &StreamKeys, size: &Size) -> Result<Address, Fault> {
    let Some(address) = &keys.address else { return Ok(Address::Uniform { align: Bytes::default() }) };
    let meant = address.get_ref().meant_address(size);
    meant.map_err(|(what, remedy)| source.fault_at(address.span(), what, remedy))
}

/// The part of the target that the operations of a stream stay in.
pub(super) fn read_range(source: Source<'_>, range: &Option<Spanned<RangeKeys>>) -> Result<Option<Extent>, Fault> {
    let Some(range) = range else { return Ok(None) };
    let RangeKeys { from, size } = *range.get_ref();
    let begin = from.unwrap_or(Amount::ZERO);
    let ends = match (begin, size) {
        (Amount::Share(begin), Some(Amount::Share(size))) => {
            begin.as_ppb().saturating_add(size.as_ppb()) <= Share::WHOLE.as_ppb()
        }
        (Amount::Share(begin), None) => begin < Share::WHOLE,
        _ => true,
    };
    if !ends || !begin.is_within() || size.is_some_and(|size| size.is_zero() || !size.is_within()) {
        return Err(source.fault_at(
            range.span(),
            "not a part of a target",
            "write { from = \"50%\", size = \"10GiB\" }: sizes or shares that end within the target, of more than nothing",
        ));
    }
    Ok(Some(Extent::new(begin, size)))
}

fn read_places_name(source: Source<'_>, keys: &StreamKeys) -> Result<Option<String>, Fault> {
    match &keys.places {
        Some(places) if !is_name(places.get_ref()) => {
            Err(source.fault_at(places.span(), "not a name of places", NAMES))
        }
        places => Ok(places.as_ref().map(|places| places.get_ref().clone())),
    }
}

/// The share of their size that written data compress to, and the share of blocks that are copies of earlier ones.
fn read_content(source: Source<'_>, table: &Spanned<StreamKeys>) -> Result<(Share, Share), Fault> {
    let Some(ContentKeys { compress_to, duplicates }) = table.get_ref().content.as_ref().map(Spanned::get_ref) else {
        return Ok((Share::WHOLE, Share::default()));
    };
    let (compress_to, duplicates) = (compress_to.unwrap_or(Share::WHOLE), duplicates.unwrap_or_default());
    if compress_to > Share::WHOLE {
        return Err(source.fault_at(
            table.span(),
            "data can compress to at most 100%",
            "write compress_to = \"100%\" or less",
        ));
    }
    if duplicates >= Share::WHOLE {
        return Err(source.fault_at(
            table.span(),
            "the first of equal blocks repeats none",
            "write duplicates = \"30%\", less than 100%",
        ));
    }
    Ok((compress_to, duplicates))
}

/// The rate of a stream, which must be above zero.
fn read_rate(source: Source<'_>, rate: &Spanned<RateKeys>, size: &Size) -> Result<Rate, Fault> {
    let Some(meant) = rate.get_ref().rate_for_size(size) else {
        return source.refuse_span(rate.span(), "this rate is too large to be represented", "write a smaller one");
    };
    if meant.is_zero() {
        let remedy = "write a rate above 0/s, or remove the stream";
        return source.refuse_span(rate.span(), "a rate of zero schedules nothing", remedy);
    }
    Ok(meant)
}

fn read_arrival(
    source: Source<'_>,
    table: &Spanned<StreamKeys>,
    size: &Size,
    loops: &[Loop],
) -> Result<Arrival, Fault> {
    let keys = table.get_ref();
    let open = keys.has_pace();
    match (&keys.looped, &keys.share, &keys.line) {
        (Some(name), share, line) if !open => {
            let own = Membership { name, share: share.as_ref(), line: line.as_ref() };
            return super::looped::arrival_in_loop(source, loops, &own);
        }
        (Some(name), ..) => {
            let remedy = "remove rate, arrival, in_flight and pause: [[loop]] says how many are in flight";
            return Err(source.fault_at(name.span(), "a stream of a loop has no arrival of its own", remedy));
        }
        (None, Some(share), _) => {
            return Err(source.fault_at(
                share.span(),
                "a share belongs to a stream of a loop",
                "add loop = …, or remove it",
            ));
        }
        (None, None, Some(line)) => {
            return Err(source.fault_at(
                line.span(),
                "a line belongs to a stream of a loop",
                "add loop = …, or remove it",
            ));
        }
        (None, None, None) => {}
    }
    match (&keys.rate, &keys.in_flight, keys.pause) {
        (Some(it), None, None) => {
            let rate = read_rate(source, it, size)?;
            let Some(arrival) = &keys.arrival else { return Ok(Arrival::Poisson { rate }) };
            arrival
                .get_ref()
                .meant_arrival(rate)
                .map_err(|(what, remedy)| source.fault_at(arrival.span(), what, remedy))
        }
        (None, Some(_), _) if keys.arrival.is_some() => {
            let span = keys.arrival.as_ref().map_or(table.span(), Spanned::span);
            Err(source.fault_at(
                span,
                "a closed loop (in_flight) has no arrival of its own",
                "remove arrival, or write rate instead",
            ))
        }
        (None, Some(in_flight), None) if (1..=LARGEST_BOUND).contains(in_flight.get_ref()) => {
            Ok(Arrival::Closed { in_flight: *in_flight.get_ref() })
        }
        (None, Some(in_flight), Some(pause)) if *in_flight.get_ref() == 1 => Ok(Arrival::Paced { pause }),
        (None, Some(in_flight), _) => {
            let remedy = format!("write 1 to {}; a pause goes with in_flight = 1", LARGEST_BOUND);
            Err(source.fault_at(in_flight.span(), "not a number of operations in flight", remedy))
        }
        _ => Err(source.fault_at(
            table.span(),
            "a stream needs a rate (open loop) or in_flight (closed loop), not both",
            "write rate = \"2000/s\" or in_flight = 32",
        )),
    }
}
