//! What `assay explain` says about every key of a job file.

use super::alike::is_as_fio;
use super::job::Job;
use super::keys::Class;
use super::text::{JobFile, Section};

/// A key as it is written, and how it is treated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The file in which it stands.
    pub file: String,
    /// Its line there.
    pub line: usize,
    /// Its section.
    pub section: String,
    /// The key as it is written, with its value.
    pub written: String,
    /// How it is treated.
    pub class: Class,
    /// The meaning of the key, and the difference from fio or the reason.
    pub means: String,
}

/// The keys of the jobs that are run and of the sections that set their defaults, in the order of the file.
pub(super) fn explained_lines(file: &JobFile, jobs: &[Job<'_>], page_cache: bool) -> Vec<Line> {
    let last = file.sections.iter().rposition(|section| is_run(section, jobs)).unwrap_or(0);
    let sections = file.sections[..=last].iter().filter(|section| section.is_global() || is_run(section, jobs));
    sections.flat_map(|section| of_section(file, section, page_cache)).collect()
}

fn is_run(section: &Section, jobs: &[Job<'_>]) -> bool {
    jobs.iter().any(|job| std::ptr::eq(job.section, section))
}

fn of_section<'a>(file: &'a JobFile, section: &'a Section, page_cache: bool) -> impl Iterator<Item = Line> + 'a {
    section.entries.iter().enumerate().map(move |(at, entry)| {
        let (name, line) = file.file_and_line(entry.place);
        let again = section.entries[at + 1..].iter().find(|other| other.key == entry.key);
        let key = file.text_at(entry.place);
        let value = entry.value.as_ref().map_or(String::new(), |value| format!("={}", value.text));
        let exact = is_as_fio(entry, page_cache);
        let told = if exact && entry.key.class != Class::Exact { "" } else { entry.key.told };
        let means = match entry.key.means {
            "" if exact => "what the kernel is told about the order of the operations",
            means => means,
        };
        let told: Vec<&str> = [means, told].into_iter().filter(|text| !text.is_empty()).collect();
        Line {
            file: name.to_owned(),
            line,
            section: section.name.clone(),
            written: format!("{key}{value}"),
            class: if exact { Class::Exact } else { entry.key.class },
            means: again
                .map_or(told.join("; "), |again| format!("replaced in line {}", file.file_and_line(again.place).1)),
        }
    })
}
