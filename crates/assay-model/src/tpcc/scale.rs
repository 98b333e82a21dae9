//! How many rows a warehouse has. A run uses the sizes of the standard only; tests need warehouses that load in
//! milliseconds.
//!
//! Source: TPC-C 5.11, clause 1.2.1 (cardinalities) and clause 4.3.3.1 (initial population).

/// The number of rows that one warehouse brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    items: i32,
    districts: i32,
    customers: i32,
    names: i32,
    undelivered: i32,
}

impl Scale {
    /// The sizes of the standard.
    pub const STANDARD: Scale =
        Scale { items: 100_000, districts: 10, customers: 3_000, names: 1_000, undelivered: 900 };

    /// A small warehouse for tests, in the proportions of the standard.
    ///
    /// # Panics
    /// Where [`Scale::new`] has no answer.
    pub fn for_tests(items: i32, customers: i32) -> Scale {
        Scale::new(items, customers).expect("numbers of rows that a warehouse can have")
    }

    /// The scale with a number of items, and of customers in a district. Both must be multiples of 10 and at least 10,
    /// so that a tenth of them is exact, and at most the standard's.
    pub fn new(items: i32, customers: i32) -> Option<Scale> {
        let Scale { items: most_items, customers: most_customers, districts, .. } = Scale::STANDARD;
        let scale = Scale { items, districts, customers, names: customers / 3, undelivered: customers * 3 / 10 };
        (is_possible(items, most_items) && is_possible(customers, most_customers)).then_some(scale)
    }

    /// Number of items, and of stock rows in each warehouse.
    pub fn item_count(self) -> i32 {
        self.items
    }
    /// Number of districts in a warehouse.
    pub fn district_count(self) -> i32 {
        self.districts
    }
    /// Number of customers in a district.
    pub fn customer_count(self) -> i32 {
        self.customers
    }
    /// Number of orders in a district after the load: one for each customer.
    pub fn order_count(self) -> i32 {
        self.customers
    }
    /// Number of last names. The first customers of a district have them in order.
    pub fn name_count(self) -> i32 {
        self.names
    }
    /// The first order of a district that is not delivered after the load.
    pub fn first_undelivered(self) -> i32 {
        self.customers - self.undelivered + 1
    }
    /// An item number that no item has: the last line of an order that is to be rolled back asks for it.
    pub fn unused_item(self) -> i32 {
        self.items + 1
    }
}

/// Whether a table may have this number of rows: a multiple of 10, up to that of the standard.
fn is_possible(number: i32, most: i32) -> bool {
    (10..=most).contains(&number) && number % 10 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standards_numbers_and_the_same_proportions_in_small() {
        let standard = Scale::STANDARD;
        assert_eq!((standard.item_count(), standard.district_count(), standard.customer_count()), (100_000, 10, 3_000));
        assert_eq!(
            (standard.order_count(), standard.first_undelivered(), standard.name_count()),
            (3_000, 2_101, 1_000)
        );
        assert_eq!(Scale::for_tests(100_000, 3_000), standard);
        let small = Scale::for_tests(100, 30);
        assert_eq!((small.first_undelivered(), small.name_count(), small.unused_item()), (22, 10, 101));
    }

    #[test]
    fn a_warehouse_whose_tenth_is_no_whole_number_is_refused() {
        for (items, customers) in [(0, 30), (15, 30), (100, 0), (100, 33), (100_010, 30), (-10, 30)] {
            assert_eq!(Scale::new(items, customers), None, "{items}, {customers}");
        }
    }
}
