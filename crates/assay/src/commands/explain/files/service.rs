//! What a server would do on a file system, as `assay explain` shows it: its files, the room that they need, its threads
//! with what begins them and their calls, and what of all that is an assumption.

use crate::commands::outline::PlanLines;
use assay_base::Bytes;
use assay_model::files::service::{
    Amount, Service, ServiceFile, ServiceStep, ServiceTask, StepCall, StepPlace, WhenFull, WhichFile,
};
use assay_model::files::{FilesPace, FilesWorkload};

/// Adds the lines about a server.
pub(super) fn add_lines(workload: &FilesWorkload, service: &Service, out: &mut PlanLines) {
    out.add_heading("files");
    for file in &service.files {
        out.add_line(format_args!("  {:10} {}", file.name, file_in_words(file)));
    }
    if let Some(room) = workload.room_of_service() {
        out.add_line(format_args!(
            "  room: {} made before the run, at most {} in {} files while it lasts {}",
            Bytes::new(room.bytes_at_first).human_text(),
            Bytes::new(room.bytes).human_text(),
            room.files,
            service.lasts
        ));
        out.add_line(format_args!("  it writes {} to them meanwhile", Bytes::new(room.written).human_text()));
    }
    out.add_heading("threads");
    if let FilesPace::Open { rate, .. } = workload.pace {
        out.add_line(format_args!("  {:.3} commits a second come from outside, whatever happens", rate.as_f64()));
    }
    add_writer(service, out);
    for task in &service.tasks {
        let thread = if task.thread == task.name { String::new() } else { format!(", in the thread {}", task.thread) };
        out.add_line(format_args!("  {} begins {}{thread}:", task.name, beginning_in_words(service, task)));
        add_steps(service, &task.steps, out);
    }
    add_next_files(service, out);
    if !service.assumed.is_empty() {
        out.add_heading("assumptions");
        for assumed in &service.assumed {
            out.add_line(format_args!("  {assumed}"));
        }
    }
}

fn add_writer(service: &Service, out: &mut PlanLines) {
    let writer = &service.writer;
    let most = writer.most.map_or("all commits that wait".to_owned(), |most| match most {
        1 => "one commit".to_owned(),
        most => format!("at most {most} of the commits that wait"),
    });
    let group = if writer.group.get() > 0 { format!(" and {} besides", writer.group) } else { String::new() };
    let images = writer
        .images
        .map_or(String::new(), |images| format!("; {} of the commits have {} more", images.share, images.bytes));
    out.add_line(format_args!("  {} takes {most}: {} for each{group}{images}:", writer.name, writer.entry));
    add_steps(service, &writer.steps, out);
}

fn add_next_files(service: &Service, out: &mut PlanLines) {
    for file in &service.files {
        if !file.next.is_empty() {
            out.add_line(format_args!("  {} moves on when {} is full:", service.writer.name, file.name));
            add_steps(service, &file.next, out);
        }
        if file.make.len() > 1 {
            out.add_line(format_args!("  where no {} was made beforehand:", file.name));
            add_steps(service, &file.make, out);
        }
    }
}

fn add_steps(service: &Service, steps: &[ServiceStep], out: &mut PlanLines) {
    for step in steps {
        out.add_line(format_args!("    {}", step_in_words(service, step)));
    }
}

fn file_in_words(file: &ServiceFile) -> String {
    let number = if file.number > 1 { format!("{} of ", file.number) } else { String::new() };
    let mut text = format!("{number}{}, {}", size_text(file.size), file.made_in_words());
    if let Some(block) = file.block {
        text += &format!(", in blocks of {block}");
    }
    if file.access.is_direct() {
        text += ", with O_DIRECT";
    }
    if file.access.is_dsync() {
        text += ", with O_DSYNC";
    }
    if file.begins_with.get() > 0 {
        text += &format!(", {} of it written before", file.begins_with);
    }
    if file.ready > 0 {
        text += &format!("; {} more made beforehand", file.ready);
    }
    if file.when_full == WhenFull::Start {
        text += "; when it is full it is written over from its start";
    }
    text
}

/// A size in the unit in which it is a round number: the files of some servers have whole megabytes.
fn size_text(size: Bytes) -> String {
    const MEGABYTE: u64 = 1_000_000;
    let is_decimal =
        size.get() >= MEGABYTE && size.get().is_multiple_of(MEGABYTE) && !size.get().is_multiple_of(1 << 20);
    if is_decimal { format!("{} MB", size.get() / MEGABYTE) } else { size.to_string() }
}

fn beginning_in_words(service: &Service, task: &ServiceTask) -> String {
    let mut reasons = Vec::new();
    let changes = if task.with_changes { ", if there were commits" } else { "" };
    reasons.extend(task.each.map(|each| format!("each {each}{changes}")));
    reasons.extend(task.pause.map(|pause| format!("{pause} after it has ended{changes}")));
    reasons.extend(task.after_commits.map(|commits| format!("after {commits} commits")));
    reasons.extend(task.after_bytes.map(|bytes| format!("after {bytes} of commits")));
    reasons.extend(task.after_full.map(|kind| format!("when {} was full", service.files[kind].name)));
    reasons.join(", or ")
}

fn step_in_words(service: &Service, step: &ServiceStep) -> String {
    let file = &service.files[step.file];
    let which = match step.of {
        WhichFile::Current => format!("of {}", file.name),
        WhichFile::Old => format!("of the old {}", file.name),
        WhichFile::New => format!("of the new {}", file.name),
        WhichFile::Each => format!("of each {}", file.name),
    };
    let mut text = format!("{} {which}", call_in_words(step.call));
    match step.amount {
        Amount::Group => {}
        Amount::Bytes(bytes) => text += &format!(", {bytes}"),
        Amount::Pages { page, pages, per_commit } => {
            let each =
                if per_commit > 0.0 { format!("{pages} + {per_commit} for each commit") } else { pages.to_string() };
            text += &format!(", {each} of {page}");
        }
    }
    text += place_in_words(step);
    if let Some(piece) = step.piece {
        text += &format!(", in parts of at most {piece}");
    }
    if step.spread.as_ppb() > 0 {
        text += &format!(", spread over {} of the time", step.spread);
    }
    if step.flush_every > 0 {
        let waits = if step.flush_waits { ", which waits for those before" } else { "" };
        text += &format!(", sync_file_range behind each {}{waits}", step.flush_every);
    }
    if let Some(name) = &step.name {
        text += &format!(": {name}");
    }
    if let Some(span) = &step.from_here {
        text += &format!("; {span} begins");
    }
    if let Some(span) = &step.until_here {
        text += &format!("; {span} ends");
    }
    text
}

fn place_in_words(step: &ServiceStep) -> &'static str {
    match step.at {
        StepPlace::End => "",
        StepPlace::Start => ", at its start",
        StepPlace::FirstTwo => ", the first two pages in turn",
        StepPlace::Random => ", anywhere",
        StepPlace::Follow => ", from its start on, and again when there is no more",
    }
}

fn call_in_words(call: StepCall) -> &'static str {
    match call {
        StepCall::Write => "write",
        StepCall::MmapWrite => "write through a mapping",
        StepCall::Read => "read",
        StepCall::Sendfile => "sendfile",
        StepCall::Fsync => "fsync",
        StepCall::Fdatasync => "fdatasync",
        StepCall::Msync => "msync",
        StepCall::Truncate => "cut to what was written",
        StepCall::Rename => "rename",
        StepCall::FsyncDir => "fsync of the directory",
        StepCall::Create => "create",
        StepCall::Unlink => "unlink",
        StepCall::Make => "make",
        StepCall::Recycle => "use again what is old",
        StepCall::Restart => "begin again at the start",
        StepCall::Extend => "extend by ftruncate",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(name: &str) -> Service {
        let workload = assay_run::workloads::find_workload(name).unwrap();
        *workload.load.as_files().unwrap().workload.service.clone().unwrap()
    }

    fn words(service: &Service, steps: &[ServiceStep]) -> Vec<String> {
        steps.iter().map(|step| step_in_words(service, step)).collect()
    }

    #[test]
    fn steps_say_the_call_the_file_the_bytes_and_the_place() {
        let etcd = service("etcd");
        let expected = ["write of wal, in parts of at most 128KiB", "fdatasync of wal: wal-sync"];
        assert_eq!(words(&etcd, &etcd.writer.steps), expected);
        let expected = [
            "write of db, 4 + 0.324 for each commit of 4KiB, anywhere",
            "fdatasync of db; page-commit begins",
            "write of db, 1 of 4KiB, the first two pages in turn",
            "fdatasync of db; page-commit ends",
        ];
        assert_eq!(words(&etcd, &etcd.tasks[0].steps), expected);
        assert_eq!(
            words(&etcd, &etcd.files[0].next)[4..],
            ["rename of the new wal", "fsync of the directory of the new wal"]
        );
    }

    #[test]
    fn tasks_say_what_begins_them_and_files_how_they_are_made() {
        let etcd = service("etcd");
        let backend = "100ms after it has ended, if there were commits, or after 10000 commits";
        assert_eq!(beginning_in_words(&etcd, &etcd.tasks[0]), backend);
        let prepare = etcd.tasks.iter().find(|task| task.name == "prepare").unwrap();
        assert_eq!(beginning_in_words(&etcd, prepare), "when wal was full");
        let mariadb = service("mariadb-redo");
        let redo = "96MiB, filled with zeros, in blocks of 512B, with O_DIRECT; when it is full it is written over from its start";
        assert_eq!(file_in_words(&mariadb.files[0]), redo);
    }
}
