//! `assay new`: writes a commented workload file from a few options, as a start for one's own.
//!
//! The text is parsed before it is printed, so that the printed file can be run.

use crate::stdout::show_text;
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
    /// Number of operations in flight, instead of a rate: the load is as fast as the device. Reads and writes share it
    #[arg(long, value_name = "N")]
    pub in_flight: Option<u32>,
    /// Pause of each of the operations in flight before its next one, exponential around this time: as many thinking users
    #[arg(long, value_name = "TIME", requires = "in_flight")]
    pub think: Option<Span>,
    /// One load on all targets together, which come in turn, instead of one on each
    #[arg(long, requires = "in_flight")]
    pub in_turn: bool,
    /// Bursts: 2s/8s is on for 2 s and off for 8 s, in the mean; the rate is the mean over both
    #[arg(long, value_name = "TIME/TIME", conflicts_with = "in_flight")]
    pub bursts: Option<String>,
    /// Hot data: 80/20 sends 80 % of the operations to 20 % of the space [default: uniform]
    #[arg(long, value_name = "SHARE/SHARE")]
    pub hot: Option<String>,
    /// Hot data by Zipf's law with this exponent, such as 1.1
    #[arg(long, value_name = "EXPONENT", conflicts_with = "hot")]
    pub zipf: Option<f64>,
    /// One place after the other
    #[arg(long, conflicts_with_all = ["hot", "zipf"])]
    pub sequential: bool,
    /// A flush (fdatasync) after so many writes, with figures of its own
    #[arg(long, value_name = "WRITES", requires = "in_flight", conflicts_with = "in_turn")]
    pub flush_every: Option<u32>,
    /// Length of the measurement
    #[arg(long = "for", value_name = "TIME", default_value = "10min")]
    pub span: Span,
    /// Response time that 99 % of the operations must not exceed, for a PASS [default: a commented line to fill in]
    #[arg(long, value_name = "TIME")]
    pub p99: Option<Span>,
}

/// Prints the file.
pub(crate) fn new(args: &New) -> Result<u8, Failure> {
    let text = workload_text(args)?;
    workload::read_workload("the new workload", &text).map_err(Failure::bad_usage)?;
    show_text(&text);
    Ok(code::DONE)
}

/// One of the two streams.
struct StreamSide {
    name: &'static str,
    direction: &'static str,
    share: Share,
}

fn workload_text(args: &New) -> Result<String, Failure> {
    if args.read > Share::WHOLE {
        return Err(Failure::bad_usage(format!("--read {}: write 0% to 100%", args.read)));
    }
    let writes = Share::from_ppb(Share::WHOLE.as_ppb() - args.read.as_ppb());
    let parts = [("reads", "read", args.read), ("writes", "write", writes)];
    let parts = parts.map(|(name, direction, share)| StreamSide { name, direction, share });
    let parts: Vec<&StreamSide> = parts.iter().filter(|part| part.share.as_ppb() > 0).collect();
    if args.flush_every.is_some() && args.read == Share::WHOLE {
        return Err(Failure::bad_usage("--flush-every: nothing is written; add --read 70%, or less"));
    }
    let name: String =
        args.name.chars().map(|c| if c == '"' || c == '\\' || c.is_control() { ' ' } else { c }).collect();
    let mut text = format!(
        "# Made by `assay new`. `assay explain FILE TARGET` shows what it does. `assay prep TARGET` fills a target, once: reads of\n\
         # what was never written prove nothing. `assay run FILE TARGET` runs it.\n\
         name     = \"{name}\"\nmodel    = \"streams\"\n\n\
         # How long is measured, and in which slices the criteria are judged.\nduration = \"{}\"\nslice    = \"{}\"\n",
        args.span,
        args.span.min(Span::from_secs(60))
    );
    let places = places_text(args)?;
    let loops = needs_loop(args, parts.len());
    if loops {
        add_loop(args, &mut text);
    }
    for part in &parts {
        add_stream(args, part, &places, loops, &mut text)?;
    }
    if let Some(every) = args.flush_every {
        let _ = write!(
            text,
            "\n# fdatasync after so many writes: the next operation of the loop.\n[[stream]]\nname      = \"flushes\"\n\
             direction = \"flush\"\nloop      = \"users\"\nevery     = {every}\n"
        );
    }
    add_criterion(args, parts[0], &mut text);
    Ok(text)
}

/// Whether the streams are in one closed loop.
fn needs_loop(args: &New, streams: usize) -> bool {
    let more = args.think.is_some() || args.in_turn || args.flush_every.is_some();
    args.in_flight.is_some() && (streams > 1 || more)
}

fn add_loop(args: &New, text: &mut String) {
    let in_flight = args.in_flight.unwrap_or(1);
    text.push_str(
        "\n# A closed loop: the next operation begins when one completes, and whose it is is drawn by the shares.\n",
    );
    let _ = writeln!(text, "[[loop]]\nname      = \"users\"\nin_flight = {in_flight}");
    if args.in_turn {
        text.push_str("# So many on all targets together, which come one after the other.\ntargets   = \"in-turn\"\n");
    }
    match args.think {
        Some(think) => {
            text.push_str("# Each of them pauses before its next operation.\n");
            let _ = writeln!(text, "think     = {{ time = \"{think}\", spread = \"exponential\" }}");
        }
        None => text.push_str("# Pauses of users: think = { time = \"5ms\", spread = \"exponential\" }\n"),
    }
}

/// The lines about the places of a stream.
fn places_text(args: &New) -> Result<String, Failure> {
    if args.sequential {
        return Ok("# One place after the other, and from the start again.\naddress   = \"sequential\"\n".to_owned());
    }
    if let Some(exponent) = args.zipf {
        return Ok(format!(
            "# Hot data: the place of rank r comes with a probability proportional to r^-{exponent}.\n\
             address   = {{ zipf = {exponent}, scatter = true }}\nplaces    = \"hot\"\n"
        ));
    }
    let Some((operations, space)) = args.hot.as_deref().map(hot_share_in).transpose()? else {
        let hint = "Hot data: { hotspot = [\"80%\", \"20%\"] } or { zipf = 1.1 }";
        return Ok(format!("# All places alike. {hint}\naddress   = \"uniform\"\n"));
    };
    Ok(format!(
        "# {operations} % of the operations go to {space} % of the space.\n\
         address   = {{ hotspot = [\"{operations}%\", \"{space}%\"], scatter = true }}\nplaces    = \"hot\"\n"
    ))
}

/// `2s/8s`: how long a burst is on and off.
fn arrival_text(bursts: Option<&str>) -> Result<String, Failure> {
    let Some(text) = bursts else { return Ok("arrival   = \"poisson\"\n".to_owned()) };
    let both = text.split_once('/').and_then(|(on, off)| on.parse::<Span>().ok().zip(off.parse::<Span>().ok()));
    let (on, off) = both.ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        Failure::bad_usage(format!("--bursts {}: write two times, such as 2s/8s", shown.escape_debug()))
    })?;
    Ok(format!("arrival   = {{ bursty = {{ on = \"{on}\", off = \"{off}\" }} }}\n"))
}

fn add_stream(args: &New, part: &StreamSide, places: &str, loops: bool, text: &mut String) -> Result<(), Failure> {
    let StreamSide { name, direction, share } = part;
    let _ = write!(
        text,
        "\n[[stream]]\nname      = \"{name}\"\ndirection = \"{direction}\"\nsize      = \"{}\"\n",
        args.size
    );
    match args.in_flight {
        Some(_) if loops => {
            let _ = writeln!(text, "loop      = \"users\"\nshare     = \"{share}\"");
        }
        Some(in_flight) => {
            text.push_str("# Closed loop: the next operation begins when one completes. It measures the device at its own pace.\n");
            let _ = writeln!(text, "in_flight = {in_flight}");
        }
        None => {
            let rate = args.rate.unwrap_or(Rate::per_second(1000)).scaled_by(share.as_ppb(), Share::WHOLE.as_ppb());
            let rate =
                rate.ok_or_else(|| Failure::bad_usage("the rate is too large to be divided; write a smaller one"))?;
            text.push_str("# Open loop, on each target: due at this rate whatever the device does; waiting counts.\n");
            let _ = writeln!(text, "rate      = \"{rate}\"");
            text.push_str(&arrival_text(args.bursts.as_deref())?);
        }
    }
    text.push_str(places);
    if part.direction == "write" {
        text.push_str("# On stable media when complete, as databases write their logs: durable = true\n");
        text.push_str("durable   = false\n");
    }
    Ok(())
}

fn add_criterion(args: &New, part: &StreamSide, text: &mut String) {
    text.push_str("\n# What decides: without a criterion, only whether the load was delivered.\n");
    let (comment, bound) = args.p99.map_or(("# ", Span::from_ms(5)), |bound| ("", bound));
    let _ = write!(
        text,
        "{comment}[[criterion]]\n{comment}stream      = \"{}\"\n{comment}p99_at_most = \"{bound}\"\n",
        part.name
    );
}

/// `80/20`: whole percentages of operations and of space.
fn hot_share_in(text: &str) -> Result<(u64, u64), Failure> {
    let both = text.split_once('/').and_then(|(operations, space)| percent_in(operations).zip(percent_in(space)));
    both.ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        Failure::bad_usage(format!("--hot {}: write two whole percentages, such as 80/20", shown.escape_debug()))
    })
}

fn percent_in(text: &str) -> Option<u64> {
    text.trim().trim_end_matches('%').parse().ok().filter(|percent| (1..=99).contains(percent))
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
        let new = Line::try_parse_from(words).map_err(Failure::bad_usage)?.new;
        let text = workload_text(&new)?;
        workload::read_workload("t", &text).map_err(Failure::bad_usage)?;
        Ok(text)
    }

    #[test]
    fn answers_become_a_workload_that_says_them() {
        let text = made("--read 70% --size 8KiB --rate 5000/s --hot 80/20 --p99 5ms").unwrap();
        let plan = workload::read_workload("t", &text)
            .unwrap()
            .make_plan(&Adjust { targets: 1, ..Adjust::default() })
            .unwrap();
        let rates: Vec<f64> =
            plan.load.streams.iter().filter_map(|it| it.arrival.mean_rate()).map(Rate::as_f64).collect();
        assert_eq!(rates, [3500.0, 1500.0]);
        assert!(plan.load.writes_targets() && plan.load.streams[0].as_block().unwrap().size.to.get() == 8192);
        assert_eq!(plan.criteria[0].to_string(), "reads response over 5ms at most 1% per 1min");
        assert!(text.contains("hotspot = [\"80%\", \"20%\"]"), "{text}");
        for line in [
            "--read 70% --in-flight 32",
            "--read 70% --in-flight 32 --think 5ms --in-turn --zipf 1.1",
            "--read 0% --in-flight 1 --flush-every 8 --sequential",
            "--read 33.3% --in-flight 4 --flush-every 2",
            "--bursts 2s/8s --zipf 0.9",
        ] {
            assert!(made(line).is_ok(), "{line}: {:?}", made(line));
        }
        let mix = workload::read_workload("t", &made("--read 70% --in-flight 32").unwrap()).unwrap();
        let mix = mix.make_plan(&Adjust { targets: 1, ..Adjust::default() }).unwrap();
        assert_eq!(
            (mix.load.loops[0].in_flight, mix.load.streams[0].arrival.share_of_loop()),
            (32, Some(Share::from_percent(70)))
        );
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
            ("--think 5ms", "--in-flight"),
            ("--in-turn", "--in-flight"),
            ("--in-flight 4 --think 0s", "not a pause"),
            ("--in-flight 4 --flush-every 8", "nothing is written"),
            ("--in-flight 4 --read 0% --flush-every 0", "not a number of writes"),
            ("--in-flight 4 --bursts 2s/8s", "cannot be used with"),
            ("--bursts 2s", "such as 2s/8s"),
            ("--bursts 0s/1s", "burst"),
            ("--zipf 11", "exponent"),
            ("--zipf 1.1 --hot 80/20", "cannot be used with"),
            ("--sequential --zipf 1.1", "cannot be used with"),
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
