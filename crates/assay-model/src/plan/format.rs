//! A plan as the log, `assay explain --json` and other documents have it: one object, whose members stand here in their
//! order. Nothing but `serde` sees it; everything else uses the parts of a [`Plan`].
//!
//! A member that is added to a part of a plan does not compile before it has a place here.

use super::carried_over::CarriedOver;
use super::groups::Group;
use super::lanes::Lane;
use super::member::Identity;
use super::stream::Stream;
use super::timing::Phase;
use crate::cache::{CacheDevice, Caching};
use crate::files::PlannedFiles;
use crate::hosts::HostTargets;
use crate::mail::Mail;
use crate::mix::Loop;
use crate::oltp::Oltp;
use crate::page_cache::PageCached;
use crate::profile::Derivation;
use crate::skip::is_zero_span;
use crate::tiles::PlannedTiles;
use crate::tpcc;
use assay_base::{Criterion, Multiple, Span};
use serde::{Deserialize, Serialize};

/// Defines [`PlanFormat`] by the list of its members. Behind `=>` stands what a member says about the identity of a run; a
/// member without it distinguishes runs.
macro_rules! plan_format {
    ($($(#[$attribute:meta])* $member:ident: $kind:ty $(=> $identity:expr)?,)*) => {
        /// The members of a plan in its format.
        #[derive(Clone, Serialize, Deserialize)]
        #[serde(rename = "Plan")]
        pub(super) struct PlanFormat {
            $($(#[$attribute])* pub(super) $member: $kind,)*
        }

        /// The names of the members of a plan, and what each says about the identity of a run.
        pub(super) const MEMBERS: &[(&str, Identity)] =
            &[$((stringify!($member), [$($identity,)? Identity::WherePresent][0]),)*];
    };
}

plan_format! {
    // Names and remarks do not change what is done.
    name: String => Identity::Indifferent,
    model: String => Identity::Indifferent,
    load: Multiple => Identity::Always(3),
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    loads: Vec<Multiple>,
    // The seed and the length are compared by themselves.
    seed: u64 => Identity::Indifferent,
    targets: u16 => Identity::Always(2),
    streams: Vec<Stream> => Identity::Always(0),
    phases: Vec<Phase> => Identity::Indifferent,
    criteria: Vec<Criterion> => Identity::Always(1),
    slice: Span => Identity::Always(4),
    interval: Span => Identity::Always(5),
    // Bounds that only say when the generator gives up.
    max_lag: Span => Identity::Indifferent,
    in_flight_bound: u32 => Identity::Indifferent,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lanes: Vec<Lane> => Identity::Indifferent,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    groups: Vec<Group>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    loops: Vec<Loop>,
    // At most one of these five is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    oltp: Option<Oltp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mail: Option<Mail>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tpcc: Option<tpcc::Load>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    files: Option<PlannedFiles>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tiles: Option<PlannedTiles>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache: Option<Caching>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache_device: Option<CacheDevice>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    page_cache: Vec<PageCached>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    verify: bool => Identity::Always(6),
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    sealed_only: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    half_windows: bool,
    #[serde(default, skip_serializing_if = "is_zero_span")]
    backlog: Span,
    #[serde(default, skip_serializing_if = "is_zero_span")]
    recovery_at_most: Span,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    check_all: Vec<String>,
    #[serde(default, skip_serializing_if = "HostTargets::is_shared")]
    hosts: HostTargets,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    derivation: Vec<Derivation> => Identity::Indifferent,
    // What a run that is continued carries over differs from that of its first segment.
    #[serde(default, skip_serializing_if = "CarriedOver::is_nothing")]
    before: CarriedOver => Identity::Indifferent,
    notes: Vec<String> => Identity::Indifferent,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    watermarks: Vec<String>,
}
