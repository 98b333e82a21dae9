//! Where a live page is served, and to whom.

use assay_base::{Measure, Span};
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
    /// A name of this host by which browsers may ask, besides its addresses and localhost
    #[arg(long, value_name = "NAME")]
    pub host_name: Option<String>,
    /// How long the page is served behind the end of the log [default: 5min]
    #[arg(long, value_name = "TIME")]
    pub linger: Option<Span>,
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
