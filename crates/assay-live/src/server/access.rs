//! Who may ask: by method, by the name under which the server was asked for, and by token.
//!
//! A page elsewhere can make a browser send requests here, and by a name of its own that leads to this address (DNS rebinding) even
//! read the answers. A request that names the server by an address, `localhost` or a name that the user gave does not come from such a
//! page. On another address than loopback others can connect, so that a token is asked for.

use axum::http::header::{AUTHORIZATION, COOKIE, HOST};
use axum::http::{HeaderMap, Method, Uri};
use std::net::IpAddr;

/// Who may ask.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// A further name of this host.
    pub host_name: Option<String>,
    /// What whoever asks must know; `None` on loopback, where only this machine can connect.
    pub token: Option<String>,
    /// The port, which makes the name of the cookie: those of several ports of a host are one jar.
    pub port: u16,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It is answered.
    Granted,
    /// It has the token in its address: the browser keeps it, and asks again without.
    KeepToken,
    /// It would change something.
    NotAllowed,
    /// It asks for another host.
    OtherHost,
    /// It does not know the token.
    NoToken,
}

impl Rules {
    /// Decides about a request.
    pub(crate) fn access_for(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Access {
        if method != Method::GET && method != Method::HEAD {
            return Access::NotAllowed;
        }
        if !self.is_ours(uri, headers) {
            return Access::OtherHost;
        }
        let Some(token) = &self.token else { return Access::Granted };
        let cookie = self.cookie_name();
        let known = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut cookies = known.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        if cookies.any(|(name, value)| name == cookie && is_same_text(value, token)) {
            return Access::Granted;
        }
        let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        if bearer.is_some_and(|given| is_same_text(given, token)) {
            return Access::Granted;
        }
        let mut asked = uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        if uri.path() == "/" && asked.any(|(name, value)| name == "t" && is_same_text(value, token)) {
            return Access::KeepToken;
        }
        Access::NoToken
    }

    /// Whether the request names this host, by `Host` or in its address.
    fn is_ours(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|value| value.to_str().ok());
        let (Some(host), None) = (host, hosts.next()) else { return false };
        self.is_own_name(host) && uri.authority().is_none_or(|authority| self.is_own_name(authority.as_str()))
    }

    fn is_own_name(&self, with_port: &str) -> bool {
        let name = match with_port.strip_prefix('[') {
            Some(rest) => match rest.split_once(']') {
                Some((address, port)) if port.is_empty() || is_port(port) => address,
                _ => return false,
            },
            None => match with_port.rfind(':') {
                Some(colon) if is_port(&with_port[colon..]) => &with_port[..colon],
                Some(_) => return false,
                None => with_port,
            },
        };
        name.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || self.host_name.as_ref().is_some_and(|own| name.eq_ignore_ascii_case(own))
    }

    /// The name of the cookie that holds the token.
    pub(crate) fn cookie_name(&self) -> String {
        format!("assay_live_{}", self.port)
    }

    /// The cookie that holds the token: no script reads it, and no other site makes a browser send it.
    pub(crate) fn cookie_line(&self) -> String {
        let token = self.token.as_deref().unwrap_or_default();
        format!("{}={token}; Path=/; HttpOnly; SameSite=Strict", self.cookie_name())
    }
}

/// Whether the text is a colon and a port.
fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

/// Whether two texts are the same. How long that takes says nothing about where they differ.
fn is_same_text(given: &str, token: &str) -> bool {
    // The hashes differ at a place that nobody can choose.
    blake3::hash(given.as_bytes()) == blake3::hash(token.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(rules: &Rules, method: &str, uri: &str, lines: &[(&'static str, &str)]) -> Access {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        rules.access_for(&method.parse().unwrap(), &uri.parse().unwrap(), &headers)
    }

    #[test]
    fn only_requests_for_this_host_are_answered() {
        let rules = Rules { host_name: Some("bench7".into()), token: None, port: 80 };
        for (host, answered) in [
            ("127.0.0.1:8080", true),
            ("localhost", true),
            ("LocalHost:80", true),
            ("[::1]:80", true),
            ("[::1]", true),
            ("192.0.2.7", true),
            ("bench7:9000", true),
            ("evil.example", false),
            ("evil.example:80", false),
            ("127.0.0.1.evil.example", false),
            ("localhost.evil.example", false),
            ("bench7.evil.example", false),
            ("[::1", false),
            ("[::1]x", false),
            ("::1", false),
            ("localhost:port", false),
            ("user@127.0.0.1", false),
            ("", false),
        ] {
            let expected = if answered { Access::Granted } else { Access::OtherHost };
            assert_eq!(decide(&rules, "GET", "/", &[("host", host)]), expected, "{host}");
        }
        assert_eq!(decide(&rules, "GET", "/", &[]), Access::OtherHost);
        assert_eq!(decide(&rules, "GET", "/", &[("host", "localhost"), ("host", "localhost")]), Access::OtherHost);
        assert_eq!(decide(&rules, "GET", "http://evil.example/", &[("host", "localhost")]), Access::OtherHost);
        assert_eq!(decide(&rules, "GET", "http://localhost/", &[("host", "localhost")]), Access::Granted);
    }

    #[test]
    fn nothing_but_reading_is_allowed() {
        let rules = Rules::default();
        for (method, expected) in [
            ("GET", Access::Granted),
            ("HEAD", Access::Granted),
            ("POST", Access::NotAllowed),
            ("PUT", Access::NotAllowed),
            ("DELETE", Access::NotAllowed),
            ("OPTIONS", Access::NotAllowed),
            ("TRACE", Access::NotAllowed),
            ("BREW", Access::NotAllowed),
        ] {
            assert_eq!(decide(&rules, method, "/", &[("host", "localhost")]), expected, "{method}");
        }
    }

    #[test]
    fn a_token_is_known_from_the_address_a_cookie_or_a_header() {
        let rules = Rules { token: Some("s3cret".into()), port: 9, ..Rules::default() };
        let host = ("host", "192.0.2.7:9");
        for (uri, line, expected) in [
            ("/", None, Access::NoToken),
            ("/?t=s3cret", None, Access::KeepToken),
            ("/?x=1&t=s3cret", None, Access::KeepToken),
            ("/?t=s3cre", None, Access::NoToken),
            ("/?t=", None, Access::NoToken),
            ("/events?t=s3cret", None, Access::NoToken),
            ("/events", Some(("cookie", "a=b; assay_live_9=s3cret")), Access::Granted),
            ("/events", Some(("cookie", "assay_live_8=s3cret")), Access::NoToken),
            ("/events", Some(("cookie", "assay_live_9=s3cret2")), Access::NoToken),
            ("/metrics", Some(("authorization", "Bearer s3cret")), Access::Granted),
            ("/metrics", Some(("authorization", "Basic s3cret")), Access::NoToken),
        ] {
            let lines: Vec<_> = [host].into_iter().chain(line).collect();
            assert_eq!(decide(&rules, "GET", uri, &lines), expected, "{uri} {line:?}");
        }
    }
}
