//! A trace as a recording: its operations one by one, to be issued again.
//!
//! What the import of traces passes over with a remark is refused here: what was not recorded cannot be played.

use super::seen::LineContent;
use super::trace::DISORDER;
use super::trace_lines::Reader;
use assay_base::Bytes;
use assay_base::text::one_line;
use assay_model::recording::{Line, MOST};

/// Largest operation that can be issued.
const LARGEST: u64 = 64 << 20;
/// Kinds of events of blktrace: what was asked for, what went to the device, and what it completed.
const ACTIONS: [&str; 4] = ["", "Q", "D", "C"];

/// Reads a recording line by line.
#[derive(Default)]
pub struct Recorder {
    reader: Reader,
    lines: Vec<Kept>,
    devices: Vec<String>,
    /// The sum of the waits in an iolog without times, and whether any line waited.
    waited_ns: u64,
    waits: bool,
    number: u64,
    /// Lines that are not operations, and operations that are neither reads nor writes.
    passed_over: u64,
    others: u64,
}

/// An operation, with what decides whether it is part of the recording.
#[derive(Clone, Copy)]
struct Kept {
    line: Line,
    number: u32,
    action: u8,
    device: u16,
}

/// The operations that were read.
#[derive(Debug)]
pub struct Played {
    /// In the order of their times, the first of them at zero.
    pub lines: Vec<Line>,
    /// The time of the first of them, as recorded.
    pub begin_ns: u64,
    /// The name that the recording gives the device of the operations.
    pub device: String,
    /// Notes that the reader of a plan must know.
    pub notes: Vec<String>,
}

impl Recorder {
    /// Takes the next line; the error says what is wrong with it.
    pub fn take_line(&mut self, text: &str) -> Result<(), String> {
        self.number += 1;
        if let Some(wait) = self.reader.wait_of_line(text) {
            self.waited_ns = self.waited_ns.saturating_add(wait);
            self.waits = true;
            return Ok(());
        }
        let event = match self.reader.read_line(text) {
            LineContent::Event(event) => event,
            LineContent::Nothing | LineContent::Other(_) => {
                self.passed_over += u64::from(!text.trim().is_empty());
                return Ok(());
            }
            LineContent::Empty | LineContent::Untimed => return Ok(()),
            LineContent::Damaged(what, _) => return Err(what.to_owned()),
        };
        let Some(direction) = event.direction() else {
            self.others += 1;
            return Ok(());
        };
        let at_ns = event.at.or(self.waits.then_some(self.waited_ns));
        let at_ns = at_ns.ok_or("an operation without a time: record with times, of fio an iolog of version 3")?;
        let offset = event.address.ok_or("an operation without a place")?;
        if event.bytes > LARGEST {
            return Err(format!("an operation of {}, of which at most 64MiB can be issued", Bytes::new(event.bytes)));
        }
        if self.lines.len() == MOST {
            return Err(format!("more than {MOST} operations: cut the recording"));
        }
        let device = self.find_or_add_device(&event.device)?;
        let line = Line { at_ns, offset, len: event.bytes as u32, direction };
        let action = ACTIONS.iter().position(|action| *action == event.action).unwrap_or(0) as u8;
        self.lines.push(Kept { line, number: self.number.min(u32::MAX.into()) as u32, action, device });
        Ok(())
    }

    fn find_or_add_device(&mut self, name: &str) -> Result<u16, String> {
        if let Some(at) = self.devices.iter().rposition(|known| known == name) {
            return Ok(at as u16);
        }
        if self.devices.len() == 64 {
            return Err("operations of more than 64 devices: keep the lines of one".to_owned());
        }
        self.devices.push(name.to_owned());
        Ok((self.devices.len() - 1) as u16)
    }

    /// Whether there is an operation with this action.
    fn has_action(&self, action: &str) -> bool {
        let at = ACTIONS.iter().position(|known| *known == action);
        self.lines.iter().any(|kept| Some(usize::from(kept.action)) == at)
    }

    /// The recording; the error says what is wrong with it as a whole, or with a line of it.
    pub fn into_recording(self) -> Result<Played, String> {
        if self.lines.is_empty() {
            return Err(
                "no read and no write in a form that is known: blkparse, biosnoop, iosnoop, or an iolog of fio"
                    .to_owned(),
            );
        }
        let action = if self.has_action("") {
            0
        } else if self.has_action("Q") {
            1
        } else if self.has_action("D") {
            2
        } else {
            return Err("it has completions only (C): record when operations begin (Q or D)".to_owned());
        };
        let mut kept: Vec<Kept> = self.lines.iter().filter(|kept| kept.action == action).copied().collect();
        let first = kept[0].device;
        if let Some(other) = kept.iter().find(|kept| kept.device != first) {
            let [name, first_name] = [other.device, first].map(|device| one_line(&self.devices[usize::from(device)]));
            return Err(format!(
                "line {}: an operation of {name} behind those of {first_name}: keep the lines of one of them",
                other.number
            ));
        }
        let mut latest = 0;
        for kept in &kept {
            if kept.line.at_ns + DISORDER < latest {
                return Err(format!("line {}: more than a second before the lines above it", kept.number));
            }
            latest = latest.max(kept.line.at_ns);
        }
        // Events of several processors are in order only approximately.
        kept.sort_by_key(|kept| kept.line.at_ns);
        let begin = kept[0].line.at_ns;
        let lines = kept.iter().map(|kept| Line { at_ns: kept.line.at_ns - begin, ..kept.line }).collect();
        let mut notes = Vec::new();
        if self.passed_over > 0 {
            notes.push(format!("{} lines are not operations and are left out", self.passed_over));
        }
        if self.others > 0 {
            notes.push(format!("{} operations are neither reads nor writes and are left out", self.others));
        }
        let device = self.devices[usize::from(first)].clone();
        Ok(Played { lines, begin_ns: begin, device, notes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Direction::{Read, Write};

    fn read(text: &str) -> Result<Played, String> {
        let mut recorder = Recorder::default();
        for (at, line) in text.lines().enumerate() {
            recorder.take_line(line).map_err(|why| format!("{}: {why}", at + 1))?;
        }
        recorder.into_recording()
    }

    fn lines(text: &str) -> Vec<(u64, u64, u32, bool)> {
        let lines = read(text).unwrap().lines;
        lines.iter().map(|line| (line.at_ns, line.offset, line.len, line.direction == Write)).collect()
    }

    const BLKPARSE: &str = "  8,16   1        1     5.000000000  1234  Q  WS 8 + 8 [fio]\n\
                              8,16   1        2     5.000000500  1234  G  WS 8 + 8 [fio]\n\
                              8,16   0        3     5.002000000  1234  Q   R 24 + 1 [fio]\n\
                              8,16   1        4     5.001000000  1234  D  WS 8 + 8 [fio]\n\
                              8,16   1        5     5.001500000  1234  Q   D 8 + 8 [fio]\n\
                              8,16   1        6     5.001900000  1234  Q   W 16 + 8 [fio]\n\
                              8,16   1        7     5.003000000  1234  C  WS 8 + 8 [0]\nCPU0 (sdb):\n";

    #[test]
    fn each_form_gives_its_operations_in_the_order_of_their_times() {
        assert_eq!(
            lines(BLKPARSE),
            [(0, 4096, 4096, true), (1_900_000, 8192, 4096, true), (2_000_000, 12_288, 512, false)]
        );
        let played = read(BLKPARSE).unwrap();
        assert_eq!(played.lines[0].direction, Write);
        assert_eq!(
            played.notes,
            [
                "2 lines are not operations and are left out",
                "1 operations are neither reads nor writes and are left out"
            ]
        );
        let v3 = "fio version 3 iolog\n5 f add\n6 f open\n10 f read 4096 512\n30 f write 0 8192\n40 f close\n";
        assert_eq!(lines(v3), [(0, 4096, 512, false), (20_000, 0, 8192, true)]);
        let v2 = "fio version 2 iolog\nf add\nf open\nf wait 100 0\nf read 0 4096\nf read 4096 4096\nf wait 250 0\nf write 0 512\nf close\n";
        assert_eq!(lines(v2), [(0, 0, 4096, false), (0, 4096, 4096, false), (250_000, 0, 512, true)]);
        let snoop = "TIME(s)     COMM           PID    DISK      T SECTOR     BYTES  LAT(ms)\n\
                     0.000000    a b            12     vda       R 16         4096      0.10\n\
                     0.000250    sync           13     vda       W 0          512       0.20\n";
        assert_eq!(lines(snoop), [(0, 8192, 4096, false), (250_000, 0, 512, true)]);
    }

    #[test]
    fn what_cannot_be_played_is_refused_with_its_line() {
        for (text, what) in [
            ("", "no read and no write"),
            ("hello\nworld\n", "no read and no write"),
            ("fio version 3 iolog\n5 f sync 0 0\n", "no read and no write"),
            ("fio version 3 iolog\n5 f read 0\n", "2: an operation without its time, offset or length"),
            ("fio version 3 iolog\nnonsense\n", "2: not a line of an iolog"),
            ("fio version 2 iolog\nf read 0 4096\n", "2: an operation without a time"),
            ("fio version 3 iolog\n5 f read 0 512\n6 g read 0 512\n", "line 3: an operation of g behind those of f"),
            ("fio version 3 iolog\n5000000 f read 0 512\n6 f read 0 512\n", "line 3: more than a second before"),
            ("fio version 3 iolog\n5 f read 0 134217728\n", "2: an operation of 128MiB"),
            ("  8,16   1        7     5.003000000  1234  C  WS 8 + 8 [0]\n", "completions only"),
        ] {
            let told = read(text).unwrap_err();
            assert!(told.contains(what), "{text}: {told}");
        }
        assert_eq!(read("fio version 3 iolog\n5 f read 0 512\n").unwrap().lines[0].direction, Read);
    }
}
