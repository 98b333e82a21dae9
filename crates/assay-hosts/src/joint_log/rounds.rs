//! The rounds in which the intervals and distributions of all ranks are added up, as a rank sees them.

use super::JointNews;
use crate::link::{Collective, Link, LinkError};
use assay_record::{CloseReason, DistributionRows, Entry, Histograms, IntervalRows, RowLayout};
use std::collections::VecDeque;

/// What a rank gives to a round.
#[derive(Debug)]
struct OwnPart {
    has_interval: bool,
    has_distributions: bool,
    ended_early: bool,
    rows: IntervalRows,
    distributions: DistributionRows,
}

/// Numbers before those of the interval in the first row of a round: which of the three any rank has.
const FLAGS: usize = 3;

/// How far a round is.
#[derive(Debug)]
enum Stage {
    /// The own part of the next round is not known yet.
    Waiting,
    /// The largest of everything is being found.
    Maxima(OwnPart),
    /// Which cells anybody has filled is being found.
    Extents(OwnPart, Together),
    /// The counts of these cells are being added up.
    Counts(OwnPart, Together, Vec<u64>),
    /// The numbers of the interval are being added up.
    Sums(Together),
    /// Nobody has anything more.
    Over,
}

/// What the ranks have together in a round.
#[derive(Clone, Debug, Default)]
struct Together {
    has_interval: bool,
    maxima: Vec<u64>,
}

/// The rounds of one segment.
#[derive(Debug)]
pub(super) struct Rounds {
    layout: RowLayout,
    stage: Stage,
    /// What the own log has, and no round yet.
    own: VecDeque<Entry>,
    own_distributions: Option<Histograms>,
    /// The interval before, which distributions belong to.
    last: (u64, u16),
    /// The last interval, until it is known that no rank has ended before its time within it.
    held: Option<JointNews>,
    /// A rank has ended before its time: what the others do from then on is not the whole load, and no line of the joint log.
    is_cut: bool,
}

fn cannot_add(why: String) -> LinkError {
    LinkError { what: format!("the ranks' counters cannot be added up: {why}") }
}

/// A sum to which each rank also adds one.
fn witnessed_sum(mut row: Vec<u64>) -> Collective {
    row.push(1);
    Collective::Sum(row)
}

/// The numbers of such a sum, which only rank 0 has. When a rank dies meanwhile, no library promises that the sum is not given without
/// its part.
fn check_witnesses(mut sums: Vec<u64>, link: &dyn Link) -> Result<Vec<u64>, LinkError> {
    let (witnesses, ranks) = (sums.pop().unwrap_or(0), link.world_size() as u64);
    if link.own_rank() == 0 && witnesses != ranks {
        return Err(LinkError {
            what: format!("a sum over all ranks has the parts of {witnesses} of {ranks}: a rank is gone"),
        });
    }
    Ok(sums)
}

impl Rounds {
    pub(super) fn of_segment(layout: RowLayout) -> Rounds {
        Rounds {
            layout,
            stage: Stage::Waiting,
            own: VecDeque::new(),
            own_distributions: None,
            last: (0, 0),
            held: None,
            is_cut: false,
        }
    }

    /// Takes an interval, distributions or the close of the own log.
    pub(super) fn hear_own(&mut self, entry: Entry) {
        self.own.push_back(entry);
    }

    pub(super) fn are_over(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    /// The last interval, where nothing follows any more that could say whether a rank ended within it. This rank may have.
    pub(super) fn take_held(&mut self) -> Option<JointNews> {
        self.held.take().filter(|_| !self.own_part_ends_early())
    }

    /// Whether the own log was closed early, and the round in which all learn of it has not ended.
    pub(super) fn own_part_ends_early(&self) -> bool {
        matches!(&self.stage, Stage::Maxima(part) if part.ended_early)
    }

    /// Whether a sum or a maximum over all ranks is open.
    pub(super) fn wait_for_others(&self) -> bool {
        !matches!(self.stage, Stage::Waiting | Stage::Over)
    }

    /// Whether they go on only with the next line of the own log.
    pub(super) fn wants_line(&self) -> bool {
        matches!(self.stage, Stage::Waiting) && self.own.is_empty()
    }

    /// Does what can be done now; whether that was anything.
    pub(super) fn step(&mut self, link: &mut dyn Link, news: &mut Vec<JointNews>) -> Result<bool, LinkError> {
        let mut has_moved = false;
        loop {
            let stage = std::mem::replace(&mut self.stage, Stage::Waiting);
            let (next, moves) = self.step_once(stage, link, news)?;
            self.stage = next;
            if !moves {
                return Ok(has_moved);
            }
            has_moved = true;
        }
    }

    fn step_once(
        &mut self,
        stage: Stage,
        link: &mut dyn Link,
        news: &mut Vec<JointNews>,
    ) -> Result<(Stage, bool), LinkError> {
        match stage {
            Stage::Over => Ok((Stage::Over, false)),
            Stage::Waiting => {
                let Some(part) = self.next_part()? else { return Ok((Stage::Waiting, false)) };
                let mut row: Vec<u64> =
                    [part.has_interval, part.has_distributions, part.ended_early].map(u64::from).to_vec();
                row.extend(&part.rows.maxima);
                link.begin_collective(Collective::MaximumForAll(row))?;
                Ok((Stage::Maxima(part), true))
            }
            Stage::Maxima(part) => match link.collective_result()? {
                Some(Collective::MaximumForAll(row)) => Ok((self.after_maxima(part, &row, link, news)?, true)),
                _ => Ok((Stage::Maxima(part), false)),
            },
            Stage::Extents(part, together) => match link.collective_result()? {
                Some(Collective::MaximumForAll(extents)) => {
                    link.begin_collective(witnessed_sum(part.distributions.counts_within(&extents)))?;
                    Ok((Stage::Counts(part, together, extents), true))
                }
                _ => Ok((Stage::Extents(part, together), false)),
            },
            Stage::Counts(part, together, extents) => match link.collective_result()? {
                Some(Collective::Sum(counts)) => {
                    let counts = check_witnesses(counts, link)?;
                    if self.makes_lines(link) {
                        let (last, phase) = self.last;
                        let line = DistributionRows::line_from_rows(&extents, &counts, last, phase);
                        news.push(JointNews::Distributions(line.map_err(cannot_add)?));
                    }
                    Ok((self.begin_sums(part, together, link)?, true))
                }
                _ => Ok((Stage::Counts(part, together, extents), false)),
            },
            Stage::Sums(together) => match link.collective_result()? {
                Some(Collective::Sum(sums)) => {
                    self.end_sums(sums, together, link)?;
                    Ok((Stage::Waiting, true))
                }
                _ => Ok((Stage::Sums(together), false)),
            },
        }
    }

    fn after_maxima(
        &mut self,
        part: OwnPart,
        row: &[u64],
        link: &mut dyn Link,
        news: &mut Vec<JointNews>,
    ) -> Result<Stage, LinkError> {
        let (flags, maxima) = row.split_first_chunk::<FLAGS>().ok_or_else(|| cannot_add("a short row".to_owned()))?;
        let [has_interval, has_distributions, ends_early] = flags.map(|flag| flag > 0);
        let together = Together { has_interval, maxima: maxima.to_vec() };
        if ends_early && !self.is_cut {
            // The rank's last interval is not a whole one.
            (self.is_cut, self.held) = (true, None);
            news.push(JointNews::EndsEarly);
        }
        news.extend(self.held.take());
        if has_distributions {
            link.begin_collective(Collective::MaximumForAll(part.distributions.extents()))?;
            return Ok(Stage::Extents(part, together));
        }
        self.begin_sums(part, together, link)
    }

    fn begin_sums(&self, part: OwnPart, together: Together, link: &mut dyn Link) -> Result<Stage, LinkError> {
        if !together.has_interval {
            return Ok(Stage::Over);
        }
        link.begin_collective(witnessed_sum(part.rows.sums))?;
        Ok(Stage::Sums(together))
    }

    /// Only rank 0 has the sums.
    fn end_sums(&mut self, sums: Vec<u64>, together: Together, link: &mut dyn Link) -> Result<(), LinkError> {
        let sums = check_witnesses(sums, link)?;
        if self.makes_lines(link) {
            let rows = IntervalRows { sums, maxima: together.maxima };
            let interval = self.layout.interval_from_rows(&rows).map_err(cannot_add)?;
            self.last = (interval.index, interval.phase);
            self.held = Some(JointNews::Interval(Box::new(interval)));
        }
        Ok(())
    }

    /// Whether what a round gives becomes a line here.
    fn makes_lines(&self, link: &dyn Link) -> bool {
        link.own_rank() == 0 && !self.is_cut
    }

    /// The own part of the next round, once it is known: distributions come before the next interval.
    fn next_part(&mut self) -> Result<Option<OwnPart>, LinkError> {
        while let Some(Entry::Histograms(_)) = self.own.front() {
            if let Some(Entry::Histograms(line)) = self.own.pop_front() {
                self.own_distributions = Some(line);
            }
        }
        // A log that is closed stays so: its rank adds zeros to the rounds of the others.
        let (interval, ended_early) = match self.own.front() {
            Some(Entry::Close(close)) => (None, close.reason != CloseReason::Completed),
            Some(_) => (self.own.pop_front(), false),
            None => return Ok(None),
        };
        let flows = self.layout.flow_count();
        let line = self.own_distributions.take();
        let distributions = match &line {
            Some(line) => DistributionRows::from_line(line, flows).map_err(cannot_add)?,
            None => DistributionRows::without_any(flows),
        };
        let rows = match &interval {
            Some(Entry::Interval(interval)) => self.layout.interval_rows(interval).map_err(cannot_add)?,
            _ => self.layout.empty_rows(),
        };
        let (has_interval, has_distributions) = (interval.is_some(), line.is_some());
        Ok(Some(OwnPart { has_interval, has_distributions, ended_early, rows, distributions }))
    }
}
