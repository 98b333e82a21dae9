//! `assay doctor --hosts N`: whether the ranks that a launcher started can measure together, and what joins them.

use crate::args::{JoinHow, join_hosts};
use crate::screen::report_failure;
use crate::stdout::{print_document, print_json};
use assay_base::Span;
use assay_base::text::counted_things;
use assay_hosts::examination::{Found, HostFacts, RankFound, Settings, Throughput};
use assay_run::failure::{Failure, code, escaped_path, one_line};
use assay_run::host::ranks::examine_ranks;
use assay_run::host::ranks::joining::{abort_ranks, leave_ranks};
use std::collections::BTreeSet;

/// How several hosts are examined.
#[derive(clap::Args, Debug)]
pub(crate) struct HostsArgs {
    #[command(flatten)]
    pub join: JoinHow,
    /// For how long pairs of hosts send messages to each other, in each direction
    #[arg(long, value_name = "TIME", default_value = "5s", requires = "hosts")]
    pub messages_for: Span,
}

/// Examines the group of ranks. Only rank 0 prints.
pub(crate) fn examine_hosts(ranks: usize, args: &HostsArgs, as_json: bool) -> Result<u8, Failure> {
    let mut link = join_hosts(ranks, &args.join)?;
    let settings =
        Settings { messages_for: args.messages_for, patience: Span::from_secs(30), answer_within: Span::from_secs(3) };
    let library = escaped_path(&link.library().path);
    let found = examine_ranks(&mut link, settings)?;
    let Some(found) = found else {
        return leave_ranks(link, &Ok(code::DONE), report_failure).map(|()| code::DONE);
    };
    let problems = problems_of(&found);
    if as_json {
        print_json(&found_as_json(&found, &library, &problems))?;
    } else {
        print_document(&found_as_text(&found, &library, &problems));
    }
    let is_usable = !found.has_stalled && !found.versions_differ;
    let code = if is_usable { code::DONE } else { code::HOST };
    if found.has_stalled {
        abort_ranks(&link, code, report_failure);
    }
    leave_ranks(link, &Ok(code), report_failure).map(|()| code)
}

/// What is to be corrected before these ranks measure together, the worst first.
fn problems_of(found: &Found) -> Vec<String> {
    let mut problems: Vec<String> =
        found.lost.iter().map(|&rank| format!("rank {rank}{} does not answer", on_host(&found.ranks[rank]))).collect();
    if found.has_stalled && found.lost.is_empty() {
        problems.push(
            "nothing went on for 30 s, although all ranks answer: messages or sums of this MPI get lost".to_owned(),
        );
    }
    if found.versions_differ {
        let versions: Vec<String> = known_facts(found)
            .map(|(rank, facts)| format!("rank {rank} on {}: {}", facts.host, facts.version))
            .collect();
        problems.push(format!("the versions of assay differ: {}", versions.join("; ")));
    }
    if found.sums.wrong > 0 {
        let sums = found.sums.took_ns.len();
        problems
            .push(format!("{} of {sums} sums over all ranks were wrong: this MPI cannot be used", found.sums.wrong));
    }
    for (rank, facts) in known_facts(found).filter(|(_, facts)| facts.allowed_processors < facts.processors) {
        let (allowed, all) = (facts.allowed_processors, facts.processors);
        problems.push(format!(
            "rank {rank} on {} may use {allowed} of {all} processors: give mpirun --bind-to none, or its container a larger quota",
            facts.host
        ));
    }
    for (what, values) in [
        ("kernels", distinct_values(found, |facts| &facts.kernel)),
        ("processors", distinct_values(found, |facts| &facts.cpu_model)),
    ] {
        if values.len() > 1 {
            problems.push(format!("the {what} differ: {}", values.into_iter().collect::<Vec<&str>>().join("; ")));
        }
    }
    problems
}

fn known_facts(found: &Found) -> impl Iterator<Item = (usize, &HostFacts)> {
    found.ranks.iter().enumerate().filter_map(|(rank, of_rank)| Some((rank, of_rank.facts.as_ref()?)))
}

fn distinct_values(found: &Found, value: fn(&HostFacts) -> &String) -> BTreeSet<&str> {
    known_facts(found).map(|(_, facts)| value(facts).as_str()).collect()
}

fn on_host(rank: &RankFound) -> String {
    rank.facts.as_ref().map(|facts| format!(" on {}", facts.host)).unwrap_or_default()
}

fn count_of_hosts(found: &Found) -> usize {
    distinct_values(found, |facts| &facts.boot_id).len()
}

/// The middle one of the times that sums took.
fn median_of_sums(found: &Found) -> Option<u64> {
    let mut sorted = found.sums.took_ns.clone();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

/// The slowest pair: what any storage behind this network cannot be faster than.
fn slowest_pair(found: &Found) -> Option<(usize, usize, f64)> {
    let pairs = found.ranks.iter().enumerate().filter_map(|(rank, of_rank)| {
        let (partner, throughput) = of_rank.sent?;
        Some((rank, partner, throughput.bytes_per_second()?))
    });
    pairs.min_by(|one, other| one.2.total_cmp(&other.2))
}

fn found_as_text(found: &Found, library: &str, problems: &[String]) -> String {
    let ranks = found.ranks.len();
    let hosts = count_of_hosts(found);
    let version = known_facts(found).next().map(|(_, facts)| facts.library.as_str()).unwrap_or_default();
    let mut text = format!(
        "{} on {}, joined by {} ({library})\n",
        counted_things(ranks as u64, "rank"),
        counted_things(hosts as u64, "host"),
        one_line(version)
    );
    text += &match problems.len() {
        0 => "no problems\n".to_owned(),
        count => format!("{}, most important first\n", counted_things(count as u64, "problem")),
    };
    for (index, problem) in problems.iter().enumerate() {
        text += &format!("  {}. {}\n", index + 1, one_line(problem));
    }
    text += "\nrank  host              processors  message to rank 0    clock known to   rank 0's is faster by   1 MiB messages\n";
    for (rank, of_rank) in found.ranks.iter().enumerate() {
        text += &row_of_rank(rank, of_rank);
    }
    if let Some(median) = median_of_sums(found) {
        text += &format!(
            "\na sum or a maximum of 600 numbers over all ranks takes {} (median of {})\n",
            microseconds(median as f64),
            found.sums.took_ns.len()
        );
    }
    if let Some((from, to, rate)) = slowest_pair(found) {
        text += &format!("slowest pair, all pairs at once: rank {from} to rank {to}, {}\n", megabytes(rate));
        if hosts == 1 {
            text += "all ranks are on one host: this is its memory, and says nothing of a network\n";
        }
    }
    text
}

fn row_of_rank(rank: usize, of_rank: &RankFound) -> String {
    let (host, processors) = match &of_rank.facts {
        Some(facts) => (one_line(&facts.host), format!("{} of {}", facts.allowed_processors, facts.processors)),
        None => ("said nothing".to_owned(), "-".to_owned()),
    };
    let one_way = of_rank.readings.iter().map(|reading| reading.error_ns).min();
    let map = of_rank.clock_map();
    let known_to = of_rank.readings.last().map(|reading| reading.error_ns);
    let speed =
        map.map(|map| format!("{:+.1} ± {:.1} ppm", map.scale_ppb as f64 / 1e3, map.scale_error_ppb as f64 / 1e3));
    let sent = of_rank.sent.and_then(|(partner, throughput)| {
        Some(format!("{} to rank {partner}", megabytes(throughput.bytes_per_second()?)))
    });
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    format!(
        "{rank:<5} {host:<17} {processors:<11} {:<20} {:<16} {:<23} {}\n",
        or_dash(one_way.map(|ns| microseconds(ns as f64))),
        or_dash(known_to.map(|ns| format!("± {}", microseconds(ns as f64)))),
        or_dash(speed),
        or_dash(sent),
    )
}

fn microseconds(ns: f64) -> String {
    format!("{:.1} us", ns / 1e3)
}

fn megabytes(bytes_per_second: f64) -> String {
    format!("{:.0} MB/s", bytes_per_second / 1e6)
}

fn found_as_json(found: &Found, library: &str, problems: &[String]) -> serde_json::Value {
    let ranks: Vec<serde_json::Value> = found.ranks.iter().map(rank_as_json).collect();
    serde_json::json!({
        "schema": 1,
        "ok": problems.is_empty(),
        "library": library,
        "hosts": count_of_hosts(found),
        "ranks": ranks,
        "sums": { "tried": found.sums.took_ns.len(), "wrong": found.sums.wrong, "median_ns": median_of_sums(found) },
        "problems": problems,
    })
}

fn rank_as_json(of_rank: &RankFound) -> serde_json::Value {
    let map = of_rank.clock_map();
    serde_json::json!({
        "facts": of_rank.facts,
        "clock": of_rank.readings,
        "scale_ppb": map.map(|map| map.scale_ppb),
        "scale_error_ppb": map.map(|map| map.scale_error_ppb),
        "sent_to": of_rank.sent.map(|(partner, _)| partner),
        "bytes_per_second": of_rank.sent.and_then(|(_, throughput)| Throughput::bytes_per_second(throughput)),
    })
}
