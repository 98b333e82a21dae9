//! The plan that each of several ranks carries: the whole, its part within a range of its own, or that of its host's own targets.

use crate::files::{PartOfClients, PlannedFiles};
use crate::hosts::{HostTargets, PlaceAmong, RANGE_UNIT};
use crate::plan::{Plan, PlannedApplication};
use crate::tiles::TileRange;
use assay_base::{Bytes, Geometry, Prng};

/// Seeds of hosts differ from everything else that is drawn.
const FOR_HOSTS: u64 = 0x686f_7374;

impl PlaceAmong {
    /// Its range of a target of `size` bytes: between k and k + 1 of as many parts as there are, in whole [`RANGE_UNIT`]s.
    fn range_of_target(self, size: u64) -> TileRange {
        let unit = RANGE_UNIT.get();
        let border = |at: u64| (u128::from(size) * u128::from(at) / u128::from(self.count.max(1))) as u64 / unit * unit;
        let begin = border(self.index);
        TileRange { begin: Bytes::new(begin), size: Bytes::new(border(self.index + 1) - begin) }
    }
}

impl Plan {
    /// What one of several ranks does of a plan whose targets have these geometries: what every rank does, unless it has a range of
    /// its own (`rank`), or its host has targets of its own (`host`), where other random numbers are drawn than on the others.
    ///
    /// # Errors
    /// The plan cannot be divided into ranges, or does not fit in one: what, and what to do.
    pub fn as_carried_by(&self, rank: PlaceAmong, host: PlaceAmong, targets: &[Geometry]) -> Result<Plan, String> {
        match self.hosts {
            HostTargets::Shared => Ok(self.clone()),
            HostTargets::Disjoint => self.within_range_of(rank, targets),
            HostTargets::Own => Ok(self.with_numbers_of(host)),
        }
    }

    /// What one of several ranks does of a plan of clients on a directory, where it has these of the clients: on a tree of its own, with
    /// their files.
    ///
    /// # Errors
    /// Its tree cannot be divided, or several ranks would do all of it on one host: what, and what to do.
    pub fn with_clients_of(&self, rank: PlaceAmong, clients: PartOfClients) -> Result<Plan, String> {
        let Some(PlannedApplication::Files(files)) = &self.load.application else {
            return Err("no clients on a directory".to_owned());
        };
        let workload = match self.hosts {
            HostTargets::Disjoint => {
                return Err(
                    "a directory has no ranges: remove ranges from [hosts]; each rank has a tree of its own in it"
                        .to_owned(),
                );
            }
            HostTargets::Own if clients.own < clients.all => {
                return Err(
                    "each host does all of the load in a directory of its own, and several ranks of one host would each do a part: start one \
                     rank on each host"
                        .to_owned(),
                );
            }
            HostTargets::Own | HostTargets::Shared => files.workload.with_part_of_clients(clients)?,
        };
        let files = PlannedFiles { workload, ..files.clone() };
        let mut own = self.with_numbers_of(rank);
        own.load.streams = files.phase_streams().ok_or("its part of a rate is too small to be scheduled")?;
        own.load.application = Some(PlannedApplication::Files(files));
        Ok(own)
    }

    /// The same with random numbers of its own; the first of several draws those of a plan that one carries alone.
    fn with_numbers_of(&self, place: PlaceAmong) -> Plan {
        let mut own = self.clone();
        if place.index > 0 {
            own.load.seed = Prng::for_path(self.load.seed, &[FOR_HOSTS, place.index]).next_u64();
        }
        own
    }

    fn within_range_of(&self, rank: PlaceAmong, targets: &[Geometry]) -> Result<Plan, String> {
        if matches!(self.load.application, Some(PlannedApplication::Tiles(_))) {
            return Err(
                "tiles have ranges of their own, and ranks cannot have others: write ranges = \"shared\"".to_owned()
            );
        }
        let sizes = targets.iter().take(usize::from(self.load.targets)).map(|geometry| geometry.size);
        let (smallest, largest) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
        if smallest != largest {
            return Err(format!(
                "ranks have ranges of targets of one size, and these have {smallest} to {largest} bytes: give targets of the same size, \
                 or write ranges = \"shared\""
            ));
        }
        let range = rank.range_of_target(smallest);
        self.check_fits_in(range.size).map_err(|why| format!("a rank has a range of {}: {why}", range.size))?;
        let mut moved = self.clone();
        range.move_plan(&mut moved);
        if let Some(PlannedApplication::Oltp(oltp)) = &mut moved.load.application {
            range.move_oltp(oltp);
        }
        Ok(moved)
    }

    /// Whether it fits on a range of this size of each target. The error says what does not.
    pub(crate) fn check_fits_in(&self, size: Bytes) -> Result<(), String> {
        let target = TileRange { begin: Bytes::new(0), size }.as_target();
        let targets = self.load.targets;
        let needed = (0..targets).map(|at| self.smallest_target(at, target.block)).max().unwrap_or(0);
        if needed > size.get() {
            return Err(format!("{} of each target are needed", Bytes::new(needed)));
        }
        let geometries = vec![target; usize::from(targets)];
        self.check_fits(&geometries)?;
        match &self.load.application {
            Some(PlannedApplication::Oltp(oltp)) => oltp.check_fits(&geometries),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Adjust;

    const STREAMS: &str = r#"
model = "streams"
duration = "1min"
slice = "30s"
[[stream]]
name = "all"
direction = "read"
size = "64KiB"
rate = "10/s"
[[stream]]
name = "half"
direction = "write"
size = "4KiB"
rate = "10/s"
range = { from = "50%" }
"#;

    fn plan(text: &str) -> Plan {
        let workload = crate::workload::read_workload("test.toml", text).unwrap();
        workload.make_plan(&Adjust { targets: 1, seed: 7, ..Adjust::default() }).unwrap()
    }

    fn among(index: u64, count: u64) -> PlaceAmong {
        PlaceAmong { index, count }
    }

    fn target(size: u64) -> Geometry {
        Geometry { size, block: 4096 }
    }

    #[test]
    fn a_rank_has_its_part_of_each_stream_in_its_own_range() {
        let plan = plan(&format!("{STREAMS}[hosts]\nranges = \"disjoint\"\n"));
        let own = plan.as_carried_by(among(2, 4), among(0, 1), &[target(400 << 20)]).unwrap();
        let ranges: Vec<(u64, u64)> = own
            .load
            .streams
            .iter()
            .filter_map(crate::plan::Stream::as_block)
            .map(|block| block.extent.unwrap().range_within(400 << 20, 4096))
            .map(|(begin, length)| (begin >> 20, length >> 20))
            .collect();
        assert_eq!(ranges, [(200, 100), (250, 50)]);
        assert_eq!(own.load.seed, plan.load.seed);
        // What is not asked for stays as it is.
        let whole = Plan { hosts: HostTargets::Shared, ..plan };
        assert_eq!(whole.as_carried_by(among(2, 4), among(1, 2), &[target(400 << 20)]).unwrap(), whole);
    }

    #[test]
    fn what_does_not_fit_in_ranges_is_refused_in_words() {
        let plan = plan(&format!("{STREAMS}[hosts]\nranges = \"disjoint\"\n"));
        let (rank, host) = (among(1, 2), among(0, 1));
        let told = plan.as_carried_by(among(0, 64), host, &[target(32 << 20)]).unwrap_err();
        assert!(told.contains("a rank has a range of 0B"), "{told}");
        let two = Plan { load: crate::plan::PlannedLoad { targets: 2, ..plan.load.clone() }, ..plan };
        let told = two.as_carried_by(rank, host, &[target(32 << 20), target(64 << 20)]).unwrap_err();
        assert!(told.contains("give targets of the same size"), "{told}");
    }

    #[test]
    fn hosts_with_targets_of_their_own_draw_different_numbers() {
        let plan = plan(&format!("{STREAMS}[hosts]\ntargets = \"own\"\n"));
        let seeds: Vec<u64> = (0..3)
            .map(|host| plan.as_carried_by(among(0, 6), among(host, 3), &[target(1 << 30)]).unwrap().load.seed)
            .collect();
        assert!(seeds[0] == 7 && seeds[1] != 7 && seeds[1] != seeds[2], "{seeds:?}");
    }

    #[test]
    fn a_file_says_what_hosts_have_and_a_plan_reads_it_back() {
        for (keys, expected) in [
            ("", HostTargets::Shared),
            ("[hosts]\n", HostTargets::Shared),
            ("[hosts]\ntargets = \"shared\"\nranges = \"shared\"\n", HostTargets::Shared),
            ("[hosts]\nranges = \"disjoint\"\n", HostTargets::Disjoint),
            ("[hosts]\ntargets = \"own\"\n", HostTargets::Own),
        ] {
            let made = plan(&format!("{STREAMS}{keys}"));
            assert_eq!(made.hosts, expected, "{keys}");
            let text = serde_json::to_string(&made).unwrap();
            assert_eq!(text.contains("\"hosts\""), expected != HostTargets::Shared, "{keys}");
            assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), made);
        }
        for (keys, says) in [
            ("[hosts]\ntargets = \"mine\"\n", "mine"),
            ("[hosts]\nrange = \"disjoint\"\n", "range"),
            ("[hosts]\ntargets = \"own\"\nranges = \"disjoint\"\n", "share no ranges"),
        ] {
            let told = crate::workload::read_workload("test.toml", &format!("{STREAMS}{keys}")).unwrap_err();
            assert!(told.to_string().contains(says), "{told}");
        }
    }

    #[test]
    fn ranges_are_whole_units_and_have_nothing_in_common() {
        for (size, count) in [(10 << 30, 3), ((10 << 30) + 512, 7), (5 << 20, 5), (1_000_000_007, 64)] {
            let mut behind = 0;
            for index in 0..count {
                let range = PlaceAmong { index, count }.range_of_target(size);
                assert_eq!(range.begin.get(), behind, "{size} {count}");
                assert!(range.begin.get().is_multiple_of(1 << 20) && range.size.get().is_multiple_of(1 << 20));
                assert!(range.size.get().abs_diff(size / count) <= 1 << 20, "{size} {count}: {range}");
                behind += range.size.get();
            }
            assert!(behind <= size && size - behind < 1 << 20, "{size} {count}");
        }
    }
}
