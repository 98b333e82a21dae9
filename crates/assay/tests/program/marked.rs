//! A workload that is like something else, or meaningless on purpose, says so on every form of its results.

use super::bed::{Place, Said};

/// Each workload with its watermark.
const MARKED: [(&str, &str); 9] = [
    ("mailspool", "FILEBENCH-LIKE"),
    ("oltp", "SPC-1-LIKE"),
    ("slob-like", "SLOB-LIKE"),
    ("orion-small", "ORION-LIKE"),
    ("orion-large", "ORION-LIKE"),
    ("sqliosim-like", "SQLIOSIM-LIKE"),
    ("mail", "JETSTRESS-LIKE"),
    ("mail-2010", "JETSTRESS-LIKE"),
    ("silly-512", "MEANINGLESS ON PURPOSE"),
];

/// The names of workloads whose description or text says that they are like something.
fn like_something(place: &Place) -> Vec<String> {
    let listed = place.assay(&["workloads"]).out;
    let names = listed
        .lines()
        .filter(|line| (line.contains("-like") && !line.contains("file-server-like")) || line.contains("meaningless"));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

fn text_of(place: &Place, file: &str) -> String {
    std::fs::read_to_string(place.path(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

fn says(said: &Said, what: &str, mark: &str) {
    // A result at a narrow place continues lines.
    let text = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(mark), "{what}: {}{}", said.out, said.err);
}

#[test]
fn every_form_of_a_result_has_the_watermark_of_its_workload() {
    let place = Place::new();
    std::fs::create_dir(place.path("directory")).unwrap();
    for (workload, mark) in MARKED {
        let out = format!("run-{workload}");
        // What is read back has data, which a simulated device has not.
        let target: &[&str] = match workload {
            "sqliosim-like" => &["disk.img", "--create", "64MiB"],
            "mailspool" => &["directory"],
            _ => &["sim:flash"],
        };
        let timed = ["--for", "2s", "--slice", "1s", "--warm-up", "0s", "--seed", "1", "--out", &out];
        let run = place.assay(&[&["run", workload], target, &timed[..]].concat());
        says(&run, workload, mark);
        for file in ["verdict.json", "report.html", "run.jsonl"] {
            let text = text_of(&place, &format!("{out}/{file}"));
            assert!(text.contains(mark), "{file} of {workload} lacks {mark}");
        }
        says(&place.assay(&["judge", &out]), workload, mark);
        for form in ["markdown", "junit"] {
            says(&place.assay(&["export", &out, "--to", form]), &format!("{workload} as {form}"), mark);
        }
    }
    says(&place.assay(&["compare", "run-orion-small", "run-orion-small"]), "a comparison", "ORION-LIKE");
    for workload in like_something(&place) {
        // What is too large to be carried out here has at least the line that makes the mark.
        let has_mark = place.assay(&["workloads", &workload]).out.contains("\nwatermark ");
        let is_known = MARKED.iter().any(|(name, _)| *name == workload);
        assert!(is_known || has_mark, "{workload} says that it is like something");
    }
}

#[test]
fn procedures_of_several_runs_have_it_too() {
    let place = Place::new();
    let timed = ["--for", "2s", "--slice", "1s", "--warm-up", "0s", "--seed", "1", "--out"];
    for (args, dir, files) in [
        (&["limit", "oltp", "sim:flash", "--from", "1x", "--to", "2x"][..], "limit", ["limit.json", "limit.html"]),
        (&["curve", "oltp", "sim:flash", "--max", "1x", "--points", "50%,100%"], "curve", ["curve.json", "curve.html"]),
        (&["matrix", "orion", "sim:flash", "--disks", "1"], "matrix", ["matrix.json", "matrix.html"]),
    ] {
        let mark = if dir == "matrix" { "ORION-LIKE" } else { "SPC-1-LIKE" };
        // A matrix has neither slices nor a warm-up of its own.
        let options: Vec<&str> = match dir {
            "matrix" => vec!["--for", "1s", "--seed", "1", "--out"],
            _ => timed.to_vec(),
        };
        let said = place.assay(&[args, &options[..], &[dir]].concat());
        says(&said, dir, mark);
        for file in files {
            assert!(text_of(&place, &format!("{dir}/{file}")).contains(mark), "{file} lacks {mark}");
        }
    }
}

/// Beside its neighbour it shows what the size alone makes of a number.
#[test]
fn the_meaningless_workload_differs_from_its_neighbour_in_nothing_but_the_size() {
    let place = Place::new();
    let streams = |name: &str| {
        let text = place.assay(&["workloads", name]).out;
        text[text.find("[[stream]]").unwrap()..]
            .replace("\"512B\"", "SIZE")
            .replace("\"8KiB\"", "SIZE")
            .trim()
            .to_owned()
    };
    assert_eq!(streams("silly-512"), streams("fio-max-io"));
    assert_eq!(streams("silly-512").matches("[[stream]]").count(), 16);
}
