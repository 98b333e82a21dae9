use super::*;

/// In how many of the pairs of draws each value of `low..=high` comes, exactly. Within a block of equal upper bits, a
/// lower part t comes from each second draw s that is a subset of its bits, with 2^(bits of s) first draws.
fn exact(a: i32, low: i32, high: i32, c: i32) -> Vec<u64> {
    let (block, bits) = (a as usize + 1, (a + 1).trailing_zeros());
    let mut ors = vec![0u64; (high as usize / block + 1) * block];
    for second in low..=high {
        ors[second as usize] += 1 << (second & a).count_ones();
    }
    for values in ors.chunks_mut(block) {
        for bit in 0..bits {
            for t in (0..block).filter(|t| t & (1 << bit) != 0) {
                values[t] += values[t ^ (1 << bit)];
            }
        }
    }
    let mut counts = vec![0; (high - low + 1) as usize];
    for (or, count) in ors.into_iter().enumerate() {
        counts[(or + c as usize) % (high - low + 1) as usize] += count;
    }
    counts
}

#[test]
fn the_exact_distribution_is_what_counting_every_pair_gives() {
    for (low, high, c) in [(0, 999, 123), (1, 300, 7)] {
        let mut counted = vec![0; (high - low + 1) as usize];
        let nurand = NuRand::new(255, low, high, c);
        for (first, second) in (0..=255).flat_map(|first| (low..=high).map(move |second| (first, second))) {
            counted[(nurand.combine_draws(first, second) - low) as usize] += 1;
        }
        assert_eq!(exact(255, low, high, c), counted);
    }
}

#[test]
fn golden_values() {
    let names = |c| NuRand::new(255, 0, 999, c);
    assert_eq!(names(123).combine_draws(100, 500), 623);
    assert_eq!(names(255).combine_draws(255, 999), 278);
    assert_eq!(NuRand::new(1023, 1, 3000, 259).combine_draws(1023, 3000), 331);
    assert_eq!(NuRand::new(8191, 1, 100_000, 7911).combine_draws(8191, 100_000), 14_407);
}

/// The percentage of draws on the most frequent `share` of the values, with two decimals.
fn hottest(counts: &[u64], share: f64) -> f64 {
    let mut counts = counts.to_vec();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let hot: u64 = counts[..(counts.len() as f64 * share) as usize].iter().sum();
    (hot as f64 * 10_000.0 / counts.iter().sum::<u64>() as f64).round() / 100.0
}

#[test]
fn shares_of_the_hottest_values() {
    for (a, low, high, one, ten) in
        [(255, 0, 999, 14.73, 54.23), (1023, 1, 3000, 22.24, 61.32), (8191, 1, 100_000, 30.46, 70.98)]
    {
        let counts = exact(a, low, high, 11);
        assert_eq!((hottest(&counts, 0.01), hottest(&counts, 0.1)), (one, ten), "A {a}");
    }
}

/// Chi-squared against the exact distribution, as a distance from its mean in standard deviations. Values that are too
/// rare for the test share a cell.
fn deviation(nurand: NuRand, draws: u64, seed: u64) -> f64 {
    let exact = exact(nurand.or_most, nurand.low, nurand.high, nurand.c);
    let all: u64 = exact.iter().sum();
    let mut counted = vec![0u64; exact.len()];
    let mut prng = Prng::from_seed(seed);
    (0..draws).for_each(|_| counted[(nurand.draw_value(&mut prng) - nurand.low) as usize] += 1);
    let (mut chi, mut cells, mut wanted, mut got) = (0.0, 0.0, 0.0, 0.0);
    for (exact, counted) in exact.into_iter().zip(counted) {
        wanted += exact as f64 / all as f64 * draws as f64;
        got += counted as f64;
        if wanted >= 10.0 {
            chi += (got - wanted).powi(2) / wanted;
            cells += 1.0;
            (wanted, got) = (0.0, 0.0);
        }
    }
    (chi - (cells - 1.0)) / (2.0f64 * (cells - 1.0)).sqrt()
}

#[test]
fn draws_follow_the_exact_distribution() {
    let constants = Constants::from_seed(5, 100);
    let scale = Scale::STANDARD;
    for nurand in [
        constants.last_names(scale),
        constants.customer_numbers(scale),
        constants.item_numbers(scale),
        names_loaded(scale, 9),
    ] {
        let deviation = deviation(nurand, 1_000_000, 3);
        assert!(deviation.abs() < 3.5, "{nurand:?}: {deviation} standard deviations");
    }
}

#[test]
fn the_test_of_the_distribution_notices_another_constant() {
    let exact_of = NuRand::new(255, 0, 999, 100);
    let mut shifted = vec![0u64; 1000];
    let mut prng = Prng::from_seed(1);
    (0..100_000).for_each(|_| shifted[NuRand { c: 101, ..exact_of }.draw_value(&mut prng) as usize] += 1);
    let exact = exact(255, 0, 999, 100);
    let chi: f64 = exact
        .iter()
        .zip(&shifted)
        .map(|(exact, got)| {
            let wanted = *exact as f64 / 256_000.0 * 100_000.0;
            (*got as f64 - wanted).powi(2) / wanted.max(0.5)
        })
        .sum();
    assert!(chi > 2_000.0, "{chi}");
}

#[test]
fn the_constant_of_a_run_keeps_its_distance_for_every_constant_of_a_load() {
    for (c_load, choices) in [(0, 53), (100, 88), (128, 106)] {
        assert_eq!(c_run_choices(c_load).len(), choices);
    }
    for c_load in 0..=255 {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..2_000 {
            let constants = Constants::from_seed(seed, c_load);
            let distance = (constants.c_last - c_load).abs();
            assert!((65..=119).contains(&distance) && ![96, 112].contains(&distance), "{constants:?}");
            assert!((0..=255).contains(&constants.c_last) && (0..=1023).contains(&constants.c_customer));
            assert!((0..=8191).contains(&constants.c_item) && constants.c_load == c_load);
            seen.insert(constants.c_last);
        }
        assert_eq!(seen.len(), c_run_choices(c_load).len(), "every choice for {c_load} is drawn by some seed");
    }
}

#[test]
fn the_constant_of_a_load_follows_from_its_seed() {
    let drawn: std::collections::BTreeSet<i32> = (0..10_000).map(c_load).collect();
    assert_eq!(drawn.into_iter().collect::<Vec<_>>(), (0..=255).collect::<Vec<_>>());
    assert_eq!(c_load(7), c_load(7));
}
