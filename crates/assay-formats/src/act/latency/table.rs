//! The analyzer's table: columns of "percent over 2^i", one group per histogram, a row per slice, then averages (the
//! unweighted mean of the rounded rows) and maxima.

use super::args::Options;
use std::fmt::{self, Write};

/// The original knows only buckets 00 to 16.
pub(super) const BUCKETS: usize = 17;
const GAP: &str = "  ";
const SLICE: &str = "slice";

/// The buckets that are shown.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    shown: Vec<usize>,
    extra: bool,
}

impl Columns {
    /// `start_bucket`, then every `every_nth`, at most `num_buckets` of them. The options are valid.
    pub(super) fn from_options(options: &Options) -> Columns {
        let step = usize::try_from(options.every_nth).unwrap_or(BUCKETS);
        let count = usize::try_from(options.num_buckets).unwrap_or(BUCKETS);
        let start = usize::try_from(options.start_bucket).unwrap_or(0);
        Columns { shown: (start..BUCKETS).step_by(step).take(count).collect(), extra: options.extra }
    }

    /// One more than the last bucket shown: the number of buckets to read.
    pub(super) fn bucket_count(&self) -> usize {
        self.shown.last().map_or(0, |last| last + 1)
    }

    fn label_lines(&self) -> (String, String) {
        let (mut labels, mut underline) = (String::new(), String::new());
        for bucket in &self.shown {
            labels.push_str(&format!("{:>7}", 1u32 << bucket));
            underline.push_str(" ------");
        }
        if self.extra {
            labels.push_str("       rate");
            underline.push_str(" ----------");
        }
        (labels, underline)
    }
}

/// One histogram over time.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub name: String,
    /// Blanks before the group, where the name to its left is longer than its table.
    pre_pad: String,
    old_total: i128,
    old_values: Vec<i128>,
    overs: Vec<f64>,
    sums: Vec<f64>,
    maxima: Vec<f64>,
    rate: f64,
    rate_sum: f64,
    rate_max: f64,
}

impl Group {
    fn new(name: &str, buckets: usize) -> Group {
        Group {
            name: name.to_owned(),
            pre_pad: String::new(),
            old_total: 0,
            old_values: vec![0; buckets],
            overs: vec![0.0; buckets],
            sums: vec![0.0; buckets],
            maxima: vec![0.0; buckets],
            rate: 0.0,
            rate_sum: 0.0,
            rate_max: 0.0,
        }
    }

    /// Takes the cumulative counts of one block. If a name matches several lines of a block, it is called several
    /// times, each time compared with the counts before, as in the original; returns `None` for numbers out of range.
    pub(super) fn take_block(&mut self, total: i128, values: Vec<i128>, slice_time: i128, round: Round) -> Option<()> {
        let slice_total = total.checked_sub(self.old_total)?;
        self.overs.fill(0.0);
        let mut below: i128 = 0;
        for (bucket, value) in values.iter().enumerate() {
            below = below.checked_add(value.checked_sub(self.old_values[bucket])?)?;
            if slice_total != 0 {
                let over = slice_total.checked_sub(below)? as f64 * 100.0 / slice_total as f64;
                self.overs[bucket] = round(over, 2);
            }
        }
        (self.old_total, self.old_values) = (total, values);
        self.rate = round(slice_total as f64 / slice_time as f64, 1);
        self.rate_sum += self.rate;
        raise_maximum(&mut self.rate_max, self.rate);
        for (bucket, over) in self.overs.iter().enumerate() {
            self.sums[bucket] += over;
            raise_maximum(&mut self.maxima[bucket], *over);
        }
        Some(())
    }
}

/// Keeps the larger one; unlike `f64::max` it never turns 0.0 into -0.0.
fn raise_maximum(max: &mut f64, value: f64) {
    if value > *max {
        *max = value;
    }
}

/// The table as it grows.
#[derive(Clone, Debug)]
pub(super) struct Table {
    columns: Columns,
    pub groups: Vec<Group>,
    scale: &'static str,
    slices: u32,
    round: Round,
}

/// Rounds to this number of decimals.
pub(super) type Round = fn(f64, usize) -> f64;

impl Table {
    pub(super) fn new(columns: Columns, names: &[String], scale: &'static str, round: Round) -> Table {
        let width = columns.label_lines().0.len();
        let mut groups: Vec<Group> = names.iter().map(|name| Group::new(name, columns.bucket_count())).collect();
        for i in 1..groups.len() {
            let name_width = 1 + groups[i - 1].name.chars().count();
            groups[i].pre_pad = " ".repeat(name_width.saturating_sub(width));
        }
        Table { columns, groups, scale, slices: 0, round }
    }

    pub(super) fn bucket_count(&self) -> usize {
        self.columns.bucket_count()
    }

    pub(super) fn rounding_function(&self) -> Round {
        self.round
    }

    pub(super) fn slice_count(&self) -> u32 {
        self.slices
    }

    pub(super) fn write_head(&self, out: &mut dyn Write) -> fmt::Result {
        let (labels, _) = self.columns.label_lines();
        let width = labels.len();
        let blank = " ".repeat(SLICE.len());
        let (mut names, mut units, mut heads) = (blank.clone(), blank, SLICE.to_owned());
        for group in &self.groups {
            let pad = &group.pre_pad;
            names.push_str(&format!("{GAP} {:<1$}", group.name, width.saturating_sub(1)));
            units.push_str(&format!("{GAP}{pad}{:<width$}", self.scale));
            heads.push_str(&format!("{GAP}{pad}{labels}"));
        }
        writeln!(out, "{names}\n{units}\n{heads}\n{}", self.underline())
    }

    fn underline(&self) -> String {
        let (_, underline) = self.columns.label_lines();
        let groups: String = self.groups.iter().map(|group| format!("{GAP}{}{underline}", group.pre_pad)).collect();
        format!("{}{groups}", "-".repeat(SLICE.len()))
    }

    /// Ends a slice: writes its row.
    pub(super) fn write_slice(&mut self, out: &mut dyn Write) -> fmt::Result {
        self.slices += 1;
        self.write_row(out, &self.slices.to_string(), |group| (&group.overs, group.rate))
    }

    /// Averages and maxima over all slices, of which there is at least one.
    pub(super) fn write_foot(&mut self, out: &mut dyn Write) -> fmt::Result {
        let slices = f64::from(self.slices);
        for group in &mut self.groups {
            group.sums.iter_mut().for_each(|sum| *sum /= slices);
            group.rate_sum /= slices;
        }
        writeln!(out, "{}", self.underline())?;
        self.write_row(out, "avg", |group| (&group.sums, group.rate_sum))?;
        self.write_row(out, "max", |group| (&group.maxima, group.rate_max))
    }

    fn write_row(&self, out: &mut dyn Write, tag: &str, values: impl Fn(&Group) -> (&Vec<f64>, f64)) -> fmt::Result {
        let mut row = format!("{tag:>5}");
        for group in &self.groups {
            let (overs, rate) = values(group);
            row.push_str(GAP);
            row.push_str(&group.pre_pad);
            for bucket in &self.columns.shown {
                write!(row, "{:7.2}", overs[*bucket])?;
            }
            if self.columns.extra {
                write!(row, "{rate:11.1}")?;
            }
        }
        writeln!(out, "{row}")
    }
}
