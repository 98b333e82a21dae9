//! What is left on a terminal at the end of each verb, at 80×24 and at 120×40: what the same command leaves in a pipe.
//! The live block is drawn and erased many times on the way, and nothing that was printed may go with it.

use super::bed::Place;
use super::console::Console;
use std::collections::BTreeSet;
use std::io::Read;
use std::process::Stdio;

/// Sizes of terminals: rows and columns.
const SIZES: [(u16, u16); 2] = [(24, 80), (40, 120)];

const PROFILE: &str = r#"
name = "small"
model = "profile"
[[namespace]]
name = "ns"
drives = ["sda"]
[namespace.reads]
rate = "800/s"
larger_than = [["4KiB", "100%"], ["8KiB", "50%"], ["16KiB", "0%"]]
[namespace.large_blocks]
writes = "80/s"
[[iostat]]
drive = "sda"
reads = "800/s"
writes = "80/s"
read_bytes = "7000KiB"
write_bytes = "10240KiB"
"#;

const SPECIFICATION: &str = "Version 1.1.0\n'ACCESS SPECIFICATIONS\n'Access specification name,default assignment\n\t4K,NONE\n'size,% of size,% reads,% random,delay,burst,align,reply\n\t4096,100,100,100,0,1,0,0\n'END access specifications\n";

/// How much of what a command prints is the same each time.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Same {
    /// Every word.
    Everything,
    /// The last line: what stands above it depends on the time or on the state of this machine.
    End,
}

/// Commands that only print.
const PRINTED: &[(Same, &str)] = &[
    (Same::Everything, "workloads"),
    (Same::Everything, "workloads act-storage"),
    (Same::Everything, "explain act-storage sim:flash"),
    (Same::Everything, "explain certify sim:flash"),
    (Same::Everything, "new reads --read-rate 1000/s"),
    (Same::Everything, "import iometer job.icf --for 2s"),
    (Same::Everything, "links tools"),
    (Same::Everything, "devices small.toml"),
    (Same::Everything, "consent"),
    (Same::Everything, "clean ."),
    (Same::End, "doctor"),
    (Same::Everything, "completions bash"),
    (Same::End, "man run"),
    (Same::Everything, "as act_latency"),
    (Same::Everything, "cache-curve oltp sim:flash --operations 10000"),
    (Same::Everything, "run act-storage nowhere.img"),
];

/// Runs, and what reads them; later commands find what earlier ones left.
const RUNS: &[(Same, &str)] = &[
    (Same::Everything, "run act-storage sim:flash --for 4s --slice 2s --seed 1 --out run"),
    (Same::Everything, "run act-storage sim:flash --for 4s --slice 2s --seed 1 --load 40x --out failed"),
    (Same::Everything, "run random-read sim:flash --for 2s --seed 1 --out closed"),
    (Same::Everything, "judge run"),
    (Same::Everything, "judge failed"),
    (Same::Everything, "judge run --table"),
    (Same::Everything, "watch run --plain"),
    (Same::Everything, "watch failed --plain"),
    (Same::Everything, "mark run nothing"),
    (Same::Everything, "live nowhere"),
    (Same::Everything, "report run"),
    (Same::Everything, "verify run"),
    (Same::Everything, "compare run failed --anyway"),
    (Same::Everything, "export run --to csv"),
    (Same::End, "run act-storage sim:flash --for 4s --slice 2s --seed 1 --local 2 --out joint"),
    (Same::Everything, "merge joint"),
];

const CERTIFICATIONS: &[(Same, &str)] = &[
    (Same::End, "certify sim:flash --for 2s --seed 1 --out certified"),
    (Same::End, "certify sim:flash --quick --seed 1 --out quick"),
];

const PROCEDURES: &[(Same, &str)] = &[
    (Same::Everything, "limit act-storage sim:flash --for 2s --seed 1 --from 8x --to 32x --out limit"),
    (Same::Everything, "curve act-storage sim:flash --for 2s --seed 1 --max 20x --points 50%,100% --out curve"),
    (
        Same::Everything,
        "curve oltp sim:flash --for 4s --slice 2s --warm-up 1s --seed 1 --max 1x --points 50%,100% --out oltp",
    ),
    (Same::Everything, "matrix orion sim:flash --disks 1 --for 1s --seed 1 --out matrix"),
];

const PROFILES: &[(Same, &str)] = &[
    (Same::Everything, "capture --show small.toml"),
    (Same::Everything, "fit small.toml sim:flash --for 2s --rounds 2 --seed 1 --out fit"),
    (
        Same::Everything,
        "size small.toml sim:flash sim:disk --for 2s --fit-for 2s --rounds 1 --to 2x --seed 1 --out size",
    ),
];

const FILES: &[(Same, &str)] = &[
    (Same::Everything, "prep disk.img --create 4MiB"),
    (Same::End, "run random-read disk.img --for 2s --out real"),
    (Same::End, "suite mounts a=one b=two --workloads commit --rounds 1 --for 1s --memory none --seed 1 --out suite"),
];

const DATABASES: &[(Same, &str)] = &[
    (Same::Everything, "prep sqlite:shop.db --warehouses 1"),
    (Same::Everything, "check sqlite:shop.db"),
    (Same::End, "run tpcc-hammerdb sqlite:shop.db --warm-up 1s --for 2s --seed 1 --out shop"),
];

fn prepared() -> Place {
    let place = Place::new();
    place.write("small.toml", PROFILE);
    place.write("job.icf", SPECIFICATION);
    ["one", "two"].iter().for_each(|directory| std::fs::create_dir(place.path(directory)).unwrap());
    place
}

/// The lines that the command leaves in a pipe for both output and messages.
fn piped(place: &Place, command: &str) -> (Option<i32>, Vec<String>) {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut program = place.command(&words(command));
    program.stdin(Stdio::null()).stdout(writer.try_clone().unwrap()).stderr(writer);
    let mut child = program.spawn().unwrap();
    drop(program);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    (child.wait().unwrap().code(), text.lines().map(|line| line.trim_end().to_owned()).collect())
}

fn words(command: &str) -> Vec<&str> {
    command.split_whitespace().collect()
}

fn words_of(lines: &[String]) -> Vec<&str> {
    lines.iter().flat_map(|line| line.split_whitespace()).collect()
}

fn last_line(lines: &[String]) -> &str {
    lines.iter().rfind(|line| !line.is_empty()).map_or("", String::as_str).trim()
}

/// Whether a terminal shows what a pipe got, and nothing of the live block.
fn is_shown(same: Same, screen: &[String], pipe: &[String]) -> bool {
    match same {
        Same::Everything => words_of(screen) == words_of(pipe),
        Same::End => ends_with(screen, &[last_line(pipe)]) && !shows_block(screen),
    }
}

/// A run in real time has any verdict on a busy machine.
fn is_same_code(same: Same, shown: Option<i32>, piped: Option<i32>) -> bool {
    let is_verdict = |code: Option<i32>| code.is_some_and(|code| [0, 10, 11].contains(&code));
    shown == piped || (matches!(same, Same::End) && is_verdict(shown) && is_verdict(piped))
}

fn ends_with(screen: &[String], last: &[&str]) -> bool {
    let last: Vec<String> = last.iter().map(|line| (*line).to_owned()).collect();
    words_of(screen).ends_with(&words_of(&last))
}

/// `measuring    [====>    ]  45%`
fn shows_block(screen: &[String]) -> bool {
    screen.iter().any(|line| line.contains('[') && line.ends_with('%'))
}

/// Runs the commands in a pipe and at both terminals, each in a place of its own.
fn compare_with_pipe(commands: &'static [(Same, &'static str)]) {
    let expected = std::thread::spawn(|| {
        let place = prepared();
        commands.iter().map(|(_, command)| piped(&place, command)).collect::<Vec<_>>()
    });
    let at_terminals = SIZES.map(|size| {
        std::thread::spawn(move || {
            let place = prepared();
            let shown = |(_, command): &(Same, &str)| Console::start(place.command(&words(command)), size).end();
            commands.iter().map(shown).collect::<Vec<_>>()
        })
    });
    let expected = expected.join().unwrap();
    let mut wrong = Vec::new();
    for (size, shown) in SIZES.into_iter().zip(at_terminals.map(|thread| thread.join().unwrap())) {
        for (((same, command), piped), shown) in commands.iter().zip(&expected).zip(&shown) {
            if !is_shown(*same, &shown.1, &piped.1) || !is_same_code(*same, shown.0, piped.0) {
                let texts = [&shown.1, &piped.1].map(|lines| lines.join("\n"));
                wrong.push(format!(
                    "{command} at {size:?}: {:?}\n{}\n-- piped: {:?}\n{}\n",
                    shown.0, texts[0], piped.0, texts[1]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), commands.len() * SIZES.len(), wrong.join("\n"));
}

#[test]
fn what_is_only_printed_is_the_same_on_a_terminal_and_in_a_pipe() {
    compare_with_pipe(PRINTED);
}

#[test]
fn runs_and_what_reads_them_leave_the_same_on_a_terminal_and_in_a_pipe() {
    compare_with_pipe(RUNS);
}

#[test]
fn certifications_leave_the_same_on_a_terminal_and_in_a_pipe() {
    compare_with_pipe(CERTIFICATIONS);
}

#[test]
fn procedures_of_several_runs_leave_the_same_on_a_terminal_and_in_a_pipe() {
    compare_with_pipe(PROCEDURES);
}

#[test]
fn fits_and_sizings_leave_the_same_on_a_terminal_and_in_a_pipe() {
    compare_with_pipe(PROFILES);
}

#[test]
fn files_leave_the_same_on_a_terminal_and_in_a_pipe() {
    compare_with_pipe(FILES);
}

#[test]
fn databases_leave_the_same_on_a_terminal_and_in_a_pipe() {
    compare_with_pipe(DATABASES);
}

/// A command that takes a while, and how it ends.
struct Long {
    command: &'static str,
    /// What continues it.
    again: &'static str,
    /// The last lines after Ctrl-C. A busy machine may have been late by then, which makes the result INVALID: then only the
    /// last of them is the same.
    cut: &'static [&'static str],
    /// The last line at the end.
    whole: &'static str,
}

const RESULTS: &str = "results in out: run.jsonl, verdict.json, report.html";
/// Where the command that goes on stands in a line.
const AGAIN: &str = "AGAIN";
const NEXT: &str = "next: AGAIN (exit code 12)";
const GO_ON: &str = "cut short; next: AGAIN";
const DERIVED: &str = "results, as this implementation does not comply with all requirements of the TPC-C Benchmark.";

const LONG_RUNS: &[Long] = &[
    Long {
        command: "run act-storage null:1GiB --for 4s --slice 1s --seed 1 --out out",
        again: "run act-storage null:1GiB --for 4s --slice 1s --seed 1 --resume out",
        cut: &[NEXT, RESULTS],
        whole: RESULTS,
    },
    Long {
        command: "certify null:1GiB --at 1x --for 3s --seed 1 --out out",
        again: "certify null:1GiB --at 1x --for 3s --seed 1 --resume out",
        cut: &[NEXT, RESULTS],
        whole: RESULTS,
    },
];

const LONG_SEARCHES: &[Long] = &[
    Long {
        command: "limit act-storage null:1GiB --for 2s --seed 1 --from 1x --to 2x --out out",
        again: "limit act-storage null:1GiB --for 2s --seed 1 --from 1x --to 2x --resume out",
        cut: &[GO_ON, "path in out: limit.json, limit.html, and a run directory for each load"],
        whole: "path in out: limit.json, limit.html, and a run directory for each load",
    },
    Long {
        command: "curve act-storage null:1GiB --for 2s --seed 1 --max 1x --points 50%,100% --out out",
        again: "curve act-storage null:1GiB --for 2s --seed 1 --max 1x --points 50%,100% --resume out",
        cut: &[GO_ON, "curve in out: curve.json, curve.html, and a run directory for each point"],
        whole: "curve in out: curve.json, curve.html, and a run directory for each point",
    },
];

const LONG_CURVES: &[Long] = &[
    Long {
        command: "curve oltp null:1GiB --for 2s --slice 1s --warm-up 1s --seed 1 --max 1x --points 50%,100% --out out",
        again: "curve oltp null:1GiB --for 2s --slice 1s --warm-up 1s --seed 1 --max 1x --points 50%,100% --resume out",
        cut: &[GO_ON, "curve in out: curve.json, curve.html, and the directory of the run"],
        whole: "curve in out: curve.json, curve.html, and the directory of the run",
    },
    Long {
        command: "matrix orion null:1GiB --disks 1 --for 1s --seed 1 --out out",
        again: "matrix orion null:1GiB --disks 1 --for 1s --seed 1 --resume out",
        cut: &[GO_ON, "matrix in out: matrix.json, matrix.html, and a run directory for each point"],
        whole: "matrix in out: matrix.json, matrix.html, and a run directory for each point",
    },
];

const LONG_PROFILES: &[Long] = &[
    Long {
        command: "fit small.toml null:1GiB --for 2s --rounds 1 --seed 1 --out out",
        again: "fit small.toml null:1GiB --for 2s --rounds 1 --seed 1 --resume out",
        cut: &[GO_ON, "fit in out: fit.json and a run directory for each round"],
        whole: "how far a drive goes with it: assay limit out/fitted.toml TARGET --from 1x",
    },
    Long {
        command: "size small.toml null:1GiB --for 2s --fit-for 2s --rounds 1 --to 1x --seed 1 --out out",
        again: "size small.toml null:1GiB --for 2s --fit-for 2s --rounds 1 --to 1x --seed 1 --resume out",
        cut: &[GO_ON, "sizing in out: size.json, size.html, and a directory for each candidate"],
        whole: "sizing in out: size.json, size.html, and a directory for each candidate",
    },
];

const LONG_DATABASES: &[Long] = &[
    Long {
        command: "prep sqlite:shop.db --warehouses 1",
        again: "prep sqlite:shop.db --warehouses 1",
        cut: &["error: loading sqlite:shop.db was interrupted; repeat the command to continue"],
        whole: DERIVED,
    },
    Long {
        command: "run tpcc-hammerdb sqlite:shop.db --warm-up 1s --for 4s --seed 1 --out out",
        again: "run tpcc-hammerdb sqlite:shop.db --warm-up 1s --for 4s --seed 1 --resume out",
        cut: &[NEXT, RESULTS],
        whole: RESULTS,
    },
];

/// Runs a command at a terminal, cut by Ctrl-C and continued; what is wrong with either.
fn cut_and_continue(place: &Place, long: &Long, size: (u16, u16)) -> Vec<String> {
    let mut console = Console::start(place.command(&words(long.command)), size);
    console.wait_for(if long.command.starts_with("prep") { " rows" } else { " left" });
    console.type_in("\x03");
    let cut = console.end();
    let again = Console::start(place.command(&words(long.again)), size).end();
    let mut wrong = Vec::new();
    let begin = match cut.0 {
        Some(11) => long.cut.len() - 1,
        _ => 0,
    };
    // What is shown can be pasted: it is the command that is typed next.
    let typed = format!("{} {}", place.command(&[]).get_program().to_string_lossy(), long.again);
    let expected: Vec<String> = long.cut[begin..].iter().map(|line| line.replace(AGAIN, &typed)).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    if !matches!(cut.0, Some(11 | 12)) || !ends_with(&cut.1, &expected) || shows_block(&cut.1) {
        wrong.push(format!("{} at {size:?}, cut: {:?}\n{}\n", long.command, cut.0, cut.1.join("\n")));
    }
    if !matches!(again.0, Some(0 | 10 | 11)) || !ends_with(&again.1, &[long.whole]) || shows_block(&again.1) {
        wrong.push(format!("{} at {size:?}: {:?}\n{}\n", long.again, again.0, again.1.join("\n")));
    }
    let _ = std::fs::remove_dir_all(place.path("out"));
    wrong
}

/// Cuts and continues each of the commands, at both terminals.
fn cut_and_continue_all(commands: &'static [Long]) {
    let at_terminals = SIZES.map(|size| {
        std::thread::spawn(move || {
            let place = prepared();
            commands.iter().flat_map(|long| cut_and_continue(&place, long, size)).collect::<Vec<String>>()
        })
    });
    let wrong: Vec<String> = at_terminals.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_last_line_of_a_run_stays_behind_ctrl_c_and_resume() {
    cut_and_continue_all(LONG_RUNS);
}

#[test]
fn the_last_line_of_a_limit_or_curve_stays_behind_ctrl_c_and_resume() {
    cut_and_continue_all(LONG_SEARCHES);
}

#[test]
fn the_last_line_of_a_stepped_curve_or_matrix_stays_behind_ctrl_c_and_resume() {
    cut_and_continue_all(LONG_CURVES);
}

#[test]
fn the_last_line_of_a_fit_or_sizing_stays_behind_ctrl_c_and_resume() {
    cut_and_continue_all(LONG_PROFILES);
}

#[test]
fn the_last_line_of_a_loading_or_database_run_stays_behind_ctrl_c_and_resume() {
    cut_and_continue_all(LONG_DATABASES);
}

/// A verb that is added later is missed here.
#[test]
fn no_verb_is_left_out() {
    let help = Place::new().assay(&["--help"]).out;
    let listed = help.split("Commands:").nth(1).unwrap().split("\n\n").next().unwrap();
    let verbs: BTreeSet<&str> = listed
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let all = [PRINTED, RUNS, CERTIFICATIONS, PROCEDURES, PROFILES, FILES, DATABASES].concat();
    let tried: BTreeSet<&str> =
        all.iter().filter_map(|(_, command)| command.split(' ').next()).chain(["help"]).collect();
    assert!(verbs.len() > 20 && verbs.is_subset(&tried), "{:?}", verbs.difference(&tried));
}
