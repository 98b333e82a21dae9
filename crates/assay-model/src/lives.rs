//! The lives of all streams of a workload together: which stream waits for which, how long the run lasts, and where
//! each life lies on the time line of a run.

use crate::life::Life;
use crate::mix::Loop;
use crate::plan::{Plan, PlannedLoad, Stream, WarmUp};
use assay_base::{Instant, Span};

/// The life of a stream. A stream of a loop has the life of its loop.
pub fn life_of<'a>(stream: &'a Stream, loops: &'a [Loop]) -> &'a Life {
    let looped = stream.arrival.loop_name().and_then(|name| loops.iter().find(|it| it.name == *name));
    looped.map_or(&stream.life, |it| &it.life)
}

/// The name by which others can wait for a stream: that of its loop, or its own if it is not in a loop.
fn name_of(stream: &Stream) -> &str {
    stream.arrival.loop_name().unwrap_or(&stream.name)
}

/// Whether every stream has an end other than that of the run.
fn all_end(streams: &[Stream], loops: &[Loop]) -> bool {
    streams.iter().filter(|stream| !stream.reads_back()).all(|stream| life_of(stream, loops).has_own_end())
}

/// Whether the run ends when every stream has ended, at a time that is not known before.
pub(crate) fn end_when_done(streams: &[Stream], loops: &[Loop]) -> bool {
    let mut own = streams.iter().filter(|stream| !stream.reads_back());
    all_end(streams, loops) && own.any(|stream| !life_of(stream, loops).is_by_time())
}

/// When the last stream ends, if all of them end at times that are known before the run.
pub fn all_over(streams: &[Stream], loops: &[Loop]) -> Option<Span> {
    let mut last = None;
    for stream in streams {
        let life = life_of(stream, loops);
        last = last.max(Some(life.ends_at().filter(|_| life.is_by_time())?));
    }
    last
}

/// Checks the lives of a run that measures for `measure` after `warm_up`, and returns notes for the reader of the plan.
/// The error says what contradicts what.
pub(crate) fn check_lives(
    streams: &[Stream],
    loops: &[Loop],
    warm_up: WarmUp,
    measure: Span,
) -> Result<Vec<String>, String> {
    let lives = || streams.iter().map(|stream| (name_of(stream), life_of(stream, loops)));
    let Some((first, _)) = lives().find(|(_, life)| !life.is_whole()) else { return Ok(Vec::new()) };
    if matches!(warm_up, WarmUp::UntilSteady { .. }) {
        return Err(format!(
            "{first} begins or ends within the run, so that the load is never steady: give the warm-up a time of its own, such as --warm-up 1min"
        ));
    }
    if !warm_up.longest_warm_up().is_zero() && lives().all(|(_, life)| !life.warms_up()) {
        return Err(if lives().all(|(_, life)| life.ends_by_number()) {
            "streams that end after their operations have no warm-up: remove it".to_owned()
        } else {
            "no stream is there from the beginning, so that nothing would be warmed up: remove the warm-up".to_owned()
        });
    }
    let mut notes = Vec::new();
    for (name, life) in lives() {
        if life.start >= measure {
            return Err(format!(
                "{name} begins after {}, and the run measures for {measure}: measure for longer, or let it begin earlier",
                life.start
            ));
        }
        if let Some(end) = life.ends_at().filter(|end| *end > measure) {
            let note = format!("{name} lasts until {end}, and ends with the run, after {measure}");
            notes.extend((!notes.contains(&note)).then_some(note));
        }
        check_waits(name, life, lives)?;
    }
    Ok(notes)
}

/// Checks that the stream `name` waits for streams that exist, that end, and that do not themselves wait for `name`.
fn check_waits<'a, I: Iterator<Item = (&'a str, &'a Life)>>(
    name: &str,
    life: &'a Life,
    lives: impl Fn() -> I,
) -> Result<(), String> {
    let mut seen: Vec<&str> = Vec::new();
    let mut open: Vec<&str> = life.waits_for().collect();
    while let Some(after) = open.pop() {
        if after == name {
            return Err(format!(
                "{name} waits for itself, through those that it waits for: let one of them begin by itself"
            ));
        }
        let Some((_, next)) = lives().find(|(other, _)| *other == after) else {
            return Err(format!(
                "{name} waits for {after}, which is not there: write the name of another stream or loop, in a loop that of the loop"
            ));
        };
        if !next.has_own_end() {
            return Err(format!("{name} waits for {after}, which has no end: give {after} for, operations or bytes"));
        }
        if !seen.contains(&after) {
            seen.push(after);
            open.extend(next.waits_for());
        }
    }
    Ok(())
}

impl PlannedLoad {
    /// The life of a stream, by its index.
    pub fn life_of(&self, stream: u16) -> &Life {
        life_of(&self.streams[usize::from(stream)], &self.loops)
    }

    /// Whether some stream begins or ends within the run.
    pub fn has_lives(&self) -> bool {
        self.streams.iter().any(|stream| !life_of(stream, &self.loops).is_whole())
    }

    /// Whether a run of this plan that is continued starts over. It does if beginnings or ends depend on what streams
    /// have done, because that is not known for the moment at which the run was cut.
    pub fn starts_over(&self) -> bool {
        self.streams.iter().any(|stream| !life_of(stream, &self.loops).is_by_time())
    }

    /// Whether others wait for the end of a stream.
    pub fn is_waited_for(&self, stream: u16) -> bool {
        let name = name_of(&self.streams[usize::from(stream)]);
        self.streams.iter().any(|other| life_of(other, &self.loops).waits_for().any(|after| after == name))
    }

    /// The streams that a stream waits for, as indices; none if it waits for nothing.
    pub fn waited_for_by(&self, stream: u16) -> Vec<u16> {
        let life = self.life_of(stream);
        let all = (0..).zip(&self.streams);
        let awaited = all.filter(|(_, other)| life.waits_for().any(|after| after == name_of(other)));
        awaited.map(|(at, _)| at).collect()
    }
}

impl Plan {
    /// When the measurement begins in a run that begins at `start`: after the warm-up. This also holds for a run that
    /// continues another one, which has a warm-up of its own although a part of the measurement is already done.
    fn measurement_begin(&self, start: Instant) -> Instant {
        start + self.timing.warm_up().longest_warm_up()
    }

    /// When a stream that waits for no other begins, in a run that begins at `start`.
    pub fn stream_begin(&self, stream: u16, start: Instant) -> Instant {
        let (life, before) = (self.load.life_of(stream), self.carried_over.time);
        // If the run is continued, a stream that had begun before is warmed up again.
        let under_way = life.is_by_time() && !before.is_zero() && life.start < before;
        if life.warms_up() || under_way {
            start
        } else {
            self.measurement_begin(start) + life.start.saturating_sub(before)
        }
    }

    /// When a stream that waits for no other ends at the latest, in a run that begins at `start`; [`Instant::FAR`] if
    /// no time ends it.
    pub fn stream_end(&self, stream: u16, start: Instant) -> Instant {
        let Some(end) = self.load.life_of(stream).ends_at() else { return Instant::FAR };
        if end > self.carried_over.time {
            self.measurement_begin(start) + end.saturating_sub(self.carried_over.time)
        } else {
            // It has ended before the run was continued.
            start
        }
    }
}
