//! `assay new`: writes a commented workload file from a few options, as a start for one's own.
//!
//! The text is parsed before it is printed, so that the printed file can be run.

use crate::stdout::show;
use assay_base::{Bytes, Rate, Share, Span};
use assay_model::workload;
use assay_run::failure::{Failure, code};
use std::fmt::Write as _;

/// `assay new`
#[derive(clap::Args, Debug)]
pub(crate) struct New {
    /// Name of the workload
    #[arg(long, default_value = "my workload")]
    pub name: String,
    /// Share of the operations that read; the others write
    #[arg(long, value_name = "SHARE", default_value = "100%")]
    pub read: Share,
    /// Size of an operation
    #[arg(long, value_name = "SIZE", default_value = "8KiB")]
    pub size: Bytes,
    /// Operations per second on each target, reads and writes together. They are issued on schedule, however fast the device is
    /// [default: 1000/s]
    #[arg(long, value_name = "RATE", conflicts_with = "in_flight")]
    pub rate: Option<Rate>,
    /// Number of operations in flight, instead of a rate: the load is as fast as the device. Only with reads alone or writes alone
    #[arg(long, value_name = "N")]
    pub in_flight: Option<u32>,
    /// Hot data: 80/20 sends 80 % of the operations to 20 % of the space [default: uniform]
    #[arg(long, value_name = "SHARE/SHARE")]
    pub hot: Option<String>,
    /// Length of the measurement
    #[arg(long = "for", value_name = "TIME", default_value = "10min")]
    pub span: Span,
    /// Response time that 99 % of the operations must not exceed, for a PASS [default: a commented line to fill in]
    #[arg(long, value_name = "TIME")]
    pub p99: Option<Span>,
}

/// Prints the file.
pub(crate) fn new(args: &New) -> Result<u8, Failure> {
    let text = text(args)?;
    workload::read("the new workload", &text).map_err(Failure::usage)?;
    show(&text);
    Ok(code::DONE)
}

/// One of the two streams.
struct Side {
    name: &'static str,
    direction: &'static str,
    share: Share,
}

fn text(args: &New) -> Result<String, Failure> {
    if args.read > Share::WHOLE {
        return Err(Failure::usage(format!("--read {}: write 0% to 100%", args.read)));
    }
    let writes = Share::from_ppb(Share::WHOLE.as_ppb() - args.read.as_ppb());
    let parts = [("reads", "read", args.read), ("writes", "write", writes)];
    let parts = parts.map(|(name, direction, share)| Side { name, direction, share });
    let parts: Vec<&Side> = parts.iter().filter(|part| part.share.as_ppb() > 0).collect();
    if args.in_flight.is_some() && parts.len() > 1 {
        return Err(Failure::usage(
            "--in-flight cannot keep a share of reads and writes: write --rate, or --read 100% or 0%",
        ));
    }
    let name: String =
        args.name.chars().map(|c| if c == '"' || c == '\\' || c.is_control() { ' ' } else { c }).collect();
    let mut text = format!(
        "# Made by `assay new`. `assay explain FILE TARGET` shows what it does, `assay run FILE TARGET` runs it.\n\
         name     = \"{name}\"\nmodel    = \"streams\"\n\n\
         # How long is measured, and in which windows the criteria are judged.\nduration = \"{}\"\nslice    = \"{}\"\n",
        args.span,
        args.span.min(Span::from_secs(60))
    );
    let hot = args.hot.as_deref().map(hot).transpose()?;
    for part in &parts {
        stream(args, part, hot, &mut text)?;
    }
    criterion(args, parts[0], &mut text);
    Ok(text)
}

fn stream(args: &New, part: &Side, hot: Option<(u64, u64)>, text: &mut String) -> Result<(), Failure> {
    let Side { name, direction, share } = part;
    let _ = write!(
        text,
        "\n[[stream]]\nname      = \"{name}\"\ndirection = \"{direction}\"\nsize      = \"{}\"\n",
        args.size
    );
    match args.in_flight {
        Some(in_flight) => {
            text.push_str("# Closed loop: the next operation begins when one completes. It measures the device at its own pace.\n");
            let _ = writeln!(text, "in_flight = {in_flight}");
        }
        None => {
            let rate = args.rate.unwrap_or(Rate::per_second(1000)).scaled(share.as_ppb(), Share::WHOLE.as_ppb());
            let rate =
                rate.ok_or_else(|| Failure::usage("the rate is too large to be divided; write a smaller one"))?;
            text.push_str("# Open loop, on each target: due at this rate whatever the device does; waiting counts.\n");
            let _ = writeln!(text, "rate      = \"{rate}\"\narrival   = \"poisson\"");
        }
    }
    match hot {
        Some((operations, space)) => {
            let _ = writeln!(text, "# {operations} % of the operations go to {space} % of the space.");
            let _ = writeln!(text, "address   = {{ hotspot = [\"{operations}%\", \"{space}%\"], scatter = true }}");
            text.push_str("places    = \"hot\"\n");
        }
        None => {
            text.push_str("# All places alike. Hot data: { hotspot = [\"80%\", \"20%\"] }\naddress   = \"uniform\"\n")
        }
    }
    if part.direction == "write" {
        text.push_str("# On stable media when complete, as databases write their logs: durable = true\n");
        text.push_str("durable   = false\n");
    }
    Ok(())
}

fn criterion(args: &New, part: &Side, text: &mut String) {
    text.push_str("\n# What decides: without a criterion, only whether the load was delivered.\n");
    let (comment, bound) = args.p99.map_or(("# ", Span::from_ms(5)), |bound| ("", bound));
    let _ = write!(
        text,
        "{comment}[[criterion]]\n{comment}stream      = \"{}\"\n{comment}p99_at_most = \"{bound}\"\n",
        part.name
    );
}

/// `80/20`: whole percentages of operations and of space.
fn hot(text: &str) -> Result<(u64, u64), Failure> {
    let percent = |text: &str| text.trim().trim_end_matches('%').parse().ok().filter(|n| (1..=99).contains(n));
    let both = text.split_once('/').and_then(|(operations, space)| percent(operations).zip(percent(space)));
    both.ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        Failure::usage(format!("--hot {}: write two whole percentages, such as 80/20", shown.escape_debug()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload::Adjust;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        new: New,
    }

    fn made(line: &str) -> Result<String, Failure> {
        let words = std::iter::once("new").chain(line.split_whitespace());
        let new = Line::try_parse_from(words).map_err(Failure::usage)?.new;
        let text = text(&new)?;
        workload::read("t", &text).map_err(Failure::usage)?;
        Ok(text)
    }

    #[test]
    fn answers_become_a_workload_that_says_them() {
        let text = made("--read 70% --size 8KiB --rate 5000/s --hot 80/20 --p99 5ms").unwrap();
        let plan = workload::read("t", &text).unwrap().plan(&Adjust { targets: 1, ..Adjust::default() }).unwrap();
        let rates: Vec<f64> = plan.streams.iter().filter_map(|it| it.arrival.rate()).map(Rate::as_f64).collect();
        assert_eq!(rates, [3500.0, 1500.0]);
        assert!(plan.writes() && plan.streams[0].block().unwrap().size.to.get() == 8192);
        assert_eq!(plan.criteria[0].to_string(), "reads response over 5ms at most 1% per 1min");
        assert!(text.contains("hotspot = [\"80%\", \"20%\"]"), "{text}");
        for line in ["", "--read 0%", "--in-flight 32", "--rate 0.3/s --read 33.3%", "--for 5s --name a\"b\\c"] {
            assert!(made(line).is_ok(), "{line}");
        }
        assert!(!made("").unwrap().contains("writes"), "reads alone destroy nothing");
    }

    #[test]
    fn answers_that_cannot_be_are_refused() {
        for (line, word) in [
            ("--read 101%", "0% to 100%"),
            ("--read x", "read"),
            ("--hot 80", "such as 80/20"),
            ("--hot 0/20", "such as 80/20"),
            ("--hot 80/100", "such as 80/20"),
            ("--in-flight 4 --read 50%", "write --rate"),
            ("--in-flight 0", "in flight"),
            ("--in-flight 4 --rate 5/s", "cannot be used with"),
            ("--rate 0/s", "rate of zero"),
            ("--size 0B", "not a size"),
        ] {
            let told = format!("{:?}", made(line).unwrap_err());
            assert!(told.contains(word), "{line}: {told}");
        }
    }
}
