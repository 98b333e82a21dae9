//! What a database has kept of the commits of a run whose sessions send numbers: with each transaction that writes, a
//! session sets a row of its own to the transaction's number, so that the row says how far the session has come.

use std::collections::BTreeMap;

/// The commits that a database has kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptCommits {
    /// The number in the row of each session; a session whose row is gone is left out.
    pub sessions: BTreeMap<u32, u64>,
    /// The orders that were made after the load.
    pub orders: Vec<Orders>,
}

/// Orders of a district that follow each other without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Orders {
    /// The warehouse.
    pub warehouse: i32,
    /// The district.
    pub district: i32,
    /// The number of the first one.
    pub first: i32,
    /// The number of the last one.
    pub last: i32,
}

/// The number in the row of a session. No session sends a negative one: a row that has one has lost every number.
pub(crate) fn number_in_row(stored: i64) -> u64 {
    stored.max(0).unsigned_abs()
}

impl KeptCommits {
    /// Whether an order is there. The orders are sorted.
    pub fn has_order(&self, warehouse: i32, district: i32, order: i32) -> bool {
        let key = (warehouse, district, order);
        let after = self.orders.partition_point(|orders| (orders.warehouse, orders.district, orders.first) <= key);
        let before = after.checked_sub(1).and_then(|at| self.orders.get(at));
        before
            .is_some_and(|orders| (orders.warehouse, orders.district) == (warehouse, district) && order <= orders.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_number_is_none_and_not_a_large_one() {
        for (stored, number) in [(0, 0), (7, 7), (-1, 0), (i64::MIN, 0), (i64::MAX, i64::MAX as u64)] {
            assert_eq!(number_in_row(stored), number, "{stored}");
        }
    }

    #[test]
    fn an_order_is_there_or_in_a_gap() {
        let of = |warehouse, district, first, last| Orders { warehouse, district, first, last };
        let orders = vec![of(1, 1, 31, 40), of(1, 1, 42, 42), of(1, 2, 31, 31), of(2, 1, 35, 36)];
        let kept = KeptCommits { orders, ..KeptCommits::default() };
        let there = |warehouse, district| {
            (30..=50).filter(|order| kept.has_order(warehouse, district, *order)).collect::<Vec<_>>()
        };
        assert_eq!(there(1, 1), (31..=40).chain([42]).collect::<Vec<_>>());
        assert_eq!((there(1, 2), there(2, 1), there(2, 2)), (vec![31], vec![35, 36], vec![]));
        assert!(!KeptCommits::default().has_order(1, 1, 31));
    }
}
