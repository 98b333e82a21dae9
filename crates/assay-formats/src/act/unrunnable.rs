//! Why a config that can be read cannot be run, reported at the line of the responsible key.

use assay_base::Fault;
use assay_model::act::Impossible;

/// A config that can be read but not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrunnable {
    /// The responsible keys, the most likely first.
    pub(super) keys: &'static [&'static str],
    pub(super) message: String,
    pub(super) advice: String,
}

impl Unrunnable {
    /// The fault at the line of `text` with such a key; about the whole text where there is none.
    pub fn fault_in_text(&self, file: &str, text: &str) -> Fault {
        let asked =
            self.keys.iter().find_map(|wanted| text.lines().zip(1usize..).find(|(line, _)| key_of(line) == *wanted));
        let at = match asked {
            Some((line, number)) => {
                let indent = line.len() - line.trim_start().len();
                Fault::in_line(file, number, line, indent, key_of(line).len())
            }
            None => Fault::in_file(file),
        };
        at.with_reason(self.message.clone(), self.advice.clone())
    }
}

fn key_of(line: &str) -> &str {
    line.split(':').next().unwrap_or_default().trim()
}

impl std::fmt::Display for Unrunnable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.message, self.advice)
    }
}

impl From<Impossible> for Unrunnable {
    fn from(why: Impossible) -> Unrunnable {
        let keys: &[&str] = match why.key {
            "record" => &["record-bytes-range-max", "record-bytes"],
            "large_block" => &["large-block-op-kbytes"],
            "update" => &["update-pct"],
            "compress_to" => &["compress-pct"],
            "commit_min" => &["commit-min-bytes"],
            "durable" => &["disable-odsync", "commit-to-device"],
            "replication_factor" => &["replication-factor"],
            "defrag_below" => &["defrag-lwm-pct"],
            _ => &["write-reqs-per-sec", "read-reqs-per-sec"],
        };
        let advice = match why.key {
            "durable" => "remove disable-odsync, or commit-to-device",
            _ => "write another value",
        };
        // The model's message about its own key would refer to a key that no config has.
        let message = match why.key {
            "durable" => "commit-to-device needs durable writes, which disable-odsync switches off",
            _ => why.what,
        };
        Unrunnable { keys, message: message.to_owned(), advice: advice.to_owned() }
    }
}
