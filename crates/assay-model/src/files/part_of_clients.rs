//! The part of a load that some of its clients are, where several ranks carry it: each rank has a tree of its own, with the
//! files of its clients.

use super::workload::{FilesPace, FilesPhase, FilesWorkload};
use assay_base::text::counted_things;

/// Some of all clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartOfClients {
    /// The first of them.
    pub first: u64,
    /// How many they are.
    pub own: u64,
    /// How many there are in all.
    pub all: u64,
}

impl PartOfClients {
    /// The part of one of several ranks: each has as many clients as any other, or one more.
    pub fn of_rank(rank: u64, ranks: u64, clients: u64) -> PartOfClients {
        let border = |at: u64| clients * at / ranks.max(1);
        PartOfClients { first: border(rank), own: border(rank + 1) - border(rank), all: clients }
    }

    /// Its part of a number, such that the parts of all add up to that number.
    fn part_of_number(self, number: u64) -> u64 {
        let border = |at: u64| (u128::from(number) * u128::from(at) / u128::from(self.all.max(1))) as u64;
        border(self.first + self.own) - border(self.first)
    }

    fn is_whole(self) -> bool {
        self.own == self.all
    }
}

impl FilesWorkload {
    /// What some of its clients do, on a tree with the files of these clients.
    ///
    /// # Errors
    /// It cannot be divided among trees: why, and what to do.
    pub fn with_part_of_clients(&self, part: PartOfClients) -> Result<FilesWorkload, String> {
        if part.is_whole() {
            return Ok(self.clone());
        }
        self.refuse_parts()?;
        if part.own == 0 {
            return Err(format!(
                "{} cannot be divided among more ranks than they are: write more clients in the workload, or start fewer ranks",
                counted_things(u64::from(self.clients), "client")
            ));
        }
        let mut own = self.clone();
        own.clients = part.own as u32;
        own.pace = self.pace.of_part(part).ok_or("its part of the rate is too small to be scheduled")?;
        own.tree.files = part.part_of_number(u64::from(self.tree.files)) as u32;
        if own.tree.files == 0 && self.tree.files > 0 {
            return Err(format!(
                "{} cannot be divided among so many ranks: each has a tree of its own",
                counted_things(u64::from(self.tree.files), "file")
            ));
        }
        for phase in &mut own.phases {
            phase.take_part(part);
        }
        Ok(own)
    }

    /// Why it cannot be divided among several trees.
    fn refuse_parts(&self) -> Result<(), String> {
        let own_directories =
            "write targets = \"own\" in [hosts], where each host has a directory of its own and does all of it";
        if self.service.is_some() {
            return Err(format!("a server is one program, and cannot be divided among ranks: {own_directories}"));
        }
        if self.tree.source.is_some() {
            return Err(format!("a copy of a tree cannot be divided among ranks: {own_directories}"));
        }
        if self.tree.shared.is_some_and(|shared| shared.files > 0) {
            return Err(format!(
                "files that all clients share cannot be divided among ranks, each of which has a tree of its own: {own_directories}"
            ));
        }
        Ok(())
    }
}

impl FilesPace {
    /// The rate of some of the clients; `None` if that does not fit.
    fn of_part(self, part: PartOfClients) -> Option<FilesPace> {
        Some(match self {
            FilesPace::Open { rate, arrival } => FilesPace::Open { rate: rate.scaled_by(part.own, part.all)?, arrival },
            FilesPace::Closed => FilesPace::Closed,
        })
    }
}

impl FilesPhase {
    fn take_part(&mut self, part: PartOfClients) {
        self.files = self.files.map(|files| part.part_of_number(u64::from(files)) as u32);
        self.count = self.count.map(|count| part.part_of_number(count));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CachePolicy, FileSize, Layout, Operation, Sequence, Shared, Spacing, Tree};
    use super::*;
    use assay_base::{Bytes, Rate};

    fn workload() -> FilesWorkload {
        FilesWorkload {
            clients: 7,
            pace: FilesPace::Open { rate: Rate::per_second(100), arrival: Spacing::Poisson },
            cache: CachePolicy::Drop,
            durable: None,
            io: Bytes::from_kib(16),
            tree: Tree { width: Some(20), ..Tree::flat(1000, FileSize::Fixed(Bytes::from_kib(16))) },
            sequences: vec![Sequence::new("stat", &[Operation::Stat], 1)],
            phases: vec![FilesPhase { files: Some(500), count: Some(99), ..FilesPhase::default() }],
            service: None,
        }
    }

    #[test]
    fn the_parts_of_all_ranks_are_the_whole() {
        let whole = workload();
        for ranks in 1..=7 {
            let parts = (0..ranks).map(|rank| PartOfClients::of_rank(rank, ranks, 7));
            let own: Vec<FilesWorkload> = parts.map(|part| whole.with_part_of_clients(part).unwrap()).collect();
            assert_eq!(own.iter().map(|own| own.clients).sum::<u32>(), 7);
            assert_eq!(own.iter().map(|own| own.tree.files).sum::<u32>(), 1000);
            assert_eq!(own.iter().map(|own| own.phases[0].files.unwrap()).sum::<u32>(), 500);
            assert_eq!(own.iter().map(|own| own.phases[0].count.unwrap()).sum::<u64>(), 99);
            let rates = own.iter().map(|own| match own.pace {
                FilesPace::Open { rate, .. } => rate,
                FilesPace::Closed => unreachable!("the whole has a rate"),
            });
            let sum = rates.fold(Rate::ZERO, |sum, rate| sum.checked_plus(rate).unwrap());
            assert_eq!(sum, Rate::per_second(100), "{ranks}");
            assert!(own.iter().all(|own| own.clients >= 7 / ranks as u32 && own.clients <= 7 / ranks as u32 + 1));
        }
        assert_eq!(whole.with_part_of_clients(PartOfClients::of_rank(0, 1, 7)).unwrap(), whole);
    }

    #[test]
    fn what_cannot_be_divided_is_refused_in_words() {
        let part = PartOfClients::of_rank(0, 8, 7);
        let told = workload().with_part_of_clients(part).unwrap_err();
        assert!(told.contains("7 clients cannot be divided"), "{told}");
        let part = PartOfClients::of_rank(0, 7, 7);
        let mut few = workload();
        few.tree.files = 3;
        let told = few.with_part_of_clients(part).unwrap_err();
        assert!(told.contains("3 files cannot be divided"), "{told}");
        let mut shared = workload();
        shared.tree.shared = Some(Shared { files: 1, layout: Layout::Append, size: None });
        let told = shared.with_part_of_clients(part).unwrap_err();
        assert!(told.contains("targets = \"own\""), "{told}");
        let mut closed = workload();
        closed.pace = FilesPace::Closed;
        assert_eq!(closed.with_part_of_clients(part).unwrap().pace, FilesPace::Closed);
    }
}
