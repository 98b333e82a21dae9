//! The workload `bonnie` with the sizes of a command line: one for the large file, one for the small files. They are two,
//! because several clients seek and one creates, as in the original.

use super::options::{Arguments, BlockTests, FileTests};
use super::test::Test;
use std::fmt::Write;

/// Of a hundred seeks so many are written back.
const WRITTEN_BACK: u32 = 10;
/// Of a hundred seeks of the client that writes, so many at most: each of the other clients draws until it has a seek that
/// does not write.
const MOST_WRITTEN_BACK: u32 = 80;
/// The longest that a test may take.
const LONGEST: &str = "7d";

/// The texts of the workloads that the tests of a command line are. `memory_mib` is the memory of the machine, from which
/// the size of the large file follows where the command line does not say it.
pub fn workload_texts(arguments: &Arguments, memory_mib: u64) -> Vec<String> {
    let mut texts = Vec::new();
    if let Some(block) = &arguments.block {
        texts.push(block_text(arguments, block, memory_mib));
    }
    if let Some(files) = &arguments.files {
        texts.push(files_text(arguments, files));
    }
    texts
}

impl BlockTests {
    /// The size of the large file, in MiB.
    pub fn mib(&self, memory_mib: u64) -> u64 {
        self.size_mib.unwrap_or_else(|| memory_mib.saturating_mul(2))
    }
}

fn block_text(arguments: &Arguments, block: &BlockTests, memory_mib: u64) -> String {
    let mut text = head_text(arguments, block.seekers, block.chunk);
    let _ = writeln!(text, "chars = {}\n\n[tree]\nfiles = 1\nsize = \"0B\"\nempty = true", !arguments.manner.fast);
    let size = format!("size = \"{}MiB\"", block.mib(memory_mib));
    add_phase(&mut text, Test::WriteBlocks.phase_name(), &["create", "write", "fsync", "close"], &size);
    add_phase(&mut text, Test::Rewrite.phase_name(), &["open", "rmw", "fsync", "close"], "at = \"whole\"");
    add_phase(&mut text, Test::ReadBlocks.phase_name(), &["open", "read", "close"], "");
    if block.seeks > 0 {
        add_seeks(&mut text, block);
    }
    add_phase(&mut text, "remove", &["unlink"], "");
    text
}

/// Seeks on a file that stays open. It belongs to one of the clients, and only this one writes: it writes so much of what it
/// does back that it is a tenth of all.
fn add_seeks(text: &mut String, block: &BlockTests) {
    let name = Test::Seeks.phase_name();
    let _ = writeln!(text, "\n[[phase]]\nname = \"{name}\"\nfor = \"{LONGEST}\"\ncount = {}", block.seeks);
    let written_back = (WRITTEN_BACK * block.seekers).min(MOST_WRITTEN_BACK);
    let share = 100 - written_back;
    let _ = writeln!(
        text,
        "[[phase.do]]\nname = \"seek\"\nsteps = [\"read\"]\npick = \"any\"\nat = \"random\"\nshare = \"{share}%\""
    );
    let _ = writeln!(
        text,
        "[[phase.do]]\nname = \"seek-and-write\"\nsteps = [\"rmw\"]\nat = \"random\"\nshare = \"{written_back}%\""
    );
}

fn files_text(arguments: &Arguments, files: &FileTests) -> String {
    let mut text = head_text(arguments, 1, files.chunk);
    let _ = writeln!(text, "\n[tree]\nfiles = {}\nempty = true\nnames = {{ from = 13, to = 21 }}", files.files);
    if files.smallest == files.largest {
        let _ = writeln!(text, "size = \"{}B\"", files.largest);
    } else {
        let _ = writeln!(text, "size = {{ from = \"{}B\", to = \"{}B\" }}", files.smallest, files.largest);
    }
    if files.directories > 1 {
        let _ = writeln!(text, "width = {}\ndepth = 1", files.directories);
    }
    let mut create = vec!["create"];
    let mut stat = vec!["stat"];
    let mut delete = vec!["unlink"];
    if files.largest > 0 {
        create.push("write");
        stat.extend(["open", "read", "close"]);
    }
    if arguments.manner.synchronous {
        create.push("fsync");
        delete.push("fsync-dir");
    }
    create.push("close");
    if arguments.manner.synchronous {
        create.push("fsync-dir");
    }
    for (test, steps) in [
        (Test::CreateInOrder, &create),
        (Test::StatInOrder, &stat),
        (Test::DeleteInOrder, &delete),
        (Test::CreateAtRandom, &create),
        (Test::StatAtRandom, &stat),
        (Test::DeleteAtRandom, &delete),
    ] {
        let is_random = matches!(test, Test::CreateAtRandom | Test::StatAtRandom | Test::DeleteAtRandom);
        add_phase(&mut text, test.phase_name(), steps, if is_random { "order = \"random\"" } else { "" });
    }
    text
}

/// The keys that both workloads have.
fn head_text(arguments: &Arguments, clients: u32, chunk: u64) -> String {
    let cache = if arguments.manner.direct { "direct" } else { "drop" };
    format!(
        "name = \"bonnie\"\nmodel = \"files\"\ndescription = \"what a command line of bonnie++ asks\"\n\
         watermark = \"BONNIE-LIKE: not comparable with results of bonnie++\"\nclients = {clients}\nclosed = true\n\
         cache = \"{cache}\"\nio = \"{chunk}B\"\nduration = \"{LONGEST}\"\n"
    )
}

/// A phase in which every file has its turn once.
fn add_phase(text: &mut String, name: &str, steps: &[&str], more: &str) {
    let steps: Vec<String> = steps.iter().map(|step| format!("\"{step}\"")).collect();
    let steps = steps.join(", ");
    let _ = writeln!(
        text,
        "\n[[phase]]\nname = \"{name}\"\nuntil = \"done\"\n[[phase.do]]\nname = \"{}\"\nsteps = [{steps}]",
        sequence_name(name, &steps)
    );
    if !more.is_empty() {
        let _ = writeln!(text, "{more}");
    }
}

/// The name of a sequence: that of its operation where it has one alone, else that of its phase.
fn sequence_name(phase: &str, steps: &str) -> String {
    match steps.trim_matches('"') {
        alone if !alone.contains('"') => alone.to_owned(),
        _ => format!("{phase}-file"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::{Command, parse_args};
    use super::*;
    use assay_model::files::{CachePolicy, FileSize, FilesWorkload, Operation, Until};
    use assay_model::workload::{Adjust, read_workload};

    fn workloads(line: &str) -> Vec<FilesWorkload> {
        let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let Ok(Command::Run(arguments)) = parse_args(&args) else { panic!("{line}") };
        let mut found = Vec::new();
        for text in workload_texts(&arguments, 1024) {
            let workload = read_workload("bonnie", &text).unwrap_or_else(|faults| panic!("{faults}\n{text}"));
            for part in workload.in_steps() {
                assert!(part.make_plan(&Adjust::default()).is_ok(), "{text}");
            }
            found.push(workload.load.as_files().unwrap().workload.clone());
        }
        found
    }

    fn names(workload: &FilesWorkload) -> Vec<String> {
        workload.all_phases().into_iter().map(|phase| phase.name).collect()
    }

    #[test]
    fn a_command_line_makes_the_phases_of_the_workload_bonnie() {
        let [block, files] = &workloads("-f")[..] else { panic!() };
        assert_eq!(names(block), ["write", "rewrite", "read", "seeks", "remove"]);
        assert_eq!(block.phases[0].sequences[0].size.unwrap().get(), 2 << 30, "twice the memory");
        assert_eq!((block.clients, files.clients, files.tree.files), (5, 1, 16384));
        assert_eq!((block.phases[3].until, block.phases[3].count), (Until::Time, Some(8192)));
        let shares: Vec<u64> = block.phases[3].sequences.iter().map(|sequence| sequence.share).collect();
        assert_eq!(shares[0], shares[1], "half of one of five is a tenth");
        assert_eq!(names(files)[..2], ["create-in-order", "stat-in-order"]);
        assert!(files.phases[3].sequences[0].random_order && !files.phases[0].sequences[0].random_order);
        let with_chars = &workloads("-s 10 -n 0")[0];
        assert_eq!(names(with_chars)[5..], ["write-chars", "read-chars"]);
    }

    #[test]
    fn sizes_directories_and_durability_reach_the_workload() {
        let [block, files] = &workloads("-f -D -b -s 8:64k:0 -n 2:1000:10:4:4k -z 9223372036854775807")[..] else {
            panic!()
        };
        assert_eq!((block.cache, block.io.get(), names(block).len()), (CachePolicy::Direct, 65536, 4));
        let sizes = FileSize::Between { from: assay_base::Bytes::new(10), to: assay_base::Bytes::new(1000) };
        assert_eq!((&files.tree.size, files.tree.width, files.tree.depth), (&sizes, Some(4), Some(1)));
        let create: Vec<Operation> = files.phases[0].sequences[0].operations().collect();
        use Operation::{Close, Create, Fsync, FsyncDir, Unlink, Write};
        assert_eq!(create, [Create, Write, Fsync, Close, FsyncDir]);
        assert_eq!(files.phases[2].sequences[0].operations().collect::<Vec<_>>(), [Unlink, FsyncDir]);
        for seekers in [1, 3, 10, 40] {
            workloads(&format!("-f -s 8:8k:100:{seekers} -n 0"));
        }
    }
}
