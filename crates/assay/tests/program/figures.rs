//! What was asked and what was done: sizes, models and multiples, each named where they differ from what a reader may
//! think.

use super::bed::Place;

/// ACT's own sample has common keys only, and a comment.
const COMMON: &str = "# ACT-index config file.\ndevice-names: sim:flash\ntest-duration-sec: 2\nread-reqs-per-sec: 2000\n\
                      write-reqs-per-sec: 1000\n";

#[test]
fn an_act_configuration_for_both_tests_is_refused_with_both_commands() {
    let place = Place::new();
    place.write("my index.conf", COMMON);
    let cached = &["null:1GiB", "--cache", "64MiB"][..];
    for (verb, more) in [
        (&["run"][..], &[][..]),
        (&["limit"], &[]),
        (&["explain"], &[]),
        (&["certify"], &[]),
        (&["curve"], &[]),
        (&["cache-curve"], &["null:1GiB"]),
        (&["import", "behind"], cached),
    ] {
        let said = place.assay(&[verb, &["my index.conf"], more].concat());
        assert_eq!(said.code, Some(3), "{verb:?}: {said:?}");
        for model in ["act-index", "act-storage"] {
            let command = format!("assay {} 'my index.conf' --model {model}", verb.join(" "));
            assert!(said.err.contains(&command), "{verb:?}: {}", said.err);
        }
    }
    assert!(place.left(&["my index.conf"]).is_empty(), "nothing was run");
    for (model, stream) in [("act-index", "cache-reads"), ("act-storage", "large-block-reads")] {
        let shown = place.assay(&["explain", "my index.conf", "--model", model]);
        assert!(shown.code == Some(0) && shown.out.contains(stream), "{model}: {shown:?}");
        let said = place.assay(&["run", "my index.conf", "--model", model, "--out", model, "--json"]);
        assert_eq!(said.json()["model"], model, "{said:?}");
    }
    // Its keys decide where they say it, and a model that they contradict is refused at the key.
    place.write("index.conf", &format!("{COMMON}cache-threads: 4\n"));
    assert_eq!(place.assay(&["explain", "index.conf"]).code, Some(0));
    let against = place.assay(&["explain", "index.conf", "--model", "act-storage"]);
    assert!(against.code == Some(3) && against.err.contains("index.conf:6:1"), "{}", against.err);
    let none = place.assay(&["explain", "random-read", "sim:flash", "--model", "act-index"]);
    assert!(none.code == Some(2) && none.err.contains("--model is for ACT configurations"), "{}", none.err);
}

/// A stream of reads of this size.
fn workload(size: &str) -> String {
    format!(
        "model = \"streams\"\nduration = \"2s\"\nslice = \"1s\"\n[[stream]]\nname = \"small\"\ndirection = \"read\"\nsize = {size}\n\
         rate = \"200/s\"\n[[stream]]\nname = \"whole\"\ndirection = \"read\"\nsize = \"8KiB\"\nrate = \"100/s\"\n"
    )
}

/// Each row: the size, the blocks of the targets, and the size that is done.
#[test]
fn an_operation_below_the_blocks_of_a_target_is_named_with_both_sizes() {
    for (size, targets, done) in [
        ("\"512B\"", &["sim:flash?block=4KiB"][..], Some("512B done as 4KiB")),
        ("\"7000B\"", &["sim:flash"], Some("7000B done as 7KiB")),
        ("{ from = \"512B\", to = \"64KiB\" }", &["sim:flash?block=4KiB"], Some("512B to 64KiB done as 4KiB to 64KiB")),
        ("\"512B\"", &["sim:flash", "sim:flash?block=4KiB"], Some("512B done as 4KiB or 512B")),
        ("\"4KiB\"", &["sim:flash?block=4KiB"], None),
        ("\"512B\"", &["sim:flash"], None),
    ] {
        let place = Place::new();
        place.write("w.toml", &workload(size));
        let explained = place.assay(&[&["explain", "w.toml"], targets].concat()).out;
        let (said, log) = place.run(&[&["run", "w.toml"], targets, &["--seed", "3"]].concat());
        let small = log.stream("small");
        let forms = [
            said.out.clone(),
            place.assay(&["export", "run", "--to", "markdown"]).out,
            place.assay(&["report", "run", "--out", "-"]).out,
        ];
        let json = place.assay(&["judge", "run", "--json"]).json();
        let shown = json["streams"].as_array().unwrap().iter().find(|stream| stream["name"] == "small").unwrap();
        match done {
            Some(done) => {
                assert!(explained.contains("  small: ") && explained.contains(" is done as "), "{size}: {explained}");
                for form in forms {
                    let form = form.split_whitespace().collect::<Vec<_>>().join(" ");
                    assert!(form.contains(done), "{size} on {targets:?}: {form}");
                }
                let (_, size_done) = done.split_once(" done as ").unwrap();
                assert_eq!(shown["size_done"], size_done, "{shown}");
            }
            None => {
                assert!(!explained.contains("is done as"), "{size}: {explained}");
                assert!(forms.iter().all(|form| !form.contains(" done as ")) && shown["size_done"].is_null(), "{size}");
            }
        }
        if targets.len() == 1 && size == "\"512B\"" {
            let bytes = if done.is_some() { 4096 } else { 512 };
            assert_eq!(small.bytes, small.ok * bytes, "the figures are those of what was done");
        }
    }
}
