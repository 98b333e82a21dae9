//! Phases whose clients wait until data are durable at another moment than the steps say: at the end, or never.

use super::operation::Operation;
use super::sequence::{Sequence, SequenceFiles};
use super::workload::{FilesPhase, Until};

/// The sequence that waits for each file at the end.
pub const MAKE_DURABLE: &str = "make-durable";
/// What the name of a phase ends with that waits for what the phase before it has written.
pub const DURABLE_PHASE: &str = "-durable";

impl Sequence {
    /// Whether it writes bytes, or makes files.
    pub fn needs_sync(&self) -> bool {
        self.operations().any(leaves_data_to_sync)
    }

    /// Whether each of its lists of steps that writes waits behind its last write until the data are durable. What was
    /// written to a mapping is durable after msync too; fsync-dir waits for no data.
    pub fn waits_for_its_data(&self) -> bool {
        self.steps.iter().all(|steps| {
            let Some(last) = steps.iter().rposition(|step| leaves_data_to_sync(*step)) else { return true };
            let is_mapped =
                steps.iter().filter(|step| leaves_data_to_sync(**step)).all(|step| *step == Operation::MmapWrite);
            steps[last..].iter().any(|step| match step {
                Operation::Fsync | Operation::Fdatasync => true,
                Operation::Msync => is_mapped,
                _ => false,
            })
        })
    }

    /// The same without the operations that wait; `None` where nothing is left.
    fn without_syncs(&self) -> Option<Sequence> {
        let mut steps = self.steps.clone();
        for list in &mut steps {
            list.retain(|operation| !operation.makes_durable());
        }
        steps.retain(|list| !list.is_empty());
        (!steps.is_empty()).then(|| Sequence { steps, ..self.clone() })
    }
}

/// Whether it writes bytes, or makes a file.
fn leaves_data_to_sync(operation: Operation) -> bool {
    operation.writes_bytes() || matches!(operation, Operation::Create | Operation::Mknod | Operation::CopyRange)
}

impl FilesPhase {
    /// The same without the operations that wait. A phase that only waits has no sequences then.
    pub fn without_syncs(&self) -> FilesPhase {
        let sequences = self.sequences.iter().filter_map(Sequence::without_syncs).collect();
        FilesPhase { sequences, ..self.clone() }
    }

    /// The same, where it waits for every file at its end, as one phase or as two: where it takes every file once, its
    /// clients then take every file once more; one that lasts a time is followed by a phase that does so.
    pub fn with_sync_at_end(&self) -> Vec<FilesPhase> {
        let mut phase = self.without_syncs();
        if !phase.sequences.iter().any(Sequence::needs_sync) {
            return vec![phase];
        }
        let steps = [Operation::Open, Operation::Fsync, Operation::Close];
        let waits = Sequence::new(MAKE_DURABLE, &steps, 1);
        if phase.takes_every_file_once() {
            phase.sequences.push(waits);
            return vec![phase];
        }
        let name = format!("{}{DURABLE_PHASE}", phase.name);
        let second = FilesPhase { name, until: Until::Done, sequences: vec![waits], ..FilesPhase::default() };
        vec![phase, second]
    }

    /// Whether it writes to files that all clients share.
    pub fn writes_shared_files(&self) -> bool {
        self.sequences.iter().any(|sequence| sequence.on == SequenceFiles::Shared && sequence.needs_sync())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(until: Until, sequences: &[(&str, &[Operation])]) -> FilesPhase {
        let sequences = sequences.iter().map(|(name, steps)| Sequence::new(name, steps, 1)).collect();
        FilesPhase { name: "p".into(), until, sequences, ..FilesPhase::default() }
    }

    fn shown(phase: &FilesPhase) -> Vec<String> {
        let operations = |sequence: &Sequence| {
            sequence.operations().map(|operation| operation.name().to_owned()).collect::<Vec<_>>().join(" ")
        };
        phase.sequences.iter().map(operations).collect()
    }

    #[test]
    fn what_waits_is_taken_away_or_stands_at_the_end() {
        use Operation::{Close, Create, Fsync, FsyncDir, Stat, Write};
        let write: (&str, &[Operation]) = ("w", &[Create, Write, Fsync, Close]);
        let directory: (&str, &[Operation]) = ("d", &[FsyncDir]);
        let done = phase(Until::Done, &[write, directory]);
        assert_eq!(shown(&done.without_syncs()), ["create write close"]);
        let whole = done.with_sync_at_end();
        assert_eq!((whole.len(), shown(&whole[0])), (1, vec!["create write close".into(), "open fsync close".into()]));
        let timed = phase(Until::Time, &[write]).with_sync_at_end();
        assert_eq!((timed.len(), timed[1].name.as_str(), timed[1].until), (2, "p-durable", Until::Done));
        assert_eq!(
            (shown(&timed[0]), shown(&timed[1])),
            (vec!["create write close".into()], vec!["open fsync close".into()])
        );
        let reads = phase(Until::Done, &[("s", &[Stat])]);
        assert_eq!(reads.with_sync_at_end(), std::slice::from_ref(&reads));
        assert!(done.sequences[0].needs_sync() && done.sequences[0].waits_for_its_data());
        assert!(!reads.sequences[0].needs_sync());
    }

    #[test]
    fn only_a_sync_of_data_behind_the_last_write_waits_for_it() {
        use Operation::{Close, Create, Fdatasync, Fsync, FsyncDir, MmapWrite, Msync, Open, Overwrite, Stat, Write};
        for (steps, waits) in [
            (&[Create, Write, Fsync, Close][..], true),
            (&[Create, Write, Close, Open, Fdatasync, Close], true),
            (&[Open, MmapWrite, Msync, Close], true),
            (&[Stat], true),
            (&[Create, Fsync, Write, Close], false),
            (&[Create, Write, FsyncDir, Close], false),
            (&[Open, Overwrite, MmapWrite, Msync, Close], false),
            (&[Open, MmapWrite, Msync, MmapWrite, Close], false),
        ] {
            assert_eq!(Sequence::new("s", steps, 1).waits_for_its_data(), waits, "{steps:?}");
        }
        let apart = Sequence { steps: vec![vec![Create, Write], vec![Open, Fsync]], ..Sequence::new("s", &[], 1) };
        assert!(!apart.waits_for_its_data(), "the fsync is of another file");
    }
}
