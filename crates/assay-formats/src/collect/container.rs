//! A server's log as those who run it in a container have it: each line behind a prefix of the container's log.
//!
//! | from | a line |
//! |---|---|
//! | `docker compose logs` | `db-1  \| Apr 10 2018 07:28:02 GMT: INFO …` |
//! | containerd, CRI-O (Kubernetes) | `2018-04-10T07:28:02.123456789Z stdout F Apr 10 2018 …` |
//! | `docker logs -t` | `2018-04-10T07:28:02.123456789Z Apr 10 2018 …` |
//! | journald, syslog | `Apr 10 07:28:02 host asd[1234]: Apr 10 2018 …` |
//! | Docker's files (`json-file`) | `{"log":"Apr 10 2018 …\n","stream":"stdout","time":"…"}` |

use super::text::log_time;

/// A prefix is shorter than this: names of hosts, pods and containers have at most 253 characters.
const PREFIX_MAX: usize = 600;

/// The server's line behind a prefix.
pub(super) fn without_prefix(line: &str) -> Option<&str> {
    line.match_indices([' ', '\t', '|', ':'])
        .take_while(|&(at, _)| at < PREFIX_MAX)
        .map(|(at, _)| &line[at + 1..])
        .find(|rest| log_time(rest).is_some())
}

/// Whether a file that begins with these bytes is Docker's, of which each line is an object.
pub(super) fn is_json_line(bytes: &[u8]) -> bool {
    bytes.starts_with(b"{\"log\":")
}

/// The text that the container wrote in a line of Docker's files.
pub(super) fn from_json_line(line: &str) -> Option<String> {
    let object: serde_json::Value = is_json_line(line.as_bytes()).then(|| serde_json::from_str(line).ok())??;
    Some(object.get("log")?.as_str()?.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "Apr 10 2018 07:28:02 GMT: INFO (info): (hist.c:257)  (10: 0000000300)";

    #[test]
    fn the_line_is_found_behind_the_prefix_of_each_kind_of_log() {
        for prefix in [
            "db-1  | ",
            "db-1|",
            "2018-04-10T07:28:02.123456789Z stdout F ",
            "2018-04-10T07:28:02.123456789Z ",
            "Apr 10 07:28:02 host asd[1234]: ",
            "\t",
        ] {
            assert_eq!(without_prefix(&format!("{prefix}{LINE}")), Some(LINE), "{prefix}");
        }
        for other in ["", "Apr 10 07:28:02 host asd[1234]: started", "db-1 | ", &format!("{}{LINE}", "x".repeat(700))] {
            assert_eq!(without_prefix(other), None, "{other}");
        }
        let json = format!("{{\"log\":\"{LINE}\\n\",\"stream\":\"stdout\",\"time\":\"2018-04-10T07:28:02Z\"}}");
        assert_eq!(from_json_line(&json).as_deref(), Some(LINE));
        assert_eq!(from_json_line("{\"log\":3}"), None);
        assert_eq!(from_json_line("{\"log\":\"cut"), None);
    }
}
