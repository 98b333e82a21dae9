//! What one run of a suite measured.

use crate::judgement::{GeneratorCost, Judgement, MeterFigures, StepFigures, StreamTotals};
use assay_record::{CACHED_SHARE, Event};
use serde::{Deserialize, Serialize};

/// The word of a stream that counts sequences of operations; where there are some, they are what an application waits for.
const SEQUENCE: &str = "sequence";

/// What a run measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFigures {
    /// What was completed each second over all steps: sequences, or operations where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Processor time of this program as a share of the time of the processors that its clients can use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_share: Option<f64>,
    /// The network link that was used most, of those whose speed is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkShare>,
    /// What of the files' pages was in the page cache before each phase, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<ShareRange>,
    /// Whether some of what an application waits for follows a rate, so that no target could do more of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows_a_rate: bool,
    /// The times of each stream in each step.
    pub streams: Vec<StreamTimes>,
}

/// The times of one stream: completed − intended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamTimes {
    /// The step, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// Its name.
    pub stream: String,
    /// Whether it is what an application waits for: a sequence, or an operation where there are no sequences.
    pub principal: bool,
    /// Completed operations per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<u64>,
    /// Median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// 90 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<u64>,
    /// 99 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
}

/// How much of a network link was used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkShare {
    /// Its name, such as `eth0`.
    pub name: String,
    /// The bytes that it can carry in one direction each second.
    pub bytes_per_second: u64,
    /// The share of them that it carried in the direction that it carried more in.
    pub share: f64,
}

/// The lowest and the highest of some shares (0 to 1).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShareRange {
    /// The lowest.
    pub lowest: f64,
    /// The highest.
    pub highest: f64,
}

impl ShareRange {
    /// The range of all shares in these ranges; `None` without any.
    pub(super) fn around_all(ranges: impl IntoIterator<Item = ShareRange>) -> Option<ShareRange> {
        ranges
            .into_iter()
            .reduce(|all, one| ShareRange { lowest: all.lowest.min(one.lowest), highest: all.highest.max(one.highest) })
    }

    /// `0%`, `0% to 3%`.
    pub(super) fn in_words(self) -> String {
        let [lowest, highest] = [self.lowest, self.highest].map(|share| format!("{:.0}%", share * 100.0));
        if lowest == highest { lowest } else { format!("{lowest} to {highest}") }
    }
}

impl RunFigures {
    pub(super) fn from_judgement(judgement: &Judgement) -> RunFigures {
        let mut figures = RunFigures::default();
        let (mut completed, mut seconds, mut cost) = (0f64, 0f64, GeneratorCost::default());
        for (step, part) in steps_of(judgement) {
            let streams: Vec<&StreamTotals> = part.streams.streams_over_all_targets().collect();
            let has_sequences = streams.iter().any(|stream| stream.direction == SEQUENCE);
            for stream in streams {
                let principal = !has_sequences || stream.direction == SEQUENCE;
                if principal {
                    completed += stream.counts.operations as f64;
                    figures.follows_a_rate |= stream.rate_asked.is_some();
                }
                figures.streams.push(stream_times(step, stream, principal));
            }
            seconds += part.time.measured_ns as f64 / 1e9;
            let of_step = part.generator.cost.unwrap_or_default();
            cost.cpu_ns = cost.cpu_ns.saturating_add(of_step.cpu_ns);
            cost.sampled_ns = cost.sampled_ns.saturating_add(of_step.sampled_ns);
            let links = part.targets.meters.iter().filter_map(busiest_direction);
            figures.link = links.chain(figures.link.take()).max_by(|a, b| a.share.total_cmp(&b.share));
        }
        let parts = steps_of(judgement).into_iter().map(|(_, part)| part);
        figures.cached = ShareRange::around_all(parts.flat_map(|part| &part.course.events).filter_map(cached_share));
        figures.rate = (seconds > 0.0).then(|| completed / seconds);
        figures.client_share = usable_processors(&judgement.part)
            .filter(|_| cost.sampled_ns > 0)
            .map(|processors| cost.cpu_ns as f64 / (cost.sampled_ns as f64 * processors));
        figures
    }

    pub(super) fn times_of(&self, step: Option<u32>, stream: &str) -> Option<&StreamTimes> {
        self.streams.iter().find(|times| times.step == step && times.stream == stream)
    }
}

/// The parts of a judgement, each with its number where there are several.
fn steps_of(judgement: &Judgement) -> Vec<(Option<u32>, &StepFigures)> {
    if judgement.steps.is_empty() {
        return vec![(None, &judgement.part)];
    }
    judgement.steps.iter().map(|step| (Some(step.number), &step.part)).collect()
}

/// What an event says of the page cache before a phase.
fn cached_share(event: &Event) -> Option<ShareRange> {
    let share = event.details.get(CACHED_SHARE)?.parse().ok().filter(|share| (0.0..=1.0).contains(share))?;
    Some(ShareRange { lowest: share, highest: share })
}

fn stream_times(step: Option<u32>, stream: &StreamTotals, principal: bool) -> StreamTimes {
    let response = &stream.response;
    StreamTimes {
        step,
        stream: stream.name.clone(),
        principal,
        rate: stream.rate_achieved,
        mean_ns: response.mean_ns,
        p50_ns: response.p50_ns,
        p90_ns: response.p90_ns,
        p99_ns: response.p99_ns,
    }
}

/// How many processors the clients can keep busy: as many as there are, or as there are clients if these are fewer. The log
/// names the clients as `16, each a thread …`.
fn usable_processors(part: &StepFigures) -> Option<f64> {
    let processors: f64 = part.generator.host.get("cpus")?.parse().ok()?;
    let clients = part.generator.engine.get("clients").and_then(|text| text.split(',').next()?.parse::<f64>().ok());
    Some(clients.map_or(processors, |clients| processors.min(clients)).max(1.0))
}

/// The counter of a meter that came closest to the most that it can rise by; `None` where no counter has such a bound.
fn busiest_direction(meter: &MeterFigures) -> Option<LinkShare> {
    let seconds = meter.read_ns as f64 / 1e9;
    let mut busiest: Option<LinkShare> = None;
    for (name, counted) in meter.head.counters.iter().zip(&meter.counted) {
        let Some(most) = meter.head.most_per_second.get(name).filter(|most| **most > 0 && seconds > 0.0) else {
            continue;
        };
        let share = *counted as f64 / seconds / *most as f64;
        if busiest.as_ref().is_none_or(|known| share > known.share) {
            busiest = Some(LinkShare { name: meter.head.name.clone(), bytes_per_second: *most, share });
        }
    }
    busiest
}
