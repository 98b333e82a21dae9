//! `targets` of a `[[loop]]`: either each target has a loop of its own, or one loop goes to all targets.

use super::address::text_or_table;
use super::source::Source;
use crate::plan::{Extent, Stream};
use crate::size::Size;
use crate::turns::{NextTarget, Turns};
use assay_base::Fault;
use std::ops::Range;

/// Upper bound on the operations on a target before the next one has its turn.
const MOST: u32 = 1_000_000_000;

/// The value as written, which is a word or a table.
pub(super) enum TurnKeys {
    /// Each target has a loop of its own.
    Each,
    /// One loop goes to all targets.
    Turns(Turns),
}

text_or_table!(
    TurnKeys,
    "\"each\", \"in-turn\", \"random\" or \"one-after-another\"",
    |text, E| match text {
        "each" => Ok(TurnKeys::Each),
        "in-turn" => Ok(TurnKeys::Turns(Turns::new(NextTarget::InTurn))),
        "random" => Ok(TurnKeys::Turns(Turns::new(NextTarget::Random))),
        "one-after-another" => Ok(TurnKeys::Turns(Turns::new(NextTarget::OneAfterAnother))),
        other => Err(E::custom(format!(
            "\"{}\" is not an order of targets; write each, in-turn, random or one-after-another",
            other.escape_debug()
        ))),
    },
    |table: Turns| TurnKeys::Turns(table)
);

impl TurnKeys {
    /// The turns of the loop; `None` if each target has a loop of its own.
    pub(super) fn meant_turns(&self, source: Source<'_>, at: Range<usize>) -> Result<Option<Turns>, Fault> {
        let TurnKeys::Turns(turns) = self else { return Ok(None) };
        if !(1..=MOST).contains(&turns.operations) {
            let remedy = format!("write operations = 1 to {MOST}, so many on a target before the next one comes");
            return Err(source.fault_at(at, "not a number of operations", remedy));
        }
        Ok(Some(*turns))
    }
}

/// The sizes of a stream's operations, and the part of its targets that it goes to.
fn size_and_range(stream: &Stream) -> Option<(&Size, Option<Extent>)> {
    stream.as_block().map(|block| (&block.size, block.extent))
}

/// Checks that a loop with the streams `members` can take turns as `at` says.
pub(super) fn check_fits(
    source: Source<'_>,
    at: Option<Range<usize>>,
    turns: Option<Turns>,
    members: &[&Stream],
) -> Result<(), Fault> {
    let (Some(at), Some(turns)) = (at, turns) else { return Ok(()) };
    if members.iter().any(|stream| stream.as_flush().is_some()) {
        return source.refuse_span(
            at,
            "a flush after so many writes is for one target, and this loop goes to several",
            "write targets = \"each\", or a stream of flushes that is not in the loop",
        );
    }
    if members.first().is_some_and(|stream| stream.targets.len() == 1) {
        return source.refuse_span(
            at,
            "the streams of this loop have one target, so that there are no turns to take",
            "remove targets here, or name several: target = [\"a\", \"b\"]",
        );
    }
    let one_size = members.iter().filter_map(|stream| stream.as_block()).all(|block| block.size.from == block.size.to);
    let alike = one_size && members.windows(2).all(|pair| size_and_range(pair[0]) == size_and_range(pair[1]));
    if turns.counts_passes() && !alike {
        return source.refuse_span(
            at,
            "how many operations go through a target is known where all have one size and one range",
            "write one size and the same range for all streams of the loop, or targets = \"in-turn\"",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::plan::Plan;
    use crate::turns::{NextTarget, Turns};
    use crate::workload::{Adjust, read_workload};

    const STREAM: &str = "[[stream]]\nname = \"a\"\ndirection = \"write\"\nsize = \"4KiB\"\nloop = \"mix\"\n";

    /// The plan of a loop with these keys and of these streams.
    fn plan(keys: &str, streams: &str) -> Result<Plan, String> {
        let head = "model = \"streams\"\ntargets = [\"x\", \"y\", \"z\"]\nduration = \"1min\"\nslice = \"1min\"\n";
        let text = format!("{head}[[loop]]\nname = \"mix\"\nin_flight = 8\n{keys}\n{streams}");
        let workload = read_workload("w.toml", &text).map_err(|faults| faults.to_string())?;
        workload.make_plan(&Adjust { targets: 3, seed: 7, ..Adjust::default() })
    }

    #[test]
    fn a_loop_says_how_it_goes_to_its_targets() {
        let in_turn = Turns::new(NextTarget::InTurn);
        for (keys, turns) in [
            ("", None),
            ("targets = \"each\"", None),
            ("targets = \"in-turn\"", Some(in_turn)),
            ("targets = \"random\"", Some(Turns::new(NextTarget::Random))),
            ("targets = \"one-after-another\"", Some(Turns::new(NextTarget::OneAfterAnother))),
            ("targets = { next = \"in-turn\", operations = 8 }", Some(Turns { operations: 8, ..in_turn })),
            ("targets = { next = \"in-turn\", passes = true }", Some(Turns { passes: true, ..in_turn })),
        ] {
            let plan = plan(keys, STREAM).unwrap();
            assert_eq!(plan.load.loops[0].turns, turns, "{keys}");
            let written = serde_json::to_string(&plan).unwrap();
            assert_eq!(serde_json::from_str::<Plan>(&written).unwrap(), plan, "{keys}");
            assert_eq!(written.contains("turns"), turns.is_some(), "{keys}");
        }
    }

    #[test]
    fn a_stream_may_be_on_some_of_the_targets() {
        let on = |target: &str| plan("targets = \"in-turn\"", &format!("{STREAM}target = {target}\n"));
        assert_eq!(on("[\"z\", \"x\"]").unwrap().load.streams[0].targets, [0, 2]);
        for (target, told) in [
            ("[]", "name each target once"),
            ("[\"x\", \"x\"]", "name each target once"),
            ("[\"x\", \"w\"]", "write one of x, y, z"),
            ("[\"x\", 7]", "write"),
            ("7", "list"),
            ("\"x\"", "no turns to take"),
        ] {
            let fault = on(target).unwrap_err();
            assert!(fault.contains(told) && fault.contains("w.toml:"), "{target}: {fault}");
        }
    }

    #[test]
    fn turns_that_cannot_be_taken_are_refused() {
        let flush = "[[stream]]\nname = \"f\"\ndirection = \"flush\"\nloop = \"mix\"\nevery = 4\n";
        let other = STREAM.replace("\"a\"", "\"b\"");
        for (keys, streams, told) in [
            ("targets = \"round\"", STREAM.to_owned(), "write each, in-turn, random or one-after-another"),
            ("targets = 3", STREAM.to_owned(), "one-after-another"),
            ("targets = {}", STREAM.to_owned(), "next"),
            ("targets = { next = \"in-turn\", often = 2 }", STREAM.to_owned(), "often"),
            ("targets = { next = \"in-turn\", operations = 0 }", STREAM.to_owned(), "not a number of operations"),
            ("targets = \"random\"", format!("{STREAM}{flush}"), "a flush after so many writes is for one target"),
            (
                "targets = \"one-after-another\"",
                STREAM.replace("4KiB\"", "4KiB\"\nrange = { size = \"50%\" }") + &other,
                "one size and one range",
            ),
            (
                "targets = { next = \"random\", passes = true }",
                STREAM.replace("\"4KiB\"", "{ from = \"4KiB\", to = \"8KiB\" }"),
                "one size",
            ),
        ] {
            let fault = plan(keys, &streams).unwrap_err();
            assert!(fault.contains(told) && fault.contains("w.toml:"), "{keys}: {fault}");
        }
    }
}
