//! `read_iolog`: a job that plays a recording. The recording's places, sizes and times replace those of the job.

use super::content::{Own, are_writes_durable, compressed_and_repeated_shares};
use super::ends::Ends;
use super::engines::read_engine;
use super::job::Job;
use super::lower::Made;
use super::order::Mode;
use super::text::{Entry, Value};
use crate::collect::Played;
use assay_base::text::one_line;
use assay_base::{Bytes, Direction, Fault, Multiple, Rate, Span};
use assay_model::Life;
use assay_model::plan::{Arrival, Lane, MOST_STREAMS, Stream};
use assay_model::recording::Recording;

/// Keys that have no effect in a job that plays a recording, as in fio.
const IDLE: [&str; 12] = [
    "rw",
    "bs",
    "size",
    "filename",
    "directory",
    "nrfiles",
    "norandommap",
    "random_distribution",
    "rwmixread",
    "rwmixwrite",
    "file_service_type",
    "loops",
];

impl Made<'_> {
    /// The streams of a job that plays a recording: each copy plays all of it.
    pub(super) fn add_replays(
        &mut self,
        job: &Job<'_>,
        ends: &Ends,
        entry: &Entry,
        value: &Value,
    ) -> Result<(), Fault> {
        for idle in IDLE.into_iter().filter_map(|key| job.find_entry(key)) {
            job.note_difference(idle, "without effect: the recording has its own files, places and sizes");
        }
        for key in ["number_ios", "io_size", "time_based", "offset", "ramp_time"] {
            if let Some(entry) = job.find_entry(key) {
                return Err(job.not_yet(
                    entry,
                    "a recording with an end or a place of the job's own",
                    "remove this key",
                ));
            }
        }
        let engine = read_engine(job)?;
        let (beside, _) = job.file.file_and_line(entry.place);
        let played = self.files.read_recording(&value.text, beside);
        let remedy = "name an iolog of fio with times (version 3, or 2 with wait), from here or beside the job file";
        let played = played.map_err(|why| job.fault_at_entry(entry, one_line(&why), remedy))?;
        job.note_difference(
            entry,
            "an open loop: an operation that cannot be issued at its time waits, and its wait counts",
        );
        let target = self.files.target_of_file(job, &played.device, None)?;
        self.refuse_beyond_end(job, entry, target, &played)?;
        self.ways.add_job(job, Mode::with_directions(true, true), &self.files, &[target])?;
        let copies = job.number_within::<u64>("numjobs", 1, MOST_STREAMS as u64)?.unwrap_or(1);
        let own = Own { content: compressed_and_repeated_shares(job)?, durable: are_writes_durable(job)?, copies };
        let [reads, writes] = [Direction::Read, Direction::Write]
            .map(|direction| played.lines.iter().any(|line| line.direction == direction));
        let mode = Mode::with_directions(reads, writes);
        self.has_room(job, 2 * copies)?;
        // fio counts the times of an iolog from the beginning of the job.
        let plain = ends.of_recording();
        let life = Life { start: plain.start + Span::from_ns(played.begin_ns), ..plain };
        for copy in 0..copies {
            for direction in mode.directions() {
                let name = self.stream_name(job, copy, copies, mode, direction);
                let recording = Recording::with_file_name(value.text.clone(), Multiple::ONE, false);
                let arrival = Arrival::Recorded { rate: Rate::per_second(1), recording };
                self.workload.load.lanes.push(Lane::for_stream(&name, engine.depth));
                self.add_criteria(job, &name, direction)?;
                let (work, targets, life) = (own.recorded_work(direction), vec![target], life.clone());
                self.workload.load.streams.push(Stream { name, work, arrival, per_target: true, targets, life });
            }
        }
        self.workload
            .play_recording(&value.text, &played.lines)
            .map_err(|why| job.fault_at_entry(entry, why, remedy))?;
        let notes = played.notes.iter().map(|note| format!("{}: {note}", value.text));
        notes.for_each(|note| job.add_note(note));
        self.read_common_keys(job, mode)
    }

    /// Refuses a recording that goes beyond the end of its file.
    fn refuse_beyond_end(&self, job: &Job<'_>, entry: &Entry, target: u16, played: &Played) -> Result<(), Fault> {
        let reaches = played.lines.iter().map(|line| line.offset.saturating_add(line.len.into())).max().unwrap_or(0);
        let beyond = self.files.size_of(target).map_or(0, |size| reaches.saturating_sub(size));
        if beyond == 0 {
            return Ok(());
        }
        let what =
            format!("reaches {} beyond the end of {}", Bytes::new(beyond).human_text(), one_line(&played.device));
        Err(job.fault_at_entry(entry, what, "give it a larger target with --map NAME=TARGET"))
    }
}
