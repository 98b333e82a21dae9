//! A log of each format version stays readable for ever and keeps its meaning. `run-v1.jsonl` was written by `assay run
//! act-storage-quick 'sim:flash?stall=300ms@7s&errors=1/2000' --for 10s --slice 5s --seed 7`; the expected figures were
//! added up from its text by hand, not by this crate. A golden file is never rewritten: a new version gets its own.
#![allow(clippy::unwrap_used, reason = "a test")]

use assay_base::Span;
use assay_record::{CloseReason, Entry, Header, Interval, PhaseKind, Reader, Thresholds, Timing, Writer};

const V1: &[u8] = include_bytes!("golden/run-v1.jsonl");

fn entries(log: &[u8]) -> Vec<Entry> {
    let mut reader = Reader::new(log);
    let mut entries = Vec::new();
    while let Some(item) = reader.next_entry().unwrap() {
        entries.push(item.unwrap_or_else(|damage| panic!("{damage}")));
    }
    entries
}

fn header(entries: &[Entry]) -> &Header {
    match &entries[0] {
        Entry::Header(header) => header,
        other => panic!("a log begins with its header, not {other:?}"),
    }
}

fn intervals(entries: &[Entry]) -> impl Iterator<Item = &Interval> {
    entries.iter().filter_map(|entry| if let Entry::Interval(interval) = entry { Some(interval) } else { None })
}

#[test]
fn version_1_says_what_it_said() {
    let entries = entries(V1);
    let header = header(&entries);
    assert_eq!((header.format, header.seed, header.load.as_str()), (1, 7, "1x"));
    assert_eq!(
        (header.slice_ns, header.interval_ns, header.max_lag_ns),
        (5_000_000_000, 1_000_000_000, 10_000_000_000)
    );
    let phases: Vec<(PhaseKind, u64)> = header.phases.iter().map(|phase| (phase.kind, phase.span_ns)).collect();
    assert_eq!(phases, [(PhaseKind::WarmUp, 2_000_000_000), (PhaseKind::Measure, 10_000_000_000)]);
    let streams: Vec<(&str, String)> =
        header.streams.iter().map(|stream| (stream.name.as_str(), stream.rate.unwrap().to_string())).collect();
    let expected = [("reads", "2000/s"), ("large-block-reads", "23.4375/s"), ("large-block-writes", "23.4375/s")];
    assert_eq!(streams, expected.map(|(name, rate)| (name, rate.to_owned())));
    let criteria: Vec<String> = header.criteria.iter().map(ToString::to_string).collect();
    let bounds = ["over 1ms below 5%", "over 8ms below 1%", "over 64ms below 0.1%"];
    assert_eq!(criteria, bounds.map(|bound| format!("reads response {bound} per 5s")));
    let Some(Entry::Close(close)) = entries.last() else { panic!("the log was closed") };
    assert_eq!(close.reason, CloseReason::Completed);
    assert_eq!((close.intervals, close.issued, close.completed, close.stuck), (12, 24_673, 24_673, 0));
    let events = entries.iter().filter(|entry| matches!(entry, Entry::Event(event) if event.what == "io-error"));
    assert_eq!((entries.len(), events.count(), intervals(&entries).count()), (29, 12, 12));
}

#[test]
fn version_1_counts_what_it_counted() {
    let entries = entries(V1);
    let thresholds = Thresholds::from_bounds(header(&entries).thresholds_ns.clone());
    // For each flow: scheduled, ok, bytes, failed, response over 1 ms, over 64 ms, sum and largest in ns.
    let expected = [
        [24_099, 24_087, 36_997_632, 12, 603, 497, 97_565_106_706, 300_050_821],
        [265, 265, 34_734_080, 0, 7, 6, 1_297_803_227, 295_853_441],
        [309, 309, 40_501_248, 0, 11, 9, 1_531_096_113, 274_985_946],
    ];
    for (flow, expected) in expected.into_iter().enumerate() {
        let mut sums = [0; 8];
        let mut carried = 0;
        for interval in intervals(&entries) {
            let of = &interval.flows[flow];
            let mut buckets = vec![0; thresholds.bucket_count()];
            Timing::add_to(&of.response.counts, &mut buckets).unwrap();
            let over = |ms| thresholds.count_over(&buckets, Span::from_ms(ms)).unwrap();
            assert!(of.is_balanced(carried), "interval {}, flow {flow}", interval.index);
            carried = of.carried_out();
            let more = [of.scheduled, of.ok, of.bytes, of.failed_operations(), over(1), over(64), of.response.sum_ns];
            sums.iter_mut().zip(more).for_each(|(sum, n)| *sum += n);
            sums[7] = sums[7].max(of.response.max_ns);
        }
        assert_eq!(sums, expected, "flow {flow}");
    }
}

#[test]
fn version_1_distributions_hold_every_operation() {
    let entries = entries(V1);
    let mut counted = [0; 3];
    for entry in &entries {
        let Entry::Histograms(line) = entry else { continue };
        for flow in &line.flows {
            let [response, service, lag] = flow.decode_times().unwrap();
            assert_eq!(response.total_count(), service.total_count());
            assert!(lag.total_count() >= response.total_count(), "failed operations have a lag too");
            counted[usize::from(flow.flow)] += response.total_count();
        }
    }
    assert_eq!(counted, [24_087, 265, 309]);
}

/// As long as this crate writes format 1, it writes exactly the same bytes.
#[test]
fn version_1_is_written_as_it_was() {
    let mut writer = Writer::new(Vec::new(), 0);
    entries(V1).iter().for_each(|entry| writer.write_entry(entry).unwrap());
    let written = writer.into_inner();
    for (number, (new, old)) in written.split(|b| *b == b'\n').zip(V1.split(|b| *b == b'\n')).enumerate() {
        let text = String::from_utf8_lossy;
        assert_eq!(text(new), text(old), "line {}", number + 1);
    }
    assert_eq!(written.len(), V1.len());
}
