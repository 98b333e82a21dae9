//! The steps of a job file (`stonewall`), how long each lasts, and which jobs wait for or end others.

use super::job::Job;
use super::seals::note_shared_read_back;
use assay_base::{Fault, Span};
use assay_model::Life;
use assay_model::lives::{all_over, life_of};
use assay_model::plan::{Arrival, WarmUp};
use assay_model::workload::{IN_FLIGHT_BOUND, LARGEST_BOUND, Load, Sealing, Step, Workload};
use std::collections::BTreeMap;

/// A job that was lowered.
pub(super) struct Done {
    pub job: String,
    /// The number of its step, from 1.
    pub step: u32,
    /// The names that others can wait for: those of its last streams, of its loops, or of its streams.
    pub names: Vec<String>,
    /// All its streams.
    pub streams: Vec<String>,
    /// The seals that it writes into its data, or looks for in them.
    pub sealing: Option<Sealing>,
}

/// Refuses `wait_for` unless the job that it names stands before.
pub(super) fn refuse_foreign_waits(jobs: &[Job<'_>]) -> Result<(), Fault> {
    for (at, job) in jobs.iter().enumerate() {
        if let Some((entry, value)) = job.value_of_key("wait_for")?
            && !jobs[..at].iter().any(|before| before.name == value.text)
        {
            return Err(job.fault_at_entry(entry, "no job of this name stands before this one", "name one that does"));
        }
    }
    Ok(())
}

/// The names that a job waits for: the loops or streams of all copies of the job that `wait_for` names. None if that job
/// is in an earlier step, because steps run one after another anyway.
pub(super) fn waits_for(job: &Job<'_>, done: &[Done], step: u32) -> Result<Vec<String>, Fault> {
    let Some((_, value)) = job.value_of_key("wait_for")? else { return Ok(Vec::new()) };
    let Some(done) = done.iter().rfind(|done| done.job == value.text) else {
        // That job is not among the chosen ones.
        job.add_note(format!("{}: wait_for={}: that job is not run", job.name, value.text));
        return Ok(Vec::new());
    };
    Ok(if done.step < step { Vec::new() } else { done.names.clone() })
}

/// Settles what only all jobs together decide: how long the workload lasts, its steps, and what is in flight.
pub(super) fn settle_all_jobs(jobs: &[Job<'_>], done: &[Done], workload: &mut Workload) -> Result<(), Fault> {
    ends_of_others(jobs, done, &mut workload.load)?;
    settle_duration(jobs, workload)?;
    let mut steps: Vec<Step> = Vec::new();
    let mut sealings: BTreeMap<u32, Vec<Sealing>> = BTreeMap::new();
    for one in done {
        steps.resize_with(one.step as usize, Step::default);
        steps[one.step as usize - 1].streams.extend(one.streams.iter().cloned());
        sealings.entry(one.step).or_default().extend(one.sealing);
    }
    for (job, one) in jobs.iter().zip(done) {
        let others = sealings.get(&one.step).map_or(&[][..], Vec::as_slice);
        one.sealing.map_or(Ok(()), |sealing| note_shared_read_back(job, sealing, others))?;
    }
    in_flight(jobs, &steps, &mut workload.load)?;
    if steps.len() > 1 {
        workload.timing.steps = steps;
    }
    Ok(())
}

/// Sets how long the workload lasts. If all jobs have the same runtime and nothing else begins or ends them, that is
/// the duration of the workload; otherwise each job keeps its own life.
fn settle_duration(jobs: &[Job<'_>], workload: &mut Workload) -> Result<(), Fault> {
    let mut before = Span::ZERO;
    for job in jobs {
        before = before.max(job.time_of_key("ramp_time", Span::from_secs(1))?.unwrap_or(Span::ZERO));
    }
    workload.timing.warm_up = WarmUp::For(before);
    let Load { streams, loops, .. } = &mut workload.load;
    let first = streams.first().map(|stream| life_of(stream, loops).clone()).unwrap_or_default();
    let plain = Life { lasts: first.lasts, ..Life::default() };
    let mut alone = streams.iter().filter(|stream| stream.arrival.loop_name().is_none());
    let alike = alone.all(|stream| stream.life == plain) && loops.iter().all(|looped| looped.life == plain);
    if let Some(duration) = first.lasts.filter(|_| alike) {
        workload.timing.duration = duration;
        streams.iter_mut().for_each(|stream| stream.life = Life::default());
        loops.iter_mut().for_each(|looped| looped.life = Life::default());
    } else if let Some(over) = all_over(streams, loops) {
        workload.timing.duration = over;
    }
    Ok(())
}

/// `exitall`: where it is known before the run when such a job ends, the others of its step end then at the latest.
fn ends_of_others(jobs: &[Job<'_>], done: &[Done], load: &mut Load) -> Result<(), Fault> {
    let mut ends: BTreeMap<u32, Span> = BTreeMap::new();
    for (job, one) in jobs.iter().zip(done) {
        let Some(entry) = job.find_entry("exitall") else { continue };
        if !job.is_switched_on("exitall")? {
            continue;
        }
        let own = load.streams.iter().filter(|stream| one.streams.contains(&stream.name));
        let lives = own.map(|stream| life_of(stream, &load.loops));
        match lives.map(|life| life.ends_at().filter(|_| life.is_by_time())).max().flatten() {
            Some(end) => {
                let first = ends.entry(one.step).or_insert(end);
                *first = end.min(*first);
            }
            None => job
                .note_difference(entry, "the other jobs end at their own ends: when this one ends is not known before"),
        }
    }
    if ends.is_empty() {
        return Ok(());
    }
    let step_of: BTreeMap<&str, u32> =
        done.iter().flat_map(|one| one.streams.iter().map(|name| (name.as_str(), one.step))).collect();
    let loops = &mut load.loops;
    for stream in &mut load.streams {
        let Some(end) = step_of.get(stream.name.as_str()).and_then(|step| ends.get(step)) else { continue };
        let looped = stream.arrival.loop_name().and_then(|name| loops.iter_mut().find(|looped| looped.name == *name));
        let life = looped.map_or(&mut stream.life, |looped| &mut looped.life);
        if let Some(begin) = life.begins_at().filter(|begin| begin < end) {
            let left = end.saturating_sub(begin);
            life.lasts = Some(life.lasts.map_or(left, |lasts| lasts.min(left)));
        }
    }
    Ok(())
}

/// Sets how many operations may be in flight, and refuses more of them in a step than a run can have.
fn in_flight(jobs: &[Job<'_>], steps: &[Step], load: &mut Load) -> Result<(), Fault> {
    let step_of: BTreeMap<&str, usize> =
        (0..).zip(steps).flat_map(|(at, step)| step.streams.iter().map(move |name| (name.as_str(), at))).collect();
    let (mut alone, mut in_lanes) = (vec![0u64; steps.len()], vec![0u64; steps.len()]);
    for stream in &load.streams {
        let own = if let Arrival::Closed { in_flight } = stream.arrival { in_flight.into() } else { 1 };
        if let Some(at) = step_of.get(stream.name.as_str()) {
            alone[*at] += own;
        }
    }
    for lane in &load.lanes {
        let at = lane.streams.first().and_then(|name| step_of.get(name.as_str()));
        if let Some(at) = at {
            in_lanes[*at] += u64::from(lane.in_flight_bound);
        }
    }
    let all = alone.iter().zip(&in_lanes).map(|(alone, in_lanes)| alone + in_lanes).max().unwrap_or(0);
    if let Some(job) = jobs.first().filter(|_| all > LARGEST_BOUND.into()) {
        return Err(job.file.fault_of_file(
            format!("{all} operations would be in flight"),
            format!("write iodepth and numjobs that come to {LARGEST_BOUND} or less"),
        ));
    }
    let alone = alone.into_iter().max().unwrap_or(0);
    load.in_flight_bound = IN_FLIGHT_BOUND.max(alone as u32);
    Ok(())
}
