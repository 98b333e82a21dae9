//! `arrival = { recorded = "FILE" }`: streams whose operations come from a recording, and how they get these operations
//! when the file has been read.

use super::arrival::RecordedKeys;
use super::definition::Workload;
use super::source::Source;
use super::stream_keys::{StreamKeys, own_life};
use crate::plan::{Address, Arrival, Block, Stream, Work};
use crate::recording::{Line, Recording};
use crate::size::Size;
use assay_base::{Bytes, Direction, Fault, Multiple, Rate, Share};
use toml::Spanned;

/// What the file says of the operations of a recording besides their sizes, places and times.
pub(super) struct RecordedData {
    pub(super) direction: Direction,
    pub(super) durable: bool,
    pub(super) compress_to: Share,
    pub(super) duplicates: Share,
}

/// The stream of the recorded operations of one direction. Its size and rate are placeholders until the recording has
/// been read.
pub(super) fn read_recorded_stream(
    source: Source<'_>,
    keys: &StreamKeys,
    data: RecordedData,
    recorded: &Spanned<RecordedKeys>,
) -> Result<Stream, Fault> {
    let own = keys.of_data().filter(|(key, _)| !["content", "durable", "bytes"].contains(key));
    if let Some((key, span)) = own {
        let remedy = format!("remove {key}: the recording has sizes and places of its own");
        return Err(source.fault_at(span, format!("{key} does not belong to a recording"), remedy));
    }
    if let Some(looped) = &keys.looped {
        let remedy = "remove loop: a recording has times of its own";
        return Err(source.fault_at(looped.span(), "a recording cannot be part of a closed loop", remedy));
    }
    if let Some((key, span)) = keys.first_pace_key() {
        let remedy = format!("remove {key}; speed = \"2x\" in arrival plays it twice as fast");
        return Err(source.fault_at(span, format!("{key} does not belong to a recording"), remedy));
    }
    if keys.pause.is_some() {
        let remedy = "remove pause; speed = \"0.5x\" in arrival plays it half as fast";
        return Err(source.fault_at(recorded.span(), "a pause does not belong to a recording", remedy));
    }
    let RecordedKeys { recorded: file, speed, fit } = recorded.get_ref();
    if file.is_empty() {
        return Err(source.fault_at(recorded.span(), "a recording without a name", "write recorded = \"trace.txt\""));
    }
    let RecordedData { direction, durable, compress_to, duplicates } = data;
    let recording = Recording::with_file_name(file.clone(), speed.unwrap_or(Multiple::ONE), fit.is_some());
    Ok(Stream {
        name: keys.name.get_ref().clone(),
        work: Work::Block(Block {
            direction,
            durable,
            filled_with: None,
            size: Size::from_fixed(Bytes::new(1)),
            address: Address::Recorded,
            extent: None,
            places: None,
            compress_to,
            duplicates,
        }),
        arrival: Arrival::Recorded { rate: Rate::per_second(1), recording },
        per_target: true,
        targets: Vec::new(),
        life: own_life(source, keys)?,
    })
}

/// The shortest time over which the rate of a recording is computed, so that a single operation has a rate too.
const SHORTEST_NS: u64 = 1_000_000;

impl Workload {
    /// The files of the recordings that the workload plays, each once.
    pub fn recording_files(&self) -> Vec<String> {
        let mut files: Vec<String> = Vec::new();
        for recording in self.load.streams.iter().filter_map(|stream| stream.arrival.played_recording()) {
            if !files.contains(&recording.file) {
                files.push(recording.file.clone());
            }
        }
        files
    }

    /// Gives the streams that play `file` their operations. `lines` are the operations of the file in the order of
    /// their times.
    ///
    /// # Errors
    /// The error says why a stream cannot be played.
    pub fn play_recording(&mut self, file: &str, lines: &[Line]) -> Result<(), String> {
        for stream in &mut self.load.streams {
            let (Some(named), Some(direction)) = (stream.arrival.played_recording(), stream.data_direction()) else {
                continue;
            };
            if named.file != file {
                continue;
            }
            let recording = named.with_lines(lines, direction).ok_or_else(|| {
                format!("{file} has no {direction} for the stream {}: remove the stream", stream.name)
            })?;
            let lengths = recording.recorded_lines().iter().map(|line| Bytes::new(line.len.into()));
            let (from, to) = (lengths.clone().min().unwrap_or_default(), lengths.max().unwrap_or_default());
            // The rate is the mean over the whole recording, which may consist of a single operation.
            let last = lines.last().map_or(0, |line| recording.wanted_after(line).as_ns()).max(SHORTEST_NS);
            let rate = Rate::from_ratio(u128::from(recording.operations) * 1_000_000_000, last.into());
            let rate = rate.filter(|rate| !rate.is_zero());
            let rate = rate.ok_or_else(|| format!("{file}: its rate cannot be represented at this speed"))?;
            let operations = stream.life.operations.map_or(recording.operations, |own| own.min(recording.operations));
            stream.life.operations = Some(operations);
            if let Work::Block(block) = &mut stream.work {
                block.size = Size::from_range(from, to);
            }
            stream.arrival = Arrival::Recorded { rate, recording };
        }
        Ok(())
    }

    /// Checks that all recordings have been read; without their operations no plan can be made.
    pub(super) fn has_its_recordings(&self) -> Result<(), String> {
        let mut recordings = self.load.streams.iter().filter_map(|stream| stream.arrival.played_recording());
        match recordings.find(|recording| recording.recorded_lines().is_empty()) {
            Some(recording) => Err(format!("the recording {} has not been read", recording.file)),
            None => Ok(()),
        }
    }
}
