use super::*;

fn share(percent: u64) -> Share {
    Share::from_percent(percent)
}

/// A point of a queue: its throughput and its mean response.
fn point(percent: u64, rate: f64, mean_ns: u64) -> Point {
    Point {
        share: share(percent),
        load: Multiple::from_ratio(percent, 10).unwrap(),
        verdict: Verdict::Pass,
        reason: "held".into(),
        delivered: true,
        rates: Rates { asked: Some(rate), achieved: Some(rate), together: None },
        streams: Vec::new(),
        times: PointTimes {
            mean_ns: Some(mean_ns),
            p50_ns: Some(mean_ns),
            p99_ns: Some(mean_ns * 3),
            p99_9_ns: Some(mean_ns * 5),
            nines: Vec::new(),
        },
        hit_rate: None,
        bytes: None,
        directory: format!("{percent}"),
    }
}

pub(super) fn curve(points: impl IntoIterator<Item = Point>) -> Curve {
    let mut curve = Curve {
        schema: SCHEMA,
        of: Measured {
            workload: "orders".into(),
            targets: vec!["sim:flash".into()],
            stream: "reads".into(),
            seed: 1,
            run_ns: 60_000_000_000,
            ..Measured::default()
        },
        scale: Scale { maximum: Some(Multiple::from_whole(10)), ..Scale::default() },
        limits: Limits { watermarks: vec!["SIMULATED".into()], ..Limits::default() },
        asked: Vec::new(),
        points: Vec::new(),
        shape: Shape::default(),
        aside: Aside::default(),
        cache: None,
        in_one_run: false,
        beside: None,
    };
    for point in points {
        curve.asked.push(point.share);
        curve.set_point(point);
    }
    curve
}

/// M/M/1 with a service time of 1 ms, utilised by `percent`: the mean response is 1 ms / (1 − u) (Kleinrock, Queueing
/// Systems I).
pub(super) fn queue(percents: &[u64]) -> Curve {
    curve(percents.iter().map(|&percent| point(percent, percent as f64 * 10.0, 100_000_000 / (100 - percent))))
}

#[test]
fn the_knee_of_a_single_server_queue_is_at_half_of_its_capacity() {
    // The power u (1 − u) is greatest at u = 1/2, whichever other points are measured.
    for percents in [&[10, 30, 50, 70, 90][..], &[10, 20, 40, 50, 60, 80, 95, 99], &[50, 90, 10]] {
        let curve = queue(percents);
        assert_eq!(curve.points[curve.shape.knee.unwrap()].share, share(50), "{percents:?}");
    }
    assert_eq!(queue(&[10, 20, 40]).shape.knee, None, "the power still grows");
    assert_eq!(queue(&[50, 90]).shape.knee, None, "two points have no shape");
    assert_eq!(queue(&[]).shape.knee, None);
}

#[test]
fn the_overall_response_is_the_area_over_the_throughput() {
    // 0 to 100/s at 1 ms, 100 to 300/s from 1 to 2 ms, 300 to 400/s from 2 to 6 ms: (100 + 300 + 400) / 400 ms.
    let curve = curve([point(100, 400.0, 6_000_000), point(25, 100.0, 1_000_000), point(75, 300.0, 2_000_000)]);
    assert_eq!(curve.shape.overall_response_ns, Some(2_000_000));
    assert_eq!(self::curve([point(10, 100.0, 7_000)]).shape.overall_response_ns, Some(7_000));
    assert_eq!(self::curve([]).shape.overall_response_ns, None);
}

#[test]
fn what_was_not_delivered_or_proves_nothing_is_no_point_of_the_curve() {
    let whole = queue(&[10, 50, 90]);
    for spoilt in [
        Point { delivered: false, verdict: Verdict::Fail, ..point(100, 700.0, 10_000_000_000) },
        Point { verdict: Verdict::Invalid, ..point(100, 999.0, 1) },
        Point { rates: Rates::default(), times: PointTimes::default(), ..point(100, 0.0, 0) },
    ] {
        let mut more = whole.clone();
        more.set_point(spoilt);
        assert_eq!(
            (more.shape.knee, more.shape.overall_response_ns),
            (whole.shape.knee, whole.shape.overall_response_ns)
        );
        assert_eq!(more.points.len(), 4, "it is listed nevertheless");
    }
}

/// A queue whose response falls as its throughput grows: what the lightest load waits for is something else.
#[test]
fn a_curve_that_does_not_rise_has_no_knee() {
    let of = |means: &[u64], rates: &[f64]| {
        let points = means.iter().zip(rates).enumerate();
        curve(points.map(|(at, (mean, rate))| point(10 * (at as u64 + 1), *rate, *mean)))
    };
    let rates = [1000.0, 2000.0, 3000.0, 3010.0];
    for (means, knee, said) in [
        // The greatest power is at the third point, because the last one adds nothing to the throughput.
        ([900_000, 500_000, 300_000, 310_000], None, "does not rise"),
        ([300_000, 300_000, 300_000, 300_000], None, "still grows"),
        ([100_000, 110_000, 130_000, 900_000], Some(2), "Knee at 30%"),
        // It falls first, and rises above where it began.
        ([200_000, 150_000, 140_000, 900_000], Some(2), "Knee at 30%"),
        ([900_000, 500_000, 300_000, 200_000], None, "still grows"),
    ] {
        let curve = of(&means, &rates);
        assert_eq!(curve.shape.knee, knee, "{means:?}");
        let mut text = String::new();
        super::write_text(&curve, &mut text).unwrap();
        let marked = text.contains("<- knee");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(said) && marked == knee.is_some(), "{said}: {text}");
    }
    let mut two = String::new();
    super::write_text(&of(&[1000, 2000], &[1.0, 2.0]), &mut two).unwrap();
    assert!(two.contains("No knee: 2 of the points belong to the curve"), "{two}");
}

#[test]
fn the_throughput_is_shown_of_all_streams_together_and_of_each() {
    let mut mixed = queue(&[10, 50, 90]);
    for point in &mut mixed.points {
        let reads = point.rates.achieved.unwrap();
        point.rates.together = Some(reads * 1.5);
        let rates = |name: &str, rate| StreamRates { name: name.into(), asked: Some(rate), achieved: Some(rate) };
        point.streams = vec![rates("reads", reads), rates("writes", reads / 2.0)];
    }
    let (mut text, mut page) = (String::new(), String::new());
    super::write_text(&mixed, &mut text).unwrap();
    write_html(&mixed, &mut page).unwrap();
    let row = text.lines().filter(|line| line.trim_start().starts_with("90%")).nth(1).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["90%", "1350.0", "900.0", "450.0"], "{text}");
    assert!(text.contains("together") && text.contains("900.0/s of reads"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80) && text.lines().count() <= 40, "{text}");
    for said in
        ["<th scope=\"col\" class=\"n\">Together</th>", "<td class=\"n\">1,350.0/s</td><td class=\"n\">900.0/s</td>"]
    {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(page.contains("reads achieved") && page.contains("achieved operations per second of reads"), "{page}");
}

#[test]
fn the_verdict_says_why() {
    let shown = |curve: &Curve| {
        let (mut text, mut page) = (String::new(), String::new());
        super::write_text(curve, &mut text).unwrap();
        write_html(curve, &mut page).unwrap();
        let banner = page.split("<div class=\"why\">").nth(1).unwrap().split("</p>").next().unwrap();
        let banner = banner.trim_start_matches("<p class=\"meaning\">").to_owned();
        let first = text
            .lines()
            .skip(1)
            .take_while(|line| !line.starts_with("100%") && !line.starts_with("no maximum"))
            .collect::<Vec<_>>();
        let first = first.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        assert_eq!(first, format!("{}: {banner}", curve.verdict()));
        (curve.verdict(), banner)
    };
    let whole = queue(&[10, 50, 90]);
    assert_eq!(shown(&whole), (Verdict::Pass, "every bound held at every point".to_owned()));
    let failed = |percent| Point { verdict: Verdict::Fail, reason: "too slow".into(), ..point(percent, 500.0, 9) };
    let mut two = whole.clone();
    [50, 90].map(failed).into_iter().for_each(|point| two.set_point(point));
    assert_eq!(shown(&two), (Verdict::Fail, "50% (5x): too slow; also at 90% (9x)".to_owned()));
    two.asked.push(share(95));
    assert_eq!(two.verdict(), Verdict::Fail, "whatever is missing");
    let mut missing = whole.clone();
    missing.asked.push(share(95));
    missing.set_point(Point { verdict: Verdict::Incomplete, ..point(10, 100.0, 9) });
    assert_eq!(shown(&missing), (Verdict::Incomplete, "not measured to the end: 10%, 95%".to_owned()));
    let run = Evidence { directory: "ramp".into(), ..Evidence::from(Verdict::Fail) }.with_failure("3 EIO".to_owned());
    let aside = Aside { failures: vec![run], ..Aside::default() };
    let elsewhere = Curve { aside: aside.clone(), ..whole.clone() };
    assert_eq!(shown(&elsewhere), (Verdict::Fail, "in ramp: 3 EIO".to_owned()), "of a run that is no point");
    let outcome = limit::Outcome::TargetFailed { at: Some(Multiple::from_whole(8)), passes: None };
    let scale = Scale { maximum: None, searched: true, without_maximum: Some(outcome), ..Scale::default() };
    let none = Curve { scale, aside, points: Vec::new(), shape: Shape::default(), ..whole };
    let (verdict, banner) = shown(&none);
    assert_eq!(verdict, Verdict::Fail);
    assert!(banner.contains("the target failed at 8x") && banner.ends_with("; 3 EIO"), "{banner}");
}

#[test]
fn json_reads_back() {
    let curve = queue(&[10, 50, 90]);
    let text = serde_json::to_string(&curve).unwrap();
    assert!(text.contains("\"share\":\"50%\"") && text.contains("\"load\":\"5x\""), "{text}");
    assert_eq!(serde_json::from_str::<Curve>(&text).unwrap(), curve);
}

#[test]
fn text_fits_the_screen_and_marks_the_knee() {
    let mut curve = queue(&[10, 30, 50, 70, 90, 95]);
    curve.set_point(Point { delivered: false, verdict: Verdict::Fail, ..point(100, 700.0, 10_000_000_000) });
    curve.of.targets = vec!["sim:\u{1b}[31m".into()];
    let mut text = String::new();
    super::write_text(&curve, &mut text).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.lines().count() <= 40 && !text.contains('\u{1b}'), "{text}");
    let knees: Vec<&str> = text.lines().filter(|line| line.ends_with("<- knee")).collect();
    assert!(knees.len() == 1 && knees[0].trim_start().starts_with("50%"), "{text}");
    assert!(text.contains("SIMULATED"), "{text}");
    assert!(text.contains("not comparable with audited results"), "{text}");
    for mark in ["m", "9"] {
        assert!(text.lines().filter(|line| line.contains('|')).any(|line| line.contains(mark)), "{text}");
    }
}

/// Two curves in one picture: each has its own table, one drawing and one chart have the lines of both, and the text
/// says what the cache gains.
#[test]
fn a_curve_without_the_cache_stands_beside_the_one_with_it() {
    let mut with = queue(&[10, 30, 50, 70, 90]);
    with.cache = Some("/dev/SSD<1>".into());
    with.points.iter_mut().for_each(|point| point.hit_rate = Some(0.425));
    let half = |point: &Point| Point {
        rates: Rates { achieved: point.rates.achieved.map(|rate| rate / 2.0), ..point.rates },
        hit_rate: None,
        ..point.clone()
    };
    let mut without = curve(with.points.iter().map(half));
    without.scale.maximum = Some(Multiple::from_whole(5));
    without.limits.watermarks = vec!["SHORT".into()];
    with.put_beside(without);
    assert_eq!(with.limits.watermarks, ["SIMULATED", "SHORT"]);
    let shown = |curve: &Curve| {
        let mut text = String::new();
        super::write_text(curve, &mut text).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let mut page = String::new();
        write_html(curve, &mut page).unwrap();
        (text, page)
    };
    let (text, page) = shown(&with);
    for said in [
        "With the cache /dev/SSD<1>: 100% is 10x, as it was asked for",
        "Without the cache: 100% is 5x, as it was asked for",
        "At 9x the mean response is 10 ms with the cache, and 10 ms without it.",
        "  42.5%",
        "hits",
        "; without the cache o mean, 8 p99",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    for mark in ["m", "9", "o", "8"] {
        assert!(text.lines().filter(|line| line.contains('|')).any(|line| line.contains(mark)), "{mark}: {text}");
    }
    assert_eq!(page.matches("<table>").count(), 2, "{page}");
    for said in ["p99 with the cache /dev/SSD&#60;1&#62;", "mean without the cache", "42.5%", "At 9x the mean response"]
    {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(!page.contains("p50 with"), "two curves have two lines each");
    // Where each maximum was searched for, the loads say what is gained.
    with.scale.searched = true;
    assert!(shown(&with).0.contains("With the cache the targets carry 10x, without it 5x: 2.00 times as much."));
    assert!(shown(&with).1.contains("href=\"maximum/limit.html\""));
    // A point of either curve that failed makes both FAIL, and one that is missing makes them INCOMPLETE.
    assert_eq!(with.verdict(), Verdict::Pass);
    let missing = with.beside.as_mut().unwrap().points.pop();
    assert_eq!(with.verdict(), Verdict::Incomplete);
    with.beside.as_mut().unwrap().points[0].verdict = Verdict::Fail;
    assert_eq!(with.verdict(), Verdict::Fail);
    with.beside.as_mut().unwrap().points.extend(missing);
    assert_eq!(with.verdict(), Verdict::Fail);
    assert_eq!(serde_json::from_str::<Curve>(&serde_json::to_string(&with).unwrap()).unwrap(), with);
}
