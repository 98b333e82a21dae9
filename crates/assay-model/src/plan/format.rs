//! A plan as the log, `assay explain --json` and other documents have it: one object, whose members stand here in their
//! order. Nothing but `serde` sees it; everything else uses the parts of a [`Plan`].
//!
//! A member that is added to a part of a plan does not compile before it has a place here.

use super::Plan;
use super::application::PlannedApplication;
use super::caches::Caches;
use super::carried_over::{CarriedOver, is_no_time};
use super::groups::Group;
use super::identity::Identity;
use super::lanes::Lane;
use super::load::PlannedLoad;
use super::notes::Notes;
use super::stream::Stream;
use super::timing::{Phase, PlannedTiming};
use super::verification::PlannedVerification;
use crate::cache::{CacheDevice, Caching};
use crate::mail::Mail;
use crate::mix::Loop;
use crate::oltp::Oltp;
use crate::page_cache::PageCached;
use crate::profile::Derivation;
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
            $($(#[$attribute])* $member: $kind,)*
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
    // At most one of these three is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    oltp: Option<Oltp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mail: Option<Mail>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tpcc: Option<tpcc::Load>,
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
    #[serde(default, skip_serializing_if = "is_no_time")]
    backlog: Span,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    check_all: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    derivation: Vec<Derivation> => Identity::Indifferent,
    // What a run that is continued carries over differs from that of its first segment.
    #[serde(default, skip_serializing_if = "CarriedOver::is_nothing")]
    before: CarriedOver => Identity::Indifferent,
    notes: Vec<String> => Identity::Indifferent,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    watermarks: Vec<String>,
}

/// The application of a plan as its format has it: one member for each kind.
struct ApplicationMembers {
    oltp: Option<Oltp>,
    mail: Option<Mail>,
    tpcc: Option<tpcc::Load>,
}

impl From<Option<PlannedApplication>> for ApplicationMembers {
    fn from(application: Option<PlannedApplication>) -> ApplicationMembers {
        let none = ApplicationMembers { oltp: None, mail: None, tpcc: None };
        match application {
            None => none,
            Some(PlannedApplication::Oltp(oltp)) => ApplicationMembers { oltp: Some(oltp), ..none },
            Some(PlannedApplication::Mail(mail)) => ApplicationMembers { mail: Some(mail), ..none },
            Some(PlannedApplication::Tpcc(load)) => ApplicationMembers { tpcc: Some(load), ..none },
        }
    }
}

impl ApplicationMembers {
    fn into_application(self) -> Result<Option<PlannedApplication>, String> {
        match (self.oltp, self.mail, self.tpcc) {
            (None, None, None) => Ok(None),
            (Some(oltp), None, None) => Ok(Some(PlannedApplication::Oltp(oltp))),
            (None, Some(mail), None) => Ok(Some(PlannedApplication::Mail(mail))),
            (None, None, Some(load)) => Ok(Some(PlannedApplication::Tpcc(load))),
            _ => Err("a plan has at most one of oltp, mail and tpcc".to_owned()),
        }
    }
}

impl From<Plan> for PlanFormat {
    fn from(plan: Plan) -> PlanFormat {
        // Without `..`, so that no member of a part is forgotten.
        let Plan { name, model, load, timing, criteria, verification, caches, carried_over, notes } = plan;
        let PlannedLoad {
            multiple,
            multiples,
            seed,
            targets,
            streams,
            in_flight_bound,
            lanes,
            groups,
            loops,
            application,
        } = load;
        let PlannedTiming { phases, slice, interval, max_lag, skip_half_windows, backlog_allowed } = timing;
        let PlannedVerification { verify, leave_sealed, check_all } = verification;
        let Caches { simulated, device, page } = caches;
        let Notes { derivation, remarks, watermarks } = notes;
        let ApplicationMembers { oltp, mail, tpcc } = application.into();
        PlanFormat {
            name,
            model,
            load: multiple,
            loads: multiples,
            seed,
            targets,
            streams,
            phases,
            criteria,
            slice,
            interval,
            max_lag,
            in_flight_bound,
            lanes,
            groups,
            loops,
            oltp,
            mail,
            tpcc,
            cache: simulated,
            cache_device: device,
            page_cache: page,
            verify,
            sealed_only: leave_sealed,
            half_windows: skip_half_windows,
            backlog: backlog_allowed,
            check_all,
            derivation,
            before: carried_over,
            notes: remarks,
            watermarks,
        }
    }
}

impl TryFrom<PlanFormat> for Plan {
    type Error = String;

    fn try_from(plan: PlanFormat) -> Result<Plan, String> {
        let application = ApplicationMembers { oltp: plan.oltp, mail: plan.mail, tpcc: plan.tpcc };
        Ok(Plan {
            name: plan.name,
            model: plan.model,
            load: PlannedLoad {
                multiple: plan.load,
                multiples: plan.loads,
                seed: plan.seed,
                targets: plan.targets,
                streams: plan.streams,
                in_flight_bound: plan.in_flight_bound,
                lanes: plan.lanes,
                groups: plan.groups,
                loops: plan.loops,
                application: application.into_application()?,
            },
            timing: PlannedTiming {
                phases: plan.phases,
                slice: plan.slice,
                interval: plan.interval,
                max_lag: plan.max_lag,
                skip_half_windows: plan.half_windows,
                backlog_allowed: plan.backlog,
            },
            criteria: plan.criteria,
            verification: PlannedVerification {
                verify: plan.verify,
                leave_sealed: plan.sealed_only,
                check_all: plan.check_all,
            },
            caches: Caches { simulated: plan.cache, device: plan.cache_device, page: plan.page_cache },
            carried_over: plan.before,
            notes: Notes { derivation: plan.derivation, remarks: plan.notes, watermarks: plan.watermarks },
        })
    }
}
