//! What the keys of a workload on a file system mean, and which values are refused, with the line.

use super::*;
use crate::files::{FileSize, Layout, Operation, Pick, Place, SequenceFiles, Shared};

const FILESERVER: &str = r#"name = "file server"
model = "files"
clients = 50
rate = "500/s"
arrival = "steady"
cache = "direct"
io = "16KiB"
duration = "5min"

[tree]
files = 10_000
size = { mean = "128KiB", shape = 1.5 }
width = 20

[[do]]
name = "deliver"
steps = ["create", "write", "close"]
share = 2

[[do]]
name = "grow"
steps = [["open", "append", "close"], ["unlink"]]

[[criterion]]
stream = "fsync"
p99_at_most = "50ms"
window = "1min"
"#;

fn file(text: &str) -> Result<Workload, Fault> {
    read_files(Source { file: "w.toml", text })
}

fn meant(text: &str) -> FilesWorkload {
    file(text).unwrap().load.as_files().unwrap().workload.clone()
}

#[test]
fn a_file_says_what_clients_do() {
    let text = FILESERVER.replace("\"close\"]\nshare", "\"fsync\", \"close\"]\nshare");
    let workload = file(&text).unwrap();
    let planned = workload.load.as_files().unwrap();
    let files = &planned.workload;
    assert_eq!(
        (files.clients, files.io, files.cache, planned.verify),
        (50, Bytes::from_kib(16), CachePolicy::Direct, true)
    );
    assert_eq!(files.pace, FilesPace::Open { rate: Rate::per_second(500), arrival: Spacing::Steady });
    assert_eq!(files.tree.size, FileSize::Gamma { mean: Bytes::from_kib(128), shape: 1.5 });
    assert_eq!((files.tree.files, files.tree.width, files.tree.depth), (10_000, Some(20), None));
    assert_eq!((files.sequences[0].share, files.sequences[1].share), (2, 1));
    assert_eq!(files.sequences[1].steps[1], [Operation::Unlink]);
    assert_eq!(
        (workload.name.as_str(), workload.model, workload.timing.duration),
        ("file server", "files", Span::from_secs(300))
    );
    assert_eq!(workload.criteria[0].to_string(), "fsync response over 50ms at most 1% per 1min");
    let least = file("model = \"files\"\nclosed = true\n[tree]\nfiles = 5\nsize = \"1KiB\"\n[[do]]\nname = \"stat\"\nsteps = [\"stat\"]\n").unwrap();
    let planned = least.load.as_files().unwrap();
    let least = &planned.workload;
    assert_eq!((least.pace, least.clients, least.io), (FilesPace::Closed, 8, Bytes::from_kib(128)));
    assert_eq!((least.cache, planned.verify), (CachePolicy::Drop, true));
}

#[test]
fn phases_have_sequences_of_their_own_or_those_of_the_workload() {
    let text = r#"model = "files"
closed = true
io = "47008B"
verify = false
[tree]
size = "1GiB"
shared = 1
layout = "interleaved"
empty = true
[[do]]
name = "look"
steps = ["read"]
on = "shared"
pick = "next"
io = "4KiB"
at = "random"
[[phase]]
name = "write"
for = "300s"
until = "stonewall"
[[phase.do]]
name = "write"
steps = ["write"]
on = "shared"
[[phase]]
name = "read"
for = "1min"
"#;
    let workload = file(text).unwrap();
    let planned = workload.load.as_files().unwrap();
    let files = planned.workload.clone();
    let shared = Shared { files: 1, layout: Layout::Interleaved, size: None };
    assert_eq!((planned.verify, files.tree.shared), (false, Some(shared)));
    let phases = files.all_phases();
    assert_eq!((phases[0].until, phases[0].span), (Until::Stonewall, Some(Span::from_secs(300))));
    assert_eq!((phases[0].sequences[0].name.as_str(), phases[1].sequences[0].name.as_str()), ("write", "look"));
    let look = &phases[1].sequences[0];
    assert_eq!(
        (look.on, look.pick, look.io, look.at),
        (SequenceFiles::Shared, Pick::Next, Some(Bytes::from_kib(4)), Some(Place::Random))
    );
}

#[test]
fn every_form_of_size() {
    for (form, expected) in [
        ("\"3901B\"", FileSize::Fixed(Bytes::new(3901))),
        ("{ from = \"0B\", to = \"1KiB\" }", FileSize::Between { from: Bytes::new(0), to: Bytes::from_kib(1) }),
        ("{ log2 = [1, 0, 5] }", FileSize::Log2(vec![1, 0, 5])),
    ] {
        let text = FILESERVER
            .replace("{ mean = \"128KiB\", shape = 1.5 }", form)
            .replace("stream = \"fsync\"", "stream = \"close\"");
        assert_eq!(meant(&text).tree.size, expected);
    }
}

#[test]
fn a_counted_tree_is_read_with_its_directories_names_and_links() {
    let counted =
        "directories = [[0, 1, 10], [1, 20, 9990]]\nnames = [[13, 5], [30, 1]]\nsymlinks = \"4%\"\nlinks = \"0.5%\"\n";
    let tree = meant(&FILESERVER.replace("width = 20\n", counted).replace("\"fsync\"", "\"close\"")).tree;
    assert_eq!((tree.directories.len(), tree.directories[1].directories), (2, 20));
    assert_eq!((tree.symlink_count(), tree.link_count()), (400, 50));
    assert_eq!(tree.names.unwrap().weights().iter().map(|one| one.length).collect::<Vec<_>>(), [13, 30]);
    let text = "model = \"files\"\nclosed = true\n[tree]\nfiles = 9\nsize = \"0B\"\nempty = true\nshared = 1\nshared_size = \"1GiB\"\n\
                [[phase]]\nname = \"w\"\nuntil = \"done\"\nfiles = 2\n\
                [[phase.do]]\nname = \"w\"\nsteps = [\"create\", \"write\", \"close\"]\nsize = \"4MiB\"\n";
    let files = meant(text);
    assert_eq!((files.tree.shared.unwrap().size, files.phases[0].files), (Some(Bytes::from_kib(1 << 20)), Some(2)));
    assert_eq!((files.phases[0].sequences[0].size, files.bytes_beyond_tree()), (Some(Bytes::from_kib(4096)), 8 << 20));
    let range =
        FILESERVER.replace("width = 20\n", "names = { from = 13, to = 21 }\n").replace("\"fsync\"", "\"close\"");
    assert_eq!(meant(&range).tree.names.unwrap().weights().len(), 9);
}

#[test]
fn what_cannot_be_is_refused_at_its_line() {
    let tree_end = "width = 20\n";
    for (from, to, line, what) in [
        ("rate = \"500/s\"", "rate = \"0/s\"", 4, "a rate of 0 asks for nothing"),
        ("rate = \"500/s\"", "rates = \"500/s\"", 4, "unknown key \"rates\""),
        ("rate = \"500/s\"\n", "", 0, "nothing says when sequences are wanted"),
        ("rate = \"500/s\"", "rate = \"500/s\"\nclosed = true", 5, "closed and rate both say"),
        ("rate = \"500/s\"", "closed = true", 5, "arrival is that of a rate"),
        ("clients = 50", "clients = 0", 3, "0 is not a number of clients"),
        ("\"direct\"", "\"cold\"", 6, "unknown value \"cold\""),
        ("io = \"16KiB\"", "io = \"0B\"", 7, "0B is not a size of a read or write"),
        ("io = \"16KiB\"", "scheduler = \"none\"", 7, "unknown key \"scheduler\""),
        ("files = 10_000", "files = 2_000_000_000", 11, "2000000000 is not a number of files"),
        ("shape = 1.5", "shape = 0.0", 12, "0 is not a shape of sizes"),
        ("shape = 1.5", "to = \"1MiB\"", 12, "give sizes in exactly one way"),
        (tree_end, "width = 0\n", 13, "0 is not a number of entries"),
        (tree_end, "depth = 3\n", 13, "depth says nothing without width"),
        (tree_end, "width = 1000\ndepth = 9\n", 10, "this tree has more than"),
        (tree_end, "directories = [[0, 2, 5]]\n", 13, "depth 0 is the directory of the run alone"),
        (tree_end, "directories = [[0, 1, 5], [2, 3, 5]]\n", 13, "there are directories below depth 1, and none"),
        (tree_end, "directories = [[0, 1, 0]]\n", 13, "no directory has files"),
        (tree_end, "directories = [[1, 0, 5]]\n", 13, "a group without directories"),
        (tree_end, "width = 20\ndirectories = [[0, 1, 5]]\n", 14, "directories says which directories there are"),
        (tree_end, "names = [[0, 5]]\n", 13, "these are not lengths of names"),
        (tree_end, "names = { from = 9, to = 300 }\n", 13, "these are not lengths of names"),
        (tree_end, "links = \"101%\"\n", 13, "101% is more than one for each file"),
        (tree_end, "shared_size = \"1MiB\"\n", 13, "shared_size is that of shared files"),
        ("share = 2", "size = \"2048TiB\"", 18, "2048TiB is larger than any file"),
        ("name = \"grow\"\n", "name = \"grow\"\nsize = \"1MiB\"\n", 22, "size is that of files of the tree which"),
        (
            "[[criterion]]",
            "[[phase]]\nname = \"p\"\nfiles = 5\n[[criterion]]",
            26,
            "files says which files a phase takes once",
        ),
        (tree_end, "layout = \"segments\"\n", 13, "layout is that of shared files"),
        ("name = \"deliver\"", "name = \"a b\"", 16, "not a valid name of a sequence"),
        ("name = \"deliver\"", "name = \"unlink\"", 16, "unlink is an operation, and would be the name of two streams"),
        ("name = \"deliver\"", "name = \"append\"", 16, "append is an operation"),
        ("\"create\", \"write\", \"close\"", "\"create\", \"wrte\", \"close\"", 17, "there is no operation \"wrte\""),
        ("\"create\", \"write\", \"close\"", "\"create\", \"write\"", 17, "the file stays open"),
        ("share = 2", "share = 0", 18, "a share of 0 is never done"),
        ("share = 2", "share = 1_000_000_000_001", 18, "share = 1000000000001 is too large"),
        ("share = 2", "share = -1", 18, "a share below 0"),
        ("share = 2", "share = \"20%\"", 18, "a percentage beside shares that are none"),
        ("share = 2", "pick = \"next\"", 17, "create changes a file, and only its owner does that"),
        ("share = 2", "order = \"random\"", 18, "order is for a phase"),
        ("share = 2", "on = \"shared\"", 17, "create is not possible on a file that all clients share"),
        (
            "[[criterion]]",
            "[[do]]\nname = \"ask\"\nsteps = [\"stat\"]\npick = \"any\"\n[[criterion]]",
            27,
            "ask is on files of others",
        ),
        (
            "[[criterion]]",
            "[[phase]]\nname = \"p\"\nuntil = \"done\"\n[[criterion]]",
            18,
            "share in a phase that takes every file once",
        ),
        (
            "[[criterion]]",
            "[[phase]]\nname = \"p\"\n[[phase.do]]\nname = \"ask\"\nsteps = [\"stat\"]\n[[criterion]]",
            15,
            "no phase uses this [[do]]",
        ),
        ("io = \"16KiB\"", "in_flight_bound = 5", 7, "unknown key \"in_flight_bound\""),
        ("[[criterion]]", "[[phase]]\nname = \"p\"\nfor = \"0s\"\n[[criterion]]", 26, "not a length of a phase"),
        ("stream = \"fsync\"", "stream = \"fsinc\"", 25, "there is no stream \"fsinc\""),
    ] {
        let text = FILESERVER.replacen(from, to, 1);
        assert!(text.contains(to), "{from} is in the file");
        let fault = file(&text).unwrap_err();
        assert!(fault.line == line && fault.what.starts_with(what), "{to}: {fault}");
        assert!(!fault.remedy.is_empty() || fault.what.starts_with("there is no stream"), "{fault}");
    }
}

/// Phases that make empty files, of which the second one is counted.
const PHASES: &str = r#"model = "files"
closed = true
[tree]
files = 10
size = "0B"
empty = true
[[phase]]
name = "make"
until = "done"
[[phase.do]]
name = "make"
steps = ["create", "close"]
[[phase]]
name = "look"
count = 500
[[phase.do]]
name = "stat"
steps = ["stat"]
"#;

#[test]
fn a_phase_may_be_over_after_a_number_of_sequences() {
    let files = meant(PHASES);
    assert_eq!((files.phases[0].count, files.phases[1].count), (None, Some(500)));
    assert!(files.phases[1].may_end_early() && !files.phases[1].takes_every_file_once());
    for (from, to, what) in [
        ("count = 500", "count = 0", "0 is not a number of sequences"),
        ("until = \"done\"", "until = \"done\"\ncount = 3", "count says after how many sequences"),
    ] {
        let fault = file(&PHASES.replace(from, to)).unwrap_err();
        assert!(fault.what.starts_with(what) && fault.line > 1 && !fault.remedy.is_empty(), "{fault}");
    }
}

#[test]
fn chars_are_two_phases_behind_all_others_and_off_unless_wanted() {
    assert_eq!(meant(&format!("chars = false\n{PHASES}")), meant(PHASES));
    let with_chars = format!("chars = true\n{PHASES}");
    let phases = meant(&with_chars).phases;
    let names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["make", "look", "write-chars", "read-chars"]);
    let write = &phases[2].sequences[0];
    assert_eq!((write.io, write.size, phases[2].files), (Some(Bytes::new(1)), Some(Bytes::from_kib(20480)), Some(1)));
    for (from, to, what) in [
        ("empty = true", "", "chars makes a file"),
        ("name = \"look\"", "name = \"read-chars\"", "chars adds a phase read-chars"),
    ] {
        let fault = file(&with_chars.replace(from, to)).unwrap_err();
        assert!(fault.what.starts_with(what) && fault.line == 1 && !fault.remedy.is_empty(), "{fault}");
    }
    let text = FILESERVER.replace("clients = 50", "clients = 50\nchars = true");
    assert!(file(&text).unwrap_err().what.starts_with("chars adds phases behind those of the file"));
}

#[test]
fn steps_on_shared_files_fit_to_their_layout() {
    let text = |tree: &str, keys: &str| {
        format!("model = \"files\"\nclosed = true\n[tree]\nsize = \"1MiB\"\n{tree}\n[[do]]\nname = \"s\"\n{keys}\n")
    };
    let shared = "on = \"shared\"";
    for (tree, keys, what) in [
        ("files = 5", format!("steps = [\"write\"]\n{shared}"), "the tree has no shared files"),
        ("shared = 1", "steps = [\"stat\"]".to_owned(), "the tree has no files but shared ones"),
        ("shared = 1", format!("steps = [\"append\"]\n{shared}"), "append to a shared file"),
        ("shared = 1\nlayout = \"append\"", format!("steps = [\"write\"]\n{shared}"), "write needs places"),
        ("shared = 1", format!("steps = [\"unlink\"]\n{shared}"), "unlink is not possible on a file that all"),
        ("files = 0", "steps = [\"stat\"]".to_owned(), "a tree without files"),
    ] {
        let fault = file(&text(tree, &keys)).unwrap_err();
        assert!(fault.what.starts_with(what) && fault.line > 0, "{fault}");
    }
    assert!(
        file(&text("shared = 1\nlayout = \"append\"", &format!("steps = [\"append\", \"fsync\"]\n{shared}"))).is_ok()
    );
}

#[test]
fn percentages_make_the_whole() {
    let with = |a: &str, b: &str| {
        let text = FILESERVER
            .replace("share = 2", &format!("share = \"{a}\""))
            .replace("name = \"grow\"", &format!("name = \"grow\"\nshare = \"{b}\""));
        file(&text.replace("stream = \"fsync\"", "stream = \"close\""))
            .map(|file| file.load.as_files().unwrap().workload.sequences[0].share)
            .map_err(|fault| fault.what)
    };
    assert_eq!(with("20%", "80%"), Ok(200_000_000));
    assert_eq!(with("20%", "70%"), Err("the shares of the sequences make 90%".to_owned()));
}

const PHASED: &str = r#"model = "files"
rate = "100/s"
slice = "1min"
[tree]
files = 100
size = "4KiB"
[[phase]]
name = "make"
until = "done"
for = "10min"
[[phase.do]]
name = "make"
steps = ["open", "write", "close"]
[[phase]]
name = "look"
for = "20s"
[[phase.do]]
name = "stat"
steps = ["stat"]
share = 3
[[phase.do]]
name = "list"
steps = ["readdir"]
[[criterion]]
stream = "stat"
p99_at_most = "5ms"
window = "20s"
"#;

#[test]
fn each_phase_is_a_step_with_its_own_streams_times_and_criteria() {
    let workload = file(PHASED).unwrap();
    assert!(workload.make_plan(&super::super::Adjust::default()).unwrap_err().contains("has 2 phases"));
    let parts = workload.in_steps();
    let plans: Vec<crate::Plan> =
        parts.iter().map(|part| part.make_plan(&super::super::Adjust::default()).unwrap()).collect();
    let names = |plan: &crate::Plan| plan.load.streams.iter().map(|stream| stream.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&plans[0]), ["make", "open", "write", "close"]);
    assert_eq!(names(&plans[1]), ["stat", "list", "readdir"]);
    let until_done: Vec<bool> = plans.iter().map(|plan| plan.timing.ends_when_done()).collect();
    assert_eq!(until_done, [true, false]);
    let lengths: Vec<Span> = plans.iter().map(|plan| plan.timing.measured_length()).collect();
    assert_eq!(lengths, [Span::from_secs(600), Span::from_secs(20)]);
    assert_eq!((plans[0].timing.slice, plans[1].timing.slice), (Span::from_secs(60), Span::from_secs(20)));
    assert_eq!((plans[0].criteria.len(), plans[1].criteria.len()), (0, 1));
    let rates: Vec<_> = plans[1].load.streams.iter().map(|stream| stream.arrival.mean_rate()).collect();
    assert_eq!(rates, [Some(Rate::per_second(75)), Some(Rate::per_second(25)), None]);
    assert_eq!(plans[1].load.files().map(|files| (files.phase, files.is_last_phase())), Some((1, true)));
    let doubled = super::super::Adjust { load: Some("2x".parse().unwrap()), ..Default::default() };
    let doubled = parts[1].make_plan(&doubled).unwrap();
    assert_eq!(doubled.load.streams[0].arrival.mean_rate(), Some(Rate::per_second(150)));
    let pace = FilesPace::Open { rate: Rate::per_second(200), arrival: Spacing::Poisson };
    assert_eq!(doubled.load.files().unwrap().workload.pace, pace);
    let kept: crate::Plan = serde_json::from_str(&serde_json::to_string(&doubled).unwrap()).unwrap();
    assert_eq!(kept, doubled);
    let warm = PHASED.replace("slice =", "warm_up = \"1min\"\nslice =");
    assert!(file(&warm).unwrap_err().to_string().contains("has no warm-up"));
}

#[test]
fn without_phases_the_workload_is_its_own_only_part() {
    let workload = file(FILESERVER.replace("stream = \"fsync\"", "stream = \"deliver\"").as_str()).unwrap();
    assert_eq!(workload.in_steps().len(), 1);
    let plan = workload.make_plan(&super::super::Adjust::default()).unwrap();
    assert!(!plan.timing.ends_when_done() && plan.closed_loops().is_empty() && plan.resembled_tools().is_empty());
    assert_eq!(plan.load.in_flight_bound, 50);
}

#[test]
fn a_phase_that_one_client_does_for_all_and_one_that_has_to_last() {
    let text = |keys: &str, more: &str| {
        format!(
            "model = \"files\"\nclosed = true\n[tree]\nfiles = 9\nsize = \"0B\"\nempty = true\n[[phase]]\nname = \"make\"\n{keys}\n\
             [[phase.do]]\nname = \"make\"\nsteps = [\"create\", \"close\"]\n{more}\n"
        )
    };
    let read = meant(&text("until = \"done\"\ncollective = true\nfor = \"1min\"\nat_least = \"10s\"", ""));
    assert_eq!((read.phases[0].collective, read.phases[0].at_least), (true, Some(Span::from_secs(10))));
    for (keys, more, what) in [
        ("collective = true", "", "collective means that the first client takes every file once"),
        ("until = \"stonewall\"\ncollective = true", "", "collective means"),
        (
            "until = \"done\"\ncollective = true",
            "pick = \"next\"",
            "the first client works on the files of all, and make",
        ),
        ("until = \"done\"\nfor = \"5s\"\nat_least = \"10s\"", "", "not a time that a phase can last at least"),
        ("until = \"done\"\nat_least = \"0s\"", "", "not a time that a phase can last at least"),
    ] {
        // What only reads may be on files of others.
        let asked = text(keys, more)
            .replace("\"create\", \"close\"", if more.is_empty() { "\"create\", \"close\"" } else { "\"stat\"" });
        let refused = file(&asked).unwrap_err().to_string();
        assert!(refused.contains(what), "{keys}: {refused}");
    }
}

#[test]
fn a_tree_with_a_source_is_said_by_what_is_in_it() {
    use crate::files::SourceFound;
    let text = "model = \"files\"\nclosed = true\n[tree]\nsource = \"/s\"\nempty = true\n[[do]]\nname = \"m\"\nsteps = [\"create\", \"write\", \"close\"]\n";
    let mut workload = file(text).unwrap();
    let digest = "00".to_owned();
    let found = SourceFound { files: 7, directories: 3, symlinks: 2, bytes: Bytes::new(5000), digest };
    workload.set_source_found(&found, Vec::new());
    let tree = workload.load.as_files().unwrap().workload.tree.clone();
    let shape = crate::files::TreeShape::new(&tree, 2, 1).unwrap();
    assert_eq!((shape.totals().inodes(), shape.totals().bytes, tree.symlink_count()), (7 + 3 + 2, Bytes::new(5000), 2));
    let plan = workload.make_plan(&super::super::Adjust::default()).unwrap();
    let kept: crate::Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    assert_eq!(kept, plan);
    for (key, what) in [("size = \"1KiB\"", "size is said by"), ("private = true", "private is said by")] {
        let refused = file(&text.replace("empty = true", key)).unwrap_err().to_string();
        assert!(refused.contains(what), "{refused}");
    }
}
