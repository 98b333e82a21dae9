//! The files of a job, which are its targets, and the part of them that it uses.

use super::Surroundings;
use super::engines::Engine;
use super::job::Job;
use super::number::Amount;
use crate::collect::Played;
use assay_base::text::counted_things;
use assay_base::{Bytes, Fault, Span};
use assay_model::size::Size;
use assay_model::workload::MOST_STREAMS;
use assay_model::{Amount as Part, Extent};

/// The choice of the jobs of a job file that are run, and of their targets.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Names of the jobs to run; if it is empty, all jobs are run.
    pub sections: Vec<String>,
    /// Names of files of the jobs, each with the target that takes its place.
    pub maps: Vec<(String, String)>,
    /// Targets for all files, in the order in which the job file names the files.
    pub targets: Vec<String>,
    /// Whether jobs that ask for the page cache get it.
    pub page_cache: bool,
    /// How long jobs last that are `time_based` and do not say for how long.
    pub measure: Option<Span>,
}

/// Upper bound on the number of files of all jobs.
const MOST: usize = 256;

/// How many files a message names.
const LISTED: usize = 4;

/// The files of all jobs, each once, in the order in which the jobs name them.
pub(super) struct Files<'a> {
    choice: &'a Choice,
    around: &'a dyn Surroundings,
    /// The names that the jobs give them.
    names: Vec<String>,
    /// The targets that take the places of the files, in the same order.
    pub targets: Vec<String>,
    mapped: Vec<bool>,
}

impl<'a> Files<'a> {
    pub(super) fn new(choice: &'a Choice, around: &'a dyn Surroundings) -> Files<'a> {
        Files { choice, around, names: Vec::new(), targets: Vec::new(), mapped: vec![false; choice.maps.len()] }
    }

    /// The names by which a plan distinguishes the targets.
    pub(super) fn target_names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// The target of a file, by its index.
    pub(super) fn target_of_file(&mut self, job: &Job<'_>, name: &str, null: Option<u64>) -> Result<u16, Fault> {
        if let Some(at) = self.names.iter().position(|known| known == name) {
            return Ok(at as u16);
        }
        if self.names.len() == MOST {
            return Err(job.file.fault_of_file("more files than any real job has", format!("name at most {MOST}")));
        }
        let typed = self.choice.targets.get(self.names.len()).cloned();
        let map = self.choice.maps.iter().position(|(from, _)| from == name || unescape_colons(from) == name);
        if let Some(map) = map {
            self.mapped[map] = true;
        }
        let other = map.map(|map| self.choice.maps[map].1.clone()).or(typed);
        let own = null.map_or_else(|| name.to_owned(), |bytes| format!("null:{bytes}B"));
        self.targets.push(other.unwrap_or(own));
        self.names.push(name.to_owned());
        Ok((self.names.len() - 1) as u16)
    }

    /// The operations of the recording `name`, which the job file `beside` refers to.
    pub(super) fn read_recording(&self, name: &str, beside: &str) -> Result<Played, String> {
        self.around.read_recording(name, beside)
    }

    /// The size of a target in bytes, if it is known.
    pub(super) fn size_of(&self, target: u16) -> Option<u64> {
        self.around.size_of(&self.targets[usize::from(target)])
    }

    /// A name that was mapped to another target but is not the name of a file of these jobs.
    pub(super) fn unknown_mapped_name(&self) -> Option<&str> {
        let maps = self.choice.maps.iter().zip(&self.mapped);
        maps.filter(|(_, used)| !**used).map(|((name, _), _)| name.as_str()).next()
    }

    /// Whether the user agreed to use the page cache.
    pub(super) fn may_be_cached(&self) -> bool {
        self.choice.page_cache
    }

    /// Whether the kernel has a page cache before a target: before a file, and not before what is only imitated.
    pub(super) fn is_cached(&self, target: u16) -> bool {
        let name = &self.targets[usize::from(target)];
        !["sim:", "null:"].iter().any(|imitated| name.starts_with(imitated))
    }

    /// The name that the jobs give a target.
    pub(super) fn target_name(&self, target: u16) -> &str {
        &self.names[usize::from(target)]
    }

    /// Refuses locks between the jobs that use a file.
    pub(super) fn refuse_locks(job: &Job<'_>) -> Result<(), Fault> {
        match job.value_of_key("lockfile")? {
            Some((entry, value)) if value.text != "none" => {
                let remedy = "write lockfile=none, or a job that does both";
                Err(job.not_yet(entry, "a file that jobs lock for each operation", remedy))
            }
            _ => Ok(()),
        }
    }

    /// Whether the copies of a job have several files.
    pub(super) fn has_several_files(&self, job: &Job<'_>) -> Result<bool, Fault> {
        Ok(file_names(job, 0)?.len() > 1)
    }

    /// The files of a copy, the part of each that it uses, and the number of bytes in these parts, if it is known.
    pub(super) fn of_copy(
        &mut self,
        job: &Job<'_>,
        copy: u64,
        engine: Engine,
        sizes: &[Size; 2],
    ) -> Result<Used, Fault> {
        let names = file_names(job, copy)?;
        let null = if engine.null { Some(null_bytes(job, sizes)?) } else { None };
        let (mut found, count) = (Vec::new(), names.len() as u64);
        for name in &names {
            let target = self.target_of_file(job, name, null)?;
            let path = &self.targets[usize::from(target)];
            let size = null.filter(|_| path.starts_with("null:")).or_else(|| self.around.size_of(path));
            let (extent, length) = used_range(job, name, count, copy, size, sizes)?;
            found.push((target, extent, length));
        }
        found.sort_by_key(|(target, ..)| *target);
        let alike = found.windows(2).all(|pair| pair[0].1 == pair[1].1);
        if !alike || found.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            let what = if alike { "names the same file twice" } else { "uses different parts of its files" };
            let entry = ["filename", "size", "offset"].into_iter().rev().find_map(|key| job.find_entry(key));
            let entry = if alike { job.find_entry("filename") } else { entry };
            let place = entry.map_or(job.section.place, |entry| entry.place);
            let remedy = "write size and offset in bytes that all files have, or a job for each file";
            return Err(job.file.fault_at(place, format!("a job that {what} is not driven yet"), remedy));
        }
        let lengths: Vec<Option<u64>> = found.iter().map(|(.., length)| *length).collect();
        let all = lengths.iter().copied().sum::<Option<u64>>();
        let all = all.zip(Some(most_bytes(job, sizes)?)).map(|(all, most)| all.min(most));
        let extent = found[0].1;
        Ok(Used { targets: found.iter().map(|(target, ..)| *target).collect(), extent, lengths, all })
    }
}

/// Refuses targets of the command line that are more or fewer than the files of the jobs. What else is wrong with too few
/// of them, such as a share of a file that has no target, would only follow from that. A recording names its files itself.
pub(super) fn refuse_other_count(jobs: &[Job<'_>], choice: &Choice) -> Result<(), Fault> {
    let Some(first) = jobs.first() else { return Ok(()) };
    if choice.targets.is_empty() || jobs.iter().any(|job| job.find_entry("read_iolog").is_some()) {
        return Ok(());
    }
    let mut all: Vec<String> = Vec::new();
    for job in jobs {
        let copies = job.number_within::<u64>("numjobs", 1, MOST_STREAMS as u64)?.unwrap_or(1);
        for copy in 0..copies {
            for name in file_names(job, copy)? {
                if !all.contains(&name) && all.len() <= MOST {
                    all.push(name);
                }
            }
        }
    }
    if all.len() == choice.targets.len() {
        return Ok(());
    }
    let listed: Vec<&str> = all.iter().map(String::as_str).take(LISTED).collect();
    let more = match all.len() - listed.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let [files, targets] =
        [(all.len(), "file"), (choice.targets.len(), "target")].map(|(n, what)| counted_things(n as u64, what));
    Err(first.file.fault_of_file(
        format!("the jobs have {files} ({}{more}), and the command line names {targets}", listed.join(", ")),
        "name one target for each file, in this order, or only some of them with --map FILE=TARGET",
    ))
}

/// The part of its files that a copy uses.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Used {
    /// The files, in the order of the targets.
    pub targets: Vec<u16>,
    /// The part of each file that is used.
    pub extent: Extent,
    /// For each file, how many bytes one pass through this part moves, if it is known.
    pub lengths: Vec<Option<u64>>,
    /// How many bytes one pass through all files moves, if it is known.
    pub all: Option<u64>,
}

/// Upper bound on the bytes that a job moves in one pass through its files: its `size`, which may be less than the
/// total size of its files.
fn most_bytes(job: &Job<'_>, sizes: &[Size; 2]) -> Result<u64, Fault> {
    let Some((_, Amount::Bytes(size))) = job.length_of_key("size")? else { return Ok(u64::MAX) };
    let largest = sizes.iter().map(|size| size.to.get()).max().unwrap_or(1).max(1);
    let one_size = sizes.iter().all(|size| size.from == size.to && size.to.get() == largest);
    Ok(if one_size { size.checked_next_multiple_of(largest).unwrap_or(size) } else { size })
}

/// The size of the file that `ioengine=null` pretends to have, in bytes.
fn null_bytes(job: &Job<'_>, sizes: &[Size; 2]) -> Result<u64, Fault> {
    let bytes =
        [job.length_of_key("filesize")?, job.length_of_key("size")?].into_iter().flatten().find_map(|(_, amount)| {
            match amount {
                Amount::Bytes(bytes) => Some(bytes),
                Amount::Percent(_) => None,
            }
        });
    let offset = match job.amount_of_key("offset")? {
        Some((_, Amount::Bytes(bytes))) => bytes,
        _ => 0,
    };
    let Some(bytes) = bytes.and_then(|bytes| bytes.checked_add(offset)) else {
        return Err(job.file.fault_at(job.section.place, "ioengine=null needs a size", "add size=, such as size=1g"));
    };
    Ok(bytes.max(sizes.iter().map(|size| size.to.get()).max().unwrap_or(0)))
}

/// The names of the files of a copy.
fn file_names(job: &Job<'_>, copy: u64) -> Result<Vec<String>, Fault> {
    let count = job.number_within::<u32>("nrfiles", 1, MOST as u64)?.unwrap_or(1);
    let dirs = job.text_of_key("directory")?.map(split_names).unwrap_or_default();
    let dir = if dirs.is_empty() { "" } else { dirs[(copy % dirs.len() as u64) as usize].as_str() };
    let format = job.text_of_key("filename_format")?;
    let files = match job.value_of_key("filename")? {
        Some((entry, value)) => {
            let names = split_names(&value.text);
            if names.is_empty() {
                return Err(job.fault_at_entry(entry, "no file is named", "write filename=FILE"));
            }
            names
        }
        None => {
            let format = format.unwrap_or("$jobname.$jobnum.$filenum");
            let names: Result<Vec<String>, Fault> =
                (0..count).map(|file| formatted_name(job, format, copy, file)).collect();
            names?
        }
    };
    Ok(files
        .into_iter()
        .map(|file| match dir {
            "" => file,
            dir if dir.ends_with('/') => format!("{dir}{file}"),
            dir => format!("{dir}/{file}"),
        })
        .collect())
}

fn formatted_name(job: &Job<'_>, format: &str, copy: u64, file: u32) -> Result<String, Fault> {
    let name = format.replace("$jobname", &job.name).replace("$jobnum", &copy.to_string());
    let name = name.replace("$filenum", &file.to_string());
    match job.find_entry("filename_format").filter(|_| name.contains('$') || name.is_empty()) {
        Some(entry) => {
            Err(job.fault_at_entry(entry, "not a format of names", "write it of $jobname, $jobnum and $filenum"))
        }
        None => Ok(name),
    }
}

/// The names that colons separate. `\:` is a colon within a name, and empty names are dropped.
fn split_names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match (c, characters.peek()) {
            ('\\', Some(':')) => {
                characters.next();
                add_to_last(&mut names, ':');
            }
            (':', _) => names.push(String::new()),
            _ => add_to_last(&mut names, c),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn add_to_last(names: &mut [String], c: char) {
    if let Some(name) = names.last_mut() {
        name.push(c);
    }
}

fn unescape_colons(text: &str) -> String {
    text.replace("\\:", ":")
}

/// The part of a file that a copy with `count` files uses, and how many bytes one pass through this part moves, if that
/// is known. `size` is the size of the file. The key `filesize` is for each file; the key `size` is for all files
/// together if it is in bytes, and for each file if it is a share.
fn used_range(
    job: &Job<'_>,
    name: &str,
    count: u64,
    copy: u64,
    size: Option<u64>,
    sizes: &[Size; 2],
) -> Result<(Extent, Option<u64>), Fault> {
    if let Some((entry, value)) = job.value_of_key("filesize")?
        && value.text.contains('-')
    {
        return Err(job.not_yet(entry, "a length of files that is drawn", "write one length, or a job for each file"));
    }
    let least = sizes.iter().map(|size| size.from.get()).min().unwrap_or(1);
    let largest = sizes.iter().map(|size| size.to.get()).max().unwrap_or(1);
    let bytes = |key| bytes_of_file(job, key, name, size, least);
    let (begin, increment) = (bytes("offset")?.unwrap_or(0), bytes("offset_increment")?.unwrap_or(0));
    let align = job.count_of_key("offset_align")?.filter(|align| *align > 0).unwrap_or(1);
    let begin = increment
        .checked_mul(copy)
        .and_then(|more| begin.checked_add(more))
        .and_then(|begin| begin.checked_next_multiple_of(align));
    let begin = begin.ok_or_else(|| {
        job.file.fault_of_file(format!("{}: the offset is too large", job.name), "write a smaller one")
    })?;
    let of_all = bytes("size")?;
    let is_share = matches!(job.length_of_key("size")?, Some((_, Amount::Percent(_))));
    let own = of_all.map(|length| if is_share { length } else { length / count });
    let (length, key) = match bytes("filesize")? {
        Some(length) => (Some(length), "filesize"),
        None => (own, "size"),
    };
    if let (Some(length), Some(entry)) = (length, job.find_entry(key))
        && length < largest
    {
        return Err(job.fault_at_entry(
            entry,
            "smaller than an operation of the job",
            format!("write {largest} or more"),
        ));
    }
    if let Some(size) = size {
        refuse_beyond_end(job, name, key, begin, length.unwrap_or(largest), size)?;
    }
    // The last operation of a pass may reach beyond the part, if the file is long enough.
    let one_size = least == largest && largest > 0;
    let whole = length.filter(|_| one_size).map(|length| length.next_multiple_of(largest));
    let (used, moved) = match (whole, size) {
        (Some(whole), Some(size)) if begin.saturating_add(whole) <= size => (Some(whole), Some(whole)),
        _ => {
            let rest = length.or(size.map(|size| size.saturating_sub(begin)));
            (length, rest.map(|rest| if one_size { rest / largest * largest } else { rest }))
        }
    };
    let length = used.map(|used| Part::Bytes(Bytes::new(used)));
    Ok((Extent::new(Part::Bytes(Bytes::new(begin)), length), moved))
}

/// The value of a key, in bytes of the file `name` of this size; a share is rounded down to a multiple of `least`.
fn bytes_of_file(
    job: &Job<'_>,
    key: &'static str,
    name: &str,
    size: Option<u64>,
    least: u64,
) -> Result<Option<u64>, Fault> {
    let amount = if key.ends_with("size") { job.length_of_key(key)? } else { job.amount_of_key(key)? };
    match amount {
        None => Ok(None),
        Some((_, Amount::Bytes(bytes))) => Ok(Some(bytes)),
        Some((entry, Amount::Percent(percent))) => match size {
            Some(size) => Ok(Some((u128::from(size) * u128::from(percent) / 100) as u64 / least * least)),
            None => Err(job.fault_at_entry(
                entry,
                format!("a share of {name}, whose size is not known"),
                "write bytes, or name a file that exists",
            )),
        },
    }
}

/// Refuses a part that ends beyond the end of its file.
fn refuse_beyond_end(
    job: &Job<'_>,
    name: &str,
    key: &'static str,
    begin: u64,
    length: u64,
    size: u64,
) -> Result<(), Fault> {
    let beyond = begin.saturating_add(length).saturating_sub(size);
    if beyond == 0 {
        return Ok(());
    }
    let what = format!("reaches {} beyond the end of {name}", Bytes::new(beyond).human_text());
    let remedy = "fio makes the file longer; write a smaller size or offset, or name a larger file";
    match job.find_entry(key).or_else(|| job.find_entry("offset")) {
        Some(entry) => Err(job.fault_at_entry(entry, what, remedy)),
        None => Err(job.file.fault_at(job.section.place, what, remedy)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_between_colons() {
        for (text, names) in
            [("a", &["a"][..]), ("a:b", &["a", "b"]), (r"E\:\test", &[r"E:\test"]), ("a::b:", &["a", "b"]), ("", &[])]
        {
            assert_eq!(split_names(text), names, "{text}");
        }
    }
}
