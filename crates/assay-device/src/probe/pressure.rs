//! For how long something that could run on this machine waited for a processor: pressure stall information of the kernel
//! (Documentation/accounting/psi.rst, Linux 4.20).

use crate::safety::Roots;

/// Nanoseconds since the machine was started in which at least one task waited for a processor; `None` where the kernel does
/// not count it.
pub fn processor_pressure_ns(roots: &Roots) -> Option<u64> {
    let text = std::fs::read_to_string(roots.proc.join("pressure/cpu")).ok()?;
    parse_some_total(&text)?.checked_mul(1000)
}

/// The microseconds of the line `some avg10=0.98 avg60=2.50 avg300=8.56 total=16749053383`.
fn parse_some_total(text: &str) -> Option<u64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_total_of_some_is_read() {
        let text = "some avg10=0.98 avg60=2.50 avg300=8.56 total=16749053383\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(parse_some_total(text), Some(16_749_053_383));
        for bad in ["", "full avg10=0.00 total=7", "some avg10=0.98", "some total=x", "some total=-1"] {
            assert_eq!(parse_some_total(bad), None, "{bad}");
        }
    }
}
