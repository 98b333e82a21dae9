//! What somebody who reads a profile could learn from each of its lines.

/// What a line with this key tells.
const LEARNT: [(&str, &str); 31] = [
    ("name", "a name that you gave, or none"),
    ("model", "that it is a profile"),
    ("drive", "which of the drives is meant, by a name that you gave, or none"),
    ("drives", "the names of drives, where you gave them"),
    ("node", "the name of a machine, where you gave it"),
    ("rate", "how much the application does"),
    (
        "sizes",
        "the sizes of its requests: often the page or block size of a database, by which its kind may be guessed",
    ),
    ("larger_than", "the sizes of its requests, by powers of two"),
    ("position", "where in these powers of two they lie"),
    ("durable", "whether its writes wait for the medium"),
    ("address", "how unevenly its data are used, and how long its sequential runs are; not where"),
    ("range", "how much of the drive is used: about how large the data are"),
    ("places", "whether what is often read is often written"),
    ("arrival", "whether it works evenly or in bursts, and how long these last"),
    ("in_flight", "how many requests it keeps in flight: often a number of threads, or a setting"),
    ("flushes", "how often it makes data durable: of a database, about its commits"),
    ("sequential", "which share of its requests is sequential"),
    ("zipf", "how unevenly its data are used"),
    ("zipf_error", "how well that law fits"),
    ("hot_zones", "how unevenly its data are used"),
    ("dispersion", "how far its requests come in bursts"),
    ("misses", "how much a cache of each size would help"),
    ("rewritten", "which share of its writes follows a read of the same place"),
    ("hours", "its rate over the hours of a day: when people work with it"),
    ("reads", "reads per second of the drive"),
    ("writes", "writes per second of the drive"),
    ("read_bytes", "bytes read per second"),
    ("write_bytes", "bytes written per second"),
    ("read_await", "how fast the drive is: which kind of drive it may be"),
    ("write_await", "how fast the drive is: which kind of drive it may be"),
    ("reports", "for how many seconds, or over how many reports, it was counted"),
];

/// Each line of a profile, with what could be learnt from it below it.
pub fn lines_with_what_they_tell(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        out += line;
        out.push('\n');
        if let Some(told) = what_is_told(line) {
            out += &format!("    ^ tells {told}\n");
        }
    }
    out
}

fn what_is_told(line: &str) -> Option<&'static str> {
    if line.starts_with('#') {
        return (!line.trim_matches(['#', ' ']).is_empty()).then_some("what it says in words");
    }
    let key = line.split_once('=')?.0.trim();
    let deviation = key.ends_with("_deviation").then_some("how far the rate of a second is from the mean");
    deviation.or_else(|| LEARNT.iter().find(|(known, _)| *known == key).map(|(_, told)| *told)).or(Some("what it says"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_of_a_profile_says_what_it_tells() {
        let shown = lines_with_what_they_tell("# head\n[application.reads]\nrate = \"3/s\"  # x\nodd = 1\n");
        assert_eq!(
            shown,
            "# head\n    ^ tells what it says in words\n[application.reads]\nrate = \"3/s\"  # x\n    ^ tells how much the application does\nodd = 1\n    ^ tells what it says\n"
        );
    }
}
