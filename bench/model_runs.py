"""Runs of our models beside the servers, and how long the servers' syncs lasted by the kernel's trace. Imported, not run."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from delayed_disks import Missing

TRACING = "/sys/kernel/tracing/instances"


class TracedSyncs:
    """How long each fdatasync of a server on its log lasts, by an instance of tracefs of our own, which follows processes that
    the server begins. Its trace is read when the block ends."""

    def __init__(self, server):
        if not os.access(TRACING, os.W_OK):
            raise Missing("there is no tracefs at /sys/kernel/tracing that can be written to")
        self.server, self.seconds = server, []

    def __enter__(self):
        threads = []
        for process in self.server.processes():
            # A session may end meanwhile.
            with contextlib.suppress(FileNotFoundError):
                threads += os.listdir(f"/proc/{process}/task")
        self.instance = tempfile.mkdtemp(prefix="assay.", dir=TRACING)
        self._write("buffer_size_kb", 8192)
        self._write("options/event-fork", 1)
        self._write("set_event_pid", " ".join(threads))
        for call in ("sys_enter_fdatasync", "sys_exit_fdatasync"):
            self._write(f"events/syscalls/{call}/enable", 1)
        return self

    def __exit__(self, *_):
        with open(os.path.join(self.instance, "trace")) as trace:
            lines = trace.readlines()
        os.rmdir(self.instance)
        begun = {}
        for line in lines:
            found = re.match(r".*-(\d+)\s+\[\d+\].*\s([\d.]+): (sys_fdatasync\(fd: (\w+)\)|sys_fdatasync -> 0x0)", line)
            if not found:
                continue
            thread, moment = found[1], float(found[2])
            if found[4] is not None:
                begun[thread] = (moment, int(found[4], 16))
            elif thread in begun:
                begin, descriptor = begun.pop(thread)
                if self.server.is_log(descriptor):
                    self.seconds.append(moment - begin)

    def _write(self, name, value):
        with open(os.path.join(self.instance, name), "w") as file:
            file.write(f"{value}\n")


def cpu_pressure():
    """For how many seconds something on this machine that could run has waited for a processor."""
    with open("/proc/pressure/cpu") as pressure:
        return int(re.search(r"some .*total=(\d+)", pressure.read())[1]) / 1e6


def quantile(sorted_values, share):
    return sorted_values[min(int(share * len(sorted_values)), len(sorted_values) - 1)]


class ModelRun:
    """A program of ours that loads a directory. It is ready when its files are made."""

    def __init__(self, command, out, ready):
        self.out, self.said = out, []
        environment = os.environ | {"XDG_STATE_HOME": os.path.join(os.path.dirname(out), "state")}
        command = [*command, "--out", out]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        for line in self.process.stderr:
            self.said.append(line)
            if line.rstrip().endswith(ready):
                return
        raise SystemExit("".join(self.said))

    def result(self):
        """What it measured, once it has ended."""
        self.said += self.process.stderr
        if self.process.wait() not in (0, 10, 11):
            raise SystemExit("".join(self.said))
        with open(os.path.join(self.out, "verdict.json")) as file:
            return json.load(file)


def shipped_workload(work, model):
    """A shipped workload with a smaller database, which is made sooner."""
    text = pathlib.Path("workloads/services", f"{model}.toml").read_text()
    workload = os.path.join(work, f"{model}.toml")
    pathlib.Path(workload).write_text(text.replace('"2GiB"', '"256MiB"'))
    return workload


def run_model(assay, work, model, directory, seconds):
    length, out = f"{seconds:g}s", os.path.join(work, "run")
    shutil.rmtree(out, ignore_errors=True)
    lengths = ["--warm-up", "0s", "--for", length, "--slice", length]
    return ModelRun([assay, "run", shipped_workload(work, model), directory, *lengths], out, f"for {length}")


def certify_quick(assay, work, model, directory):
    command = [assay, "certify", shipped_workload(work, model), directory, "--quick"]
    return ModelRun(command, os.path.join(work, "run"), "for 1min")
