//! What a workload file of this model asks for, as a plan keeps it.

use super::durable::Durable;
use super::operation::Operation;
use super::sequence::{Pick, Sequence};
use super::service::{Service, ServiceRoom};
use super::tree::Tree;
use assay_base::{Bytes, Multiple, Rate, Span};
use serde::{Deserialize, Serialize};

/// The most clients: each is a thread.
pub const MOST_CLIENTS: u32 = 4096;

/// The load of clients on a file system.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FilesWorkload {
    /// Number of clients, each a thread that waits in its calls.
    pub clients: u32,
    /// When sequences are wanted.
    pub pace: FilesPace,
    /// What is done so that reads come from where they should.
    pub cache: CachePolicy,
    /// When clients wait until data are durable, where that is not as the steps of the sequences say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durable: Option<Durable>,
    /// Bytes of one read or write, and of a record of a shared file.
    pub io: Bytes,
    /// The tree.
    pub tree: Tree,
    /// What clients do, in phases that do not say it themselves.
    pub sequences: Vec<Sequence>,
    /// The phases; where there are none, the whole run is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<FilesPhase>,
    /// The server whose threads the clients are; then there is no tree, and its commits are the only sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Box<Service>>,
}

/// When sequences are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilesPace {
    /// By a schedule that all clients share, whatever happens.
    Open {
        /// Sequences a second, at the load of the plan.
        rate: Rate,
        /// How they follow each other.
        arrival: Spacing,
    },
    /// Each client when its sequence before is done.
    Closed,
}

/// How the moments of a schedule follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// Evenly.
    Steady,
    /// As independent users make them.
    #[default]
    Poisson,
}

/// What is done so that reads come from where they should.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CachePolicy {
    /// Files are opened with O_DIRECT; the ragged end of a file is buffered.
    Direct,
    /// Files are dropped from the page cache before a phase.
    #[default]
    Drop,
    /// Nothing: reads may come from memory.
    Warm,
    /// Each call has RWF_DONTCACHE, which Linux knows since 6.14.
    DontCache,
}

impl std::fmt::Display for CachePolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            CachePolicy::Direct => "direct",
            CachePolicy::Drop => "drop",
            CachePolicy::Warm => "warm",
            CachePolicy::DontCache => "dontcache",
        })
    }
}

/// A part of a run, with streams, slices and a verdict of its own.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FilesPhase {
    /// Its name.
    pub name: String,
    /// How long it lasts, or may last; without it, the measured time of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// When it ends.
    pub until: Until,
    /// Where every client takes each of its files once: that only those are taken whose numbers are below this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u32>,
    /// Where it lasts a time: that it is over as soon as so many sequences were begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Where every file is taken once: that the first client does it for all, as one process that makes the files of all
    /// others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub collective: bool,
    /// How long it has to last to be compared with others; a result of a shorter one says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Span>,
    /// What clients do in it, instead of the sequences of the workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sequences: Vec<Sequence>,
}

/// When a phase ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// After its time.
    #[default]
    Time,
    /// When every client had each of its files once.
    Done,
    /// The same, and all stop as soon as the first client is done; then the others do what they lack.
    Stonewall,
}

impl FilesPace {
    /// The same at a multiple of its rate; `None` if that does not fit.
    pub fn scaled(self, load: Multiple) -> Option<FilesPace> {
        Some(match self {
            FilesPace::Open { rate, arrival } => FilesPace::Open { rate: load.scaled_rate(rate)?, arrival },
            FilesPace::Closed => FilesPace::Closed,
        })
    }
}

impl FilesWorkload {
    /// The same at a multiple of its rate; `None` if that does not fit.
    pub fn scaled(&self, load: Multiple) -> Option<FilesWorkload> {
        Some(FilesWorkload { pace: self.pace.scaled(load)?, ..self.clone() })
    }

    /// Its phases; one that lasts as long as the run where it names none.
    pub fn all_phases(&self) -> Vec<FilesPhase> {
        if self.phases.is_empty() {
            let name = "run".to_owned();
            return vec![FilesPhase {
                name,
                until: Until::Time,
                sequences: self.sequences.clone(),
                ..FilesPhase::default()
            }];
        }
        let mut phases = self.phases.clone();
        for phase in phases.iter_mut().filter(|phase| phase.sequences.is_empty()) {
            phase.sequences = self.sequences.clone();
        }
        phases
    }

    /// The names of all streams, each once: the sequences and the operations of which they consist.
    pub fn stream_names(&self) -> Vec<String> {
        if let Some(service) = &self.service {
            return service.streams().into_iter().map(|stream| stream.name).collect();
        }
        let mut names: Vec<String> = Vec::new();
        for phase in self.all_phases() {
            for sequence in &phase.sequences {
                let operations = sequence.operations().map(|operation| operation.name().to_owned());
                for name in std::iter::once(sequence.name.clone()).chain(operations) {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
        }
        names
    }

    /// The room that the files of its server take, where it is one, as long as its run lasts.
    pub fn room_of_service(&self) -> Option<ServiceRoom> {
        let service = self.service.as_ref()?;
        let FilesPace::Open { rate, .. } = self.pace else { return None };
        Some(service.room_at(rate))
    }

    /// The most bytes that files have in a phase which gives them sizes of its own, beyond those of the tree.
    pub fn bytes_beyond_tree(&self) -> u64 {
        let mut most = 0;
        for phase in self.all_phases() {
            let files = u64::from(phase.files.unwrap_or(self.tree.files).min(self.tree.files));
            let sizes = phase.sequences.iter().filter_map(|sequence| sequence.size);
            let largest = sizes.map(Bytes::get).max().unwrap_or(0);
            most = most.max(largest.saturating_mul(files));
        }
        most
    }

    /// Whether some sequence asks for extended attributes, which all files of the tree then begin with.
    pub fn needs_attributes(&self) -> bool {
        let phases = self.all_phases();
        phases.iter().flat_map(|phase| &phase.sequences).any(|sequence| sequence.has(Operation::Getxattr))
    }
}

impl FilesPhase {
    /// Whether its clients take every file once.
    pub fn takes_every_file_once(&self) -> bool {
        self.until != Until::Time
    }

    /// Whether it may be over before its time is.
    pub fn may_end_early(&self) -> bool {
        self.takes_every_file_once() || self.count.is_some()
    }

    /// The sequence that is on others' files beside one that removes names, or that maps them beside one that cuts files:
    /// a race between the two would make errors.
    pub fn sequence_in_a_race(&self) -> Option<&Sequence> {
        let removes = self.sequences.iter().any(Sequence::removes_names);
        let cuts = self.sequences.iter().any(|sequence| sequence.has(Operation::Truncate));
        let mut of_others = self.sequences.iter().filter(|sequence| sequence.pick != Pick::Own);
        of_others.find(|sequence| removes || cuts && sequence.has(Operation::MmapRead))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FileSize, Sequence};
    use super::*;

    fn workload() -> FilesWorkload {
        let tree = Tree { width: Some(20), ..Tree::flat(1000, FileSize::Fixed(Bytes::from_kib(16))) };
        let sequences = vec![
            Sequence::new("deliver", &[Operation::Create, Operation::Append, Operation::Fsync, Operation::Close], 3),
            Sequence::new("unlink", &[Operation::Unlink], 1),
        ];
        FilesWorkload {
            clients: 16,
            pace: FilesPace::Open { rate: Rate::per_second(100), arrival: Spacing::Poisson },
            cache: CachePolicy::Drop,
            durable: None,
            io: Bytes::from_kib(16),
            tree,
            sequences,
            phases: Vec::new(),
            service: None,
        }
    }

    #[test]
    fn a_workload_reads_back_and_is_scaled_by_its_rate() {
        let workload = workload();
        let written = serde_json::to_string(&workload).unwrap();
        assert_eq!(serde_json::from_str::<FilesWorkload>(&written).unwrap(), workload, "{written}");
        let scaled = workload.scaled(Multiple::from_whole(3)).unwrap();
        assert_eq!(scaled.pace, FilesPace::Open { rate: Rate::per_second(300), arrival: Spacing::Poisson });
        let closed = FilesWorkload { pace: FilesPace::Closed, ..workload };
        assert_eq!(closed.scaled(Multiple::from_whole(3)), Some(closed));
    }

    #[test]
    fn each_sequence_and_each_operation_is_a_stream_once() {
        let mut workload = workload();
        assert_eq!(workload.stream_names(), ["deliver", "create", "append", "fsync", "close", "unlink"]);
        let own = vec![Sequence::new("ask", &[Operation::Stat], 1)];
        let phase = |name: &str, sequences| FilesPhase {
            name: name.into(),
            until: Until::Done,
            sequences,
            ..FilesPhase::default()
        };
        workload.phases = vec![phase("a", own), phase("b", Vec::new())];
        assert_eq!(workload.all_phases()[1].sequences, workload.sequences);
        assert_eq!(workload.stream_names()[..3], ["ask", "stat", "deliver"]);
    }

    #[test]
    fn sizes_of_sequences_need_space_for_the_files_of_their_phase() {
        let mut workload = workload();
        let write = Sequence { size: Some(Bytes::new(100)), ..Sequence::new("w", &[Operation::Create], 1) };
        let phase = |files| FilesPhase { files, until: Until::Done, ..workload.all_phases().remove(0) };
        let phases =
            [Some(7), Some(5000), None].map(|files| FilesPhase { sequences: vec![write.clone()], ..phase(files) });
        let expected = [700, 100_000, 100_000];
        for (phase, bytes) in phases.into_iter().zip(expected) {
            workload.phases = vec![phase];
            assert_eq!(workload.bytes_beyond_tree(), bytes);
        }
    }

    #[test]
    fn nobody_reads_the_files_of_others_where_names_are_removed() {
        let mut phase = workload().all_phases().remove(0);
        assert_eq!(phase.sequence_in_a_race(), None);
        phase.sequences[0] = Sequence { pick: Pick::Any, ..Sequence::new("ask", &[Operation::Stat], 1) };
        assert_eq!(phase.sequence_in_a_race().map(|sequence| sequence.name.as_str()), Some("ask"));
        phase.sequences.pop();
        assert_eq!(phase.sequence_in_a_race(), None);
        // Behind the end of a file that was cut, a mapping is a signal.
        let cut = [Operation::Open, Operation::Truncate, Operation::Close];
        phase.sequences.push(Sequence::new("cut", &cut, 1));
        assert_eq!(phase.sequence_in_a_race(), None);
        let mapped = [Operation::Open, Operation::MmapRead, Operation::Close];
        phase.sequences[0] = Sequence { pick: Pick::Any, ..Sequence::new("map", &mapped, 1) };
        assert_eq!(phase.sequence_in_a_race().map(|sequence| sequence.name.as_str()), Some("map"));
    }
}
