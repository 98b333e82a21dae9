//! SeekMark's lines on standard output, and its line about a failed operation. Times are kept in nanoseconds. A rate is
//! zero if no time has passed; SeekMark prints `inf`.

use super::options::{Asked, Mode};
use assay_base::Span;
use std::fmt::Write as _;

/// Figures of a thread that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Operations that moved all their bytes.
    pub seeks: u64,
    /// Time from the start of all threads to the end of this one.
    pub time: Span,
    /// Sum of the service times of its operations.
    pub service_ns: u64,
}

/// Figures of all threads together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Operations that moved all their bytes.
    pub seeks: u64,
    /// Time from the start of all threads until the last one ended.
    pub time: Span,
    /// Number of threads.
    pub threads: u32,
}

/// The first line of an endless run.
pub fn endless_warning() -> &'static str {
    "***WARNING: Endless mode enabled, we will simply run until killed!***\n"
}

/// The lines before the threads start. `bytes` is the size of the part of the target that is used.
pub fn begin_lines(asked: &Asked, bytes: u64) -> String {
    let (amount, unit) = match bytes {
        1_048_577.. => (bytes >> 20, "MB"),
        1025.. => (bytes >> 10, "KB"),
        _ => (bytes, "B"),
    };
    let mut text = format!("\n{} benchmarking against {} {amount} {unit}\n\n", asked.mode.output_word(), asked.file);
    if asked.quiet {
        return text;
    }
    let Asked { threads, seeks_printed, size, align, .. } = asked;
    let _ = write!(
        text,
        "threads to spawn: {threads}\nseeks per thread: {seeks_printed}\nio size in bytes: {size}\nio aligned bytes: {align}\n"
    );
    if let Some(limit) = asked.limit {
        let _ = writeln!(text, "size limit in bytes: {limit}");
    }
    match asked.mode {
        Mode::Read => {}
        Mode::Write => text.push_str("write data is randomly generated\n"),
        Mode::WriteRepeated => text.push_str("write data is single character repeated\n"),
    }
    text.push('\n');
    text
}

/// One line for each thread, unless only the total is printed.
pub fn spawning_lines(asked: &Asked) -> String {
    if asked.quiet {
        return String::new();
    }
    let seeks = asked.seeks.map_or_else(|| "endless".to_owned(), |seeks| seeks.to_string());
    (0..asked.threads).map(|thread| format!("Spawning worker {thread} to do {seeks} seeks\n")).collect()
}

/// The line of a thread that has ended.
pub fn thread_line(number: usize, thread: &Thread) -> String {
    let Thread { seeks, time, service_ns } = *thread;
    let mean_ms = if seeks == 0 { 0.0 } else { service_ns as f64 / seeks as f64 / 1e6 };
    let (time, rate) = (time.as_secs_f64(), per_second(seeks, time));
    format!("thread {number} completed, time: {time:.2}, {rate:.2} seeks/sec, {mean_ms:.1}ms per request\n")
}

/// The last lines.
pub fn total_lines(mode: Mode, total: &Total) -> String {
    let Total { seeks, time, threads } = *total;
    let (word, rate) = (mode.output_word(), per_second(seeks, time));
    let each_ms = if seeks == 0 { 0.0 } else { time.as_secs_f64() * 1e3 / seeks as f64 };
    format!(
        "\ntotal time: {:.2}, time per {word} request(ms): {each_ms:.3}\n\
         {rate:.2} total seeks per sec, {:.2} {word} seeks per sec per thread\n\n",
        time.as_secs_f64(),
        rate / f64::from(threads.max(1))
    )
}

/// The line about an operation that failed, for standard error.
pub fn failed_line(mode: Mode, offset: &str, reason: &str) -> String {
    let verb = if mode == Mode::Read { "read" } else { "write" };
    format!("Error: unable to {verb} at current position of {offset}: {reason}")
}

fn per_second(seeks: u64, time: Span) -> f64 {
    if time.is_zero() { 0.0 } else { seeks as f64 / time.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse_args};
    use super::*;

    fn asked(line: &str) -> Asked {
        match parse_args(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()) {
            Ok(Command::Run(mut runs)) => runs.remove(0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_run_of_the_original_to_the_byte() {
        let line = "-t2 -f /dev/loop1 -s 1000 -w destroy-data -i 4096 -a 12";
        let threads = [(1, 1789, 1_800_000), (0, 1859, 1_800_000)];
        let mut text = begin_lines(&asked(line), 1 << 30) + &spawning_lines(&asked(line));
        for (number, ms, mean) in threads {
            let done = Thread { seeks: 1000, time: Span::from_ms(ms), service_ns: mean * 1000 };
            text += &thread_line(number, &done);
        }
        text += &total_lines(Mode::Write, &Total { seeks: 2000, time: Span::from_ms(1862), threads: 2 });
        let wanted = "\nWRITE benchmarking against /dev/loop1 1024 MB\n\nthreads to spawn: 2\nseeks per thread: 1000\n\
            io size in bytes: 4096\nio aligned bytes: 4096\nwrite data is randomly generated\n\n\
            Spawning worker 0 to do 1000 seeks\nSpawning worker 1 to do 1000 seeks\n\
            thread 1 completed, time: 1.79, 558.97 seeks/sec, 1.8ms per request\n\
            thread 0 completed, time: 1.86, 537.92 seeks/sec, 1.8ms per request\n\n\
            total time: 1.86, time per WRITE request(ms): 0.931\n\
            1074.11 total seeks per sec, 537.06 WRITE seeks per sec per thread\n\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn units_limits_and_quiet() {
        for (bytes, wanted) in [
            (100, "100 B"),
            (1024, "1024 B"),
            (1025, "1 KB"),
            (1_000_000, "976 KB"),
            (1 << 20, "1024 KB"),
            (2 << 20, "2 MB"),
        ] {
            let text = begin_lines(&asked("-f x -q"), bytes);
            assert_eq!(text, format!("\nREAD benchmarking against x {wanted}\n\n"));
        }
        assert_eq!(spawning_lines(&asked("-f x -q")), "");
        assert_eq!(spawning_lines(&asked("-f x -e")), "Spawning worker 0 to do endless seeks\n");
        let limited = begin_lines(&asked("-f x -S 10485760 -w destroy-data -R"), 10 << 20);
        assert!(limited.ends_with("size limit in bytes: 10485760\nwrite data is single character repeated\n\n"));
    }

    #[test]
    fn nothing_is_infinite() {
        let none =
            thread_line(0, &Thread::default()) + &total_lines(Mode::Read, &Total { threads: 1, ..Total::default() });
        assert!(!none.contains("inf") && !none.contains("NaN"), "{none}");
        assert_eq!(
            failed_line(Mode::Read, "512", "Input/output error"),
            "Error: unable to read at current position of 512: Input/output error"
        );
    }
}
