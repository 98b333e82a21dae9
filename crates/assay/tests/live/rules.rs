//! Who is answered, with what headers, and what nobody can do to the server.

use super::bed::{Place, until};
use super::growing::{Live, Writer, lines_of, with_streams};
use super::http::{ask, ask_with_body, connect, get};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

fn place_with_run() -> Place {
    let place = Place::new();
    place.assay(&["run", "random-read", "sim:flash", "--for", "5s", "--slice", "2s", "--seed", "1", "--out", "run"]);
    place
}

#[test]
fn only_this_host_is_answered_and_only_reading() {
    let place = place_with_run();
    let live = Live::serve(&place, &["run", "--host-name", "bench7"]);
    live.at_end();
    for (host, status) in [
        ("127.0.0.1", 200),
        ("localhost:1234", 200),
        ("[::1]:99", 200),
        ("bench7", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
    ] {
        for path in ["/", "/snapshot.json", "/metrics"] {
            assert_eq!(ask(live.port, "GET", path, &[("Host", host)]).status, status, "{host} {path}");
        }
    }
    assert_eq!(ask(live.port, "GET", "/events", &[("Host", "evil.example")]).status, 421);
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        let answer = ask_with_body(live.port, method, "/snapshot.json", &[], "x=1");
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }
    assert_eq!(get(live.port, "/../etc/passwd").status, 404);
    assert_eq!(get(live.port, "/snapshot").status, 404);
    let head = ask(live.port, "HEAD", "/snapshot.json", &[]);
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[test]
fn every_answer_keeps_browsers_from_doing_more_with_it() {
    let place = place_with_run();
    let live = Live::serve(&place, &["run"]);
    for (path, host, kind) in [
        ("/", "localhost", "text/html; charset=utf-8"),
        ("/snapshot.json", "localhost", "application/json"),
        ("/metrics", "localhost", "application/openmetrics-text; version=1.0.0; charset=utf-8"),
        ("/nothing", "localhost", "text/plain; charset=utf-8"),
        ("/", "evil.example", "text/plain; charset=utf-8"),
    ] {
        let answer = ask(live.port, "GET", path, &[("Host", host)]);
        assert_eq!(answer.header("content-type"), Some(kind), "{path}");
        for (name, value) in
            [("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"), ("cache-control", "no-store")]
        {
            assert_eq!(answer.header(name), Some(value), "{path}");
        }
        let policy = answer.header("content-security-policy").unwrap();
        for part in [
            "default-src 'none'",
            "script-src 'sha256-",
            "connect-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(part) && !policy.contains("unsafe"), "{path}: {policy}");
        }
    }
    let page = get(live.port, "/").body;
    assert!(page.len() <= 100_000 && !page.contains("random-read"), "the page is the same for every run");
}

#[test]
fn other_hosts_need_a_token() {
    let place = place_with_run();
    let refused = place.assay(&["live", "run", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("--insecure-listen") && refused.err.contains("ssh -L"), "{}", refused.err);

    let live = Live::serve(&place, &["run", "--listen", "0.0.0.0:0", "--insecure-listen", "--host-name", "bench7"]);
    let (address, token) = live.url.split_once("/?t=").unwrap();
    assert_eq!((address, token.len()), (format!("http://bench7:{}", live.port).as_str(), 32));
    let wrong = token.replace(|c: char| c.is_ascii_digit(), "x");
    for (path, headers, status) in [
        ("/", vec![], 401),
        ("/snapshot.json", vec![], 401),
        ("/events", vec![], 401),
        ("/metrics", vec![], 401),
        (&*format!("/?t={wrong}"), vec![], 401),
        (&format!("/snapshot.json?t={token}"), vec![], 401),
        (&format!("/?t={token}"), vec![], 303),
        ("/snapshot.json", vec![("Cookie", format!("assay_live_{}={wrong}", live.port))], 401),
        ("/snapshot.json", vec![("Cookie", format!("other=1; assay_live_{}={token}", live.port))], 200),
        ("/metrics", vec![("Authorization", format!("Bearer {token}"))], 200),
        ("/metrics", vec![("Authorization", format!("Bearer {wrong}"))], 401),
    ] {
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = ask(live.port, "GET", path, &headers);
        assert_eq!(answer.status, status, "{path} {headers:?}");
        if status == 303 {
            assert_eq!(answer.header("location"), Some("/"));
            let cookie = answer.header("set-cookie").unwrap();
            assert_eq!(cookie, format!("assay_live_{}={token}; Path=/; HttpOnly; SameSite=Strict", live.port));
        }
        assert!(status == 200 || !answer.body.contains("random-read"), "{path}: nothing of the run");
    }
    // Of two servers each has a token of its own.
    let other = Live::serve(&place, &["run", "--listen", "0.0.0.0:0", "--insecure-listen"]);
    assert!(!other.url.contains(token) && other.url.starts_with("http://ADDRESS-OF-THIS-HOST:"), "{}", other.url);
}

#[test]
fn a_token_comes_from_a_file_that_nobody_else_reads() {
    use std::os::unix::fs::PermissionsExt;
    let place = place_with_run();
    let file = place.write("token", "a-token-of-our-own.0123\n");
    let mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    for (bits, text, word) in [
        (0o644, "a-token-of-our-own.0123\n", "chmod 0600"),
        (0o600, "short\n", "16 to 256"),
        (0o600, "with spaces and more of them\n", "16 to 256"),
    ] {
        std::fs::write(&file, text).unwrap();
        mode(bits);
        let refused = place.assay(&["live", "run", "--token-file", "token"]);
        assert!(refused.code == Some(2) && refused.err.contains(word), "{refused:?}");
    }
    std::fs::write(&file, "a-token-of-our-own.0123\n").unwrap();
    let live = Live::serve(&place, &["run", "--token-file", "token"]);
    assert!(live.url.ends_with("/?t=a-token-of-our-own.0123"), "also on loopback, where it is asked for: {}", live.url);
    assert_eq!(get(live.port, "/snapshot.json").status, 401);
    let missing = place.assay(&["live", "run", "--token-file", "nowhere"]);
    assert!(missing.code == Some(2) && missing.err.contains("nowhere"), "{missing:?}");
}

#[test]
fn requests_that_are_long_or_slow_or_many_are_bounded() {
    let place = place_with_run();
    let live = Live::serve(&place, &["run"]);
    live.at_end();
    let long = ask(live.port, "GET", "/", &[("X-Long", &"x".repeat(9000))]);
    assert_eq!(long.status, 431);
    // A request that does not come to its end is not waited for longer than ten seconds.
    let mut slow = connect(live.port);
    slow.write_all(b"GET / HTTP/1.1\r\nHost: loc").unwrap();
    let mut rest = Vec::new();
    let _ = slow.read_to_end(&mut rest);
    assert!(!String::from_utf8_lossy(&rest).contains("200 OK"), "it was closed without an answer");
    // More than 256 connections are closed at once, and those that stay are served.
    let open: Vec<_> = (0..400).map(|_| connect(live.port)).collect();
    open.iter().for_each(|stream| stream.set_nonblocking(true).unwrap());
    let is_closed = |stream: &TcpStream| match (&mut &*stream).read(&mut [0; 1]) {
        Ok(n) => n == 0,
        Err(e) => e.kind() != ErrorKind::WouldBlock,
    };
    until("the others are closed", || open.iter().filter(|stream| is_closed(stream)).count() >= 400 - 256);
    assert_eq!(open.iter().filter(|stream| is_closed(stream)).count(), 400 - 256);
    drop(open);
    until("an answer after all have gone", || {
        let mut stream = connect(live.port);
        let asked = write!(stream, "GET /snapshot.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let mut text = String::new();
        asked.is_ok() && stream.read_to_string(&mut text).is_ok() && text.starts_with("HTTP/1.1 200")
    });
}

#[test]
fn readers_that_do_not_read_cost_nothing_and_miss_nothing_that_is_newest() {
    let place = Place::new();
    place.assay(&[
        "run",
        "act-storage",
        "sim:flash",
        "--for",
        "60s",
        "--slice",
        "10s",
        "--seed",
        "1",
        "--out",
        "whole",
    ]);
    let lines = lines_of(&place, "whole");
    let mut writer = Writer::begin(&place, "live");
    writer.append(&lines[..1]);
    let live = Live::serve(&place, &["live"]);
    live.at(0);
    let asleep: Vec<_> = (0..200)
        .map(|_| {
            let mut stream = connect(live.port);
            write!(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            stream
        })
        .collect();
    for line in 1..lines.len() {
        writer.append(&lines[line..=line]);
        live.at(line);
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", live.running.pid())).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 64 << 10, "{kib} KiB");
    // One of them wakes up: the newest it is told is the newest line.
    drop(writer);
    live.at_end();
    let mut text = Vec::new();
    let mut awake = asleep.into_iter().next().unwrap();
    awake.read_to_end(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("event: end") && text.contains(&format!("id: {}\n", lines.len() - 1)), "{text}");
}

#[test]
fn what_cannot_be_followed_is_refused_before_anybody_listens() {
    let place = place_with_run();
    std::fs::create_dir(place.path("nothing")).unwrap();
    for (dir, code, word) in [("nowhere", 3, "cannot be read"), ("nothing", 3, "cannot be read")] {
        let said = place.assay(&["live", dir]);
        assert_eq!(said.code, Some(code), "{dir}: {said:?}");
        assert!(said.err.contains(word) && said.out.is_empty(), "{dir}: {said:?}");
    }
    let live = Live::serve(&place, &["run"]);
    let taken = place.assay(&["live", "run", "--listen", &live.port.to_string()]);
    assert!(taken.code == Some(5) && taken.err.contains("nobody can listen on 127.0.0.1"), "{taken:?}");
    let elsewhere = place.assay(&["live", "run", "--listen", "203.0.113.7:0", "--insecure-listen"]);
    assert_eq!(elsewhere.code, Some(5), "{elsewhere:?}");
}

#[test]
fn it_ends_some_time_behind_the_log() {
    let place = place_with_run();
    let live = Live::serve(&place, &["run", "--linger", "1s"]);
    live.at_end();
    assert_eq!(live.running.end().code, Some(0));
}

#[test]
fn a_reader_that_takes_nothing_is_disconnected() {
    let place = place_with_run();
    let live = Live::serve(&place, &["run"]);
    live.at_end();
    let descriptors = || std::fs::read_dir(format!("/proc/{}/fd", live.running.pid())).unwrap().count();
    let before = descriptors();
    let mut asleep = connect(live.port);
    // More than fits into what the kernel keeps for both ends.
    asleep.set_write_timeout(Some(std::time::Duration::from_secs(1))).unwrap();
    let request = b"GET /snapshot.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
    while asleep.write_all(&request.repeat(1000)).is_ok() {}
    assert!(descriptors() > before, "it is connected");
    until("its connection is ended", || descriptors() <= before);
    assert_eq!(get(live.port, "/snapshot.json").status, 200);
}

#[test]
fn very_many_streams_of_a_forged_log_do_not_fill_the_memory() {
    let place = place_with_run();
    let forged = with_streams(&lines_of(&place, "run"), 5000);
    Writer::begin(&place, "forged").append(&forged);
    let live = Live::serve(&place, &["forged"]);
    let snapshot = live.at_end();
    let moment = snapshot["recent"].as_array().unwrap().last().unwrap();
    let shown = moment["streams"].as_array().unwrap().len() as u64;
    assert!(shown > 0 && shown <= 64);
    assert_eq!(shown + moment["left_out"].as_u64().unwrap(), 5000);
    let metrics = get(live.port, "/metrics").body;
    assert!(!metrics.contains("assay_series_left_out 0"), "not all are counted");
}
