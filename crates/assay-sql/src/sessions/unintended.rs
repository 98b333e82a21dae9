//! Outcomes that the transaction did not ask for: the database is not what was loaded.
//!
//! Every session takes an item that it does not find for the item that no load makes, and rolls the order back. Whether
//! the order asked for that item is decided here, for all databases and modes at once: a database that has lost its items
//! would otherwise roll every order back, and no failure would be counted.

use crate::fault::Fault;
use assay_model::tpcc::{Outcome, Scale, Transaction};

/// The fault of an outcome that the transaction did not ask for, on a database that was loaded with a scale.
pub(super) fn unintended_fault(transaction: &Transaction, outcome: &Outcome, scale: Scale) -> Option<Fault> {
    let Transaction::NewOrder(order) = transaction else { return None };
    match (order.asks_for_unused_item(scale), outcome) {
        (false, Outcome::RolledBack) => Some(Fault::missing_row("item that the order asks for")),
        (true, Outcome::Ordered(_)) => Some(Fault::unused_item()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::tpcc::{Home, Ordered, Parameters, TransactionKind};

    #[test]
    fn only_an_order_of_the_unused_item_is_rolled_back_and_every_such_order_is() {
        let scale = Scale::for_tests(100, 30);
        let parameters = Parameters::new(1, 7, 1, scale);
        let accepted = Outcome::Ordered(Ordered { order: 31, total: 0, lines: Vec::new() });
        let mut intended = 0;
        for number in 0..1000 {
            let order = parameters.numbered_transaction(TransactionKind::NewOrder, number, Home::All);
            let rolled_back = unintended_fault(&order, &Outcome::RolledBack, scale).map(|fault| fault.code);
            let committed = unintended_fault(&order, &accepted, scale).map(|fault| fault.code);
            match rolled_back {
                None => {
                    intended += 1;
                    assert_eq!(committed.as_deref(), Some(Fault::UNUSED_ITEM), "{number}");
                }
                Some(code) => assert_eq!((code.as_str(), committed), (Fault::MISSING_ROW, None), "{number}"),
            }
            let payment = parameters.numbered_transaction(TransactionKind::Payment, number, Home::All);
            assert_eq!(unintended_fault(&payment, &Outcome::RolledBack, scale), None);
        }
        assert!((1..50).contains(&intended), "about one of a hundred: {intended}");
    }
}
