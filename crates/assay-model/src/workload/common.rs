//! The keys of every workload file, whatever its model, and how a plan is made from it.

use super::cached::Kind;
use crate::cache::{CacheDevice, Caching};
use crate::lives;
use crate::mail::Mail;
use crate::mix::Loop;
use crate::oltp::OltpLoad;
use crate::page_cache::PageCached;
use crate::plan::{Address, Amount, Arrival, Before, Extent, Lane, Phase, PhaseKind, Plan, Stream, WarmUp};
use crate::profile::Derivation;
use crate::tpcc;
use assay_base::{Bytes, Criterion, Multiple, Prng, Share, Span};

/// Judging windows of an hour, as in ACT's criteria.
const SLICE: Span = Span::from_secs(3600);
/// A day, as in ACT's manual.
const DURATION: Span = Span::from_secs(86_400);
/// Recording step.
const INTERVAL: Span = Span::from_secs(1);
/// ACT's max-lag-sec.
const MAX_LAG: Span = Span::from_secs(10);
/// Upper bound on operations in flight per target. It is enough for a device to use all its parallelism, and limited
/// because the buffers must be; an operation that finds the queue full waits, and its wait counts.
pub const IN_FLIGHT_BOUND: u32 = 512;
/// The largest bound that is accepted: an io_uring ring holds 32768 entries.
pub const LARGEST_BOUND: u32 = 16_384;
/// Longest run: a year.
const LONGEST: Span = Span::from_secs(366 * 86_400);
/// Longest interval: a log without lines for longer than this is not judged.
const LONGEST_INTERVAL: Span = Span::from_secs(3600);
/// Upper bound on the operations per second of all streams together: more than any array carries, and few enough that
/// those of an interval, all of which are drawn, are counted within a second or two.
const MOST_RATE: f64 = 1e8;
/// Shortest slice and interval.
const SHORTEST: Span = Span::from_ms(10);

/// Defines a file's struct: the model's own keys and the common ones, so that unknown keys can be refused by name.
macro_rules! workload_file {
    ($(#[$meta:meta])* struct $name:ident { $($(#[$field_meta:meta])* $field:ident : $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $name {
            $($(#[$field_meta])* $field: $type,)*
            name: Option<String>,
            #[allow(dead_code, reason = "read before, to choose this struct")]
            model: String,
            description: Option<String>,
            note: Option<String>,
            duration: Option<assay_base::Span>,
            warm_up: Option<toml::Spanned<super::warm_up::WarmUpKeys>>,
            slice: Option<toml::Spanned<assay_base::Span>>,
            interval: Option<toml::Spanned<assay_base::Span>>,
            max_lag: Option<assay_base::Span>,
            in_flight_bound: Option<toml::Spanned<u32>>,
            scheduler: Option<String>,
            verify: Option<bool>,
            seed: Option<u64>,
            cache: Option<toml::Spanned<super::cached::CacheKeys>>,
            #[serde(default)]
            criterion: Vec<toml::Spanned<super::criteria::CriterionKeys>>,
        }

        impl $name {
            fn common(&mut self) -> super::common::Common {
                super::common::Common {
                    name: self.name.take(),
                    description: self.description.take(),
                    note: self.note.take(),
                    duration: self.duration,
                    warm_up: self.warm_up.take(),
                    slice: self.slice.take(),
                    interval: self.interval.take(),
                    max_lag: self.max_lag,
                    in_flight_bound: self.in_flight_bound.take(),
                    scheduler: self.scheduler.take(),
                    verify: self.verify,
                    seed: self.seed,
                    cache: self.cache.take(),
                    criterion: std::mem::take(&mut self.criterion),
                }
            }
        }
    };
}
pub(super) use workload_file;

/// The common keys, as written in the file.
pub(super) struct Common {
    pub name: Option<String>,
    pub description: Option<String>,
    pub note: Option<String>,
    pub duration: Option<Span>,
    pub warm_up: Option<toml::Spanned<super::warm_up::WarmUpKeys>>,
    pub slice: Option<toml::Spanned<Span>>,
    pub interval: Option<toml::Spanned<Span>>,
    pub max_lag: Option<Span>,
    pub in_flight_bound: Option<toml::Spanned<u32>>,
    pub scheduler: Option<String>,
    pub verify: Option<bool>,
    pub seed: Option<u64>,
    pub cache: Option<toml::Spanned<super::cached::CacheKeys>>,
    pub criterion: Vec<toml::Spanned<super::criteria::CriterionKeys>>,
}

/// A workload: everything except the number of targets and the load.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Its name, or that of the file.
    pub name: String,
    /// One line about it; may be empty.
    pub description: String,
    /// The model's name.
    pub model: &'static str,
    /// Streams at 1x. Rates are for each target when `per_target`, otherwise for all targets together.
    pub streams: Vec<Stream>,
    /// Whether the rates of `streams` are for each target.
    pub per_target: bool,
    /// The rates of `streams` as a multiple of the model's 1x on one target; `None` where they themselves define 1x.
    pub standard: Option<Multiple>,
    /// Targets the workload itself names (an ACT configuration does).
    pub targets: Vec<String>,
    /// What the workload calls its targets, in the order in which they are given; empty where it does not tell them apart.
    pub target_names: Vec<String>,
    /// The warm-up before measuring.
    pub warm_up: WarmUp,
    /// Measured time.
    pub duration: Span,
    /// The names of the streams of each step, where it is carried out in steps, one after another.
    pub steps: Vec<Vec<String>>,
    /// What it is made of, where it has parts of its own.
    pub phases: Vec<Phase>,
    /// Judging window.
    pub slice: Span,
    /// Recording step.
    pub interval: Span,
    /// See [`Plan::max_lag`].
    pub max_lag: Span,
    /// See [`Plan::in_flight_bound`].
    pub in_flight_bound: u32,
    /// See [`Plan::lanes`].
    pub lanes: Vec<Lane>,
    /// See [`Plan::loops`].
    pub loops: Vec<Loop>,
    /// The OLTP load that its streams are, at 1x.
    pub oltp: Option<OltpLoad>,
    /// The mail store that its streams are.
    pub mail: Option<Mail>,
    /// The transactions on a database that its streams are, at 1x.
    pub tpcc: Option<tpcc::Load>,
    /// Streams that `--load` does not multiply.
    pub unscaled: Vec<String>,
    /// See [`Plan::half_windows`].
    pub half_windows: bool,
    /// See [`Plan::backlog`].
    pub backlog: Span,
    /// See [`Plan::check_all`].
    pub check_all: Vec<String>,
    /// I/O scheduler that the devices are given for the run, by the kernel's name for it.
    pub scheduler: Option<String>,
    /// See [`Plan::verify`].
    pub verify: bool,
    /// What is done with the data of single streams, where not all are alike; then `verify` is not looked at.
    pub sealed: Vec<(String, Sealing)>,
    /// It verifies where its targets keep data, and does not where they do not.
    pub verify_if_possible: bool,
    /// The simulated cache before each target.
    pub cache: Option<Caching>,
    /// The look-aside cache on a device of its own.
    pub cache_device: Option<CacheDevice>,
    /// See [`Plan::page_cache`].
    pub page_cache: Vec<PageCached>,
    /// The file's own seed.
    pub seed: Option<u64>,
    /// What decides the verdict.
    pub criteria: Vec<Criterion>,
    /// See [`Plan::derivation`].
    pub derivation: Vec<Derivation>,
    /// What the reader of a report must know.
    pub notes: Vec<String>,
}

/// What is done with the data of a stream in a workload that verifies some of its streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sealing {
    /// What it reads is compared with what was written.
    Compared,
    /// What it writes is sealed, and read back in the end.
    ReadBack,
    /// What it writes is sealed, and left for a later run to compare.
    Left,
}

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
    /// A workload with a model's streams and the common defaults.
    pub fn new(
        name: &str,
        model: &'static str,
        streams: Vec<Stream>,
        criteria: impl FnOnce(Span) -> Vec<Criterion>,
    ) -> Workload {
        Workload {
            name: name.to_owned(),
            description: String::new(),
            model,
            streams,
            per_target: true,
            standard: None,
            targets: Vec::new(),
            target_names: Vec::new(),
            warm_up: WarmUp::For(Span::ZERO),
            duration: DURATION,
            steps: Vec::new(),
            phases: Vec::new(),
            slice: SLICE,
            interval: INTERVAL,
            max_lag: MAX_LAG,
            in_flight_bound: IN_FLIGHT_BOUND,
            lanes: Vec::new(),
            loops: Vec::new(),
            oltp: None,
            mail: None,
            tpcc: None,
            unscaled: Vec::new(),
            half_windows: false,
            backlog: Span::ZERO,
            check_all: Vec::new(),
            scheduler: None,
            verify: false,
            sealed: Vec::new(),
            verify_if_possible: false,
            cache: None,
            cache_device: None,
            page_cache: Vec::new(),
            seed: None,
            criteria: criteria(SLICE),
            derivation: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The plan of a run; the error says what is contradictory.
    pub fn plan(&self, adjust: &Adjust) -> Result<Plan, String> {
        match &self.mail {
            Some(mail) => mail.on(self, adjust.targets.max(1))?.planned(adjust),
            None => self.planned(adjust),
        }
    }

    fn planned(&self, adjust: &Adjust) -> Result<Plan, String> {
        if !self.steps.is_empty() {
            return Err(format!(
                "{} has {} steps, which only run and explain carry out one after another; write the streams of one step into a file of their own",
                self.name,
                self.steps.len()
            ));
        }
        let targets = adjust.targets.max(1);
        let own = self.own_load(targets);
        let load = adjust.load.unwrap_or(own);
        let times = load.per(own).ok_or_else(|| format!("{load} is too far from the workload's own {own}"))?;
        let onto = |stream: &Stream| {
            let own = if stream.targets.is_empty() { u64::from(targets) } else { stream.targets.len() as u64 };
            let spread = if self.per_target { own } else { 1 };
            let is_scaled = !self.unscaled.contains(&stream.name);
            let arrival = stream.arrival.scaled(if is_scaled { times } else { Multiple::ONE })?;
            Some(Stream { arrival: arrival.on_each_of(spread)?, ..stream.clone() })
        };
        self.has_its_targets(targets)?;
        self.has_its_recordings()?;
        let streams: Option<Vec<Stream>> = self.streams.iter().map(onto).collect();
        if let Some(beyond) = self.streams.iter().find(|stream| stream.targets.iter().any(|target| *target >= targets))
        {
            return Err(format!("the stream {} names a target beyond the {targets} that were given", beyond.name));
        }
        let mut streams = streams.ok_or_else(|| format!("at {load} the rates are too large to be represented"))?;
        let oltp = self.oltp.as_ref().map(|it| it.on(targets, times)).transpose()?;
        if let Some(oltp) = &oltp {
            for stream in &mut streams {
                if let Some(Address::Asu { asu, .. }) = stream.block().map(|block| &block.address) {
                    stream.targets = oltp.targets_of(*asu);
                }
            }
        }
        let rate: f64 = streams.iter().filter_map(|stream| stream.arrival.peak()).sum();
        if rate > MOST_RATE {
            return Err(format!("at {load} {rate:.0} operations a second are asked for; ask for at most {MOST_RATE}"));
        }
        let measure = adjust.measure.unwrap_or(self.duration);
        // Behind the end of the last stream there is nothing to measure.
        let measure = lives::all_over(&streams, &self.loops).map_or(measure, |over| over.min(measure));
        let warm_up = adjust.warm_up.unwrap_or(self.warm_up);
        let before = warm_up.longest();
        if measure.is_zero() || measure > LONGEST || before > LONGEST {
            return Err(format!(
                "a run of {measure} after {before} of warm-up cannot be measured; ask for 1s to {LONGEST}"
            ));
        }
        super::warm_up::fits(warm_up, self.interval)?;
        let mut notes = self.notes.clone();
        let closed = streams.iter().filter(|stream| stream.arrival.rate().is_none()).count();
        if times != Multiple::ONE && closed == streams.len() {
            return Err(format!("a load of {times} cannot be offered: {}", Plan::ONLY_CLOSED_LOOPS));
        }
        if times != Multiple::ONE && closed > 0 {
            notes.push("closed-loop streams have no rate and are not multiplied by --load".into());
        }
        let slice = adjust.slice.unwrap_or(self.slice);
        self.holds_intervals(slice, measure)?;
        let mut phases = self.phases(warm_up, measure, slice)?;
        notes.extend(lives::fit(&streams, &self.loops, (warm_up, measure))?);
        if lives::end_when_done(&streams, &self.loops) {
            let measured = phases.iter_mut().filter(|phase| phase.kind == PhaseKind::Measure);
            measured.for_each(|phase| phase.until_done = true);
        }
        let (own, left) = self.sealing();
        let verify = own || adjust.verify;
        self.keeps_places(verify)?;
        if self.cache.is_some() && self.cache_device.is_some() {
            return Err(
                "a load lies behind a simulated cache or before a cache device, not both: leave one of them out".into(),
            );
        }
        if let Some(device) = &self.cache_device {
            notes.push(format!("a look-aside cache lies before the targets: {device}"));
        }
        if let Some(cache) = &self.cache {
            streams = super::cached::streams(cache, streams, verify)?;
            notes.push(format!(
                "operations pass a simulated cache before each target, {cache}: rates that were asked for are those of the application; what \
                 completes, and what criteria judge, is what the target sees"
            ));
        }
        // `--verify` asks for both.
        let sealed_only = left && !adjust.verify;
        if sealed_only && verify {
            notes.push("what is written is sealed and not read back: a later run that verifies compares it".into());
        }
        if let Some((stream, phase)) = Plan::read_back(&streams).filter(|_| verify && !sealed_only) {
            if streams.iter().any(|other| other.name == stream.name) {
                return Err(format!("a workload that verifies has a stream {} of its own: rename yours", stream.name));
            }
            streams.push(stream);
            phases.push(phase);
        }
        let plan = Plan {
            name: self.name.clone(),
            model: self.model.to_owned(),
            load,
            seed: adjust.seed,
            targets,
            streams,
            phases,
            criteria: self.criteria.iter().map(|criterion| self.rewindowed(criterion, slice)).collect(),
            slice,
            interval: self.interval,
            max_lag: self.max_lag,
            in_flight_bound: self.in_flight_bound,
            // What passes one cache is one sequence.
            lanes: if self.cache.is_some() { Vec::new() } else { self.lanes_of() },
            cache: self.cache,
            cache_device: self.cache_device.clone(),
            page_cache: self.page_cache.clone(),
            loops: self.loops.clone(),
            oltp,
            mail: self.mail.clone(),
            tpcc: self.tpcc.as_ref().and_then(|it| it.scaled(times)),
            verify,
            sealed_only: verify && sealed_only,
            half_windows: self.half_windows,
            backlog: self.backlog,
            check_all: if verify { self.check_all.clone() } else { Vec::new() },
            derivation: self.derivation.clone(),
            before: self.before(adjust.seed),
            notes,
        };
        plan.fits_somewhere().map(|()| plan)
    }

    /// Whether it verifies, and whether it leaves all that it seals for a later run to compare.
    fn sealing(&self) -> (bool, bool) {
        if self.sealed.is_empty() {
            return (self.verify, false);
        }
        let is_here = |name: &String| self.streams.iter().any(|stream| stream.name == *name);
        let own: Vec<Sealing> = self.sealed.iter().filter(|(name, _)| is_here(name)).map(|(_, how)| *how).collect();
        (!own.is_empty(), own.contains(&Sealing::Left) && !own.contains(&Sealing::ReadBack))
    }

    /// Its steps, each a workload of its own; itself where it has none.
    pub fn in_steps(&self) -> Vec<Workload> {
        if self.steps.is_empty() {
            return vec![self.clone()];
        }
        self.steps.iter().map(|names| self.of_streams(names)).collect()
    }

    /// The same with these of its streams alone. Where none of them takes part in a warm-up, there is none.
    fn of_streams(&self, names: &[String]) -> Workload {
        let is_here = |name: &String| names.contains(name);
        let streams: Vec<Stream> = self.streams.iter().filter(|stream| is_here(&stream.name)).cloned().collect();
        let loops = self.loops.iter().filter(|it| streams.iter().any(|own| own.arrival.loop_name() == Some(&it.name)));
        let loops: Vec<Loop> = loops.cloned().collect();
        let warms_up = streams.iter().any(|stream| lives::life_of(stream, &loops).warms_up());
        Workload {
            criteria: self.criteria.iter().filter(|criterion| is_here(&criterion.stream)).cloned().collect(),
            warm_up: if warms_up { self.warm_up } else { WarmUp::For(Span::ZERO) },
            streams,
            loops,
            steps: Vec::new(),
            ..self.clone()
        }
    }

    /// How long it measures, or would if all its streams lasted as long as they may.
    pub fn whole(&self) -> Span {
        lives::all_over(&self.streams, &self.loops).map_or(self.duration, |over| over.min(self.duration))
    }

    /// The phases of a run; the workload's own, where it has some.
    fn phases(&self, warm_up: WarmUp, measure: Span, slice: Span) -> Result<Vec<Phase>, String> {
        let varies = |stream: &Stream| matches!(stream.arrival, Arrival::Varying { .. });
        if matches!(warm_up, WarmUp::UntilSteady { .. }) && self.streams.iter().any(varies) {
            return Err(
                "a load that changes is never steady: give the warm-up a time of its own, such as --warm-up 1min"
                    .into(),
            );
        }
        if self.phases.is_empty() {
            return Ok(Plan::phases(warm_up, measure));
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
            None => Ok(Plan::phases_of(warm_up, &self.phases, Span::ZERO)),
        }
    }

    /// What is seen once begins anywhere, because nothing is known of what was seen before.
    fn before(&self, seed: u64) -> Before {
        let seen = match self.streams.iter().any(Stream::goes_once) {
            true => Prng::child(seed, &[]).next_u64() >> 12,
            false => 0,
        };
        Before { time: Span::ZERO, seen: Bytes::new(seen) }
    }

    /// A workload that tells its targets apart is given as many.
    fn has_its_targets(&self, targets: u16) -> Result<(), String> {
        let names = &self.target_names;
        if names.is_empty() || names.len() == usize::from(targets) {
            return Ok(());
        }
        let names =
            format!("{} {} ({})", names.len(), if names.len() == 1 { "target" } else { "targets" }, names.join(", "));
        Err(format!("the workload is for {names}, and it is given {targets}: name one for each, in this order"))
    }

    /// What is never seen is kept from the others, and what repeats is not held against what was written.
    fn keeps_places(&self, verify: bool) -> Result<(), String> {
        let all = Extent::new(Amount::ZERO, None);
        let place = |stream: &Stream| stream.block().map(|block| block.extent.unwrap_or(all));
        let meet = |one: &Stream, other: &Stream| {
            let together = one.targets.is_empty()
                || other.targets.is_empty()
                || one.targets.iter().any(|it| other.targets.contains(it));
            let extents = place(one).zip(place(other));
            together && one.name != other.name && extents.is_some_and(|(one, other)| one.may_meet(other))
        };
        for one in self.streams.iter().filter(|stream| stream.goes_once()) {
            if let Some(other) = self.streams.iter().find(|other| meet(one, other)) {
                return Err(format!(
                    "the stream {} may go to blocks which {} must not have seen; give both a range or a target of its own, such as \
                     range = {{ size = \"50%\" }} and range = {{ from = \"50%\" }}",
                    other.name, one.name
                ));
            }
        }
        let repeats = |stream: &&Stream| stream.block().is_some_and(|block| block.duplicates > Share::default());
        match self.streams.iter().find(repeats).filter(|_| verify) {
            Some(stream) => Err(format!(
                "the blocks of {} repeat each other, so that they cannot be verified; remove duplicates, or do not verify",
                stream.name
            )),
            None => Ok(()),
        }
    }

    /// The load of the workload as written, on this many targets: 1x, unless its rates are known as another multiple of
    /// the model's 1x.
    pub fn own_load(&self, targets: u16) -> Multiple {
        let shared = if self.per_target { 1 } else { u64::from(targets) };
        let of_each = |standard: Multiple| standard.per(Multiple::whole(shared));
        self.standard.and_then(of_each).unwrap_or(Multiple::ONE)
    }

    /// The lanes that have streams, and only those of their streams that exist.
    fn lanes_of(&self) -> Vec<Lane> {
        let is_there = |name: &String| self.streams.iter().any(|stream| stream.name == *name);
        let there = |lane: &Lane| Lane {
            streams: lane.streams.iter().filter(|name| is_there(name)).cloned().collect(),
            ..*lane
        };
        self.lanes.iter().map(there).filter(|lane| !lane.streams.is_empty()).collect()
    }

    /// Slices must consist of whole intervals.
    fn holds_intervals(&self, slice: Span, measure: Span) -> Result<(), String> {
        let interval = self.interval;
        if slice < SHORTEST || slice > LONGEST {
            return Err(format!("a slice of {slice} cannot be judged; ask for {SHORTEST} to {LONGEST}"));
        }
        if slice < measure && !slice.as_ns().is_multiple_of(interval.as_ns()) {
            let next = interval.as_ns().saturating_mul(slice.as_ns() / interval.as_ns() + 1);
            return Err(format!(
                "a slice of {slice} is not a multiple of the interval, {interval}: ask for one that is, such as {}",
                Span::from_ns(next)
            ));
        }
        Ok(())
    }

    /// A criterion whose window was the file's slice follows the slice when the command line changes it.
    fn rewindowed(&self, criterion: &Criterion, slice: Span) -> Criterion {
        let window = criterion.window.map(|window| if window == self.slice { slice } else { window });
        Criterion { window, ..criterion.clone() }
    }

    /// Applies the common keys.
    pub(super) fn with(
        mut self,
        source: super::source::Source<'_>,
        common: Common,
    ) -> Result<Workload, assay_base::Fault> {
        for (at, longest) in [(&common.slice, LONGEST), (&common.interval, LONGEST_INTERVAL)] {
            if let Some(at) = at.as_ref().filter(|at| *at.get_ref() < SHORTEST || *at.get_ref() > longest) {
                return Err(source.fault(
                    at.span(),
                    format!("{} is out of range for a slice or an interval", at.get_ref()),
                    format!("write {SHORTEST} to {longest}"),
                ));
            }
        }
        if let Some(bound) = &common.in_flight_bound {
            if !(1..=LARGEST_BOUND).contains(bound.get_ref()) {
                return Err(source.fault(
                    bound.span(),
                    "the in-flight bound is out of range",
                    format!("write 1 to {LARGEST_BOUND}"),
                ));
            }
            self.in_flight_bound = *bound.get_ref();
        }
        self.name = common.name.unwrap_or(self.name);
        self.description = common.description.unwrap_or_default();
        self.notes.extend(common.note);
        self.duration = common.duration.unwrap_or(self.duration);
        self.max_lag = common.max_lag.unwrap_or(self.max_lag);
        self.scheduler = common.scheduler;
        self.verify = common.verify.unwrap_or(false);
        self.seed = common.seed;
        match common.cache.as_ref().map(|keys| super::cached::read(source, keys)).transpose()? {
            Some(Kind::Simulated(cache)) => self.cache = Some(cache),
            Some(Kind::Device(device)) => self.cache_device = Some(device),
            None => {}
        }
        if let Some(slice) = common.slice {
            let slice = *slice.get_ref();
            self.criteria = self.criteria.iter().map(|criterion| self.rewindowed(criterion, slice)).collect();
            self.slice = slice;
        }
        self.interval = common.interval.map_or(self.interval, |interval| *interval.get_ref());
        if let Some(keys) = &common.warm_up {
            self.warm_up = keys.get_ref().meant();
            super::warm_up::fits(self.warm_up, self.interval).map_err(|what| {
                source.fault(
                    keys.span(),
                    what,
                    "write for example { until = \"steady\", limit = \"2h\", round = \"1min\" }",
                )
            })?;
        }
        if !common.criterion.is_empty() {
            let streams = self.streams.iter().map(|stream| stream.name.as_str()).collect();
            let of = super::criteria::Of { streams, slice: self.slice, interval: self.interval };
            self.criteria = super::criteria::read(source, &common.criterion, &of)?;
        }
        Ok(self)
    }
}
