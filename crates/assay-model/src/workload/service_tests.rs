//! The keys of `model = "service"`: what they mean, and what is refused.

use crate::files::service::{Amount, MadeBy, Service, StepCall, StepPlace, WhichFile};
use crate::workload::{Adjust, read_workload};
use assay_base::{Bytes, Span};

const HEAD: &str = "model = \"service\"\nrate = \"100/s\"\n";
const LOG: &str = "[[file]]\nname = \"log\"\nsize = \"1MiB\"\n";
const WRITER: &str =
    "[writer]\nname = \"w\"\nentry = \"100B\"\nsteps = [{ write = \"log\" }, { fdatasync = \"log\" }]\n";
const DATABASE: &str = "[[file]]\nname = \"db\"\nsize = \"1MiB\"\nmade_by = \"written\"\nblock = \"4KiB\"\n";

fn service(text: &str) -> Service {
    let workload = read_workload("t", text).unwrap_or_else(|faults| panic!("{faults}"));
    *workload.load.as_files().unwrap().workload.service.clone().unwrap()
}

#[test]
fn a_service_is_its_files_its_writer_and_its_tasks() {
    let task = "[[task]]\nname = \"t\"\nthread = \"w\"\npause = \"100ms\"\nwith_changes = true\nsteps = [\
        { write = \"db\", page = \"4KiB\", pages = 4, pages_per_commit = 0.5, at = \"random\", from_here = \"both\" },\
        { fsync = \"db\", of = \"each\", until_here = \"both\" }]\n";
    let described = service(&format!("{HEAD}{LOG}{DATABASE}{WRITER}{task}"));
    assert_eq!(described.thread_names(), ["w"], "the task is in the thread of the writer");
    assert_eq!((described.files[1].made_by, described.files[1].block), (MadeBy::Written, Some(Bytes::from_kib(4))));
    // A log that is followed by another one is made as the first was, where the file says nothing else.
    assert_eq!((described.files[0].make[0].call, described.files[0].make[0].of), (StepCall::Make, WhichFile::New));
    let pages = &described.tasks[0].steps[0];
    let expected = Amount::Pages { page: Bytes::from_kib(4), pages: 4.0, per_commit: 0.5 };
    assert_eq!((pages.amount, pages.at), (expected, StepPlace::Random));
    let streams = described.streams();
    let names: Vec<&str> = streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["commit", "w-write", "w-fdatasync", "w-create", "t-write", "both", "t-fsync"]);
    // What consists of calls is not counted among them: the sum of all would have each commit twice.
    let made_of_calls = streams.iter().filter(|stream| stream.operation == "sequence");
    assert_eq!(made_of_calls.map(|stream| stream.name.as_str()).collect::<Vec<_>>(), ["commit", "both"]);
    let written = serde_json::to_string(&described).unwrap();
    assert_eq!(serde_json::from_str::<Service>(&written).unwrap(), described, "{written}");
}

#[test]
fn a_plan_knows_how_long_the_files_grow() {
    let workload = read_workload("t", &format!("{HEAD}{LOG}{WRITER}")).unwrap();
    let room = |seconds, load: &str| {
        let (measure, load) = (Some(Span::from_secs(seconds)), Some(load.parse().unwrap()));
        let plan = workload.make_plan(&Adjust { targets: 1, measure, load, ..Adjust::default() }).unwrap();
        plan.load.files().unwrap().workload.room_of_service().unwrap()
    };
    // 100 commits of 100 bytes a second, and a tenth more, in files of 1 MiB that nobody removes.
    assert_eq!((room(10, "1x").written, room(10, "1x").bytes), (100_000, 110_001));
    let hour = room(3600, "2x");
    let full = 3600 * 20_000 * 11 / 10 / (1 << 20);
    assert_eq!((hour.bytes, hour.files), ((full + 1) << 20, full + 1));
}

#[test]
fn what_cannot_be_is_refused_with_a_remedy() {
    let with = |part: &str| format!("{HEAD}{LOG}{DATABASE}{WRITER}{part}");
    let task = |keys: &str| with(&format!("[[task]]\nname = \"t\"\n{keys}\n"));
    let step = |step: &str| task(&format!("each = \"1s\"\nsteps = [{step}]"));
    let file = |keys: &str| format!("{HEAD}[[file]]\nname = \"log\"\n{keys}\n{WRITER}");
    for (text, expected) in [
        (format!("{HEAD}{WRITER}"), "there is no file \"log\""),
        (format!("{HEAD}{LOG}{LOG}{WRITER}"), "used twice"),
        (with("").replace("100/s", "0/s"), "a rate of 0 asks for nothing"),
        (with("").replace("rate", "warm_up = \"1s\"\nrate"), "a service has no warm-up"),
        (with("").replace("\"100B\"", "\"0B\""), "0B is not a size of a commit"),
        (with("").replace("[{ write = \"log\" }, { fdatasync = \"log\" }]", "[]"), "the writer does nothing"),
        (with("").replace("{ write = \"log\" }", "{ write = \"log\", fsync = \"log\" }"), "a step is one call"),
        (with("").replace("{ write = \"log\" }", "{ write = \"lgo\" }"), "there is no file \"lgo\""),
        (with("").replace("{ write = \"log\" }", "{ write = \"log\", at = \"random\" }"), "a group is written behind"),
        (with("").replace("{ write", "{ wirte"), "write"),
        (task("steps = [{ fsync = \"log\" }]"), "nothing says when this task begins"),
        (task("each = \"0s\"\nsteps = [{ fsync = \"log\" }]"), "always due"),
        (task("each = \"1s\"\npause = \"1s\"\nsteps = [{ fsync = \"log\" }]"), "each and pause both"),
        (task("after_commits = 5\nwith_changes = true\nsteps = [{ fsync = \"log\" }]"), "with_changes is about"),
        (task("each = \"1s\"\nthread = \"x\"\nsteps = [{ fsync = \"log\" }]"), "there is no thread \"x\""),
        (task("each = \"1s\"\nsteps = []"), "the task does nothing"),
        (task("after_full = \"x\"\nsteps = [{ fsync = \"log\" }]"), "there is no file \"x\""),
        (step("{ write = \"log\", bytes = \"9B\" }"), "two threads write to log: w and t"),
        (step("{ write = \"db\" }"), "this step moves no bytes"),
        (step("{ write = \"db\", page = \"4KiB\" }"), "this does not say how many bytes"),
        (step("{ write = \"db\", page = \"8KiB\", pages = 1, at = \"random\" }"), "in blocks of this size"),
        (step("{ write = \"db\", page = \"4KiB\", pages = -1 }"), "-1 is not a number of pages"),
        (step("{ write = \"db\", page = \"4KiB\", pages = nan }"), "NaN is not a number of pages"),
        (step("{ fsync = \"db\", of = \"new\" }"), "old and new files are those between which"),
        (step("{ extend = \"db\" }"), "nothing says by how much"),
        (step("{ fsync = \"db\", from_here = \"x\" }"), "from_here has no end"),
        (step("{ fsync = \"db\", until_here = \"x\" }"), "until_here has no beginning"),
        (step("{ fsync = \"db\", name = \"a b\" }"), "not a valid name of a stream"),
        (file(""), "the key size is missing"),
        (file("size = \"0B\""), "0B is not a size of a file"),
        (file("size = \"1MiB\"\nblock = \"3KiB\""), "no whole number of blocks"),
        (file("size = \"1MiB\"\naccess = \"direct\""), "O_DIRECT needs whole blocks"),
        (file("size = \"1MiB\"\nbegins_with = \"2MiB\""), "2MiB is not a part of the file"),
        (file("size = \"1MiB\"\nmake = [{ fsync = \"log\", of = \"new\" }]"), "no step of make makes the file"),
        (file("size = \"1MiB\"\nnext = [{ recycle = \"log\" }]"), "not about one of the two"),
    ] {
        let told = read_workload("t", &text).map(|_| ()).unwrap_err().to_string();
        assert!(told.contains(expected), "{text}\nexpected: {expected}\n{told}");
    }
}
