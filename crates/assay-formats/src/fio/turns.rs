//! Which of the files of a job the next operation goes to: `file_service_type`.

use super::files::Used;
use super::job::Job;
use super::number::Wrong;
use super::text::{Entry, Value};
use assay_base::Fault;
use assay_model::turns::{NextTarget, Turns};
use assay_model::{Address, Stream};

/// `file_service_type`, as far as it can be driven.
#[derive(Clone, Copy, Debug)]
pub(super) struct Service<'a> {
    next: NextTarget,
    operations: u32,
    entry: Option<&'a Entry>,
}

/// Reads `file_service_type`; without it the files come in turn.
pub(super) fn read_service<'a>(job: &Job<'a>) -> Result<Service<'a>, Fault> {
    let plain = Service { next: NextTarget::InTurn, operations: 1, entry: None };
    let Some((entry, value)) = job.value_of_key("file_service_type")? else { return Ok(plain) };
    let (word, number) =
        value.text.split_once(':').map_or((value.text.as_str(), None), |(word, number)| (word, Some(number)));
    let next = match word {
        "roundrobin" => NextTarget::InTurn,
        "random" => NextTarget::Random,
        "sequential" => NextTarget::OneAfterAnother,
        _ => {
            let remedy = "write roundrobin, random or sequential";
            return Err(job.fault_at_entry(entry, "this order of files is not driven here", remedy));
        }
    };
    let operations = match number {
        None => 1,
        Some(text) if next == NextTarget::OneAfterAnother => {
            return Err(wrong_number(job, value, word, text, "this order has no number"));
        }
        Some(text) => match job.reading_of_key(entry, value).parse_count(text) {
            Ok(n @ 1..=1_000_000_000) => n as u32,
            _ => return Err(wrong_number(job, value, word, text, "not a number of operations")),
        },
    };
    Ok(Service { next, operations, entry: Some(entry) })
}

/// The fault for the number `text` behind the word of the order.
fn wrong_number(job: &Job<'_>, value: &Value, word: &str, text: &str, what: &str) -> Fault {
    let remedy = format!("write {word}, or roundrobin:8 for eight operations on each file");
    job.fault_in_value(value, Wrong::new(text, what, remedy).shifted_by(word.len() + 1))
}

impl Service<'_> {
    /// How operations with a rate take turns over the files of their job; `None` if each is on the next file.
    pub(super) fn of_rates(self, job: &Job<'_>) -> Result<Option<Turns>, Fault> {
        let Service { next, operations, entry } = self;
        match (next, entry) {
            (NextTarget::OneAfterAnother, Some(entry)) => {
                let what = "one file after the other at a rate";
                Err(job.not_yet(entry, what, "write roundrobin or random, or a job for each file with wait_for"))
            }
            (NextTarget::InTurn | NextTarget::OneAfterAnother, _) if operations == 1 => Ok(None),
            _ => Ok(Some(Turns { next, operations, passes: false })),
        }
    }

    /// Checks that files are used alike by a job with rates. `ends` says that the job ends by what it has moved.
    pub(super) fn is_even(self, job: &Job<'_>, used: &Used, ends: bool) -> Result<(), Fault> {
        let unequal = used.lengths.windows(2).any(|pair| pair[0] != pair[1]);
        let entry = ["filename", "nrfiles"].into_iter().find_map(|key| job.find_entry(key));
        if unequal && ends {
            let place = entry.map_or(job.section.place, |entry| entry.place);
            let what =
                "a rate on files of different lengths, in a job that ends by what it has moved, is not driven yet";
            return Err(job.file.fault_at(place, what, "write size= for a part that all of them have, or time_based"));
        }
        if unequal {
            job.add_note(format!("{}: its files are of different lengths, and none is left out at its end", job.name));
        }
        job.add_note(format!("{}: iodepth operations may be in flight on each of its files", job.name));
        Ok(())
    }
}

/// How a copy with these streams takes turns over its files.
pub(super) fn turns_over_files(
    job: &Job<'_>,
    service: Service<'_>,
    used: &Used,
    streams: &[Stream],
) -> Result<Turns, Fault> {
    let blocks = streams.iter().filter_map(Stream::as_block);
    let first = blocks.clone().next().map(|block| &block.size);
    let one_size = blocks.clone().all(|block| block.size.from == block.size.to && Some(&block.size) == first);
    // fio leaves out a file that it has gone through, if each place of the file comes once or places come in sequence.
    let ends =
        one_size && blocks.clone().all(|block| matches!(block.address, Address::Once { .. } | Address::Sequential));
    let unequal = used.lengths.windows(2).any(|pair| pair[0] != pair[1]);
    let turns = Turns { next: service.next, operations: service.operations, passes: false };
    match (service.next, service.entry) {
        (NextTarget::OneAfterAnother, Some(entry)) if !ends => Err(job.not_yet(
            entry,
            "one file after the other where places come again or sizes differ",
            "write roundrobin or random; with norandommap fio itself stays on the first file",
        )),
        (NextTarget::OneAfterAnother, _) => Ok(turns),
        (NextTarget::Random, _) => Ok(Turns { passes: ends, ..turns }),
        (NextTarget::InTurn, _) => {
            if unequal && (!one_size || ends && streams.len() > 1 && has_sequential_stream(streams)) {
                job.add_note(format!(
                    "{}: its files are of different lengths; which of them is left out when is told by numbers of operations, reads and \
                     writes together, and not by bytes of each",
                    job.name
                ));
            }
            Ok(Turns { passes: ends && unequal, ..turns })
        }
    }
}

fn has_sequential_stream(streams: &[Stream]) -> bool {
    streams.iter().filter_map(Stream::as_block).any(|block| block.address == Address::Sequential)
}
