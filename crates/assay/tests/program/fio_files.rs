//! Jobs of fio that use several files of different lengths: each file gets as many operations as fio 3.33 gave it,
//! according to fio's own log of operations.

use super::bed::Place;
use std::collections::BTreeMap;

/// A name, keys, and the operations on `a.img` and `b.img` (1 MiB each) and on `s.img` (256 KiB).
const JOBS: [(&str, &str, [u64; 3]); 15] = [
    ("equal", "filename=a.img:b.img\nsize=1m", [128, 128, 0]),
    ("unequal", "", [256, 0, 64]),
    ("whole", "file_service_type=sequential", [256, 0, 64]),
    ("any", "rw=randread\nfile_service_type=random", [256, 0, 64]),
    ("four", "filename=a.img:b.img\nsize=1m\nfile_service_type=roundrobin:4", [128, 128, 0]),
    ("passes", "io_size=2m", [384, 0, 128]),
    ("twice", "loops=2", [512, 0, 128]),
    ("hundred", "number_ios=100", [50, 0, 50]),
    ("half", "filename=a.img:b.img\nsize=50%\nrw=randread", [128, 128, 0]),
    ("behind", "filename=a.img:b.img\noffset=512k\nsize=512k", [64, 64, 0]),
    ("again", "rw=randread\nnorandommap", [160, 0, 160]),
    ("filesize", "filename=a.img:b.img\nfilesize=128k", [32, 32, 0]),
    ("less", "filename=a.img:b.img\nfilesize=256k\nsize=300k", [38, 37, 0]),
    ("third", "filename=a.img:b.img:s.img\nsize=300k", [25, 25, 25]),
    ("deep", "rw=randread\nioengine=libaio\niodepth=8", [256, 0, 64]),
];

/// A place with the three files.
fn files() -> Place {
    let place = Place::new();
    for (files, size) in [(&["a.img", "b.img"][..], "1MiB"), (&["s.img"], "256KiB")] {
        let said = place.assay(&[&["prep"], files, &["--create", size]].concat());
        assert_eq!(said.code, Some(0), "{}", said.err);
    }
    place
}

/// The operations of each step on each file, from the log: reads, writes, flushes.
fn counts(place: &Place) -> Vec<BTreeMap<String, [u64; 3]>> {
    let mut steps: Vec<BTreeMap<String, [u64; 3]>> = Vec::new();
    let mut flows: Vec<(String, usize)> = Vec::new();
    for line in std::fs::read_to_string(place.path("run/run.jsonl")).unwrap().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        if line["kind"] == "header" {
            steps.push(BTreeMap::new());
            let flow = |flow: &serde_json::Value| {
                let stream = &line["streams"][flow["stream"].as_u64().unwrap() as usize];
                let kind = ["read", "write"].iter().position(|way| stream["direction"] == **way).unwrap_or(2);
                let target = line["targets"][flow["target"].as_u64().unwrap() as usize]["name"].as_str().unwrap();
                (target.to_owned(), kind)
            };
            flows = line["flows"].as_array().unwrap().iter().map(flow).collect();
        } else if line["kind"] == "interval" {
            for ((target, kind), flow) in flows.iter().zip(line["flows"].as_array().unwrap()) {
                let own = steps.last_mut().unwrap().entry(target.clone()).or_default();
                own[*kind] += flow["ok"].as_u64().unwrap_or(0);
            }
        }
    }
    steps
}

#[test]
fn each_file_has_as_many_operations_as_fio_gave_it() {
    let place = files();
    let job = |(name, keys, _): &(&str, &str, [u64; 3])| format!("[{name}]\nstonewall\n{keys}\n");
    let jobs: String = JOBS.iter().map(job).collect();
    place.write("job.fio", &format!("[global]\ndirect=1\nbs=4k\nrw=read\nfilename=a.img:s.img\n{jobs}"));
    let (said, _) = place.run(&["run", "job.fio"]);
    assert_ne!(said.is_of_verdict(&place.path("run")), "FAIL", "{}{}", said.out, said.err);
    let found = counts(&place);
    assert_eq!(found.len(), JOBS.len());
    for ((name, _, expected), found) in JOBS.iter().zip(&found) {
        let of = |file: &str| found.get(file).map_or(0, |n| n[0]);
        assert_eq!([of("a.img"), of("b.img"), of("s.img")], *expected, "{name}");
    }
    // The fio-json has one entry for each job, with the operations on all its files.
    let json = place.assay(&["export", "run", "--to", "fio-json"]).json();
    let of = |job: &serde_json::Value| {
        let name = job["jobname"].as_str().unwrap().rsplit(": ").next().unwrap().to_owned();
        (name, job["read"]["total_ios"].as_u64().unwrap())
    };
    let exported: Vec<(String, u64)> = json["jobs"].as_array().unwrap().iter().map(of).collect();
    let expected: Vec<(String, u64)> =
        JOBS.iter().map(|(name, _, expected)| ((*name).to_owned(), expected.iter().sum())).collect();
    assert_eq!(exported, expected);
}

#[test]
fn reads_and_writes_of_a_copy_share_its_files_and_its_depth() {
    let place = files();
    place.write(
        "job.fio",
        "[global]\ndirect=1\nbs=4k\nfilename=a.img:b.img\nioengine=libaio\n[mixed]\nrw=randrw\nsize=2m\niodepth=8\nend_fsync=1\n\
         [copies]\nstonewall\nrw=write\nsize=256k\noffset_increment=256k\nnumjobs=2\n",
    );
    let (said, log) = place.run(&["run", "job.fio", "--workers", "2"]);
    assert_ne!(said.is_of_verdict(&place.path("run")), "FAIL", "{}{}", said.out, said.err);
    let found = counts(&place);
    for file in ["a.img", "b.img"] {
        let [reads, writes, flushes] = found[0][file];
        assert_eq!((reads + writes, flushes), (256, 1), "{file}: {found:?}");
        assert!((reads as f64 - 128.0).abs() <= 4.0 * 8.0, "{file}: {reads}");
        assert_eq!(found[1][file], [0, 64, 0], "{file}");
    }
    assert!(log.intervals.iter().all(|interval| interval.flows.iter().map(|flow| flow.in_flight).sum::<u64>() <= 8));
    let explained = place.assay(&["explain", "job.fio", "--section", "mixed"]);
    assert!(
        explained.out.contains("8 in flight on all its targets together, one target after the other"),
        "{}",
        explained.out
    );
}

/// Every file of a job is a target, to which all safety rules apply. If one of the files is a link to somebody else's
/// file, none of the files is written.
#[test]
fn each_file_of_a_job_is_as_safe_as_any_other_target() {
    let place = files();
    let before = vec![7u8; 1 << 20];
    std::fs::write(place.path("mine.img"), &before).unwrap();
    std::os::unix::fs::symlink("mine.img", place.path("link.img")).unwrap();
    std::os::unix::fs::symlink("a.img", place.path("same.img")).unwrap();
    let first = std::fs::read(place.path("a.img")).unwrap();
    for (files, code) in [("a.img:link.img", 4), ("a.img:absent.img", 4), ("a.img:same.img", 4)] {
        place.write("job.fio", &format!("[a]\nfilename={files}\nrw=write\nsize=512k\ndirect=1\n"));
        let said = place.assay(&["run", "job.fio"]);
        assert_eq!(said.code, Some(code), "{files}: {}{}", said.out, said.err);
        assert!(std::fs::read(place.path("mine.img")).unwrap() == before, "{files}");
        assert!(std::fs::read(place.path("a.img")).unwrap() == first, "{files}");
    }
    assert!(!place.path("absent.img").exists());
}

/// Each copy of a job plays a recording of fio at its times; after a kill it is played again from its beginning.
#[test]
fn a_recording_of_fio_is_played_by_a_job() {
    let place = files();
    place.write(
        "mix.log",
        "fio version 3 iolog\n10 a.img add\n20 a.img open\n30000 a.img read 0 4096\n200000 a.img write 8192 4096\n\
         300000 a.img read 16384 8192\n320000 a.img sync 0 0\n3400000 a.img write 4096 4096\n3500000 a.img close\n",
    );
    let job = "[a]\nread_iolog=mix.log\nnumjobs=2\ndirect=1\nrw=randread\nbs=64k\n";
    place.write("job.fio", job);
    let running = place.start(&["run", "job.fio"], 1);
    running.signal(9);
    running.end();
    let said = place.assay(&["run", "job.fio", "--resume", "run"]);
    assert_ne!(said.is_of_verdict(&place.path("run")), "FAIL", "{}{}", said.out, said.err);
    assert_eq!(counts(&place).last().unwrap()["a.img"], [4, 4, 0]);
    let explained = place.assay(&["explain", "job.fio"]);
    for told in ["bs=64k: without effect", "1 operations are neither reads nor writes"] {
        assert!(explained.out.replace("\n", " ").contains(told), "{told}: {}", explained.out);
    }
    place.write("job.fio", &job.replace("mix.log", "absent.log"));
    let said = place.assay(&["run", "job.fio"]);
    assert!(
        said.code == Some(3) && said.err.contains("job.fio:2:12") && said.err.contains("absent.log"),
        "{}",
        said.err
    );
    // The recording goes beyond the end of the file: it is refused before anything is opened.
    place.write("mix.log", "fio version 3 iolog\n5 s.img write 262144 4096\n");
    place.write("job.fio", job);
    let said = place.assay(&["run", "job.fio"]);
    assert!(said.code == Some(3) && said.err.contains("4 KiB beyond the end of s.img"), "{}", said.err);
}
