//! A person at a terminal, simulated by a pseudo-terminal: the program asks again before a device loses its data, and
//! the person can refuse.

use super::bed::{Place, until};
use super::console::{lead_a_session, pseudo_terminal};
use super::devices::{Disk, Frozen, Loop, Mounted};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// A program whose standard input and messages are a terminal.
pub struct Seated {
    child: Child,
    keyboard: File,
    shown: Arc<Mutex<String>>,
    screen: JoinHandle<()>,
}

impl Seated {
    pub fn at(mut command: Command) -> Seated {
        let (master, slave) = pseudo_terminal(24, 80);
        command.stdin(slave.try_clone().unwrap()).stderr(slave).stdout(Stdio::null());
        lead_a_session(&mut command);
        let child = command.spawn().unwrap();
        drop(command);
        let shown = Arc::new(Mutex::new(String::new()));
        let (mut other, text) = (master.try_clone().unwrap(), shown.clone());
        let screen = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The terminal returns EIO once nobody has its other end open.
            while let Ok(n) = other.read(&mut bytes) {
                text.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..n]));
            }
        });
        Seated { child, keyboard: master, shown, screen }
    }

    pub fn shown(&self) -> String {
        self.shown.lock().unwrap().clone()
    }

    pub fn sees(&mut self, words: &str) {
        until(words, || {
            let gone = self.child.try_wait().unwrap();
            assert!(gone.is_none() || self.shown().contains(words), "ended without \"{words}\": {}", self.shown());
            self.shown().contains(words)
        });
    }

    pub fn types(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    pub fn ends(&mut self) -> (Option<i32>, String) {
        until("its end", || self.child.try_wait().unwrap().is_some() && self.screen.is_finished());
        (self.child.wait().unwrap().code(), self.shown())
    }
}

const CTRL_C: &str = "\x03";
const RUN: [&str; 5] = ["run", "act-storage", "--for", "1s", "--out"];

fn tail(token: &str) -> &str {
    &token[token.len() - 4..]
}

#[test]
fn one_device_is_confirmed_by_four_characters() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 16 << 20) else { return };
    let token = disk.token(&place);
    let consent = ["--destroy-data", &token];
    let before = disk.counted();
    // A wrong answer, no answer, Ctrl-C and the end of the input all prevent writing.
    for answer in ["0000\n", "\n", "yes\n", CTRL_C, "\x04"] {
        let mut seated = Seated::at(place.command(&[&RUN[..], &["run", disk.path()], &consent].concat()));
        seated.sees("Type the last 4 of the token");
        assert!(seated.shown().contains("All data will be lost") && seated.shown().contains(disk.path()));
        seated.types(answer);
        let (code, shown) = seated.ends();
        assert_eq!(code, Some(4), "{answer:?}: {shown}");
        assert!(shown.contains("nothing was written"), "{answer:?}: {shown}");
        disk.until_free();
    }
    // A terminal alone does not mean consent.
    let mut seated = Seated::at(place.command(&[&RUN[..], &["run", disk.path()]].concat()));
    let (code, shown) = seated.ends();
    assert!(code == Some(4) && shown.contains("consent") && !shown.contains("Type"), "{shown}");
    assert_eq!((disk.counted() - before).writes, 0);
    assert_eq!(place.left(&["disk.img"]), [""; 0]);

    let mut seated = Seated::at(place.command(&[&RUN[..], &["run", disk.path()], &consent].concat()));
    seated.sees("Type the last 4");
    seated.types(&format!("{}\n", tail(&token).to_uppercase()));
    let (code, shown) = seated.ends();
    assert!(matches!(code, Some(0 | 10 | 11)), "{code:?}: {shown}");
    assert!((disk.counted() - before).writes > 0 && place.path("run/verdict.json").exists());
    // Reading destroys nothing, so nothing is asked.
    disk.until_free();
    let mut seated = Seated::at(place.command(&["run", "random-read", disk.path(), "--for", "1s", "--out", "read"]));
    let (code, shown) = seated.ends();
    assert!(matches!(code, Some(0 | 10 | 11)) && !shown.contains("Type the last"), "{code:?}: {shown}");
}

#[test]
fn before_several_devices_lose_their_data_there_are_ten_seconds() {
    let place = Place::new();
    let disks = ["one.img", "two.img"].map(|name| Loop::over(&place, name, 16 << 20));
    let [Some(one), Some(two)] = disks else { return };
    let tokens = [one.token(&place), two.token(&place)];
    let consent = tokens.join(",");
    let command =
        [&RUN[..], &["run", one.path(), two.path(), "new.dat", "--create", "16MiB", "--destroy-data", &consent]];
    let confirmed = |ended: bool| {
        let mut seated = Seated::at(place.command(&command.concat()));
        for (disk, token) in [(&one, &tokens[0]), (&two, &tokens[1])] {
            seated.sees(&format!("Type the last 4 of the token of {}", disk.path()));
            seated.types(&format!("{}\n", tail(token)));
        }
        seated.sees("2 devices begins in 10s; Ctrl-C ends it");
        if ended {
            seated.types(CTRL_C);
        }
        seated.ends()
    };
    let before = [one.counted(), two.counted()];
    let (code, shown) = confirmed(true);
    assert_eq!(code, Some(4), "{shown}");
    assert!(shown.contains("ended before the first write; nothing was written"), "{shown}");
    assert_eq!([one.counted() - before[0], two.counted() - before[1]].map(|counted| counted.writes), [0, 0]);
    assert_eq!(place.left(&["one.img", "two.img"]), [""; 0], "the file that it had made is gone");
    one.until_free();
    two.until_free();
    let (code, shown) = confirmed(false);
    assert!(matches!(code, Some(0 | 10 | 11)), "{code:?}: {shown}");
    assert!((two.counted() - before[1]).writes > 0);
}

#[test]
fn a_drop_in_asks_for_the_token_once() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 16 << 20) else { return };
    let token = disk.token(&place);
    let command = || place.command(&["as", "act_prep", disk.path()]);
    let mut seated = Seated::at(command());
    seated.sees("type their tokens");
    seated.types(&format!("{token}\n"));
    let (code, shown) = seated.ends();
    assert!(code == Some(0) && !shown.contains("Type the last"), "{code:?}: {shown}");
    disk.until_free();
    let mut given = command();
    given.env("ASSAY_DESTROY_DATA", &token);
    let mut seated = Seated::at(given);
    seated.sees("Type the last 4 of the token");
    seated.types("no\n");
    assert_eq!(seated.ends().0, Some(4));
}

#[test]
fn the_live_line_keeps_the_lag_at_80_columns() {
    let place = Place::new();
    let run = ["run", "act-storage", "null:1GiB", "--load", "30x", "--for", "3s", "--slice", "1s", "--out", "run"];
    let mut seated = Seated::at(place.command(&run));
    seated.sees("lag p99 <=");
    let (_, shown) = seated.ends();
    // Each update of the second line; what does not fit is cut off at its end.
    let lines: Vec<&str> = shown.split(['\n', '\r']).filter(|line| line.contains(" left ")).collect();
    // While the run drains, nothing is due, and there is no lag to show.
    let with_rate: Vec<&&str> = lines.iter().filter(|line| line.contains("/s of") && line.contains("over ")).collect();
    assert!(!with_rate.is_empty() && with_rate.iter().all(|line| line.contains("lag p99 <=")), "{shown}");
    let place_of = |line: &str, what| line.find(what).unwrap();
    assert!(with_rate.iter().all(|line| place_of(line, "lag p99") < place_of(line, "/s of")), "{shown}");
}

/// The device is on a file system that is frozen: neither a discard nor a write completes.
#[test]
fn a_preparation_hears_ctrl_c_while_the_device_discards_and_the_second_while_it_hangs() {
    let place = Place::new();
    let Some(low) = Loop::over(&place, "low.img", 256 << 20) else { return };
    let Some(_mounted) = Mounted::ext4(&low, place.path("mounted")) else { return };
    // A file without blocks would have nothing to discard.
    std::fs::write(place.path("mounted/disk.img"), vec![0; 64 << 20]).unwrap();
    let Some(disk) = Loop::over(&place, "mounted/disk.img", 64 << 20) else { return };
    let token = disk.token(&place);
    let begin = |more: &[&str]| {
        let command = place.command(&[&["prep", disk.path(), "--destroy-data", &token], more].concat());
        let mut seated = Seated::at(command);
        seated.sees("Type the last 4");
        seated
    };
    let records = place.path("state/assay/prepared");
    let recorded = || std::fs::read_dir(&records).is_ok_and(|mut all| all.next().is_some());

    let mut seated = begin(&["--discard"]);
    let Some(frozen) = Frozen::at(place.path("mounted")) else { return };
    seated.types(&format!("{}\n", tail(&token)));
    until("the discard", recorded);
    seated.types(CTRL_C);
    // The terminal shows the key once the signal is sent.
    seated.sees("^C");
    drop(frozen);
    let (code, shown) = seated.ends();
    assert!(code == Some(12) && shown.contains("interrupted"), "{code:?}: {shown}");
    disk.until_free();

    let mut seated = begin(&[]);
    let Some(frozen) = Frozen::at(place.path("mounted")) else { return };
    seated.types(&format!("{}\n", tail(&token)));
    let in_flight = || std::fs::read_to_string(format!("/sys/block/{}/inflight", disk.name())).unwrap();
    until("writes that hang", || in_flight().split_whitespace().nth(1) != Some("0"));
    seated.types(CTRL_C);
    // Two signals that are pending become one. Also, each Ctrl-C makes the terminal drop what it has not shown yet.
    std::thread::sleep(std::time::Duration::from_secs(1));
    let once = seated.shown();
    assert!(!once.contains("interrupted"), "it waits for what is in flight: {once}");
    seated.types(CTRL_C);
    until("its end while the device still hangs", || seated.shown().contains("interrupted"));
    drop(frozen);
    assert_eq!(seated.ends().0, Some(12));
}
