//! The plan of a number of tiles.

use super::facts::{BACKGROUND, MOST_TILES};
use super::planned::{PlannedMember, PlannedTiles};
use super::range::TileRange;
use crate::merge::{JoinedPart, group_of_all, join_parts};
use crate::oltp::Oltp;
use crate::plan::{Notes, Plan, PlannedApplication, PlannedLoad};
use crate::workload::{Adjust, TileMember, Tiles, Workload};
use assay_base::{Bytes, Multiple};

/// Upper bound on the criteria of a run: the judge reads no more.
const MOST_CRITERIA: usize = 512;

/// The plan of a workload on targets of its own, before it is moved to a range.
struct MemberPlan<'a> {
    member: &'a TileMember,
    plan: Plan,
    oltp: Option<Oltp>,
}

/// The plans of all workloads in one, while they are put together.
#[derive(Default)]
struct Assembly {
    parts: Vec<JoinedPart>,
    members: Vec<PlannedMember>,
}

impl Tiles {
    /// The plan of as many tiles as the load that is asked for, or of one. `whole` is the file of tiles.
    pub(crate) fn make_plan(&self, whole: &Workload, adjust: &Adjust) -> Result<Plan, String> {
        let number = number_of_tiles(adjust.load.unwrap_or(Multiple::ONE))?;
        refuse_cache(whole).map_err(|why| format!("tiles: {why}"))?;
        let mut assembly = Assembly::default();
        for member in &self.background {
            assembly.add_member(&member.plan_alone(self, adjust)?, BACKGROUND, None);
        }
        let mut of_tile = Vec::new();
        for part in &self.parts {
            for member in &part.members {
                of_tile.push(member.plan_in(self, adjust, part.size)?);
            }
        }
        for tile in 1..=number {
            self.add_tile(&mut assembly, tile, &of_tile)?;
        }
        let Assembly { parts, members } = assembly;
        let plan = join_parts(parts)?;
        if plan.criteria.len() > MOST_CRITERIA {
            return Err(format!(
                "{number} tiles have {} criteria, more than {MOST_CRITERIA}: run fewer tiles, or judge less in each",
                plan.criteria.len()
            ));
        }
        let tiles = PlannedTiles { number, size: self.tile_size(), members };
        let remarks = whole.notes.iter().chain(&plan.notes.remarks).cloned().collect();
        Ok(Plan {
            name: whole.name.clone(),
            model: whole.model.to_owned(),
            load: PlannedLoad {
                multiple: Multiple::from_whole(number),
                multiples: Vec::new(),
                application: Some(PlannedApplication::Tiles(tiles)),
                ..plan.load
            },
            hosts: whole.hosts,
            notes: Notes { remarks, ..plan.notes },
            ..plan
        })
    }

    /// Adds a tile, whose ranges lie behind those of the tiles before it.
    fn add_tile(&self, assembly: &mut Assembly, tile: u64, of_tile: &[MemberPlan<'_>]) -> Result<(), String> {
        let mut begin = (tile - 1).checked_mul(self.tile_size().get());
        let mut planned = of_tile.iter();
        for part in &self.parts {
            let range = begin.map(|begin| TileRange { begin: Bytes::new(begin), size: part.size });
            let range = range.ok_or_else(|| format!("tile {tile} would begin behind the end of any target"))?;
            for member in planned.by_ref().take(part.members.len()) {
                assembly.add_member(member, &format!("tile{tile}"), Some(range));
            }
            begin = begin.and_then(|begin| begin.checked_add(part.size.get()));
        }
        Ok(())
    }
}

impl TileMember {
    /// The plan of its workload on whole targets. The error names it.
    fn plan_alone(&self, tiles: &Tiles, adjust: &Adjust) -> Result<MemberPlan<'_>, String> {
        self.make_own_plan(tiles, adjust).map_err(|why| format!("{}: {why}", self.name))
    }

    /// The same on a range of this size. The error says how it does not fit there.
    fn plan_in(&self, tiles: &Tiles, adjust: &Adjust, size: Bytes) -> Result<MemberPlan<'_>, String> {
        let made = self.plan_alone(tiles, adjust)?;
        made.check_fits_in(size).map_err(|why| format!("{}: {why}", self.name))?;
        Ok(made)
    }

    fn make_own_plan(&self, tiles: &Tiles, adjust: &Adjust) -> Result<MemberPlan<'_>, String> {
        let workload =
            self.workload.as_deref().ok_or_else(|| format!("the workload {} has not been read", self.file))?;
        refuse_alone(workload)?;
        let times = tiles.times;
        let own = Adjust {
            load: self.load,
            measure: adjust.measure.or(times.duration),
            warm_up: adjust.warm_up.or(times.warm_up),
            slice: adjust.slice.or(times.slice),
            ..adjust.clone()
        };
        let mut plan = workload.make_plan(&own)?;
        plan.notes.watermarks = plan.resembled_tools();
        plan.load.groups = vec![group_of_all(&plan)];
        let oltp = match plan.load.application.take() {
            Some(PlannedApplication::Oltp(oltp)) => Some(oltp),
            _ => None,
        };
        Ok(MemberPlan { member: self, plan, oltp })
    }
}

impl MemberPlan<'_> {
    /// Whether it fits on a range of this size of each target.
    fn check_fits_in(&self, size: Bytes) -> Result<(), String> {
        let why = |why: String| format!("in a range of {size}: {why}");
        self.plan.check_fits_in(size).map_err(why)?;
        let geometries =
            vec![TileRange { begin: Bytes::new(0), size }.as_target(); usize::from(self.plan.load.targets)];
        let oltp = self.oltp.as_ref().map_or(Ok(()), |oltp| oltp.check_fits(&geometries));
        oltp.map_err(why)
    }
}

impl Assembly {
    /// Adds a workload of the tile with this name, on a range of each target or on whole targets.
    fn add_member(&mut self, made: &MemberPlan<'_>, tile: &str, range: Option<TileRange>) {
        let (mut plan, mut oltp) = (made.plan.clone(), made.oltp.clone());
        if let Some(range) = range {
            range.move_plan(&mut plan);
            oltp.iter_mut().for_each(|oltp| range.move_oltp(oltp));
        }
        let name = format!("{tile}/{}", made.member.name);
        // What the reader must know of a workload is the same in each tile.
        if self.parts.iter().any(|part| part.prefix.ends_with(&format!("/{}/", made.member.name))) {
            plan.notes = Notes::default();
        }
        let member = PlannedMember { name, load: plan.load.multiple, range, oltp };
        self.parts.push(JoinedPart { plan, prefix: member.prefix() });
        self.members.push(member);
    }
}

/// The number of tiles that a load stands for.
fn number_of_tiles(load: Multiple) -> Result<u64, String> {
    match load.as_ratio() {
        (number, 1) if number <= MOST_TILES => Ok(number),
        (number, 1) => Err(format!("{number} tiles are more than {MOST_TILES}")),
        _ => Err(format!("a load of {load} is no whole number of tiles")),
    }
}

/// Refuses what cannot run together with other workloads.
fn refuse_alone(workload: &Workload) -> Result<(), String> {
    if workload.load.as_tpcc().is_some() {
        return Err("it drives a database, and tiles run on devices and files: start a run of its own".to_owned());
    }
    if workload.load.as_files().is_some() {
        return Err(
            "it works on files in a directory, and tiles run on devices and files: start a run of its own".to_owned()
        );
    }
    refuse_cache(workload)?;
    if !workload.timing.steps.is_empty() {
        return Err(
            "it has steps, which run one after another: write the streams of one step into a file of their own"
                .to_owned(),
        );
    }
    Ok(())
}

/// Refuses a cache before the targets: it would lie before all tiles.
fn refuse_cache(workload: &Workload) -> Result<(), String> {
    if workload.caches.simulated.is_some() || workload.caches.device.is_some() {
        return Err(
            "a cache would lie before all tiles together, and none of them could be judged alone: remove it".to_owned()
        );
    }
    Ok(())
}
