//! The matrix as a user meets it: its points, an interruption, what it refuses, and a device that does nothing.

use super::bed::Place;
use serde_json::{Value, json};
use std::fs;

fn matrix(place: &Place, args: &[&str]) -> (Option<i32>, Value, String) {
    let said = place.assay(&[&["matrix", "orion"], args, &["--json"]].concat());
    (said.code, serde_json::from_str(&said.out).unwrap_or(Value::Null), said.err)
}

fn places(matrix: &Value) -> Vec<(u64, u64)> {
    let number = |point: &Value, key: &str| point[key].as_u64().unwrap();
    let points = matrix["points"].as_array().unwrap().iter();
    points.map(|point| (number(point, "small_in_flight"), number(point, "large_in_flight"))).collect()
}

#[test]
fn every_point_is_a_run_and_an_interrupted_matrix_goes_on_to_the_same_figures() {
    let place = Place::new();
    let args = ["sim:flash", "--disks", "1", "--for", "1s", "--write", "20%"];
    let (code, whole, told) = matrix(&place, &[&args[..], &["--out", "m"]].concat());
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(places(&whole), [(1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (0, 1), (0, 2)]);
    for point in whole["points"].as_array().unwrap() {
        let log = place.path("m").join(point["directory"].as_str().unwrap()).join("run.jsonl");
        assert!(log.exists() && point["verdict"] == "PASS", "{point}");
        let asked = point["small_in_flight"].as_u64().unwrap() + point["large_in_flight"].as_u64().unwrap();
        let did = if point["small"].is_null() { &point["large"] } else { &point["small"] };
        let flying = did["in_flight"].as_f64().unwrap() / asked as f64;
        assert!((0.97..=1.0).contains(&flying), "{point}: a simulated device is never idle");
    }
    let page = fs::read_to_string(place.path("m/matrix.html")).unwrap();
    assert!(page.contains("Small operations per second") && page.contains("h8") && !page.contains("<script"));
    // The state after a kill: three points were measured. A point whose log is whole would not be measured again.
    for point in whole["points"].as_array().unwrap().iter().skip(3) {
        fs::remove_dir_all(place.path("m").join(point["directory"].as_str().unwrap())).unwrap();
    }
    let mut cut = whole.clone();
    let points = cut["points"].as_array_mut().unwrap();
    points.truncate(3);
    fs::write(place.path("m/matrix.json"), cut.to_string()).unwrap();
    let (code, gone_on, told) = matrix(&place, &[&args[..], &["--resume", "m"]].concat());
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("4 points of 1s"), "{told}");
    let figures = |matrix: &Value| -> Vec<Value> {
        let points = matrix["points"].as_array().unwrap().iter();
        points.map(|point| json!([point["small"], point["large"], point["verdict"]])).collect()
    };
    assert_eq!(figures(&gone_on), figures(&whole));
    let usual = ["sim:flash", "--disks", "1", "--for", "1s"];
    for other in [
        &["sim:disk", "--disks", "1", "--for", "1s", "--write", "20%"][..],
        &["sim:flash", "--disks", "1", "--for", "2s", "--write", "20%"],
        &["sim:flash", "--disks", "2", "--for", "1s", "--write", "20%"],
        &usual,
        &[&usual[..], &["--write", "20%", "--detailed"]].concat(),
        &[&usual[..], &["--write", "20%", "--streams"]].concat(),
    ] {
        let others = [other, &["--resume", "m"]].concat();
        let (code, _, told) = matrix(&place, &others);
        assert_eq!(code, Some(2), "{other:?}: {told}");
    }
}

#[test]
fn a_detailed_matrix_has_all_pairs_and_shows_them_as_text() {
    let place = Place::new();
    let said = place.assay(&[
        "matrix",
        "orion",
        "sim:flash",
        "--disks",
        "1",
        "--for",
        "1s",
        "--detailed",
        "--streams",
        "--out",
        "m",
    ]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let kept: Value = serde_json::from_str(&fs::read_to_string(place.path("m/matrix.json")).unwrap()).unwrap();
    assert_eq!(places(&kept).len(), 6 * 3 - 1);
    for part in ["Small operations per second", "Mean response", "Large operations", "1 MiB sequential", "SIMULATED"] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{}", said.out);
}

#[test]
fn on_a_device_that_does_nothing_every_point_is_void() {
    let place = Place::new();
    let (code, matrix, told) = matrix(&place, &["null:1GiB", "--disks", "1", "--for", "200ms", "--out", "m"]);
    assert_eq!(code, Some(11), "{told}");
    for point in matrix["points"].as_array().unwrap() {
        assert_eq!(point["verdict"], "INVALID", "{point}");
    }
    let said = place.assay(&["matrix", "orion", "null:1GiB", "--disks", "1", "--for", "200ms", "--resume", "m"]);
    assert!(said.out.contains("7 of 7 points are void") && !said.out.contains("At most"), "{}", said.out);
}

#[test]
fn what_a_matrix_cannot_be_is_refused_and_writing_needs_consent() {
    let place = Place::new();
    place.write("mine.dat", &"precious".repeat(1 << 18));
    for (args, code, what) in [
        (&["sim:flash"][..], 2, "--disks"),
        (&["sim:flash", "--disks", "0"], 2, "--disks"),
        (&["sim:flash", "--disks", "1000", "--detailed"], 2, "take months"),
        (&["sim:flash", "--disks", "1", "--write", "120%"], 2, "0% to 100%"),
        (&["null:64KiB", "--disks", "1"], 2, "null:64KiB"),
        (&["mine.dat", "--disks", "1", "--write", "1%"], 4, "mine.dat"),
    ] {
        let (found, _, told) = matrix(&place, &[args, &["--out", "m"]].concat());
        assert_eq!(found, Some(code), "{args:?}: {told}");
        assert!(told.contains(what), "{args:?}: {told}");
    }
    assert_eq!(fs::read(place.path("mine.dat")).unwrap(), "precious".repeat(1 << 18).as_bytes());
    // For a misspelt kind, the message names the kind that exists.
    let said = place.assay(&["matrix", "orin", "sim:flash"]);
    assert!(said.code == Some(2) && said.err.contains("orion"), "{}", said.err);
}
