//! The order in which a client takes every file once: by number, or in an order that is drawn.

use assay_model::address::Order;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    /// The first number, and the distance from one to the next.
    first: u64,
    step: u64,
    count: u64,
    next: u64,
    order: Option<Order>,
}

impl Cursor {
    /// Every `step`-th number from `first` on that is below `end`; in the order of `key` where there is one.
    pub(super) fn new(first: u64, step: u64, end: u64, key: Option<u64>) -> Cursor {
        let count = end.saturating_sub(first).div_ceil(step.max(1));
        let order = key.filter(|_| count > 0).map(|key| Order::new(count, key));
        Cursor { first, step, count, next: 0, order }
    }
}

impl Iterator for Cursor {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.next >= self.count {
            return None;
        }
        let place = self.order.as_ref().map_or(self.next, |order| order.number_at(self.next));
        self.next += 1;
        Some(self.first + place * self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once_in_either_order() {
        for (first, step, end) in [(3, 8, 100), (0, 1, 5), (7, 8, 7), (2, 5, 3)] {
            let in_order: Vec<u64> = Cursor::new(first, step, end, None).collect();
            assert_eq!(in_order, (first..end).step_by(step as usize).collect::<Vec<_>>());
            let mut drawn: Vec<u64> = Cursor::new(first, step, end, Some(9)).collect();
            assert!(in_order.len() < 10 || drawn != in_order);
            drawn.sort_unstable();
            assert_eq!(drawn, in_order);
        }
    }
}
