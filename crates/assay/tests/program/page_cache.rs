//! Jobs of fio with `direct=0`: through the page cache only with `--page-cache`, and then marked in every result.

use super::bed::Place;
use super::devices::{Disk, Loop};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Bytes of the file.
const SIZE: usize = 8 << 20;
/// A job that reads every block of this file once.
const READS: &str = "[reads]\nfilename=data.img\nrw=randread\nbs=4k\nsize=8m\n";

/// A place with a file full of data.
fn prepared() -> Place {
    let place = Place::new();
    let said = place.assay(&["prep", "data.img", "--create", "8MiB", "--skip-zero"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    place
}

/// How many pages of a file are in memory.
fn resident(path: &Path) -> usize {
    let file = File::open(path).unwrap();
    let mut pages = vec![0u8; SIZE / 4096];
    // SAFETY: the mapping is only looked at by mincore, which stores one byte for each page of it in `pages`.
    unsafe {
        let map = libc::mmap(std::ptr::null_mut(), SIZE, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
        assert_ne!(map, libc::MAP_FAILED);
        assert_eq!(libc::mincore(map, SIZE, pages.as_mut_ptr()), 0);
        assert_eq!(libc::munmap(map, SIZE), 0);
    }
    pages.iter().filter(|page| **page & 1 == 1).count()
}

/// Asks the kernel to drop the pages of a file from its cache; false if it keeps them, as a file system in memory does.
fn dropped(path: &Path) -> bool {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    // SAFETY: a call without pointers.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    resident(path) == 0
}

#[test]
fn a_job_uses_the_page_cache_only_if_that_is_asked_for_and_every_result_says_so() {
    let place = prepared();
    let data = place.path("data.img");
    if !dropped(&data) {
        return super::devices::passed_over("the page cache of this file system cannot be dropped");
    }
    place.write("job.fio", READS);
    let (said, log) = place.run(&["run", "job.fio"]);
    assert!(!said.out.contains("PAGE CACHE") && log.header.watermarks.iter().all(|mark| !mark.contains("PAGE CACHE")));
    assert!(log.header.plan.get("page_cache").is_none());
    let direct = resident(&data);
    std::fs::remove_dir_all(place.path("run")).unwrap();
    let (said, log) = place.run(&["run", "job.fio", "--page-cache"]);
    assert!(resident(&data) > direct + SIZE / 4096 / 2, "{} pages, and {direct} without it", resident(&data));
    assert_eq!(log.header.plan["page_cache"], serde_json::json!([{ "target": 0, "advice": "random" }]));
    assert_eq!(log.stream("reads").ok, 2048);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").contains("PAGE CACHE: the jobs ask");
    assert!(words(&said.out), "{}", said.out);
    for file in ["verdict.json", "run.jsonl"] {
        assert!(words(&std::fs::read_to_string(place.path("run").join(file)).unwrap()), "{file}");
    }
    assert!(std::fs::read_to_string(place.path("run/report.html")).unwrap().contains("<b>PAGE CACHE</b>"));
    let json = place.assay(&["export", "run", "--to", "fio-json"]).json();
    let options = &json["jobs"][0]["job options"];
    assert_eq!(options["direct"], "0");
    assert!(options["description"].as_str().unwrap().starts_with("PAGE CACHE: "), "{options}");
    // The result is a record, and not a certificate.
    let said = place.assay(&["verify", "run"]);
    assert!(said.code == Some(3) && words(&said.out), "{said:?}");
}

/// When a job begins, the pages of its file are dropped from the kernel's cache, unless the job keeps them.
#[test]
fn a_run_begins_with_an_empty_cache_unless_a_job_keeps_it() {
    let place = prepared();
    let data = place.path("data.img");
    if !dropped(&data) {
        return super::devices::passed_over("the page cache of this file system cannot be dropped");
    }
    let mut found = Vec::new();
    for keys in ["", "invalidate=0\n"] {
        assert!(std::fs::read(&data).unwrap().len() > SIZE && resident(&data) > 0);
        place.write("job.fio", &format!("{READS}number_ios=1\n{keys}"));
        let said =
            place.assay(&["run", "job.fio", "--page-cache", "--out", if keys.is_empty() { "drop" } else { "keep" }]);
        assert!(said.err.contains("results in"), "{}", said.err);
        found.push(resident(&data));
    }
    assert!(found[0] < found[1], "{found:?}");
}

/// Through the page cache, operations have the length that the job states; with direct I/O it is rounded up to blocks.
/// A later run recognises the data as the program's own.
#[test]
fn operations_have_any_length_through_the_page_cache() {
    for (bs, more, each) in [("1000", &["--page-cache"][..], 1000), ("4097", &["--page-cache"], 4097), ("1000", &[], 0)]
    {
        let place = Place::new();
        place.write("job.fio", &format!("[writes]\nfilename=data.img\nrw=write\nbs={bs}\nsize=2m\nend_fsync=1\n"));
        for dir in ["run", "again"] {
            let args = [&["run", "job.fio", "--create", "4MiB", "--out", dir][..], more].concat();
            let said = place.assay(&args);
            assert_ne!(said.is_of_verdict(&place.path(dir)), "FAIL", "{bs} {dir}: {}", said.out);
        }
        let log = super::bed::Log::of(&place.path("again"));
        let writes = log.stream("writes");
        let blocks = u64::from(log.header.targets[0].block_bytes);
        let each = if each > 0 { each } else { 1000u64.next_multiple_of(blocks) };
        assert_eq!((writes.ok, writes.bytes), ((2u64 << 20).div_ceil(bs.parse().unwrap()), writes.ok * each), "{bs}");
        assert_eq!(blocks == 1, !more.is_empty());
    }
}

/// The job by which a disk is often tried for a database that flushes after each record, with records of an odd length.
/// The size is cut to whole records, as in fio.
#[test]
fn records_of_a_journal_are_written_and_flushed_one_by_one() {
    let place = Place::new();
    place.write(
        "journal.fio",
        "[journal]\nrw=write\nioengine=sync\nfdatasync=1\nfilename=data.img\nsize=512k\nbs=2300\n",
    );
    let (said, log) = place.run(&["run", "journal.fio", "--page-cache", "--create", "1MiB"]);
    assert_ne!(said.is_of_verdict(&place.path("run")), "FAIL", "{}", said.out);
    let (writes, flushes) = (log.stream("journal"), log.stream("journal.flushes"));
    assert_eq!((writes.ok, writes.bytes, flushes.ok), (227, 227 * 2300, 226));
    let json = place.assay(&["export", "run", "--to", "fio-json"]).json();
    assert_eq!(
        (&json["jobs"][0]["write"]["total_ios"], &json["jobs"][0]["sync"]["total_ios"]),
        (&227.into(), &226.into())
    );
}

#[test]
fn what_the_keys_mean_is_explained() {
    let place = prepared();
    place.write("job.fio", &format!("[global]\ndirect=0\ninvalidate=1\n{READS}"));
    for (more, class, told) in [
        (&[][..], "differs", "O_DIRECT is used nevertheless: the page cache is not tested; --page-cache uses it"),
        (&["--page-cache"], "exact", "reads: uses data.img through the page cache"),
        (&["--page-cache", "--map", "data.img=sim:flash"], "exact", "reads: there is no page cache before data.img"),
    ] {
        let args = [&["explain", "job.fio"][..], more].concat();
        let said = place.assay(&args);
        assert!(said.code == Some(0) && said.out.contains(told), "{args:?}: {}{}", said.out, said.err);
        let keys = place.assay(&[&args[..], &["--json"]].concat()).json()["keys"].clone();
        let of = |written: &str| {
            let keys = keys.as_array().unwrap();
            keys.iter().find(|key| key["written"] == written).unwrap()["class"].as_str().unwrap().to_owned()
        };
        assert_eq!((of("direct=0"), of("invalidate=1")), (class.to_owned(), class.to_owned()), "{args:?}");
    }
}

#[test]
fn the_page_cache_is_refused_where_there_is_none() {
    let place = prepared();
    place.write("job.fio", &format!("[global]\ndirect=0\n{READS}[other]\nfilename=data.img\nsize=8m\ndirect=1\n"));
    for (args, code, told) in [
        (&["run", "job.fio", "--page-cache"][..], 3, "data.img used directly by one of the jobs reads and other"),
        (&["explain", "random-read", "sim:flash", "--page-cache"], 2, "--page-cache are for fio job files"),
    ] {
        let said = place.assay(args);
        assert!(said.code == Some(code) && said.err.contains(told), "{args:?}: {}", said.err);
    }
    let said = place.assay(&["explain", "job.fio", "--page-cache"]);
    assert!(said.err.contains("--> job.fio:11:1\n"), "{}", said.err);
    let Some(device) = Loop::over(&place, "device", 16 << 20) else { return };
    let map = format!("data.img={}", device.path());
    for verb in ["run", "explain", "limit"] {
        let said = place.assay(&[verb, "job.fio", "--section", "reads", "--page-cache", "--map", &map]);
        assert!(
            said.code == Some(4) && said.err.contains("only files are used through the page cache"),
            "{verb}: {}",
            said.err
        );
    }
    // With direct I/O, the same job can read it.
    assert_eq!(place.assay(&["explain", "job.fio", "--section", "reads", "--map", &map]).code, Some(0));
}

/// With `do_verify=0`, what is written is sealed and left alone, and a later job verifies it.
#[test]
fn what_is_sealed_is_left_for_a_later_job() {
    let place = Place::new();
    let global = "[global]\nfilename=data.img\nsize=1m\nbs=4k\nverify=crc32c\n";
    place.write("seal.fio", &format!("{global}[seals]\nrw=write\ndo_verify=0\n"));
    place.write("compare.fio", &format!("{global}[compares]\nrw=read\n"));
    let (said, log) = place.run(&["run", "seal.fio", "--create", "1MiB"]);
    assert_ne!(said.is_of_verdict(&place.path("run")), "FAIL", "{}", said.out);
    assert_eq!((&log.header.plan["verify"], &log.header.plan["sealed_only"]), (&true.into(), &true.into()));
    assert!(log.header.streams.iter().all(|stream| stream.name != "read-back"));
    assert!(!said.out.contains("reads verified") && !said.out.contains("could be verified"), "{}", said.out);
    let said = place.assay(&["run", "compare.fio", "--out", "compared"]);
    assert!(said.out.contains("256 reads verified, every one as written"), "{}{}", said.out, said.err);
    // With `--verify` on the command line, it is read back at once.
    let said = place.assay(&["run", "seal.fio", "--verify", "--out", "both"]);
    assert!(said.out.contains("256 reads verified"), "{}{}", said.out, said.err);
}

/// First some names are looked at, and then all files are read, which should come from the storage.
const READ_LATER: &str = r#"
model = "files"
clients = 2
rate = "50/s"
slice = "10s"
cache = "drop"
[tree]
files = 64
size = "64KiB"
[[phase]]
name = "wait"
for = "3s"
[[phase.do]]
name = "look"
steps = ["stat"]
[[phase]]
name = "read"
for = "2s"
[[phase.do]]
name = "read-file"
steps = ["open", "read", "close"]
"#;

/// Keeps the pages of a file in memory until the end of the test, as somebody does who works with them.
fn use_pages(path: &Path) {
    let file = File::open(path).unwrap();
    let length = file.metadata().unwrap().len() as usize;
    let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
    // SAFETY: a mapping of its own, which nothing reads or writes; it lasts as long as the process.
    let map = unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, flags, file.as_raw_fd(), 0) };
    assert_ne!(map, libc::MAP_FAILED);
}

/// The same run, with and without somebody who uses the files.
#[test]
fn reads_of_files_that_others_keep_in_memory_prove_nothing_about_the_storage() {
    let place = prepared();
    if !dropped(&place.path("data.img")) {
        return super::devices::passed_over("the page cache of this file system cannot be dropped");
    }
    place.write("w.toml", READ_LATER);
    std::fs::create_dir(place.path("data")).unwrap();
    for is_used in [false, true] {
        let running = place.start(&["run", "w.toml", "data"], 1);
        let own = std::fs::read_dir(place.path("data")).unwrap().next().unwrap().unwrap().path();
        let files = std::fs::read_dir(own).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<_> = files.filter(|path| path.is_file()).collect();
        assert!(files.len() >= 64, "the tree is there: {files:?}");
        if is_used {
            files.iter().for_each(|file| use_pages(file));
        }
        let said = running.end();
        let log = super::bed::Log::of(&place.path("run"));
        let told =
            log.events.iter().find(|event| event.text.contains("of the pages of") && event.text.contains("storage"));
        assert_eq!(told.is_some(), is_used, "{:?}", log.events);
        assert_eq!(said.is_of_verdict(&place.path("run")) == "INVALID", is_used, "{said:?}");
        std::fs::remove_dir_all(place.path("run")).unwrap();
    }
}
