//! Which library a launcher expects its processes to load, by what it tells them.

use super::family::Family;
use std::path::{Path, PathBuf};

/// What started this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launcher {
    /// `mpirun` of Open MPI.
    OpenMpi,
    /// Hydra, the `mpirun` of MPICH and of those that share its binary interface; or another one that speaks PMI.
    Hydra,
    /// One that speaks PMIx and belongs to no library: `srun --mpi=pmix`.
    Pmix,
}

impl Launcher {
    /// By the variables of the environment. `None` where no launcher has started this process.
    pub fn by_environment(variable: &dyn Fn(&str) -> Option<String>) -> Option<Launcher> {
        if variable("OMPI_COMM_WORLD_SIZE").is_some() {
            Some(Launcher::OpenMpi)
        } else if variable("PMI_SIZE").is_some() {
            Some(Launcher::Hydra)
        } else if variable("PMIX_RANK").is_some() {
            Some(Launcher::Pmix)
        } else {
            None
        }
    }

    /// The families whose libraries understand this launcher, the best one first.
    fn families(self) -> &'static [Family] {
        match self {
            Launcher::OpenMpi => &[Family::OpenMpi],
            Launcher::Hydra => &[Family::Mpi5Abi, Family::Mpich],
            Launcher::Pmix => &[Family::OpenMpi, Family::Mpi5Abi, Family::Mpich],
        }
    }
}

/// Which of its processes this one is, as a launcher says; the library knows it only when all have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchedAs {
    /// Number of this rank.
    pub rank: u64,
    /// How many ranks there are; `None` where the launcher does not say.
    pub ranks: Option<u64>,
}

impl LaunchedAs {
    /// By the variables of the environment. `None` where no launcher has started this process.
    pub fn by_environment(variable: &dyn Fn(&str) -> Option<String>) -> Option<LaunchedAs> {
        let (rank, ranks) = match Launcher::by_environment(variable)? {
            Launcher::OpenMpi => ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
            Launcher::Hydra => ("PMI_RANK", "PMI_SIZE"),
            Launcher::Pmix => ("PMIX_RANK", "SLURM_NTASKS"),
        };
        let number = |name: &str| variable(name)?.parse::<u64>().ok();
        Some(LaunchedAs { rank: number(rank)?, ranks: number(ranks) })
    }
}

/// Where the library may be, the best place first: beside the launcher whose program is `program` (`…/bin/mpirun` belongs to
/// `…/lib/libmpi.so.40`, which the loader may not know, while it knows another version), then wherever the loader looks.
pub fn library_candidates(launcher: Launcher, program: Option<&Path>) -> Vec<PathBuf> {
    let beside = program.and_then(Path::parent).and_then(Path::parent);
    let names = || launcher.families().iter().flat_map(|family| family.file_names());
    let beside_launcher = beside.into_iter().flat_map(|root| {
        ["lib", "lib64"].into_iter().flat_map(move |lib| names().map(move |name| root.join(lib).join(name)))
    });
    let known_to_loader = names().map(PathBuf::from);
    beside_launcher.filter(|path| path.exists()).chain(known_to_loader).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(given: &[(&str, &str)], name: &str) -> Option<String> {
        given.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    fn by_variables(given: &[(&str, &str)]) -> Option<Launcher> {
        Launcher::by_environment(&|name| variable(given, name))
    }

    #[test]
    fn the_launcher_says_which_rank_this_is() {
        for (given, place) in [
            (vec![("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "3")], Some((3, Some(4)))),
            (vec![("PMI_SIZE", "4"), ("PMI_RANK", "0")], Some((0, Some(4)))),
            (vec![("PMIX_RANK", "2"), ("SLURM_NTASKS", "8")], Some((2, Some(8)))),
            (vec![("PMIX_RANK", "2")], Some((2, None))),
            (vec![("PMI_SIZE", "4"), ("PMI_RANK", "first")], None),
            (vec![("HOME", "/root")], None),
        ] {
            let found = LaunchedAs::by_environment(&|name| variable(&given, name));
            assert_eq!(found.map(|found| (found.rank, found.ranks)), place, "{given:?}");
        }
    }

    #[test]
    fn variables_tell_the_launcher() {
        assert_eq!(by_variables(&[("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "0")]), Some(Launcher::OpenMpi));
        assert_eq!(by_variables(&[("PMI_SIZE", "4")]), Some(Launcher::Hydra));
        assert_eq!(by_variables(&[("PMIX_RANK", "3"), ("SLURM_PROCID", "3")]), Some(Launcher::Pmix));
        assert_eq!(by_variables(&[("HOME", "/root")]), None);
    }

    #[test]
    fn a_library_beside_the_launcher_comes_before_the_one_of_the_loader() {
        let root = std::env::temp_dir().join(format!("assay-launcher-{}", std::process::id()));
        std::fs::create_dir_all(root.join("lib")).unwrap();
        std::os::unix::fs::symlink("nothing", root.join("lib/other")).unwrap();
        std::os::unix::fs::symlink("/", root.join("lib/libmpi.so.40")).unwrap();
        let found = library_candidates(Launcher::OpenMpi, Some(&root.join("bin/mpirun")));
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(found, [root.join("lib/libmpi.so.40"), PathBuf::from("libmpi.so.40")]);
        let hydra = library_candidates(Launcher::Hydra, Some(Path::new("/nowhere/bin/mpirun")));
        let names: Vec<&str> = hydra.iter().filter_map(|path| path.to_str()).collect();
        assert_eq!(names, ["libmpi_abi.so.1", "libmpi.so.12", "libmpich.so.12"]);
    }
}
