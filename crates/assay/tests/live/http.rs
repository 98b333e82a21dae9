//! Requests as a program without a library makes them, so that a test decides every byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Nothing is waited for longer than this.
const WAITS: Duration = Duration::from_secs(60);

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }
}

pub fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(WAITS)).unwrap();
    stream
}

/// Sends a request and reads the answer to its end.
pub fn ask(port: u16, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    ask_with_body(port, method, path, headers, "")
}

pub fn ask_with_body(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut stream = connect(port);
    let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    let names_host = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host"));
    if !names_host {
        text += &format!("Host: 127.0.0.1:{port}\r\n");
    }
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    if !body.is_empty() {
        text += &format!("Content-Length: {}\r\n", body.len());
    }
    stream.write_all(format!("{text}\r\n{body}").as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let (status, headers) = head(&mut reader);
    let mut body = Vec::new();
    if headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked") {
        while let Some(chunk) = chunk(&mut reader) {
            body.extend(chunk);
        }
    } else if let Some((_, length)) = headers.iter().find(|(name, _)| name == "content-length" && method != "HEAD") {
        body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
    } else {
        reader.read_to_end(&mut body).unwrap();
    }
    Answer { status, headers, body: String::from_utf8(body).unwrap() }
}

pub fn get(port: u16, path: &str) -> Answer {
    ask(port, "GET", path, &[])
}

fn head(reader: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no status: {line:?}")).parse().unwrap();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_lowercase(), value.trim().to_owned())),
            None => return (status, headers),
        }
    }
}

fn chunk(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let length = usize::from_str_radix(line.trim_end(), 16).unwrap_or_else(|_| panic!("no length: {line:?}"));
    let mut bytes = vec![0; length + 2];
    reader.read_exact(&mut bytes).unwrap();
    bytes.truncate(length);
    (length > 0).then_some(bytes)
}

/// An event of a stream.
#[derive(Clone, Debug)]
pub struct Event {
    pub kind: String,
    pub id: u64,
    pub data: serde_json::Value,
    /// Its length in bytes.
    pub length: usize,
}

/// An open stream of events.
pub struct Events {
    reader: BufReader<TcpStream>,
    text: String,
}

impl Events {
    pub fn open(port: u16) -> Events {
        let mut stream = connect(port);
        write!(stream, "GET /events HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n").unwrap();
        let mut reader = BufReader::new(stream);
        let (status, headers) = head(&mut reader);
        assert_eq!(status, 200);
        assert!(headers.contains(&("content-type".into(), "text/event-stream".into())), "{headers:?}");
        Events { reader, text: String::new() }
    }

    /// The next event; `None` when the server has ended the stream.
    pub fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                if event.starts_with(':') {
                    continue;
                }
                return Some(parsed(&event));
            }
            let chunk = chunk(&mut self.reader)?;
            self.text += std::str::from_utf8(&chunk).unwrap();
        }
    }
}

fn parsed(text: &str) -> Event {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_else(|| panic!("no {name}: {text}"))
    };
    assert_eq!(text.lines().count(), 3, "{text}");
    Event {
        kind: field("event").to_owned(),
        id: field("id").parse().unwrap(),
        data: serde_json::from_str(field("data")).unwrap(),
        length: text.len() + 2,
    }
}
