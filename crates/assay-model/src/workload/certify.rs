//! `[certify]` and `[limits.NAME]` in a file, and what becomes of a workload by them.

use super::certificate::{BesideStep, Certificate, CertifiedTime, Limits, QuickLook, StressStep};
use super::criteria::{CriteriaContext, CriterionKeys, Throughput, read_criteria};
use super::definition::{LONGEST_RUN, Workload};
use super::files_phases::load_of_clients;
use super::names::{NAMES, is_name};
use super::source::Source;
use assay_base::{Bound, Bytes, Criterion, Fault, Multiple, Share, Span};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// The keys of `[certify]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CertifyKeys {
    #[serde(rename = "for")]
    length: Spanned<Span>,
    slice: Spanned<Span>,
    quick: Option<QuickKeys>,
    stress: Option<StressKeys>,
    beside: Option<BesideKeys>,
}

/// The keys of `[certify.quick]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuickKeys {
    #[serde(rename = "for")]
    length: Spanned<Span>,
    slice: Spanned<Span>,
    #[serde(default)]
    criterion: Vec<Spanned<CriterionKeys>>,
}

/// The keys of `[certify.stress]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StressKeys {
    load: Spanned<String>,
    #[serde(rename = "for")]
    length: Spanned<Span>,
    slice: Spanned<Span>,
    #[serde(default)]
    criterion: Vec<Spanned<CriterionKeys>>,
}

/// The keys of `[certify.beside]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BesideKeys {
    append: Spanned<Throughput>,
    #[serde(rename = "for")]
    length: Spanned<Span>,
    slice: Spanned<Span>,
}

/// The keys of `[limits.NAME]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitKeys {
    criterion: Vec<Spanned<CriterionKeys>>,
}

/// The tables of a file that are about certificates.
pub(super) struct CertificateTables {
    pub certify: Option<Spanned<CertifyKeys>>,
    pub limits: BTreeMap<String, Spanned<LimitKeys>>,
}

impl Workload {
    /// Applies the tables about certificates, once the criteria are known.
    pub(super) fn with_certificate(mut self, source: Source<'_>, tables: CertificateTables) -> Result<Workload, Fault> {
        let streams: Vec<String> = self.load.streams.iter().map(|stream| stream.name.clone()).collect();
        let context = CriteriaContext {
            streams: streams.iter().map(String::as_str).collect(),
            slice: self.timing.slice,
            interval: self.timing.interval,
        };
        let certify = tables.certify.map(|keys| read_certificate(source, keys.get_ref(), &context)).transpose()?;
        let mut limits = Vec::new();
        for (name, keys) in tables.limits {
            if !is_name(&name) {
                return source.refuse_span(keys.span(), "not a valid name of limits", NAMES);
            }
            let criteria = read_criteria(source, &keys.get_ref().criterion, &context)?;
            if let Some(lone) = criteria.iter().position(|other| !self.criteria.iter().any(|own| replaces(other, own)))
            {
                let what = "this bound stands for none of the workload's criteria";
                let remedy = "write the stream, the measure and the kind of bound of one of them";
                return source.refuse_span(keys.get_ref().criterion[lone].span(), what, remedy);
            }
            limits.push(Limits { name, criteria });
        }
        (self.certificate, self.limits) = (certify, limits);
        Ok(self)
    }

    /// The same workload with the bounds of these limits; the error says which there are.
    pub fn with_limits(&self, name: &str) -> Result<Workload, String> {
        let Some(limits) = self.limits.iter().find(|limits| limits.name == name) else {
            let known: Vec<&str> = self.limits.iter().map(|limits| limits.name.as_str()).collect();
            let name = name.escape_debug();
            return Err(if known.is_empty() {
                format!("{} has no limits \"{name}\", and no others: leave out --limits", self.name)
            } else {
                format!("{} has no limits \"{name}\"; there are {}", self.name, known.join(", "))
            });
        };
        let mut with = self.clone();
        let mut said = Vec::new();
        for criterion in &mut with.criteria {
            if let Some(other) = limits.criteria.iter().find(|other| replaces(other, criterion)) {
                said.push(format!("{other} in place of {criterion}"));
                *criterion = other.clone();
            }
        }
        with.notes.push(format!("limits {name}: {}", said.join("; ")));
        // Its own bounds would be judged under the name of these limits.
        let quick = with.certificate.as_mut().and_then(|certificate| certificate.quick.as_mut());
        for criterion in quick.into_iter().flat_map(|quick| &mut quick.criteria) {
            if let Some(other) = limits.criteria.iter().find(|other| replaces(other, criterion)) {
                *criterion = other.clone();
            }
        }
        Ok(with)
    }

    /// Whether limits of this name change what a quick look is judged by.
    pub fn limits_concern_quick_look(&self, name: &str) -> bool {
        let Some(limits) = self.limits.iter().find(|limits| limits.name == name) else { return false };
        let quick = self.certificate.as_ref().and_then(|certificate| certificate.quick.as_ref());
        let own = quick.map_or(&self.criteria, |quick| self.criteria_of_quick_look(quick));
        own.iter().any(|criterion| limits.criteria.iter().any(|other| replaces(other, criterion)))
    }

    /// The same workload as its stress step judges it.
    pub fn in_stress(&self, stress: &StressStep) -> Workload {
        Workload { criteria: stress.criteria.clone(), ..self.clone() }
    }

    /// The same workload as a quick look judges it.
    pub fn in_quick_look(&self, quick: &QuickLook) -> Workload {
        Workload { criteria: self.criteria_of_quick_look(quick).clone(), ..self.clone() }
    }

    fn criteria_of_quick_look<'a>(&'a self, quick: &'a QuickLook) -> &'a Vec<Criterion> {
        if quick.criteria.is_empty() { &self.criteria } else { &quick.criteria }
    }

    /// The same workload beside a neighbour that appends so many bytes a second to a file of its own.
    pub fn beside_appends(&self, append: Bytes) -> Result<Workload, String> {
        let only_servers =
            || format!("{} has no server beside which something could write: only model = \"service\" has", self.name);
        let mut files = self.load.as_files().cloned().ok_or_else(only_servers)?;
        let service = files.workload.service.as_ref().ok_or_else(only_servers)?.beside_appends(append)?;
        files.workload.clients = service.thread_names().len() as u32;
        files.workload.service = Some(Box::new(service));
        let load = load_of_clients(files).ok_or_else(|| format!("the rate of {} is too large", self.name))?;
        Ok(Workload { load, ..self.clone() })
    }
}

/// Whether a bound is of the same stream, measure and kind as another one.
fn replaces(other: &Criterion, own: &Criterion) -> bool {
    let same_kind = std::mem::discriminant(&other.bound) == std::mem::discriminant(&own.bound)
        && share_over(&other.bound) == share_over(&own.bound);
    other.stream == own.stream && other.measure == own.measure && same_kind
}

/// The share of operations that a bound lets be over its time.
fn share_over(bound: &Bound) -> Option<Share> {
    match bound {
        Bound::OverAtMost { at_most: share, .. } | Bound::Over { below: share, .. } => Some(*share),
        _ => None,
    }
}

fn read_certificate(
    source: Source<'_>,
    keys: &CertifyKeys,
    context: &CriteriaContext<'_>,
) -> Result<Certificate, Fault> {
    let load = read_time(source, &keys.length, &keys.slice, context)?;
    let quick = keys.quick.as_ref().map(|quick| read_quick(source, quick, context)).transpose()?;
    let stress = keys.stress.as_ref().map(|stress| read_stress(source, stress, context)).transpose()?;
    let beside = keys.beside.as_ref().map(|beside| read_beside(source, beside, context)).transpose()?;
    Ok(Certificate { load, stress, beside, quick })
}

fn read_time(
    source: Source<'_>,
    length: &Spanned<Span>,
    slice: &Spanned<Span>,
    context: &CriteriaContext<'_>,
) -> Result<CertifiedTime, Fault> {
    if length.get_ref().is_zero() || *length.get_ref() > LONGEST_RUN {
        let remedy = format!("write more than 0s, at most {LONGEST_RUN}");
        return source.refuse_span(length.span(), "not a length of a step", remedy);
    }
    let is_whole = slice.get_ref().as_ns().is_multiple_of(context.interval.as_ns().max(1));
    if slice.get_ref().is_zero() || slice.get_ref() > length.get_ref() || !is_whole {
        let what = format!("a slice of {} does not divide a step of {}", slice.get_ref(), length.get_ref());
        let remedy = format!("write a multiple of the interval, {}, that is at most the step", context.interval);
        return source.refuse_span(slice.span(), what, remedy);
    }
    Ok(CertifiedTime { length: *length.get_ref(), slice: *slice.get_ref() })
}

fn read_quick(source: Source<'_>, keys: &QuickKeys, context: &CriteriaContext<'_>) -> Result<QuickLook, Fault> {
    let time = read_time(source, &keys.length, &keys.slice, context)?;
    Ok(QuickLook { time, criteria: read_criteria(source, &keys.criterion, context)? })
}

fn read_stress(source: Source<'_>, keys: &StressKeys, context: &CriteriaContext<'_>) -> Result<StressStep, Fault> {
    let times: Result<Multiple, _> = keys.load.get_ref().parse();
    let Some(times) = times.ok().filter(|times| *times > Multiple::ONE) else {
        let what = "not a load of a stress step";
        return source.refuse_span(keys.load.span(), what, "write how many times the load it is, such as \"2x\"");
    };
    let time = read_time(source, &keys.length, &keys.slice, context)?;
    let criteria = read_criteria(source, &keys.criterion, context)?;
    Ok(StressStep { times, time, criteria })
}

fn read_beside(source: Source<'_>, keys: &BesideKeys, context: &CriteriaContext<'_>) -> Result<BesideStep, Fault> {
    let append = keys.append.get_ref().bytes_per_second();
    if append.get() == 0 {
        return source.refuse_span(
            keys.append.span(),
            "a neighbour that writes nothing",
            "write for example \"40MB/s\"",
        );
    }
    Ok(BesideStep { append, time: read_time(source, &keys.length, &keys.slice, context)? })
}

#[cfg(test)]
mod tests {
    use super::super::read_workload;
    use super::*;

    const BEGIN: &str = "model = \"files\"\nrate = \"10/s\"\ninterval = \"1s\"\nslice = \"5s\"\nduration = \"20s\"\n[tree]\nfiles = 2\n\
                         size = \"4KiB\"\n[[do]]\nname = \"commit\"\nsteps = [\"open\", \"append\", \"fdatasync\", \"close\"]\n\
                         [[criterion]]\nstream = \"fdatasync\"\nmeasure = \"service\"\np99_at_most = \"10ms\"\n\
                         operations_at_least = 1000\n";
    const CERTIFY: &str = "[certify]\nfor = \"1h\"\nslice = \"5min\"\n[certify.quick]\nfor = \"60s\"\nslice = \"20s\"\n\
                           [certify.stress]\nload = \"2x\"\nfor = \"10min\"\nslice = \"1min\"\n[[certify.stress.criterion]]\n\
                           stream = \"fdatasync\"\nmeasure = \"service\"\nmax_at_most = \"1s\"\n\
                           [certify.beside]\nappend = \"40MB/s\"\nfor = \"10min\"\nslice = \"5min\"\n";
    const LIMITS: &str = "[limits.openshift]\n[[limits.openshift.criterion]]\nstream = \"fdatasync\"\nmeasure = \"service\"\n\
                          p99_at_most = \"20ms\"\n";

    #[test]
    fn the_steps_of_a_certificate_and_other_limits_are_read() {
        let workload = read_workload("t", &format!("{BEGIN}{CERTIFY}{LIMITS}")).unwrap();
        let certificate = workload.certificate.clone().unwrap();
        let time =
            |length: u64, slice: u64| CertifiedTime { length: Span::from_secs(length), slice: Span::from_secs(slice) };
        assert_eq!(
            (certificate.load, certificate.quick),
            (time(3600, 300), Some(QuickLook { time: time(60, 20), criteria: Vec::new() }))
        );
        assert_eq!(certificate.beside, Some(BesideStep { append: Bytes::new(40_000_000), time: time(600, 300) }));
        let stress = certificate.stress.unwrap();
        assert_eq!((stress.times, stress.time), (Multiple::from_whole(2), time(600, 60)));
        let judged: Vec<String> = workload.in_stress(&stress).criteria.iter().map(Criterion::to_string).collect();
        assert_eq!(judged, ["fdatasync service over 1s at most 0% per 5s"]);
        let own = "fdatasync service over 10ms at most 1% per 5s of at least 1000 operations";
        assert_eq!(workload.criteria[0].to_string(), own);
        let with = workload.with_limits("openshift").unwrap();
        assert_eq!(with.criteria[0].to_string(), "fdatasync service over 20ms at most 1% per 5s");
        assert!(
            with.notes.iter().any(|note| note.contains("limits openshift") && note.contains(own)),
            "{:?}",
            with.notes
        );
        let own_quick = |measure: &str, bound: &str| {
            let text = format!(
                "{BEGIN}[certify]\nfor = \"1h\"\nslice = \"5min\"\n[certify.quick]\nfor = \"60s\"\nslice = \"20s\"\n\
                 [[certify.quick.criterion]]\nstream = \"fdatasync\"\nmeasure = \"{measure}\"\n{bound}\n{LIMITS}"
            );
            read_workload("t", &text).unwrap()
        };
        let quick = own_quick("service", "p99_at_most = \"15ms\"");
        assert!(quick.limits_concern_quick_look("openshift") && workload.limits_concern_quick_look("openshift"));
        let quick = quick.with_limits("openshift").unwrap();
        let look = quick.certificate.clone().unwrap().quick.unwrap();
        assert_eq!(
            quick.in_quick_look(&look).criteria[0].to_string(),
            "fdatasync service over 20ms at most 1% per 5s",
            "a quick look with bounds of its own"
        );
        assert!(!own_quick("service", "max_at_most = \"1s\"").limits_concern_quick_look("openshift"));
        assert!(workload.with_limits("none").unwrap_err().contains("there are openshift"));
        let plain = read_workload("t", BEGIN).unwrap();
        assert!(plain.certificate.is_none() && plain.with_limits("x").unwrap_err().contains("leave out --limits"));
    }

    #[test]
    fn what_a_certificate_cannot_be_is_refused_with_its_place() {
        for (text, part) in [
            ("[certify]\nfor = \"1h\"\n", "slice is missing"),
            ("[certify]\nfor = \"0s\"\nslice = \"1s\"\n", "not a length"),
            ("[certify]\nfor = \"10s\"\nslice = \"11s\"\n", "does not divide"),
            ("[certify]\nfor = \"10s\"\nslice = \"1500ms\"\n", "multiple of the interval"),
            ("[certify]\nfor = \"10s\"\nslice = \"5s\"\nstres = 1\n", "stres"),
            (
                "[certify]\nfor = \"9s\"\nslice = \"3s\"\n[certify.stress]\nload = \"1x\"\nfor = \"9s\"\nslice = \"3s\"\n",
                "2x",
            ),
            (
                "[certify]\nfor = \"9s\"\nslice = \"3s\"\n[certify.beside]\nappend = \"0MB/s\"\nfor = \"9s\"\nslice = \"3s\"\n",
                "40MB/s",
            ),
            ("[limits.x]\n[[limits.x.criterion]]\nstream = \"fdatasync\"\np99_at_most = \"2ms\"\n", "stands for none"),
            ("[limits.x]\n[[limits.x.criterion]]\nstream = \"none\"\np99_at_most = \"2ms\"\n", "no stream"),
            ("[limits.\"a b\"]\ncriterion = []\n", "name"),
            ("[[criterion]]\nstream = \"fdatasync\"\nrate_at_least = \"5/s\"\noperations_at_least = 9\n", "remove"),
        ] {
            let faults = read_workload("t", &format!("{BEGIN}{text}")).unwrap_err().to_string();
            assert!(faults.contains(part), "{text}: {faults}");
        }
    }
}
