//! `assay live --csv`: the rows of the export, as they come.

use super::bed::{Place, until};
use super::growing::{Live, Writer, lines_of};

#[test]
fn rows_come_with_their_intervals_and_are_in_the_end_those_of_the_export() {
    let place = Place::new();
    for (name, args) in [
        (
            "run",
            &[
                "run",
                "act-storage",
                "sim:flash",
                "sim:flash?seed=2",
                "--for",
                "20s",
                "--slice",
                "6s",
                "--seed",
                "1",
                "--warm-up",
                "3s",
            ][..],
        ),
        ("steps", &["certify", "sim:flash", "--for", "6s", "--seed", "3"]),
    ] {
        place.assay(&[args, &["--out", name][..]].concat());
        let exported = place.assay(&["export", name, "--to", "csv"]).out;
        let lines = lines_of(&place, name);
        let (live, table) = (format!("{name}-live"), format!("{name}.csv"));
        let mut writer = Writer::begin(&place, &live);
        writer.append(&lines[..1]);
        let server = Live::serve(&place, &[&live, "--csv", &table]);
        let written = || std::fs::read_to_string(place.path(&table)).unwrap();
        for line in 1..lines.len() {
            writer.append(&lines[line..=line]);
            server.at(line);
            until("the rows up to this line", || {
                let rows = written();
                let whole = exported.starts_with(&rows) && rows.ends_with("\r\n");
                let intervals = lines[..=line].iter().filter(|line| line.contains("\"kind\":\"interval\"")).count();
                whole && (intervals == 0 || rows.lines().count() > intervals)
            });
        }
        drop(writer);
        server.at_end();
        assert_eq!(written(), exported, "{name}");
        // Nothing that exists is written over.
        let again = place.assay(&["live", name, "--csv", &table]);
        assert_eq!((again.code, written()), (Some(5), exported), "{again:?}");
        assert!(again.err.contains(&table), "{again:?}");
    }
}

#[test]
fn standard_output_has_the_rows_and_nothing_else() {
    let place = Place::new();
    place.assay(&["run", "act-storage", "sim:flash", "--for", "20s", "--slice", "6s", "--seed", "1", "--out", "run"]);
    let said = place.assay(&["live", "run", "--csv", "-", "--linger", "1s"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(said.out, place.assay(&["export", "run", "--to", "csv"]).out);
    assert!(said.err.contains("live page: http://127.0.0.1:"), "{said:?}");
}
