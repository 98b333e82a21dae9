//! How a plan is made from a workload, the number of targets and what the command line changes.

use super::definition::{Application, LONGEST_RUN, Load, SHORTEST_SLICE, Sealing, Targets, Timing, Workload};
use crate::cache::Caching;
use crate::lives;
use crate::plan::{
    Address, Amount, Arrival, CarriedOver, Extent, Group, Lane, Notes, Phase, PhaseKind, Plan, PlannedApplication,
    PlannedLoad, PlannedTiming, PlannedVerification, Stream, WarmUp, final_read_back,
};
use assay_base::{Bytes, Multiple, Prng, Rate, Share, Span};

/// Upper bound on the operations per second of all streams together: more than any array carries, and few enough that
/// those of an interval, all of which are drawn, are counted within a second or two.
const MOST_RATE: f64 = 1e8;

/// What the command line changes about a workload.
#[derive(Clone, Debug, Default)]
pub struct Adjust {
    /// `--load`, a multiple of the workload's 1x.
    pub load: Option<Multiple>,
    /// `--for`: measured time.
    pub measure: Option<Span>,
    /// `--warm-up`.
    pub warm_up: Option<WarmUp>,
    /// `--slice`.
    pub slice: Option<Span>,
    /// The run's seed, when the file has none or the command line overrides it.
    pub seed: u64,
    /// Number of targets.
    pub targets: u16,
    /// `--verify`.
    pub verify: bool,
}

impl Workload {
    /// The plan of a run; the error says what is contradictory.
    pub fn make_plan(&self, adjust: &Adjust) -> Result<Plan, String> {
        match &self.load.application {
            Some(Application::Tiles(tiles)) => tiles.make_plan(self, adjust),
            Some(Application::Mail(mail)) => mail.on_targets(self, adjust.targets.max(1))?.make_unchecked_plan(adjust),
            _ => self.make_unchecked_plan(adjust),
        }
    }

    fn make_unchecked_plan(&self, adjust: &Adjust) -> Result<Plan, String> {
        self.has_no_steps()?;
        self.targets.are_given(adjust.targets.max(1))?;
        self.has_its_recordings()?;
        let (mut load, times) = self.load.planned(adjust)?;
        let mut remarks = self.notes.clone();
        remarks.extend(unmultiplied_note(&load.streams, times)?);
        let timing = self.timing.adjusted_by(adjust, lives::all_over(&load.streams, &load.loops))?;
        if load.files().is_some() && timing.warm_up != WarmUp::For(Span::ZERO) {
            return Err("a load on files has no warm-up: write a [[phase]] before the one that counts".to_owned());
        }
        load.note_length(timing.duration);
        let mut phases = timing.in_phases(&self.load.streams)?;
        remarks.extend(lives::check_lives(&load.streams, &load.loops, timing.warm_up, timing.duration)?);
        let may_end_early = load.files().is_some_and(|files| files.current_phase().may_end_early());
        if may_end_early || lives::end_when_done(&load.streams, &load.loops) {
            let measured = phases.iter_mut().filter(|phase| phase.kind == PhaseKind::Measure);
            measured.for_each(|phase| phase.until_done = true);
        }
        let verification = self.planned_verification(adjust);
        self.load.keeps_places(verification.verify)?;
        if let Some(cache) = self.in_front(&mut remarks)? {
            load.streams = super::cached::streams_behind_cache(&cache, load.streams, verification.verify)?;
            // What passes one cache is one sequence.
            load.lanes = Vec::new();
        }
        if !self.hosts.is_shared() {
            remarks.push(format!("with several ranks {}", self.hosts));
        }
        if verification.leave_sealed {
            remarks.push("what is written is sealed and not read back: a later run that verifies compares it".into());
        }
        if let Some((stream, phase)) = final_read_back(&load.streams).filter(|_| verification.reads_back()) {
            if load.streams.iter().any(|other| other.name == stream.name) {
                return Err(format!("a workload that verifies has a stream {} of its own: rename yours", stream.name));
            }
            load.streams.push(stream);
            phases.push(phase);
        }
        let plan = Plan {
            name: self.name.clone(),
            model: self.model.to_owned(),
            load,
            criteria: self.criteria.iter().map(|criterion| self.with_new_window(criterion, timing.slice)).collect(),
            timing: timing.planned(phases),
            verification,
            caches: self.caches.clone(),
            hosts: self.hosts,
            carried_over: self.load.carried_over(adjust.seed),
            notes: Notes { derivation: self.derivation.clone(), remarks, watermarks: self.watermarks.clone() },
        };
        plan.fits_somewhere().map(|()| plan)
    }

    /// A workload with steps has no plan of its own.
    fn has_no_steps(&self) -> Result<(), String> {
        if self.timing.steps.is_empty() {
            return Ok(());
        }
        if self.load.as_files().is_some() {
            return Err(format!(
                "{} has {} phases, which only run and explain carry out one after another; write what clients do in one of them, as [[do]] with a rate, into a file of its own",
                self.name,
                self.timing.steps.len()
            ));
        }
        Err(format!(
            "{} has {} steps, which only run and explain carry out one after another; write the streams of one step into a file of their own",
            self.name,
            self.timing.steps.len()
        ))
    }

    /// Which data its plan compares with what was written.
    fn planned_verification(&self, adjust: &Adjust) -> PlannedVerification {
        // Of files the tree is compared, not the data of blocks.
        if self.load.as_files().is_some() {
            return PlannedVerification::default();
        }
        let (own, left) = self.sealing_modes();
        let verify = own || adjust.verify;
        PlannedVerification {
            verify,
            // `--verify` asks for both.
            leave_sealed: verify && left && !adjust.verify,
            check_all: if verify { self.verification.check_all.clone() } else { Vec::new() },
        }
    }

    /// Whether it verifies, and whether it leaves all that it seals for a later run to compare.
    fn sealing_modes(&self) -> (bool, bool) {
        let sealed = &self.verification.sealed;
        if sealed.is_empty() {
            return (self.verification.verify, false);
        }
        let own = sealed.iter().filter(|(name, _)| self.load.has_stream(name));
        let own: Vec<Sealing> = own.map(|(_, how)| *how).collect();
        (!own.is_empty(), own.contains(&Sealing::Left) && !own.contains(&Sealing::ReadBack))
    }

    /// The simulated cache that the streams pass, and a note about the cache in front of the targets, whichever there is.
    fn in_front(&self, notes: &mut Vec<String>) -> Result<Option<Caching>, String> {
        match (self.caches.simulated, &self.caches.device) {
            (Some(_), Some(_)) => {
                Err("a load lies behind a simulated cache or before a cache device, not both: leave one of them out"
                    .into())
            }
            (Some(cache), None) => {
                notes.push(format!(
                    "operations pass a simulated cache before each target, {cache}: rates that were asked for are those of the application; what \
                     completes, and what criteria judge, is what the target sees"
                ));
                Ok(Some(cache))
            }
            (None, Some(device)) => {
                notes.push(format!("a look-aside cache lies before the targets: {device}"));
                Ok(None)
            }
            (None, None) => Ok(None),
        }
    }
}

/// Whether two streams may go to the same blocks of a target.
fn may_meet(one: &Stream, other: &Stream) -> bool {
    let together = one.targets.is_empty()
        || other.targets.is_empty()
        || one.targets.iter().any(|target| other.targets.contains(target));
    let extents = extent_of(one).zip(extent_of(other));
    together && one.name != other.name && extents.is_some_and(|(one, other)| one.may_meet(other))
}

/// The part of its targets that a stream goes to; `None` if it moves no data.
fn extent_of(stream: &Stream) -> Option<Extent> {
    stream.as_block().map(|block| block.extent.unwrap_or(Extent::new(Amount::ZERO, None)))
}

/// Whether blocks of a stream repeat each other.
fn has_duplicates(stream: &Stream) -> bool {
    stream.as_block().is_some_and(|block| block.duplicates > Share::default())
}

/// What to say about streams of a load that is `times` what was written, where some have no rate to be multiplied.
fn unmultiplied_note(streams: &[Stream], times: Multiple) -> Result<Option<String>, String> {
    let closed = streams.iter().filter(|stream| stream.arrival.offered_rate().is_none()).count();
    if times == Multiple::ONE || closed == 0 {
        return Ok(None);
    }
    if closed == streams.len() {
        return Err(format!("a load of {times} cannot be offered: {}", PlannedLoad::ONLY_CLOSED_LOOPS));
    }
    Ok(Some("closed-loop streams have no rate and are not multiplied by --load".into()))
}

impl Load {
    /// The load on as many targets and at the multiple that the command line asks for, and its multiple of what was
    /// written.
    fn planned(&self, adjust: &Adjust) -> Result<(PlannedLoad, Multiple), String> {
        let targets = adjust.targets.max(1);
        let own = self.load_as_written(targets);
        let multiple = adjust.load.unwrap_or(own);
        let times =
            multiple.divided_by(own).ok_or_else(|| format!("{multiple} is too far from the workload's own {own}"))?;
        let (streams, application) = self.scaled_streams(targets, multiple, times)?;
        let load = PlannedLoad {
            multiple,
            multiples: Vec::new(),
            seed: adjust.seed,
            targets,
            streams,
            in_flight_bound: self.in_flight_bound,
            lanes: self.lanes_of(),
            groups: Group::with_streams_among(&self.groups, &self.streams),
            loops: self.loops.clone(),
            application,
        };
        Ok((load, times))
    }

    /// Its streams on this many targets, `times` what they are at 1x, which is a load of `load`; and its application on
    /// these targets.
    fn scaled_streams(
        &self,
        targets: u16,
        load: Multiple,
        times: Multiple,
    ) -> Result<(Vec<Stream>, Option<PlannedApplication>), String> {
        if let Some(beyond) = self.streams.iter().find(|stream| stream.targets.iter().any(|target| *target >= targets))
        {
            return Err(format!("the stream {} names a target beyond the {targets} that were given", beyond.name));
        }
        let streams: Option<Vec<Stream>> =
            self.streams.iter().map(|stream| self.scaled_stream(stream, targets, times)).collect();
        let mut streams = streams.ok_or_else(|| format!("at {load} the rates are too large to be represented"))?;
        let application = self.planned_application(targets, times)?;
        if let Some(PlannedApplication::Oltp(oltp)) = &application {
            for stream in &mut streams {
                if let Some(Address::Asu { asu, .. }) = stream.as_block().map(|block| &block.address) {
                    stream.targets = oltp.targets_of(*asu);
                }
            }
        }
        // Commits that come in groups are drawn one by one too.
        let commits = streams.iter().filter_map(|stream| stream.arrival.grouped_commits()).map(Rate::as_f64);
        let rate: f64 = streams.iter().filter_map(|stream| stream.arrival.peak_rate()).chain(commits).sum();
        if rate > MOST_RATE {
            return Err(format!("at {load} {rate:.0} operations a second are asked for; ask for at most {MOST_RATE}"));
        }
        Ok((streams, application))
    }

    /// Its application on this many targets, at `times` its 1x.
    fn planned_application(&self, targets: u16, times: Multiple) -> Result<Option<PlannedApplication>, String> {
        Ok(match &self.application {
            Some(Application::Oltp(oltp)) => Some(PlannedApplication::Oltp(oltp.on_targets(targets, times)?)),
            Some(Application::Mail(mail)) => Some(PlannedApplication::Mail(mail.clone())),
            Some(Application::Tpcc(load)) => load.scaled_by(times).map(PlannedApplication::Tpcc),
            Some(Application::Files(files)) => files.scaled_by(times).map(PlannedApplication::Files),
            // The plan of tiles is put together of those of their workloads.
            Some(Application::Tiles(_)) | None => None,
        })
    }

    /// A stream at a multiple of its rate, on its targets; `None` if its rate is too large.
    fn scaled_stream(&self, stream: &Stream, targets: u16, times: Multiple) -> Option<Stream> {
        let own = if stream.targets.is_empty() { u64::from(targets) } else { stream.targets.len() as u64 };
        let spread = if self.per_target { own } else { 1 };
        let is_scaled = !self.unscaled.contains(&stream.name);
        let arrival = stream.arrival.scaled_by(if is_scaled { times } else { Multiple::ONE })?;
        Some(Stream { arrival: arrival.on_each_of(spread)?, ..stream.clone() })
    }

    /// Whether there is a stream of this name.
    fn has_stream(&self, name: &str) -> bool {
        self.streams.iter().any(|stream| stream.name == name)
    }

    /// The lanes that have streams, and only those of their streams that exist.
    fn lanes_of(&self) -> Vec<Lane> {
        let mut lanes = Vec::new();
        for lane in &self.lanes {
            let streams: Vec<String> = lane.streams.iter().filter(|name| self.has_stream(name)).cloned().collect();
            if !streams.is_empty() {
                lanes.push(Lane { streams, ..*lane });
            }
        }
        lanes
    }

    /// What is seen once begins anywhere, because nothing is known of what was seen before.
    fn carried_over(&self, seed: u64) -> CarriedOver {
        let goes_once = self.streams.iter().any(Stream::goes_once);
        let seen = if goes_once { Prng::for_path(seed, &[]).next_u64() >> 12 } else { 0 };
        CarriedOver { time: Span::ZERO, seen: Bytes::new(seen) }
    }

    /// What is never seen is kept from the others, and what repeats is not held against what was written.
    fn keeps_places(&self, verify: bool) -> Result<(), String> {
        for one in self.streams.iter().filter(|stream| stream.goes_once()) {
            if let Some(other) = self.streams.iter().find(|other| may_meet(one, other)) {
                return Err(format!(
                    "the stream {} may go to blocks which {} must not have seen; give both a range or a target of its own, such as \
                     range = {{ size = \"50%\" }} and range = {{ from = \"50%\" }}",
                    other.name, one.name
                ));
            }
        }
        let repeats = self.streams.iter().find(|stream| has_duplicates(stream));
        match repeats.filter(|_| verify) {
            Some(stream) => Err(format!(
                "the blocks of {} repeat each other, so that they cannot be verified; remove duplicates, or do not verify",
                stream.name
            )),
            None => Ok(()),
        }
    }
}

impl Targets {
    /// A workload that tells its targets apart is given as many.
    fn are_given(&self, targets: u16) -> Result<(), String> {
        let names = &self.names;
        if names.is_empty() || names.len() == usize::from(targets) {
            return Ok(());
        }
        let names =
            format!("{} {} ({})", names.len(), if names.len() == 1 { "target" } else { "targets" }, names.join(", "));
        Err(format!("the workload is for {names}, and it is given {targets}: name one for each, in this order"))
    }
}

impl Timing {
    /// The same with what the command line changes; behind `over`, where the last stream ends, there is nothing to measure.
    fn adjusted_by(&self, adjust: &Adjust, over: Option<Span>) -> Result<Timing, String> {
        let measure = adjust.measure.unwrap_or(self.duration);
        let measure = over.map_or(measure, |over| over.min(measure));
        let warm_up = adjust.warm_up.unwrap_or(self.warm_up);
        let before = warm_up.longest_warm_up();
        if measure.is_zero() || measure > LONGEST_RUN || before > LONGEST_RUN {
            return Err(format!(
                "a run of {measure} after {before} of warm-up cannot be measured; ask for 1s to {LONGEST_RUN}"
            ));
        }
        super::warm_up::check_rounds(warm_up, self.interval)?;
        let timing = Timing { warm_up, duration: measure, slice: adjust.slice.unwrap_or(self.slice), ..self.clone() };
        timing.has_whole_intervals().map(|()| timing)
    }

    /// Slices must consist of whole intervals.
    fn has_whole_intervals(&self) -> Result<(), String> {
        let (slice, interval) = (self.slice, self.interval);
        if slice < SHORTEST_SLICE || slice > LONGEST_RUN {
            return Err(format!("a slice of {slice} cannot be judged; ask for {SHORTEST_SLICE} to {LONGEST_RUN}"));
        }
        if slice < self.duration && !slice.as_ns().is_multiple_of(interval.as_ns()) {
            let next = interval.as_ns().saturating_mul(slice.as_ns() / interval.as_ns() + 1);
            return Err(format!(
                "a slice of {slice} is not a multiple of the interval, {interval}: ask for one that is, such as {}",
                Span::from_ns(next)
            ));
        }
        Ok(())
    }

    /// The timing of a run with these phases.
    fn planned(&self, phases: Vec<Phase>) -> PlannedTiming {
        PlannedTiming {
            phases,
            slice: self.slice,
            interval: self.interval,
            max_lag: self.max_lag,
            skip_half_windows: self.skip_half_windows,
            backlog_allowed: self.backlog_allowed,
            recovery_at_most: self.recovery_at_most,
        }
    }

    /// The phases of a run of these streams; the workload's own, where it has some.
    fn in_phases(&self, streams: &[Stream]) -> Result<Vec<Phase>, String> {
        let varies = streams.iter().any(|stream| matches!(stream.arrival, Arrival::Varying { .. }));
        if varies && matches!(self.warm_up, WarmUp::UntilSteady { .. }) {
            return Err(
                "a load that changes is never steady: give the warm-up a time of its own, such as --warm-up 1min"
                    .into(),
            );
        }
        let (measure, slice) = (self.duration, self.slice);
        if self.phases.is_empty() {
            return Ok(Phase::warm_up_and_measure(self.warm_up, measure));
        }
        let whole = self.phases.iter().fold(Span::ZERO, |sum, phase| sum + phase.span);
        if measure != whole {
            return Err(format!("the phases of the workload take {whole}, and cannot be measured for {measure}"));
        }
        match self.phases.iter().find(|phase| !phase.span.as_ns().is_multiple_of(slice.as_ns().max(1))) {
            Some(phase) => Err(format!(
                "the phase {} takes {}, which is not a multiple of the slice, {slice}: each is judged in slices of its own",
                phase.name, phase.span
            )),
            None => Ok(Phase::warm_up_and_remaining(self.warm_up, &self.phases, Span::ZERO)),
        }
    }
}
