//! What a run with tiles shows: what each workload did in all tiles together, and which tile broke what.

use crate::judgement::{Deciding, Judgement};
use crate::verdict::Verdict;
use assay_base::Span;
use assay_record::PlanHead;
use serde::{Deserialize, Serialize};

/// What a search for a number of tiles found beside that number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TilesFound {
    /// How much more the tiles that hold do than one tile alone: see [`GAIN_IN_WORDS`](super::GAIN_IN_WORDS). Absent where no run of one tile is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput_gain: Option<f64>,
}

/// What a workload of the tiles did in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadRate {
    /// Its name in each tile.
    pub workload: String,
    /// Operations per second, of all tiles together.
    pub rate: f64,
}

/// A workload of a tile, as a plan names it.
struct Member {
    name: String,
    /// `tile3`, or what runs beside the tiles.
    tile: String,
    workload: String,
}

impl Member {
    /// The workloads of the tiles of a run, in their order; none where it has no tiles.
    fn all_of_run(judgement: &Judgement) -> Vec<Member> {
        let names = PlanHead::parse(&judgement.part.plan.json).tile_members;
        let members = names.into_iter().filter_map(|name| {
            let (tile, workload) = name.split_once('/')?;
            Some(Member { tile: tile.to_owned(), workload: workload.to_owned(), name })
        });
        members.collect()
    }

    /// The number of its tile; `None` beside the tiles.
    fn tile_number(&self) -> Option<u64> {
        self.tile.strip_prefix("tile")?.parse().ok()
    }

    /// The name of a stream within the workload; `None` where it is not one of its streams. The workload itself stands for all of
    /// them.
    fn own_stream<'b>(&self, stream: &'b str) -> Option<&'b str> {
        let rest = stream.strip_prefix(self.name.as_str())?;
        if rest.is_empty() { Some("all streams") } else { rest.strip_prefix('/') }
    }

    /// `tile 3, mail`
    fn in_words(&self) -> String {
        match self.tile_number() {
            Some(number) => format!("tile {number}, {}", self.workload),
            None => format!("{}, {}", self.tile, self.workload),
        }
    }
}

/// What each workload did in all tiles together, in the order of a tile.
pub(super) fn workload_rates(judgement: &Judgement) -> Vec<WorkloadRate> {
    let mut rates: Vec<WorkloadRate> = Vec::new();
    for member in Member::all_of_run(judgement).iter().filter(|member| member.tile_number().is_some()) {
        let group = judgement.part.streams.groups.iter().find(|totals| totals.name == member.name);
        let rate = group.and_then(|totals| totals.rate_achieved).unwrap_or(0.0);
        match rates.iter_mut().find(|known| known.workload == member.workload) {
            Some(known) => known.rate += rate,
            None => rates.push(WorkloadRate { workload: member.workload.clone(), rate }),
        }
    }
    rates
}

/// Which tile broke which criterion, and where; `None` where no criterion of a tile decided.
pub(super) fn broken_in_words(judgement: &Judgement) -> Option<String> {
    let place = judgement.deciding.as_ref().filter(|_| judgement.verdict == Verdict::Fail)?;
    let stream = place.stream.as_deref()?;
    let members = Member::all_of_run(judgement);
    let member = members.iter().find(|member| member.own_stream(stream).is_some())?;
    let own = member.own_stream(stream)?;
    let what = match judgement.decisive_criterion().map(|criterion| &criterion.asked) {
        Some(asked) if asked.stream.as_deref() == Some(stream) => asked.title.replacen(stream, own, 1),
        // The load that must be delivered of every stream.
        Some(asked) if asked.stream.is_none() => format!("{} of {own}", asked.title),
        _ => own.to_owned(),
    };
    let measured = place.measured.as_deref().map(|text| format!(" {text}")).unwrap_or_default();
    let bound = place.bound.as_deref().map(|text| format!(" (bound {text})")).unwrap_or_default();
    Some(format!("{}{}: {what}{measured}{bound}", member.in_words(), window_in_words(place)))
}

/// `, slice 2`, or the window of a criterion that has its own.
fn window_in_words(place: &Deciding) -> String {
    match (place.slice, place.window_ns) {
        (Some(number), None) => format!(", slice {number}"),
        (Some(number), Some(length)) => format!(", window {number} of {}", Span::from_ns(length).human_text()),
        (None, _) => String::new(),
    }
}
