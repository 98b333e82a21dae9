//! Which kind of transaction each number is.
//!
//! Source: TPC-C 5.11, clause 5.2.4.2 allows a deck of cards from which kinds are dealt without replacement; ours has
//! the smallest shares that the standard permits. The other mix is HammerDB's: 10 of 23 are new orders, so that all
//! transactions are 2.30 times the new orders.

use super::seeds::DECK;
use assay_base::Prng;
use serde::{Deserialize, Serialize};

/// A kind of transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransactionKind {
    /// A customer orders 5 to 15 items.
    NewOrder,
    /// A customer pays.
    Payment,
    /// A customer asks for the last order.
    OrderStatus,
    /// The oldest order of each district is delivered.
    Delivery,
    /// The items of recent orders that run out are counted.
    StockLevel,
}

impl TransactionKind {
    /// All kinds, in the order of the streams.
    pub const ALL: [TransactionKind; 5] = [
        TransactionKind::NewOrder,
        TransactionKind::Payment,
        TransactionKind::OrderStatus,
        TransactionKind::Delivery,
        TransactionKind::StockLevel,
    ];

    /// The name of its stream.
    pub fn stream_name(self) -> &'static str {
        match self {
            TransactionKind::NewOrder => "new-order",
            TransactionKind::Payment => "payment",
            TransactionKind::OrderStatus => "order-status",
            TransactionKind::Delivery => "delivery",
            TransactionKind::StockLevel => "stock-level",
        }
    }
}

/// How kinds are mixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mix {
    /// A deck of 100 cards, shuffled anew when it is used up.
    #[default]
    Deck,
    /// Independent draws with HammerDB's weights.
    HammerDb,
}

impl Mix {
    /// How many of [`Mix::total_weight`] transactions are of each kind, in the order of [`TransactionKind::ALL`].
    pub fn kind_weights(self) -> [u64; 5] {
        match self {
            Mix::Deck => [45, 43, 4, 4, 4],
            Mix::HammerDb => [10, 10, 1, 1, 1],
        }
    }

    /// The sum of the weights.
    pub fn total_weight(self) -> u64 {
        self.kind_weights().iter().sum()
    }

    /// The kind at a place in the unshuffled order.
    fn kind_at(self, mut place: u64) -> TransactionKind {
        for (kind, weight) in TransactionKind::ALL.into_iter().zip(self.kind_weights()) {
            if place < weight {
                return kind;
            }
            place -= weight;
        }
        unreachable!("the place is below the sum of the weights")
    }
}

const CARDS: usize = 100;

/// Says which kind each transaction of a run is.
#[derive(Clone, Debug)]
pub struct Deck {
    mix: Mix,
    seed: u64,
    /// The deck that was used last and its cards, because most questions come in order.
    shuffled: Option<(u64, [TransactionKind; CARDS])>,
}

impl Deck {
    /// The kinds that follow from a run's seed.
    pub fn new(mix: Mix, seed: u64) -> Deck {
        Deck { mix, seed, shuffled: None }
    }

    /// The kind of the transaction with a number; any number may be asked for, in any order.
    pub fn kind_of_transaction(&mut self, number: u64) -> TransactionKind {
        if self.mix == Mix::HammerDb {
            return self
                .mix
                .kind_at(Prng::for_path(self.seed, &[DECK, 1, number]).uniform_below(self.mix.total_weight()));
        }
        let (deck, card) = (number / CARDS as u64, (number % CARDS as u64) as usize);
        match &self.shuffled {
            Some((at, cards)) if *at == deck => cards[card],
            _ => self.shuffle_deck(deck)[card],
        }
    }

    fn shuffle_deck(&mut self, deck: u64) -> &[TransactionKind; CARDS] {
        let mut cards: [TransactionKind; CARDS] = std::array::from_fn(|place| self.mix.kind_at(place as u64));
        let mut prng = Prng::for_path(self.seed, &[DECK, 0, deck]);
        for last in (1..CARDS).rev() {
            cards.swap(last, prng.uniform_below(last as u64 + 1) as usize);
        }
        &self.shuffled.insert((deck, cards)).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn counts(deck: &mut Deck, numbers: std::ops::Range<u64>) -> Vec<u64> {
        let mut counts = BTreeMap::new();
        numbers.for_each(|number| *counts.entry(deck.kind_of_transaction(number)).or_default() += 1);
        counts.into_values().collect()
    }

    #[test]
    fn every_hundred_has_exactly_the_cards_of_the_deck() {
        let mut deck = Deck::new(Mix::Deck, 3);
        for first in (0..100).map(|deck| deck * 100) {
            assert_eq!(counts(&mut deck, first..first + 100), [45, 43, 4, 4, 4]);
        }
    }

    #[test]
    fn cards_are_shuffled_anew_and_every_place_sees_every_kind() {
        let mut deck = Deck::new(Mix::Deck, 3);
        let mut hundred =
            |deck_number: u64| (0..100).map(|n| deck.kind_of_transaction(deck_number * 100 + n)).collect::<Vec<_>>();
        assert_ne!(hundred(0), hundred(1));
        // 99.9 % of binomial counts with 10,000 decks and a share of 45 % lie within 3.3 standard deviations of 50.
        for place in [0, 1, 50, 99] {
            let mut deck = Deck::new(Mix::Deck, 4);
            let new_orders =
                (0..10_000).filter(|n| deck.kind_of_transaction(n * 100 + place) == TransactionKind::NewOrder).count();
            assert!((4_336..4_664).contains(&new_orders), "place {place}: {new_orders}");
        }
    }

    #[test]
    fn a_kind_follows_from_the_number_whatever_was_asked_before() {
        for mix in [Mix::Deck, Mix::HammerDb] {
            let mut in_order = Deck::new(mix, 9);
            let all: Vec<TransactionKind> = (0..1_000).map(|number| in_order.kind_of_transaction(number)).collect();
            let mut jumping = Deck::new(mix, 9);
            for number in (0..1_000).rev().step_by(7) {
                assert_eq!(jumping.kind_of_transaction(number), all[number as usize]);
            }
            let mut other = Deck::new(mix, 10);
            assert!(
                (0..1_000).any(|number| other.kind_of_transaction(number) != all[number as usize]),
                "the seed matters"
            );
            assert_eq!(other.kind_of_transaction(u64::MAX), Deck::new(mix, 10).kind_of_transaction(u64::MAX));
        }
    }

    #[test]
    fn hammerdbs_mix_has_its_shares() {
        let counts = counts(&mut Deck::new(Mix::HammerDb, 1), 0..230_000);
        let chi: f64 = counts
            .iter()
            .zip(Mix::HammerDb.kind_weights())
            .map(|(got, weight)| {
                let wanted = weight as f64 * 10_000.0;
                (*got as f64 - wanted).powi(2) / wanted
            })
            .sum();
        // The 0.1 % point for 4 degrees of freedom.
        assert!(chi < 18.5, "{counts:?}");
        assert_eq!(230.0 / f64::from(Mix::HammerDb.kind_weights()[0] as u32) / 10.0, 2.3);
    }
}
