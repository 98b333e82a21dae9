use super::*;
use crate::judgement::{GeneratorCost, GeneratorFigures, StreamFigures};

fn stream(name: &str, rate: f64, (operations, bytes, mean): (u64, u64, u64)) -> StreamTotals {
    let mut stream = StreamTotals { name: name.to_owned(), rate_achieved: Some(rate), ..StreamTotals::default() };
    (stream.counts.operations, stream.counts.bytes) = (operations, bytes * operations);
    stream.response = TimesSummary { mean_ns: Some(mean), ..TimesSummary::default() };
    stream.service = TimesSummary { mean_ns: Some(mean / 2), ..TimesSummary::default() };
    stream
}

fn part(cpu_ns: u64) -> StepFigures {
    let cost = GeneratorCost { cpu_ns, sampled_ns: 1_000_000_000, ..GeneratorCost::default() };
    let each = vec![
        stream("small-reads", 300.0, (300, 8192, 1000)),
        stream("small-writes", 100.0, (100, 8192, 5000)),
        stream("large", 10.0, (10, 1 << 20, 9000)),
    ];
    let engine = [("workers".to_owned(), "2".to_owned())].into();
    StepFigures {
        streams: StreamFigures { each, ..StreamFigures::default() },
        generator: GeneratorFigures { cost: Some(cost), engine, ..GeneratorFigures::default() },
        ..StepFigures::default()
    }
}

fn point(small: u32, large: u32, verdict: Verdict, rate: f64) -> Point {
    let figures = |of: u32| {
        (of > 0).then_some(Figures { rate, bytes_per_second: rate * 1e6, mean_ns: 1_000_000, in_flight: 1.0 })
    };
    let place = Place { small, large };
    let reason = "<i>why\u{1b}".to_owned();
    Point {
        place,
        verdict,
        reason,
        small: figures(small),
        large: figures(large),
        directory: format!("s{small}-l{large}"),
    }
}

fn matrix(points: Vec<Point>) -> Matrix {
    let asked = (0..=2u32).flat_map(|large| (0..=3u32).map(move |small| Place { small, large }));
    let mut matrix = Matrix {
        schema: SCHEMA,
        workload: "orion<b>".into(),
        targets: vec!["/dev/sdb\u{1b}".into()],
        devices: Vec::new(),
        disks: 1,
        writes: Share::from_percent(20),
        sequential: false,
        seed: 7,
        plan_blake3: "0".into(),
        run_ns: 60_000_000_000,
        watermarks: Vec::new(),
        asked: asked.filter(|place| place.small + place.large > 0).collect(),
        points: Vec::new(),
        aside: Aside::default(),
    };
    points.into_iter().for_each(|point| matrix.set_point(point));
    matrix
}

#[test]
fn figures_are_those_of_all_streams_of_a_kind() {
    let small = figures_of_kind(&part(0).streams, SMALL).unwrap();
    assert_eq!((small.rate, small.bytes_per_second, small.mean_ns), (400.0, 400.0 * 8192.0, 2000));
    assert_eq!(figures_of_kind(&part(0).streams, LARGE).unwrap().mean_ns, 9000);
    assert_eq!(figures_of_kind(&StreamFigures::default(), LARGE), None);
}

#[test]
fn workers_without_rest_say_nothing_about_the_target() {
    // Two workers have two seconds of processor time in each second.
    assert_eq!(busy_share(&part(1_900_000_000).generator), Some(0.95));
    assert_eq!(busy_share(&part(950_000_000).generator), Some(0.475));
    assert_eq!(busy_share(&GeneratorFigures::default()), None, "a simulation has no such cost");
    let mut waited = part(950_000_000);
    waited.generator.cost.as_mut().unwrap().run_queue_ns = 950_000_000;
    assert_eq!(busy_share(&waited.generator), Some(0.95), "who wants to run has no rest");
}

#[test]
fn a_generator_that_does_not_keep_in_flight_what_was_asked_for_colours_the_point() {
    let figures = |in_flight| Some(Figures { rate: 1000.0, bytes_per_second: 1.0, mean_ns: 1, in_flight });
    for (kinds, cpu, told) in [
        ([(4, figures(4.0)), (0, None)], 0, None),
        ([(4, figures(3.61)), (2, figures(1.81))], 0, None),
        ([(4, figures(3.5)), (0, None)], 0, Some("3.50 of 4 operations")),
        ([(4, figures(4.0)), (2, figures(0.0))], 0, Some("0.00 of 2 operations")),
        ([(4, figures(4.0)), (2, None)], 0, Some("0.00 of 2 operations")),
        ([(4, figures(4.0)), (0, None)], 2_000_000_000, Some("no rest for 100%")),
    ] {
        let found = distortion_by_generator(&part(cpu), kinds);
        assert_eq!(found.is_some(), told.is_some(), "{found:?}");
        assert!(told.is_none_or(|told| found.as_ref().unwrap().contains(told)), "{found:?}");
    }
    let mut two = part(0);
    two.targets.each = vec![TargetTotals::default(), TargetTotals::default()];
    assert!(distortion_by_generator(&two, [(4, figures(4.0)), (0, None)]).unwrap().contains("of 8 operations"));
    let small = super::figures_of_kind(&part(0).streams, SMALL).unwrap();
    assert!((small.in_flight - 400.0 * 1000.0 / 1e9).abs() < 1e-9, "{small:?}");
}

#[test]
fn only_true_points_have_figures_on_the_map_and_colours_go_from_the_least_to_the_most() {
    let points = vec![
        point(1, 0, Verdict::Pass, 100.0),
        point(2, 0, Verdict::Invalid, 98_765.0),
        point(3, 0, Verdict::Pass, 300.0),
        point(1, 1, Verdict::Fail, 54_321.0),
        point(2, 1, Verdict::Incomplete, 43_210.0),
        point(0, 1, Verdict::Pass, 7.0),
    ];
    let matrix = matrix(points);
    let maps = map::maps_with_places(&matrix);
    let figure = |text: &str, strength| map::Cell::Figure(text.to_owned(), strength);
    assert_eq!(maps.len(), 3);
    assert_eq!(maps[0].columns, [1, 2, 3]);
    assert_eq!(maps[0].rows[0], (0, vec![figure("100", 0), map::Cell::Void, figure("300", 8)]));
    assert_eq!(maps[0].rows[1], (1, vec![map::Cell::Failed, map::Cell::Missing, map::Cell::Missing]));
    assert_eq!(maps[2].rows[0], (0, vec![figure("6.68 MiB", 4), map::Cell::Missing]));
    let (mut page, mut words) = (String::new(), String::new());
    write_html(&matrix, &mut page).unwrap();
    write_text(&matrix, &mut words).unwrap();
    for untrue in ["98.8k", "54.3k", "43.2k"] {
        assert!(!page.contains(untrue) && !words.contains(untrue), "{untrue}: {words}");
    }
    assert!(
        words.contains("void") && words.contains("2 small: INVALID") && words.contains("At most 300 small"),
        "{words}"
    );
    assert!(!page.contains("<b>") && !page.contains("<i>why") && !words.contains('\u{1b}'));
    assert!(words.lines().all(|line| line.chars().count() <= 80), "{words}");
    let back: Matrix = serde_json::from_str(&serde_json::to_string(&matrix).unwrap()).unwrap();
    assert_eq!(back, matrix);
}

#[test]
fn the_verdict_is_fail_where_a_point_failed_and_incomplete_while_one_is_missing() {
    let mut matrix = matrix(vec![point(1, 0, Verdict::Pass, 1.0), point(2, 0, Verdict::Invalid, 1.0)]);
    assert_eq!((matrix.asked.len(), matrix.verdict()), (11, Verdict::Incomplete));
    matrix.set_point(point(2, 0, Verdict::Fail, 2.0));
    assert_eq!((matrix.points.len(), matrix.verdict()), (2, Verdict::Fail), "whatever is missing");
    matrix.set_point(point(2, 0, Verdict::Invalid, 2.0));
    for place in matrix.asked.clone() {
        if matrix.point_at(place).is_none() {
            matrix.set_point(point(place.small, place.large, Verdict::Pass, 5.0));
        }
    }
    assert_eq!(matrix.verdict(), Verdict::Invalid);
    matrix.set_point(point(2, 0, Verdict::Pass, 2.0));
    assert_eq!(matrix.verdict(), Verdict::Pass);
    let known: Vec<(Place, Verdict)> = matrix.known_runs().map(|(place, run)| (place, run.verdict)).collect();
    assert_eq!((known.len(), known[0]), (11, (Place { small: 1, large: 0 }, Verdict::Pass)));
    let run = Evidence::from(Verdict::Fail).with_failure("3 EIO".to_owned());
    let failed = Matrix { aside: Aside { failures: vec![run], ..Aside::default() }, ..matrix.clone() };
    let mut words = String::new();
    write_text(&failed, &mut words).unwrap();
    assert!(failed.verdict() == Verdict::Fail && words.contains("3 EIO"), "{words}");
    let empty = super::Matrix { asked: Vec::new(), points: Vec::new(), ..matrix };
    assert_eq!(empty.verdict(), Verdict::Incomplete);
    let mut words = String::new();
    write_text(&empty, &mut words).unwrap();
}

#[test]
fn the_largest_figure_is_told_with_the_fewest_in_flight_that_reach_it() {
    let point = |small, rate| point(small, 0, Verdict::Pass, rate);
    let said = render::summary_sentences(&matrix(vec![point(1, 70.0), point(2, 73.9), point(3, 74.1)]));
    assert!(said.starts_with("At most 74 small operations a second, with 2 small in flight"), "{said}");
    let none = render::summary_sentences(&matrix(Vec::new()));
    assert!(!none.contains("At most"), "{none}");
}
