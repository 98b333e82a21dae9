//! The rows that a database holds before the first transaction.
//!
//! The population consists of parts, each with a random generator of its own: the rows of a part do not depend on who
//! generates it, or when, so that any number of loaders gives the same database, and a load that was interrupted goes
//! on with the parts that are missing.
//!
//! Source: TPC-C 5.11, clause 4.3.3.1.

use super::nurand::{c_load, names_loaded};
use super::rows::{
    Account, Address, BAD_CREDIT, Cents, Customer, DIST, District, GOOD_CREDIT, History, Item, Micros, ORIGINAL, Order,
    OrderLine, Row, Stock, Warehouse,
};
use super::scale::Scale;
use super::seeds::POPULATION;
use super::strings::{
    last_name, random_digits, random_letters, random_letters_and_digits, uniform_between, uniform_number,
};
use assay_base::Prng;

/// When every row of the population was made: 2026-01-01 00:00:00 UTC. A fixed moment, because the rows must follow
/// from the seed alone.
pub const LOADED: Micros = 1_767_225_600_000_000;

/// What a customer paid before the load.
const PAID: Cents = 1_000;
/// How many of a loaded order's lines are asked for of each item.
const QUANTITY: i32 = 5;

/// A part of the population, which is loaded as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadPart {
    /// All items.
    Items,
    /// The row of a warehouse and those of its districts.
    Warehouse(i32),
    /// The stock of a warehouse.
    Stock(i32),
    /// The customers of a district and their history: warehouse, district.
    Customers(i32, i32),
    /// The orders of a district, with their lines, and those that are new: warehouse, district.
    Orders(i32, i32),
}

impl LoadPart {
    /// The steps of the path to its generator.
    fn generator_path(self) -> [u64; 4] {
        let (kind, warehouse, district) = match self {
            LoadPart::Items => (0, 0, 0),
            LoadPart::Warehouse(warehouse) => (1, warehouse, 0),
            LoadPart::Stock(warehouse) => (2, warehouse, 0),
            LoadPart::Customers(warehouse, district) => (3, warehouse, district),
            LoadPart::Orders(warehouse, district) => (4, warehouse, district),
        };
        [POPULATION, kind, warehouse as u64, district as u64]
    }

    /// About how many rows it has: how much of a load it is.
    pub fn row_weight(self, scale: Scale) -> u64 {
        (match self {
            LoadPart::Items | LoadPart::Stock(_) => scale.item_count(),
            LoadPart::Warehouse(_) => 1 + scale.district_count(),
            LoadPart::Customers(..) => 2 * scale.customer_count(),
            // An order has ten lines on average.
            LoadPart::Orders(..) => 11 * scale.order_count(),
        }) as u64
    }

    /// Its name, by which a database records that it is loaded.
    pub fn part_name(self) -> String {
        match self {
            LoadPart::Items => "items".to_owned(),
            LoadPart::Warehouse(warehouse) => format!("warehouse {warehouse}"),
            LoadPart::Stock(warehouse) => format!("stock {warehouse}"),
            LoadPart::Customers(warehouse, district) => format!("customers {warehouse}.{district}"),
            LoadPart::Orders(warehouse, district) => format!("orders {warehouse}.{district}"),
        }
    }
}

/// A whole population.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Population {
    scale: Scale,
    warehouses: i32,
    seed: u64,
}

impl Population {
    /// The population of a number of warehouses, which follows from the seed.
    pub fn new(scale: Scale, warehouses: i32, seed: u64) -> Population {
        Population { scale, warehouses, seed }
    }

    /// The rows of a warehouse.
    pub fn row_scale(self) -> Scale {
        self.scale
    }
    /// The number of warehouses.
    pub fn warehouse_count(self) -> i32 {
        self.warehouses
    }
    /// The seed.
    pub fn run_seed(self) -> u64 {
        self.seed
    }
    /// The constant of the last names.
    pub fn c_load(self) -> i32 {
        c_load(self.seed)
    }

    /// Its parts, in the order in which one loader makes them.
    pub fn load_parts(self) -> impl Iterator<Item = LoadPart> {
        let warehouses = (1..=self.warehouses).flat_map(move |warehouse| self.parts_of_warehouse(warehouse));
        std::iter::once(LoadPart::Items).chain(warehouses)
    }

    /// The parts of one warehouse, in the order in which they are loaded.
    fn parts_of_warehouse(self, warehouse: i32) -> impl Iterator<Item = LoadPart> {
        let districts = (1..=self.scale.district_count()).flat_map(move |district| {
            [LoadPart::Customers(warehouse, district), LoadPart::Orders(warehouse, district)]
        });
        [LoadPart::Warehouse(warehouse), LoadPart::Stock(warehouse)].into_iter().chain(districts)
    }

    /// Passes on each row of a part, until one is not taken.
    pub fn put_rows<E>(self, part: LoadPart, put: &mut impl FnMut(Row) -> Result<(), E>) -> Result<(), E> {
        let prng = Prng::for_path(self.seed, &part.generator_path());
        let mut making = RowMaker { scale: self.scale, c_load: self.c_load(), prng };
        match part {
            LoadPart::Items => making.put_items(put),
            LoadPart::Warehouse(warehouse) => making.put_warehouse(warehouse, put),
            LoadPart::Stock(warehouse) => making.put_stock(warehouse, put),
            LoadPart::Customers(warehouse, district) => making.put_customers(warehouse, district, put),
            LoadPart::Orders(warehouse, district) => making.put_orders(warehouse, district, put),
        }
    }
}

/// Chooses an exact number out of a whole, each with equal probability, in one pass (D. Knuth, The Art of Computer
/// Programming, volume 2, 3.4.2, algorithm S).
struct ExactSample {
    wanted: u64,
    left: u64,
}

impl ExactSample {
    /// A tenth of a whole, which is a multiple of ten.
    fn tenth_part(whole: i32) -> ExactSample {
        ExactSample { wanted: whole as u64 / 10, left: whole as u64 }
    }

    fn next(&mut self, prng: &mut Prng) -> bool {
        let chosen = prng.uniform_below(self.left) < self.wanted;
        self.left -= 1;
        self.wanted -= u64::from(chosen);
        chosen
    }
}

/// Makes the rows of one part.
struct RowMaker {
    scale: Scale,
    c_load: i32,
    prng: Prng,
}

impl RowMaker {
    fn make_address(&mut self) -> Address {
        let prng = &mut self.prng;
        Address {
            street_1: random_letters_and_digits(prng, 10, 20),
            street_2: random_letters_and_digits(prng, 10, 20),
            city: random_letters_and_digits(prng, 10, 20),
            state: random_letters(prng, 2),
            zip: random_digits(prng, 4) + "11111",
        }
    }

    /// The data of an item or of a stock row, of which a tenth contains the word that makes a brand.
    fn make_data(&mut self, originals: &mut ExactSample) -> String {
        let mut data = random_letters_and_digits(&mut self.prng, 26, 50);
        if originals.next(&mut self.prng) {
            let at = self.prng.uniform_below((data.len() - ORIGINAL.len() + 1) as u64) as usize;
            data.replace_range(at..at + ORIGINAL.len(), ORIGINAL);
        }
        data
    }

    fn put_items<E>(&mut self, put: &mut impl FnMut(Row) -> Result<(), E>) -> Result<(), E> {
        let mut originals = ExactSample::tenth_part(self.scale.item_count());
        (1..=self.scale.item_count()).try_for_each(|id| {
            let image = uniform_number(&mut self.prng, 1, 10_000);
            let name = random_letters_and_digits(&mut self.prng, 14, 24);
            let price = uniform_between(&mut self.prng, 100, 10_000);
            put(Row::Item(Item { id, image, name, price, data: self.make_data(&mut originals) }))
        })
    }

    fn put_warehouse<E>(&mut self, id: i32, put: &mut impl FnMut(Row) -> Result<(), E>) -> Result<(), E> {
        let of_district = PAID * i64::from(self.scale.customer_count());
        let ytd = of_district * i64::from(self.scale.district_count());
        let name = random_letters_and_digits(&mut self.prng, 6, 10);
        let tax = uniform_between(&mut self.prng, 0, 2_000);
        put(Row::Warehouse(Warehouse { id, name, address: self.make_address(), tax, ytd }))?;
        (1..=self.scale.district_count()).try_for_each(|district| {
            let name = random_letters_and_digits(&mut self.prng, 6, 10);
            let tax = uniform_between(&mut self.prng, 0, 2_000);
            let (address, next_order) = (self.make_address(), self.scale.order_count() + 1);
            put(Row::District(District {
                warehouse: id,
                id: district,
                name,
                address,
                tax,
                ytd: of_district,
                next_order,
            }))
        })
    }

    fn put_stock<E>(&mut self, warehouse: i32, put: &mut impl FnMut(Row) -> Result<(), E>) -> Result<(), E> {
        let mut originals = ExactSample::tenth_part(self.scale.item_count());
        (1..=self.scale.item_count()).try_for_each(|item| {
            let quantity = uniform_number(&mut self.prng, 10, 100);
            let dists = random_letters(&mut self.prng, DIST * 10);
            let data = self.make_data(&mut originals);
            put(Row::Stock(Stock { warehouse, item, quantity, dists, ytd: 0, orders: 0, remote: 0, data }))
        })
    }

    fn put_customers<E>(
        &mut self,
        warehouse: i32,
        district: i32,
        put: &mut impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut bad = ExactSample::tenth_part(self.scale.customer_count());
        (1..=self.scale.customer_count()).try_for_each(|id| {
            let customer = self.make_customer((warehouse, district, id), &mut bad);
            put(Row::Customer(customer))?;
            put(Row::History(History {
                customer: id,
                customer_district: district,
                customer_warehouse: warehouse,
                district,
                warehouse,
                date: LOADED,
                amount: PAID,
                data: random_letters_and_digits(&mut self.prng, 12, 24),
            }))
        })
    }

    fn make_customer(&mut self, key: (i32, i32, i32), bad: &mut ExactSample) -> Customer {
        let names = self.scale.name_count();
        let name = match key.2 {
            id if id <= names => id - 1,
            _ => names_loaded(self.scale, self.c_load).draw_value(&mut self.prng),
        };
        let address = self.make_address();
        let credit = if bad.next(&mut self.prng) { BAD_CREDIT } else { GOOD_CREDIT };
        let prng = &mut self.prng;
        Customer {
            key,
            first: random_letters_and_digits(prng, 8, 16),
            last: last_name(name),
            address,
            phone: random_digits(prng, 16),
            since: LOADED,
            credit,
            discount: uniform_between(prng, 0, 5_000),
            account: Account { balance: -PAID, ytd_payment: PAID, payments: 1, deliveries: 0 },
            data: random_letters_and_digits(prng, 300, Customer::DATA_MOST),
        }
    }

    /// Numbers from 1 in random order (Fisher and Yates).
    fn random_permutation(&mut self, most: i32) -> Vec<i32> {
        let mut numbers: Vec<i32> = (1..=most).collect();
        for last in (1..numbers.len()).rev() {
            numbers.swap(last, self.prng.uniform_below(last as u64 + 1) as usize);
        }
        numbers
    }

    fn put_orders<E>(
        &mut self,
        warehouse: i32,
        district: i32,
        put: &mut impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        let customers = self.random_permutation(self.scale.order_count());
        (1..).zip(customers).try_for_each(|(id, customer)| {
            let key = (warehouse, district, id);
            let lines = uniform_number(&mut self.prng, 5, 15);
            let delivered = id < self.scale.first_undelivered();
            let carrier = delivered.then(|| uniform_number(&mut self.prng, 1, 10));
            put(Row::Order(Order { key, customer, entered: LOADED, carrier, lines, all_local: true }))?;
            if !delivered {
                put(Row::NewOrder(key))?;
            }
            (1..=lines).try_for_each(|line| put(Row::OrderLine(self.make_order_line(key, line, delivered))))
        })
    }

    fn make_order_line(&mut self, order: (i32, i32, i32), line: i32, delivered: bool) -> OrderLine {
        OrderLine {
            order,
            number: line,
            item: uniform_number(&mut self.prng, 1, self.scale.item_count()),
            supply_warehouse: order.0,
            delivered: delivered.then_some(LOADED),
            quantity: QUANTITY,
            amount: if delivered { 0 } else { uniform_between(&mut self.prng, 1, 999_999) },
            dist_info: random_letters(&mut self.prng, DIST),
        }
    }
}

#[cfg(test)]
#[path = "population_tests.rs"]
mod tests;
