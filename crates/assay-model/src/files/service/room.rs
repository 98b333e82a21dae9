//! How much room the files of a server take: what is made first, and what they grow by while the run lasts.

use super::file::{ServiceFile, WhenFull};
use super::step::{ServiceStep, StepCall, StepPlace, WhichFile};
use super::{Service, ServiceTask};
use assay_base::Rate;

/// A schedule of independent arrivals has at most so many times its mean, in any run that is long enough to be judged.
const BEYOND_MEAN: f64 = 1.1;
/// Old files that are there besides those that are kept, because nobody has removed them yet.
const NOT_YET_REMOVED: u64 = 2;

/// What the files of a server take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceRoom {
    /// Bytes that are written or reserved before the run begins.
    pub bytes_at_first: u64,
    /// The most bytes that its files have while it lasts.
    pub bytes: u64,
    /// The most files.
    pub files: u64,
    /// Bytes that it writes to them meanwhile, without what makes files.
    pub written: u64,
}

/// How often something happens, and how much each time.
struct Occurrence<'a> {
    steps: &'a [ServiceStep],
    /// How often a second.
    times: f64,
    /// Commits since the time before.
    commits: f64,
}

impl Service {
    /// What its files take in a run that lasts as long as [`Service::lasts`] says, at this many commits a second.
    pub fn room_at(&self, rate: Rate) -> ServiceRoom {
        let (rate, seconds) = (rate.as_f64(), self.lasts.as_secs_f64());
        let mut room = ServiceRoom::default();
        for (place, file) in self.files.iter().enumerate() {
            let at_first = if self.is_created_by_a_step(place) { 0 } else { bytes_at_first(file) };
            let taken = self.taken_by_kind(place, rate, seconds * BEYOND_MEAN);
            room.bytes_at_first = room.bytes_at_first.saturating_add(at_first);
            room.bytes = room.bytes.saturating_add(taken.bytes.max(at_first));
            room.files = room.files.saturating_add(taken.files);
        }
        room.written = (self.bytes_each_second(rate, ServiceStep::writes) * seconds) as u64;
        room
    }

    fn taken_by_kind(&self, place: usize, rate: f64, seconds: f64) -> Taken {
        let file = &self.files[place];
        let (size, number) = (file.size.get().max(1), u64::from(file.number));
        let grown = self.bytes_each_second(rate, |step| step.file == place && step.makes_larger());
        let grown = (grown * seconds) as u64;
        let begun = file.begins_with.get().saturating_mul(number).saturating_add(grown);
        let full = if file.when_full == WhenFull::Next { begun / size } else { 0 };
        let created = (self.created_each_second(place, rate) * seconds) as u64;
        let old = if self.removes_some(place) {
            full.max(created).min(u64::from(file.keep) + NOT_YET_REMOVED)
        } else {
            full.max(created)
        };
        let extended = if file.is_allocated() && self.is_extended(place) { grown } else { 0 };
        let of_one = if file.is_allocated() { size + extended } else { size.min(begun / number.max(1) + 1) };
        let of_ready = if file.is_allocated() { size.saturating_mul(u64::from(file.ready)) } else { 0 };
        let in_use = of_one.saturating_mul(number).saturating_add(of_ready);
        let bytes = in_use.saturating_add(size.saturating_mul(old));
        Taken { bytes, files: number + u64::from(file.ready) + old }
    }

    fn is_extended(&self, place: usize) -> bool {
        self.all_steps().iter().any(|(_, step)| step.file == place && step.call == StepCall::Extend)
    }

    /// Whether there is a step that takes files of this kind away, or that uses old ones again.
    fn removes_some(&self, place: usize) -> bool {
        self.all_steps().iter().any(|(_, step)| step.file == place && step.takes_away())
    }

    /// What the writer and the tasks do, and how often.
    fn occurrences(&self, rate: f64) -> Vec<Occurrence<'_>> {
        let mut all = vec![Occurrence { steps: &self.writer.steps, times: rate, commits: 1.0 }];
        for task in &self.tasks {
            let times = self.times_each_second(task, rate);
            let commits = if times > 0.0 { rate / times } else { 0.0 };
            all.push(Occurrence { steps: &task.steps, times, commits });
        }
        all
    }

    /// Bytes a second of those steps for which `counts` holds, in the mean.
    fn bytes_each_second(&self, rate: f64, counts: impl Fn(&ServiceStep) -> bool) -> f64 {
        let group = self.bytes_of_commit() + self.writer.group.get() as f64;
        let mut sum = 0.0;
        for occurrence in self.occurrences(rate) {
            for step in occurrence.steps.iter().filter(|step| counts(step)) {
                sum += step.mean_bytes(occurrence.commits, group) * occurrence.times;
            }
        }
        sum
    }

    fn created_each_second(&self, place: usize, rate: f64) -> f64 {
        let mut sum = 0.0;
        for occurrence in self.occurrences(rate) {
            let created = occurrence.steps.iter().filter(|step| step.file == place && step.call == StepCall::Create);
            sum += created.count() as f64 * occurrence.times;
        }
        sum
    }

    /// How often a task begins in a second, at most.
    fn times_each_second(&self, task: &ServiceTask, rate: f64) -> f64 {
        let mut times = 0.0;
        for span in [task.each, task.pause].into_iter().flatten().filter(|span| !span.is_zero()) {
            times += 1.0 / span.as_secs_f64();
        }
        if let Some(commits) = task.after_commits {
            times += rate / commits.max(1) as f64;
        }
        if let Some(bytes) = task.after_bytes {
            times += rate * self.bytes_of_commit() / bytes.get().max(1) as f64;
        }
        times
    }
}

/// What the files of one kind take.
struct Taken {
    bytes: u64,
    files: u64,
}

impl ServiceStep {
    fn writes(&self) -> bool {
        matches!(self.call, StepCall::Write | StepCall::MmapWrite)
    }

    fn makes_larger(&self) -> bool {
        self.call == StepCall::Write && self.at == StepPlace::End || self.call == StepCall::Extend
    }

    /// Whether it takes files away, or uses old ones again.
    fn takes_away(&self) -> bool {
        let is_removal = self.call == StepCall::Unlink && matches!(self.of, WhichFile::Old | WhichFile::Current);
        is_removal || self.call == StepCall::Recycle
    }
}

fn bytes_at_first(file: &ServiceFile) -> u64 {
    let each = if file.is_allocated() { file.size.get() } else { file.begins_with.get() };
    let ready = if file.is_allocated() { u64::from(file.ready) } else { 0 };
    each.saturating_mul(u64::from(file.number) + ready)
}
