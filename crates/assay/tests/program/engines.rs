//! io_uring where it is permitted, threads where it is refused, and the log names the engine.

use super::bed::{Log, Place, Said, refuse};

/// Runs a second of act-storage on a file with this engine; io_uring may be refused.
fn carried(engine: &str, refused: bool) -> (Place, Said) {
    let place = Place::new();
    let run = ["run", "act-storage", "scratch.dat", "--create", "64MiB", "--for", "1s", "--out", "run"];
    let mut command = place.command(&[&run[..], &["--engine", engine]].concat());
    if refused {
        refuse(&mut command, libc::SYS_io_uring_setup, libc::EPERM);
    }
    let said = Said::of(command.output().unwrap(), &[engine]);
    (place, said)
}

#[test]
fn a_refused_io_uring_is_replaced_by_threads_and_log_and_report_say_so() {
    let (place, said) = carried("auto", true);
    said.is_of_verdict(&place.path("run"));
    let log = Log::of(&place.path("run"));
    log.adds_up();
    let engine = &log.header.engine;
    assert_eq!(engine["engine"], "threads", "{engine:?}");
    assert!(engine["notes"].contains("io_uring_setup") && engine["notes"].contains("EPERM"), "{engine:?}");
    let report = std::fs::read_to_string(place.path("run/report.html")).unwrap();
    assert!(report.contains("threads") && report.contains("io_uring_setup"), "the report names it too");
    assert!(place.assay(&["judge", "run", "--json"]).json()["engine"]["engine"] == "threads");
}

#[test]
fn a_refused_io_uring_that_was_asked_for_is_an_error_of_the_host() {
    let (place, said) = carried("io_uring", true);
    assert_eq!((said.code, said.out.as_str()), (Some(5), ""), "{}", said.err);
    assert!(said.err.contains("io_uring") && said.err.contains("EPERM"), "{}", said.err);
    let left = place.left(&["scratch.dat"]);
    assert!(left.is_empty(), "nothing was run, so there is nothing to keep: {left:?}");
}

#[test]
fn each_engine_carries_the_load_and_is_named() {
    for (asked, named) in [("auto", None), ("threads", Some("threads")), ("io_uring", Some("io_uring"))] {
        let (place, said) = carried(asked, false);
        if asked == "io_uring" && said.code == Some(5) {
            super::devices::passed_over("no io_uring on this host");
            continue;
        }
        said.is_of_verdict(&place.path("run"));
        let log = Log::of(&place.path("run"));
        log.adds_up();
        assert_eq!(log.stream("reads").ok, log.stream("reads").scheduled, "{asked}");
        assert!(named.is_none_or(|named| log.header.engine["engine"] == named), "{asked}: {:?}", log.header.engine);
    }
}
