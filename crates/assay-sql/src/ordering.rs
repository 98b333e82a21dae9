//! What an order makes of the items and the stock that it has read under lock, where this program has the logic of a
//! transaction.

use crate::fault::Fault;
use assay_model::tpcc::{NewOrder, OrderedLine};
use std::collections::BTreeMap;

/// For each item its price in cents, and whether it is of the brand.
pub(crate) type Items = BTreeMap<i32, (i64, bool)>;
/// For each row of the stock, by warehouse and item: what is left, whether it is of the brand, and the district's text.
pub(crate) type Stock = BTreeMap<(i32, i32), (i32, bool, String)>;

/// What an order takes from the stock: one entry for each warehouse and item, in the order of the key, in which rows are
/// locked.
#[derive(Debug, Default)]
pub(crate) struct StockTaken {
    pub(crate) supplies: Vec<i32>,
    pub(crate) items: Vec<i32>,
    pub(crate) held: Vec<i32>,
    pub(crate) quantities: Vec<i32>,
    pub(crate) times: Vec<i32>,
    pub(crate) remote: Vec<i32>,
}

impl StockTaken {
    /// The rows that an order asks for; nothing is taken yet.
    pub(crate) fn for_order(asked: &NewOrder) -> StockTaken {
        let mut keys: Vec<(i32, i32)> = asked.lines.iter().map(|line| (line.supply_warehouse, line.item)).collect();
        keys.sort_unstable();
        keys.dedup();
        let (supplies, items) = keys.into_iter().unzip();
        StockTaken { supplies, items, ..StockTaken::default() }
    }

    /// With what is left and what was taken, of the lines whose item exists.
    pub(crate) fn with_filled(mut self, asked: &NewOrder, filled: &Filled) -> StockTaken {
        let mut all: BTreeMap<(i32, i32), [i32; 4]> = BTreeMap::new();
        for (line, ordered) in asked.lines.iter().zip(&filled.lines) {
            let [held, quantity, times, remote] = all.entry((line.supply_warehouse, line.item)).or_default();
            *held = ordered.stock;
            *quantity += line.quantity;
            *times += 1;
            *remote += i32::from(line.supply_warehouse != asked.warehouse);
        }
        self.supplies.clear();
        self.items.clear();
        for ((supply, item), [held, quantity, times, remote]) in all {
            let columns = [&mut self.supplies, &mut self.items, &mut self.held];
            columns.into_iter().zip([supply, item, held]).for_each(|(column, number)| column.push(number));
            let columns = [&mut self.quantities, &mut self.times, &mut self.remote];
            columns.into_iter().zip([quantity, times, remote]).for_each(|(column, number)| column.push(number));
        }
        self
    }
}

/// The lines of an order as they are to be written, up to the one whose item does not exist.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    pub(crate) lines: Vec<OrderedLine>,
    pub(crate) amounts: Vec<i64>,
    pub(crate) dists: Vec<String>,
}

impl Filled {
    /// Takes from the stock line by line, because an item may be in an order twice.
    pub(crate) fn from_stock(asked: &NewOrder, items: &Items, mut stock: Stock) -> Result<Filled, Fault> {
        let mut filled = Filled::default();
        for line in &asked.lines {
            let Some((price, is_original)) = items.get(&line.item) else { break };
            let held = stock.get_mut(&(line.supply_warehouse, line.item));
            let (quantity, of_stock, dist) = held.ok_or_else(|| Fault::missing_row("stock"))?;
            let left = *quantity - line.quantity;
            *quantity = if left >= 10 { left } else { left + 91 };
            let amount = price * i64::from(line.quantity);
            filled.lines.push(OrderedLine { stock: *quantity, amount, branded: *is_original && *of_stock });
            filled.amounts.push(amount);
            filled.dists.push(dist.clone());
        }
        Ok(filled)
    }
}
