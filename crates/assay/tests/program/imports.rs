//! Configurations of other tools as workloads that run.

use super::bed::Place;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn golden(name: &str) -> PathBuf {
    let carried = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assay-formats/tests/golden/icf").join(name);
    carried.canonicalize().unwrap()
}

fn import(place: &Place, args: &[&str]) {
    let file = golden(if args.is_empty() { "single.icf" } else { "array-mix.icf" });
    let mut all = vec!["import", "iometer", file.to_str().unwrap(), "--out", "w.toml"];
    all.extend(args);
    let said = place.assay(&all);
    assert_eq!(said.code, Some(0), "{}", said.err);
}

/// Operations and bytes of each stream over the whole run.
fn streams(place: &Place, args: &[&str]) -> Vec<(String, f64, f64)> {
    let (said, log) = place.run(&[&["run", "w.toml", "sim:flash", "--warm-up", "0s", "--json"], args].concat());
    assert_eq!(said.code, Some(0), "{}", said.err);
    log.adds_up();
    let result: Value = serde_json::from_str(&said.out).unwrap();
    let number = |stream: &Value, key: &str| stream[key].as_f64().unwrap();
    let one = |it: &Value| (it["name"].as_str().unwrap().to_owned(), number(it, "operations"), number(it, "bytes"));
    result["streams"].as_array().unwrap().iter().map(one).collect()
}

/// Whether `found` of `n` operations are within four standard deviations of `share`, where operations are drawn in
/// groups of at most `group`.
fn near(found: f64, n: f64, share: f64, group: f64) -> bool {
    (found - n * share).abs() <= 4.0 * (n * share * (1.0 - share) * group).sqrt()
}

#[test]
fn a_million_operations_of_each_specification_of_iometer_are_those_that_its_lines_say() {
    let means: Value = serde_json::from_str(&std::fs::read_to_string(golden("array-mix.json")).unwrap()).unwrap();
    for (at, time) in [(0, "8s"), (1, "8s"), (2, "2200s")] {
        let spec = &means["access_specifications"][at];
        let place = Place::new();
        import(&place, &["--spec", spec["name"].as_str().unwrap()]);
        let streams = streams(&place, &["--for", time]);
        let all: f64 = streams.iter().map(|stream| stream.1).sum();
        assert!(all >= 1e6, "{}: {all}", spec["name"]);
        let of =
            |part: &str| streams.iter().filter(|stream| stream.0.contains(part)).map(|stream| stream.1).sum::<f64>();
        let number = |value: &Value| value.as_f64().unwrap();
        let lines = spec["lines"].as_array().unwrap();
        let longest = lines.iter().map(|line| number(&line["burst"])).fold(1.0, f64::max);
        assert!(near(of("-reads"), all, number(&spec["reads_of_operations"]), longest), "{streams:?}");
        let bytes: f64 = streams.iter().map(|stream| stream.2).sum();
        // The variance of the sizes is at most their mean times the largest size.
        let (mean, largest) =
            (number(&spec["mean_bytes"]), lines.iter().map(|line| number(&line["size"])).fold(0.0, f64::max));
        assert!((bytes - all * mean).abs() <= 4.0 * (all * mean * largest * longest).sqrt(), "{bytes} of {all}");
        for (line, number_of) in lines.iter().zip(1..).filter(|_| longest > 1.0) {
            let own = of(&format!("line-{number_of}."));
            assert!(near(own, all, number(&line["share_of_operations"]), longest), "{streams:?}");
            let random = of(&format!("line-{number_of}.random"));
            assert!(near(random, own, number(&line["random"]), 1.0), "{streams:?}");
        }
    }
}

#[test]
fn a_configuration_of_iometer_becomes_a_workload_for_each_step_and_overwrites_none() {
    let place = Place::new();
    import(&place, &[]);
    let (said, log) = place.run(&["run", "w.toml", "sim:flash", "--for", "2s"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    log.adds_up();
    let file = golden("array-mix.icf");
    let file = file.to_str().unwrap();
    let several = place.assay(&["import", "iometer", file]);
    assert_eq!(several.code, Some(2), "{}", several.err);
    assert!(several.err.contains("2 steps") && several.err.contains("--out") && several.out.is_empty());
    for (round, code) in [(1, Some(0)), (2, Some(5))] {
        let said = place.assay(&["import", "iometer", file, "--out", "a.toml"]);
        assert_eq!(said.code, code, "{round}: {}", said.err);
    }
    assert!(place.path("a-1.toml").exists() && place.path("a-2.toml").exists() && !place.path("a.toml").exists());
    let all: Value = serde_json::from_str(&place.assay(&["import", "iometer", file, "--json"]).out).unwrap();
    assert_eq!(all["steps"].as_array().unwrap().len(), 2);
    assert!(all["steps"][1]["workload"].as_str().unwrap().contains("shares"));
    place.write("bad.icf", "Version 1.1.0\r\n'TEST SETUP\r\n'Test Type\r\n\tCYCLE_WORKERS\r\n");
    let bad = place.assay(&["import", "iometer", "bad.icf"]);
    assert_eq!(bad.code, Some(3));
    assert!(bad.err.contains("bad.icf:4:2") && bad.err.contains("^^^^"), "{}", bad.err);
    for (name, code) in [("none.icf", Some(3)), (".", Some(3))] {
        assert_eq!(place.assay(&["import", "iometer", name]).code, code, "{name}");
    }
}

#[test]
fn shared_specifications_run_for_as_long_as_is_said() {
    let place = Place::new();
    let text = "Version 1.1.0 \n'ACCESS SPECIFICATIONS ====\n'Access specification name,default assignment\n\tFile server,NONE\n\
                'size,% of size,% reads,% random,delay,burst,align,reply\n\t4096,60,80,100,0,1,0,0\n\t65536,40,80,100,0,1,0,0\n\
                'END access specifications\nVersion 1.1.0 \n";
    place.write("shared.icf", text);
    let without = place.assay(&["import", "iometer", "shared.icf"]);
    assert!(without.code == Some(3) && without.err.contains("--for 5min"), "{without:?}");
    let zero = place.assay(&["import", "iometer", "shared.icf", "--for", "0s"]);
    assert!(zero.code == Some(2) && zero.err.contains("a run takes time"), "{zero:?}");
    let said = place.assay(&["import", "iometer", "shared.icf", "--for", "3s", "--out", "w.toml"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let (said, log) = place.run(&["run", "w.toml", "sim:flash"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!((2.9..3.2).contains(&log.seconds()), "{}", log.seconds());
}

#[test]
fn a_trace_that_blkparse_printed_in_a_format_is_read_with_it() {
    let place = Place::new();
    let lines: String =
        (0..200).map(|at| format!("D,R,{}.{:09},8,16,{},8\n", at / 100, at % 100 * 10_000_000, at * 8)).collect();
    place.write("trace.csv", &lines);
    let without = place.assay(&["import", "blktrace", "trace.csv"]);
    assert!(without.code == Some(3) && without.err.contains("--blkparse-format"), "{without:?}");
    let bad = place.assay(&["import", "blktrace", "trace.csv", "--blkparse-format", "%T,%S"]);
    assert!(bad.code == Some(2) && bad.err.contains("it has no %a"), "{bad:?}");
    let format = "%a,%d,%T.%t,%D,%S,%n\\n";
    let said = place.assay(&["import", "blktrace", "trace.csv", "--blkparse-format", format, "--out", "p.toml"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(std::fs::read_to_string(place.path("p.toml")).unwrap().contains("100.5"), "200 reads in 1.99 s");
}
