//! The workloads that a file of tiles names.

use crate::workload::{Application, TileMember, Tiles, Workload};
use assay_base::Bytes;

impl Tiles {
    /// The size of one tile on each target.
    pub fn tile_size(&self) -> Bytes {
        Bytes::new(self.parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.size.get())))
    }

    /// Everything that runs, each once: what runs beside the tiles, then what runs in each tile.
    pub fn all_members(&self) -> impl Iterator<Item = &TileMember> {
        self.background.iter().chain(self.parts.iter().flat_map(|part| &part.members))
    }

    /// The same, to be changed.
    fn members_mut(&mut self) -> impl Iterator<Item = &mut TileMember> {
        self.background.iter_mut().chain(self.parts.iter_mut().flat_map(|part| &mut part.members))
    }
}

impl Workload {
    /// What a file of tiles says; `None` for every other workload.
    pub fn tiles(&self) -> Option<&Tiles> {
        match &self.load.application {
            Some(Application::Tiles(tiles)) => Some(tiles),
            _ => None,
        }
    }

    /// Changes each workload of a file of tiles; any other workload has none.
    ///
    /// # Errors
    /// The first failure of `change`.
    pub fn change_tile_workloads<E>(
        &mut self,
        mut change: impl FnMut(&mut TileMember) -> Result<(), E>,
    ) -> Result<(), E> {
        match &mut self.load.application {
            Some(Application::Tiles(tiles)) => tiles.members_mut().try_for_each(&mut change),
            _ => Ok(()),
        }
    }

    /// Takes over from its workloads the times that a file of tiles does not give, when they have been read. They have the same,
    /// or no plan is made.
    pub fn take_times_of_tiles(&mut self) {
        let Some(tiles) = self.tiles() else { return };
        let Some(first) = tiles.all_members().find_map(|member| member.workload.as_deref()) else { return };
        let (times, own, length) = (tiles.times, first.timing.clone(), first.measured_length());
        self.timing.duration = times.duration.unwrap_or(length);
        self.timing.warm_up = times.warm_up.unwrap_or(own.warm_up);
        self.timing.slice = times.slice.unwrap_or(own.slice);
    }
}
