//! Joins several plans into one: the namespaces of a drive under load at the same time, or the workloads of tiles. Each plan
//! keeps its streams and its criteria, whose names then begin with the plan's name; properties of the whole run must be equal
//! in all of them.

use crate::life::Life;
use crate::lives::end_when_done;
use crate::mix::Loop;
use crate::plan::{
    Arrival, Block, Group, Lane, Notes, Phase, PhaseKind, Plan, PlannedApplication, PlannedLoad, PlannedTiming,
    PlannedVerification, READ_BACK, Stream, Work, final_read_back,
};
use crate::profile::Derivation;
use assay_base::{Criterion, Multiple, Span};

/// Joins plans for the same targets and seed.
///
/// # Errors
/// What they disagree on, and what to do.
pub fn merge_plans(plans: Vec<Plan>) -> Result<Plan, String> {
    let names: Vec<String> = plans.iter().map(|plan| name_prefix(&plan.name)).collect();
    if let Some(twice) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
        return Err(format!("two of the workloads are called {}: give one of the files another name", names[twice]));
    }
    if let Some(alone) =
        plans.iter().find(|plan| plan.load.tpcc().is_some() || plan.load.files().is_some()).filter(|_| plans.len() > 1)
    {
        return Err(format!(
            "{} drives a database or a file system, and runs alone: start a run of its own for each workload",
            alone.name
        ));
    }
    join_parts(plans.into_iter().zip(names).map(|(plan, name)| JoinedPart { plan, prefix: format!("{name}.") }))
}

/// A plan that becomes a part of another one.
pub(crate) struct JoinedPart {
    /// The plan.
    pub plan: Plan,
    /// What the names of its streams begin with in the whole, with the sign that ends it: `users.`, `tile3/orders/`.
    pub prefix: String,
}

/// Joins plans for the same targets and seed, whose prefixes differ.
pub(crate) fn join_parts(parts: impl IntoIterator<Item = JoinedPart>) -> Result<Plan, String> {
    let mut parts = parts.into_iter();
    let mut whole = parts.next().ok_or("there is no workload")?.with_prefixed_names();
    for part in parts {
        check_agreement(&whole, &part.plan)?;
        add_plan(&mut whole, part.with_prefixed_names())?;
    }
    let all_end = end_when_done(&whole.load.streams, &whole.load.loops);
    let measured = whole.timing.phases.iter_mut().filter(|phase| phase.kind == PhaseKind::Measure);
    measured.for_each(|phase| phase.until_done = all_end);
    if let Some((stream, phase)) = final_read_back(&whole.load.streams).filter(|_| whole.verification.reads_back()) {
        whole.load.streams.push(stream);
        whole.timing.phases.push(phase);
    }
    Ok(whole)
}

/// A plan's name, as the prefix of a stream's name.
fn name_prefix(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect()
}

/// The judged phases, without the read-back, which is done once for all plans.
fn judged_phases(plan: &Plan) -> Vec<Phase> {
    // Whether the streams of all plans end shows when all of them are known.
    let judged = plan.timing.phases.iter().filter(|phase| phase.name != READ_BACK);
    judged.map(|phase| Phase { until_done: false, ..phase.clone() }).collect()
}

fn check_agreement(whole: &Plan, plan: &Plan) -> Result<(), String> {
    let (a, b) = (&whole.name, &plan.name);
    if whole.timing.measured_length() != plan.timing.measured_length() {
        let both = (whole.timing.measured_length(), plan.timing.measured_length());
        return Err(describe_difference(whole, plan, "the duration", both, "--for TIME gives both the same"));
    }
    if judged_phases(whole) != judged_phases(plan) {
        let both = (whole.timing.warm_up().longest_warm_up(), plan.timing.warm_up().longest_warm_up());
        return Err(describe_difference(whole, plan, "the warm-up", both, "--warm-up TIME gives both the same"));
    }
    if whole.timing.slice != plan.timing.slice {
        let both = (whole.timing.slice, plan.timing.slice);
        return Err(describe_difference(whole, plan, "the slice", both, "--slice TIME gives both the same"));
    }
    if let Some(before) = [whole, plan].into_iter().find(|plan| plan.caches.device.is_some()) {
        return Err(format!(
            "{} has a cache device, and several workloads at the same time would each have one: write all streams into one file",
            before.name
        ));
    }
    if whole.caches.simulated.is_some() || plan.caches.simulated.is_some() {
        return Err(format!(
            "{a} and {b} cannot run at the same time where one of them has a simulated cache: write all streams into one file"
        ));
    }
    if whole.load.oltp().is_some() || plan.load.oltp().is_some() {
        return Err(format!(
            "{a} and {b} cannot run at the same time: the streams of an OLTP load are drawn together, and no others with them; run one after \
             the other, or each in a process of its own"
        ));
    }
    if !whole.caches.page.iter().map(|cached| cached.target).eq(plan.caches.page.iter().map(|cached| cached.target)) {
        return Err(format!(
            "{a} and {b} use different targets through the page cache, and a target is open in one way only: write direct= alike into both"
        ));
    }
    if whole.timing.max_lag != plan.timing.max_lag {
        let both = (whole.timing.max_lag, plan.timing.max_lag);
        return Err(describe_difference(whole, plan, "the longest lag", both, "write the same into both files"));
    }
    if whole.timing.recovery_at_most != plan.timing.recovery_at_most {
        let both = (whole.timing.recovery_at_most, plan.timing.recovery_at_most);
        return Err(describe_difference(whole, plan, "the longest recovery", both, "write the same into both files"));
    }
    if whole.hosts != plan.hosts {
        return Err(format!(
            "for {a} {}, and for {b} {}: write the same [hosts] into both files",
            whole.hosts, plan.hosts
        ));
    }
    Ok(())
}

/// Says that a time of one plan and that of the other differ.
fn describe_difference(whole: &Plan, plan: &Plan, what: &str, times: (Span, Span), remedy: &str) -> String {
    let (a, b, (one, other)) = (&whole.name, &plan.name, times);
    format!("{what} of {a} is {one} and of {b} {other}, and one run has only one: {remedy}")
}

/// The names of streams and of other parts of a plan, with the prefix of the plan in front of each.
fn with_names<'a>(prefix: &str, all: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    all.into_iter().map(|part| format!("{prefix}{part}")).collect()
}

/// The name of all of a plan in the whole: its prefix without the sign at the end.
fn name_of_all(prefix: &str) -> String {
    prefix.strip_suffix(['.', '/']).unwrap_or(prefix).to_owned()
}

/// A life that waits for the renamed streams.
fn renamed_life(life: Life, prefix: &str) -> Life {
    let names: Vec<String> = life.waits_for().map(|after| format!("{prefix}{after}")).collect();
    life.beginning_after(names)
}

/// A stream of the plan with this prefix.
fn renamed_stream(mut stream: Stream, prefix: &str) -> Stream {
    if let Arrival::Looped { looped, .. } = &mut stream.arrival {
        *looped = format!("{prefix}{looped}");
    }
    if let Arrival::Following { stream, .. } = &mut stream.arrival {
        *stream = format!("{prefix}{stream}");
    }
    if let Arrival::Shared { schedule, .. } = &mut stream.arrival {
        schedule.name = format!("{prefix}{}", schedule.name);
    }
    if let Work::Block(Block { places: Some(places), .. }) = &mut stream.work {
        *places = format!("{prefix}{places}");
    }
    Stream { name: format!("{prefix}{}", stream.name), life: renamed_life(stream.life, prefix), ..stream }
}

/// A loop of the plan with this prefix.
fn renamed_loop(own: Loop, prefix: &str) -> Loop {
    Loop { name: format!("{prefix}{}", own.name), life: renamed_life(own.life, prefix), ..own }
}

/// A group of the plan with this prefix. Of several plans, all streams of one are a group with the name of that plan.
fn renamed_group(group: Group, prefix: &str) -> Group {
    let name = if group.name == Criterion::ALL { name_of_all(prefix) } else { format!("{prefix}{}", group.name) };
    Group { streams: with_names(prefix, &group.streams), name }
}

/// The criteria of the plan with this prefix. What a plan asks of all its streams together is asked of the group of these.
fn renamed_criteria(plan: &Plan, prefix: &str) -> Vec<Criterion> {
    let together = judges_all_together(plan);
    let renamed = plan.criteria.iter().map(|criterion| {
        let is_of_all = together && criterion.stream == Criterion::ALL;
        let stream = if is_of_all { name_of_all(prefix) } else { format!("{prefix}{}", criterion.stream) };
        Criterion { stream, ..criterion.clone() }
    });
    renamed.collect()
}

/// Whether a criterion of a plan is about all of its streams together.
fn judges_all_together(plan: &Plan) -> bool {
    let is_a_name = plan.load.streams.iter().any(|stream| stream.name == Criterion::ALL);
    !is_a_name && plan.criteria.iter().any(|criterion| criterion.stream == Criterion::ALL)
}

/// All streams of a plan as a group, as its criteria name them.
pub(crate) fn group_of_all(plan: &Plan) -> Group {
    let own = plan.load.streams.iter().filter(|stream| stream.name != READ_BACK);
    Group { name: Criterion::ALL.to_owned(), streams: own.map(|stream| stream.name.clone()).collect() }
}

impl JoinedPart {
    fn with_prefixed_names(self) -> Plan {
        let JoinedPart { mut plan, prefix } = self;
        if judges_all_together(&plan) && plan.load.groups.iter().all(|group| group.name != Criterion::ALL) {
            plan.load.groups.push(group_of_all(&plan));
        }
        Plan {
            // The merged plan has no model that could say it.
            notes: renamed_notes(Notes { watermarks: plan.resembled_tools(), ..plan.notes.clone() }, &prefix),
            criteria: renamed_criteria(&plan, &prefix),
            load: renamed_load(plan.load, &prefix),
            timing: PlannedTiming {
                phases: plan.timing.phases.into_iter().filter(|phase| phase.name != READ_BACK).collect(),
                ..plan.timing
            },
            verification: PlannedVerification {
                check_all: with_names(&prefix, &plan.verification.check_all),
                ..plan.verification
            },
            ..plan
        }
    }
}

/// The load of the plan with this prefix.
fn renamed_load(load: PlannedLoad, prefix: &str) -> PlannedLoad {
    let own = load.streams.into_iter().filter(|stream| stream.name != READ_BACK);
    PlannedLoad {
        streams: own.map(|stream| renamed_stream(stream, prefix)).collect(),
        lanes: (load.lanes.into_iter())
            .map(|lane| Lane { streams: with_names(prefix, &lane.streams), ..lane })
            .collect(),
        groups: load.groups.into_iter().map(|group| renamed_group(group, prefix)).collect(),
        loops: load.loops.into_iter().map(|own| renamed_loop(own, prefix)).collect(),
        // What counts in mailboxes is one workload and not several.
        application: load.application.filter(|application| matches!(application, PlannedApplication::Oltp(_))),
        ..load
    }
}

/// The notes of the plan with this prefix.
fn renamed_notes(notes: Notes, prefix: &str) -> Notes {
    let name = name_of_all(prefix);
    Notes {
        derivation: (notes.derivation.into_iter())
            .map(|step| Derivation { what: format!("{prefix}{}", step.what), ..step })
            .collect(),
        remarks: notes.remarks.into_iter().map(|note| format!("{name}: {note}")).collect(),
        ..notes
    }
}

/// Adds a plan to those before it.
fn add_plan(whole: &mut Plan, plan: Plan) -> Result<(), String> {
    if whole.model != plan.model {
        whole.model = "streams".to_owned();
    }
    whole.name = format!("{}+{}", whole.name, plan.name);
    // The slices are equal and are multiples of both intervals, so the shorter interval fits too.
    whole.timing.interval = whole.timing.interval.min(plan.timing.interval);
    whole.timing.skip_half_windows |= plan.timing.skip_half_windows;
    whole.caches.page.iter_mut().zip(&plan.caches.page).for_each(|(one, other)| *one = one.combined_with(*other));
    whole.criteria.extend(plan.criteria);
    add_verification(&mut whole.verification, plan.verification);
    add_notes(&mut whole.notes, plan.notes);
    add_load(&mut whole.load, plan.load)
}

/// Adds what a plan compares: what one of them reads back is read back for all.
fn add_verification(whole: &mut PlannedVerification, verification: PlannedVerification) {
    let one_verifies = whole.verify || verification.verify;
    whole.leave_sealed = !whole.reads_back() && !verification.reads_back() && one_verifies;
    whole.verify = one_verifies;
    whole.check_all.extend(verification.check_all);
}

/// Adds the notes of a plan; a watermark that several plans have stands there once.
fn add_notes(whole: &mut Notes, notes: Notes) {
    for mark in notes.watermarks {
        if !whole.watermarks.contains(&mark) {
            whole.watermarks.push(mark);
        }
    }
    whole.derivation.extend(notes.derivation);
    whole.remarks.extend(notes.remarks);
}

/// Adds the load of a plan. The error says why the streams do not fit together.
fn add_load(whole: &mut PlannedLoad, load: PlannedLoad) -> Result<(), String> {
    if whole.multiples.is_empty() {
        whole.multiples.push(whole.multiple);
    }
    whole.multiples.push(load.multiple);
    if load.multiple != whole.multiple {
        whole.multiple = Multiple::ONE;
    }
    whole.in_flight_bound =
        whole.in_flight_bound.saturating_add(load.in_flight_bound).min(crate::workload::LARGEST_BOUND);
    whole.streams.extend(load.streams);
    whole.lanes.extend(load.lanes);
    whole.groups.extend(load.groups);
    whole.loops.extend(load.loops);
    let names: std::collections::BTreeSet<&str> = whole.streams.iter().map(|stream| stream.name.as_str()).collect();
    if names.len() < whole.streams.len() {
        return Err("two streams would have the same name: rename one of the files".to_owned());
    }
    if whole.streams.len() > crate::plan::MOST_STREAMS {
        return Err(format!("together they have more than {} streams", crate::plan::MOST_STREAMS));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::act::{Storage, standard_criteria};
    use crate::page_cache::{Advice, PageCached};
    use crate::workload::{Adjust, Sealing, Workload};
    use assay_base::Span;

    fn plan(name: &str, change: impl FnOnce(&mut Workload), adjust: &Adjust) -> Plan {
        let streams = Storage::default().lower_to_streams().unwrap();
        let mut workload = Workload::new(name, "act-storage", streams, standard_criteria);
        workload.load.lanes = Storage::large_block_lanes(32);
        change(&mut workload);
        workload.make_plan(adjust).unwrap()
    }

    #[test]
    fn streams_and_criteria_of_each_are_there_under_its_name() {
        let adjust = Adjust { targets: 2, seed: 7, verify: true, ..Adjust::default() };
        let (users, events) =
            (plan("users", |_| {}, &adjust), plan("my events", |it| it.load.in_flight_bound = 40, &adjust));
        let streams = users.load.streams.len();
        let whole = merge_plans(vec![users.clone(), events]).unwrap();
        let names: Vec<&str> = whole.load.streams.iter().map(|stream| stream.name.as_str()).collect();
        assert_eq!(names[0], "users.reads");
        assert!(names.contains(&"my-events.large-block-writes"), "{names:?}");
        assert_eq!((names.iter().filter(|name| **name == READ_BACK).count(), names.len()), (1, 2 * (streams - 1) + 1));
        assert_eq!(whole.timing.phases, users.timing.phases);
        let criteria: Vec<&str> = whole.criteria.iter().map(|criterion| criterion.stream.as_str()).collect();
        assert_eq!(
            criteria,
            ["users.reads", "users.reads", "users.reads", "my-events.reads", "my-events.reads", "my-events.reads"]
        );
        assert_eq!((whole.name.as_str(), whole.load.multiple, whole.load.seed), ("users+my events", Multiple::ONE, 7));
        assert_eq!(whole.load.in_flight_bound, users.load.in_flight_bound + 40);
        // Lanes stay separate.
        let names = ["users.reads", "my-events.reads", "users.large-block-reads", "my-events.large-block-reads"];
        let place = |name: &str| whole.load.streams.iter().position(|it| it.name == name).unwrap();
        let lanes = names.map(|name| whole.load.lane_of(place(name) as u16));
        assert!(lanes[..2] == [0, 0] && lanes[2] != 0 && lanes[3] != 0 && lanes[2] != lanes[3], "{lanes:?}");
    }

    /// Two configurations at 1x each are not one at 2x.
    #[test]
    fn each_workload_keeps_its_own_multiple() {
        for (loads, load, words) in [
            (&[1, 1][..], 1, "1x each"),
            (&[3, 3, 3], 3, "3x each"),
            (&[2, 1], 1, "2x and 1x"),
            (&[1, 2, 2], 1, "1x, 2x and 2x"),
            (&[2, 1, 2], 1, "2x, 1x and 2x"),
            (&[5], 5, "5x"),
        ] {
            let one = |(at, load): (usize, &u64)| {
                let adjust = Adjust { targets: 1, load: Some(Multiple::from_whole(*load)), ..Adjust::default() };
                plan(&format!("w{at}"), |_| {}, &adjust)
            };
            let whole = merge_plans(loads.iter().enumerate().map(one).collect()).unwrap();
            assert_eq!(
                (whole.load.multiple, whole.load.multiple_in_words().as_str()),
                (Multiple::from_whole(load), words),
                "{loads:?}"
            );
            let text = serde_json::to_string(&whole).unwrap();
            assert_eq!(text.contains("loads"), loads.len() > 1);
            assert_eq!(serde_json::from_str::<Plan>(&text).unwrap().load.multiples, whole.load.multiples);
        }
    }

    #[test]
    fn the_whole_ends_when_all_is_done_only_if_all_streams_end() {
        let adjust = Adjust { targets: 1, ..Adjust::default() };
        let (end, last) = (
            |it: &mut Workload| it.load.streams.iter_mut().for_each(|it| it.life.operations = Some(9)),
            |_: &mut _| {},
        );
        let (a, b, c) = (plan("a", end, &adjust), plan("b", end, &adjust), plan("c", last, &adjust));
        assert!(merge_plans(vec![a.clone(), b]).unwrap().timing.ends_when_done());
        assert!(!merge_plans(vec![a, c]).unwrap().timing.ends_when_done());
    }

    #[test]
    fn what_is_one_for_the_run_is_the_same_in_all() {
        let adjust = Adjust { targets: 1, ..Adjust::default() };
        let first = plan("a", |_| {}, &adjust);
        for (what, change) in [
            (
                "the duration of a is 24h and of b 1h",
                (|it| it.timing.duration = Span::from_secs(3600)) as fn(&mut Workload),
            ),
            ("the warm-up", |it| it.timing.warm_up = crate::WarmUp::For(Span::from_secs(9))),
            ("the slice", |it| it.timing.slice = Span::from_secs(60)),
            ("the longest lag", |it| it.timing.max_lag = Span::ZERO),
            ("the longest recovery", |it| it.timing.recovery_at_most = Span::from_secs(1)),
            ("two of the workloads are called a", |it| it.name = "a".into()),
        ] {
            let told = merge_plans(vec![first.clone(), plan("b", change, &adjust)]).unwrap_err();
            assert!(told.contains(what), "{what}: {told}");
        }
        let same = Adjust { measure: Some(Span::from_secs(60)), ..adjust };
        let short = |name: &str| plan(name, |it| it.timing.duration = Span::from_secs(3600), &same);
        assert_eq!(
            merge_plans(vec![short("a"), plan("b", |_| {}, &same)]).unwrap().timing.measured_length(),
            Span::from_secs(60)
        );
        // `x` with `y.reads` and `x.y` with `reads`.
        let odd = |name: &str, stream: &str| {
            plan(
                name,
                |it| {
                    it.criteria.clear();
                    it.load.streams.truncate(1);
                    it.load.streams[0].name = stream.into();
                },
                &same,
            )
        };
        assert!(merge_plans(vec![odd("x", "y.reads"), odd("x.y", "reads")]).unwrap_err().contains("the same name"));
        assert!(merge_plans(Vec::new()).is_err());
    }

    #[test]
    fn plans_together_are_read_back_if_one_of_them_asks_for_it_and_use_each_target_in_one_way() {
        let how = |how: Sealing| {
            move |it: &mut Workload| it.verification.sealed = vec![("large-block-writes".to_owned(), how)]
        };
        let adjust = Adjust { targets: 1, seed: 7, ..Adjust::default() };
        for (one, other, left) in [
            (Sealing::Left, Sealing::Left, true),
            (Sealing::Left, Sealing::ReadBack, false),
            (Sealing::ReadBack, Sealing::Left, false),
        ] {
            let whole = merge_plans(vec![plan("a", how(one), &adjust), plan("b", how(other), &adjust)]).unwrap();
            assert_eq!((whole.verification.verify, whole.verification.leave_sealed), (true, left), "{one:?} {other:?}");
            assert_eq!(whole.load.streams.iter().any(Stream::reads_back), !left, "{one:?} {other:?}");
        }
        let whole = merge_plans(vec![plan("a", how(Sealing::Left), &adjust), plan("b", |_| {}, &adjust)]).unwrap();
        assert!(
            whole.verification.verify && whole.verification.leave_sealed,
            "who does not verify asks for no read-back"
        );
        let cached =
            |advice, keep| move |it: &mut Workload| it.caches.page = vec![PageCached { target: 0, advice, keep }];
        let (random, kept) = (cached(Advice::Random, false), cached(Advice::Random, true));
        let whole = merge_plans(vec![plan("a", random, &adjust), plan("b", kept, &adjust)]).unwrap();
        assert_eq!(whole.caches.page, [PageCached { target: 0, advice: Advice::Random, keep: false }]);
        let told = merge_plans(vec![plan("a", random, &adjust), plan("b", |_| {}, &adjust)]).unwrap_err();
        assert!(told.contains("different targets through the page cache"), "{told}");
    }
}
