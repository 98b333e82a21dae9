//! What other things than the operations' own accounts counted, summed over the measured time and over each point of the
//! charts.

use crate::fold::placement::Placed;
use crate::judgement::MeterFigures;
use assay_record::{Header, Interval, MeterHead};

/// The figures of all meters of a step.
#[derive(Clone, Debug)]
pub(crate) struct Meters {
    all: Vec<MeterFigures>,
    /// For each meter, what its counters rose by at the open point; none as long as it was not read there.
    open: Vec<Option<Vec<u64>>>,
    /// For each meter that the open segment lists, its place in `all`.
    listed: Vec<usize>,
    /// Points of the charts so far.
    points: usize,
}

impl Meters {
    /// The state before the first interval.
    pub(crate) fn new(header: &Header) -> Meters {
        let mut meters = Meters { all: Vec::new(), open: Vec::new(), listed: Vec::new(), points: 0 };
        meters.continue_with_segment(header);
        meters
    }

    /// Continues with another segment. What it lists under the same description is the same meter, in whatever order.
    pub(crate) fn continue_with_segment(&mut self, header: &Header) {
        self.listed = header.meters.iter().map(|head| self.place_of(head)).collect();
    }

    fn place_of(&mut self, head: &MeterHead) -> usize {
        let known = self.all.iter().position(|figures| figures.head == *head);
        known.unwrap_or_else(|| {
            self.all.push(MeterFigures {
                head: head.clone(),
                counted: vec![0; head.counters.len()],
                read_ns: 0,
                series: vec![vec![None; self.points]; head.counters.len()],
            });
            self.open.push(None);
            self.all.len() - 1
        })
    }

    /// What an interval brought. A log may list less than its header announces, or more.
    fn readings_by_meter(interval: &Interval) -> impl Iterator<Item = Option<&Vec<u64>>> {
        interval.meters.iter().map(|counted| (!counted.is_empty()).then_some(counted)).chain(std::iter::repeat(None))
    }

    /// Adds an interval.
    pub(crate) fn add_interval(&mut self, placed: &Placed<'_>) {
        for (&place, rose) in self.listed.iter().zip(Meters::readings_by_meter(placed.interval)) {
            let (figures, open) = (&mut self.all[place], &mut self.open[place]);
            let Some(rose) = rose.filter(|rose| rose.len() == figures.counted.len()) else { continue };
            figures.read_ns = figures.read_ns.saturating_add(placed.length_ns());
            add_readings(&mut figures.counted, rose);
            add_readings(open.get_or_insert_with(|| vec![0; rose.len()]), rose);
        }
    }

    /// Ends a point of the charts.
    pub(crate) fn end_point(&mut self) {
        self.points += 1;
        for (figures, open) in self.all.iter_mut().zip(&mut self.open) {
            let open = open.take();
            for (index, series) in figures.series.iter_mut().enumerate() {
                series.push(open.as_ref().map(|open| open[index]));
            }
        }
    }

    /// The figures.
    pub(crate) fn finish(self) -> Vec<MeterFigures> {
        self.all
    }
}

fn add_readings(sums: &mut [u64], rose: &[u64]) {
    sums.iter_mut().zip(rose).for_each(|(sum, rose)| *sum = sum.saturating_add(*rose));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;

    fn head(name: &str) -> MeterHead {
        MeterHead { name: name.into(), counters: vec!["reads".into(), "writes".into()], ..MeterHead::default() }
    }

    fn add(meters: &mut Meters, read: &[&[u64]]) {
        let read = read.iter().map(|counted| counted.to_vec()).collect();
        let interval = Interval { end_ns: 10, meters: read, ..Interval::default() };
        meters.add_interval(&Placed {
            at_ns: 0,
            joins: true,
            interval: &interval,
            carried: &[],
            opened: &[],
            disturbed: None,
        });
    }

    #[test]
    fn a_segment_may_list_its_meters_in_another_order_and_have_others() {
        let header = |names: &[&str]| Header { meters: names.iter().map(|it| head(it)).collect(), ..fixture::header() };
        let mut meters = Meters::new(&header(&["a", "b"]));
        add(&mut meters, &[&[1, 2], &[10, 20]]);
        meters.end_point();
        meters.continue_with_segment(&header(&["c", "b"]));
        add(&mut meters, &[&[100, 200], &[30, 40]]);
        meters.end_point();
        let all = meters.finish();
        let told: Vec<_> = all.iter().map(|it| (it.head.name.as_str(), it.counted.clone(), it.read_ns)).collect();
        assert_eq!(told, [("a", vec![1, 2], 10), ("b", vec![40, 60], 20), ("c", vec![100, 200], 10)]);
        assert_eq!(all[0].series, [[Some(1), None], [Some(2), None]]);
        assert_eq!(all[1].series, [[Some(10), Some(30)], [Some(20), Some(40)]]);
        assert_eq!(all[2].series, [[None, Some(100)], [None, Some(200)]]);
    }

    #[test]
    fn what_was_read_is_summed_and_what_was_not_is_unknown() {
        let header = Header { meters: vec![head("a"), head("b")], ..fixture::header() };
        let mut meters = Meters::new(&header);
        let intervals: [(&[&[u64]], bool); 5] = [
            (&[&[1, 2], &[u64::MAX, 1]], false),
            (&[&[3, 4], &[1, 1]], true),
            (&[&[]], true),
            (&[&[5], &[1, 2, 3], &[9, 9]], true),
            (&[&[7, 8], &[0, 0]], true),
        ];
        for (read, ends) in intervals {
            add(&mut meters, read);
            if ends {
                meters.end_point();
            }
        }
        let all = meters.finish();
        assert_eq!((&all[0].counted, all[0].read_ns), (&vec![11, 14], 30));
        assert_eq!(all[0].series, [[Some(4), None, None, Some(7)], [Some(6), None, None, Some(8)]]);
        assert_eq!(all[1].counted, [u64::MAX, 2], "what a hostile log counts does not overflow");
    }
}
