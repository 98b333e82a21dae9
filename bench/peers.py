"""Runs the program and its peers on the same targets and prints ratios of medians. Imported by the benchmarks, not run."""

import atexit
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import threading
import time

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
ASSAY = os.environ.get("ASSAY", "target/release/assay")
SMOKE = os.environ.get("SCALE") == "smoke"
ROUNDS = 1 if SMOKE else int(os.environ.get("ROUNDS", "5"))
SECONDS = 1 if SMOKE else 3
MIB = 64 if SMOKE else 1024
WORK = tempfile.mkdtemp(prefix="assay-bench.")
_ENDS = []


def _clean():
    for end in reversed(_ENDS):
        end()
    shutil.rmtree(WORK, ignore_errors=True)


atexit.register(_clean)


def line(what, a, b, rounds):
    print(f"| {what} | {a:.4g} | {b:.4g} | {a / b if b else float('nan'):.3f} | {rounds} |", flush=True)


def skip(what, why):
    print(f"| {what} | skipped: {why} | | | |", flush=True)


def ratios(name, sides, measures):
    """Runs the two functions of `sides` alternately; one line for each (label, key of A, key of B) of `measures`."""
    # The order alternates, because the side that runs first finds cold caches, and the second one warm caches.
    rounds = [(sides[0](), sides[1]()) if n % 2 else (sides[1](), sides[0]())[::-1] for n in range(ROUNDS)]
    for label, key_a, key_b in measures:
        a = statistics.median(pair[0][key_a] for pair in rounds)
        b = statistics.median(pair[1][key_b] for pair in rounds)
        line(f"{name}, {label}", a, b, len(rounds))
    return rounds


def fill(path):
    """A file that was written, and read once: a hole would not be read at all, and the storage below may have a cache."""
    subprocess.run(["dd", "if=/dev/urandom", f"of={path}", "bs=1M", f"count={MIB}", "conv=notrunc", "status=none"], check=True)
    subprocess.run(["sync", path], check=True)
    subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=1M", "iflag=direct", "status=none"], check=False)


def file(directory=None):
    path = os.path.join(directory or WORK, "assay-bench.data")
    fill(path)
    if directory:
        _ENDS.append(lambda: os.unlink(path))
    return path


def loop():
    """A loop device with direct I/O, or None without the right to make one."""
    path = os.path.join(WORK, "loop.data")
    fill(path)
    made = subprocess.run(["losetup", "-f", "--show", "--direct-io=on", path], capture_output=True, text=True)
    if made.returncode:
        return None
    device = made.stdout.strip()
    _ENDS.append(lambda: subprocess.run(["losetup", "-d", device]))
    return device


def zram():
    """A device in memory, or None."""
    try:
        number = open("/sys/class/zram-control/hot_add").read().strip()
        open(f"/sys/block/zram{number}/disksize", "w").write(f"{MIB}M")
    except OSError:
        return None

    def remove():
        # Another process may examine the device for a moment; then it is busy.
        for last in [False] * 20 + [True]:
            try:
                for path, value in ((f"/sys/block/zram{number}/reset", "1"), ("/sys/class/zram-control/hot_remove", number)):
                    with open(path, "w") as control:
                        control.write(value)
                return
            except OSError:
                if last:
                    raise
                time.sleep(0.1)

    _ENDS.append(remove)
    fill(f"/dev/zram{number}")
    return f"/dev/zram{number}"


# Processor time is that of the whole program, including the kernel threads that io_uring creates for it. It is taken
# during this part of a run, as shares of its length from the program's start: both sides have begun by then, and
# neither has ended. What a program says about itself may cover only its submitting thread, like fio's usr_cpu and
# sys_cpu.
WINDOW = (0.45, 0.95)


def _ticks(root):
    """Processor time of a process and all below it, in seconds: outside the kernel, and altogether."""
    parents, ticks = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parents[int(pid)], ticks[int(pid)] = int(fields[1]), (int(fields[11]), int(fields[12]))
    family = {root}
    while grown := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= grown
    user, system = (sum(ticks.get(pid, (0, 0))[kind] for pid in family) / os.sysconf("SC_CLK_TCK") for kind in (0, 1))
    return user, user + system


def said_by(command):
    """What a command wrote to its output, and how much of a processor it took: (outside the kernel, altogether)."""
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = {}
    reader = threading.Thread(target=lambda: told.update(zip(("out", "err"), process.communicate())))
    reader.start()
    looks = []
    for at in WINDOW:
        reader.join(max(0, begun + at * SECONDS - time.monotonic()))
        looks.append((time.monotonic(), _ticks(process.pid)))
    reader.join()
    if not told["out"]:
        raise SystemExit(told["err"])
    (since, before), (until, after) = looks
    return told["out"], [max(b - a, 0) / (until - since) for a, b in zip(before, after)]


def per_operation(cpu, rate):
    """Microseconds of a processor for each of `rate` operations a second: outside the kernel, and altogether."""
    return {"user": cpu[0] * 1e6 / max(rate, 1), "cpu": cpu[1] * 1e6 / max(rate, 1)}


def assay(target, load, *extra):
    """One run of one stream of 4 KiB random reads; `load` is its rate and arrival, or its in_flight."""
    out = os.path.join(WORK, "run")
    shutil.rmtree(out, ignore_errors=True)
    workload = os.path.join(WORK, "w.toml")
    with open(workload, "w") as text:
        text.write(
            f'model = "streams"\nduration = "{SECONDS}s"\nslice = "{SECONDS}s"\nin_flight_bound = 256\n[[stream]]\nname = "r"\n'
            f'direction = "read"\nsize = "4KiB"\n{load}\n[[criterion]]\nstream = "r"\nshare_over = "1s"\nat_most = "50%"\n'
        )
    said, cpu = said_by([ASSAY, "run", workload, target, "--out", out, "--json", *extra])
    stream = json.loads(said)["streams"][0]
    with open(os.path.join(out, "run.jsonl")) as log:
        lines = [json.loads(line) for line in log]
    engine = lines[0].get("engine", {})
    flows = [line["flows"][0] for line in lines if line["kind"] == "interval"]
    # The mean of the time that clat leaves out; the log has no distribution of it.
    handing_over = sum(flow.get("submit", {}).get("sum", 0) for flow in flows) / max(sum(flow["ok"] for flow in flows), 1) / 1e3
    us = lambda kind, key: (stream[kind].get(key) or 0) / 1e3
    return {
        "rate": stream["rate_achieved"],
        "scheduled": stream["scheduled"],
        "issued": stream["issued"],
        "mean": us("response", "mean_ns"),
        "p50": us("service", "p50_ns"),
        "p99": us("service", "p99_ns"),
        "since accepted": us("service", "p50_ns") - handing_over,
        "lag": us("lag", "p99_ns"),
        "engine": engine.get("engine", "?"),
    } | per_operation(cpu, stream["rate_achieved"])


def has_fio():
    return shutil.which("fio") is not None


def fio(target, *options):
    """fio with io_uring and everything that makes it fast."""
    return fio_with(target, "--ioengine=io_uring", "--fixedbufs", "--registerfiles", *options)


def fio_threads(target, depth):
    """fio with a thread for each operation in flight."""
    return fio_with(target, "--ioengine=psync", "--thread", f"--numjobs={depth}", "--group_reporting")


def fio_with(target, *options):
    command = ["fio", "--name=peer", f"--filename={target}", f"--size={MIB}M", "--direct=1", "--rw=randread", "--bs=4k",
               "--norandommap", "--readonly", "--time_based",
               f"--runtime={SECONDS}", "--lat_percentiles=1", "--clat_percentiles=1",
               "--output-format=json", *options]
    said, cpu = said_by(command)
    job = json.loads(said[said.index("{"):])["jobs"][0]
    read = job["read"]
    percentile = read["clat_ns"].get("percentile", {})
    whole = read["lat_ns"].get("percentile", {})
    return {
        "rate": read["iops"],
        "mean": read["lat_ns"]["mean"] / 1e3,
        "p50": percentile.get("50.000000", 0) / 1e3,
        "p99": percentile.get("99.000000", 0) / 1e3,
        "lat p50": whole.get("50.000000", 0) / 1e3,
        "lat p99": whole.get("99.000000", 0) / 1e3,
    } | per_operation(cpu, read["iops"])
