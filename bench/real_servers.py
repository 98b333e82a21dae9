"""Servers of our own on file systems of our own, each with a steady load of commits, and how long their syncs lasted by the
kernel's trace. Imported by bench/services and scripts/services-verdicts, not run."""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

TRACING = "/sys/kernel/tracing/instances"
COMMITS_A_SECOND = 100
ETCD_CLIENTS = 20


class Missing(Exception):
    """What this machine lacks."""


def succeeds(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode:
        raise Missing(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def needs(program, package):
    if shutil.which(program) is None:
        raise Missing(f"{program} is not installed (package {package})")


@contextlib.contextmanager
def mounted_ext4(work, image):
    """A mounted ext4 over a loop device with direct I/O on this file."""
    if os.geteuid():
        raise Missing("only root may mount a file system")
    device = succeeds("losetup", "-f", "--show", "--direct-io=on", image)
    try:
        succeeds("mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
        point = tempfile.mkdtemp(prefix="ext4.", dir=work)
        os.chmod(work, 0o755)
        os.chmod(point, 0o755)
        succeeds("mount", device, point)
        try:
            yield point
        finally:
            subprocess.run(["umount", "-l", point])
    finally:
        subprocess.run(["losetup", "-d", device])


@contextlib.contextmanager
def plain_disk(work, mebibytes):
    """An ext4 on a file."""
    image = os.path.join(work, "disk.image")
    with open(image, "wb") as file:
        file.truncate(mebibytes << 20)
    try:
        with mounted_ext4(work, image) as point:
            yield point
    finally:
        os.unlink(image)


class DelayingDisk:
    """A disk in memory whose delays are set while it runs."""

    def __init__(self, mount):
        self.mount = mount

    def set(self, **faults):
        with open(os.path.join(self.mount, "ctl"), "w") as control:
            control.write("".join(f"{key}={value}\n" for key, value in faults.items()))


def delaying_program(assay):
    """The program of assay-faultfs: beside ours, where FAULTFS names it, or built now."""
    beside = os.path.join(os.path.dirname(assay), "faultfs")
    program = os.environ.get("FAULTFS", beside)
    if not os.path.exists(program):
        if os.environ.get("SCALE") == "smoke":
            raise Missing(f"{program} is not built (cargo build -p assay-faultfs)")
        succeeds("cargo", "build", "--quiet", "--release", "-p", "assay-faultfs", "--bin", "faultfs")
        program = "target/release/faultfs"
    return os.path.abspath(program)


@contextlib.contextmanager
def delaying_disk(work, mebibytes, assay):
    """An ext4 on a disk that delays, and that disk."""
    mount = tempfile.mkdtemp(prefix="delaying.", dir=work)
    program = [delaying_program(assay), mount, "--size", f"{mebibytes}MiB"]
    process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        disk = process.stdout.readline().strip()
        if not disk:
            raise Missing(process.stderr.read().strip())
        with mounted_ext4(work, disk) as point:
            yield point, DelayingDisk(mount)
    finally:
        process.terminate()
        process.wait()


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


def quantile(sorted_values, share):
    return sorted_values[min(int(share * len(sorted_values)), len(sorted_values) - 1)]


def ended(process, how=signal.SIGTERM):
    process.send_signal(how)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Etcd:
    """An etcd whose files are in a directory. Its database has free pages, as one has that is in use for long."""

    name, model = "etcd", "etcd"

    def __init__(self, directory):
        needs("etcd", "etcd-server")
        ports = []
        for _ in range(2):
            with socket.create_server(("127.0.0.1", 0)) as free:
                ports.append(free.getsockname()[1])
        self.port = ports[0]
        clients, peers = (f"http://127.0.0.1:{port}" for port in ports)
        arguments = {
            "data-dir": os.path.join(directory, "etcd"), "listen-client-urls": clients, "advertise-client-urls": clients,
            "listen-peer-urls": peers, "initial-advertise-peer-urls": peers, "initial-cluster": f"default={peers}",
        }
        command = ["etcd", *(word for key, value in arguments.items() for word in (f"--{key}", value))]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self._wait()
            self._age()
        except BaseException:
            self.end()
            raise

    def _wait(self):
        for _ in range(300):
            with contextlib.suppress(OSError, http.client.HTTPException):
                return self._put(self._connection(), "first", 1)
            time.sleep(0.1)
        raise Missing("etcd does not answer")

    def _age(self):
        connection = self._connection()
        for _ in range(24):
            self._put(connection, "filling", 1_000_000)
        self._post(connection, "/v3/kv/compaction", {"revision": "24", "physical": True})
        self._put(connection, "filling", 1)

    def _connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def _put(self, connection, key, size):
        encoded = {"key": base64.b64encode(key.encode()).decode(), "value": base64.b64encode(b"v" * size).decode()}
        self._post(connection, "/v3/kv/put", encoded)

    def _post(self, connection, path, body):
        connection.request("POST", path, json.dumps(body))
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise OSError(f"etcd: {said[:200]}")

    def load(self, seconds):
        """Puts of 32 + 1024 bytes, each at its time."""
        begin, count = time.monotonic(), int(COMMITS_A_SECOND * seconds)
        clients = [threading.Thread(target=self._client, args=(number, count, begin)) for number in range(ETCD_CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()

    def _client(self, number, count, begin):
        connection = self._connection()
        for put in range(number, count, ETCD_CLIENTS):
            time.sleep(max(0, begin + put / COMMITS_A_SECOND - time.monotonic()))
            self._put(connection, f"{put % 500:032d}", 1024)

    def processes(self):
        return [self.process.pid]

    def is_log(self, descriptor):
        with contextlib.suppress(OSError):
            return os.readlink(f"/proc/{self.process.pid}/fd/{descriptor}").endswith(".wal")
        return False

    def histogram(self):
        """Its own count of syncs of the log of at most so many seconds."""
        connection = self._connection()
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        buckets = re.findall(r'etcd_disk_wal_fsync_duration_seconds_bucket\{le="([^"]+)"\} (\d+)', text)
        return {float(bound): int(count) for bound, count in buckets}

    def end(self):
        ended(self.process)


class Postgres:
    """A PostgreSQL with pgbench's tables, whose files are in a directory. It does not run as root."""

    name, model = "PostgreSQL", "postgres-wal"
    scale = 8

    def __init__(self, directory):
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/pgbench"), key=lambda path: int(path.parts[-3]))
        if not found:
            raise Missing("PostgreSQL is not installed (package postgresql)")
        self.programs, self.place = found[-1].parent, os.path.join(directory, "postgres")
        os.mkdir(self.place)
        shutil.chown(self.place, "nobody", "nogroup")
        data = os.path.join(self.place, "data")
        self._as_nobody("initdb", "-D", data, "-U", "postgres", "-A", "trust", "--locale=C", "--no-sync")
        settings = ["-c", "listen_addresses=", "-c", "shared_buffers=256MB", "-c", "checkpoint_timeout=1h"]
        server = self._words("postgres", "-D", data, "-k", self.place, *settings)
        self.process = subprocess.Popen(server, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.place)
        try:
            self._wait()
            self._client("pgbench", "-i", "-q", "-s", str(self.scale))
            self._client("psql", "-c", "CHECKPOINT")
        except BaseException:
            self.end()
            raise

    def _words(self, program, *arguments):
        return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", str(self.programs / program), *arguments]

    def _as_nobody(self, program, *arguments):
        return succeeds(*self._words(program, *arguments), cwd=self.place)

    def _client(self, program, *arguments):
        database = ("-d", "postgres") if program == "psql" else ("postgres",)
        return succeeds(self.programs / program, "-h", self.place, "-U", "postgres", *arguments, *database)

    def _wait(self):
        for _ in range(300):
            with contextlib.suppress(Missing):
                return self._client("psql", "-c", "SELECT 1")
            time.sleep(0.1)
        raise Missing("PostgreSQL does not answer")

    def load(self, seconds):
        self._client("pgbench", "-n", "-c", "8", "-R", str(COMMITS_A_SECOND), "-T", str(seconds))

    def processes(self):
        first = self.process.pid
        children = pathlib.Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return [first, *map(int, children)]

    def is_log(self, _descriptor):
        """Nothing else is synchronised by fdatasync while no checkpoint is made."""
        return True

    def end(self):
        ended(self.process, signal.SIGINT)


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
