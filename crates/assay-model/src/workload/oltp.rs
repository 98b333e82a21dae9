//! `model = "oltp"`: the load of a database on an array, SPC-1-like.

use super::arrival::{PhaseKeys, read_phases};
use super::common::workload_file;
use super::definition::{Application, Load, Timing, Workload};
use super::source::Source;
use crate::arrival::Curve;
use crate::oltp::{self, OltpLoad, RATE, ReadShares};
use assay_base::{Bound, Criterion, Fault, Measure, Rate, Span};
use toml::Spanned;

/// The benchmark's bound on the mean response of all operations.
const MEAN: Span = Span::from_ms(30);
/// The most BSUs of a file: more than any array carries.
const MOST_BSUS: u64 = 1_000_000;
/// The most groups of BSUs (contexts). Each has state of its own for every leaf.
const MOST_CONTEXTS: u32 = 1024;
/// Measured time, unless the file says otherwise.
const DURATION: Span = Span::from_secs(600);
/// Length of the judging windows, unless the file says otherwise.
const SLICE: Span = Span::from_secs(60);

workload_file! {
    struct File {
        bsu: Option<Spanned<u64>>,
        mix: Option<ReadShares>,
        contexts: Option<Spanned<u32>>,
        asu_targets: Option<Spanned<[u16; 3]>>,
        #[serde(default)]
        phase: Vec<Spanned<PhaseKeys>>,
    }
}

pub(super) fn read_oltp(source: Source<'_>) -> Result<Workload, Fault> {
    let mut file: File = source.parse_file()?;
    let bsu = read_from_one(source, file.bsu.as_ref(), "the number of BSUs", MOST_BSUS)?;
    let contexts = read_from_one(source, file.contexts.as_ref(), "the number of contexts", MOST_CONTEXTS)?;
    let (phases, curve) = read_phases(source, &file.phase)?;
    let asu_targets = file.asu_targets.as_ref().map(|it| *it.get_ref());
    let mix = file.mix.unwrap_or_default();
    let workload = with_curve(source.file, bsu, mix, contexts, asu_targets, curve)
        .ok_or_else(|| Fault::for_file(source.file, "the rates are too large to be represented", "write fewer BSUs"))?;
    let common = file.common();
    if common.duration.is_some() && !phases.is_empty() {
        return Err(source.fault_of("duration", "the phases say how long the workload measures: remove duration"));
    }
    let own = common.slice.is_some();
    let mut workload = workload.with_common_keys(source, common)?;
    if !phases.is_empty() {
        let timing = &mut workload.timing;
        timing.duration = phases.iter().fold(Span::ZERO, |sum, phase| sum + phase.span);
        // Each phase is judged in slices of its own, so no slice is longer than the shortest phase.
        let shortest = phases.iter().map(|phase| phase.span).min().filter(|_| !own);
        timing.slice = shortest.map_or(timing.slice, |shortest| timing.slice.min(shortest));
        timing.phases = phases;
    }
    Ok(workload)
}

/// The load of `bsu` BSUs at 1x, with these shares of reads and this number of contexts. `asu_targets` says how many of
/// the targets each ASU has. `None` if the rates are too large.
pub fn oltp_workload(
    name: &str,
    bsu: u64,
    groups: (ReadShares, u32),
    asu_targets: Option<[u16; 3]>,
) -> Option<Workload> {
    with_curve(name, bsu, groups.0, groups.1, asu_targets, None)
}

/// As [`oltp`], with a rate that changes along `curve`.
fn with_curve(
    name: &str,
    bsu: u64,
    mix: ReadShares,
    contexts: u32,
    asu_targets: Option<[u16; 3]>,
    curve: Option<Curve>,
) -> Option<Workload> {
    let rate = Rate::per_second(bsu.checked_mul(RATE)?);
    let streams = oltp::lowered_streams(mix, rate, curve.as_ref())?;
    let criterion = Criterion {
        stream: Criterion::ALL.to_owned(),
        measure: Measure::Response,
        bound: Bound::MeanAtMost(MEAN),
        window: None,
        least_operations: 0,
        parts: assay_base::MarkedParts::EVERY,
    };
    let application = Some(Application::Oltp(OltpLoad { rate, curve, mix, contexts, asu_targets }));
    Some(Workload {
        load: Load {
            per_target: false,
            application,
            groups: oltp::shown_groups(&streams),
            ..Load::from_streams(streams)
        },
        timing: Timing { duration: DURATION, slice: SLICE, ..Timing::default() },
        notes: vec![MEASURED.to_owned()],
        ..Workload::new(name, "oltp", Vec::new(), |_| vec![criterion])
    })
}

const MEASURED: &str = "SPC-1-like: streams, shares and addresses as the published load generator was measured";

/// The value of a key, which must be from 1 to `most`; 1 if the key is missing.
fn read_from_one<T: Copy + PartialOrd + From<u8> + std::fmt::Display>(
    source: Source<'_>,
    asked: Option<&Spanned<T>>,
    what: &str,
    most: T,
) -> Result<T, Fault> {
    let Some(asked) = asked else { return Ok(T::from(1)) };
    let number = *asked.get_ref();
    if !(T::from(1)..=most).contains(&number) {
        return Err(source.fault_at(asked.span(), format!("{what} is out of range"), format!("write 1 to {most}")));
    }
    Ok(number)
}
