//! The two programs of ACT.

/// The one of ACT's two programs that a file is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// `act_storage`.
    Storage,
    /// `act_index`.
    Index,
}

impl Kind {
    /// The program's name.
    pub fn program_name(self) -> &'static str {
        match self {
            Kind::Storage => "act_storage",
            Kind::Index => "act_index",
        }
    }

    /// The name of its model, as in a workload file.
    pub fn model_name(self) -> &'static str {
        match self {
            Kind::Storage => "act-storage",
            Kind::Index => "act-index",
        }
    }
}
