//! What a member of a plan's format says about the identity of a run.

/// What a member of a plan says about which run it is. The list of members in `format.rs` says it for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// It distinguishes runs, and stands at this place in front of all others whether a plan has it or not.
    Always(u8),
    /// It distinguishes runs; a plan that does not have it has the same checksum as before the member was known.
    WherePresent,
    /// It does not distinguish runs.
    Indifferent,
}
