//! The view of `assay watch` on a terminal: its pictures at several sizes, and the program in a terminal.

use super::bed::{Place, until};
use super::console::{Console, pseudo_terminal};
use super::growing::{Writer, lines_of, renamed};
use assay_judge::Options;
use assay_live::terminal::{Appearance, TerminalSize, picture_rows, state_as_text};
use assay_live::{GrowingLog, NoTaker, Published, Publisher};
use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

const PLAIN: Appearance = Appearance { colours: false, sign_for: std::convert::identity };
/// Each tab, the keys, and a list that was moved.
const TYPED: [&[u8]; 8] = [b"", b"2", b"3", b"4", b"5", b"?", b"4\x1b[B\x1b[B", b"2\x1b[C"];

/// A log of which these lines were written, and that goes on: before it ends, the state is kept.
struct SoFar<'a> {
    rest: &'a [u8],
    states: watch::Receiver<Arc<Published>>,
    newest: &'a RefCell<Option<Arc<Published>>>,
}

impl Read for SoFar<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.rest.is_empty() {
            *self.newest.borrow_mut() = Some(self.states.borrow().clone());
        }
        self.rest.read(buffer)
    }
}

struct Length(u64);

impl GrowingLog for Length {
    fn length(&self) -> u64 {
        self.0
    }
    fn age(&self) -> Duration {
        Duration::ZERO
    }
}

/// The state while a log of these lines goes on, and the one behind its end.
fn states_of(lines: &[String]) -> [Arc<Published>; 2] {
    let text = lines.concat();
    let (mut publisher, states) = Publisher::new(Options::default());
    let newest = RefCell::new(None);
    let bytes = SoFar { rest: text.as_bytes(), states: states.clone(), newest: &newest };
    publisher.follow_log("", bytes, &Length(text.len() as u64), &mut NoTaker).unwrap();
    publisher.end_all();
    [newest.into_inner().unwrap(), states.borrow().clone()]
}

fn width_of(text: &str) -> usize {
    // What the view shows of these logs has one column for each character.
    text.chars().count()
}

fn shown(state: &Published, typed: &[u8], columns: u16, rows: u16) -> Vec<String> {
    let rows = picture_rows(state, typed, TerminalSize::new(columns, rows), PLAIN);
    assert!(rows.iter().all(|row| width_of(row) <= usize::from(columns)), "{rows:#?}");
    rows
}

fn log_of(args: &[&str]) -> Vec<String> {
    let place = Place::new();
    place.assay(&[args, &["--out", "whole"][..]].concat());
    lines_of(&place, "whole")
}

const RUN: [&str; 11] = [
    "run",
    "act-storage",
    "sim:flash",
    "sim:flash?seed=2",
    "--for",
    "60s",
    "--slice",
    "20s",
    "--seed",
    "1",
    "--warm-up=3s",
];

#[test]
fn everything_of_the_first_tab_stands_on_a_terminal_of_80_columns_and_24_rows() {
    let lines = log_of(&RUN);
    let [state, _] = states_of(&lines[..lines.len() * 2 / 3]);
    let judged = state.judged.as_ref().unwrap();
    let head = state.head.as_ref().unwrap();
    let moment = state.newest_moment().unwrap();
    for (columns, rows) in [(80, 24), (200, 60)] {
        let text = shown(&state, b"", columns, rows).join("\n");
        let line = format!("line {} of the log, judged up to line {}", state.seq, judged.seq);
        for word in [
            "[1 overview]",
            "? keys  q leaves",
            "act-storage",
            "seed 1",
            "SHORT, SIMULATED",
            "RUNNING",
            "no bound broken so far",
            "measure:",
            "achieved by reads",
            "share over 1ms of reads",
            &line,
        ] {
            assert!(text.contains(word), "{word} at {columns}x{rows}:\n{text}");
        }
        for stream in &head.streams {
            assert!(text.contains(&stream.name), "{}:\n{text}", stream.name);
        }
        assert_eq!(text.matches("not broken so far").count(), judged.part.criteria.len(), "{text}");
        assert!(text.contains('▇') || text.contains('█'), "{text}");
        let achieved = moment.streams[0].achieved;
        assert!(
            text.contains(&format!("{},{:03}/s", achieved as u64 / 1000, achieved as u64 % 1000)),
            "{achieved}:\n{text}"
        );
    }
}

#[test]
fn each_tab_has_its_figures() {
    let lines = log_of(&RUN);
    let [state, _] = states_of(&lines[..lines.len() * 2 / 3]);
    let part = &state.judged.as_ref().unwrap().part;
    let reads = part.streams.each.iter().find(|stream| stream.name == "reads" && stream.target.is_none()).unwrap();
    let span = |ns: Option<u64>| assay_base::Span::from_ns(ns.unwrap()).human_text();
    let times = shown(&state, b"2", 80, 24).join("\n");
    for word in [
        span(reads.response.p50_ns),
        span(reads.response.p99_ns),
        span(reads.response.p99_9_ns),
        "reads (1 of 3)".to_owned(),
    ] {
        assert!(times.contains(&word), "{word}:\n{times}");
    }
    let other = shown(&state, b"2\x1b[C", 80, 24).join("\n");
    assert!(other.contains("large-block-reads (2 of 3)"), "{other}");
    let targets = shown(&state, b"3", 80, 24).join("\n");
    for target in &part.targets.each {
        let read = assay_base::Bytes::new(target.read_bytes).human_text();
        assert!(targets.contains(&target.head.name) && targets.contains(&read), "{read}:\n{targets}");
    }
    let slices = shown(&state, b"4", 80, 24);
    let numbers: Vec<&str> = slices.iter().filter_map(|row| row.split_whitespace().next()).collect();
    for slice in &part.slices.listed {
        assert!(numbers.contains(&slice.number.to_string().as_str()), "{slices:#?}");
    }
    let keys = shown(&state, b"?", 80, 24).join("\n");
    assert!(keys.contains("the run goes on"), "{keys}");
}

#[test]
fn a_database_is_shown_with_its_figure_a_minute_and_the_disk_beneath() {
    let place = Place::new();
    place.assay(&["prep", "sqlite:orders.db", "--warehouses", "1"]);
    let run = ["run", "tpcc", "sqlite:orders.db", "--for", "6s", "--slice", "3s", "--warm-up", "1s", "--seed", "1"];
    place.assay(&[&run[..], &["--out", "whole"]].concat());
    let [_, ended] = states_of(&lines_of(&place, "whole"));
    let part = &ended.judged.as_ref().unwrap().part;
    let figures: Vec<String> = part.streams.per_minute.iter().map(|figure| figure.in_words()).collect();
    assert!(figures.iter().any(|figure| figure.starts_with("NOPM ")), "{figures:?}");
    let (overview, targets) = (shown(&ended, b"", 100, 30).join("\n"), shown(&ended, b"3", 100, 30).join("\n"));
    for figure in figures {
        assert!(overview.contains(&figure) && targets.contains(&figure), "{figure}:\n{overview}\n{targets}");
    }
    assert!(targets.contains("sqlite:orders.db") && targets.contains("1 warehouse"), "{targets}");
    for meter in &part.targets.meters {
        assert!(targets.contains(&meter.head.name), "{targets}");
    }
}

#[test]
fn a_small_terminal_has_one_column_and_none_is_too_small() {
    let lines = log_of(&RUN);
    let [state, ended] = states_of(&lines);
    let [running, _] = states_of(&lines[..lines.len() / 2]);
    let small = shown(&running, b"", 59, 24).join("\n");
    for word in ["RUNNING", "achieved  ", "in flight ", "not broken so far"] {
        assert!(small.contains(word) && !small.contains("[1 overview]"), "{word}:\n{small}");
    }
    assert!(shown(&running, b"", 60, 15).join("\n").contains("[1 overview]"));
    for (columns, rows) in
        [(60, 15), (59, 15), (60, 14), (40, 10), (20, 5), (8, 2), (1, 1), (500, 3), (3, 200), (200, 60)]
    {
        for typed in TYPED {
            for state in [&running, &state, &ended] {
                assert_eq!(shown(state, typed, columns, rows).len(), usize::from(rows));
            }
        }
    }
}

#[test]
fn nothing_says_pass_before_the_end() {
    for args in [
        &["run", "act-storage", "sim:flash", "--for", "20s", "--slice", "6s", "--seed", "1"][..],
        &["certify", "sim:flash", "--for", "6s", "--seed", "3"],
    ] {
        let lines = log_of(args);
        for count in 1..=lines.len() {
            let [state, _] = states_of(&lines[..count]);
            for typed in TYPED {
                let text = shown(&state, typed, 120, 40).join("\n");
                assert!(!text.contains("PASS"), "{count} of {} lines:\n{text}", lines.len());
            }
        }
        let [_, ended] = states_of(&lines);
        let text = shown(&ended, b"", 80, 24).join("\n");
        assert!(text.contains("ended: q leaves and prints the result"), "{text}");
        assert!(text.contains(&ended.standing.verdict().unwrap().to_string()), "{text}");
    }
}

#[test]
fn a_broken_bound_is_said_in_words() {
    let lines = log_of(&["run", "act-storage", "sim:disk", "--for", "12s", "--slice", "4s", "--seed", "2"]);
    let [state, _] = states_of(&lines[..lines.len() - 1]);
    for appearance in [PLAIN, Appearance { colours: true, ..PLAIN }] {
        let of_tab = |typed: &[u8]| picture_rows(&state, typed, TerminalSize::new(100, 30), appearance).join("\n");
        assert!(of_tab(b"").contains(" FAIL ") && of_tab(b"").contains("certain, whatever follows"), "{}", of_tab(b""));
        assert!(of_tab(b"").contains("BROKEN") && of_tab(b"4").contains("BROKEN"), "{}", of_tab(b"4"));
    }
}

#[test]
fn names_of_a_forged_log_do_nothing_to_a_terminal() {
    let lines = log_of(&["run", "act-storage", "sim:flash", "--for", "20s", "--slice", "6s", "--seed", "1"]);
    for hostile in [
        "\u{1b}[2J\u{1b}]0;title\u{7}",
        "a\u{202e}\u{2066}gnp\u{9b}31m",
        "z\u{301}\u{301}\u{301}\u{200d}\u{200d}",
        "漢字漢字漢字漢字漢字漢字漢字漢字",
        &"x".repeat(100_000),
        "a\nb\rc",
    ] {
        let forged = renamed(&lines, "reads", hostile);
        let [state, ended] = states_of(&forged);
        for state in [&state, &ended] {
            for typed in TYPED {
                let rows = picture_rows(state, typed, TerminalSize::new(80, 24), PLAIN);
                let text = rows.join("\n");
                let is_harmful =
                    |c: char| c != '\n' && (c.is_control() || "\u{202e}\u{2066}\u{200d}\u{301}".contains(c));
                assert!(!text.contains(is_harmful), "{hostile:?}: {text:?}");
            }
            assert!(!state_as_text(state, 80, PLAIN).contains(|c: char| c != '\n' && c.is_control()));
        }
    }
}

#[test]
fn signs_that_a_terminal_lacks_are_replaced() {
    let lines = log_of(&["run", "act-storage", "sim:flash", "--for", "20s", "--slice", "6s", "--seed", "1"]);
    let [state, _] = states_of(&lines);
    let ascii = Appearance { sign_for: |c| if c.is_ascii() { c } else { '#' }, ..PLAIN };
    for typed in TYPED {
        let text = picture_rows(&state, typed, TerminalSize::new(80, 24), ascii).join("\n");
        assert!(text.is_ascii(), "{text}");
    }
}

/// A log that goes on as long as the writer is there.
fn going_on(place: &Place) -> Writer {
    place.assay(&[
        "run",
        "act-storage",
        "sim:flash",
        "--for",
        "60s",
        "--slice",
        "20s",
        "--seed",
        "1",
        "--out",
        "whole",
    ]);
    let lines = lines_of(place, "whole");
    let mut writer = Writer::begin(place, "live");
    writer.append(&lines[..lines.len() / 2]);
    writer
}

fn log_bytes(place: &Place) -> Vec<u8> {
    std::fs::read(place.path("live/run.jsonl")).unwrap()
}

#[test]
fn keys_and_sizes_change_the_view_and_leaving_it_leaves_the_run() {
    let place = Place::new();
    let writer = going_on(&place);
    let before = log_bytes(&place);
    for leave in ["q", "\u{3}"] {
        let mut console = Console::start(place.command(&["watch", "live"]), (24, 80));
        console.wait_for("[1 overview]");
        console.wait_for("no bound broken so far");
        for (key, word) in [
            ("2", "p99.9 of the response"),
            ("\u{1b}[C", "large-block-reads (2 of 3)"),
            ("3", "sim:flash"),
            ("4", "[4 slices]"),
            ("5", "[5 events]"),
            ("?", "draw everything once more"),
            ("1", "criterion"),
        ] {
            console.type_in(key);
            console.wait_for(word);
        }
        console.resize((14, 50));
        console.wait_for("in flight ");
        console.wait_until_gone("[1 overview]");
        console.resize((40, 120));
        console.wait_for("[1 overview]");
        console.type_in(leave);
        let (code, lines) = console.end();
        let text = lines.join("\n");
        assert_eq!(code, Some(12), "nobody knows yet: {text}");
        assert!(text.contains("the run goes on; assay watch live shows it again"), "{text}");
        assert!(
            text.contains("RUNNING") && text.contains("not broken so far") && !text.contains("[1 overview]"),
            "{text}"
        );
    }
    assert_eq!(log_bytes(&place), before);
    drop(writer);
}

#[test]
fn a_finished_run_is_shown_until_somebody_leaves_and_then_its_result() {
    let place = Place::new();
    place.assay(&["run", "act-storage", "sim:flash", "--for", "20s", "--slice", "6s", "--seed", "1", "--out", "run"]);
    let mut console = Console::start(place.command(&["watch", "run"]), (24, 80));
    console.wait_for("ended: q leaves and prints the result");
    console.type_in("q");
    let (code, lines) = console.end();
    let judged = place.assay(&["judge", "run"]);
    assert_eq!(code, judged.code);
    let first = judged.out.lines().next().unwrap();
    assert!(lines.iter().any(|line| line == first), "{first}: {lines:#?}");
    let said = place.assay(&["watch", "run"]);
    assert!(said.out.starts_with(first) && !said.out.contains('\u{1b}'), "{said:?}");
}

#[test]
fn lines_instead_of_the_view_where_they_are_wanted_or_it_cannot_be_shown() {
    let place = Place::new();
    place.assay(&["run", "random-read", "sim:flash", "--for", "5s", "--slice", "2s", "--seed", "1", "--out", "run"]);
    for (args, term) in
        [(&["watch", "run", "--plain"][..], "xterm"), (&["watch", "run"], "dumb"), (&["watch", "run"], "")]
    {
        let mut command = place.command(args);
        command.env("TERM", term);
        let (code, lines) = Console::start_as_is(command, (24, 80)).end();
        let text = lines.join("\n");
        assert!(code == place.assay(&["judge", "run"]).code && !text.contains("overview"), "{args:?} {term}: {text}");
    }
}

/// The settings of a terminal.
fn settings(terminal: &impl AsRawFd) -> libc::termios {
    // SAFETY: the structure is written by the call.
    unsafe {
        let mut settings = std::mem::zeroed();
        assert_eq!(libc::tcgetattr(terminal.as_raw_fd(), &raw mut settings), 0);
        settings
    }
}

/// A view that was begun at a terminal of which the test has both ends.
fn begin_at_terminal(place: &Place) -> (std::process::Child, File, File) {
    let (master, slave) = pseudo_terminal(24, 80);
    begin_at(place, master, slave)
}

fn begin_at(place: &Place, master: File, slave: File) -> (std::process::Child, File, File) {
    let mut command = place.command(&["watch", "live"]);
    command.env("TERM", "xterm").env("LC_ALL", "C.UTF-8");
    let end = || Stdio::from(slave.try_clone().unwrap());
    command.stdin(end()).stdout(end()).stderr(end());
    super::console::lead_a_session(&mut command);
    let child = command.spawn().unwrap();
    (child, master, slave)
}

/// Reads what a terminal was told until these words come.
fn read_until(master: &mut File, words: &str) -> String {
    let mut text = String::new();
    let mut bytes = [0; 4096];
    while !text.contains(words) {
        let n = master.read(&mut bytes).unwrap();
        assert!(n > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&bytes[..n]));
    }
    text
}

#[test]
fn a_signal_gives_the_terminal_back_and_ends_the_view_only() {
    let place = Place::new();
    let _writer = going_on(&place);
    let before = log_bytes(&place);
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT] {
        let (master, slave) = pseudo_terminal(24, 80);
        let cooked = settings(&slave);
        let (mut child, mut master, slave) = begin_at(&place, master, slave);
        read_until(&mut master, "RUNNING");
        assert_eq!(settings(&slave).c_lflag & (libc::ICANON | libc::ECHO), 0, "keys come at once");
        // SAFETY: the process was started by this test.
        unsafe { libc::kill(child.id() as i32, signal) };
        let said = read_until(&mut master, "shows it again");
        let status = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(signal), "{status}");
        assert!(said.contains("\u{1b}[?1049l") && said.contains("\u{1b}[?25h"), "{said:?}");
        let after = settings(&slave);
        assert_eq!((after.c_lflag, after.c_iflag, after.c_oflag), (cooked.c_lflag, cooked.c_iflag, cooked.c_oflag));
    }
    assert_eq!(log_bytes(&place), before);
}

#[test]
fn a_view_that_is_killed_or_whose_terminal_is_closed_leaves_the_log_alone() {
    let place = Place::new();
    let mut writer = going_on(&place);
    let (mut child, mut master, slave) = begin_at_terminal(&place);
    read_until(&mut master, "RUNNING");
    child.kill().unwrap();
    child.wait().unwrap();
    drop((master, slave));
    let (mut child, mut master, slave) = begin_at_terminal(&place);
    read_until(&mut master, "RUNNING");
    let before = log_bytes(&place);
    drop((master, slave));
    until("the view has ended with its terminal", || child.try_wait().unwrap().is_some());
    assert_eq!(log_bytes(&place), before);
    let lines = lines_of(&place, "whole");
    writer.append(&lines[lines.len() / 2..]);
    drop(writer);
    assert_eq!(log_bytes(&place), std::fs::read(place.path("whole/run.jsonl")).unwrap());
}
