//! What a header says of a run, as far as a view needs it.

use assay_base::Span;
use assay_record::{Header, PhaseHead, PhaseKind, Thresholds};
use serde::Serialize;

/// What the newest header says.
#[derive(Clone, Debug, Serialize)]
pub struct RunHead {
    /// The number of the header's line.
    pub seq: u64,
    /// Which run it is.
    pub run: RunIdentity,
    /// Which step of how many, and its title; absent where there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<StepIdentity>,
    /// Its phases in their order.
    pub phases: Vec<PhaseIdentity>,
    /// Its streams; moments list their figures in the same order.
    pub streams: Vec<StreamIdentity>,
    /// Names of its targets.
    pub targets: Vec<String>,
    /// Names of the hosts of its ranks; empty where there is only one process.
    pub hosts: Vec<String>,
    /// The criteria, in words.
    pub criteria: Vec<String>,
    /// The times over which operations are counted exactly and shown, ascending.
    pub thresholds: Vec<Span>,
    /// Those of the criteria.
    #[serde(skip)]
    pub judged_thresholds: Vec<Span>,
    /// The stream and the target of each flow.
    #[serde(skip)]
    pub flows: Vec<(usize, usize)>,
    /// All boundaries of the exact counters.
    #[serde(skip)]
    pub bounds: Thresholds,
    /// Measured time that is planned, in nanoseconds.
    pub planned_ns: u64,
}

/// Which run it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunIdentity {
    /// Its name.
    pub name: String,
    /// Its model.
    pub model: String,
    /// Its load, as a multiple of 1x.
    pub load: String,
    /// Its seed.
    pub seed: u64,
    /// The version that runs it.
    pub tool: String,
    /// When it began.
    pub created: String,
    /// The checksum of its plan's text: two runs with the same one did the same.
    pub plan: String,
    /// What limits what it proves.
    pub watermarks: Vec<String>,
}

/// A step of several.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepIdentity {
    /// 1-based.
    pub number: u32,
    /// Of how many.
    pub of: u32,
    /// Its title.
    pub title: String,
}

/// A phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseIdentity {
    /// Its name.
    pub name: String,
    /// Whether it is measured.
    pub measured: bool,
    /// Its planned time, in nanoseconds.
    pub span_ns: u64,
}

/// A stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamIdentity {
    /// Its name.
    pub name: String,
    /// Its planned operations per second over all targets; absent for a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

impl RunHead {
    /// What `header` says, whose line has the number `seq`; `thresholds` are those that the judge shows.
    pub fn new(seq: u64, header: &Header, thresholds: Vec<Span>) -> RunHead {
        let bounds = Thresholds::from_bounds(header.thresholds_ns.clone());
        let mut judged_thresholds: Vec<Span> =
            header.criteria.iter().filter_map(|criterion| criterion.counted_threshold()).collect();
        judged_thresholds.retain(|threshold| bounds.first_over(*threshold).is_some());
        judged_thresholds.sort_unstable();
        judged_thresholds.dedup();
        let measured = header.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
        RunHead {
            seq,
            run: RunIdentity::from_header(header),
            step: header.step.as_ref().map(|step| StepIdentity {
                number: step.number,
                of: step.of,
                title: step.title.clone(),
            }),
            phases: header.phases.iter().map(PhaseIdentity::from_head).collect(),
            streams: header
                .streams
                .iter()
                .map(|stream| StreamIdentity { name: stream.name.clone(), rate: stream.rate.map(|rate| rate.as_f64()) })
                .collect(),
            targets: header.targets.iter().map(|target| target.name.clone()).collect(),
            hosts: header.hosts.iter().map(|host| host.name.clone()).collect(),
            criteria: header.criteria.iter().map(ToString::to_string).collect(),
            thresholds,
            judged_thresholds,
            flows: header.flows.iter().map(|flow| (usize::from(flow.stream), usize::from(flow.target))).collect(),
            bounds,
            planned_ns: measured.map(|phase| phase.span_ns).fold(0, u64::saturating_add),
        }
    }

    /// The name of the target with this index.
    pub fn target_name(&self, target: usize) -> &str {
        self.targets.get(target).map_or("", String::as_str)
    }

    /// The name of the stream with this index.
    pub fn stream_name(&self, stream: usize) -> &str {
        self.streams.get(stream).map_or("", |stream| stream.name.as_str())
    }

    /// The name of the phase with this index.
    pub fn phase_name(&self, phase: u16) -> &str {
        self.phases.get(usize::from(phase)).map_or("", |phase| phase.name.as_str())
    }
}

impl RunIdentity {
    fn from_header(header: &Header) -> RunIdentity {
        let plan = serde_json::to_vec(&header.plan).unwrap_or_default();
        RunIdentity {
            name: header.name.clone(),
            model: header.model.clone(),
            load: header.load.clone(),
            seed: header.seed,
            tool: header.tool.clone(),
            created: header.created.clone(),
            plan: blake3::hash(&plan).to_hex()[..16].to_owned(),
            watermarks: header.watermarks.clone(),
        }
    }
}

impl PhaseIdentity {
    fn from_head(phase: &PhaseHead) -> PhaseIdentity {
        PhaseIdentity { name: phase.name.clone(), measured: phase.kind == PhaseKind::Measure, span_ns: phase.span_ns }
    }
}
