//! A server as streams on a block device: its writer as durable writes in a ring, its pages as writes anywhere, and their
//! syncs as flushes. Only a log of whole blocks that stay where they are has such a form: what appends, makes files and
//! renames them needs a file system, and so does the journal that the syncs of others wait for.

use super::file::{ServiceFile, WhenFull};
use super::making::MadeBy;
use super::step::{Amount, ServiceStep, StepCall, StepPlace};
use super::streams::stream_of_call;
use super::{Service, ServiceCall, ServiceTask};
use crate::address::Address;
use crate::commit_groups::CommitGroups;
use crate::extent;
use crate::flush::Flush;
use crate::life::Life;
use crate::plan::{Arrival, Block, Extent, Stream, Work};
use crate::size::Size;
use assay_base::{Bytes, Direction, Rate, Share};

/// The largest write of a group.
const MOST: Bytes = Bytes::from_kib(1 << 10);
/// Parts per billion, for factors of rates.
const PPB: f64 = 1e9;

/// What a server does on a device.
pub(crate) struct ServiceStreams {
    pub(crate) streams: Vec<Stream>,
    /// The names of those that a timer begins as often at any load.
    pub(crate) unscaled: Vec<String>,
    /// The stream of the writer's writes in files, which its durable writes contain here.
    pub(crate) contained: String,
    /// What a reader must know of them.
    pub(crate) notes: Vec<String>,
}

impl Service {
    /// Its streams on a block device, for commits at this rate. The error says what a device cannot hold.
    pub(crate) fn on_device(&self, commits: Rate, even: bool) -> Result<ServiceStreams, String> {
        let mut laid_out =
            LayOut { service: self, commits, begins: Vec::new(), streams: Vec::new(), unscaled: Vec::new() };
        let mut begin = 0;
        for file in &self.files {
            laid_out.begins.push(begin);
            begin += bytes_of(file);
        }
        laid_out.add_writer(even)?;
        for task in &self.tasks {
            laid_out.add_task(task)?;
        }
        let mut notes = vec![
            "on a block device: a commit waits for one durable write of whole blocks, as for pwrite and fdatasync on a file whose blocks were written before".to_owned(),
        ];
        if !self.tasks.is_empty() {
            notes.push(
                "pages come evenly in time, as many as the commits make; their syncs come evenly too, as many at any load"
                    .to_owned(),
            );
        }
        notes.extend(self.assumed.iter().cloned());
        let LayOut { streams, unscaled, .. } = laid_out;
        let contained = self
            .writer
            .steps
            .first()
            .map_or_else(String::new, |write| stream_of_call(&self.writer.name, write, ServiceCall::Write));
        Ok(ServiceStreams { streams, unscaled, contained, notes })
    }
}

/// Bytes that files of a kind take on a device.
fn bytes_of(file: &ServiceFile) -> u64 {
    file.size.get().saturating_mul(u64::from(file.number) + u64::from(file.ready))
}

/// The streams while they are made.
struct LayOut<'a> {
    service: &'a Service,
    commits: Rate,
    /// Where each kind of file begins on the device.
    begins: Vec<u64>,
    streams: Vec<Stream>,
    unscaled: Vec<String>,
}

impl LayOut<'_> {
    /// One durable write for each group: the writer's write with the sync behind it.
    fn add_writer(&mut self, even: bool) -> Result<(), String> {
        let writer = &self.service.writer;
        let [write, sync] = writer.steps.as_slice() else {
            return Err(format!("{} does more for a group than a write and a sync of it", writer.name));
        };
        let is_pair = write.call == StepCall::Write && write.amount == Amount::Group && write.file == sync.file;
        let call = match sync.call {
            StepCall::Fdatasync => ServiceCall::Fdatasync,
            StepCall::Fsync => ServiceCall::Fsync,
            _ => return Err(format!("{} does not end a group with a sync", writer.name)),
        };
        let file = &self.service.files[write.file];
        let (true, Some(block)) = (is_pair, file.block) else {
            return Err(format!("{} appends to {}, whose size only a file system has", writer.name, file.name));
        };
        if !matches!(file.made_by, MadeBy::Zeros | MadeBy::Written) || file.number != 1 {
            return Err(format!("{} is not written as a whole before commits come", file.name));
        }
        let most = MOST.min(Bytes::new(bytes_of(file)));
        let groups = CommitGroups {
            commits: self.commits,
            even,
            entry: writer.entry,
            group: writer.group,
            images: writer.images,
            block,
            most,
            ring: Bytes::new(bytes_of(file)),
        };
        if groups.largest_commit() + groups.group.get() + 2 * block.get() > most.get() / 2 {
            return Err(format!(
                "a commit of {} is larger than half of a write, which has at most {most}",
                writer.name
            ));
        }
        let name = stream_of_call(&writer.name, sync, call);
        let of_block = self.block_of(write.file, Size::from_range(block, most), Address::Sequential, true);
        self.add_stream(name, Work::Block(of_block), Arrival::Grouped(Box::new(groups)));
        Ok(())
    }

    fn add_task(&mut self, task: &ServiceTask) -> Result<(), String> {
        let Some(period) = task.each.or(task.pause).filter(|period| !period.is_zero()) else {
            return Err(format!("{} does not begin by a timer", task.name));
        };
        let a_second = 1.0 / period.as_secs_f64();
        for step in &task.steps {
            self.add_step(task, step, a_second)?;
        }
        Ok(())
    }

    /// A step that is made so many times a second.
    fn add_step(&mut self, task: &ServiceTask, step: &ServiceStep, a_second: f64) -> Result<(), String> {
        let file = &self.service.files[step.file];
        let cannot = |what: &str| Err(format!("{} {what} {}, which a block device cannot hold", task.name, file.name));
        match (step.call, step.amount) {
            (StepCall::Write, Amount::Pages { page, pages, per_commit }) => {
                let address = match step.at {
                    StepPlace::Random => Address::Uniform { align: page },
                    StepPlace::End if file.when_full == WhenFull::Start => Address::Sequential,
                    _ => return cannot("appends to"),
                };
                let name = self.new_name(stream_of_call(&task.name, step, ServiceCall::Write), file);
                let block = self.block_of(step.file, Size::from_fixed(page), address, false);
                // Only those that commits make are more at a higher load.
                let (of_commits, of_timer) = (per_commit * self.commits.as_f64(), pages * a_second);
                if of_commits > 0.0 {
                    let arrival = Arrival::Steady { rate: rate_of(of_commits)? };
                    self.add_stream(name.clone(), Work::Block(block.clone()), arrival);
                }
                if of_timer > 0.0 {
                    let name = if of_commits > 0.0 { format!("{name}-by-timer") } else { name };
                    self.unscaled.push(name.clone());
                    self.add_stream(name, Work::Block(block), Arrival::Steady { rate: rate_of(of_timer)? });
                }
                Ok(())
            }
            (StepCall::Fsync | StepCall::Fdatasync, _) => {
                let call = if step.call == StepCall::Fsync { ServiceCall::Fsync } else { ServiceCall::Fdatasync };
                let files = if step.of == super::WhichFile::Each { file.number } else { 1 };
                let rate = rate_of(f64::from(files) * a_second)?;
                let name = stream_of_call(&task.name, step, call);
                self.add_flushes(name, rate)
            }
            // Its ring is used again without it.
            (StepCall::Recycle, _) => Ok(()),
            _ => cannot("does more than write pages of"),
        }
    }

    /// Syncs of several files with one name are one stream of flushes.
    fn add_flushes(&mut self, name: String, rate: Rate) -> Result<(), String> {
        if let Some(known) = self.streams.iter_mut().find(|stream| stream.name == name)
            && let Arrival::Steady { rate: before } = &mut known.arrival
        {
            *before = rate_of(before.as_f64() + rate.as_f64())?;
            return Ok(());
        }
        self.unscaled.push(name.clone());
        self.add_stream(name, Work::Flush(Flush::new(None)), Arrival::Steady { rate });
        Ok(())
    }

    /// The name of a stream of writes: places of their own need a stream of their own.
    fn new_name(&self, name: String, file: &ServiceFile) -> String {
        let is_known = self.streams.iter().any(|known| known.name == name);
        if is_known { format!("{name}-{}", file.name) } else { name }
    }

    fn block_of(&self, file: usize, size: Size, address: Address, durable: bool) -> Block {
        let bytes = |bytes| extent::Amount::Bytes(Bytes::new(bytes));
        let length = bytes_of(&self.service.files[file]);
        Block {
            direction: Direction::Write,
            durable,
            filled_with: None,
            size,
            address,
            extent: Some(Extent::new(bytes(self.begins[file]), Some(bytes(length)))),
            places: None,
            compress_to: Share::WHOLE,
            duplicates: Share::default(),
        }
    }

    fn add_stream(&mut self, name: String, work: Work, arrival: Arrival) {
        let (per_target, targets, life) = (true, Vec::new(), Life::default());
        self.streams.push(Stream { name, work, arrival, per_target, targets, life });
    }
}

/// A rate to parts per billion.
fn rate_of(a_second: f64) -> Result<Rate, String> {
    let rate = Rate::from_ratio((a_second * PPB).round() as u128, PPB as u128);
    rate.ok_or_else(|| format!("{a_second} operations a second cannot be represented"))
}
