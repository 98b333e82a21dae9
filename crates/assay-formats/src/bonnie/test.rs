//! The twelve tests of bonnie++, in the order of its line, and what one of them has measured.

use assay_base::Span;

/// A test. Its number is also that of its semaphore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// A file is written byte by byte.
    WriteChars,
    /// A file is written in blocks.
    WriteBlocks,
    /// Each block of a file is read, changed and written back.
    Rewrite,
    /// A file is read byte by byte.
    ReadChars,
    /// A file is read in blocks.
    ReadBlocks,
    /// Blocks at random places are read, and some of them written back.
    Seeks,
    /// Files are created in the order of their names.
    CreateInOrder,
    /// They are looked at, and read.
    StatInOrder,
    /// They are deleted.
    DeleteInOrder,
    /// Files are created in a random order.
    CreateAtRandom,
    /// See `StatInOrder`.
    StatAtRandom,
    /// See `DeleteInOrder`.
    DeleteAtRandom,
}

/// Below this time the original shows no rate.
const SHORTEST: Span = Span::from_ms(500);

impl Test {
    /// All, in the order of the line.
    pub const ALL: [Test; 12] = [
        Test::WriteChars,
        Test::WriteBlocks,
        Test::Rewrite,
        Test::ReadChars,
        Test::ReadBlocks,
        Test::Seeks,
        Test::CreateInOrder,
        Test::StatInOrder,
        Test::DeleteInOrder,
        Test::CreateAtRandom,
        Test::StatAtRandom,
        Test::DeleteAtRandom,
    ];

    /// The name of the phase that carries it out.
    pub fn phase_name(self) -> &'static str {
        match self {
            Test::WriteChars => "write-chars",
            Test::WriteBlocks => "write",
            Test::Rewrite => "rewrite",
            Test::ReadChars => "read-chars",
            Test::ReadBlocks => "read",
            Test::Seeks => "seeks",
            Test::CreateInOrder => "create-in-order",
            Test::StatInOrder => "stat-in-order",
            Test::DeleteInOrder => "delete-in-order",
            Test::CreateAtRandom => "create-at-random",
            Test::StatAtRandom => "stat-at-random",
            Test::DeleteAtRandom => "delete-at-random",
        }
    }

    /// The test that a phase of this name carries out.
    pub fn from_phase_name(name: &str) -> Option<Test> {
        Test::ALL.into_iter().find(|test| test.phase_name() == name)
    }

    /// Its place in the line.
    pub fn number(self) -> usize {
        self as usize
    }

    /// Whether its rate is of KiB a second; otherwise it is of sequences a second.
    pub fn counts_bytes(self) -> bool {
        !matches!(self, Test::Seeks) && self.number() < Test::CreateInOrder.number()
    }

    /// Whether it is on many small files.
    pub fn is_on_files(self) -> bool {
        self.number() >= Test::CreateInOrder.number()
    }

    /// What the original says on standard error when it begins.
    pub fn begin_text(self) -> &'static str {
        match self {
            Test::WriteChars => "Writing a byte at a time...",
            Test::WriteBlocks => "Writing intelligently...",
            Test::Rewrite => "Rewriting...",
            Test::ReadChars => "Reading a byte at a time...",
            Test::ReadBlocks => "Reading intelligently...",
            Test::Seeks => "start 'em...",
            Test::CreateInOrder => "Create files in sequential order...",
            Test::StatInOrder => "Stat files in sequential order...",
            Test::DeleteInOrder => "Delete files in sequential order...",
            Test::CreateAtRandom => "Create files in random order...",
            Test::StatAtRandom => "Stat files in random order...",
            Test::DeleteAtRandom => "Delete files in random order...",
        }
    }

    /// What the original says when it is over.
    pub fn end_text(self) -> &'static str {
        if self.is_on_files() { "done." } else { "done" }
    }
}

/// What a test has measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figure {
    /// Bytes that were moved, or sequences that succeeded.
    pub amount: u64,
    /// How long that took.
    pub elapsed: Span,
    /// Time of processors, of the user and of the system.
    pub processor: Span,
    /// The longest service of one read or write, or of one sequence.
    pub longest: Span,
}

impl Figure {
    /// The rate as a whole number: of KiB or of sequences a second; `None` where it took too little time.
    pub fn rate(&self, test: Test) -> Option<u64> {
        let amount = if test.counts_bytes() { self.amount / 1024 } else { self.amount };
        (self.elapsed >= SHORTEST).then(|| (amount as f64 / self.elapsed.as_secs_f64()) as u64)
    }

    /// The processor's time as a whole number of percents of the time; `None` where it took too little time.
    pub fn processor_percent(&self) -> Option<u64> {
        let share = self.processor.as_secs_f64() / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        (self.elapsed >= SHORTEST).then_some((share * 100.0) as u64)
    }

    /// The longest service, in microseconds.
    pub fn longest_text(&self) -> String {
        format!("{}us", self.longest.as_ns().div_ceil(1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_of_kib_or_of_sequences_and_is_there_from_half_a_second_on() {
        let figure = |amount, ms| Figure { amount, elapsed: Span::from_ms(ms), ..Figure::default() };
        assert_eq!(figure(10 << 20, 2000).rate(Test::WriteBlocks), Some(5120));
        assert_eq!(figure(999, 1000).rate(Test::Seeks), Some(999));
        assert_eq!(figure(500, 500).rate(Test::CreateInOrder), Some(1000));
        assert_eq!(figure(500, 499).rate(Test::CreateInOrder), None);
        assert_eq!(figure(500, 0).processor_percent(), None);
        let busy = Figure { processor: Span::from_ms(1500), ..figure(1, 1000) };
        assert_eq!(busy.processor_percent(), Some(150), "of several processors");
        assert_eq!(Figure { longest: Span::from_ns(12_000_000_001), ..busy }.longest_text(), "12000001us");
    }

    #[test]
    fn each_test_has_its_phase() {
        for (number, test) in Test::ALL.into_iter().enumerate() {
            assert_eq!((test.number(), Test::from_phase_name(test.phase_name())), (number, Some(test)));
        }
        assert_eq!(Test::from_phase_name("remove"), None);
        let bytes: Vec<usize> = (0..12).filter(|number| Test::ALL[*number].counts_bytes()).collect();
        assert_eq!(bytes, [0, 1, 2, 3, 4]);
    }
}
