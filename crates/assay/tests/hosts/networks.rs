//! Four hosts that are network namespaces of this machine on one bridge, each with a name and clocks of its own, joined by Open MPI over
//! TCP: what is said of their clocks is true, the numbers are those of one process, and a link that goes down in the middle of a run is
//! noticed on both sides.

use crate::hosts::told;
use crate::joint_runs::{Place, WORKLOAD, lines_of_kind};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const MPIRUN: &str = "/usr/bin/mpirun.openmpi";
const HOSTS: u32 = 4;

/// The namespaces, whose names nobody else uses. Host 1 starts the others.
struct Network {
    prefix: String,
    directory: tempfile::TempDir,
}

fn run_ip(words: &str) -> Result<(), String> {
    match Command::new("ip").args(words.split(' ')).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("ip {words}: {}", told(&output).trim())),
        Err(why) => Err(format!("ip: {why}")),
    }
}

impl Network {
    /// `None`, with a message, where this machine permits no namespaces.
    fn set_up(name: &str) -> Option<Network> {
        if !Path::new(MPIRUN).exists() {
            eprintln!("skipped: {MPIRUN} is not here, hosts with a network between them were NOT tried");
            return None;
        }
        let prefix = format!("as{name}{}", std::process::id());
        let network = Network { prefix, directory: tempfile::tempdir().unwrap() };
        match network.make_namespaces().and_then(|()| network.write_agent()) {
            Ok(()) => Some(network),
            Err(why) => {
                eprintln!("skipped: {why}: hosts with a network between them were NOT tried");
                None
            }
        }
    }

    fn make_namespaces(&self) -> Result<(), String> {
        let prefix = &self.prefix;
        run_ip(&format!("netns add {prefix}b"))?;
        run_ip(&format!("-n {prefix}b link add br0 type bridge"))?;
        run_ip(&format!("-n {prefix}b link set br0 up"))?;
        for host in 1..=HOSTS {
            let own = self.namespace(host);
            run_ip(&format!("netns add {own}"))?;
            run_ip(&format!("link add v{host} netns {own} type veth peer name p{host} netns {prefix}b"))?;
            run_ip(&format!("-n {prefix}b link set p{host} master br0 up"))?;
            run_ip(&format!("-n {own} link set lo up"))?;
            run_ip(&format!("-n {own} addr add 10.77.0.{host}/24 dev v{host}"))?;
            run_ip(&format!("-n {own} link set v{host} up"))?;
        }
        let shifted = Command::new("unshare").args(["-u", "-T", "--monotonic", "1000", "true"]).output();
        match shifted {
            Ok(output) if output.status.success() => Ok(()),
            other => Err(format!("unshare -u -T: {other:?}")),
        }
    }

    /// What Open MPI calls in place of ssh: a process with the network, the name and the clocks of a host.
    fn write_agent(&self) -> Result<(), String> {
        let agent = self.path("agent");
        let script = format!(
            "#!/bin/sh\nhost=${{1##*.}}; shift\nexec ip netns exec {}h$host unshare -u -T --monotonic ${{host}}000 sh -c \"hostname node$host; $*\"\n",
            self.prefix
        );
        std::fs::write(&agent, script).map_err(|why| why.to_string())?;
        std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).map_err(|why| why.to_string())
    }

    fn namespace(&self, host: u32) -> String {
        format!("{}h{host}", self.prefix)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    /// The program on all hosts. Rank k is on host k + 1, whose clock is shifted by so many thousand seconds; that of rank 0 is not.
    fn command(&self, words: &[String]) -> Command {
        let mut launch = format!(
            "hostname node1; exec {MPIRUN} --bind-to none --host 10.77.0.1,10.77.0.2,10.77.0.3,10.77.0.4 -np {HOSTS} \
             --mca plm_rsh_agent {} --mca btl self,tcp --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 \"$@\"",
            self.path("agent").display()
        );
        launch.push('\n');
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(1), "unshare", "-u", "sh", "-c", &launch, "sh"]);
        command.arg(env!("CARGO_BIN_EXE_assay")).args(words);
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1").stdin(Stdio::null());
        command
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for host in 1..=HOSTS {
            let _ = run_ip(&format!("netns del {}", self.namespace(host)));
        }
        let _ = run_ip(&format!("netns del {}b", self.prefix));
    }
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Shifts are exact, and all namespaces read one clock: the true difference is known.
fn check_clocks_of(found: &Value) -> usize {
    let ranks = found["ranks"].as_array().unwrap();
    let fact = |rank: &Value, name: &str| rank["facts"][name].clone();
    let origin = |rank: &Value| i128::from(fact(rank, "clock_origin_ns").as_u64().unwrap());
    let mut checked = 0;
    for (number, rank) in ranks.iter().enumerate().skip(1) {
        assert_eq!(fact(rank, "host"), format!("node{}", number + 1).as_str(), "{rank}");
        // On two clocks of the kernel nothing exact is known.
        if fact(rank, "clock_source") != fact(&ranks[0], "clock_source") {
            continue;
        }
        let shift = (number as i128 + 1) * 1_000 * 1_000_000_000;
        let true_offset = origin(rank) - shift - origin(&ranks[0]);
        for reading in rank["clock"].as_array().unwrap() {
            let (offset, error) = (reading["offset_ns"].as_i64().unwrap(), reading["error_ns"].as_i64().unwrap());
            let off = i128::from(offset) - true_offset;
            assert!(off.unsigned_abs() <= error.unsigned_abs().into(), "rank {number} is off by {off} ns of {error}");
            // Half a trip over a bridge of this machine, also beside builds.
            assert!(error < 100_000_000, "{error}");
            checked += 1;
        }
        let (scale, error) = (rank["scale_ppb"].as_i64().unwrap(), rank["scale_error_ppb"].as_i64().unwrap());
        assert!(scale.abs() <= error, "one clock has one speed: {rank}");
    }
    checked
}

/// With `ASSAY_CAMPAIGN=250`, a thousand times.
#[test]
fn what_is_said_of_shifted_clocks_is_true() {
    let Some(network) = Network::set_up("c") else { return };
    let rounds = std::env::var("ASSAY_CAMPAIGN").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(3);
    let mut checked = 0;
    for _ in 0..rounds {
        let words = strings(&["doctor", "--hosts", "4", "--messages-for", "50ms", "--json"]);
        let output = network.command(&words).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        checked += check_clocks_of(&serde_json::from_slice(&output.stdout).unwrap());
    }
    eprintln!("{checked} comparisons of clocks are within their bounds");
    assert!(checked > 0);
}

#[test]
fn hosts_with_a_network_between_them_have_the_numbers_of_one_process() {
    let Some(network) = Network::set_up("n") else { return };
    let place = Place::with_workload(WORKLOAD);
    let alone = place.run("--local 4", "alone");
    assert_eq!(alone.status.code(), Some(0), "{}", told(&alone));
    let output = network.command(&place.run_arguments("--hosts 4", "joint")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let numbers = |run: &str| lines_of_kind(&place.path(run).join("run.jsonl"), &["interval", "histograms"]);
    assert!(numbers("joint") == numbers("alone"));
}

const IN_REAL_TIME: &str = r#"
name = "null"
model = "streams"
duration = "100s"
slice = "5s"
[[stream]]
name = "reads"
direction = "read"
size = "4KiB"
rate = "100/s"
"#;

/// Waits until a process has printed this; panics with what it has printed after a minute.
fn wait_for_text(printed: &Path, text: &str, within: Duration) {
    let since = Instant::now();
    while !std::fs::read_to_string(printed).unwrap_or_default().contains(text) {
        assert!(since.elapsed() < within, "{text:?}: {}", std::fs::read_to_string(printed).unwrap_or_default());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Ends what is left of a job below a process, which the launcher cannot reach any more.
fn end_rest(launcher: &mut Child, directory: &Path) {
    let _ = launcher.kill();
    let _ = launcher.wait();
    // Only processes of this test have this directory in their arguments.
    let own = directory.display().to_string();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&words).contains(&own) {
            let _ = rustix::process::kill_process(
                rustix::process::Pid::from_raw(pid).unwrap(),
                rustix::process::Signal::KILL,
            );
        }
    }
}

/// The link of one host goes down: it is named at once, given up after 30 s, and closes its own log by itself.
#[test]
fn a_link_that_goes_down_is_noticed_on_both_sides() {
    let Some(network) = Network::set_up("l") else { return };
    let place = Place::with_workload(IN_REAL_TIME);
    let root = place.path("");
    let workload = place.workload.display().to_string();
    let out = place.path("run").display().to_string();
    let words = strings(&["run", &workload, "null:1GiB", "--hosts", "4", "--out", &out]);
    let (printed, other) = (place.path("stderr"), place.path("stdout"));
    let mut command = network.command(&words);
    let files = [&printed, &other].map(|path| std::fs::File::create(path).unwrap());
    let [stderr, stdout] = files;
    let mut launcher = command.stderr(stderr).stdout(stdout).spawn().unwrap();
    let log = place.path("run/run.jsonl");
    let since = Instant::now();
    while !log.exists() || std::fs::read_to_string(&log).unwrap().matches("\"kind\":\"interval\"").count() < 3 {
        assert!(since.elapsed() < Duration::from_secs(60), "{}", std::fs::read_to_string(&printed).unwrap());
        std::thread::sleep(Duration::from_millis(50));
    }
    run_ip(&format!("-n {} link set v4 down", network.namespace(4))).unwrap();
    wait_for_text(&printed, "nothing was heard of rank 3 on node4 for ", Duration::from_secs(20));
    let closed = |log: &Path| std::fs::read_to_string(log).is_ok_and(|text| text.contains("\"kind\":\"close\""));
    let cut_off = place.path("run/hosts/0003/run.jsonl");
    let since = Instant::now();
    while !closed(&log) || !closed(&cut_off) {
        assert!(since.elapsed() < Duration::from_secs(90), "{}", std::fs::read_to_string(&printed).unwrap());
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_secs(2));
    end_rest(&mut launcher, &root);
    let judge: Output = Command::new(env!("CARGO_BIN_EXE_assay")).arg("judge").arg(place.path("run")).output().unwrap();
    assert_eq!(judge.status.code(), Some(11), "{}", told(&judge));
    let text = told(&judge).split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(
        text.contains("nothing was heard of rank 3 on node4 for 30") && text.contains("is the last of all"),
        "{text}"
    );
    let merge = Command::new(env!("CARGO_BIN_EXE_assay")).arg("merge").arg(place.path("run")).output().unwrap();
    assert_eq!(merge.status.code(), Some(0), "{}", told(&merge));
}
