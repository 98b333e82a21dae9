//! The verdict from the log alone: the same as the run's, and never a better one from a damaged log.

use super::bed::Place;
use serde_json::Value;
use std::fs;

/// A short simulated run that passes, in `run`.
fn passed(place: &Place, json: bool) -> String {
    let run = ["run", "act-storage", "sim:flash", "--for", "60s", "--slice", "20s"];
    let (said, log) = place.run(&[&run[..], if json { &["--json"] } else { &[] }].concat());
    assert_eq!(said.is_of_verdict(&place.path("run")), "PASS", "{}", said.out);
    log.adds_up();
    said.out
}

#[test]
fn judge_says_what_the_run_said_in_text_and_in_json() {
    for json in [false, true] {
        let place = Place::new();
        let told = passed(&place, json);
        let flags: &[&str] = if json { &["--json"] } else { &[] };
        for log in ["run", "run/run.jsonl"] {
            let said = place.assay(&[&["judge", log], flags].concat());
            // The last line of the text names the log as it was given.
            assert_eq!(said.out.replace(log, "run"), told, "{log}");
            assert_eq!(said.code, Some(0));
        }
        let written = fs::read_to_string(place.path("run/verdict.json")).unwrap();
        assert_eq!(place.assay(&["judge", "run", "--json"]).out, written);
    }
}

#[test]
fn another_slice_cuts_the_windows_of_the_criteria_too() {
    let place = Place::new();
    passed(&place, true);
    for (slice, windows) in [(&[][..], 3), (&["--slice", "10s"], 6), (&["--slice", "60s"], 1)] {
        let json = place.assay(&[&["judge", "run", "--json"], slice].concat()).json();
        let counts: Vec<&Value> = json["criteria"].as_array().unwrap().iter().map(|told| &told["windows"]).collect();
        assert!(counts.len() > 1 && counts.iter().all(|n| **n == windows), "{slice:?}: {counts:?}");
    }
}

#[test]
fn the_log_alone_is_enough() {
    let place = Place::new();
    let told = passed(&place, true);
    fs::create_dir(place.path("elsewhere")).unwrap();
    fs::rename(place.path("run/run.jsonl"), place.path("elsewhere/another-name")).unwrap();
    fs::remove_dir_all(place.path("run")).unwrap();
    assert_eq!(place.assay(&["judge", "elsewhere/another-name", "--json"]).out, told);
    assert_eq!(place.left(&[]), ["elsewhere"], "judging writes nothing");
}

#[test]
fn report_is_one_page_with_the_verdict() {
    let place = Place::new();
    passed(&place, false);
    let html = fs::read_to_string(place.path("run/report.html")).unwrap();
    assert!(html.to_ascii_lowercase().starts_with("<!doctype html>"), "{}", &html[..200.min(html.len())]);
    assert!(html.contains("PASS") && html.contains("SIMULATED"));
    for away in ["src=\"http", "href=\"http", "url(http", "src=\"//"] {
        assert!(!html.contains(away), "the page needs nothing from elsewhere: {away}");
    }
    let said = place.assay(&["report", "run", "--out", "copy.html"]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "copy.html\n"));
    assert_eq!(fs::read_to_string(place.path("copy.html")).unwrap(), html);
    let again = place.assay(&["report", "run", "--out", "copy.html"]);
    assert_eq!(again.code, Some(5), "never overwritten: {}", again.err);
    assert_eq!(place.assay(&["report", "run", "--out", "-"]).out, html);
}

/// The command that the summary recommends prints no page to a terminal: it writes the report beside the log, and
/// prints its path.
#[test]
fn a_report_lies_beside_its_log() {
    let place = Place::new();
    passed(&place, false);
    let html = fs::read_to_string(place.path("run/report.html")).unwrap();
    for (args, path, same) in [
        // The report is computed from the log alone, so that an older or damaged report is replaced.
        (&["report", "run"][..], "run/report.html", true),
        (&["report", "run/run.jsonl"], "run/report.html", true),
        (&["report", "run", "--judge", "service"], "run/report-service.html", false),
    ] {
        fs::write(place.path("run/report.html"), "an older one").unwrap();
        let said = place.assay(args);
        assert_eq!((said.code, said.out.trim_end()), (Some(0), path), "{said:?}");
        assert_eq!(fs::read_to_string(place.path(path)).unwrap() == html, same, "{args:?}");
        let own = fs::read_to_string(place.path("run/report.html")).unwrap();
        assert_eq!(own == html, same, "another measure is another report");
    }
    // A file beside a log that is not named `run.jsonl` may belong to anybody, and is not replaced.
    fs::rename(place.path("run/run.jsonl"), place.path("old.log")).unwrap();
    assert_eq!(place.assay(&["report", "old.log"]).out, "old.log.html\n");
    assert_eq!(fs::read_to_string(place.path("old.log.html")).unwrap(), html);
    fs::write(place.path("old.log.html"), "somebody's").unwrap();
    let said = place.assay(&["report", "old.log"]);
    assert_eq!((said.code, said.out.as_str()), (Some(5), ""), "{said:?}");
    assert!(said.err.contains("is there already") && said.err.contains("--out -"), "{}", said.err);
    assert_eq!(fs::read_to_string(place.path("old.log.html")).unwrap(), "somebody's");
}

/// Where no file can be written, the page can still be printed.
#[test]
fn a_directory_that_cannot_be_written_is_told_with_the_way_out() {
    let place = Place::new();
    passed(&place, false);
    let html = fs::read_to_string(place.path("run/report.html")).unwrap();
    fs::remove_file(place.path("run/report.html")).unwrap();
    // A file mode does not stop root, so a directory takes the file's name.
    fs::create_dir(place.path("run/report.html")).unwrap();
    let said = place.assay(&["report", "run"]);
    assert_eq!((said.code, said.out.as_str()), (Some(5), ""), "{said:?}");
    let told = ["run/report.html cannot be written", "a directory", "--out FILE", "--out -"];
    assert!(told.iter().all(|told| said.err.contains(told)), "{}", said.err);
    assert_eq!(place.assay(&["report", "run", "--out", "-"]).out, html);
}

#[test]
fn a_log_cut_anywhere_is_incomplete() {
    let place = Place::new();
    passed(&place, false);
    let whole = fs::read(place.path("run/run.jsonl")).unwrap();
    let header = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let close = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let spread = (1..12).map(|part| header + (close - header) * part / 12);
    let cuts: Vec<usize> = [header, header + 1, close, close + 1, whole.len() - 2].into_iter().chain(spread).collect();
    for cut in cuts {
        let path = place.path("cut.jsonl");
        fs::write(&path, &whole[..cut]).unwrap();
        let said = place.assay(&["judge", "cut.jsonl", "--json"]);
        assert_eq!(said.code, Some(12), "cut at {cut} of {}: {}{}", whole.len(), said.out, said.err);
        assert_eq!(said.json()["verdict"], "INCOMPLETE");
    }
    // Without a header there is nothing to judge.
    for cut in [0, 1, 17, header - 1] {
        fs::write(place.path("cut.jsonl"), &whole[..cut]).unwrap();
        let said = place.assay(&["judge", "cut.jsonl"]);
        assert!(matches!(said.code, Some(3 | 12)) && said.code != Some(0), "cut at {cut}: {said:?}");
    }
}

#[test]
fn a_log_with_a_flipped_byte_never_passes() {
    let place = Place::new();
    passed(&place, false);
    let whole = fs::read(place.path("run/run.jsonl")).unwrap();
    for at in (0..24).map(|part| (whole.len() - 1) * part / 23) {
        let mut hurt = whole.clone();
        hurt[at] ^= 0x04;
        fs::write(place.path("hurt.jsonl"), &hurt).unwrap();
        let said = place.assay(&["judge", "hurt.jsonl"]);
        assert!(matches!(said.code, Some(3 | 10 | 11 | 12)), "byte {at}: {said:?}");
        assert!(!said.out.starts_with("PASS"), "byte {at}: {}", said.out);
    }
}

#[test]
fn a_log_with_a_line_taken_out_or_twice_in_it_never_passes() {
    let place = Place::new();
    passed(&place, false);
    let text = fs::read_to_string(place.path("run/run.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for at in [1, lines.len() / 2, lines.len() - 2] {
        let without: Vec<&str> = lines.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, line)| *line).collect();
        let mut twice = lines.clone();
        twice.insert(at, lines[at]);
        for forged in [without, twice] {
            fs::write(place.path("forged.jsonl"), forged.join("\n") + "\n").unwrap();
            let said = place.assay(&["judge", "forged.jsonl"]);
            assert!(matches!(said.code, Some(10..=12)), "line {at}: {said:?}");
        }
    }
}

#[test]
fn judging_service_instead_is_named() {
    let place = Place::new();
    let workload = "name = \"r\"\nmodel = \"streams\"\nduration = \"30s\"\nslice = \"30s\"\nin_flight_bound = 1\n\n[[stream]]\nname = \"reads\"\n\
                    direction = \"read\"\nsize = \"4KiB\"\nrate = \"1000/s\"\n\n[[criterion]]\nstream = \"reads\"\n\
                    share_over = \"1ms\"\nbelow = \"5%\"\n";
    place.write("r.toml", workload);
    let (said, _) = place.run(&["run", "r.toml", "sim:flash?stall=2s@10s"]);
    assert_eq!(said.code, Some(10), "{}", said.out);
    let service = place.assay(&["judge", "run", "--judge", "service", "--json"]);
    let json: Value = service.json();
    let criterion = json["criteria"].as_array().unwrap().iter().find(|c| c["stream"] == "reads").unwrap();
    assert_eq!(criterion["outcome"], "pass", "{criterion}");
    assert!(criterion["title"].as_str().unwrap().contains("service"), "{criterion}");
}

/// Counts how often a file is opened, by any process.
struct Opened(rustix::fd::OwnedFd);

impl Opened {
    fn watch(path: &std::path::Path) -> Opened {
        use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
        let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        inotify::add_watch(&fd, path, WatchFlags::OPEN | WatchFlags::CLOSE).unwrap();
        Opened(fd)
    }

    /// How often the file was opened since the last call. Closing is watched too, because the kernel reports equal
    /// events directly after each other as one.
    fn times(&self) -> usize {
        let mut room = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = rustix::fs::inotify::Reader::new(&self.0, &mut room);
        let mut times = 0;
        while let Ok(event) = reader.next() {
            times += usize::from(event.events().contains(rustix::fs::inotify::ReadFlags::OPEN));
        }
        times
    }
}

#[test]
fn a_log_is_opened_once_by_a_command_that_reads_it_once() {
    let place = Place::new();
    passed(&place, false);
    let opened = Opened::watch(&place.path("run/run.jsonl"));
    for args in [
        &["judge", "run", "--slice", "10s"][..],
        &["judge", "run", "--json"],
        &["report", "run", "--out", "-"],
        &["export", "run", "--to", "json"],
        &["export", "run", "--to", "csv"],
        &["watch", "run"],
        &["verify", "run"],
    ] {
        place.assay(args);
        assert_eq!(opened.times(), 1, "{args:?}");
    }
}

#[test]
fn a_table_made_from_a_log_is_refused_as_one() {
    let place = Place::new();
    let table = "act_latency.py -l log.txt\nlog.txt is ACT version 6.6\n\nACT-STORAGE CONFIGURATION\ndevice-names: /dev/loop5\n\n        reads\n        %>(ms)\nslice        1      2\n-----   ------ ------\n    1     4.07   0.00\n";
    // The whole output, and the table alone as people paste it.
    for text in [table, &table[table.find("        reads").unwrap()..]] {
        place.write("table.txt", text);
        for verb in [&["judge", "table.txt"][..], &["report", "table.txt"], &["compare", "table.txt", "table.txt"]] {
            let said = place.assay(verb);
            assert_eq!(said.code, Some(3), "{verb:?}: {said:?}");
            assert!(
                said.err.contains("is a table that act_latency made from a log") && said.err.contains("= name the log"),
                "{said:?}"
            );
        }
    }
}
