//! Whether a step of a certification is of the run of the step before it. A log that was put together from several runs proves
//! nothing: each of its steps would be the best of several.

use assay_record::{Header, StepHead};

/// Why a step cannot be of the run of the one before it; both by their first headers. `None` for steps that are no
/// certification's. `was_continued`: the step before was interrupted, and earlier versions took another seed behind that.
pub(crate) fn foreign_step(before: &Header, was_continued: bool, header: &Header) -> Option<String> {
    let (one, other) = (certified_step(before)?, certified_step(header)?);
    let seed = before.seed.wrapping_add(u64::from(other.number.saturating_sub(one.number)));
    let found = if before.name != header.name || before.model != header.model {
        format!("it is of {}, that of {}", header.name.escape_debug(), before.name.escape_debug())
    } else if one.of != other.of {
        format!("it is one of {} steps, that one of {}", other.of, one.of)
    } else if header.seed != seed && !was_continued {
        format!("its seed is {}, and {seed} would follow", header.seed)
    } else if is_earlier(before, header) {
        format!("it began at {}, before that at {}", header.created.escape_debug(), before.created.escape_debug())
    } else {
        other_targets(before, header)?
    };
    Some(format!("step {} is not of the run of step {}: {found}", other.number, one.number))
}

fn certified_step(header: &Header) -> Option<&StepHead> {
    header.step.as_ref().filter(|step| step.is_certification())
}

/// Whether both clocks say so: that of the day can be set back, and the other one begins anew when the machine is started.
fn is_earlier(before: &Header, header: &Header) -> bool {
    let clocks = before.clocks.zip(header.clocks);
    clocks.is_some_and(|(before, now)| now.mono_ns < before.mono_ns && now.real_ns < before.real_ns)
}

/// A step has the targets of the one before it, and may have more.
fn other_targets(before: &Header, header: &Header) -> Option<String> {
    before.targets.iter().find_map(|was| {
        let name = was.name.escape_debug();
        match header.targets.iter().find(|target| target.name == was.name) {
            Some(target) => target.differs_from(was),
            None => Some(format!("{name} is none of its targets")),
        }
    })
}
