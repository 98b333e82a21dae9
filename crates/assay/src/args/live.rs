//! Where a live page is served, and to whom.

use assay_base::{Measure, Span};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// `assay live`
#[derive(clap::Args, Debug)]
pub(crate) struct LiveLog {
    /// The directory of a run, of a limit, curve, matrix, fit or size; or the run.jsonl of a run
    pub dir: PathBuf,
    /// Where to serve it: an address and a port, or a port of 127.0.0.1 [default: 127.0.0.1 and a free port, which is printed]
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", hide_default_value = true)]
    pub listen: ListenAddress,
    #[command(flatten)]
    pub serving: Serving,
    /// Judge all criteria by this time: response or service [default: the time that each criterion names]
    #[arg(long = "judge", value_name = "MEASURE")]
    pub judge_on: Option<Measure>,
    /// Write the rows of an export to CSV here as they come; - for standard output
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Listen with standard input, as the process wants it that starts this one
    #[arg(long, hide = true)]
    pub inherited: bool,
}

/// A live page beside a run.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct BesideRun {
    /// Show the run on a page for browsers while it goes on, with /metrics for Prometheus, as `assay live` does. The address
    /// is printed [default address: 127.0.0.1 and a free port]
    #[arg(long, value_name = "ADDR", require_equals = true, num_args = 0..=1, default_missing_value = "127.0.0.1:0")]
    pub live: Option<ListenAddress>,
    #[command(flatten)]
    pub serving: Serving,
}

/// To whom a live page is served, and for how long.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct Serving {
    /// Serve the page on an address that other hosts can reach. Whoever asks must know a token, and nothing is encrypted
    #[arg(long)]
    pub insecure_listen: bool,
    /// File with the token, which nobody else may read (mode 0600) [default: a new token, which is printed]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Another name of this host by which browsers may ask
    #[arg(long, value_name = "NAME")]
    pub host_name: Option<String>,
    /// How long the page is served behind the end of the log [default: 5min]
    #[arg(long, value_name = "TIME")]
    pub linger: Option<Span>,
    /// Send the metrics to a receiver of OpenTelemetry too (OTLP over HTTP), such as http://localhost:4318
    #[arg(long, value_name = "URL")]
    pub otlp: Option<OtlpUrl>,
}

/// Where metrics are sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtlpUrl {
    pub host: String,
    pub port: u16,
    pub path: String,
}

/// The path for metrics, where an address has none (OTLP 1.x, "OTLP/HTTP request").
const METRICS_PATH: &str = "/v1/metrics";
/// The port of an address without one.
const HTTP_PORT: u16 = 80;

impl FromStr for OtlpUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<OtlpUrl, String> {
        let form = "write http://HOST:PORT, or http://HOST:PORT/PATH of the receiver";
        let Some(rest) = text.strip_prefix("http://") else {
            return Err(if text.starts_with("https://") {
                "nothing is encrypted here: let a collector on this host pass it on, and write http://localhost:4318"
                    .to_owned()
            } else {
                form.to_owned()
            });
        };
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let path = if path.is_empty() || path == "/" { METRICS_PATH } else { path };
        if path.contains(|c: char| !c.is_ascii_graphic() || "#\"<>\\^`{|}".contains(c)) {
            return Err(form.to_owned());
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().map_err(|_| form.to_owned())?),
            _ => (authority, HTTP_PORT),
        };
        let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_name = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
        let host = match address {
            Some(address) if address.parse::<std::net::Ipv6Addr>().is_ok() => address,
            None if is_name => host,
            _ => return Err(form.to_owned()),
        };
        if port == 0 {
            return Err(form.to_owned());
        }
        Ok(OtlpUrl { host: host.to_owned(), port, path: path.to_owned() })
    }
}

impl fmt::Display for OtlpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OtlpUrl { host, port, path } = self;
        if host.contains(':') {
            write!(f, "http://[{host}]:{port}{path}")
        } else {
            write!(f, "http://{host}:{port}{path}")
        }
    }
}

#[cfg(feature = "live")]
impl Serving {
    /// How long the page is served behind the end of the log.
    pub(crate) fn linger_time(&self) -> Span {
        self.linger.unwrap_or(Span::from_secs(300))
    }
}

/// An address to listen on: an IP address with a port, or a port of 127.0.0.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListenAddress(pub SocketAddr);

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<ListenAddress, String> {
        if let Ok(address) = text.parse() {
            return Ok(ListenAddress(address));
        }
        if let Ok(ip) = text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            return Ok(ListenAddress(SocketAddr::new(ip, 0)));
        }
        match text.parse::<u16>() {
            Ok(port) => Ok(ListenAddress(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port))),
            Err(_) => Err("write an address and a port such as 127.0.0.1:8080, or a port such as 8080".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_is_named_by_a_plain_address() {
        for (text, meant) in [
            ("http://localhost:4318", Some("http://localhost:4318/v1/metrics")),
            ("http://localhost:4318/", Some("http://localhost:4318/v1/metrics")),
            ("http://collector.example/otlp/v1/metrics?a=b", Some("http://collector.example:80/otlp/v1/metrics?a=b")),
            ("http://[::1]:4318", Some("http://[::1]:4318/v1/metrics")),
            ("http://[::1]", Some("http://[::1]:80/v1/metrics")),
            ("https://localhost:4318", None),
            ("localhost:4318", None),
            ("http://", None),
            ("http://:4318", None),
            ("http://host:0", None),
            ("http://host:70000", None),
            ("http://me:secret@host:1", None),
            ("http://host:1/a b", None),
            ("http://host:1/\r\nX: y", None),
            ("http://[::1", None),
            ("http://[host]:1", None),
            ("", None),
        ] {
            let read = text.parse::<OtlpUrl>().ok().map(|url| url.to_string());
            assert_eq!(read.as_deref(), meant, "{text}");
            assert!(meant.is_none_or(|meant| meant.parse::<OtlpUrl>().unwrap().to_string() == meant), "{text}");
        }
    }

    #[test]
    fn an_address_is_one_of_this_host_unless_it_says_more() {
        for (text, meant) in [
            ("127.0.0.1:0", Some("127.0.0.1:0")),
            ("8080", Some("127.0.0.1:8080")),
            ("0.0.0.0:9000", Some("0.0.0.0:9000")),
            ("[::1]:80", Some("[::1]:80")),
            ("192.0.2.7", Some("192.0.2.7:0")),
            ("::1", Some("[::1]:0")),
            ("localhost:80", None),
            ("70000", None),
            ("", None),
        ] {
            let read = text.parse::<ListenAddress>().ok().map(|address| address.0.to_string());
            assert_eq!(read.as_deref(), meant, "{text}");
        }
    }
}
