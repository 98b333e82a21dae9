//! What the families of MPI libraries have different: their names, and the values of their constants.
//!
//! A program that is compiled for one family has these from its `mpi.h`. The values are those of MPICH 4.0.2 and 5.0.2, of
//! Open MPI 4.1.4 and 5.0.11, and of the binary interface that MPI 5.0 defines (its chapter 20).

/// A kind of MPI library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The binary interface of MPI 5.0.
    Mpi5Abi,
    /// MPICH, and those that share its binary interface: Intel MPI, Cray MPICH, MVAPICH.
    Mpich,
    /// Open MPI.
    OpenMpi,
}

/// The value of a handle: what a function gets, or the name of the object in the library whose address it gets.
#[derive(Debug, Clone, Copy)]
pub(super) enum Handle {
    Value(usize),
    AddressOf(&'static std::ffi::CStr),
}

/// Constants of a family, named as in the standard.
pub(super) struct Constants {
    pub comm_world: Handle,
    pub byte: Handle,
    pub uint64: Handle,
    pub sum: Handle,
    pub max: Handle,
    pub errors_return: Handle,
    pub status_ignore: usize,
    pub thread_funneled: i32,
    pub any_source: i32,
}

impl Family {
    /// The names of the library, the best one first.
    pub fn file_names(self) -> &'static [&'static str] {
        match self {
            Family::Mpi5Abi => &["libmpi_abi.so.1"],
            Family::Mpich => &["libmpi.so.12", "libmpich.so.12"],
            Family::OpenMpi => &["libmpi.so.40"],
        }
    }

    /// The family of a library with this file name.
    pub fn of_file_name(name: &str) -> Option<Family> {
        let all = [Family::Mpi5Abi, Family::Mpich, Family::OpenMpi];
        all.into_iter().find(|family| family.file_names().iter().any(|known| name.starts_with(known)))
    }

    pub(super) fn constants(self) -> Constants {
        match self {
            Family::Mpi5Abi => Constants {
                comm_world: Handle::Value(0x101),
                byte: Handle::Value(0x247),
                uint64: Handle::Value(0x259),
                sum: Handle::Value(0x21),
                max: Handle::Value(0x23),
                errors_return: Handle::Value(0x143),
                status_ignore: 0,
                thread_funneled: 1024,
                any_source: -1,
            },
            Family::Mpich => Constants {
                comm_world: Handle::Value(0x4400_0000),
                byte: Handle::Value(0x4c00_010d),
                uint64: Handle::Value(0x4c00_083e),
                sum: Handle::Value(0x5800_0003),
                max: Handle::Value(0x5800_0001),
                errors_return: Handle::Value(0x5400_0001),
                status_ignore: 1,
                thread_funneled: 1,
                any_source: -2,
            },
            Family::OpenMpi => Constants {
                comm_world: Handle::AddressOf(c"ompi_mpi_comm_world"),
                byte: Handle::AddressOf(c"ompi_mpi_byte"),
                uint64: Handle::AddressOf(c"ompi_mpi_uint64_t"),
                sum: Handle::AddressOf(c"ompi_mpi_op_sum"),
                max: Handle::AddressOf(c"ompi_mpi_op_max"),
                errors_return: Handle::AddressOf(c"ompi_mpi_errors_return"),
                status_ignore: 0,
                thread_funneled: 1,
                any_source: -1,
            },
        }
    }
}
