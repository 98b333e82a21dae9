//! What a suite comes to: one table for each class of members.

use super::ceilings::Ceilings;
use super::differences::differences_in_words;
use super::rounds::{self, Interval};
use super::{Member, Place, StreamTimes, Suite};
use crate::compare::{Answer, Conclusion, Figure, StreamRow, conclude_for_runs};
use assay_base::Measure;
use serde::Serialize;

/// The result of a suite.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuiteComparison {
    /// How noise was distinguished from a difference, in sentences.
    pub method: String,
    /// A table for each class, in the order of their first members; one where all are compared anyway.
    pub tables: Vec<ClassTable>,
    /// What each workload on each member came up against.
    pub ceilings: Vec<Ceilings>,
    /// Number of figures about which there is an answer.
    pub told: usize,
    /// Number of those that differ.
    pub differing: usize,
}

/// The members of one class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassTable {
    /// The class; several joined by `and` where they are compared anyway.
    pub class: String,
    /// The labels of its members; the others are compared with the first.
    pub labels: Vec<String>,
    /// In what they differ by themselves.
    pub differences: Vec<String>,
    /// Each stream of each workload.
    pub rows: Vec<Row>,
    /// What it comes to, for each member but the first.
    pub conclusions: Vec<Conclusion>,
}

/// A stream of a workload on all members of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Name of the workload.
    pub workload: String,
    /// The step, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// Name of the stream.
    pub stream: String,
    /// See [`StreamTimes::principal`].
    pub principal: bool,
    /// Mean, p50, p90 and p99: geometric means over the rounds, each compared with the first member.
    pub figures: Vec<Figure>,
    /// For each figure and each member the 95 % interval of its mean over the rounds; absent with fewer than 3.
    pub intervals: Vec<Vec<Option<(f64, f64)>>>,
}

impl Row {
    /// `mailspool: message`; `metadata, step 4: stat`.
    pub(super) fn title(&self) -> String {
        match self.step {
            Some(step) => format!("{}, step {step}: {}", self.workload, self.stream),
            None => format!("{}: {}", self.workload, self.stream),
        }
    }
}

/// A time of a stream.
type TimeOf = fn(&StreamTimes) -> Option<u64>;

/// The times that are compared, by their names.
const TIMES: [(&str, TimeOf); 4] = [
    ("mean", |times| times.mean_ns),
    ("p50", |times| times.p50_ns),
    ("p90", |times| times.p90_ns),
    ("p99", |times| times.p99_ns),
];

/// A stream of a workload.
#[derive(Clone, PartialEq)]
struct StreamKey {
    workload: usize,
    step: Option<u32>,
    stream: String,
    principal: bool,
}

impl Suite {
    /// Compares the members, class by class.
    pub fn compare(&self) -> SuiteComparison {
        let tables: Vec<ClassTable> = self.member_groups().into_iter().map(|group| self.class_table(&group)).collect();
        let answers = || {
            let figures = tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.figures);
            figures.flat_map(|figure| &figure.against_first)
        };
        SuiteComparison {
            method: rounds::METHOD.to_owned(),
            ceilings: Ceilings::find_all(self),
            told: answers().filter(|answer| **answer != Answer::CannotTell).count(),
            differing: answers().filter(|answer| matches!(answer, Answer::Differs { .. })).count(),
            tables,
        }
    }

    /// The indices of the members that stand in one table.
    fn member_groups(&self) -> Vec<Vec<usize>> {
        if self.anyway {
            return vec![(0..self.members.len()).collect()];
        }
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (index, member) in self.members.iter().enumerate() {
            match groups.iter_mut().find(|group| self.members[group[0]].class == member.class) {
                Some(group) => group.push(index),
                None => groups.push(vec![index]),
            }
        }
        groups
    }

    fn class_table(&self, group: &[usize]) -> ClassTable {
        let members: Vec<&Member> = group.iter().map(|index| &self.members[*index]).collect();
        let mut classes: Vec<&str> = Vec::new();
        for member in &members {
            if !classes.contains(&member.class.as_str()) {
                classes.push(&member.class);
            }
        }
        let rows: Vec<Row> = self.stream_keys().into_iter().map(|key| self.row(&key, group)).collect();
        let labels: Vec<String> = members.iter().map(|member| member.label.clone()).collect();
        let for_conclusions: Vec<StreamRow> = rows.iter().filter(|row| row.principal).map(as_stream_row).collect();
        let names: Vec<&str> = labels.iter().map(String::as_str).collect();
        ClassTable {
            class: classes.join(" and "),
            differences: differences_in_words(&members),
            conclusions: conclude_for_runs(&names, &for_conclusions),
            labels,
            rows,
        }
    }

    /// Every stream of every workload that any usable run on a member has, in the order of the workloads.
    fn stream_keys(&self) -> Vec<StreamKey> {
        let mut keys: Vec<StreamKey> = Vec::new();
        for workload in 0..self.workloads.len() {
            let runs = self.runs.iter().filter(|run| run.place.workload == workload && run.place.member.is_some());
            for times in runs.filter_map(|run| self.usable_run_at(run.place)).flat_map(|run| &run.figures.streams) {
                let StreamTimes { step, stream, principal, .. } = times;
                let key = StreamKey { workload, step: *step, stream: stream.clone(), principal: *principal };
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
        keys
    }

    fn row(&self, key: &StreamKey, group: &[usize]) -> Row {
        let mut figures = Vec::new();
        let mut intervals = Vec::new();
        for (what, time_of) in TIMES {
            let of_members: Vec<Vec<Option<f64>>> =
                group.iter().map(|member| self.values_by_round(key, *member, time_of)).collect();
            let of_members = rounds::in_common(of_members);
            let known: Vec<Vec<f64>> =
                of_members.iter().map(|rounds| rounds.iter().flatten().copied().collect()).collect();
            let values = known.iter().map(|values| rounds::geometric_mean(values)).collect();
            let others = of_members.iter().skip(1);
            let against_first = others.map(|other| rounds::compare_ratios(&ratios(&of_members[0], other))).collect();
            figures.push(Figure { what: what.to_owned(), share: false, values, against_first });
            intervals.push(known.iter().map(|values| interval_ends(values)).collect());
        }
        let StreamKey { workload, step, stream, principal } = key.clone();
        Row { workload: self.workloads[workload].name.clone(), step, stream, principal, figures, intervals }
    }

    /// A time of a stream in each round; `None` where the round has no usable run, or the run no such time.
    fn values_by_round(&self, key: &StreamKey, member: usize, time_of: TimeOf) -> Vec<Option<f64>> {
        let mut values = Vec::new();
        for round in 1..=self.rounds {
            let run = self.usable_run_at(Place { round, workload: key.workload, member: Some(member) });
            let times = run.and_then(|run| run.figures.times_of(key.step, &key.stream));
            values.push(times.and_then(time_of).filter(|ns| *ns > 0).map(|ns| ns as f64));
        }
        values
    }
}

/// The ratios of the rounds that have both values.
fn ratios(first: &[Option<f64>], other: &[Option<f64>]) -> Vec<f64> {
    first.iter().zip(other).filter_map(|(first, other)| Some((*other)? / (*first)?)).collect()
}

fn interval_ends(values: &[f64]) -> Option<(f64, f64)> {
    rounds::interval_of_mean(values).map(|Interval { low, high }| (low, high))
}

/// The row as a comparison of runs has it.
fn as_stream_row(row: &Row) -> StreamRow {
    StreamRow {
        step: None,
        stream: row.title(),
        measure: Measure::Response,
        figures: row.figures.clone(),
        distributions: Vec::new(),
    }
}
