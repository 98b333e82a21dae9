//! Tables of asloglatency:
//!
//! ```text
//! {ycsb}-device-read-size
//! Apr 09 2018 21:31:30
//!                % > (bytes)
//! slice-to (sec)      1      2      4    ops/sec
//! -------------- ------ ------ ------ ----------
//! 21:39:52   502 100.00  83.98   0.00    10407.5
//! -------------- ------ ------ ------ ----------
//!      avg       100.00  83.98   0.00    10407.5
//!      max       100.00  83.98   0.00    10407.5
//! ```

use super::findings::{Findings, Histogram, Place, Source, Unit};
use super::options::Options;
use super::text::{histogram_name, parse_clock, parse_number};
use super::tolerance::are_apart;
use assay_model::observed::Moments;

/// Upper bound on the thresholds of a table; the tool itself has 64.
const COLUMNS_MAX: usize = 70;

#[derive(Default)]
pub(super) struct Reader {
    title: Option<(String, String)>,
    unit: Option<(Unit, u64)>,
    table: Option<Table>,
}

struct Table {
    title: (String, String),
    unit: Unit,
    thresholds: Vec<u64>,
    header: Place,
    shares: Vec<Moments>,
    rate: Moments,
    rows: u64,
    last: Place,
    /// The row of the averages, or that of the time that was asked for.
    chosen: Option<(Vec<f64>, f64, Place)>,
}

impl Reader {
    pub(super) fn take_line(&mut self, place: Place, line: &str, options: &Options, found: &mut Findings) -> bool {
        let text = line.trim();
        if self.table.is_some() {
            if text.starts_with("---") || text.is_empty() {
                return !text.is_empty();
            }
            if self.take_row(place, text, options, found) {
                return true;
            }
            self.end_table(options, found);
        }
        if let Some(rest) = text.strip_prefix("% > (") {
            self.unit = match rest.trim_end_matches(')') {
                "bytes" => Some((Unit::Bytes, 1)),
                "ms" | "msec" => Some((Unit::Microseconds, 1000)),
                "us" | "usec" => Some((Unit::Microseconds, 1)),
                other => {
                    found.add_remark(
                        place,
                        format!("a table in {other:?}, which is neither a time nor a size, is left out"),
                    );
                    None
                }
            };
            return true;
        }
        if text.starts_with("slice-to") {
            return self.take_header(place, text, found);
        }
        let usual = text.starts_with('{') || text.chars().all(|c| c.is_ascii_lowercase() || "-_".contains(c));
        if let Some((namespace, name)) = histogram_name(text).filter(|_| usual) {
            self.title = Some((namespace, name.to_owned()));
            return true;
        }
        // The date of the first slice, and the command itself when a terminal session was copied.
        (self.title.is_some() && super::text::log_time(&format!("{text} ")).is_some()) || text.contains("asloglatency ")
    }

    fn take_header(&mut self, place: Place, text: &str, found: &mut Findings) -> bool {
        let (Some(title), Some((unit, scale))) = (self.title.take(), self.unit.take()) else {
            found.add_remark(
                place,
                "a table of asloglatency without its name or its unit above it is left out; it was cut",
            );
            return true;
        };
        let words = text.split_whitespace().skip(2);
        let thresholds: Option<Vec<u64>> = words
            .filter(|word| *word != "ops/sec")
            .map(|word| word.parse::<u64>().ok().and_then(|value| value.checked_mul(scale)))
            .collect();
        let Some(thresholds) = thresholds.filter(|all| !all.is_empty() && all.len() <= COLUMNS_MAX && is_growing(all))
        else {
            found
                .add_remark(place, "the thresholds of this table are not growing whole numbers; the table is left out");
            return true;
        };
        let shares = vec![Moments::default(); thresholds.len()];
        let rate = Moments::default();
        self.table =
            Some(Table { title, unit, thresholds, header: place, shares, rate, rows: 0, last: place, chosen: None });
        true
    }

    /// Takes a row of the table; false for a line that is not one.
    fn take_row(&mut self, place: Place, text: &str, options: &Options, found: &mut Findings) -> bool {
        let Some(table) = &mut self.table else { return false };
        let mut words = text.split_whitespace();
        let Some(first) = words.next() else { return false };
        let slice = parse_clock(first).is_some();
        if !slice && first != "avg" && first != "max" {
            return false;
        }
        let wanted = table.thresholds.len() + 1 + usize::from(slice);
        let numbers: Vec<f64> = words.map_while(parse_number).take(wanted + 1).collect();
        if numbers.len() != wanted {
            let text = format!("a row of {} numbers where the table has {wanted}; it is left out", numbers.len());
            found.add_remark(place, text);
            return true;
        }
        table.last = place;
        let (shares, rate) = (&numbers[usize::from(slice)..wanted - 1], numbers[wanted - 1]);
        if slice {
            table.rows += 1;
            table.shares.iter_mut().zip(shares).for_each(|(moments, share)| moments.add_value(*share));
            table.rate.add_value(rate);
        }
        let asked = match &options.slice {
            Some(time) => slice && first == time,
            None => first == "avg",
        };
        if asked {
            table.chosen = Some((shares.to_vec(), rate, place));
        }
        true
    }

    /// The table has ended.
    pub(super) fn end_table(&mut self, options: &Options, found: &mut Findings) {
        let Some(table) = self.table.take() else { return };
        let slices = match table.rows {
            1 => "1 slice".to_owned(),
            n => format!("{n} slices"),
        };
        let (shares, rate, place, how) = match (table.chosen, &options.slice) {
            (Some((shares, rate, place)), None) => (shares, rate, place, format!("asloglatency, average of {slices}")),
            (Some((shares, rate, place)), Some(time)) => {
                (shares, rate, place, format!("asloglatency, slice to {time}"))
            }
            (None, Some(time)) => {
                return found.add_remark(table.header, format!("this table has no slice to {time}; it is left out"));
            }
            (None, None) if table.rows > 0 => {
                found.add_remark(
                    table.last,
                    "this table is cut off before its row of averages; its slices are averaged",
                );
                let shares = table.shares.iter().map(|moments| moments.mean).collect();
                (shares, table.rate.mean, table.last, format!("asloglatency, mean of {slices} of a table that is cut"))
            }
            (None, None) => return found.add_remark(table.header, "this table has no rows; it is left out"),
        };
        if let Some(mean) = table.rate.mean().filter(|mean| options.slice.is_none() && are_apart(*mean, rate)) {
            let text = format!("the row of averages has {rate} operations a second, its slices have {mean:.1}");
            found.add_remark(place, text);
        }
        found.count_line("tables of asloglatency");
        let over = table.thresholds.into_iter().zip(shares).collect();
        let (namespace, name) = table.title;
        found.histograms.push(Histogram {
            namespace,
            name,
            unit: table.unit,
            over,
            rate: Some(rate),
            place,
            source: Source::Table,
            how,
        });
    }
}

fn is_growing(thresholds: &[u64]) -> bool {
    thresholds.windows(2).all(|pair| pair[0] < pair[1])
}
