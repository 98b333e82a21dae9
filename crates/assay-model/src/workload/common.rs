//! The keys of every workload file, whatever its model.

use super::cached::CacheKind;
use super::definition::{LONGEST_RUN, SHORTEST_SLICE, Workload};
use crate::hosts::HostTargets;
use assay_base::Span;

/// The largest bound that is accepted: an io_uring ring holds 32768 entries.
pub const LARGEST_BOUND: u32 = 16_384;
/// Longest interval: a log without lines for longer than this is not judged.
const LONGEST_INTERVAL: Span = Span::from_secs(3600);

/// Defines a file's struct: the model's own keys and the common ones, so that unknown keys can be refused by name. A file
/// for directories has no keys of devices.
macro_rules! workload_file {
    ($(#[$meta:meta])* struct $name:ident { $($fields:tt)* }) => {
        super::common::workload_file! {
            for directories:
            $(#[$meta])*
            struct $name {
                $($fields)*
                in_flight_bound: Option<toml::Spanned<u32>>,
                scheduler: Option<String>,
                cache: Option<toml::Spanned<super::cached::CacheKeys>>,
            }
            and of devices: in_flight_bound, scheduler, cache;
        }
    };
    (
        for directories:
        $(#[$meta:meta])*
        struct $name:ident { $($(#[$field_meta:meta])* $field:ident : $type:ty,)* }
        $(and of devices: $($of_devices:ident),*;)?
    ) => {
        $(#[$meta])*
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $name {
            $($(#[$field_meta])* $field: $type,)*
            name: Option<String>,
            #[allow(dead_code, reason = "read before, to choose this struct")]
            model: String,
            description: Option<String>,
            note: Option<String>,
            watermark: Option<String>,
            duration: Option<assay_base::Span>,
            warm_up: Option<toml::Spanned<super::warm_up::WarmUpKeys>>,
            slice: Option<toml::Spanned<assay_base::Span>>,
            interval: Option<toml::Spanned<assay_base::Span>>,
            max_lag: Option<assay_base::Span>,
            recovery_at_most: Option<assay_base::Span>,
            verify: Option<bool>,
            seed: Option<u64>,
            hosts: Option<super::hosts::HostsKeys>,
            #[serde(default)]
            criterion: Vec<toml::Spanned<super::criteria::CriterionKeys>>,
            certify: Option<toml::Spanned<super::certify::CertifyKeys>>,
            #[serde(default)]
            limits: std::collections::BTreeMap<String, toml::Spanned<super::certify::LimitKeys>>,
        }

        impl $name {
            #[allow(clippy::needless_update, reason = "only files for devices give every key")]
            fn common(&mut self) -> super::common::Common {
                super::common::Common {
                    name: self.name.take(),
                    description: self.description.take(),
                    note: self.note.take(),
                    watermark: self.watermark.take(),
                    duration: self.duration,
                    warm_up: self.warm_up.take(),
                    slice: self.slice.take(),
                    interval: self.interval.take(),
                    max_lag: self.max_lag,
                    recovery_at_most: self.recovery_at_most,
                    verify: self.verify,
                    seed: self.seed,
                    hosts: self.hosts.take(),
                    criterion: std::mem::take(&mut self.criterion),
                    certify: self.certify.take(),
                    limits: std::mem::take(&mut self.limits),
                    $($($of_devices: self.$of_devices.take(),)*)?
                    ..super::common::Common::default()
                }
            }
        }
    };
}
pub(super) use workload_file;

/// The common keys, as written in the file.
#[derive(Default)]
pub(super) struct Common {
    pub name: Option<String>,
    pub description: Option<String>,
    pub note: Option<String>,
    pub watermark: Option<String>,
    pub duration: Option<Span>,
    pub warm_up: Option<toml::Spanned<super::warm_up::WarmUpKeys>>,
    pub slice: Option<toml::Spanned<Span>>,
    pub interval: Option<toml::Spanned<Span>>,
    pub max_lag: Option<Span>,
    pub recovery_at_most: Option<Span>,
    pub in_flight_bound: Option<toml::Spanned<u32>>,
    pub scheduler: Option<String>,
    pub verify: Option<bool>,
    pub seed: Option<u64>,
    pub cache: Option<toml::Spanned<super::cached::CacheKeys>>,
    pub hosts: Option<super::hosts::HostsKeys>,
    pub criterion: Vec<toml::Spanned<super::criteria::CriterionKeys>>,
    pub certify: Option<toml::Spanned<super::certify::CertifyKeys>>,
    pub limits: std::collections::BTreeMap<String, toml::Spanned<super::certify::LimitKeys>>,
}

impl Workload {
    /// Applies the common keys.
    pub(super) fn with_common_keys(
        mut self,
        source: super::source::Source<'_>,
        common: Common,
    ) -> Result<Workload, assay_base::Fault> {
        for (at, longest) in [(&common.slice, LONGEST_RUN), (&common.interval, LONGEST_INTERVAL)] {
            if let Some(at) = at.as_ref().filter(|at| *at.get_ref() < SHORTEST_SLICE || *at.get_ref() > longest) {
                return Err(source.fault_at(
                    at.span(),
                    format!("{} is out of range for a slice or an interval", at.get_ref()),
                    format!("write {SHORTEST_SLICE} to {longest}"),
                ));
            }
        }
        if let Some(bound) = &common.in_flight_bound {
            if !(1..=LARGEST_BOUND).contains(bound.get_ref()) {
                return Err(source.fault_at(
                    bound.span(),
                    "the in-flight bound is out of range",
                    format!("write 1 to {LARGEST_BOUND}"),
                ));
            }
            self.load.in_flight_bound = *bound.get_ref();
        }
        self.name = common.name.unwrap_or(self.name);
        self.description = common.description.unwrap_or_default();
        self.notes.extend(common.note);
        self.watermarks.extend(common.watermark);
        self.timing.duration = common.duration.unwrap_or(self.timing.duration);
        self.timing.max_lag = common.max_lag.unwrap_or(self.timing.max_lag);
        self.timing.recovery_at_most = common.recovery_at_most.unwrap_or(self.timing.recovery_at_most);
        self.targets.scheduler = common.scheduler;
        self.verification.verify = common.verify.unwrap_or(false);
        self.seed = common.seed;
        self.hosts = common.hosts.map_or(Ok(HostTargets::default()), |keys| keys.meant_targets(source))?;
        match common.cache.as_ref().map(|keys| super::cached::read_cache(source, keys)).transpose()? {
            Some(CacheKind::Simulated(cache)) => self.caches.simulated = Some(cache),
            Some(CacheKind::Device(device)) => self.caches.device = Some(device),
            None => {}
        }
        if let Some(slice) = common.slice {
            let slice = *slice.get_ref();
            self.criteria = self.criteria.iter().map(|criterion| self.with_new_window(criterion, slice)).collect();
            self.timing.slice = slice;
        }
        self.timing.interval = common.interval.map_or(self.timing.interval, |interval| *interval.get_ref());
        if let Some(keys) = &common.warm_up {
            self.timing.warm_up = keys.get_ref().meant_warm_up();
            super::warm_up::check_rounds(self.timing.warm_up, self.timing.interval).map_err(|what| {
                source.fault_at(
                    keys.span(),
                    what,
                    "write for example { until = \"steady\", limit = \"2h\", round = \"1min\" }",
                )
            })?;
        }
        if !common.criterion.is_empty() {
            let streams = self.load.streams.iter().map(|stream| stream.name.as_str()).collect();
            let of =
                super::criteria::CriteriaContext { streams, slice: self.timing.slice, interval: self.timing.interval };
            self.criteria = super::criteria::read_criteria(source, &common.criterion, &of)?;
        }
        let tables = super::certify::CertificateTables { certify: common.certify, limits: common.limits };
        self.with_certificate(source, tables)
    }
}
