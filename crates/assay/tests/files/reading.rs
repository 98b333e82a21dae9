//! Names that are given for reading and do not belong to regular files: they are refused at once. The program neither
//! waits for such a file nor reads one that never ends.

use super::bed::{Place, Said};
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Nothing here takes this long unless it hangs.
const WAITS: Duration = Duration::from_secs(60);

/// Command lines that read the file NAME.
const READERS: [&[&str]; 30] = [
    &["run", "NAME", "sim:flash", "--for", "1s"],
    &["explain", "NAME"],
    &["limit", "NAME", "sim:flash"],
    &["curve", "NAME", "sim:flash"],
    &["cache-curve", "NAME", "sim:flash"],
    &["fit", "NAME", "sim:flash"],
    &["fit", "profile.toml", "sim:flash", "--resume", "NAME"],
    &["size", "NAME", "sim:flash"],
    &["size", "profile.toml", "sim:flash", "--resume", "NAME"],
    &["certify", "sim:flash", "--sign", "NAME"],
    &["run", "random-read", "sim:flash", "--sign", "NAME"],
    &["run", "random-read", "sim:flash", "--resume", "NAME"],
    &["limit", "random-read", "sim:flash", "--for", "1s", "--resume", "NAME"],
    &["judge", "NAME"],
    &["check", "sqlite:shop.db", "--after", "NAME"],
    &["watch", "NAME"],
    &["live", "NAME"],
    &["live", "run", "--token-file", "NAME"],
    &["mark", "NAME", "text"],
    &["capture", "--show", "NAME"],
    &["report", "NAME"],
    &["verify", "NAME"],
    &["verify", "run", "NAME"],
    &["verify", "run", "--key", "NAME"],
    &["compare", "NAME", "run"],
    &["export", "NAME", "--to", "csv"],
    &["export", "NAME", "--to", "act-log"],
    &["import", "aerospike", "NAME"],
    &["as", "act_storage", "NAME"],
    &["as", "act_latency", "-l", "NAME"],
];

/// Runs the program to its end, which must come in time.
fn ends(place: &Place, args: &[&str]) -> Said {
    let mut child = place.command(args).stdout(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > WAITS {
            child.kill().unwrap();
            panic!("{args:?} waits: {:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Said::of(child.wait_with_output().unwrap(), args)
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let place = Place::new();
    let made = place.assay(&["run", "random-read", "sim:flash", "--for", "2s", "--slice", "1s", "--out", "run"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    place.write("profile.toml", super::writing::PROFILE);
    let fifo = |name: &str| {
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, place.path(name), kind, mode, 0).unwrap();
    };
    fifo("fifo");
    fifo("fifo.json");
    fifo("fifo.conf");
    fs::create_dir(place.path("inside")).unwrap();
    ["inside/run.jsonl", "inside/verdict.json", "inside/limit.json", "inside/fit.json", "inside/size.json"]
        .into_iter()
        .for_each(fifo);
    std::os::unix::fs::symlink("fifo", place.path("link")).unwrap();
    for args in READERS {
        for name in ["fifo", "fifo.json", "fifo.conf", "link", "inside", "/dev/zero"] {
            let args: Vec<&str> = args.iter().map(|word| if *word == "NAME" { name } else { *word }).collect();
            let said = ends(&place, &args);
            // The exit code is not that of a success or of a verdict. Drop-ins have the exit codes of their originals.
            assert!(!matches!(said.code, Some(0 | 10..=12) | None), "{args:?}: {said:?}");
            let told = format!("{}{}", said.out, said.err);
            // ACT opens a directory, too, and reads no line from it.
            if args[..] == ["as", "act_storage", "inside"] {
                assert!(told.contains("missing configuration"), "{said:?}");
                continue;
            }
            let named = told.contains(name)
                && ["FIFO", "character device", "directory", "not found", "traceback"].iter().any(|w| told.contains(w));
            assert!(named, "{args:?}: {said:?}");
        }
    }
    let mut left = place.left(&["run", "profile.toml", "fifo", "fifo.json", "fifo.conf", "inside", "link"]);
    left.retain(|name| name != "assay-runs");
    assert_eq!(left, [""; 0]);
}

/// The unnamed pipe of a shell, as in `<(zcat act.conf.gz)`, has a writer, so that waiting for it is right.
#[test]
fn the_pipes_of_a_shell_are_read() {
    let place = Place::new();
    let text = place.assay(&["workloads", "random-read"]).out;
    place.write("w.toml", &text);
    let script = format!("{} explain <(sleep 0.2; cat w.toml) sim:flash", env!("CARGO_BIN_EXE_assay"));
    let piped = std::process::Command::new("bash").args(["-c", &script]).current_dir(place.path(".")).output().unwrap();
    let piped = Said::of(piped, &["explain <(…)"]);
    assert_eq!((piped.code, &piped.out), (Some(0), &place.assay(&["explain", "w.toml", "sim:flash"]).out), "{piped:?}");
}

/// A preparation record that is a FIFO is ignored.
#[test]
fn a_record_that_is_no_file_is_none() {
    let place = Place::new();
    assert_eq!(place.assay(&["prep", "new.dat", "--create", "1MiB"]).code, Some(0));
    let record = fs::read_dir(place.path("state/assay/prepared")).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(&record).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &record, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let said = ends(&place, &["run", "random-read", "new.dat", "--for", "1s", "--slice", "1s", "--out", "run"]);
    said.is_of_verdict(&place.path("run"));
}

/// Names may come from other people: in a plan that is shown, a name cannot begin a new line or change the direction of
/// text.
#[test]
fn hostile_names_make_no_lines_of_a_plan() {
    let place = Place::new();
    let name = "a\\nALL CLEAR\\u202Eb\\u2028c\\u001b[2J";
    let text = format!(
        "name = \"{name}\"\nmodel = \"streams\"\n[[stream]]\nname = \"s\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"10/s\"\n\
         [[criterion]]\nstream = \"s\"\nshare_over = \"1ms\"\nbelow = \"5%\"\n"
    );
    place.write("x.toml", &text);
    place.write("t\nALL CLEAR\u{202e}", "data of somebody");
    fs::write(place.path("t\nALL CLEAR\u{202e}"), [1; 1 << 20]).unwrap();
    let plain = text.replace(name, "plain");
    place.write("plain.toml", &plain);
    let lines = |file: &str, target: &str| {
        let said = place.assay(&["explain", file, target]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(!said.out.contains(['\u{202e}', '\u{2028}', '\u{1b}']), "{said:?}");
        assert!(!said.out.lines().any(|line| line.starts_with("ALL CLEAR")), "{said:?}");
        said.out.lines().count()
    };
    assert_eq!(lines("x.toml", "sim:flash"), lines("plain.toml", "sim:flash"));
    assert_eq!(lines("x.toml", "t\nALL CLEAR\u{202e}"), lines("plain.toml", "sim:flash"));
    for args in [&["devices", "t\nALL CLEAR\u{202e}"][..], &["doctor", "t\nALL CLEAR\u{202e}"]] {
        let said = place.assay(args);
        assert!(said.out.contains("ALL CLEAR") && !said.out.contains('\u{202e}'), "{said:?}");
        assert!(!said.out.lines().any(|line| line.starts_with("ALL CLEAR")), "{said:?}");
    }
}

/// Every verb's message about a file that cannot be used, whatever the name of the file: the message shows the name in
/// its own line, and the name does nothing to a terminal.
#[test]
fn hostile_names_make_no_lines_of_a_message() {
    let place = Place::new();
    let made = place.assay(&["run", "random-read", "sim:flash", "--for", "2s", "--slice", "1s", "--out", "run"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let name = "x\nerror: ALL CLEAR\u{1b}[2J\u{202e}y";
    let more: [&[&str]; 14] = [
        &["run", "random-read", "NAME"],
        &["run", "random-read", "NAME", "NAME"],
        &["run", "act-storage", "NAME", "--create", "16MiB", "--for", "1s"],
        &["run", "random-read", "null:NAME"],
        &["run", "random-read", "sim:flash", "--for", "2s", "--slice", "1s", "--out", "NAME/in"],
        &["run", "random-read", "sim:flash", "--NAME"],
        &["run", "random-read", "sim:flash", "--for", "NAME"],
        &["NAME"],
        &["certify", "NAME"],
        &["certify", "NAME.toml", "sim:flash"],
        &["prep", "NAME"],
        &["consent", "NAME"],
        &["man", "NAME"],
        &["curve", "random-read", "sim:flash", "--stream", "NAME", "--max", "1x"],
    ];
    for kind in ["absent", "directory", "text", "toml"] {
        let path = place.path(name);
        match kind {
            "directory" => fs::create_dir(&path).unwrap(),
            "text" => fs::write(&path, "no log and no workload").unwrap(),
            "toml" => fs::write(&path, "name = \"a\"\nmodel = \"streams\"\nnonsense = 1\n").unwrap(),
            _ => {}
        }
        for args in READERS.iter().chain(&more) {
            let words: Vec<String> = args.iter().map(|word| word.replace("NAME", name)).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let said = ends(&place, &words);
            // Drop-ins use the words of their originals.
            if words[0] == "as" {
                continue;
            }
            let told = format!("{}{}", said.out, said.err);
            assert!(!told.contains(['\u{202e}', '\u{1b}']), "{kind} {args:?}: {told:?}");
            assert!(!told.lines().any(|line| line.starts_with("error: ALL CLEAR")), "{kind} {args:?}: {told}");
        }
        let _ = fs::remove_dir_all(&path);
        let _ = fs::remove_file(&path);
    }
}
