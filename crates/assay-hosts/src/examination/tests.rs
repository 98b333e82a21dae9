//! Examinations in a simulated network.

use super::*;
use crate::exchange::{Exchange, ExchangeLink};
use assay_base::{Instant, Prng};

const SETTINGS: Settings =
    Settings { messages_for: Span::from_ms(5), patience: Span::from_ms(100), answer_within: Span::from_ms(10) };
/// How far the simulated time moves at once.
const TICK: Span = Span::from_us(4);

fn facts_of(version: &str, rank: usize) -> HostFacts {
    HostFacts {
        version: version.to_owned(),
        host: format!("host{rank}"),
        boot_id: format!("boot{rank}"),
        kernel: "6.18".to_owned(),
        cpu_model: "model".to_owned(),
        processors: 8,
        allowed_processors: 8,
        library: "simulated".to_owned(),
        clock_source: "simulated".to_owned(),
        clock_origin_ns: 0,
    }
}

/// A rank whose clock is its own.
struct SimulatedRank {
    link: ExchangeLink,
    member: Member,
    coordinator: Option<Coordinator>,
    offset_ns: u64,
    faster_ppb: u64,
    progress: Progress,
}

impl SimulatedRank {
    fn clock_at(&self, network: Instant) -> Instant {
        own_time(network, self.offset_ns, self.faster_ppb)
    }
}

fn own_time(network: Instant, offset_ns: u64, faster_ppb: u64) -> Instant {
    let faster = u128::from(network.as_ns()) * u128::from(faster_ppb) / 1_000_000_000;
    Instant::from_ns(network.as_ns() + offset_ns + faster as u64)
}

struct Simulation {
    exchange: Exchange,
    ranks: Vec<SimulatedRank>,
    now: Instant,
    /// A rank that does nothing from this time on.
    frozen: Option<(usize, Instant)>,
}

impl Simulation {
    /// Messages take 20 to 60 us; rank k's clock is 1000·k s ahead and k·20 ppm faster. `silent` says nothing.
    fn begin(versions: &[&str], silent: Option<usize>) -> Simulation {
        Simulation::with_settings(SETTINGS, versions, silent)
    }

    fn with_settings(settings: Settings, versions: &[&str], silent: Option<usize>) -> Simulation {
        let mut random = Prng::from_seed(3);
        let delivery = move |from: usize, _: usize, now: Instant| {
            let takes = Span::from_ns(20_000 + random.uniform_below(40_000));
            (Some(from) != silent).then(|| now + takes)
        };
        let exchange = Exchange::with_delivery(versions.len(), Box::new(delivery));
        let ranks = exchange
            .links()
            .into_iter()
            .zip(versions)
            .enumerate()
            .map(|(rank, (mut link, version))| SimulatedRank {
                member: Member::say_hello(facts_of(version, rank), &mut link).unwrap(),
                link,
                coordinator: (rank == 0)
                    .then(|| Coordinator::begin_examination(settings, versions.len(), Instant::ZERO)),
                offset_ns: rank as u64 * 1_000_000_000_000,
                faster_ppb: rank as u64 * 20_000,
                progress: Progress::Busy,
            })
            .collect();
        Simulation { exchange, ranks, now: Instant::ZERO, frozen: None }
    }

    fn is_frozen(&self, rank: usize) -> bool {
        self.frozen.is_some_and(|(frozen, since)| frozen == rank && self.now >= since)
    }

    fn all_have_ended(&self) -> bool {
        (0..self.ranks.len()).all(|rank| self.is_frozen(rank) || self.ranks[rank].progress == Progress::Finished)
    }

    /// Until rank 0 has ended and the others have, too, or two seconds have passed.
    fn run_to_end(mut self) -> (Found, Vec<Progress>, Instant) {
        let end = Instant::ZERO + Span::from_secs(2);
        while self.now < end && !self.all_have_ended() {
            self.now += TICK;
            self.exchange.set_time(self.now);
            for number in 0..self.ranks.len() {
                if self.is_frozen(number) {
                    continue;
                }
                let rank = &mut self.ranks[number];
                let (now, offset_ns, faster_ppb) = (self.now, rank.offset_ns, rank.faster_ppb);
                let clock = move || own_time(now, offset_ns, faster_ppb);
                let step = Coordinator::step_rank(&mut rank.coordinator, &mut rank.member, &mut rank.link, &clock);
                rank.progress = step.unwrap();
            }
        }
        let progress = self.ranks.iter().map(|rank| rank.progress).collect();
        let found = self.ranks[0].coordinator.take().unwrap().into_found();
        (found, progress, self.now)
    }
}

#[test]
fn all_is_found_of_every_rank() {
    let simulation = Simulation::begin(&["1"; 5], None);
    let clocks: Vec<(u64, u64)> = simulation.ranks.iter().map(|rank| (rank.offset_ns, rank.faster_ppb)).collect();
    assert_eq!(simulation.ranks[1].clock_at(Instant::ZERO).as_ns(), 1_000_000_000_000);
    let (found, progress, ended) = simulation.run_to_end();
    assert!(progress.iter().all(|progress| *progress == Progress::Finished), "{progress:?}");
    assert!(!found.versions_differ && !found.has_stalled && found.lost.is_empty());
    assert_eq!((found.sums.took_ns.len(), found.sums.wrong), (32, 0));
    for (number, rank) in found.ranks.iter().enumerate() {
        assert_eq!(rank.facts, Some(facts_of("1", number)));
        // Of five, the last has no partner.
        assert_eq!(rank.sent.map(|(partner, _)| partner), [Some(2), Some(3), Some(0), Some(1), None][number]);
    }
    for (number, rank) in found.ranks.iter().enumerate().skip(1) {
        let map = rank.clock_map().unwrap();
        let (offset_ns, faster_ppb) = clocks[number];
        let own = own_time(ended, offset_ns, faster_ppb);
        let off = (map.in_common_time(own) - ended.as_ns() as i64).abs();
        assert!(off <= map.error_ns_at(own), "rank {number}: {off} of {}", map.error_ns_at(own));
        assert!(map.error_ns_at(own) < 100_000, "rank {number}: {}", map.error_ns_at(own));
        let half_trip = rank.readings[0].error_ns;
        assert!((20_000..35_000).contains(&half_trip), "rank {number}: {half_trip}");
    }
    // Four of 1 MiB are under way at a time, and 5 ms are some 50 to 125 round trips.
    let (_, throughput) = found.ranks[0].sent.unwrap();
    let messages = throughput.bytes >> 20;
    assert!((4 * 5_000 / 130..4 * 5_000 / 40).contains(&messages), "{messages}");
    assert!((5_000_000..5_200_000).contains(&throughput.ns), "{throughput:?}");
}

#[test]
fn one_rank_alone_is_examined_too() {
    let (found, progress, _) = Simulation::begin(&["1"], None).run_to_end();
    assert_eq!(progress, [Progress::Finished]);
    assert_eq!((found.sums.took_ns.len(), found.sums.wrong), (32, 0));
    assert_eq!(found.ranks[0].sent, None);
}

/// A time that is over before the first message would leave: each rank sends one all the same, and none counts as lost.
#[test]
fn messages_for_no_time_are_one_message() {
    let settings = Settings { messages_for: Span::ZERO, ..SETTINGS };
    let (found, progress, _) = Simulation::with_settings(settings, &["1"; 2], None).run_to_end();
    assert!(!found.has_stalled, "{:?}", found.lost);
    assert!(progress.iter().all(|progress| *progress == Progress::Finished), "{progress:?}");
    let bytes: Vec<Option<u64>> = found.ranks.iter().map(|rank| rank.sent.map(|(_, sent)| sent.bytes)).collect();
    assert_eq!(bytes, [Some(1 << 20), Some(1 << 20)]);
}

/// A clock that moves on with each look at it, by much more than messages take: the end passes between two looks, wherever these are.
#[test]
fn an_end_between_two_looks_at_the_clock_is_an_end() {
    for step_ns in (20_000..600_000).step_by(5_000) {
        let looks = std::cell::Cell::new(0);
        let clock = || {
            looks.set(looks.get() + step_ns);
            Instant::from_ns(looks.get())
        };
        let settings = Settings { patience: Span::from_secs(60), ..SETTINGS };
        let mut links = Exchange::within_process(2).links();
        let mut members: Vec<Member> =
            (0..2).map(|rank| Member::say_hello(facts_of("1", rank), &mut links[rank]).unwrap()).collect();
        let mut coordinators = [Some(Coordinator::begin_examination(settings, 2, clock())), None];
        let mut progress = [Progress::Busy; 2];
        for _ in 0..1_000 {
            for (rank, coordinator) in coordinators.iter_mut().enumerate() {
                progress[rank] =
                    Coordinator::step_rank(coordinator, &mut members[rank], &mut links[rank], &clock).unwrap();
            }
        }
        assert_eq!(progress, [Progress::Finished; 2], "{step_ns} ns");
        let found = coordinators[0].take().unwrap().into_found();
        assert!(!found.has_stalled && found.ranks.iter().all(|rank| rank.sent.is_some()), "{step_ns} ns: {found:?}");
    }
}

#[test]
fn nothing_is_tried_with_versions_that_differ() {
    let (found, progress, _) = Simulation::begin(&["1", "1", "2"], None).run_to_end();
    assert!(found.versions_differ);
    assert!(progress.iter().all(|progress| *progress == Progress::Finished));
    assert!(found.sums.took_ns.is_empty());
    assert_eq!(found.ranks[2].facts.as_ref().unwrap().version, "2");
}

#[test]
fn a_rank_whose_messages_are_lost_is_named() {
    let (found, progress, ended) = Simulation::begin(&["1"; 4], Some(2)).run_to_end();
    assert_eq!((found.lost, found.has_stalled), (vec![2], true));
    assert!(progress.iter().all(|progress| *progress == Progress::Finished), "{progress:?}");
    let named = SETTINGS.patience + SETTINGS.answer_within;
    assert!(ended >= Instant::ZERO + named && ended < Instant::ZERO + named + Span::from_ms(1), "{ended:?}");
}

/// In each stage, and whichever rank waits for it: in sums, and as the partner that acknowledges nothing.
#[test]
fn a_rank_that_freezes_at_any_moment_is_the_one_that_is_named() {
    let (_, _, whole) = Simulation::begin(&["1"; 4], None).run_to_end();
    for frozen in 1..4 {
        for moment in 0..8 {
            let since = Instant::from_ns(whole.as_ns() * moment / 8);
            let simulation = Simulation { frozen: Some((frozen, since)), ..Simulation::begin(&["1"; 4], None) };
            let (found, progress, _) = simulation.run_to_end();
            // Who freezes after the last thing that is asked of him is missed by nobody.
            let has_done_all = found.ranks[frozen].readings.len() == 2;
            let expected = if has_done_all && !found.has_stalled { vec![] } else { vec![frozen] };
            assert_eq!(
                (&found.lost, found.has_stalled),
                (&expected, !expected.is_empty()),
                "rank {frozen} from {since:?}"
            );
            assert!(!has_done_all || moment > 4, "rank {frozen} from {since:?}");
            let others = progress.iter().enumerate().filter(|(rank, _)| *rank != frozen);
            assert!(others.clone().all(|(_, progress)| *progress == Progress::Finished), "{progress:?}");
        }
    }
}

/// It stood still, and goes on when all is over.
#[test]
fn a_late_letter_of_a_rank_that_was_lost_is_no_error() {
    use super::letter::{Arrived, Letter};
    let mut link = Exchange::within_process(2).links().remove(1);
    let mut member = Member::say_hello(facts_of("1", 1), &mut link).unwrap();
    let clock = || Instant::ZERO;
    let mut hear = |letter| member.receive_as_rank(0, Arrived::Letter(letter), &mut link, &clock);
    assert!(hear(Letter::Acknowledge).is_err(), "nothing was sent that could be acknowledged");
    hear(Letter::Finish).unwrap();
    hear(Letter::Acknowledge).unwrap();
    hear(Letter::TellTime { number: 0, ns: 1 }).unwrap();
}

#[test]
fn a_sum_that_lacks_a_rank_is_wrong() {
    let mut links = Exchange::within_process(3).links();
    for (rank, link) in links.iter_mut().enumerate() {
        // Rank 2 gives what rank 1 has to give.
        let given = super::member::operation_of_round(0, rank.min(1));
        crate::Link::begin_collective(link, given).unwrap();
    }
    let sum = crate::Link::collective_result(&mut links[0]).unwrap().unwrap();
    assert!(!super::member::is_right(0, 3, &sum));
    assert!(!super::member::is_right(0, 3, &crate::Collective::Barrier));
}
