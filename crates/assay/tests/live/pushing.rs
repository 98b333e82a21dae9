//! `--otlp`: a receiver of the test takes the messages with the official definitions, and compares them with the log.

use super::bed::{Place, until};
use super::growing::{Live, Writer, lines_of};
use super::http::get;
use assay_record::{Entry, Reader};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::{Metric, NumberDataPoint, metric, number_data_point};
use prost::Message;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What came.
#[derive(Default)]
struct Received {
    paths: Vec<String>,
    messages: Vec<ExportMetricsServiceRequest>,
}

/// A receiver that answers each message with the next of these codes, and then with 200.
struct Receiver {
    url: String,
    received: Arc<Mutex<Received>>,
}

impl Receiver {
    fn begin(codes: &[u16]) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Received::default()));
        let (kept, codes) = (received.clone(), codes.to_vec());
        std::thread::spawn(move || {
            let mut codes = codes.into_iter();
            for stream in listener.incoming() {
                take_message(stream.unwrap(), codes.next().unwrap_or(200), &kept);
            }
        });
        Receiver { url, received }
    }

    fn count(&self) -> usize {
        self.received.lock().unwrap().messages.len()
    }

    fn newest(&self) -> ExportMetricsServiceRequest {
        self.received.lock().unwrap().messages.last().unwrap().clone()
    }
}

fn take_message(stream: TcpStream, code: u16, received: &Mutex<Received>) {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim_end().is_empty() {
            break;
        }
        lines.push(line.trim_end().to_lowercase());
    }
    assert!(lines.contains(&"content-type: application/x-protobuf".to_owned()), "{lines:?}");
    let length = lines.iter().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let message = ExportMetricsServiceRequest::decode(body.as_slice()).unwrap();
    if code == 200 {
        let mut received = received.lock().unwrap();
        received.paths.push(lines[0].clone());
        received.messages.push(message);
    }
    write!(reader.get_mut(), "HTTP/1.1 {code} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
}

fn metrics_in(message: &ExportMetricsServiceRequest) -> BTreeMap<String, Metric> {
    let metrics = message.resource_metrics[0].scope_metrics[0].metrics.iter();
    metrics.map(|metric| (metric.name.clone(), metric.clone())).collect()
}

fn points_of(metric: &Metric) -> &[NumberDataPoint] {
    match metric.data.as_ref().unwrap() {
        metric::Data::Sum(sum) => {
            assert!(sum.is_monotonic && sum.aggregation_temporality == 2, "sums since the beginning: {}", metric.name);
            &sum.data_points
        }
        metric::Data::Gauge(gauge) => &gauge.data_points,
        _ => panic!("{}", metric.name),
    }
}

fn label<'a>(point: &'a NumberDataPoint, name: &str) -> Option<&'a str> {
    use opentelemetry_proto::tonic::common::v1::any_value::Value;
    let attribute = point.attributes.iter().find(|attribute| attribute.key == name)?;
    match attribute.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text),
        _ => None,
    }
}

fn whole(point: &NumberDataPoint) -> u64 {
    match point.value {
        Some(number_data_point::Value::AsInt(n)) => n as u64,
        _ => panic!("{point:?}"),
    }
}

/// The sums of a log by stream and target: scheduled, issued, completed, bytes, short.
fn sums_of(lines: &[String]) -> BTreeMap<(String, String), [u64; 5]> {
    let text = lines.concat();
    let mut reader = Reader::new(text.as_bytes());
    let (mut sums, mut flows) = (BTreeMap::new(), Vec::new());
    while let Some(entry) = reader.next_entry().unwrap() {
        match entry.unwrap() {
            Entry::Header(head) => {
                let name = |flow: &assay_record::FlowHead| {
                    let stream = head.streams[usize::from(flow.stream)].name.clone();
                    (stream, head.targets[usize::from(flow.target)].name.clone())
                };
                flows = head.flows.iter().map(name).collect();
            }
            Entry::Interval(interval) => {
                for (name, flow) in flows.iter().zip(&interval.flows) {
                    let sum: &mut [u64; 5] = sums.entry(name.clone()).or_default();
                    let parts = [flow.scheduled, flow.issued, flow.ok, flow.bytes, flow.short];
                    sum.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
                }
            }
            _ => {}
        }
    }
    sums
}

const NAMES: [&str; 5] = [
    "assay_scheduled_operations",
    "assay_issued_operations",
    "assay_completed_operations",
    "assay_completed_bytes",
    "assay_short_operations",
];

fn is_of_lines(message: &ExportMetricsServiceRequest, lines: &[String]) {
    let metrics = metrics_in(message);
    let sums = sums_of(lines);
    assert!(!sums.is_empty());
    for (at, name) in NAMES.iter().enumerate() {
        let points = points_of(&metrics[*name]);
        assert_eq!(points.len(), sums.len(), "{name}");
        for point in points {
            let flow = (label(point, "stream").unwrap().to_owned(), label(point, "target").unwrap().to_owned());
            assert_eq!(whole(point), sums[&flow][at], "{name} of {flow:?}");
            assert!(point.time_unix_nano > point.start_time_unix_nano, "{point:?}");
        }
    }
    let completed: u64 = sums.values().map(|sum| sum[2]).sum();
    let Some(metric::Data::Histogram(histogram)) = &metrics["assay_response_seconds"].data else { panic!() };
    let counted: u64 = histogram.data_points.iter().map(|point| point.count).sum();
    assert_eq!(counted, completed, "each response is in a histogram");
    for point in &histogram.data_points {
        assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
        assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
        assert!(point.explicit_bounds.is_sorted());
    }
}

const RUN: [&str; 12] = [
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
];

#[test]
fn each_counter_is_the_sum_of_the_log_at_every_message() {
    let place = Place::new();
    place.assay(&[&RUN[..], &["--out", "whole"]].concat());
    let lines = lines_of(&place, "whole");
    let mut writer = Writer::begin(&place, "live");
    writer.append(&lines[..1]);
    let receiver = Receiver::begin(&[]);
    let server = Live::serve(&place, &["live", "--otlp", &receiver.url, "--linger", "1s"]);
    for line in 1..lines.len() {
        let before = receiver.count();
        writer.append(&lines[line..=line]);
        until("the next message", || receiver.count() > before);
        if lines[line].contains("\"kind\":\"interval\"") {
            is_of_lines(&receiver.newest(), &lines[..=line]);
        }
    }
    drop(writer);
    assert_eq!(server.running.end().code, Some(0));
    is_of_lines(&receiver.newest(), &lines);
    let verdict = place.assay(&["judge", "whole", "--json"]).json()["verdict"].as_str().unwrap().to_owned();
    let metrics = metrics_in(&receiver.newest());
    for point in points_of(&metrics["assay_verdict"]) {
        assert_eq!(whole(point), u64::from(label(point, "verdict") == Some(&verdict)), "{point:?}");
    }
    assert!(receiver.received.lock().unwrap().paths.iter().all(|path| path == "post /v1/metrics http/1.1"));
}

#[test]
fn a_receiver_that_is_not_ready_gets_the_same_later_and_one_that_refuses_costs_a_message() {
    let place = Place::new();
    place.assay(&[&RUN[..], &["--out", "run"]].concat());
    let receiver = Receiver::begin(&[503, 429, 400]);
    let begun = std::time::Instant::now();
    let server = Live::serve(&place, &["run", "--otlp", &receiver.url, "--linger", "60s"]);
    server.at_end();
    until("the refused message is counted", || {
        get(server.port, "/metrics").body.contains("assay_push_dropped_total 1")
    });
    assert!(begun.elapsed() >= Duration::from_secs(3), "it was tried again after a second and after two more");
}

#[test]
fn a_receiver_that_never_answers_disturbs_nothing() {
    let place = Place::new();
    place.assay(&[&RUN[..], &["--out", "whole"]].concat());
    let lines = lines_of(&place, "whole");
    let mut writer = Writer::begin(&place, "live");
    writer.append(&lines[..1]);
    // It takes connections and reads nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let server = Live::serve(&place, &["live", "--otlp", &url]);
    for line in 1..lines.len() {
        writer.append(&lines[line..=line]);
        assert_eq!(server.at(line)["seq"], line);
    }
    drop(writer);
    server.at_end();
    assert!(get(server.port, "/metrics").body.contains("assay_push_dropped_total 0"));
}

#[test]
fn an_address_that_is_none_ends_a_command_before_anything_is_opened() {
    let place = Place::new();
    for (url, word) in [
        ("https://localhost:4318", "nothing is encrypted"),
        ("localhost:4318", "write http://"),
        ("http://me:secret@h:1", "write http://"),
    ] {
        for args in [
            &["live", "nowhere", "--otlp", url][..],
            &["run", "act-storage", "new.img", "--create", "16MiB", "--live", "--otlp", url],
        ] {
            let said = place.assay(args);
            assert_eq!(said.code, Some(2), "{said:?}");
            assert!(said.err.contains(word) && place.left(&["state"]).is_empty(), "{said:?}");
        }
    }
    let unused = place.assay(&["run", "random-read", "null:1GiB", "--otlp", "http://localhost:4318"]);
    assert!(unused.code == Some(2) && unused.err.contains("add it"), "{unused:?}");
}
