//! `[hosts]`: what the hosts of a run with several ranks have of its targets.

use super::source::Source;
use crate::hosts::HostTargets;
use assay_base::Fault;
use serde::Deserialize;
use toml::Spanned;

/// `[hosts]`, as the workload file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostsKeys {
    #[serde(default)]
    targets: Whose,
    ranges: Option<Spanned<Ranges>>,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Whose {
    #[default]
    Shared,
    Own,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ranges {
    Shared,
    Disjoint,
}

impl HostsKeys {
    /// What both keys mean together.
    pub(super) fn meant_targets(&self, source: Source<'_>) -> Result<HostTargets, Fault> {
        match (self.targets, &self.ranges) {
            (Whose::Own, None) => Ok(HostTargets::Own),
            (Whose::Own, Some(ranges)) => Err(source.fault_at(
                ranges.span(),
                "hosts that have targets of their own share no ranges",
                "remove ranges, or write targets = \"shared\"",
            )),
            (Whose::Shared, Some(ranges)) if *ranges.get_ref() == Ranges::Disjoint => Ok(HostTargets::Disjoint),
            (Whose::Shared, _) => Ok(HostTargets::Shared),
        }
    }
}
