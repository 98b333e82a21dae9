//! Ranks in words.

use crate::failure::one_line;

/// These ranks, which are in their order: `rank 3`, `ranks 0 and 2`, `ranks 0 to 3, 7 and 9`.
pub fn name_ranks(ranks: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &rank in ranks {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => runs.push((rank, rank)),
        }
    }
    let words: Vec<String> = runs.iter().map(|&(first, last)| name_run(first, last)).collect();
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    match words.split_last() {
        None => "no rank".to_owned(),
        Some((last, [])) => format!("{noun} {last}"),
        Some((last, rest)) => format!("{noun} {} and {last}", rest.join(", ")),
    }
}

/// A rank on its host, as far as that is known: `rank 2 on node4`.
pub(super) fn name_on_host(rank: usize, host: &str) -> String {
    if host.is_empty() { format!("rank {rank}") } else { format!("rank {rank} on {}", one_line(host)) }
}

fn name_run(first: usize, last: usize) -> String {
    match last - first {
        0 => first.to_string(),
        _ => format!("{first} to {last}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_follow_each_other_are_one_word() {
        for (ranks, words) in [
            (vec![], "no rank"),
            (vec![3], "rank 3"),
            (vec![0, 2], "ranks 0 and 2"),
            (vec![4, 5], "ranks 4 to 5"),
            (vec![0, 1, 2, 3], "ranks 0 to 3"),
            (vec![0, 1, 2, 3, 7, 9], "ranks 0 to 3, 7 and 9"),
        ] {
            assert_eq!(name_ranks(&ranks), words);
        }
    }
}
