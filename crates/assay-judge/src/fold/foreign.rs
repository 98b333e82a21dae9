//! What others did on the disks that serve the targets, summed over the measured time and over each point of the charts.

use crate::finding::others::{OthersUse, Stretch};
use crate::fold::placement::Placed;
use crate::judgement::ForeignFigures;
use assay_record::{DiskWork, ForeignLoad, Header, WatchedDisk};

/// Number of stretches that a result lists for each disk.
const STRETCHES: usize = 100;
/// Number of disks of a segment; a log may name any number.
const MOST_DISKS: usize = 4096;
/// A warning is given where others used a disk for this part of the measured time: one in so many.
const WARN_FROM: u64 = 100;

/// One disk.
#[derive(Clone, Debug, Default)]
struct Disk {
    figures: ForeignFigures,
    /// Work in notable intervals: of others, and of everybody.
    part: DiskWork,
    all: DiskWork,
    /// Operations and bytes at the open point.
    open: (u64, u64),
    /// For each point so far, where there was any.
    points: Vec<(u64, u64)>,
}

/// The figures of all disks of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct ForeignFold {
    disks: Vec<Disk>,
    /// For each disk that the open segment lists, its place in `disks`.
    listed: Vec<usize>,
    /// Points of the charts so far.
    points: usize,
}

impl ForeignFold {
    /// The state before the first interval.
    pub(crate) fn new(header: &Header) -> ForeignFold {
        let mut fold = ForeignFold::default();
        fold.continue_with_segment(header);
        fold
    }

    /// Continues with another segment. What it lists under the same description is the same disk.
    pub(crate) fn continue_with_segment(&mut self, header: &Header) {
        self.listed = header.watched.iter().take(MOST_DISKS).map(|head| self.place_of(head)).collect();
    }

    fn place_of(&mut self, head: &WatchedDisk) -> usize {
        let known = self.disks.iter().position(|disk| disk.figures.head == *head);
        known.unwrap_or_else(|| {
            let figures = ForeignFigures { head: head.clone(), ..ForeignFigures::default() };
            self.disks.push(Disk { figures, ..Disk::default() });
            self.disks.len() - 1
        })
    }

    /// Adds an interval.
    pub(crate) fn add_interval(&mut self, placed: &Placed<'_>) {
        for load in &placed.interval.foreign {
            let Some(place) = self.listed.get(usize::from(load.disk)) else { continue };
            self.disks[*place].add_load(load, placed.at_ns, placed.length_ns());
        }
    }

    /// Ends a point of the charts.
    pub(crate) fn end_point(&mut self) {
        for disk in &mut self.disks {
            if disk.open != (0, 0) || !disk.points.is_empty() {
                disk.points.resize(self.points, (0, 0));
                disk.points.push(std::mem::take(&mut disk.open));
            }
        }
        self.points += 1;
    }

    /// The figures, for points of these lengths.
    pub(crate) fn finish(self, width_ns: &[u64]) -> Vec<ForeignFigures> {
        self.disks.into_iter().map(|disk| disk.finish(width_ns)).collect()
    }
}

impl Disk {
    fn add_load(&mut self, load: &ForeignLoad, at_ns: u64, length_ns: u64) {
        let work = load.foreign_work();
        let figures = &mut self.figures;
        for (sum, n) in [
            (&mut figures.reads, work.reads),
            (&mut figures.read_bytes, work.read_bytes),
            (&mut figures.writes, work.writes),
            (&mut figures.written_bytes, work.written_bytes),
            (&mut figures.discards, work.discards),
            (&mut figures.flushes, work.flushes),
            (&mut self.open.0, work.total_operations()),
            (&mut self.open.1, work.total_bytes()),
        ] {
            *sum = sum.saturating_add(n);
        }
        if load.largest_share() < ForeignLoad::NOTABLE {
            return;
        }
        self.part = self.part.sum_with(work);
        let all = DiskWork {
            reads: load.all_operations,
            read_bytes: load.all_bytes,
            time_ns: load.all_time_ns,
            ..DiskWork::default()
        };
        self.all = self.all.sum_with(all);
        figures.notable_ns = figures.notable_ns.saturating_add(length_ns);
        let end_ns = at_ns.saturating_add(length_ns);
        let kept = figures.notable.len();
        match figures.notable.last_mut() {
            Some(last) if *last == at_ns => *last = end_ns,
            _ if kept < 2 * STRETCHES => figures.notable.extend([at_ns, end_ns]),
            _ => figures.notable_left_out += 1,
        }
    }

    fn finish(self, width_ns: &[u64]) -> ForeignFigures {
        let (part, all) = (self.part, self.all);
        let share = ForeignLoad::new(0, part, all).map_or(0.0, |load| load.largest_share());
        let (operations_per_second, bytes_per_second) =
            (per_second(&self.points, width_ns, |point| point.0), per_second(&self.points, width_ns, |point| point.1));
        let said = (self.figures.notable_ns > 0).then(|| in_words(&self.figures, part).to_string());
        ForeignFigures { share, operations_per_second, bytes_per_second, said, ..self.figures }
    }
}

fn per_second(points: &[(u64, u64)], width_ns: &[u64], of: fn(&(u64, u64)) -> u64) -> Vec<f64> {
    let points = points.iter().zip(width_ns);
    points.map(|(point, width)| of(point) as f64 * 1e9 / (*width).max(1) as f64).collect()
}

impl ForeignFigures {
    /// What a reader should know of it, with the length of the measured time; `None` where others did too little.
    pub(crate) fn warning_text(&self, measured_ns: u64) -> Option<String> {
        let long = u128::from(self.notable_ns) * u128::from(WARN_FROM) >= u128::from(measured_ns);
        let said = self.said.as_ref().filter(|_| long)?;
        Some(format!("{said}; that was {:.0}% of what the disk did then", self.share * 100.0))
    }
}

/// Which disk, how much, when.
fn in_words(figures: &ForeignFigures, work: DiskWork) -> OthersUse {
    OthersUse {
        name: figures.head.name.clone(),
        locked: 0,
        work,
        ns: figures.notable_ns,
        stretches: figures.notable.chunks_exact(2).map(|pair| Stretch { from_ns: pair[0], to_ns: pair[1] }).collect(),
        more: figures.notable_left_out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use assay_record::Interval;

    const SECOND: u64 = 1_000_000_000;

    fn disk(name: &str) -> WatchedDisk {
        WatchedDisk { name: name.into(), targets: vec![0], beneath: false }
    }

    fn add(fold: &mut ForeignFold, second: u64, loads: &[(u16, u64)]) {
        let load = |(disk, reads): &(u16, u64)| ForeignLoad {
            disk: *disk,
            reads: *reads,
            read_bytes: reads * 1000,
            all_operations: 1000,
            all_bytes: 2_000_000,
            ..ForeignLoad::default()
        };
        let foreign = loads.iter().map(load).collect();
        let interval = Interval { end_ns: SECOND, foreign, ..Interval::default() };
        let at_ns = second * SECOND;
        fold.add_interval(&Placed {
            at_ns,
            joins: true,
            interval: &interval,
            carried: &[],
            opened: &[],
            disturbed: None,
        });
    }

    #[test]
    fn what_others_did_is_summed_and_said_where_it_was_much() {
        let header = Header { watched: vec![disk("vda"), disk("vdb")], ..fixture::header() };
        let mut fold = ForeignFold::new(&header);
        for (second, loads) in [
            (0, &[][..]),
            (1, &[(0, 500), (1, 2)]),
            (2, &[(0, 300)]),
            (3, &[(0, 9)]),
            (4, &[(7, 900)]),
            (5, &[(0, 100)]),
        ] {
            add(&mut fold, second, loads);
            if second % 2 == 1 {
                fold.end_point();
            }
        }
        let all = fold.finish(&[2 * SECOND; 3]);
        let vda = &all[0];
        assert_eq!((vda.reads, vda.read_bytes, vda.notable_ns), (909, 909_000, 3 * SECOND));
        assert_eq!(vda.notable, [SECOND, 3 * SECOND, 5 * SECOND, 6 * SECOND]);
        assert_eq!(vda.operations_per_second, [250.0, 154.5, 50.0]);
        assert!((vda.share - 900.0 / 3000.0).abs() < 1e-9, "{}", vda.share);
        assert_eq!(
            vda.warning_text(300 * SECOND).unwrap(),
            "another program used vda: 300 reads/s in seconds 1 to 3 and 5 to 6; that was 30% of what the disk did then"
        );
        assert_eq!((vda.warning_text(301 * SECOND), all[1].warning_text(SECOND)), (None, None));
        assert!(all[1].is_used() && all[1].notable.is_empty(), "a little was counted");
    }

    #[test]
    fn a_segment_may_list_its_disks_in_another_order() {
        let header =
            |names: &[&str]| Header { watched: names.iter().map(|name| disk(name)).collect(), ..fixture::header() };
        let mut fold = ForeignFold::new(&header(&["a", "b"]));
        add(&mut fold, 0, &[(0, 10), (1, 20)]);
        fold.end_point();
        fold.continue_with_segment(&header(&["c", "b"]));
        add(&mut fold, 1, &[(0, 40), (1, 80)]);
        fold.end_point();
        let all = fold.finish(&[SECOND, SECOND]);
        let told: Vec<_> =
            all.iter().map(|it| (it.head.name.as_str(), it.reads, it.operations_per_second.clone())).collect();
        let expected = [("a", 10, vec![10.0, 0.0]), ("b", 100, vec![20.0, 80.0]), ("c", 40, vec![0.0, 40.0])];
        assert_eq!(told, expected);
    }
}
