//! Lowers a profile to the streams of one drive, with each step of the derivation.

use super::sizes::STORED_UNIT;
use super::{Derivation, Drive, Flow, PartKind, Points, Profile, ProfilePart, drive_path};
use crate::act::storage::LARGE_IN_FLIGHT;
use crate::mix::Loop;
use crate::plan::{Address, Arrival, Block, Lane, Stream, Work};
use crate::size::{Size, Sizes};
use assay_base::{Bytes, Direction, Rate, Share};
use std::collections::BTreeSet;

/// The unit of the addresses of drives, to which sizes are rounded up.
const SECTOR: u32 = 512;
/// Two accounts of the same thing may differ by this share, as in what is imported.
const APART: f64 = 0.05;
/// A position beyond the upper bound of a bucket would contradict the histogram.
pub(super) const POSITION_MAX: Share = Share::from_percent(200);
/// The largest size of operations beside those that are counted.
const OTHERS_MAX: Bytes = Bytes::from_kib(8 << 10);
/// Upper bound on the scale of large blocks.
pub(super) const SCALE_MAX: Share = Share::from_percent(1000);

/// The meaning of a profile for one drive.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Lowered {
    /// At 1x, on one drive.
    pub streams: Vec<Stream>,
    /// Streams with slots of their own.
    pub lanes: Vec<Lane>,
    /// Closed loops.
    pub loops: Vec<Loop>,
    /// Streams whose completions clients wait for.
    pub reads: Vec<String>,
    /// Each number and its derivation.
    pub derivation: Vec<Derivation>,
    /// What the reader of a report must know.
    pub notes: Vec<String>,
    /// The drive, as production's iostat saw it.
    pub drive: Option<Drive>,
    /// Which drive that is, as `node/drive`; empty where the profile names none.
    pub meant: String,
}

/// Why a profile cannot be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfileFault {
    /// Index of the part, where the problem is in a part.
    pub part: Option<usize>,
    /// The table in it (`reads`, `writes`, `large_blocks`), where the problem is in a table.
    pub table: &'static str,
    /// The key; empty for the table as a whole.
    pub key: &'static str,
    /// A sentence without its full stop.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

/// A drive among those that a profile names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct ChosenDrive {
    node: String,
    name: String,
}

/// How much a drive moves per second.
struct Traffic<'a> {
    drive: &'a ChosenDrive,
    bytes: f64,
    /// Whether iostat shows it; otherwise it is what the streams of the drive move.
    is_measured: bool,
}

impl Profile {
    /// The streams for the drive that a target stands for.
    pub fn lower_to_streams(&self) -> Result<Lowered, ProfileFault> {
        let mut lowered = Lowered::default();
        let (drive, parts) = self.choose_parts(&mut lowered)?;
        lowered.meant = drive_path(&drive.node, &drive.name);
        lowered.drive = self.seen_drive(&drive).cloned();
        self.lower_parts(parts, &mut lowered)?;
        lowered.notes.extend(apart_from_iostat(&lowered));
        if lowered.streams.is_empty() {
            return Err(ProfileFault::for_profile_key(
                "",
                "the profile's rates are all zero: there is no load",
                "collect it under load",
            ));
        }
        Ok(lowered)
    }

    /// Adds the streams of some parts.
    fn lower_parts(&self, parts: Vec<usize>, lowered: &mut Lowered) -> Result<(), ProfileFault> {
        let several = parts.len() > 1;
        let mut names = BTreeSet::new();
        for index in parts {
            let part = &self.parts[index];
            let prefix =
                if several { format!("{}.", unused_stream_name(&part.name, &mut names)) } else { String::new() };
            Lowering { index, part, prefix, out: lowered }.lower_part()?;
        }
        Ok(())
    }

    /// The parts that are on a drive.
    fn parts_on(&self, drive: &ChosenDrive) -> Vec<usize> {
        (0..self.parts.len()).filter(|index| self.parts[*index].is_on(drive)).collect()
    }

    /// The drive that a target stands for, and which parts are on it, of which there is at least one.
    fn choose_parts(&self, lowered: &mut Lowered) -> Result<(ChosenDrive, Vec<usize>), ProfileFault> {
        let drive = self.choose_drive(lowered)?;
        let parts = self.parts_on(&drive);
        if parts.is_empty() {
            let what = if self.parts.is_empty() {
                "the profile has neither a [[namespace]] nor an [[application]]".to_owned()
            } else {
                format!("nothing in the profile uses the drive {}", drive_path(&drive.node, &drive.name))
            };
            return Err(ProfileFault::for_profile_key("drive", what, "collect its load, or name another drive"));
        }
        Ok((drive, parts))
    }

    /// The drive by its iostat. Where no part names its drives, the only one that iostat shows is meant.
    fn seen_drive(&self, drive: &ChosenDrive) -> Option<&Drive> {
        let of_node: Vec<&Drive> = self.drives.iter().filter(|seen| seen.node == drive.node).collect();
        match (drive.name.as_str(), of_node.as_slice()) {
            ("", [only]) => Some(only),
            (name, all) => all.iter().copied().find(|seen| seen.name == name),
        }
    }

    /// Which parts are on the drive that a target stands for.
    ///
    /// # Errors
    /// There is no such drive, or nothing is on it.
    pub fn parts_meant(&self) -> Result<Vec<usize>, ProfileFault> {
        Ok(self.choose_parts(&mut Lowered::default())?.1)
    }

    /// The drives that anything is on, each as `node/drive`; those of iostat where no part names any.
    pub fn drives_used(&self) -> Vec<String> {
        self.used_drives().iter().map(|one| drive_path(&one.node, &one.name)).collect()
    }

    fn used_drives(&self) -> BTreeSet<ChosenDrive> {
        let mut used = BTreeSet::new();
        for part in &self.parts {
            used.extend(part.drives.iter().map(|name| ChosenDrive { node: part.node.clone(), name: name.clone() }));
            if part.drives.is_empty() {
                used.insert(ChosenDrive { node: part.node.clone(), name: String::new() });
            }
        }
        let seen = self.drives.iter().map(|drive| ChosenDrive { node: drive.node.clone(), name: drive.name.clone() });
        if used.is_empty() { seen.collect() } else { used }
    }

    /// The drive that was asked for, otherwise the busiest one.
    fn choose_drive(&self, lowered: &mut Lowered) -> Result<ChosenDrive, ProfileFault> {
        let all = self.used_drives();
        if let Some(asked) = &self.drive {
            let found = all.iter().find(|one| one.drive_path() == *asked || one.name == *asked);
            return found.cloned().ok_or_else(|| {
                let known: Vec<String> = all.iter().map(ChosenDrive::drive_path).collect();
                let what = format!("the profile knows no drive \"{}\"", asked.escape_debug());
                ProfileFault::for_profile_key("drive", what, format!("write one of {}", known.join(", ")))
            });
        }
        let each = all.iter().map(|drive| self.drive_traffic(drive));
        let Some(busiest) = each.max_by(|a, b| a.bytes.total_cmp(&b.bytes)) else {
            return Ok(ChosenDrive { node: String::new(), name: String::new() });
        };
        if all.len() > 1 {
            let (name, bytes) = (busiest.drive.drive_path(), Bytes::new(busiest.bytes as u64).human_text());
            let account = if busiest.is_measured { "iostat shows" } else { "this load moves" };
            let note = format!(
                "each target stands for {name}, the busiest of {} drives: {account} {bytes}/s on it; drive = \"NODE/DRIVE\" names another",
                all.len()
            );
            lowered.notes.push(note);
        }
        Ok(busiest.drive.clone())
    }

    /// How much a drive moves: what was measured counts more than what is derived from its parts.
    fn drive_traffic<'a>(&self, drive: &'a ChosenDrive) -> Traffic<'a> {
        let measured = self.seen_bytes(drive);
        let bytes = measured.unwrap_or_else(|| self.load_bytes(drive));
        Traffic { drive, bytes, is_measured: measured.is_some() }
    }

    /// How much a drive moves per second according to iostat, where that is known.
    fn seen_bytes(&self, drive: &ChosenDrive) -> Option<f64> {
        let seen = self.drives.iter().find(|one| one.node == drive.node && one.name == drive.name)?;
        iostat_bytes(seen)
    }

    /// How much the streams of a drive move per second; nothing where they cannot be made.
    fn load_bytes(&self, drive: &ChosenDrive) -> f64 {
        let mut lowered = Lowered::default();
        match self.lower_parts(self.parts_on(drive), &mut lowered) {
            Ok(()) => lowered.bytes_per_second(),
            Err(_) => 0.0,
        }
    }
}

impl Lowered {
    /// How much the streams move per second together.
    fn bytes_per_second(&self) -> f64 {
        self.streams.iter().filter_map(|stream| stream.bytes_per_second(SECTOR)).sum()
    }
}

impl ProfilePart {
    /// Whether this part uses a drive. What is not named, node or drive, may be any.
    fn is_on(&self, drive: &ChosenDrive) -> bool {
        let node = self.node.is_empty() || drive.node.is_empty() || self.node == drive.node;
        node && (self.drives.is_empty() || drive.name.is_empty() || self.drives.contains(&drive.name))
    }
}

impl ChosenDrive {
    /// The drive as a user names it.
    fn drive_path(&self) -> String {
        drive_path(&self.node, &self.name)
    }
}

/// Bytes read and written per second; nothing where iostat shows neither.
fn iostat_bytes(seen: &Drive) -> Option<f64> {
    let read = seen.read_bytes.as_ref().map(|bytes| bytes.value.get() as f64);
    let written = seen.write_bytes.as_ref().map(|bytes| bytes.value.get() as f64);
    (read.is_some() || written.is_some()).then(|| read.unwrap_or(0.0) + written.unwrap_or(0.0))
}

/// Says that the load moves more or less than iostat shows of the drive, where the difference is not small.
fn apart_from_iostat(lowered: &Lowered) -> Option<String> {
    let drive = lowered.drive.as_ref()?;
    let (seen, ours) = (iostat_bytes(drive)?, lowered.bytes_per_second());
    let is_near = seen > 0.0 && (ours / seen - 1.0).abs() <= APART;
    (!is_near && ours > 0.0).then(|| {
        format!(
            "this load moves {}/s on {}, where iostat shows {}/s: assay fit brings them together",
            Bytes::new(ours as u64).human_text(),
            if lowered.meant.is_empty() { "the drive" } else { &lowered.meant },
            Bytes::new(seen as u64).human_text()
        )
    })
}

impl ProfileFault {
    fn for_profile_key(key: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> ProfileFault {
        ProfileFault { part: None, table: "", key, what: what.into(), remedy: remedy.into() }
    }
}

/// A name that is valid for a stream and not used by another part.
fn unused_stream_name(name: &str, taken: &mut BTreeSet<String>) -> String {
    let first = name.chars().take(32);
    let name: String = first.map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
    let numbered = (2..).map(|n| format!("{name}-{n}"));
    let name = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or(name);
    taken.insert(name.clone());
    name
}

/// The state while a part is lowered.
pub(super) struct Lowering<'a> {
    index: usize,
    pub(super) part: &'a ProfilePart,
    pub(super) prefix: String,
    pub(super) out: &'a mut Lowered,
}

/// A rate and its text.
pub(super) fn rate_as_text(rate: Rate) -> String {
    let text = format!("{:.3}", rate.as_f64());
    format!("{}/s", text.trim_end_matches('0').trim_end_matches('.'))
}

fn mean_as_text(mean: f64) -> String {
    format!("{mean:.0} B")
}

impl Lowering<'_> {
    pub(super) fn unfit_part(
        &self,
        table: &'static str,
        key: &'static str,
        what: String,
        remedy: &str,
    ) -> ProfileFault {
        let what = if self.part.name.is_empty() { what } else { format!("{}: {what}", self.part.name) };
        ProfileFault { part: Some(self.index), table, key, what, remedy: remedy.to_owned() }
    }

    pub(super) fn note_derivation(
        &mut self,
        what: &str,
        formula: impl Into<String>,
        value: impl Into<String>,
        source: &str,
    ) {
        self.out.derivation.push(Derivation::new(format!("{}{what}", self.prefix), formula, value, source));
    }

    /// All streams of the part.
    fn lower_part(mut self) -> Result<(), ProfileFault> {
        let reads = self.flow_rate("reads", &self.part.reads)?;
        let writes = self.flow_rate("writes", &self.part.writes)?;
        self.note_ratio(reads, writes);
        if !reads.is_zero() {
            let points = self.size_points("reads", &self.part.reads)?;
            self.add_stream("reads", Direction::Read, false, size_of(&points), Bytes::default(), reads);
            self.out.reads.push(format!("{}reads", self.prefix));
            self.drive_as_seen(&self.part.reads);
        }
        match self.part.kind {
            PartKind::Namespace => self.lower_large_blocks(writes),
            PartKind::Application => self.plain_writes(writes),
        }?;
        self.lower_others()?;
        self.lower_flushes()?;
        self.close_loop(reads, writes)?;
        self.note_unused();
        Ok(())
    }

    /// The rate on one drive.
    fn flow_rate(&mut self, table: &'static str, flow: &Option<Flow>) -> Result<Rate, ProfileFault> {
        let Some(flow) = flow else { return Ok(Rate::ZERO) };
        let Some(rate) = &flow.rate else {
            let remedy =
                "add rate = \"…/s\"; asloglatency of {namespace}-device-read-size and -write-size shows it as ops/sec";
            return Err(self.unfit_part(table, "", format!("its {table} have no rate"), remedy));
        };
        let drives = self.part.drives.len().max(1) as u64;
        let one = rate.value.scaled_by(1, drives).ok_or_else(|| self.too_large(table, "rate"))?;
        let formula = match drives {
            1 => rate_as_text(rate.value),
            n => format!("{} / {n} drives", rate_as_text(rate.value)),
        };
        self.note_derivation(table, formula, rate_as_text(one), &rate.source);
        Ok(one)
    }

    pub(super) fn too_large(&self, table: &'static str, key: &'static str) -> ProfileFault {
        self.unfit_part(table, key, "the rate is too large to be represented".into(), "write a smaller one")
    }

    fn note_ratio(&mut self, reads: Rate, writes: Rate) {
        let (r, w) = (reads.as_f64(), writes.as_f64());
        if r > 0.0 && w > 0.0 {
            let (reads, writes) = (rate_as_text(reads), rate_as_text(writes));
            self.note_derivation(
                "read ratio",
                format!("{reads} / ({reads} + {writes})"),
                format!("{:.2}%", 100.0 * r / (r + w)),
                "",
            );
            self.note_derivation(
                "write ratio",
                format!("{writes} / ({reads} + {writes})"),
                format!("{:.2}%", 100.0 * w / (r + w)),
                "",
            );
        }
    }

    /// The sizes of a flow, as they are stored.
    fn size_points(&mut self, table: &'static str, flow: &Option<Flow>) -> Result<Points, ProfileFault> {
        let Some((flow, sizes)) = flow.as_ref().and_then(|flow| Some((flow, flow.sizes.as_ref()?))) else {
            let remedy =
                "add larger_than = [[\"1KiB\", \"100%\"], …, [\"128KiB\", \"0%\"]] or sizes = [[\"4KiB\", \"100%\"]]";
            return Err(self.unfit_part(table, "", format!("the sizes of its {table} are missing"), remedy));
        };
        if let Some((_, what, remedy)) = sizes.value.why_invalid() {
            return Err(self.unfit_part(table, "larger_than", what, &remedy));
        }
        if flow.position > POSITION_MAX || flow.position < Share::from_percent(1) {
            let what = format!("a position of {} lies outside of the buckets", flow.position);
            return Err(self.unfit_part(
                table,
                "position",
                what,
                "write 100% for the lower bound of each bucket, to 200% for its upper one",
            ));
        }
        let points = sizes.value.points_at(flow.position);
        let namespace = self.part.kind == PartKind::Namespace;
        let stored = if namespace { points.in_units(STORED_UNIT) } else { points };
        let formula = match (&sizes.value, namespace) {
            (super::Sizes::Each(_), _) => "mean of its sizes".to_owned(),
            (_, true) => {
                format!("mean of its histogram at position {}, stored in multiples of {STORED_UNIT} B", flow.position)
            }
            (_, false) => format!("mean of its histogram at position {}", flow.position),
        };
        let what = if table == "reads" { "mean read size" } else { "mean write size" };
        let mean = mean_as_text(stored.mean_bytes());
        self.note_derivation(what, formula, mean, &sizes.source);
        Ok(stored)
    }

    fn add_stream(&mut self, name: &str, direction: Direction, durable: bool, size: Size, align: Bytes, rate: Rate) {
        let name = format!("{}{name}", self.prefix);
        let block = Block {
            direction,
            durable,
            filled_with: None,
            size,
            address: Address::Uniform { align },
            extent: None,
            places: None,
            compress_to: self.part.compress_to.unwrap_or(Share::WHOLE),
            duplicates: Share::default(),
        };
        self.out.streams.push(Stream {
            name,
            work: Work::Block(block),
            arrival: Arrival::Poisson { rate },
            per_target: align.get() == 0,
            targets: Vec::new(),
            life: crate::Life::default(),
        });
    }

    /// Marks the stream made last as one that ACT's tables name per device.
    fn per_target(&mut self) {
        self.out.streams.iter_mut().last().into_iter().for_each(|stream| stream.per_target = true);
    }

    fn plain_writes(&mut self, rate: Rate) -> Result<(), ProfileFault> {
        if rate.is_zero() {
            return Ok(());
        }
        let points = self.size_points("writes", &self.part.writes)?;
        let durable = self.part.writes.as_ref().is_some_and(|flow| flow.durable);
        self.add_stream("writes", Direction::Write, durable, size_of(&points), Bytes::default(), rate);
        self.drive_as_seen(&self.part.writes);
        Ok(())
    }

    /// What reaches the drive beside what is counted.
    fn lower_others(&mut self) -> Result<(), ProfileFault> {
        let others = self.part.others;
        if others.size.get() == 0 || !others.size.get().is_multiple_of(u64::from(SECTOR)) || others.size > OTHERS_MAX {
            let what = format!("other operations of {}", others.size);
            return Err(self.unfit_part("others", "size", what, "write a multiple of 512B, to 8MiB"));
        }
        let drives = self.part.drives.len().max(1) as u64;
        for (key, name, direction, rate) in [
            ("reads", "other-reads", Direction::Read, others.reads),
            ("writes", "other-writes", Direction::Write, others.writes),
        ] {
            if rate.is_zero() {
                continue;
            }
            let one = rate.scaled_by(1, drives).ok_or_else(|| self.too_large("others", key))?;
            let formula =
                if drives == 1 { rate_as_text(rate) } else { format!("{} / {drives} drives", rate_as_text(rate)) };
            self.note_derivation(
                &format!("other {key}"),
                formula,
                rate_as_text(one),
                "more than what the server counts",
            );
            self.add_stream(name, direction, false, Size::from_fixed(others.size), others.size, one);
        }
        Ok(())
    }

    /// Large blocks, and committed writes in addition.
    fn lower_large_blocks(&mut self, writes: Rate) -> Result<(), ProfileFault> {
        let blocks = self.part.large_blocks.clone();
        let size = blocks.size;
        if !size.get().is_power_of_two() || !(512..=8 << 20).contains(&size.get()) {
            let what = format!("a large block of {size}");
            return Err(self.unfit_part("large_blocks", "size", what, "write a power of two from 512B to 8MiB"));
        }
        let scales = [("write_scale", blocks.write_scale), ("read_scale", blocks.read_scale)];
        if let Some((key, scale)) = scales.into_iter().find(|(_, scale)| *scale > SCALE_MAX) {
            return Err(self.unfit_part("large_blocks", key, format!("a scale of {scale}"), "write 0% to 1000%"));
        }
        if blocks.defrag_below >= Share::WHOLE {
            let what = "the defragmentation threshold must be below 100%".to_owned();
            return Err(self.unfit_part("large_blocks", "defrag_below", what, "write for example 50%"));
        }
        let (total, clients) = self.total_large_blocks(writes)?;
        let freed = self.freed_large_blocks(total)?;
        let reads = scaled_by(freed, blocks.read_scale).ok_or_else(|| self.too_large("large_blocks", "writes"))?;
        let formula = format!("{} × {}", self.reads_formula(total), blocks.read_scale);
        let source =
            blocks.direct_frees.as_ref().or(blocks.reads.as_ref()).map_or("", |one| one.source.as_str()).to_owned();
        self.note_derivation("large-block reads", formula, rate_as_text(reads), &source);
        let written = match (self.part.commit_to_device, clients) {
            // Client writes are committed separately; only the blocks of defragmentation are left.
            (true, Some(clients)) => rate_difference(total, clients).unwrap_or(Rate::ZERO),
            _ => total,
        };
        let formula = if self.part.commit_to_device {
            format!("({} − what clients fill) × {}", rate_as_text(total), blocks.write_scale)
        } else {
            format!("{} × {}", rate_as_text(total), blocks.write_scale)
        };
        let written = scaled_by(written, blocks.write_scale).ok_or_else(|| self.too_large("large_blocks", "writes"))?;
        self.note_derivation("large-block writes", formula, rate_as_text(written), "");
        for (name, direction, rate) in
            [("large-block-reads", Direction::Read, reads), ("large-block-writes", Direction::Write, written)]
        {
            if !rate.is_zero() {
                let durable = blocks.durable && direction == Direction::Write;
                self.add_stream(name, direction, durable, Size::from_fixed(size), size, rate);
                self.out.lanes.push(Lane::for_stream(&format!("{}{name}", self.prefix), LARGE_IN_FLIGHT));
            }
        }
        if self.part.commit_to_device {
            return self.lower_committed_writes(writes);
        }
        Ok(())
    }

    fn lower_committed_writes(&mut self, writes: Rate) -> Result<(), ProfileFault> {
        if !writes.is_zero() {
            let least = self.part.commit_min.unwrap_or_default();
            if least.get() > 0 && !least.get().is_power_of_two() {
                let what = format!("a smallest committed write of {least}");
                return Err(self.unfit_part("", "commit_min", what, "write a power of two"));
            }
            let points = self.size_points("writes", &self.part.writes)?.in_units(least.get());
            self.add_stream("writes", Direction::Write, true, size_of(&points), least, writes);
            self.per_target();
        }
        Ok(())
    }

    /// Large blocks written per second on one drive, and how many of them clients fill, where that is known.
    fn total_large_blocks(&mut self, writes: Rate) -> Result<(Rate, Option<Rate>), ProfileFault> {
        let blocks = &self.part.large_blocks;
        let drives = self.part.drives.len().max(1) as u64;
        let known = self.part.writes.as_ref().is_some_and(|flow| flow.sizes.is_some());
        if let Some(given) = blocks.writes.clone() {
            let total = given.value.scaled_by(1, drives).ok_or_else(|| self.too_large("large_blocks", "writes"))?;
            let formula = if drives == 1 {
                rate_as_text(given.value)
            } else {
                format!("{} / {drives} drives", rate_as_text(given.value))
            };
            self.note_derivation("large blocks written in all", formula, rate_as_text(total), &given.source);
            let clients =
                if self.part.commit_to_device && known { Some(self.filled_large_blocks(writes)?) } else { None };
            return Ok((total, clients));
        }
        if writes.is_zero() {
            return Ok((Rate::ZERO, None));
        }
        let below = blocks.defrag_below;
        let clients = self.filled_large_blocks(writes)?;
        let (whole, left) = (Share::WHOLE.as_ppb(), Share::WHOLE.as_ppb() - below.as_ppb());
        let total = clients.scaled_by(whole, left).ok_or_else(|| self.too_large("large_blocks", "writes"))?;
        let formula = format!("{} × 1 / (1 − {below}), the amplification of defragmentation", rate_as_text(clients));
        self.note_derivation("large blocks written in all", formula, rate_as_text(total), "");
        Ok((total, Some(clients)))
    }

    /// Large blocks that client writes fill.
    fn filled_large_blocks(&mut self, writes: Rate) -> Result<Rate, ProfileFault> {
        let points = self.size_points("writes", &self.part.writes)?;
        let size = self.part.large_blocks.size;
        // Thousandths of a byte keep the fraction small.
        let mean = (points.mean_bytes() * 1000.0).round() as u64;
        let filled = writes.scaled_by(mean, 1000).and_then(|rate| rate.scaled_by(1, size.get()));
        let filled = filled.ok_or_else(|| self.too_large("writes", "rate"))?;
        let formula = format!("{} × {} / {size}", rate_as_text(writes), mean_as_text(points.mean_bytes()));
        self.note_derivation("large blocks that clients fill", formula, rate_as_text(filled), "");
        Ok(filled)
    }

    /// Large blocks read by defragmentation on one drive, before their scale.
    fn freed_large_blocks(&mut self, total: Rate) -> Result<Rate, ProfileFault> {
        let blocks = &self.part.large_blocks;
        let drives = self.part.drives.len().max(1) as u64;
        match (&blocks.direct_frees, &blocks.reads) {
            (Some(frees), _) => {
                frees.value.scaled_by(1, drives).and_then(|frees| rate_difference(total, frees)).ok_or_else(|| {
                    let what = format!(
                        "{} blocks are freed directly, more than the {} that are written",
                        rate_as_text(frees.value),
                        rate_as_text(total)
                    );
                    self.unfit_part(
                        "large_blocks",
                        "direct_frees",
                        what,
                        "write a smaller rate, or the blocks' own in writes",
                    )
                })
            }
            (None, Some(reads)) => {
                reads.value.scaled_by(1, drives).ok_or_else(|| self.too_large("large_blocks", "reads"))
            }
            (None, None) => Ok(total),
        }
    }

    fn reads_formula(&self, total: Rate) -> String {
        let blocks = &self.part.large_blocks;
        let drives = self.part.drives.len().max(1);
        let spread = if drives == 1 { String::new() } else { format!(" / {drives} drives") };
        match (&blocks.direct_frees, &blocks.reads) {
            (Some(frees), _) => {
                format!("({} − {}{spread} freed directly)", rate_as_text(total), rate_as_text(frees.value))
            }
            (None, Some(reads)) => format!("{}{spread} read by defragmentation", rate_as_text(reads.value)),
            (None, None) => format!("{}, as every block that is written is read once", rate_as_text(total)),
        }
    }
}

fn rate_difference(a: Rate, b: Rate) -> Option<Rate> {
    let ((a, a_seconds), (b, b_seconds)) = (a.as_ratio(), b.as_ratio());
    let (a, b) = (u128::from(a) * u128::from(b_seconds), u128::from(b) * u128::from(a_seconds));
    Rate::from_ratio(a.checked_sub(b)?, u128::from(a_seconds) * u128::from(b_seconds))
}

/// A rate, of which `scale` is issued.
fn scaled_by(rate: Rate, scale: Share) -> Option<Rate> {
    rate.scaled_by(scale.as_ppb(), Share::WHOLE.as_ppb())
}

/// How a stream draws its sizes from points, of which there is at least one.
fn size_of(points: &Points) -> Size {
    let mut bars = Vec::with_capacity(points.0.len());
    for (size, weight) in &points.0 {
        let size = Bytes::new(*size);
        bars.push(Sizes { from: size, to: size, weight: *weight });
    }
    Size::from_histogram(bars).unwrap_or(Size::from_fixed(Bytes::new(1)))
}
