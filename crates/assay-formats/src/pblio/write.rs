//! Pblio's lines.

/// What stands before the run: sizes of the ASUs in bytes, as the original shows them in 1024³ bytes with two digits.
pub fn banner(version: &str, asus: [u64; 3], (bsu, runlen): (u64, u64)) -> String {
    let gib = asus.map(|bytes| format!("{:.2} GB", bytes as f64 / (1u64 << 30) as f64));
    let [one, two, three] = gib;
    format!(
        "pblio ({version})\n-----\npblio\n-----\nCache   : None\nASU1    : {one}\nASU2    : {two}\nASU3    : {three}\nBSUs    : {bsu}\n\
         Contexts: {}\nRun time: {runlen} s\n-----\n",
        bsu.div_ceil(100)
    )
}

/// What happened in a period: operations, and the sum of their times in nanoseconds. It is written over by the next one.
pub fn period(ios: u64, seconds: f64, sum_ns: u64) -> String {
    let (rate, mean) = (ios as f64 / seconds.max(1e-9), mean_ms(ios, sum_ns));
    format!("ios:{ios} IOPS:{rate:.2} Latency:{mean:.4} ms{:35}\r", "")
}

/// The last line.
pub fn average(ios: u64, seconds: f64, sum_ns: u64) -> String {
    let (rate, mean) = (ios as f64 / seconds.max(1e-9), mean_ms(ios, sum_ns));
    format!("Avg IOPS:{rate:.2}  Avg Latency:{mean:.4} ms{:24}\n\n", "")
}

fn mean_ms(ios: u64, sum_ns: u64) -> f64 {
    sum_ns as f64 / ios.max(1) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the original printed them.
    #[test]
    fn lines_are_the_originals() {
        let text = banner("dev", [45 << 20, 45 << 20, 10 << 20], (2, 30));
        let original = "pblio (dev)\n-----\npblio\n-----\nCache   : None\nASU1    : 0.04 GB\nASU2    : 0.04 GB\nASU3    : 0.01 GB\n\
                        BSUs    : 2\nContexts: 1\nRun time: 30 s\n-----\n";
        assert_eq!(text, original);
        assert!(banner("dev", [0; 3], (101, 30)).contains("Contexts: 2\n"));
        let spaces = " ".repeat(35);
        assert_eq!(period(482, 482.0 / 96.24, 64_795_698), format!("ios:482 IOPS:96.24 Latency:0.1344 ms{spaces}\r"));
        let spaces = " ".repeat(24);
        let sum = (0.2630 * 2990.0 * 1e6) as u64;
        assert_eq!(average(2990, 2990.0 / 96.46, sum), format!("Avg IOPS:96.46  Avg Latency:0.2630 ms{spaces}\n\n"));
        assert_eq!(average(0, 30.0, 0), format!("Avg IOPS:0.00  Avg Latency:0.0000 ms{spaces}\n\n"));
    }
}
